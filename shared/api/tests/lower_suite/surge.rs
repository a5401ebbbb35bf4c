//! Pods that ask for a successor before they leave, and Deployments that are to bring it.

use api::lower::{bound_pod, rollout};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use model::{Rollout, Surge};
use serde_json::{Value, json};

use super::kit::only;

fn deployment(spec: &Value) -> Rollout {
    let mut object = json!({ "metadata": { "name": "web", "uid": "u" }, "spec": {
        "selector": {}, "template": {}, "replicas": 1,
    } });
    let fields = spec.as_object().expect("fields of a spec");
    object["spec"].as_object_mut().expect("a spec").extend(fields.clone());
    rollout(&serde_json::from_value::<Deployment>(object).expect("a Deployment"))
}

#[test]
fn how_a_deployment_brings_new_pods() {
    let plain = Rollout {
        uid: "u".into(),
        replicas: 1,
        rolling: true,
        max_surge: 1,
        max_unavailable: 0,
        progress_deadline_seconds: 600,
        paused: false,
        deleting: false,
        restarted: None,
    };
    assert_eq!(deployment(&json!({})), plain);
    assert_eq!(deployment(&json!({ "replicas": null })), plain);
    assert_eq!(deployment(&json!({ "paused": true })), Rollout { paused: true, ..plain.clone() });
    let slow = Rollout { progress_deadline_seconds: 1800, ..plain.clone() };
    assert_eq!(deployment(&json!({ "progressDeadlineSeconds": 1800 })), slow);
    let annotations = json!({ "kubectl.kubernetes.io/restartedAt": "2026-06-01T12:00:00Z", "other": "x" });
    let template = json!({ "template": { "metadata": { "annotations": annotations } } });
    let restarted = Some("2026-06-01T12:00:00Z".into());
    assert_eq!(deployment(&template), Rollout { restarted, ..plain.clone() });
    assert!(!deployment(&json!({ "strategy": { "type": "Recreate" } })).rolling);
    let going: Deployment =
        serde_json::from_value(json!({ "metadata": { "deletionTimestamp": "2026-06-01T12:00:00Z" } }))
            .unwrap();
    assert!(rollout(&going).deleting);
    // As the Deployment's controller rounds: more up, fewer down.
    #[rustfmt::skip]
    let table = [
        (1, json!(null),  json!(null),  (1, 0)),
        (1, json!(0),     json!(1),     (0, 1)),
        (1, json!(2),     json!(0),     (2, 0)),
        (1, json!("0%"),  json!("99%"), (0, 0)),
        (1, json!("1%"),  json!("100%"), (1, 1)),
        (3, json!("25%"), json!("50%"), (1, 1)),
        (1, json!("a"),   json!("b%"),  (0, 0)),
    ];
    for (replicas, surge, unavailable, expected) in table {
        let rolling = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        let read = deployment(&json!({ "replicas": replicas, "strategy": { "rollingUpdate": rolling } }));
        assert_eq!((read.max_surge, read.max_unavailable), expected, "{rolling}");
    }
}

fn pod(annotations: &Value, owner: &Value, labels: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "p", "annotations": annotations, "ownerReferences": [owner], "labels": labels },
        "spec": { "nodeName": "n", "containers": [] },
    })
}

#[test]
fn what_a_pod_says_of_a_successor() {
    let owner = |kind: &str, name: &str| json!({ "apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "u", "controller": true });
    let says = |annotations: Value, owner: Value, labels: Value| {
        let object = pod(&annotations, &owner, &labels);
        let text = object.to_string();
        let bound = bound_pod(&serde_json::from_value::<Pod>(object).unwrap(), |_| None).unwrap();
        let surge = bound.surge.as_ref();
        assert_eq!(only(&text).disruption.surge, surge.is_some_and(Surge::is_wanted), "{text}");
        let deployment = surge.and_then(|surge| surge.deployment.as_deref());
        assert!(deployment.is_none() || only(&text).deployment() == deployment, "{text}");
        bound.surge
    };
    let hash = || json!({ "pod-template-hash": "5d8" });
    let asks = || json!({ "journeyman.dev/surge": "true" });
    let surge = |deployment: Option<&str>| {
        Some(Surge { text: "true".into(), deployment: deployment.map(str::to_owned), restarted: None })
    };
    assert_eq!(says(json!({}), owner("ReplicaSet", "web-5d8"), hash()), None);
    #[rustfmt::skip]
    let table = [
        ("ReplicaSet",  "web-5d8",     hash(),                             Some("web")),
        ("ReplicaSet",  "web-api-5d8", hash(),                             Some("web-api")),
        ("ReplicaSet",  "web",         hash(),                             None),
        ("ReplicaSet",  "-5d8",        hash(),                             None),
        ("ReplicaSet",  "web5d8",      hash(),                             None),
        ("ReplicaSet",  "web-5d8",     json!({}),                          None),
        ("ReplicaSet",  "web-",        json!({ "pod-template-hash": "" }), None),
        ("StatefulSet", "web-5d8",     hash(),                             None),
    ];
    for (kind, name, labels, deployment) in table {
        assert_eq!(says(asks(), owner(kind, name), labels), surge(deployment), "{kind} {name}");
    }
    let mut annotations = asks();
    annotations["kubectl.kubernetes.io/restartedAt"] = "2026-06-01T12:00:00Z".into();
    let restarted = says(annotations, owner("ReplicaSet", "web-5d8"), hash()).unwrap().restarted;
    assert_eq!(restarted.as_deref(), Some("2026-06-01T12:00:00Z"));
    let off = says(json!({ "journeyman.dev/surge": "false" }), owner("ReplicaSet", "web-5d8"), hash());
    assert_eq!(off.map(|surge| surge.text).as_deref(), Some("false"));
}
