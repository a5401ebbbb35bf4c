//! Which nodes consolidation may take.

use model::{ConsolidationPolicy, KeepCode, Kept, MicroUsd, Node, labels};

use crate::disruption::candidate::{Candidate, Scene, Urgency, consolidates, kept, left_alone};
use crate::provision;

/// Nodes that may go, and the rule that keeps each of the others.
pub(super) fn eligible(scene: &Scene) -> (Vec<Candidate>, Vec<Kept>) {
    let (mut candidates, mut stay) = (Vec::new(), Vec::new());
    let nodes = scene.snapshot.cluster.nodes.iter().enumerate();
    for (index, node) in nodes.filter(|(_, node)| !node.deleting) {
        match judge(scene, index, node) {
            Ok(candidate) => candidates.push(candidate),
            Err(kept) => stay.push(kept),
        }
    }
    (candidates, stay)
}

/// A node may go if its pool wants it, its price is known, and it was left alone for as long as the pool asks.
fn judge(scene: &Scene, index: usize, node: &Node) -> Result<Candidate, Kept> {
    let disabled = |message: String| Err(kept(node, KeepCode::Disabled, message));
    let candidate = scene.candidate(index, Urgency::Graceful)?;
    let Some(pool) = scene.pool(node) else {
        return disabled("it is of no NodePool that exists".to_owned());
    };
    let known = [labels::INSTANCE_TYPE, labels::ZONE, labels::CAPACITY_TYPE];
    if let Some(key) = known.into_iter().find(|key| !node.labels.contains_key(*key)) {
        return disabled(format!("without its label {key} nobody knows what it costs"));
    }
    if provision::node_price(scene.snapshot, pool, node) == MicroUsd::ZERO {
        return disabled("what it costs is not known".to_owned());
    }
    consolidates(node, pool)?;
    if pool.disruption.policy == ConsolidationPolicy::WhenEmpty {
        return disabled("its NodePool gives up empty nodes only".to_owned());
    }
    left_alone(scene.snapshot, node, pool)?;
    Ok(candidate)
}
