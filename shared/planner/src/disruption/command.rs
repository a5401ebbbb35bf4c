//! Commands, and the effects that carry them out.
//!
//! Nothing is remembered between runs. A node that is to go once its replacements are ready says so itself: it is tainted,
//! and its NodeClaim names the reason, the replacements and the time. Whichever run comes next goes on from there, so a
//! run may be cut off after any effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    Command, DisruptionReason, Effect, EventKind, KeepCode, Kept, MarkOrder, MicroUsd, Node, NodeClaimDraft,
    ObjectRef, PlannedNode, Snapshot,
};

use super::candidate::{Candidate, Scene, kept};

/// Replacements that take longer are given up.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

/// A command with all that is needed to carry it out.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub command: Command,
    /// Places of its nodes in `Cluster::nodes`.
    pub nodes: Vec<usize>,
    /// The NodeClaims of its replacements.
    pub drafts: Vec<Arc<NodeClaimDraft>>,
}

/// Nodes that go with nothing in their stead.
pub(super) fn deletion(
    scene: &Scene,
    candidates: &[&Candidate],
    reason: DisruptionReason,
    message: String,
) -> Decided {
    replacement(scene, candidates, reason, message, Vec::new())
}

/// Nodes that go once `replacements` are ready.
pub(super) fn replacement(
    scene: &Scene,
    candidates: &[&Candidate],
    reason: DisruptionReason,
    message: String,
    replacements: Vec<(PlannedNode, Arc<NodeClaimDraft>)>,
) -> Decided {
    let mut nodes: Vec<usize> = candidates.iter().map(|candidate| candidate.node).collect();
    nodes.sort_by(|a, b| scene.node(*a).name.cmp(&scene.node(*b).name));
    let (replacements, drafts): (Vec<_>, Vec<_>) = replacements.into_iter().unzip();
    let command = Command {
        nodes: nodes.iter().map(|&node| scene.node(node).name.clone()).collect(),
        reason,
        message,
        pods_moved: candidates.iter().map(|candidate| candidate.pods.len()).sum(),
        price_before: candidates.iter().map(|candidate| candidate.price).sum(),
        price_after: replacements.iter().map(|node: &PlannedNode| node.price).sum::<MicroUsd>(),
        replacements,
    };
    Decided { command, nodes, drafts }
}

/// The effects that begin a command; with no replacements to wait for, that is all of it. The nodes are marked first: if
/// the run ends there, the next sees replacements that don't exist, and takes the marks back.
pub(super) fn begin(snapshot: &Snapshot, decided: &Decided, effects: &mut Vec<Effect>) {
    let mut replaced_by: Vec<String> = decided.drafts.iter().map(|draft| draft.name.clone()).collect();
    replaced_by.sort();
    let nodes = || decided.nodes.iter().map(|&node| &snapshot.cluster.nodes[node]);
    for node in nodes() {
        let Some(claim) = node.claim.clone() else { continue };
        effects.push(Effect::MarkDisrupted(Box::new(MarkOrder {
            claim,
            uid: node.disruption.claim_uid.clone(),
            node: node.has_node.then(|| node.name.clone()),
            reason: decided.command.reason,
            replaced_by: replaced_by.clone(),
            since: snapshot.now,
        })));
    }
    effects.extend(decided.drafts.iter().cloned().map(Effect::CreateNodeClaim));
    if decided.drafts.is_empty() {
        nodes().for_each(|node| delete(node, decided.command.reason, effects));
    }
}

fn delete(node: &Node, reason: DisruptionReason, effects: &mut Vec<Effect>) {
    if let Some(claim) = node.claim.clone() {
        let (uid, reason) = (node.disruption.claim_uid.clone(), reason.as_str().to_owned());
        effects.push(Effect::DeleteNodeClaim { claim, uid, reason });
    }
}

/// Goes on with what earlier runs began. Every node with a mark that names replacements has one line: it goes now, it
/// waits, or it is let off.
pub(super) fn resume(snapshot: &Snapshot, effects: &mut Vec<Effect>) -> Vec<Kept> {
    let claims: BTreeMap<&str, &Node> =
        snapshot.cluster.nodes.iter().filter_map(|node| Some((node.claim.as_deref()?, node))).collect();
    let mut waiting = Vec::new();
    for node in snapshot.cluster.nodes.iter().filter(|node| !node.deleting && node.claim.is_some()) {
        let Some(mark) = node.disruption.mark.as_ref().filter(|mark| !mark.replaced_by.is_empty()) else {
            continue;
        };
        let gone = mark
            .replaced_by
            .iter()
            .find(|name| claims.get(name.as_str()).is_none_or(|replacement| replacement.deleting));
        let ready = |name: &String| claims.get(name.as_str()).is_some_and(|node| node.initialized);
        let late = mark.since.is_none_or(|since| snapshot.now.duration_since(since) > PATIENCE);
        if let Some(gone) = gone {
            roll_back(node, &format!("its replacement {gone} is gone"), effects);
        } else if mark.replaced_by.iter().all(ready) {
            let reason = mark.reason.unwrap_or(DisruptionReason::Underutilized);
            let message = format!("{}: its replacements are ready", reason.as_str());
            say(node, EventKind::Normal, "DisruptionTerminating", &message, effects);
            delete(node, reason, effects);
        } else if late {
            roll_back(node, "its replacements were not ready within ten minutes", effects);
        } else {
            waiting.push(kept(node, KeepCode::Waiting, "its replacements are not ready yet"));
        }
    }
    waiting
}

fn roll_back(node: &Node, why: &str, effects: &mut Vec<Effect>) {
    say(node, EventKind::Warning, "DisruptionCancelled", &format!("it stays: {why}"), effects);
    unmark(node, effects);
}

/// Takes the mark off.
pub(super) fn unmark(node: &Node, effects: &mut Vec<Effect>) {
    if let Some(claim) = node.claim.clone() {
        effects.push(Effect::UnmarkDisrupted {
            claim,
            uid: node.disruption.claim_uid.clone(),
            node: node.has_node.then(|| node.name.clone()),
        });
    }
}

/// An event of the NodeClaim and of the Node.
pub(super) fn say(node: &Node, kind: EventKind, reason: &str, message: &str, effects: &mut Vec<Effect>) {
    let claim = node.claim.clone().map(ObjectRef::NodeClaim);
    let own = node.has_node.then(|| ObjectRef::Node(node.name.clone()));
    effects.extend(claim.into_iter().chain(own).map(|about| Effect::PublishEvent {
        about,
        kind,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }));
}
