//! Nodes without pods of their own go, dearest first, as many as the pools' budgets let.
//!
//! The consolidation policy doesn't matter here: an empty node is given up under each of them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    BudgetReason, CapacityType, Effect, MicroUsd, Node, NodePool, Phase, Plan, Pod, Snapshot, labels,
};

use crate::{budgets, provision};

/// Plans the end of empty nodes.
pub(crate) fn plan(snapshot: &Snapshot, plan: &mut Plan) {
    let held = held(snapshot);
    let pools: BTreeMap<&str, &NodePool> =
        snapshot.cluster.pools.iter().map(|pool| (pool.name.as_str(), pool)).collect();
    let mut empty: Vec<(&Node, &str, &NodePool)> = Vec::new();
    for node in &snapshot.cluster.nodes {
        let pool = node.pool().and_then(|name| pools.get(name).copied());
        if let (Some(claim), Some(pool)) = (node.claim.as_deref(), pool)
            && at_rest(node)
            && left_alone(node, pool, snapshot.now)
            && !held.contains(node.name.as_str())
        {
            empty.push((node, claim, pool));
        }
    }
    if empty.is_empty() {
        return;
    }
    // A node that has just come is empty until the scheduler binds to it what it was bought for.
    let says_where = !(plan.nodes.is_empty() && plan.existing.is_empty() && plan.unschedulable.is_empty());
    let promised = if says_where { plan.existing.clone() } else { provision::on_existing(snapshot) };
    empty.retain(|(node, ..)| !promised.contains_key(&node.name));
    // Every empty node is as easy to give up as another, so the saving decides.
    empty.sort_by_cached_key(|(node, claim, _)| {
        (std::cmp::Reverse(price(snapshot, node)), node.name.clone(), (*claim).to_owned())
    });
    let mut left: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, claim, pool) in empty {
        let left =
            left.entry(&pool.name).or_insert_with(|| budgets::available(snapshot, pool, BudgetReason::Empty));
        if *left > 0 {
            *left -= 1;
            plan.effects.push(Effect::DeleteNodeClaim {
                claim: claim.to_owned(),
                uid: None,
                reason: "Empty".to_owned(),
            });
        }
    }
}

/// Whether it is a working node that nobody asked to leave or to keep.
fn at_rest(node: &Node) -> bool {
    node.has_node && node.registered && node.initialized && !node.deleting && !node.do_not_disrupt
}

/// Whether pods have left the node alone for as long as its pool asks. A pool with fixed replicas keeps its nodes, and
/// a node of which nobody knows when a pod came or went counts from its creation.
fn left_alone(node: &Node, pool: &NodePool, now: Timestamp) -> bool {
    let Some(patience) = pool.disruption.consolidate_after.filter(|_| pool.replicas.is_none()) else {
        return false;
    };
    now.duration_since(node.last_pod_event.unwrap_or(node.created)) >= patience
}

/// The nodes that some pod keeps.
fn held(snapshot: &Snapshot) -> BTreeSet<&str> {
    let keeps = |pod: &&Pod| holds(pod, snapshot.now);
    snapshot.cluster.pods.iter().filter(keeps).filter_map(|pod| pod.node.as_deref()).collect()
}

/// Whether a pod keeps its node: it would have to be placed anew, or it asks not to be disturbed. A pod of a
/// StatefulSet that is going is coming back under its own name, so its place counts as taken.
fn holds(pod: &Pod, now: Timestamp) -> bool {
    if pod.phase == Phase::Terminal {
        return false;
    }
    let own = !pod.daemon && !pod.mirror;
    if pod.terminating {
        return own && pod.owner.as_ref().is_some_and(|owner| owner.kind == "StatefulSet");
    }
    own || do_not_disrupt(pod, now)
}

/// Whether `karpenter.sh/do-not-disrupt` is in force: `true`, or a duration that has not passed. What is neither counts
/// for nothing. The duration runs from the pod's creation, a little before its start.
fn do_not_disrupt(pod: &Pod, now: Timestamp) -> bool {
    match pod.do_not_disrupt.as_deref() {
        None => false,
        Some("true") => true,
        Some(text) => text
            .parse::<SignedDuration>()
            .is_ok_and(|duration| duration.is_positive() && now.duration_since(pod.created) < duration),
    }
}

/// What the node costs an hour, as its labels say; nothing if they don't.
fn price(snapshot: &Snapshot, node: &Node) -> MicroUsd {
    let label = |key: &str| node.labels.get(key).map(String::as_str);
    let (Some(name), Some(zone)) = (label(labels::INSTANCE_TYPE), label(labels::ZONE)) else {
        return MicroUsd::ZERO;
    };
    let capacity_type = label(labels::CAPACITY_TYPE).and_then(CapacityType::from_name);
    let types =
        snapshot.catalogue.types.values().find_map(|types| types.iter().find(|kind| kind.name == name));
    let offerings = types.map(|kind| kind.offerings.iter()).into_iter().flatten();
    let mut same =
        offerings.filter(|offering| offering.zone == zone && Some(offering.capacity_type) == capacity_type);
    same.next().map_or(MicroUsd::ZERO, |offering| offering.price)
}

#[cfg(test)]
mod tests;
