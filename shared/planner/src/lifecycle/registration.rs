//! The machine's Node has joined: it gets what the NodeClaim says of it, and then takes pods.

use std::collections::BTreeMap;

use model::{Claim, ClaimNode, ConditionStatus, Effect, NodeChange, StartStage, Taint, TaintEffect, labels};

use super::REGISTERED;
use super::view::View;
use super::work::Work;

pub(super) const NOT_FOUND: &str = "no Node has the machine's provider id yet";

/// Annotations of a NodeClaim that are of no use on a Node.
const OWN: [&str; 3] = [labels::LAUNCH_GROUP, labels::LAUNCH_ATTEMPT, labels::PLANNED_PODS];

/// Looks for the Node, and lets it in.
pub(super) fn tend(view: &View<'_>, work: &mut Work<'_>) {
    let claim = work.claim;
    let Some(id) = claim.provider_id.as_deref() else { return };
    // Two Nodes of one machine don't become one again.
    if claim.condition(REGISTERED) != ConditionStatus::Unknown {
        return;
    }
    let nodes: Vec<&ClaimNode> = view.nodes_of(id).collect();
    match nodes.as_slice() {
        [] => work.set(REGISTERED, ConditionStatus::Unknown, "NodeNotFound", NOT_FOUND),
        [node] => join(node, work),
        [one, two, ..] => {
            let message = format!("{} and {} have the same provider id", one.name, two.name);
            work.set(REGISTERED, ConditionStatus::False, "MultipleNodesFound", message);
        }
    }
}

fn join(node: &ClaimNode, work: &mut Work<'_>) {
    let change = sync(work.claim, node);
    if change.is_empty() {
        work.set_true(REGISTERED);
        work.came_out(StartStage::Registration, None);
        work.change.node = Some(node.name.clone());
        work.look_at_once();
        return;
    }
    if !is_marked(node) && !node.taints.iter().any(is_unregistered) {
        work.warn(
            "UnregisteredTaintMissing",
            format!(
                "{} joined without the taint {}: pods may have come too early",
                node.name,
                labels::UNREGISTERED
            ),
        );
    }
    work.effect(Effect::ChangeNode(Box::new(change)));
    work.look_at_once();
}

fn is_marked(node: &ClaimNode) -> bool {
    node.labels.get(labels::REGISTERED).is_some_and(|value| value == "true")
}

fn is_unregistered(taint: &Taint) -> bool {
    taint.key == labels::UNREGISTERED && taint.effect == TaintEffect::NoExecute
}

pub(super) fn untouched(node: &ClaimNode) -> NodeChange {
    NodeChange { node: node.name.clone(), version: node.version.clone(), ..NodeChange::default() }
}

/// What the Node lacks of what the NodeClaim says.
fn sync(claim: &Claim, node: &ClaimNode) -> NodeChange {
    let mut labels = missing(&claim.labels, &node.labels);
    let mut taints: Vec<Taint> =
        node.taints.iter().filter(|taint| !is_unregistered(taint)).cloned().collect();
    // A Node that is marked has had its taints, and the ones for its start may be gone by now.
    if !is_marked(node) {
        labels.insert(labels::REGISTERED.to_owned(), "true".to_owned());
        if node.labels.get(labels::DO_NOT_SYNC_TAINTS).is_none_or(|value| value != "true") {
            for taint in claim.taints.iter().chain(&claim.startup_taints) {
                if !taints.iter().any(|present| present.matches(taint)) {
                    taints.push(taint.clone());
                }
            }
        }
    }
    let mut annotations = missing(&claim.annotations, &node.annotations);
    annotations.retain(|key, _| !OWN.contains(&key.as_str()));
    NodeChange {
        finalizer: !node.finalizer,
        owner: (!node.owned).then(|| (claim.name.clone(), claim.uid.clone())),
        labels,
        annotations,
        taints: (taints != node.taints).then_some(taints),
        ..untouched(node)
    }
}

fn missing(said: &BTreeMap<String, String>, has: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let lacks = |(key, value): &(&String, &String)| has.get(*key) != Some(value);
    said.iter().filter(lacks).map(|(key, value)| (key.clone(), value.clone())).collect()
}
