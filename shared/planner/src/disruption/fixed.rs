//! Pools that keep a fixed number of nodes: those beyond it go, and those that are not as they should be are renewed one by
//! one.
//!
//! `provision/fixed` makes up for what is missing.

use std::collections::BTreeMap;

use model::{DisruptionReason, KeepCode, Kept, Node, NodePool, Pod};

use super::candidate::{Candidate, Limits, Scene, eviction_cost, kept};
use super::command::{self, Decided};
use crate::pods::is_in_peace;
use crate::provision;

/// Nodes that a pool has beyond its number. Neither budgets nor PodDisruptionBudgets nor annotations keep them, but who is
/// not to be disturbed goes last.
pub(super) fn surplus(scene: &Scene) -> (Vec<Decided>, Vec<Kept>) {
    let mut decided = Vec::new();
    for (pool, replicas) in pools(scene) {
        let own = working(scene, pool);
        let over = own.len().saturating_sub(replicas as usize);
        let mut order: Vec<(Rank, usize)> =
            own.into_iter().map(|index| (rank(scene, index), index)).collect();
        order.sort_by(|(a, one), (b, other)| {
            let name = |index: usize| (&scene.node(index).name, &scene.node(index).claim);
            let costs = a.cost.total_cmp(&b.cost);
            a.last.cmp(&b.last).then(costs).then_with(|| name(*one).cmp(&name(*other)))
        });
        for (_, index) in order.into_iter().take(over).filter(|(_, index)| scene.is_open_to(*index)) {
            let pods: Vec<usize> = scene.movable(scene.node(index)).collect();
            let (price, cost) = (scene.price(scene.node(index), pool), scene.cost(&pods));
            let candidate = Candidate { node: index, pods, price, cost };
            let why = format!("NodePool {} is to have {replicas} nodes", pool.name);
            decided.push(command::deletion(scene, &[&candidate], DisruptionReason::ScaledDown, why));
        }
    }
    (decided, Vec::new())
}

/// Of `wanted`, nodes of such pools, most urgent first and each with what made it so, as many as limits let. Each is
/// replaced by a new one of its pool, whatever is on it.
pub(super) fn renew(
    scene: &Scene,
    wanted: Vec<(Candidate, String)>,
    reason: DisruptionReason,
    limits: &mut Limits,
) -> (Vec<Decided>, Vec<Kept>) {
    let (mut decided, mut stay) = (Vec::new(), Vec::new());
    let mut by_pool: BTreeMap<&str, Vec<(Candidate, String)>> = BTreeMap::new();
    for (candidate, why) in wanted {
        by_pool
            .entry(scene.node(candidate.node).pool().unwrap_or_default())
            .or_default()
            .push((candidate, why));
    }
    for (pool, replicas) in pools(scene) {
        let Some(wanted) = by_pool.remove(pool.name.as_str()) else { continue };
        let complete = working(scene, pool).len() == replicas as usize;
        let mut chosen = Vec::new();
        let mut left = provision::room_for_nodes(scene.snapshot, pool);
        for (candidate, why) in wanted {
            let node = scene.node(candidate.node);
            let taken = if !complete {
                Err((KeepCode::Waiting, format!("NodePool {} has not its number of nodes now", pool.name)))
            } else if left == 0 {
                Err((
                    KeepCode::NoRoom,
                    format!("NodePool {} may have no more nodes, not even for a while", pool.name),
                ))
            } else {
                limits.take(node, &candidate)
            };
            match taken {
                Ok(()) => {
                    left -= 1;
                    chosen.push((candidate, why));
                }
                Err((code, message)) => stay.push(kept(node, code, format!("{why}, but {message}"))),
            }
        }
        let mut new = provision::nodes_of(scene.snapshot, pool, chosen.len()).into_iter();
        for (candidate, why) in chosen {
            match new.next() {
                Some(new) => decided.push(command::replacement(scene, &[&candidate], reason, why, vec![new])),
                None => {
                    let message = format!("{why}, but nothing to replace it is to be had");
                    stay.push(kept(scene.node(candidate.node), KeepCode::NoRoom, message));
                }
            }
        }
    }
    (decided, stay)
}

/// Pools with a number of nodes.
fn pools<'a>(scene: &Scene<'a>) -> Vec<(&'a NodePool, u32)> {
    let pools = scene.snapshot.cluster.pools.iter();
    pools.filter(|pool| !pool.deleting).filter_map(|pool| Some((pool, pool.replicas?))).collect()
}

/// Nodes of a pool that are not on their way out, be they still to come.
fn working(scene: &Scene, pool: &NodePool) -> Vec<usize> {
    let own = |node: &Node| node.is_of(pool) && !node.is_going();
    let nodes = scene.snapshot.cluster.nodes.iter().enumerate();
    nodes.filter(|(_, node)| own(node)).map(|(index, _)| index).collect()
}

/// How much a node would be missed.
struct Rank {
    /// Without a machine, without pods, with pods, not to be disturbed.
    last: u8,
    /// What its pods cost to evict, by how much of its life is left.
    cost: f64,
}

fn rank(scene: &Scene, index: usize) -> Rank {
    let node = scene.node(index);
    let now = scene.snapshot.now;
    let pods = || scene.on(node).iter().map(|&pod| scene.pod(pod));
    let quiet = node.do_not_disrupt || pods().any(|pod| is_in_peace(pod, now));
    let cost: f64 = pods().map(eviction_cost).sum();
    let last = if node.provider_id.is_none() {
        0
    } else if quiet {
        3
    } else {
        u8::from(!pods().all(|pod: &Pod| pod.daemon)) + 1
    };
    let life = node.disruption.expire_after.map_or(1.0, |age| {
        let left = age.as_secs_f64() - now.duration_since(node.created).as_secs_f64();
        (left / age.as_secs_f64().max(1.0)).clamp(0.0, 1.0)
    });
    Rank { last, cost: cost * life }
}
