//! What NodeClaims, NodePools and pods are told of themselves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    ClaimChange, Condition, ConditionStatus, Effect, ObjectName, Registration, RegistrationFailure,
    StartStage, UnboundPod,
};
use serde_json::{Value, json};

use crate::effects::{holds, not_found, outcome};
use crate::kit::{NOW, Server, conditions, list, now, on, pod, running};

const CLAIM: &str = "/apis/karpenter.sh/v1/nodeclaims/a";
const POOL: &str = "/apis/karpenter.sh/v1/nodepools/web";

#[tokio::test]
async fn findings_come_and_go_in_one_write_at_any_version() {
    let mut present = running("a", "5");
    present["status"]["conditions"] =
        conditions(&["Launched", "Registered", "Initialized", "Ready", "Consolidatable"]);
    let drifted = Condition {
        status: ConditionStatus::True,
        reason: "NodePoolDrifted".into(),
        message: String::new(),
        since: now(),
        generation: 1,
    };
    let change = ClaimChange {
        claim: "a".into(),
        conditions: BTreeMap::from([("Drifted".into(), drifted)]),
        off: BTreeSet::from(["Consolidatable".into()]),
        pod_event: Some(now()),
        ..ClaimChange::default()
    };
    let effect = Effect::ChangeNodeClaim(Box::new(change));
    let drift = json!({ "type": "Drifted", "status": "True", "reason": "NodePoolDrifted", "message": "",
        "lastTransitionTime": NOW, "observedGeneration": 1 });
    // In the order of their times and types, the root last.
    let mut all = conditions(&["Initialized", "Launched", "Registered", "Ready"]);
    all.as_array_mut().unwrap().insert(3, drift);
    let body = json!({ "metadata": { "resourceVersion": "5" }, "status": { "conditions": all, "lastPodEventTime": NOW } });
    let mut after = present.clone();
    after["status"]["conditions"] = all;
    after["status"]["lastPodEventTime"] = NOW.into();
    let (get, patch) = (format!("GET {CLAIM}"), format!("PATCH {CLAIM}/status"));
    let server = Server::expecting([on(&get, 200, present), on(&patch, 200, after.clone()).with(body)]);
    assert_eq!(outcome(&server.cluster(), &effect).await, "Done");
    server.done();
    // Nothing is written twice.
    holds(vec![("again", effect, vec![on(&get, 200, after)], "Already")]).await;
}

#[tokio::test]
async fn registrations_are_counted_on_their_pool() {
    let pool = |annotations: Value, conditions: Value| {
        json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": { "name": "web", "generation": 1, "resourceVersion": "5", "annotations": annotations },
            "spec": { "template": { "spec": {
                "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                "requirements": [],
            } } },
            "status": { "conditions": conditions },
        })
    };
    let healthy = json!({ "type": "NodeRegistrationHealthy", "status": "True", "reason": "NodeRegistrationHealthy",
        "message": "", "lastTransitionTime": NOW, "observedGeneration": 1 });
    let counted = json!({ "journeyman.dev/registrations": "1.0:+" });
    let full = json!({ "journeyman.dev/registrations": "1.0:++++" });
    let effect = || Effect::NoteRegistrations {
        pool: "web".into(),
        outcomes: vec![Registration { failure: None, ..failed() }],
    };
    let (get, patch, patch_status) =
        (format!("GET {POOL}"), format!("PATCH {POOL}"), format!("PATCH {POOL}/status"));
    let status =
        json!({ "metadata": { "resourceVersion": "5" }, "status": { "conditions": [healthy.clone()] } });
    let marked = json!({ "metadata": { "resourceVersion": "6", "annotations": counted } });
    let second = json!({ "metadata": { "resourceVersion": "6" } });
    holds(vec![
        (
            "the first",
            effect(),
            vec![
                on(&get, 200, pool(json!({}), json!([]))),
                on(&patch_status, 200, second).with(status),
                on(&patch, 200, json!({})).with(marked),
            ],
            "Done",
        ),
        ("as ever", effect(), vec![on(&get, 200, pool(full, json!([healthy])))], "Already"),
        ("of no pool", effect(), vec![on(&get, 404, not_found())], "Gone"),
    ])
    .await;
}

fn failed() -> Registration {
    let failure = RegistrationFailure { reason: "Slow".into(), message: "no Node".into() };
    Registration { claimed: now(), stage: StartStage::Registration, image: None, failure: Some(failure) }
}

#[tokio::test]
async fn launches_that_are_held_are_told_in_condition_annotation_and_event() {
    let pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
        "metadata": { "name": "web", "uid": "u", "generation": 1, "resourceVersion": "5",
            "annotations": { "journeyman.dev/launch-breaker": "1", "journeyman.dev/registrations": "1.0:--" } },
        "spec": { "template": { "spec": {
            "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
            "requirements": [],
        } } },
        "status": { "conditions": [{ "type": "NodeRegistrationHealthy", "status": "False", "reason": "Slow",
            "message": "", "lastTransitionTime": NOW, "observedGeneration": 1 }] },
    });
    let until = now() + SignedDuration::from_mins(5);
    let message = format!(
        "no node is made, for its last launch came to nothing, Slow: no Node; from {until} on one at a time is tried; a \
        change of the NodePool or its EC2NodeClass lets it start anew"
    );
    let mut conditions = pool["status"]["conditions"].clone();
    conditions
        .as_array_mut()
        .unwrap()
        .push(json!({ "type": "LaunchesAllowed", "status": "False", "reason": "Slow",
        "message": message, "lastTransitionTime": NOW, "observedGeneration": 1 }));
    let count = format!(
        "{{\"of\":\"1.0\",\"failures\":1,\"last\":\"{NOW}\",\"reason\":\"Slow\",\"message\":\"no Node\",\
        \"held\":{{\"since\":\"{NOW}\",\"tried\":0}}}}"
    );
    let annotations = json!({ "journeyman.dev/launches": count, "journeyman.dev/registrations": "1.0:---" });
    let effect = Effect::NoteRegistrations { pool: "web".into(), outcomes: vec![failed()] };
    let (get, patch) = (format!("GET {POOL}"), format!("PATCH {POOL}"));
    let server = Server::expecting([
        on(&get, 200, pool),
        on(&format!("{patch}/status"), 200, json!({ "metadata": { "resourceVersion": "6" } }))
            .with(json!({ "metadata": { "resourceVersion": "5" }, "status": { "conditions": conditions } })),
        on(&patch, 200, json!({}))
            .with(json!({ "metadata": { "resourceVersion": "6", "annotations": annotations } })),
        on("POST /api/v1/namespaces/default/events", 201, json!({})),
    ]);
    assert_eq!(outcome(&server.cluster(), &effect).await, "Done");
    server.done();
}

#[tokio::test]
async fn a_condition_of_a_pool_comes_changes_and_goes_beside_others() {
    let other = json!({ "type": "Ready", "status": "True", "reason": "Ready", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z" });
    let told = |status: &str, message: &str, since: &str| {
        json!({ "type": "CanaryHealthy", "status": status, "reason": "Soaking", "message": message,
            "lastTransitionTime": since, "observedGeneration": 3 })
    };
    let pool = |conditions: &[&Value]| json!({ "metadata": { "name": "web", "resourceVersion": "5" }, "status": { "conditions": conditions } });
    let body = |conditions: &[&Value]| json!({ "metadata": { "resourceVersion": "5" }, "status": { "conditions": conditions } });
    let effect = |message: Option<&str>| Effect::TellNodePool {
        pool: "web".into(),
        kind: "CanaryHealthy".into(),
        condition: message.map(|message| Condition {
            status: ConditionStatus::Unknown,
            reason: "Soaking".into(),
            message: message.into(),
            since: now(),
            generation: 3,
        }),
    };
    let (get, patch) = (format!("GET {POOL}"), format!("PATCH {POOL}/status"));
    let early = "2026-05-01T00:00:00Z";
    let (soaking, later, bad) =
        (told("Unknown", "a", early), told("Unknown", "b", early), told("False", "a", early));
    let anew = told("Unknown", "b", NOW);
    holds(vec![
        (
            "the first",
            effect(Some("b")),
            vec![on(&get, 200, pool(&[&other])), on(&patch, 200, json!({})).with(body(&[&other, &anew]))],
            "Done",
        ),
        (
            "the same status keeps its time",
            effect(Some("b")),
            vec![
                on(&get, 200, pool(&[&soaking, &other])),
                on(&patch, 200, json!({})).with(body(&[&other, &later])),
            ],
            "Done",
        ),
        (
            "another status has another",
            effect(Some("b")),
            vec![on(&get, 200, pool(&[&bad])), on(&patch, 200, json!({})).with(body(&[&anew]))],
            "Done",
        ),
        (
            "off",
            effect(None),
            vec![on(&get, 200, pool(&[&other, &bad])), on(&patch, 200, json!({})).with(body(&[&other]))],
            "Done",
        ),
        ("as it is", effect(Some("b")), vec![on(&get, 200, pool(&[&later]))], "Already"),
        ("of no pool", effect(None), vec![on(&get, 404, not_found())], "Gone"),
    ])
    .await;
}

#[tokio::test]
async fn pods_without_a_node_are_listed_with_what_they_were_promised() {
    let request = "GET /api/v1/pods?limit=250&fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending";
    let promised = pod("b", "2", json!({ "status": { "nominatedNodeName": "n1" } }));
    let server = Server::expecting([on(request, 200, list("9", &[pod("a", "1", json!({})), promised]))]);
    let found = server.cluster().unbound_pods().await.unwrap();
    let told: Vec<(&ObjectName, Option<&str>)> =
        found.iter().map(|pod: &UnboundPod| (&pod.name, pod.nominated.as_deref())).collect();
    let (a, b) = (ObjectName::new("default", "a"), ObjectName::new("default", "b"));
    assert_eq!(told, [(&a, None), (&b, Some("n1"))]);
    server.done();
}
