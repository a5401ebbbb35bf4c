//! Looks: listed once, followed by watches that resume, listed again when the server has forgotten.

use std::time::Duration;

use api::lower::{LowerOptions, lower};
use cluster::{Changed, Observer};
use model::{Effect, ObjectName};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::kit::{
    Exchange, Server, bookmark, chopped_watch, claim, ended_watch, event, fed_watch, list, node, on, pod,
    running, status, watch,
};

const PENDING: &str = "fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending";

fn list_of(path: &str, selection: &str, answer: Value) -> Exchange {
    let selection = if selection.is_empty() { String::new() } else { format!("&{selection}") };
    let limit = if path.ends_with("nodeclaims") { 250 } else { 500 };
    on(&format!("GET {path}?limit={limit}{selection}"), 200, answer)
}

fn pending(answer: Value) -> Exchange {
    list_of("/api/v1/pods", PENDING, answer)
}

fn nodes(answer: Value) -> Exchange {
    list_of("/api/v1/nodes", "", answer)
}

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";

fn claims(answer: Value) -> Exchange {
    list_of(CLAIMS, "", answer)
}

fn watching(path: &str, version: &str, selection: &str) -> String {
    let selection = if selection.is_empty() { String::new() } else { format!("&{selection}") };
    format!(
        "GET {path}?watch=1&allowWatchBookmarks=true&timeoutSeconds=60&resourceVersion={version}{selection}"
    )
}

fn pods_watch(version: &str) -> String {
    watching("/api/v1/pods", version, PENDING)
}

fn nodes_watch(version: &str) -> String {
    watching("/api/v1/nodes", version, "")
}

fn claims_watch(version: &str) -> String {
    watching(CLAIMS, version, "")
}

/// The count of NodeClaims that each warm look makes.
fn counted(count: usize) -> Exchange {
    let items: Vec<Value> = (0..count.min(1)).map(|_| json!({ "metadata": { "name": "any" } })).collect();
    let mut answer = list("99", &items);
    if count > 1 {
        answer["metadata"]["continue"] = "more".into();
        answer["metadata"]["remainingItemCount"] = (count - 1).into();
    }
    on(&format!("GET {CLAIMS}?limit=1"), 200, answer)
}

fn cold(pod_list: Value, node_list: Value, claim_list: Value) -> [Exchange; 3] {
    [pending(pod_list), nodes(node_list), claims(claim_list)]
}

#[tokio::test(start_paused = true)]
async fn an_idle_cluster_costs_four_requests_and_the_changes() {
    let node_list = list("10", &[node("a", "5", json!({}))]);
    let server = Server::expecting(cold(list("10", &[]), node_list, list("10", &[running("a", "6")])));
    let cluster = server.cluster();
    let mut observer = Observer::new(&cluster);
    assert!(observer.at_rest().await.unwrap().is_at_rest());
    server.done();
    // Warm: each watch goes on where the list, the event or the bookmark left off.
    for (version, next) in [("10", "20"), ("20", "30")] {
        observer.suspend();
        server.expect([
            watch(&pods_watch(version), &[bookmark(next)]),
            watch(&nodes_watch(version), &[event("MODIFIED", node("a", next, json!({})))]),
            watch(&claims_watch(version), &[bookmark(next)]),
            counted(1),
        ]);
        let before = cluster.traffic();
        assert!(observer.at_rest().await.unwrap().is_at_rest());
        assert_eq!((cluster.traffic() - before).requests, 4);
        server.done();
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_coming_or_going_is_not_at_rest() {
    let launching = claim("b", "6", json!({}));
    let mut going = running("c", "6");
    going["metadata"]["deletionTimestamp"] = "2026-06-01T11:59:00Z".into();
    let mut not_held = running("d", "6");
    not_held["metadata"]["finalizers"] = json!([]);
    let deleted = node("c", "5", json!({ "metadata": { "deletionTimestamp": "2026-06-01T11:59:00Z" } }));
    let tainted = node(
        "d",
        "5",
        json!({ "spec": { "taints": [{ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" }] } }),
    );
    let fresh = node("e", "5", json!({ "metadata": { "labels": { "karpenter.sh/initialized": null } } }));
    let foreign = json!({ "metadata": { "name": "f" } });
    let daemon = json!({ "metadata": { "ownerReferences": [
        { "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": true }] } });
    let gated = json!({ "status": { "conditions": [
        { "type": "PodScheduled", "status": "False", "reason": "SchedulingGated" }] } });
    let server = Server::expecting(cold(
        list("1", &[pod("p", "1", json!({})), pod("q", "1", daemon), pod("r", "1", gated)]),
        list("1", &[node("a", "5", json!({})), deleted, tainted, fresh, foreign]),
        list("1", &[running("a", "6"), launching, going, not_held]),
    ));
    let found = Observer::new(&server.cluster()).at_rest().await.unwrap();
    assert_eq!(found.pending, [ObjectName::new("default", "p")]);
    assert_eq!(found.claims, ["b", "c", "d"]);
    assert_eq!(found.nodes, ["c", "d", "e"]);
    server.done();
}

#[tokio::test(start_paused = true)]
async fn changes_are_taken_in_however_they_are_cut() {
    for size in [1, 7, 100_000] {
        let server = Server::expecting(cold(
            list("10", &[pod("p", "9", json!({}))]),
            list("10", &[]),
            list("10", &[]),
        ));
        let mut observer = Observer::new(&server.cluster());
        assert_eq!(observer.at_rest().await.unwrap().pending.len(), 1);
        observer.suspend();
        server.expect([
            chopped_watch(
                &pods_watch("10"),
                size,
                &[
                    event("ADDED", pod("q", "11", json!({}))),
                    event("DELETED", pod("p", "12", json!({}))),
                    event(
                        "MODIFIED",
                        pod("q", "13", json!({ "metadata": { "labels": { "tier": "ünïcode" } } })),
                    ),
                ],
            ),
            watch(&nodes_watch("10"), &[]),
            watch(&claims_watch("10"), &[event("ADDED", claim("c", "14", json!({})))]),
            counted(1),
        ]);
        let found = observer.at_rest().await.unwrap();
        assert_eq!(found.pending, [ObjectName::new("default", "q")], "in pieces of {size}");
        assert_eq!(found.claims, ["c"]);
        server.done();
    }
}

#[tokio::test(start_paused = true)]
async fn a_version_that_the_server_has_forgotten_means_a_list() {
    let expired = status(410, "Expired", "too old resource version: 10 (500)");
    let ahead = status(504, "Timeout", "Too large resource version: 10, current: 3");
    for watched in [
        on(&pods_watch("10"), 410, expired.clone()),
        ended_watch(&pods_watch("10"), &[event("ERROR", expired.clone())]),
        ended_watch(&pods_watch("10"), &[event("ADDED", pod("x", "11", json!({}))), event("ERROR", expired)]),
        on(&pods_watch("10"), 504, ahead),
    ] {
        let server = Server::expecting(cold(list("10", &[]), list("10", &[]), list("10", &[])));
        let mut observer = Observer::new(&server.cluster());
        observer.at_rest().await.unwrap();
        observer.suspend();
        server.expect([
            watched,
            pending(list("500", &[pod("p", "400", json!({}))])),
            watch(&nodes_watch("10"), &[]),
            watch(&claims_watch("10"), &[]),
            counted(0),
        ]);
        let found = observer.at_rest().await.unwrap();
        assert_eq!(found.pending, [ObjectName::new("default", "p")]);
        server.done();
        observer.suspend();
        server.expect([
            watch(&pods_watch("500"), &[]),
            watch(&nodes_watch("10"), &[]),
            watch(&claims_watch("10"), &[]),
            counted(0),
        ]);
        observer.at_rest().await.unwrap();
        server.done();
    }
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_and_start_anew_when_a_page_is_too_late() {
    let mut first = list("10", &[node("a", "1", json!({}))]);
    first["metadata"]["continue"] = "to/ken=".into();
    let page = "GET /api/v1/nodes?limit=500&continue=to%2Fken%3D";
    let late = on(page, 410, status(410, "Expired", "The provided continue parameter is too old"));
    let server = Server::expecting([
        pending(list("10", &[])),
        nodes(first.clone()),
        late,
        nodes(first),
        on(
            page,
            200,
            list(
                "10",
                &[node(
                    "b",
                    "2",
                    json!({ "spec": { "taints": [{ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" }] } }),
                )],
            ),
        ),
        claims(list("10", &[])),
    ]);
    let found = Observer::new(&server.cluster()).at_rest().await.unwrap();
    assert_eq!(found.nodes, ["b"]);
    server.done();
}

#[tokio::test(start_paused = true)]
async fn a_count_that_differs_means_a_list_of_node_claims() {
    let server = Server::expecting(cold(list("10", &[]), list("10", &[]), list("10", &[running("a", "6")])));
    let mut observer = Observer::new(&server.cluster());
    observer.at_rest().await.unwrap();
    observer.suspend();
    server.expect([
        watch(&pods_watch("10"), &[]),
        watch(&nodes_watch("10"), &[]),
        // This replica of the server is behind: it has not heard of the other two.
        watch(&claims_watch("10"), &[]),
        counted(3),
        claims(list("20", &[running("a", "6"), claim("b", "19", json!({})), running("c", "18")])),
    ]);
    assert_eq!(observer.at_rest().await.unwrap().claims, ["b"]);
    server.done();
}

#[tokio::test(start_paused = true)]
async fn a_broken_watch_is_opened_again() {
    let server = Server::expecting(cold(list("10", &[]), list("10", &[]), list("10", &[])));
    let mut observer = Observer::new(&server.cluster());
    observer.at_rest().await.unwrap();
    observer.suspend();
    server.expect([
        ended_watch(&pods_watch("10"), &[bookmark("15")]),
        watch(&pods_watch("15"), &[event("ADDED", pod("p", "16", json!({})))]),
        watch(&nodes_watch("10"), &[]),
        watch(&claims_watch("10"), &[]),
        counted(0),
    ]);
    assert_eq!(observer.at_rest().await.unwrap().pending.len(), 1);
    server.done();
}

#[tokio::test(start_paused = true)]
async fn what_we_write_is_known_before_the_watch_tells() {
    let server = Server::expecting(cold(list("10", &[]), list("10", &[]), list("10", &[running("a", "6")])));
    let cluster = server.cluster();
    let mut observer = Observer::new(&cluster);
    observer.at_rest().await.unwrap();
    observer.suspend();
    let mut going = running("a", "20");
    going["metadata"]["deletionTimestamp"] = "2026-06-01T11:59:00Z".into();
    server.expect([on(&format!("DELETE {CLAIMS}/a"), 200, going)]);
    let delete =
        Effect::DeleteNodeClaim { claim: "a".into(), uid: Some("uid-a".into()), reason: "Empty".into() };
    cluster.act(&delete).await.unwrap();
    server.expect([
        watch(&pods_watch("10"), &[]),
        watch(&nodes_watch("10"), &[]),
        // An older event comes after: it does not undo what we know.
        watch(&claims_watch("10"), &[event("MODIFIED", running("a", "15"))]),
        counted(1),
    ]);
    assert_eq!(observer.at_rest().await.unwrap().claims, ["a"]);
    server.done();
}

#[tokio::test(start_paused = true)]
async fn waiting_ends_with_a_change_and_a_heartbeat_is_none() {
    let server =
        Server::expecting(cold(list("10", &[]), list("10", &[node("a", "5", json!({}))]), list("10", &[])));
    let mut observer = Observer::new(&server.cluster());
    observer.at_rest().await.unwrap();
    let (tell_pods, pod_events) = mpsc::unbounded_channel();
    let (tell_nodes, node_events) = mpsc::unbounded_channel();
    server.expect([
        fed_watch(&pods_watch("10"), pod_events),
        fed_watch(&nodes_watch("10"), node_events),
        watch(&claims_watch("10"), &[]),
    ]);
    let start = Instant::now();
    let told = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        let beat = json!({ "status": { "conditions": [
            { "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-06-01T12:00:00Z" }] } });
        tell_nodes.send(event("MODIFIED", node("a", "11", beat))).unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        tell_pods.send(event("ADDED", pod("p", "12", json!({})))).unwrap();
        tell_pods.send(event("ADDED", pod("q", "13", json!({})))).unwrap();
    };
    let deadline = start + Duration::from_secs(50);
    server.expect([counted(0)]);
    let (changed, ()) = futures_util::future::join(observer.changed(deadline), told).await;
    assert_eq!(changed.unwrap(), Changed { pods: 2, pending: 2, nodes: 0, claims: 0, pools: 0 });
    let waited = start.elapsed();
    assert!(waited >= Duration::from_secs(10) && waited < Duration::from_secs(11), "{waited:?}");

    // Nothing more: the deadline ends it.
    assert_eq!(observer.changed(deadline).await.unwrap(), Changed::default());
    assert_eq!(start.elapsed(), Duration::from_secs(50));
    server.done();
}

/// Lists of all that `observe` reads beside pods, Nodes and NodeClaims.
fn rest(pools: &[Value], classes: &[Value]) -> Vec<Exchange> {
    let empty = |path: &str| list_of(path, "", list("1", &[]));
    vec![
        list_of("/apis/karpenter.sh/v1/nodepools", "", list("1", pools)),
        list_of("/apis/karpenter.k8s.aws/v1/ec2nodeclasses", "", list("1", classes)),
        empty("/apis/apps/v1/daemonsets"),
        empty("/api/v1/limitranges"),
        empty("/api/v1/namespaces"),
        empty("/api/v1/persistentvolumeclaims"),
        empty("/api/v1/persistentvolumes"),
        empty("/apis/storage.k8s.io/v1/storageclasses"),
        empty("/apis/storage.k8s.io/v1/csinodes"),
        empty("/apis/policy/v1/poddisruptionbudgets"),
    ]
}

#[tokio::test(start_paused = true)]
async fn what_is_observed_can_be_lowered_and_holds_no_secret() {
    let pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": { "name": "default", "uid": "u" },
        "spec": { "template": { "spec": {
            "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "missing" },
            "requirements": [], "expireAfter": "720h",
        } }, "disruption": { "consolidateAfter": "0s" } },
    });
    let bound = json!({ "spec": { "nodeName": "a" }, "status": { "phase": "Running", "conditions": null } });
    let unreadable = json!({ "metadata": { "name": "odd", "uid": "u" }, "spec": { "requirements": 1 } });
    let server = Server::expecting([
        list_of("/api/v1/pods", "", list("10", &[pod("p", "1", json!({})), pod("q", "1", bound)])),
        nodes(list("10", &[node("a", "5", json!({}))])),
        claims(list("10", &[running("a", "6"), unreadable])),
    ]);
    server.expect(rest(&[pool], &[]));
    let mut observer = Observer::new(&server.cluster());
    let objects = observer.observe().await.unwrap();
    server.done();
    assert!(!format!("{objects:?}").contains("hunter2"));
    let lowered = lower(&objects, &LowerOptions::default()).unwrap();
    let cluster = &lowered.cluster;
    assert_eq!(cluster.pods.len(), 2);
    assert_eq!(cluster.pods.iter().filter(|pod| pod.is_pending()).count(), 1);
    assert_eq!(cluster.nodes.len(), 1);
    assert_eq!(cluster.nodes[0].claim.as_deref(), Some("a"));
    // One pool without its class, or one object that can't be read, does not stop the rest.
    let not_ready = model::PoolStatus::NotReady("EC2NodeClass missing does not exist".into());
    assert_eq!(cluster.pools[0].status, not_ready);
    assert!(lowered.notes.iter().any(|note| note.place.contains("odd")), "{:?}", lowered.notes);

    // From now on all pods are followed.
    observer.suspend();
    server.expect([
        watch(&watching("/api/v1/pods", "10", ""), &[]),
        watch(&nodes_watch("10"), &[]),
        watch(&claims_watch("10"), &[]),
        counted(2),
    ]);
    assert_eq!(observer.at_rest().await.unwrap().pending.len(), 1);
    server.done();
}
