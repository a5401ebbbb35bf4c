//! NodeClaims under way: their kin, their Nodes, their pods.

use cluster::ClaimIndex;
use model::{ConditionStatus, ObjectName};
use serde_json::{Value, json};

use crate::kit::{Exchange, Server, claim, list, node, on, pod, running, watch};

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

fn all(claims: &[Value]) -> Exchange {
    on(&format!("GET {CLAIMS}?limit=250"), 200, list("10", claims))
}

fn one(claim: &Value) -> Exchange {
    let name = claim["metadata"]["name"].as_str().unwrap();
    on(&format!("GET {CLAIMS}/{name}"), 200, claim.clone())
}

fn grouped(name: &str, group: &str) -> Value {
    claim(name, "5", json!({ "metadata": { "annotations": { "journeyman.dev/launch-group": group } } }))
}

fn names<T>(items: &[T], name: impl Fn(&T) -> &str) -> Vec<String> {
    items.iter().map(|item| name(item).to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn claims_come_with_their_launch_group_and_with_those_of_the_same_machine() {
    let (a, b, c) = (grouped("a", "g1"), grouped("b", "g1"), grouped("c", "g2"));
    let twin = claim("twin", "5", json!({ "status": { "providerID": "aws:///eu-west-1a/i-run" } }));
    let run = running("run", "5");
    let server =
        Server::expecting([all(&[a.clone(), b.clone(), c, twin.clone(), run.clone()]), one(&a), one(&b)]);
    let mut index = ClaimIndex::new(&server.cluster());
    let parts = index.lifecycle(&["a".into()], &[]).await.unwrap();
    assert_eq!(names(&parts.claims, |claim| &claim.name), ["a", "b"]);
    assert_eq!(parts.claims[0].launch_group.as_deref(), Some("g1"));
    assert!(parts.nodes.is_empty() && parts.pods.is_empty() && parts.attachments.is_empty());
    server.done();

    // Warm: a watch instead of the list. One names its Node, the other's Node is looked for.
    index.suspend();
    let watching =
        format!("GET {CLAIMS}?watch=1&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion=10");
    server.expect([
        watch(&watching, &[]),
        one(&twin),
        one(&run),
        on("GET /api/v1/nodes/run", 200, node("run", "5", json!({}))),
        on(
            "GET /api/v1/nodes?limit=250&labelSelector=%21karpenter.sh%2Finitialized",
            200,
            list("1", &[node("other", "5", json!({}))]),
        ),
    ]);
    let parts = index.lifecycle(&["twin".into()], &[]).await.unwrap();
    assert_eq!(names(&parts.claims, |claim| &claim.name), ["run", "twin"]);
    assert_eq!(names(&parts.nodes, |node| &node.name), ["run"]);
    let found = &parts.nodes[0];
    assert_eq!((found.version.as_str(), found.ready, found.finalizer), ("5", ConditionStatus::True, true));
    server.done();
}

#[tokio::test(start_paused = true)]
async fn what_is_to_be_drained_comes_with_its_pods_and_volumes() {
    let mut going = running("a", "5");
    going["metadata"]["deletionTimestamp"] = "2026-06-01T11:59:00Z".into();
    let on_a = |name: &str, rest: Value| {
        let mut on_a = pod(name, "1", rest);
        on_a["spec"]["nodeName"] = "a".into();
        on_a["status"] = json!({ "phase": "Running", "startTime": "2026-06-01T11:30:00Z" });
        on_a
    };
    let mut database =
        on_a("db-0", json!({ "metadata": { "annotations": { "karpenter.sh/do-not-disrupt": "1h" } } }));
    database["spec"]["volumes"] = json!([
        { "name": "data", "persistentVolumeClaim": { "claimName": "data-db-0" } },
        { "name": "token", "projected": {} },
    ]);
    database["spec"]["terminationGracePeriodSeconds"] = 90.into();
    database["spec"]["priorityClassName"] = "system-cluster-critical".into();
    let mut daemon = on_a("log-x", json!({}));
    daemon["metadata"]["ownerReferences"] = json!([{ "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "log", "uid": "u", "controller": true }]);
    daemon["spec"]["tolerations"] = json!([{ "operator": "Exists" }]);
    let attachment = |name: &str, node: &str| {
        json!({
            "metadata": { "name": name },
            "spec": { "attacher": "ebs.csi.aws.com", "nodeName": node, "source": { "persistentVolumeName": "pv-1" } },
        })
    };
    let server = Server::expecting([
        all(std::slice::from_ref(&going)),
        one(&going),
        on("GET /api/v1/nodes/a", 200, node("a", "5", json!({}))),
        on(
            "GET /apis/storage.k8s.io/v1/volumeattachments?limit=250",
            200,
            list("1", &[attachment("va-1", "a"), attachment("va-2", "b")]),
        ),
        on("GET /api/v1/pods?limit=250&fieldSelector=spec.nodeName%3Da", 200, list("1", &[database, daemon])),
        on(
            "GET /api/v1/namespaces/default/persistentvolumeclaims/data-db-0",
            200,
            json!({ "metadata": { "name": "data-db-0" }, "spec": { "volumeName": "pv-1" } }),
        ),
    ]);
    let parts = ClaimIndex::new(&server.cluster()).lifecycle(&["a".into()], &[]).await.unwrap();
    server.done();
    assert_eq!(names(&parts.attachments, |attachment| &attachment.name), ["va-1"]);
    let [database, daemon] = parts.pods.as_slice() else { panic!("{:?}", parts.pods) };
    assert_eq!(database.name, ObjectName::new("default", "db-0"));
    assert_eq!((database.volumes.as_slice(), database.grace_seconds), (["pv-1".to_owned()].as_slice(), 90));
    assert_eq!(database.do_not_disrupt.as_deref(), Some("1h"));
    assert!(database.critical && !database.daemon && !database.tolerates_disruption);
    assert!(daemon.daemon && daemon.tolerates_disruption && !daemon.critical);
    assert_eq!((daemon.grace_seconds, daemon.do_not_disrupt.as_deref()), (30, None));
    assert_eq!(daemon.started.map(|at| at.to_string()).as_deref(), Some("2026-06-01T11:30:00Z"));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_goes_without_a_claim_is_an_orphan_and_one_with_a_claim_brings_it() {
    let going =
        |name: &str| node(name, "5", json!({ "metadata": { "deletionTimestamp": "2026-06-01T11:59:00Z" } }));
    let run = running("run", "5");
    let server = Server::expecting([
        all(std::slice::from_ref(&run)),
        on("GET /api/v1/nodes/lost", 200, going("lost")),
        on("GET /api/v1/nodes/run", 200, going("run")),
        on("GET /api/v1/nodes/gone", 404, json!({})),
        one(&run),
        on("GET /apis/storage.k8s.io/v1/volumeattachments?limit=250", 200, list("1", &[])),
        on("GET /api/v1/pods?limit=250&fieldSelector=spec.nodeName%3Dlost", 200, list("1", &[])),
        on("GET /api/v1/pods?limit=250&fieldSelector=spec.nodeName%3Drun", 200, list("1", &[])),
    ]);
    let nodes = ["lost".into(), "run".into(), "gone".into()];
    let parts = ClaimIndex::new(&server.cluster()).lifecycle(&[], &nodes).await.unwrap();
    server.done();
    assert_eq!(names(&parts.orphans, |node| &node.name), ["lost"]);
    assert_eq!(names(&parts.claims, |claim| &claim.name), ["run"]);
    assert_eq!(names(&parts.nodes, |node| &node.name), ["run"]);
}

#[tokio::test(start_paused = true)]
async fn machines_are_found_by_the_ids_that_events_name() {
    let (a, b) = (running("a", "5"), running("b", "5"));
    let server = Server::expecting([
        all(&[a.clone(), b]),
        one(&a),
        on("GET /api/v1/nodes/a", 200, node("a", "5", json!({}))),
    ]);
    let mut index = ClaimIndex::new(&server.cluster());
    let (claims, nodes) = index.by_instance_ids(&["i-a".into(), "i-unknown".into()]).await.unwrap();
    assert_eq!(names(&claims, |claim| &claim.name), ["a"]);
    assert_eq!(names(&nodes, |node| &node.name), ["a"]);
    server.done();
}

#[tokio::test]
async fn a_sweep_sees_all_claims_or_none() {
    let path = format!("GET {CLAIMS}?limit=250");
    let mut first = list("10", &[running("a", "5")]);
    first["metadata"]["continue"] = "next".into();
    let next = format!("{path}&continue=next");
    let server = Server::expecting([
        on(&path, 200, first.clone()),
        on(&next, 200, list("10", &[claim("b", "5", json!({}))])),
    ]);
    let claims = server.cluster().claims().await.unwrap();
    assert_eq!(names(&claims, |claim| &claim.name), ["a", "b"]);
    assert!(claims[0].is("Registered") && !claims[1].is("Registered"));
    server.done();

    let odd = claim("odd", "5", json!({ "spec": { "requirements": [{ "key": "k", "operator": "Near" }] } }));
    let server = Server::expecting([on(&path, 200, first), on(&next, 200, list("10", &[odd]))]);
    let error = server.cluster().claims().await.unwrap_err();
    assert!(error.to_string().contains("nodeclaims/odd"), "{error}");
    server.done();
}
