//! A pod that asks for a successor leaves once that is Ready, not before; and as always where there is none to come.

use jiff::SignedDuration;
use model::{
    Attachment, BoundPod, Claim, ClaimNode, ConditionStatus, Deployment, Effect, LifecycleSnapshot,
    ObjectName, Rollout, Surge, labels,
};

use super::super::care;
use super::kit::*;

const BEFORE: &str = "2026-05-01T08:00:00+02:00";

fn rollout() -> Rollout {
    Rollout {
        uid: "uid-web".into(),
        replicas: 1,
        rolling: true,
        max_surge: 1,
        max_unavailable: 0,
        progress_deadline_seconds: 600,
        paused: false,
        deleting: false,
        restarted: None,
    }
}

fn deployment(rollout: Rollout) -> Deployment {
    Deployment { name: ObjectName::new("default", "web"), rollout: Some(rollout) }
}

/// A pod of Deployment `web` that came with the restart of then.
fn asking(name: &str, node: &str, restarted: Option<&str>) -> BoundPod {
    let restarted = restarted.map(str::to_owned);
    let surge = Surge { text: "true".into(), deployment: Some("web".into()), restarted };
    BoundPod { surge: Some(surge), ..pod(name, node) }
}

/// Node `c1`, drained since so many seconds, with a pod that asks for a successor.
fn drained(seconds: i64, pod: BoundPod, deployment: Option<Deployment>) -> LifecycleSnapshot {
    let mut claim = Claim { deleting: Some(ago(seconds)), ..at_rest("c1", "1") };
    claim.conditions.insert("Drained".into(), condition(ConditionStatus::Unknown, "Draining", ago(seconds)));
    LifecycleSnapshot {
        nodes: vec![draining("c1", "1")],
        instances: vec![machine("1")],
        pods: vec![pod],
        deployments: deployment.into_iter().collect(),
        ..snapshot(vec![claim])
    }
}

/// What is done about pods, and why one is evicted though it asks for a successor.
fn said(snapshot: &LifecycleSnapshot) -> Vec<String> {
    let care = care(snapshot);
    let remarks = care.effects.iter().filter_map(|effect| match effect {
        Effect::EvictPod { remark, .. } => remark.clone(),
        _ => None,
    });
    lines_but(&care, &["event", "claim", "provision"]).into_iter().chain(remarks).collect()
}

const RESTARTED: [&str; 1] = ["restart default/web for p"];
const NOTHING: [&str; 0] = [];

fn evicted(why: &str) -> [String; 2] {
    ["evict default/p".to_owned(), format!("no successor first: {why}")]
}

#[test]
fn its_deployment_is_restarted_and_then_waited_for() {
    let mut snapshot = drained(10, asking("p", "c1", None), Some(deployment(rollout())));
    assert_eq!(said(&snapshot), RESTARTED);
    let effects = care(&snapshot).effects;
    let orders: Vec<_> = effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::RestartRollout(order) => Some(order.as_ref()),
            _ => None,
        })
        .collect();
    assert_eq!(
        (orders[0].uid.as_str(), orders[0].at, orders[0].pod_uid.as_str()),
        ("uid-web", now(), "uid-p")
    );
    assert_eq!(orders[0].restarted, None);

    // What is restarted is restarted once, whoever has done it.
    let restarted = |text: &str| Some(deployment(Rollout { restarted: Some(text.into()), ..rollout() }));
    snapshot.deployments = restarted(NOW).into_iter().collect();
    assert_eq!(said(&snapshot), NOTHING);
    // The successor's own node goes as well: it came with that restart.
    snapshot.pods = vec![asking("p", "c1", Some(NOW))];
    assert_eq!(said(&snapshot), RESTARTED);
    // One of long ago is that of this very pod.
    assert_eq!(said(&drained(10, asking("p", "c1", Some(BEFORE)), restarted(BEFORE))), RESTARTED);
    // The Deployment has asked it to go, its successor is Ready.
    let going = BoundPod { deleting: Some(in_secs(20)), ..asking("p", "c1", None) };
    assert_eq!(said(&drained(60, going, restarted(NOW))), NOTHING);
}

#[test]
fn why_it_leaves_as_always() {
    let says = |text: &str| {
        let mut pod = asking("p", "c1", None);
        pod.surge.as_mut().unwrap().text = text.into();
        said(&drained(10, pod, Some(deployment(rollout()))))
    };
    assert_eq!(says("false"), ["evict default/p"]);
    assert_eq!(says("True"), evicted("journeyman.dev/surge is \"True\", which is neither true nor false"));

    let mut alone = asking("p", "c1", None);
    alone.surge.as_mut().unwrap().deployment = None;
    assert_eq!(said(&drained(10, alone, Some(deployment(rollout())))), evicted("it is of no Deployment"));
    let missing = drained(10, asking("p", "c1", None), None);
    assert_eq!(said(&missing), evicted("there is no Deployment web"));
    let mut elsewhere = deployment(rollout());
    elsewhere.name.namespace = "other".into();
    let elsewhere = drained(10, asking("p", "c1", None), Some(elsewhere));
    assert_eq!(said(&elsewhere), evicted("there is no Deployment web"));
    let dark = Deployment { rollout: None, ..deployment(rollout()) };
    let right = "the rights get and patch for deployments of the group apps are not given";
    assert_eq!(said(&drained(10, asking("p", "c1", None), Some(dark))), evicted(right));

    #[rustfmt::skip]
    let table = [
        (Rollout { replicas: 2, ..rollout() },        "has 2 replicas, not one"),
        (Rollout { replicas: 0, ..rollout() },        "has 0 replicas, not one"),
        (Rollout { rolling: false, ..rollout() },     "is of the strategy Recreate"),
        (Rollout { paused: true, ..rollout() },       "is paused"),
        (Rollout { deleting: true, ..rollout() },     "is going"),
        (Rollout { max_surge: 0, ..rollout() },       "allows no pod beyond its replicas (maxSurge)"),
        (Rollout { max_unavailable: 1, ..rollout() }, "need not keep the pod until another is Ready (maxUnavailable)"),
    ];
    for (rollout, why) in table {
        let snapshot = drained(10, asking("p", "c1", None), Some(deployment(rollout)));
        assert_eq!(said(&snapshot), evicted(&format!("Deployment web {why}")));
    }

    // What is attached to this node can't be attached to another.
    let with = |volume: &str| {
        let pod = BoundPod { volumes: vec![volume.into()], ..asking("p", "c1", None) };
        let mut snapshot = drained(10, pod, Some(deployment(rollout())));
        snapshot.attachments = vec![Attachment { name: "a".into(), node: "c1".into(), volume: "v".into() }];
        said(&snapshot)
    };
    assert_eq!(with("v"), evicted("volume v can't be elsewhere while the pod has it"));
    assert_eq!(with("shared"), RESTARTED);
}

#[test]
fn patience_ends_with_the_progress_deadline() {
    let late = evicted("none was Ready within 600 s");
    let restarted = |at: &str| Some(deployment(Rollout { restarted: Some(at.into()), ..rollout() }));
    let waits = |seconds, at: &str| said(&drained(seconds, asking("p", "c1", None), restarted(at)));
    assert_eq!(waits(700, &ago(599).to_string()), NOTHING);
    assert_eq!(waits(700, &ago(600).to_string()), late);
    // One that began before the drain has as long as one that began with it.
    assert_eq!(waits(599, BEFORE), NOTHING);
    assert_eq!(waits(600, BEFORE), late);
    // What can't be read, or is yet to come, prolongs nothing for good.
    assert_eq!(waits(600, "yesterday"), late);
    assert_eq!(waits(599, &in_secs(10_000).to_string()), NOTHING);

    // A restart that doesn't come to pass, because somebody forbids it or takes it back, is not tried for ever.
    let asks = |seconds, peace: Option<&str>| {
        let peace = peace.map(str::to_owned);
        let pod = BoundPod { do_not_disrupt: peace, ..asking("p", "c1", None) };
        said(&drained(seconds, pod, Some(deployment(rollout()))))
    };
    assert_eq!(asks(599, None), RESTARTED);
    assert_eq!(asks(600, None), late);
    // Peace that held for so long is no delay of the Deployment's.
    assert_eq!(asks(600, Some("9m")), RESTARTED);
    assert_eq!(asks(600, Some("11m")), NOTHING);
    assert_eq!(asks(600, Some("true")), NOTHING);

    // The next look is no later than that.
    let mut snapshot = drained(595, asking("p", "c1", None), restarted(BEFORE));
    snapshot.claims[0].deleting = Some(ago(5000));
    assert_eq!(again(&care(&snapshot), "c1"), Some(5));
}

#[test]
fn deadlines_of_the_node_come_first() {
    let with = |key: &str, seconds: i64, rollout: Rollout| {
        let mut snapshot = drained(10, asking("p", "c1", None), Some(deployment(rollout)));
        snapshot.claims[0].annotations.insert(key.into(), in_secs(seconds).to_string());
        said(&snapshot)
    };
    let under_way = || Rollout { restarted: Some(NOW.into()), ..rollout() };
    for key in [labels::TERMINATION_TIMESTAMP, labels::INTERRUPTION_DEADLINE] {
        assert_eq!(with(key, 120, rollout()), RESTARTED, "there is time");
        assert_eq!(with(key, 120, under_way()), NOTHING);
        assert_eq!(with(key, 29, rollout()), ["kill default/p in 29"]);
        assert_eq!(with(key, 29, under_way()), ["kill default/p in 29"]);
    }
}

#[test]
fn a_successor_needs_no_turn_and_holds_the_tiers_after_its_own() {
    let mut snapshot = drained(10, asking("p", "c1", None), Some(deployment(rollout())));
    snapshot.pods[0].critical = true;
    snapshot.pods.push(pod("plain", "c1"));
    assert_eq!(said(&snapshot), ["restart default/web for p", "evict default/plain"]);
    snapshot.deployments.clear();
    assert_eq!(said(&snapshot), ["evict default/plain"]);
    snapshot.deployments = vec![deployment(rollout())];
    snapshot.pods[0].critical = false;
    snapshot.pods[1].critical = true;
    assert_eq!(said(&snapshot), RESTARTED);
}

#[test]
fn a_node_without_a_claim_counts_from_when_it_was_asked_to_go() {
    let orphan = |seconds| {
        let going = ClaimNode { deleting: Some(ago(seconds)), ..draining("c1", "1") };
        LifecycleSnapshot {
            orphans: vec![going],
            claims: Vec::new(),
            nodes: Vec::new(),
            ..drained(10, asking("p", "c1", None), Some(deployment(rollout())))
        }
    };
    assert_eq!(said(&orphan(599)), RESTARTED);
    assert_eq!(said(&orphan(600)), evicted("none was Ready within 600 s"));
}

/// A Deployment of one replica as its controller keeps it, and a node that is drained.
#[test]
fn one_is_ready_at_any_time() {
    let start = now();
    let mut snapshot = drained(0, asking("old", "c1", None), Some(deployment(rollout())));
    let (mut evictions, mut restarts, mut least) = (0, 0, usize::MAX);
    let mut ready_at = None;
    for second in 0..90 {
        snapshot.now = start + SignedDuration::from_secs(second);
        for effect in care(&snapshot).effects {
            match effect {
                Effect::RestartRollout(order) => {
                    restarts += 1;
                    let rollout = snapshot.deployments[0].rollout.as_mut().unwrap();
                    rollout.restarted = Some(order.at.to_string());
                    // The successor has to wait for a node of its own.
                    ready_at.get_or_insert(second + 60);
                }
                Effect::EvictPod { .. } | Effect::DeletePod { .. } => evictions += 1,
                _ => {}
            }
        }
        let successor = usize::from(ready_at.is_some_and(|at| at <= second));
        if successor == 1 {
            snapshot.pods.clear();
        }
        least = least.min(snapshot.pods.len() + successor);
    }
    assert_eq!((restarts, evictions, least, snapshot.pods.len()), (1, 0, 1, 0));
    let written = lines(&care(&snapshot));
    assert!(written.contains(&"terminate cloud:///a/i-1".to_owned()), "{written:?}");
}
