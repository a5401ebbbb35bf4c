//! Pools that keep a fixed number of nodes: what they lack is made up for, whatever pods there are.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use model::{Effect, MicroUsd, NodeClaimDraft, NodePool, Plan, PlannedNode, PoolStatus, Snapshot};

use super::claims::{self, Chosen};
use super::mentions;
use super::packing::{NODES, Packer, trials};
use super::universe::Universe;

/// New nodes with their NodeClaims.
pub(crate) type NewNodes = Vec<(PlannedNode, Arc<NodeClaimDraft>)>;

/// What pools with a number of nodes lack. One that goes once its replacement is there still counts.
pub(crate) fn missing(snapshot: &Snapshot) -> NewNodes {
    let usable = |pool: &&NodePool| pool.status == PoolStatus::Ready && !pool.deleting;
    let pools = snapshot.cluster.pools.iter().filter(usable);
    let lack = |pool: &NodePool| {
        let nodes = snapshot.cluster.nodes.iter();
        let there = nodes.filter(|node| node.is_of(pool) && !node.deleting);
        let lack = (pool.replicas? as usize).saturating_sub(there.count());
        Some(lack.min(room_for_nodes(snapshot, pool)))
    };
    let mut new: NewNodes =
        pools.flat_map(|pool| nodes_of(snapshot, pool, lack(pool).unwrap_or(0))).collect();
    new.sort_by(|(one, _), (other, _)| one.name.cmp(&other.name));
    new
}

/// Adds what pools with a number of nodes lack to a plan.
pub(super) fn plan(snapshot: &Snapshot, plan: &mut Plan) {
    let new = missing(snapshot);
    if new.is_empty() {
        return;
    }
    let price: MicroUsd = new.iter().map(|(node, _)| node.price).sum();
    // Each is the cheapest there is, so no plan does with less.
    plan.lower_bound = Some(plan.lower_bound.unwrap_or_default().plus(price));
    let (nodes, drafts): (Vec<_>, Vec<_>) = new.into_iter().unzip();
    plan.nodes.extend(nodes);
    plan.nodes.sort_by(|one, other| one.name.cmp(&other.name));
    plan.effects.splice(0..0, drafts.into_iter().map(Effect::CreateNodeClaim));
}

/// How many more nodes the pool's limit lets it have, and a hold of its launches. Those that are going have not gone yet.
pub(crate) fn room_for_nodes(snapshot: &Snapshot, pool: &NodePool) -> usize {
    let trials = trials(snapshot, pool).unwrap_or(usize::MAX);
    let Some((_, limit)) = pool.limits.iter().find(|(name, _)| *name == NODES) else { return trials };
    let nodes = snapshot.cluster.nodes.iter();
    let there = nodes.filter(|node| node.is_of(pool)).count();
    usize::try_from(limit.units()).unwrap_or(0).saturating_sub(there).min(trials)
}

/// So many nodes of the pool, each the cheapest it allows; fewer where that is all there is. They are for no pod in
/// particular.
pub(crate) fn nodes_of(snapshot: &Snapshot, pool: &NodePool, count: usize) -> NewNodes {
    if count == 0 {
        return Vec::new();
    }
    let mut alone = snapshot.clone();
    // As if pods could ask for its nodes; the limit on their number was minded already.
    let mut limits = pool.limits.clone();
    limits.0.remove(NODES);
    alone.cluster.pools = vec![NodePool { replicas: None, limits, ..pool.clone() }];
    let universe = Universe::new(&alone, &mentions(&alone, &[]));
    let mut packer = Packer::new(&alone, &universe, &[]);
    let holds = |column: usize| {
        universe.kinds[universe.columns[column].kind].room.iter().all(|(_, room)| room.milli() >= 0)
    };
    let mut columns: Vec<usize> = universe.all().iter().filter(|&column| holds(column)).collect();
    columns.sort_by_key(|&column| (universe.price(column), column));
    let mut chosen = Vec::new();
    for column in columns {
        let mut known: Option<Rc<claims::Options>> = None;
        while chosen.len() < count && packer.to_be_had(column) {
            let options = known.filter(|options| packer.affords(column, options.usages())).or_else(|| {
                let template = universe.columns[column].template;
                let holders = universe.of_template[template].iter().copied().filter(|&column| holds(column));
                claims::options(&packer, template, column, holders.collect()).map(Rc::new)
            });
            known = options.clone();
            let Some(options) = options else { break };
            packer.spend(column, options.usages());
            chosen.push(Chosen { column, options, pods: Vec::new(), pinned: BTreeMap::new() });
        }
    }
    let mut plan = Plan::default();
    claims::write(&alone, &universe, chosen, &mut plan);
    let drafts = plan.effects.into_iter().filter_map(|effect| match effect {
        Effect::CreateNodeClaim(draft) => Some(draft),
        _ => None,
    });
    plan.nodes.into_iter().zip(drafts).collect()
}
