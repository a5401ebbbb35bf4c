//! DaemonSets, and what admission makes of them.

use super::kit::lowered;

fn daemon(resources: &str, extra: &str) -> String {
    format!(
        "---\napiVersion: apps/v1\nkind: DaemonSet\nmetadata: {{name: agent, namespace: ops}}\nspec: {{selector: {{matchLabels: {{app: agent}}}}, template: {{metadata: {{labels: {{app: agent}}}}, spec: {{containers: [{{name: c, resources: {resources}}}]{extra}}}}}}}\n"
    )
}

fn range(namespace: &str, limits: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: LimitRange\nmetadata: {{name: l, namespace: {namespace}}}\nspec: {{limits: [{limits}]}}\n"
    )
}

fn requests(text: &str) -> String {
    lowered(text).cluster.daemon_sets[0].spec.requests.to_string()
}

#[test]
fn core_daemon_02_03_s09_admission_defaults_apply() {
    #[rustfmt::skip]
    let table = [
        (daemon("{}", ""), "pods 1"),
        (daemon("{limits: {cpu: 1}}", ""), "cpu 1, pods 1"),
        (daemon("{limits: {cpu: 1}, requests: {cpu: 200m}}", ""), "cpu 200m, pods 1"),
        (daemon("{}", "") + &range("ops", "{type: Container, defaultRequest: {cpu: 1}}"), "cpu 1, pods 1"),
        (daemon("{}", "") + &range("other", "{type: Container, defaultRequest: {cpu: 1}}"), "pods 1"),
        (daemon("{}", "") + &range("ops", "{type: Pod, max: {cpu: 1}}"), "pods 1"),
        (daemon("{}", "") + &range("ops", "{type: Container, default: {cpu: 2}}"), "cpu 2, pods 1"),
        (daemon("{}", "") + &range("ops", "{type: Container, max: {cpu: 3}}"), "cpu 3, pods 1"),
        (daemon("{}", "") + &range("ops", "{type: Container, min: {memory: 1Gi}}"), "memory 1Gi, pods 1"),
        (daemon("{limits: {cpu: 500m}}", "") + &range("ops", "{type: Container, defaultRequest: {cpu: 1, memory: 1Gi}}"), "cpu 500m, memory 1Gi, pods 1"),
    ];
    for (text, expected) in table {
        assert_eq!(requests(&text), expected, "{text}");
    }
}

#[test]
fn core_daemon_02_06_a_running_pod_tells_best_but_for_its_node() {
    let affinity = ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: team, operator: Exists}]}]}}}";
    let pod = |name: &str, created: &str, cpu: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: ops, creationTimestamp: '{created}T00:00:00Z', labels: {{app: agent}}, ownerReferences: [{{apiVersion: apps/v1, kind: DaemonSet, name: agent, uid: u, controller: true}}]}}\nspec: {{nodeName: n0, containers: [{{name: c, resources: {{requests: {{cpu: {cpu}}}}}}}], affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchFields: [{{key: metadata.name, operator: In, values: [n0]}}]}}]}}}}}}}}\n"
        )
    };
    let text =
        daemon("{}", affinity) + &pod("agent-a", "2026-01-02", "2") + &pod("agent-b", "2026-01-01", "1");
    let read = lowered(&text);
    let spec = &read.cluster.daemon_sets[0].spec;
    assert_eq!(spec.requests.get("cpu").to_string(), "2", "the newest");
    assert_eq!(spec.required.len(), 1);
    assert_eq!(spec.required[0].to_string(), "team Exists");
    assert!(spec.faults.is_empty());
    assert!(read.cluster.pods.iter().all(|pod| pod.daemon && !pod.is_pending()));
}

#[test]
fn limits_ranges_apply_to_workloads_but_not_to_pods_that_are_there() {
    let deployment = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: ops}\nspec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c}]}}}\n";
    let pod = "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: ops}\nspec: {containers: [{name: c}]}\n";
    let range = range("ops", "{type: Container, defaultRequest: {cpu: 1}}");
    let made = &lowered(&format!("{deployment}{range}")).cluster.pods[0];
    assert_eq!(made.spec.requests.get("cpu").to_string(), "1");
    let there = &lowered(&format!("{pod}{range}")).cluster.pods[0];
    assert!(there.spec.requests.get("cpu").is_zero());
}
