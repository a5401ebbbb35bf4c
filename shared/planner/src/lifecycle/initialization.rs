//! A Node that has joined becomes one that counts: ready, with its devices, rid of the taints it started with.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use model::{Claim, ClaimNode, ConditionStatus, Effect, NodeChange, StartStage, Taint, TaintEffect, labels};

use super::registration::untouched;
use super::view::{View, is_ready};
use super::work::Work;
use super::{INITIALIZED, REGISTERED};

/// Taints that go by themselves.
const EPHEMERAL: [(&str, TaintEffect); 5] = [
    ("node.kubernetes.io/not-ready", TaintEffect::NoSchedule),
    ("node.kubernetes.io/not-ready", TaintEffect::NoExecute),
    ("node.kubernetes.io/unreachable", TaintEffect::NoSchedule),
    ("node.cloudprovider.kubernetes.io/uninitialized", TaintEffect::NoSchedule),
    (labels::UNREGISTERED, TaintEffect::NoExecute),
];

/// A Node that takes longer from its joining on counts as one that has failed.
const LIMIT: SignedDuration = SignedDuration::from_mins(15);

/// Says what the Node still lacks, or that it lacks nothing.
pub(super) fn tend(view: &View<'_>, work: &mut Work<'_>) {
    let claim = work.claim;
    if claim.condition(INITIALIZED) != ConditionStatus::Unknown || !claim.is(REGISTERED) {
        return;
    }
    let Some(node) = view.node_of(claim) else {
        work.set(INITIALIZED, ConditionStatus::Unknown, "NodeNotFound", "there is no Node, or more than one");
        return;
    };
    if node.labels.get(labels::INITIALIZED).is_some_and(|value| value == "true") {
        work.set_true(INITIALIZED);
        work.came_out(StartStage::Initialization, None);
        work.look_at_once();
    } else if let Some((reason, message)) = lacks(claim, node) {
        overdue(work, reason, &message);
        work.set(INITIALIZED, ConditionStatus::Unknown, reason, message);
    } else {
        let labels = BTreeMap::from([(labels::INITIALIZED.to_owned(), "true".to_owned())]);
        work.effect(Effect::ChangeNode(Box::new(NodeChange { labels, ..untouched(node) })));
        work.look_at_once();
    }
}

/// Counts a Node that has joined long ago and still lacks something, once. It stays: there may be pods on it.
fn overdue(work: &mut Work<'_>, reason: &str, message: &str) {
    let claim = work.claim;
    let Some(joined) = claim.conditions.get(REGISTERED).map(|condition| condition.since) else { return };
    let end = joined + LIMIT;
    work.look_at(end);
    if end > work.now() || claim.annotations.contains_key(labels::OVERDUE) {
        return;
    }
    work.annotate(labels::OVERDUE, &work.now().to_string());
    work.warn("InitializationOverdue", format!("not ready for work in time: {message}"));
    work.came_out(StartStage::Initialization, Some((reason, message)));
}

/// The first thing that a Node lacks.
fn lacks(claim: &Claim, node: &ClaimNode) -> Option<(&'static str, String)> {
    if !is_ready(node) {
        return Some(("NodeNotReady", format!("{} is not ready", node.name)));
    }
    let startup = |taint: &&Taint| claim.startup_taints.iter().any(|start| start.matches(taint));
    if let Some(taint) = node.taints.iter().find(startup) {
        return Some(("StartupTaintsExist", format!("startup taint {taint} is still there")));
    }
    let ephemeral = |taint: &&Taint| {
        taint.key.starts_with("readiness.k8s.io/") || EPHEMERAL.contains(&(&taint.key, taint.effect))
    };
    if let Some(taint) = node.taints.iter().find(ephemeral) {
        return Some(("KnownEphemeralTaintsExist", format!("taint {taint} is still there")));
    }
    let mut asked = claim.requests.iter().filter(|(_, amount)| !amount.is_zero());
    let (name, _) = asked.find(|(name, _)| node.allocatable.get(name).is_zero())?;
    Some(("ResourceNotRegistered", format!("the Node has no {name} yet")))
}
