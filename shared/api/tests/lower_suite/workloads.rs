//! Pods that controllers are still to make.

use std::sync::Arc;

use super::kit::lowered;

fn workload(kind: &str, version: &str, spec: &str) -> String {
    format!(
        "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: web, uid: u}}\nspec: {{{spec}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: []}}}}}}\n"
    )
}

const SELECTOR: &str = "selector: {matchLabels: {app: web}}";

fn pod(name: &str, owner: &str, rest: &str) -> String {
    let owners = if owner.is_empty() {
        String::new()
    } else {
        let (kind, name) = owner.split_once('/').expect("kind and name");
        format!(
            ", ownerReferences: [{{apiVersion: apps/v1, kind: {kind}, name: {name}, uid: u, controller: true}}]"
        )
    };
    format!(
        "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{app: web}}{owners}}}\nspec: {{nodeName: n0, containers: []}}\n{rest}\n"
    )
}

fn pending(text: &str) -> Vec<String> {
    let pods = lowered(text).cluster.pods;
    pods.iter().filter(|pod| pod.is_pending()).map(|pod| pod.name.name.clone()).collect()
}

#[test]
fn a_workload_lacks_the_pods_that_are_not_there() {
    let deployment = workload("Deployment", "apps/v1", &format!("replicas: 3, {SELECTOR}"));
    let set = |owner: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {{name: web-1, uid: v{owner}}}\nspec: {{replicas: 3, {SELECTOR}, template: {{metadata: {{labels: {{app: web}}}}, spec: {{containers: []}}}}}}\n"
        )
    };
    let owned = set(
        ", ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]",
    );
    #[rustfmt::skip]
    let table: [(String, &[&str]); 14] = [
        (deployment.clone(), &["web-0", "web-1", "web-2"]),
        (workload("Deployment", "apps/v1", SELECTOR), &["web-0"]),
        (workload("Deployment", "apps/v1", &format!("replicas: 0, {SELECTOR}")), &[]),
        // Owned through a ReplicaSet that was given, or selected where it was not.
        (format!("{deployment}{owned}{}", pod("web-1-x", "ReplicaSet/web-1", "")), &["web-1", "web-2"]),
        (format!("{deployment}{}", pod("web-1-x", "ReplicaSet/web-1", "")), &["web-1", "web-2"]),
        (format!("{deployment}{}", pod("web-1-x", "", "status: {phase: Failed}")), &["web-0", "web-1", "web-2"]),
        // A name that is taken is passed over.
        (format!("{deployment}{}", pod("web-1", "ReplicaSet/web-1", "")), &["web-2", "web-3"]),
        // A Deployment speaks for its ReplicaSet; one alone speaks for itself.
        (format!("{deployment}{owned}"), &["web-0", "web-1", "web-2"]),
        (set(""), &["web-1-0", "web-1-1", "web-1-2"]),
        (workload("StatefulSet", "apps/v1", &format!("serviceName: s, replicas: 2, ordinals: {{start: 5}}, {SELECTOR}")), &["web-5", "web-6"]),
        (format!("{}{}", workload("StatefulSet", "apps/v1", &format!("serviceName: s, replicas: 2, {SELECTOR}")), pod("web-0", "StatefulSet/web", "")), &["web-1"]),
        (workload("ReplicationController", "v1", "replicas: 2, selector: {app: web}"), &["web-0", "web-1"]),
        (workload("Job", "batch/v1", "parallelism: 3, completions: 2"), &["web-0", "web-1"]),
        (workload("Job", "batch/v1", "parallelism: 3, suspend: true"), &[]),
    ];
    for (text, expected) in table {
        assert_eq!(pending(&text), expected, "{text}");
    }
}

#[test]
fn cron_jobs_make_no_pods_by_themselves() {
    let cron = "apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: nightly}\nspec: {}\n";
    let read = lowered(cron);
    assert!(read.cluster.pods.is_empty());
    assert!(read.notes.iter().any(|note| note.place.contains("nightly")));
}

#[test]
fn pods_of_a_template_are_bound_if_it_names_a_node() {
    let bound = workload("Deployment", "apps/v1", &format!("replicas: 2, {SELECTOR}"))
        .replace("containers: []", "containers: [], nodeName: n1");
    let pods = lowered(&bound).cluster.pods;
    assert!(
        pods.len() == 2 && pods.iter().all(|pod| pod.node.as_deref() == Some("n1") && pod.holds_capacity())
    );
}

#[test]
fn fifty_thousand_alike_share_one_specification() {
    let many = workload("Deployment", "apps/v1", &format!("replicas: 50000, {SELECTOR}"));
    let pods = lowered(&many).cluster.pods;
    assert_eq!(pods.len(), 50_000);
    assert!(pods.iter().all(|pod| Arc::ptr_eq(&pod.spec, &pods[0].spec)));
}
