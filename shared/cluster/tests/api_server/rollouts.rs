//! Deployments of pods that ask for a successor before they leave: read where they count, and restarted once.

use cluster::ClaimIndex;
use model::{Effect, ObjectName, RestartOrder};
use serde_json::{Value, json};

use crate::effects::{holds, not_found};
use crate::kit::{Exchange, NOW, Server, list, node, now, on, pod, running, status};

const PATH: &str = "/apis/apps/v1/namespaces/default/deployments/web";
const EVENTS: &str = "POST /api/v1/namespaces/default/events";
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";
const BEFORE: &str = "2026-05-01T08:00:00+02:00";

fn deployment(uid: &str, restarted: Option<&str>) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": "web", "namespace": "default", "uid": uid, "resourceVersion": "7" },
        "spec": {
            "replicas": 1,
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": { "containers": [] } },
        },
    });
    if let Some(restarted) = restarted {
        deployment["spec"]["template"]["metadata"]["annotations"] = json!({ RESTARTED: restarted });
    }
    deployment
}

/// What a restart asks, and what becomes of it.
#[tokio::test]
async fn a_rollout_is_restarted_once() {
    let restart = |restarted: Option<&str>| {
        Effect::RestartRollout(Box::new(RestartOrder {
            deployment: ObjectName::new("default", "web"),
            uid: "uid-web".into(),
            restarted: restarted.map(str::to_owned),
            at: now(),
            pod: "web-0".into(),
            pod_uid: "uid-web-0".into(),
            node: "n".into(),
        }))
    };
    let (get, patch) = (format!("GET {PATH}"), format!("PATCH {PATH}"));
    let found = |restarted: Option<&str>| on(&get, 200, deployment("uid-web", restarted));
    let body = || {
        json!({
            "metadata": { "resourceVersion": "7" },
            "spec": { "template": { "metadata": { "annotations": { RESTARTED: NOW } } } },
        })
    };
    let patched = || on(&patch, 200, json!({})).with(body());
    let conflict = || on(&patch, 409, status(409, "Conflict", "the object has been modified"));
    let said = || on(EVENTS, 201, json!({}));
    let forbidden = |request: &str| on(request, 403, status(403, "Forbidden", "you may not"));
    holds(vec![
        ("first", restart(None), vec![found(None), patched(), said()], "Done"),
        ("after others", restart(Some(BEFORE)), vec![found(Some(BEFORE)), patched(), said()], "Done"),
        ("meanwhile", restart(None), vec![found(Some(NOW))], "Already"),
        ("meanwhile again", restart(Some(BEFORE)), vec![found(Some(NOW))], "Already"),
        ("taken back meanwhile", restart(Some(BEFORE)), vec![found(None)], "Already"),
        ("no longer there", restart(None), vec![on(&get, 404, not_found())], "Gone"),
        ("a namesake", restart(None), vec![on(&get, 200, deployment("uid-other", None))], "Gone"),
        ("gone meanwhile", restart(None), vec![found(None), on(&patch, 404, not_found())], "Gone"),
        (
            "scaled meanwhile",
            restart(None),
            vec![found(None), conflict(), found(None), patched(), said()],
            "Done",
        ),
        (
            "restarted meanwhile",
            restart(None),
            vec![found(None), conflict(), found(Some("2026-06-01T11:59:59Z"))],
            "Already",
        ),
        ("not to be read", restart(None), vec![forbidden(&get), said()], "Forbidden"),
        ("not to be written", restart(None), vec![found(None), forbidden(&patch), said()], "Forbidden"),
    ])
    .await;
}

#[tokio::test]
async fn the_pod_is_told() {
    let restart = || {
        Effect::RestartRollout(Box::new(RestartOrder {
            deployment: ObjectName::new("default", "web"),
            uid: "uid-web".into(),
            restarted: None,
            at: now(),
            pod: "web-0".into(),
            pod_uid: "uid-web-0".into(),
            node: "n".into(),
        }))
    };
    let evict = Effect::EvictPod {
        pod: ObjectName::new("default", "web-0"),
        uid: "uid-web-0".into(),
        node: "n".into(),
        remark: Some("no successor first: it is of no Deployment".into()),
    };
    let told = |name: &str, kind: &str, reason: &str, message: &str| {
        on(EVENTS, 201, json!({})).with(json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "namespace": "default", "name": name },
            "involvedObject": {
                "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web-0", "uid": "uid-web-0",
            },
            "type": kind,
            "reason": reason,
            "message": message,
            "source": { "component": "karpenter" },
            "reportingComponent": "karpenter",
            "reportingInstance": "journeyman",
            "firstTimestamp": NOW,
            "lastTimestamp": NOW,
            "count": 1,
        }))
    };
    let read = || on(&format!("GET {PATH}"), 200, deployment("uid-web", None));
    let patch = format!("PATCH {PATH}");
    let started = "Deployment web is restarted: node n is to go, and a successor is to be Ready first";
    let failed = "Deployment web can't be restarted: you may not";
    let evicted = "evicted from node n, which is to go; no successor first: it is of no Deployment";
    let eviction = "POST /api/v1/namespaces/default/pods/web-0/eviction";
    holds(vec![
        (
            "restarted",
            restart(),
            vec![
                read(),
                on(&patch, 200, json!({})),
                told("web-0.5fc5746cd087b11e", "Normal", "SurgeStarted", started),
            ],
            "Done",
        ),
        (
            "not let",
            restart(),
            vec![
                read(),
                on(&patch, 403, status(403, "Forbidden", "you may not")),
                told("web-0.00c37c44fbcd8f45", "Warning", "SurgeFailed", failed),
            ],
            "Forbidden",
        ),
        (
            "evicted",
            evict,
            vec![on(eviction, 201, json!({})), told("web-0.9467fa147e33c30e", "Normal", "Evicted", evicted)],
            "Done",
        ),
    ])
    .await;
}

/// A pod of Deployment `web` on a node that goes.
fn of_web(name: &str, rest: &[(&str, &str)]) -> Value {
    let owner = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d8", "uid": "u", "controller": true });
    let mut pod = pod(name, "1", json!({ "spec": { "nodeName": "a" }, "status": { "phase": "Running" } }));
    pod["metadata"]["labels"] = json!({ "pod-template-hash": "5d8" });
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod["metadata"]["annotations"] =
        rest.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    pod
}

/// The requests for a node that goes with these pods.
fn drain_of(pods: &[Value]) -> Vec<Exchange> {
    let mut going = running("a", "5");
    going["metadata"]["deletionTimestamp"] = "2026-06-01T11:59:00Z".into();
    let claims = "GET /apis/karpenter.sh/v1/nodeclaims";
    vec![
        on(&format!("{claims}?limit=250"), 200, list("10", std::slice::from_ref(&going))),
        on(&format!("{claims}/a"), 200, going),
        on("GET /api/v1/nodes/a", 200, node("a", "5", json!({}))),
        on("GET /apis/storage.k8s.io/v1/volumeattachments?limit=250", 200, list("1", &[])),
        on("GET /api/v1/pods?limit=250&fieldSelector=spec.nodeName%3Da", 200, list("1", pods)),
    ]
}

#[tokio::test]
async fn deployments_are_read_only_for_pods_that_ask() {
    let asks = ("journeyman.dev/surge", "true");
    let quiet = [of_web("p", &[]), of_web("q", &[("journeyman.dev/surge", "false")]), {
        let mut gone = of_web("r", &[asks]);
        gone["metadata"]["deletionTimestamp"] = NOW.into();
        gone
    }];
    let server = Server::expecting(drain_of(&quiet));
    let parts = ClaimIndex::new(&server.cluster()).lifecycle(&["a".into()], &[]).await.unwrap();
    server.done();
    assert_eq!((parts.pods.len(), parts.deployments.len()), (3, 0));

    // One request for all pods of a Deployment; what it answers is kept, and that it may not be asked.
    let two = [of_web("p", &[asks, (RESTARTED, BEFORE)]), of_web("q", &[asks])];
    let get = format!("GET {PATH}");
    let mut found = deployment("uid-web", Some(BEFORE));
    found["spec"]["progressDeadlineSeconds"] = 60.into();
    for (answer, expected) in [
        (on(&get, 200, found), Some(Some((Some(BEFORE.to_owned()), 60)))),
        (on(&get, 404, not_found()), None),
        (on(&get, 403, status(403, "Forbidden", "you may not")), Some(None)),
    ] {
        let server = Server::expecting(drain_of(&two).into_iter().chain([answer]));
        let parts = ClaimIndex::new(&server.cluster()).lifecycle(&["a".into()], &[]).await.unwrap();
        server.done();
        let read = parts.deployments.first().map(|deployment| {
            assert_eq!(deployment.name, ObjectName::new("default", "web"));
            let rollout = deployment.rollout.clone();
            rollout.map(|rollout| (rollout.restarted, rollout.progress_deadline_seconds))
        });
        assert_eq!(read, expected);
        let restarted = parts.pods.iter().map(|pod| pod.surge.as_ref().unwrap().restarted.as_deref());
        assert_eq!(restarted.collect::<Vec<_>>(), [Some(BEFORE), None]);
    }
    // Nobody knows what an outage hides: another look is taken.
    let answer = on(&get, 400, status(400, "BadRequest", "no"));
    let server = Server::expecting(drain_of(&two).into_iter().chain([answer]));
    let error = ClaimIndex::new(&server.cluster()).lifecycle(&["a".into()], &[]).await.unwrap_err();
    assert_eq!(error.status(), Some(400));
    server.done();
}
