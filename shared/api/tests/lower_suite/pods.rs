//! Which pods count, and what they require.

use model::{Phase, Requirement, labels};

use super::kit::{faults, lowered, object, only, pod, spec};

#[test]
fn core_prov_03_only_pods_without_a_place_are_pending() {
    let condition = |reason: &str| {
        format!(
            "status: {{phase: Pending, conditions: [{{type: PodScheduled, status: 'False', reason: {reason}}}]}}"
        )
    };
    let owner = |kind: &str, version: &str| {
        format!(
            "metadata:\n  name: p\n  ownerReferences: [{{apiVersion: {version}, kind: {kind}, name: o, uid: u}}]\n"
        )
    };
    let plain = "metadata: {name: p}\n".to_owned();
    #[rustfmt::skip]
    let table = [
        (plain.clone(), "", String::new(), true),
        (plain.clone(), "", condition("Unschedulable"), true),
        (plain.clone(), "", condition("SchedulingGated"), false),
        (plain.clone(), "  schedulingGates: [{name: g}]\n", String::new(), false),
        (plain.clone(), "", "status: {phase: Pending}".to_owned(), true),
        (plain.clone(), "", "status: {phase: Pending, nominatedNodeName: gone}".to_owned(), true),
        (plain.clone(), "", "status: {phase: Failed}".to_owned(), false),
        (plain.clone(), "  nodeName: n0\n", String::new(), false),
        (owner("DaemonSet", "apps/v1"), "", String::new(), false),
        (owner("Node", "v1"), "", String::new(), false),
        (owner("DaemonSet", "example.com/v1"), "", String::new(), true),
        (owner("ReplicaSet", "apps/v1"), "", String::new(), true),
    ];
    for (meta, extra, status, pending) in table {
        let text =
            format!("apiVersion: v1\nkind: Pod\n{meta}spec:\n  containers: [{{name: c}}]\n{extra}{status}\n");
        assert_eq!(only(&text).is_pending(), pending, "{text}");
    }
}

/// Whoever is promised a node that works has a place; a node that only starts, or is gone, may come to nothing.
#[test]
fn core_prov_03_a_pod_that_is_promised_a_working_node_is_not_pending() {
    let claimed = |registered: &str, more: &str| {
        format!(
            "---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: c}}\nspec: {{nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, requirements: []}}\nstatus: {{providerID: 'aws:///a/i-1', nodeName: n0}}\n---\napiVersion: v1\nkind: Node\nmetadata: {{name: n0, labels: {{{registered}}}{more}}}\nspec: {{providerID: 'aws:///a/i-1'}}\n"
        )
    };
    let (joined, ready) = (
        "karpenter.sh/registered: 'true'",
        "karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true'",
    );
    for (what, node, pending) in [
        ("none", String::new(), true),
        ("not ours", "---\napiVersion: v1\nkind: Node\nmetadata: {name: n0}\n".to_owned(), false),
        ("starting", claimed(joined, ""), true),
        ("working", claimed(ready, ""), false),
        ("going", claimed(ready, ", deletionTimestamp: '2026-06-01T12:00:00Z'"), true),
    ] {
        let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c}]}\nstatus: {phase: Pending, nominatedNodeName: n0}\n";
        let pods = lowered(&format!("{pod}{node}")).cluster.pods;
        assert_eq!(pods[0].is_pending(), pending, "{what}");
    }
}

#[test]
fn phases_say_what_is_held() {
    for (lines, phase, held) in [
        ("spec: {nodeName: n0, containers: []}", Phase::Running, true),
        ("spec: {nodeName: n0, containers: []}\nstatus: {phase: Succeeded}", Phase::Terminal, false),
        ("spec: {nodeName: n0, containers: []}\nstatus: {phase: Pending}", Phase::Pending, true),
        ("spec: {containers: []}", Phase::Pending, false),
    ] {
        let pod = only(&format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\n{lines}\n"));
        assert_eq!((pod.phase, pod.holds_capacity()), (phase, held), "{lines}");
    }
}

/// Required node affinity with these expressions, a term each.
fn required(terms: &[&str]) -> String {
    let terms: Vec<String> = terms.iter().map(|term| format!("{{{term}}}")).collect();
    format!(
        "  affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{}]}}}}}}",
        terms.join(", ")
    )
}

#[test]
fn core_prov_09_restricted_labels_make_a_pod_invalid() {
    let by_affinity = |key: &str| {
        required(&[
            "matchExpressions: [{key: ok, operator: Exists}]",
            &format!("matchExpressions: [{{key: {key}, operator: Exists}}]"),
        ])
    };
    for (key, valid) in [
        ("team", true),
        ("kubernetes.io/team", true),
        ("k8s.io/team", true),
        ("karpenter.sh/nodepool", true),
        ("karpenter.sh/initialized", false),
        ("sub.karpenter.sh/team", false),
        ("karpenter.k8s.aws/instance-family", true),
        ("karpenter.k8s.aws/other", false),
        ("kubernetes.io/hostname", false),
    ] {
        assert_eq!(spec(&format!("  nodeSelector: {{{key}: b}}")).faults.is_empty(), valid, "{key}");
        assert_eq!(spec(&by_affinity(key)).faults.is_empty(), valid, "{key} in the second term");
    }
    let preferred = "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 1, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: Exists}]}}]}}";
    assert!(spec(preferred).faults.is_empty(), "preferences are not validated");
}

#[test]
fn core_prov_10_match_fields_make_a_pod_invalid() {
    let fields = "matchFields: [{key: metadata.name, operator: In, values: [n0]}]";
    let expressions = "matchExpressions: [{key: a, operator: Exists}]";
    for (terms, valid) in
        [(vec![expressions], true), (vec![fields], false), (vec![expressions, fields], false)]
    {
        assert_eq!(spec(&required(&terms)).faults.is_empty(), valid, "{terms:?}");
    }
}

#[test]
fn requirements_that_say_nonsense_are_faults() {
    for (expression, part) in [
        ("{key: a, operator: Near, values: [b]}", "not an operator"),
        ("{key: a, operator: In}", "at least one value"),
        ("{key: a, operator: Gt, values: [x]}", "whole number"),
        ("{key: a, operator: Lt, values: ['-1']}", "not a value"),
        ("{key: a, operator: Gt, values: ['1', '2']}", "whole number"),
        ("{key: 'a b', operator: Exists}", "not a label key"),
        ("{key: a, operator: In, values: ['b c']}", "not a value"),
        ("{key: karpenter.sh/capacity-type, operator: In, values: [cheap]}", "on-demand, spot or reserved"),
        ("{key: journeyman.dev/usd-per-hour, operator: In, values: ['1']}", "a price"),
    ] {
        let faults = spec(&required(&[&format!("matchExpressions: [{expression}]")])).faults;
        assert!(faults.len() == 1 && faults[0].contains(part), "{expression}: {faults:?}");
    }
    let empty = spec(&required(&["matchExpressions: []"])).faults;
    assert!(empty.len() == 1 && empty[0].contains("selects no node"), "{empty:?}");
}

#[test]
fn core_prov_08_s07_only_hard_rules_keep_a_pod_off_our_nodes() {
    let preferred = "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 50, preference: {matchExpressions: [{key: karpenter.sh/nodepool, operator: DoesNotExist}]}}]}}";
    let soft = only(&pod(preferred));
    assert!(soft.is_pending() && soft.spec.faults.is_empty() && soft.spec.required.is_empty());
    assert_eq!(soft.spec.preferred.len(), 1);
    assert_eq!(soft.spec.preferred[0].weight, 50);

    let hard =
        only(&pod(&required(&["matchExpressions: [{key: karpenter.sh/nodepool, operator: DoesNotExist}]"])));
    assert_eq!(hard.spec.required[0].get(labels::NODEPOOL), Some(&Requirement::does_not_exist()));
}

#[test]
fn core_req_09_old_label_keys_are_read_as_the_new() {
    let spec =
        spec("  nodeSelector: {failure-domain.beta.kubernetes.io/zone: a, beta.kubernetes.io/arch: arm64}");
    assert_eq!(
        spec.node_selector.to_string(),
        "kubernetes.io/arch In [arm64], topology.kubernetes.io/zone In [a]"
    );
}

#[test]
fn price_rules_of_pods_are_in_millionths() {
    let spec = spec(&required(&[
        "matchExpressions: [{key: journeyman.dev/usd-per-hour, operator: Lt, values: ['0.25']}]",
    ]));
    assert!(spec.faults.is_empty(), "{:?}", spec.faults);
    assert_eq!(spec.required[0].to_string(), "journeyman.dev/usd-per-hour Lte 249999");
}

#[test]
fn tolerations_of_every_operator_are_read() {
    let spec = spec(
        "  tolerations: [{operator: Exists}, {key: a, value: b, effect: NoSchedule}, {key: a, operator: Lt, value: '5'}, {key: a, operator: Near}, {key: a, effect: Never}]",
    );
    assert_eq!(spec.tolerations.len(), 3);
    assert_eq!(spec.tolerations[0].key, None);
    assert_eq!(spec.faults.len(), 2, "{:?}", spec.faults);
}

#[test]
fn host_ports_of_containers_and_sidecars_count() {
    let text = object(
        "Pod",
        "v1",
        "p",
        "  containers: [{name: a, ports: [{containerPort: 80, hostPort: 8080}, {containerPort: 81}]}]\n  initContainers:\n  - {name: s, restartPolicy: Always, ports: [{containerPort: 1, hostPort: 9090, protocol: UDP, hostIP: 10.0.0.1}]}\n  - {name: i, ports: [{containerPort: 1, hostPort: 9091}]}",
    );
    let ports: Vec<String> = only(&text)
        .spec
        .host_ports
        .iter()
        .map(|port| format!("{}:{}/{}", port.ip, port.port, port.protocol))
        .collect();
    assert_eq!(ports, ["0.0.0.0:8080/TCP", "10.0.0.1:9090/UDP"]);
    let on_host = object(
        "Pod",
        "v1",
        "p",
        "  hostNetwork: true\n  containers: [{name: a, ports: [{containerPort: 80}]}]",
    );
    assert_eq!(only(&on_host).spec.host_ports.len(), 1);
}

#[test]
fn slips_of_the_pen_are_faults_and_unknown_fields_of_dumps_are_notes() {
    let slip = pod("  nodeSelecter: {a: b}");
    assert_eq!(
        faults(&slip),
        ["input.yaml:7:3: spec.nodeSelecter: unknown field nodeSelecter (did you mean nodeSelector?)"]
    );
    let stored = slip.replace("{name: p}", "{name: p, uid: u}");
    assert!(super::kit::lowered(&stored).notes.iter().any(|note| note.message.contains("spec.nodeSelecter")));
    let quoted = pod("  nodeSelector: {a: true}");
    assert_eq!(
        faults(&quoted),
        [
            "input.yaml:7:18: spec.nodeSelector.a: expected a text, found true or false (write it in quotes: plain y, n, yes, no, on and off mean true or false)"
        ]
    );
}

#[test]
fn an_object_given_twice_is_a_fault() {
    let twice = format!("{}{}", pod(""), pod(""));
    assert!(
        faults(&twice)[0].contains("Pod default/p was given before, at input.yaml:2:1"),
        "{:?}",
        faults(&twice)
    );
    let elsewhere = pod("").replace("{name: p}", "{name: p, namespace: other}");
    assert!(faults(&format!("{}{elsewhere}", pod(""))).is_empty());
}
