//! What pods ask of their nodes.

use super::kit::{lowered, object, only, pod};

/// A pod with these containers and other lines.
fn requests(containers: &str, rest: &str) -> String {
    let text = object("Pod", "v1", "p", &format!("  containers: {containers}\n{rest}"));
    only(&text).spec.requests.to_string()
}

#[test]
fn core_prov_17_18_requests_follow_the_rules_of_kubernetes() {
    let two = "[{name: a, resources: {requests: {cpu: 1, memory: 1Gi}}}, {name: b, resources: {requests: {cpu: 500m}}}]";
    #[rustfmt::skip]
    let table = [
        (two, "", "cpu 1500m, memory 1Gi, pods 1"),
        ("[{name: a}]", "", "pods 1"),
        // Limits stand in for requests, resource by resource.
        ("[{name: a, resources: {limits: {cpu: 2, memory: 1Gi}, requests: {cpu: 1}}}]", "", "cpu 1, memory 1Gi, pods 1"),
        // The largest init container counts if it asks more than all others together.
        (two, "  initContainers: [{name: i, resources: {requests: {cpu: 4}}}, {name: j, resources: {requests: {cpu: 1}}}]",
         "cpu 4, memory 1Gi, pods 1"),
        (two, "  initContainers: [{name: i, resources: {requests: {cpu: 1}}}]", "cpu 1500m, memory 1Gi, pods 1"),
        // A sidecar goes on beside the containers, and beside init containers after it.
        (two, "  initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}]",
         "cpu 2500m, memory 1Gi, pods 1"),
        ("[{name: a, resources: {requests: {cpu: 1}}}]",
         "  initContainers: [{name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}, {name: i, resources: {requests: {cpu: 3}}}]",
         "cpu 4, pods 1"),
        ("[{name: a, resources: {requests: {cpu: 1}}}]",
         "  initContainers: [{name: i, resources: {requests: {cpu: 3}}}, {name: s, restartPolicy: Always, resources: {requests: {cpu: 1}}}]",
         "cpu 3, pods 1"),
        (two, "  overhead: {cpu: 250m, memory: 120Mi}", "cpu 1750m, memory 1144Mi, pods 1"),
        // Requests of the pod as a whole win, for the resources that it can name.
        (two, "  resources: {requests: {cpu: 3}}", "cpu 3, memory 1Gi, pods 1"),
        (two, "  resources: {limits: {cpu: 3, memory: 4Gi}}", "cpu 1500m, memory 1Gi, pods 1"),
        ("[{name: a}]", "  resources: {limits: {cpu: 3}}", "cpu 3, pods 1"),
        ("[{name: a, resources: {requests: {nvidia.com/gpu: 1}}}]", "", "nvidia.com/gpu 1, pods 1"),
    ];
    for (containers, rest, asked) in table {
        assert_eq!(requests(containers, rest), asked, "{containers} {rest}");
    }
}

#[test]
fn core_prov_17_a_resize_counts_the_most_of_written_and_allotted() {
    let with = |written: &str, has: &str, allotted: &str, reason: &str| {
        format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: p}}\nspec:\n  nodeName: n0\n  containers: [{{name: a, resources: {{requests: {{cpu: {written}}}}}}}]\n\
             status:\n  phase: Running\n  conditions: [{{type: PodResizePending, status: 'True', reason: {reason}}}]\n  \
             containerStatuses: [{{name: a, image: i, imageID: i, ready: true, restartCount: 0, allocatedResources: {{cpu: {allotted}}}, resources: {{requests: {{cpu: {has}}}}}}}]\n"
        )
    };
    for (written, has, allotted, reason, cpu) in [
        ("1", "2", "2", "Deferred", "2"),
        ("4", "2", "2", "Deferred", "4"),
        ("4", "2", "3", "Infeasible", "3"),
    ] {
        let pod = only(&with(written, has, allotted, reason));
        assert_eq!(pod.spec.requests.get("cpu").to_string(), cpu, "{written} {has} {allotted} {reason}");
    }
}

#[test]
fn wrong_units_are_faults_with_place_and_help() {
    #[rustfmt::skip]
    let table = [
        ("{cpu: 1, memory: 1GB}", "input.yaml:6:57: spec.containers[0].resources.requests.memory", "did you mean 1Gi?"),
        ("{cpu: 2 cores}", "spec.containers[0].resources.requests.cpu", "did you mean 2?"),
        ("{memory: 512 MB}", "spec.containers[0].resources.requests.memory", "did you mean 512Mi?"),
        ("{cpu: true}", "expected a quantity, found true or false", ""),
    ];
    for (requests, message, help) in table {
        let text = object(
            "Pod",
            "v1",
            "p",
            &format!("  containers: [{{name: a, resources: {{requests: {requests}}}}}]"),
        );
        let faults = super::kit::faults(&text);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains(message), "{faults:?}");
        assert!(faults[0].contains(help), "{faults:?}");
    }
}

#[test]
fn alike_pods_share_one_specification() {
    let one = pod("  nodeSelector: {a: b}");
    let two = one.replace("name: p", "name: q");
    let pods = lowered(&format!("{one}{two}")).cluster.pods;
    assert!(std::sync::Arc::ptr_eq(&pods[0].spec, &pods[1].spec));
}
