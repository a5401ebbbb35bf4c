//! Nodes that have been broken for too long go, whatever is on them: their pods don't run, and nothing on them answers.
//!
//! Where many of a pool are broken at once, it is not the nodes that are at fault, and none goes.

use model::ConditionStatus::{False, Unknown};
use model::{ClaimChange, ConditionStatus, DisruptionReason, Effect, KeepCode, Kept, Node, labels};

use jiff::{SignedDuration, Timestamp};

use super::candidate::{Candidate, Scene, kept};
use super::command::{self, Decided};

const HALF_AN_HOUR: SignedDuration = SignedDuration::from_mins(30);

/// Conditions of Nodes that are broken, and for how long that is borne with.
const BROKEN: [(&str, ConditionStatus, SignedDuration); 7] = [
    ("Ready", False, HALF_AN_HOUR),
    ("Ready", Unknown, HALF_AN_HOUR),
    ("AcceleratedHardwareReady", False, SignedDuration::from_mins(10)),
    ("StorageReady", False, HALF_AN_HOUR),
    ("NetworkingReady", False, HALF_AN_HOUR),
    ("KernelReady", False, HALF_AN_HOUR),
    ("ContainerRuntimeReady", False, HALF_AN_HOUR),
];

/// Of a pool's nodes so many hundredths, rounded up, may be broken before none is given up.
const MOST_BROKEN: usize = 20;

/// What makes a node a broken one, and until when that is borne with.
pub(super) struct Fault {
    pub condition: &'static str,
    pub status: ConditionStatus,
    borne_until: Timestamp,
}

/// Broken nodes that go, and those that would if there were fewer. Nothing else keeps them: no budget, no
/// PodDisruptionBudget, no annotation.
pub(super) fn plan(scene: &Scene) -> (Vec<Decided>, Vec<Kept>) {
    let (mut gone, mut stay) = (Vec::new(), Vec::new());
    for (index, node) in scene.snapshot.cluster.nodes.iter().enumerate().filter(|(_, node)| !node.deleting) {
        let Some(fault) = overdue(scene, node) else { continue };
        let why = format!("its condition {} is {}", fault.condition, fault.status.as_str());
        if let Some(message) = too_many(scene, node) {
            stay.push(kept(node, KeepCode::TooManyUnhealthy, format!("{why}, but {message}")));
            continue;
        }
        let pods: Vec<usize> = scene.movable(node).collect();
        let (cost, pool) = (scene.cost(&pods), scene.pool(node));
        let price = pool.map(|pool| scene.price(node, pool)).unwrap_or_default();
        let candidate = Candidate { node: index, pods, price, cost };
        gone.push(command::deletion(scene, &[&candidate], DisruptionReason::Unhealthy, why));
    }
    (gone, stay)
}

/// Makes the pods of a broken node leave at once: written before it is asked to go, and also if it is going already, since
/// a drain would wait for a kubelet that doesn't answer.
pub(super) fn hurry(scene: &Scene, effects: &mut Vec<Effect>) {
    let now = scene.snapshot.now;
    for node in &scene.snapshot.cluster.nodes {
        let written = node.disruption.annotations.get(labels::TERMINATION_TIMESTAMP);
        let written = written.and_then(|text| text.parse::<Timestamp>().ok());
        if written.is_some_and(|written| written <= now)
            || overdue(scene, node).is_none()
            || too_many(scene, node).is_some()
        {
            continue;
        }
        if let Some(claim) = node.claim.clone() {
            let annotations = [(labels::TERMINATION_TIMESTAMP.to_owned(), now.to_string())].into();
            let change = ClaimChange { claim, annotations, ..ClaimChange::default() };
            effects.push(Effect::ChangeNodeClaim(Box::new(change)));
        }
    }
}

/// Of what is wrong with a node, what has to be borne with for the shortest time from now; none if nothing is.
pub(super) fn fault(node: &Node) -> Option<Fault> {
    let faults = BROKEN.iter().filter_map(|&(condition, status, patience)| {
        let (found, since) = node.disruption.conditions.get(condition)?;
        // Since when is not always written; then it has just begun.
        let known = *found == status && *since != Timestamp::UNIX_EPOCH;
        let borne_until = since.checked_add(patience).ok().filter(|_| known)?;
        Some(Fault { condition, status, borne_until })
    });
    faults.min_by_key(|fault| fault.borne_until)
}

/// What has been wrong with one of our nodes for too long.
fn overdue(scene: &Scene, node: &Node) -> Option<Fault> {
    let ours = node.claim.is_some() && node.has_node;
    fault(node).filter(|fault| ours && fault.borne_until <= scene.snapshot.now)
}

/// Whether too many of the node's pool are broken, be it for a moment. A node without a pool counts with all nodes.
fn too_many(scene: &Scene, node: &Node) -> Option<String> {
    let nodes = scene.snapshot.cluster.nodes.iter().filter(|other| other.has_node);
    let like: Vec<&Node> =
        nodes.filter(|other| node.pool().is_none() || other.pool() == node.pool()).collect();
    let broken = like.iter().filter(|other| fault(other).is_some()).count();
    let most = like.len().saturating_mul(MOST_BROKEN).div_ceil(100);
    let of = node.pool().map_or_else(|| "the cluster".to_owned(), |pool| format!("NodePool {pool}"));
    (broken > most).then(|| format!("{broken} of {} nodes of {of} are broken", like.len()))
}

#[cfg(test)]
mod tests;
