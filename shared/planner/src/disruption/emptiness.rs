//! Nodes without pods of their own go, dearest first, as many as the pools' budgets let.
//!
//! The consolidation policy doesn't matter here: an empty node is given up under each of them.

use std::cmp::Reverse;

use model::{BudgetReason, DisruptionReason, Kept};

use super::candidate::{Candidate, Scene, Urgency, kept, left_alone};
use super::command::{self, Decided};

/// Empty nodes that go, and why others don't. Of nodes that aren't empty nothing is said.
pub(super) fn plan(scene: &Scene) -> (Vec<Decided>, Vec<Kept>) {
    let mut stay = Vec::new();
    let mut empty: Vec<Candidate> = Vec::new();
    for (index, node) in scene.snapshot.cluster.nodes.iter().enumerate() {
        let Some(pool) = scene.pool(node).filter(|_| scene.is_empty(node) && node.claim.is_some()) else {
            continue;
        };
        let candidate = scene.candidate(index, Urgency::Graceful);
        match candidate.and_then(|candidate| left_alone(scene.snapshot, node, pool).map(|()| candidate)) {
            Ok(candidate) => empty.push(candidate),
            Err(kept) => stay.push(kept),
        }
    }
    // Every empty node is as easy to give up as another, so the saving decides.
    empty.sort_by_cached_key(|candidate| {
        let node = scene.node(candidate.node);
        (Reverse(candidate.price), node.name.clone(), node.claim.clone())
    });
    let mut limits = scene.limits(Some(BudgetReason::Empty));
    let mut gone = Vec::new();
    for candidate in empty {
        let node = scene.node(candidate.node);
        match limits.take(node, &candidate) {
            Ok(()) => gone.push(candidate),
            Err((code, message)) => stay.push(kept(node, code, message)),
        }
    }
    // One by one: a pod that lands on one of them in the meantime keeps that one, not the others.
    let decided = gone.iter().map(|candidate| {
        command::deletion(scene, &[candidate], DisruptionReason::Empty, "no pod needs it".to_owned())
    });
    (decided.collect(), stay)
}

#[cfg(test)]
mod tests;
