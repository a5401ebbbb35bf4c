//! Which nodes consolidation may take.

use model::{ConsolidationPolicy, MicroUsd, labels};

use crate::disruption::candidate::{Candidate, Scene, Urgency, left_alone};
use crate::provision;

/// Nodes that may go: of a pool that wants it, of known price, and left alone for as long as the pool asks.
pub(super) fn eligible(scene: &Scene) -> Vec<Candidate> {
    let nodes = scene.snapshot.cluster.nodes.iter().enumerate();
    let wanted = |(index, node): (usize, &model::Node)| {
        let pool = scene.pool(node)?;
        let known = [labels::INSTANCE_TYPE, labels::ZONE, labels::CAPACITY_TYPE];
        let known = known.iter().all(|key| node.labels.contains_key(*key))
            && provision::node_price(scene.snapshot, pool, node) > MicroUsd::ZERO;
        let meant = pool.replicas.is_none() && pool.disruption.policy != ConsolidationPolicy::WhenEmpty;
        let candidate = scene.candidate(index, Urgency::Graceful).ok().filter(|_| known && meant)?;
        left_alone(scene.snapshot, node, pool).is_ok().then_some(candidate)
    };
    nodes.filter_map(wanted).collect()
}
