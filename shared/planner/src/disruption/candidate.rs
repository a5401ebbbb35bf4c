//! Nodes that may be given up, and the rule that keeps each of the others.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{BudgetReason, KeepCode, Kept, MicroUsd, Node, NodePool, ObjectName, Plan, Pod, Snapshot};

use super::budgets;
use crate::pods::{Guards, is_active, is_evictable, is_in_peace, is_reschedulable};
use crate::provision;

/// A node that may go.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    /// Its place in `Cluster::nodes`.
    pub node: usize,
    /// Places in `Cluster::pods` of those that would have to move.
    pub pods: Vec<usize>,
    /// What it costs an hour, with the fee.
    pub price: MicroUsd,
    /// What moving its pods costs, in pods of ordinary importance.
    pub cost: f64,
}

/// How much stands in a method's way.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Urgency {
    /// It can wait for as long as pods want.
    Graceful,
    /// A grace period of the node puts an end to what pods want.
    Eventual,
}

/// Nodes that pods without a place are going to use: one that has just come is empty until the scheduler binds to it what
/// it was bought for. `plan` may say already where they go.
pub(crate) fn nominated(snapshot: &Snapshot, plan: &Plan) -> BTreeSet<String> {
    let says_where = !(plan.nodes.is_empty() && plan.existing.is_empty() && plan.unschedulable.is_empty());
    let promised = if says_where { plan.existing.clone() } else { provision::on_existing(snapshot) };
    promised.into_keys().collect()
}

/// What all methods look at.
pub(crate) struct Scene<'a> {
    pub snapshot: &'a Snapshot,
    pools: BTreeMap<&'a str, &'a NodePool>,
    /// Pods by node.
    on: BTreeMap<&'a str, Vec<usize>>,
    /// NodeClaims that are to take over from nodes that go.
    replacing: BTreeSet<&'a str>,
    /// Nodes that pods without a place are going to use.
    nominated: &'a BTreeSet<String>,
    guards: Guards<'a>,
    /// Only nodes that were closed to new pods are candidates.
    closed: bool,
}

impl<'a> Scene<'a> {
    /// `nominated` are nodes that pods without a place are going to use.
    pub fn new(snapshot: &'a Snapshot, nominated: &'a BTreeSet<String>) -> Self {
        let cluster = &snapshot.cluster;
        let mut on: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, pod) in cluster.pods.iter().enumerate() {
            if let Some(node) = pod.node.as_deref() {
                on.entry(node).or_default().push(index);
            }
        }
        Self {
            snapshot,
            pools: cluster.pools.iter().map(|pool| (pool.name.as_str(), pool)).collect(),
            on,
            replacing: cluster.nodes.iter().flat_map(Node::replaced_by).map(String::as_str).collect(),
            nominated,
            guards: Guards::new(cluster),
            closed: false,
        }
    }

    /// The same with no candidates but nodes that were closed to new pods.
    pub fn closed_only(self) -> Self {
        Self { closed: true, ..self }
    }

    pub fn node(&self, index: usize) -> &'a Node {
        &self.snapshot.cluster.nodes[index]
    }

    pub fn pod(&self, index: usize) -> &'a Pod {
        &self.snapshot.cluster.pods[index]
    }

    /// Places of the pods on a node.
    pub fn on(&self, node: &Node) -> &[usize] {
        self.on.get(node.name.as_str()).map_or(&[], Vec::as_slice)
    }

    pub fn pool(&self, node: &Node) -> Option<&'a NodePool> {
        node.pool().and_then(|name| self.pools.get(name).copied())
    }

    /// Pods that would have to be placed anew.
    pub fn movable(&self, node: &Node) -> impl Iterator<Item = usize> {
        self.on(node).iter().copied().filter(|&pod| is_reschedulable(self.pod(pod)))
    }

    /// Whether nothing on the node would be missed: a pod that its controller would sooner lose doesn't count.
    pub fn is_empty(&self, node: &Node) -> bool {
        self.movable(node).all(|pod| eviction_cost(self.pod(pod)) <= 0.0)
    }

    /// What the node costs an hour, with the fee.
    pub fn price(&self, node: &Node, pool: &NodePool) -> MicroUsd {
        provision::node_price(self.snapshot, pool, node).plus(self.snapshot.settings.fee_per_node)
    }

    /// What moving pods costs, in pods of ordinary importance.
    pub fn cost(&self, pods: &[usize]) -> f64 {
        pods.iter().map(|&pod| eviction_cost(self.pod(pod)).max(0.0)).sum()
    }

    /// Whether a candidate is of a pool that keeps a fixed number of nodes.
    pub fn is_fixed(&self, candidate: &Candidate) -> bool {
        self.pool(self.node(candidate.node)).is_some_and(|pool| pool.replicas.is_some())
    }

    /// Whether a node may be given up as far as new pods go.
    pub fn is_open_to(&self, index: usize) -> bool {
        !self.closed || self.node(index).disruption.mark.is_some()
    }

    /// The node as a candidate, or the first rule that keeps it. The rules come in Karpenter's order.
    pub fn candidate(&self, index: usize, urgency: Urgency) -> Result<Candidate, Kept> {
        let node = self.node(index);
        let keep = |code, message: String| Err(kept(node, code, message));
        let Some(claim) = node.claim.as_deref() else {
            return keep(KeepCode::Disabled, "it has no NodeClaim".to_owned());
        };
        if node.is_going() {
            return keep(KeepCode::Waiting, "it is on its way out already".to_owned());
        }
        if !self.is_open_to(index) {
            return keep(KeepCode::Waiting, "it was not closed to new pods".to_owned());
        }
        if self.replacing.contains(claim) {
            return keep(KeepCode::Waiting, "it is to take over from a node that goes".to_owned());
        }
        if !(node.has_node && node.registered && node.initialized) {
            return keep(KeepCode::NotInitialized, "it is not initialized yet".to_owned());
        }
        if self.nominated.contains(&node.name) {
            return keep(KeepCode::Nominated, "pods without a node are going to use it".to_owned());
        }
        if node.do_not_disrupt {
            return keep(
                KeepCode::DoNotDisrupt,
                "its annotation karpenter.sh/do-not-disrupt is true".to_owned(),
            );
        }
        let Some(pool) = self.pool(node) else {
            return keep(KeepCode::Disabled, "it is of no NodePool that exists".to_owned());
        };
        let bounded = urgency == Urgency::Eventual && node.disruption.termination_grace_period.is_some();
        if !bounded && let Some((code, message)) = self.pods_keep(node) {
            return keep(code, message);
        }
        let pods: Vec<usize> = self.movable(node).collect();
        let cost = self.cost(&pods);
        Ok(Candidate { node: index, pods, price: self.price(node, pool), cost })
    }

    /// What some pod of the node has against it.
    fn pods_keep(&self, node: &Node) -> Option<(KeepCode, String)> {
        let now = self.snapshot.now;
        let mut here: Vec<&Pod> = self.on(node).iter().map(|&pod| self.pod(pod)).collect();
        here.sort_by(|a, b| a.name.cmp(&b.name));
        if let Some(pod) = here.iter().find(|pod| is_in_peace(pod, now)) {
            return Some((
                KeepCode::DoNotDisrupt,
                format!("pod {} has karpenter.sh/do-not-disrupt", pod.name),
            ));
        }
        here.into_iter().filter(|pod| is_evictable(pod, now)).find_map(|pod| {
            match self.guards.of(pod).as_slice() {
                [] => None,
                [pdb] => {
                    let held = pdb.allowed == 0 && !(pdb.frees_unready && pod.disruption.unready);
                    let message =
                        || format!("PodDisruptionBudget {} lets no pod go now: {}", pdb.name, pod.name);
                    held.then(|| (KeepCode::Pdb, message()))
                }
                pdbs => {
                    let names: Vec<String> = pdbs.iter().map(|pdb| pdb.name.to_string()).collect();
                    let message = format!(
                        "pod {} has {} PodDisruptionBudgets, so it can't be evicted: {}",
                        pod.name,
                        pdbs.len(),
                        names.join(", ")
                    );
                    Some((KeepCode::MultiplePdbs, message))
                }
            }
        })
    }

    /// What nodes may go together for `reason`: within the pools' budgets, and no PodDisruptionBudget is to give more pods
    /// than it allows now. Pods that are still on nodes which are going count.
    pub fn limits(&self, reason: Option<BudgetReason>) -> Limits {
        let pools = self
            .pools
            .values()
            .map(|pool| (pool.name.clone(), budgets::available(self.snapshot, pool, reason)));
        let mut limits = Limits { pools: pools.collect(), ..Limits::default() };
        let mut guard_of: BTreeMap<&model::ObjectName, usize> = BTreeMap::new();
        for (index, pod) in self.snapshot.cluster.pods.iter().enumerate() {
            if pod.node.is_none() || !is_active(pod) || pod.mirror {
                continue;
            }
            for pdb in self.guards.of(pod) {
                if pdb.frees_unready && pod.disruption.unready {
                    continue;
                }
                let guard = *guard_of.entry(&pdb.name).or_insert_with(|| {
                    let allowed = usize::try_from(pdb.allowed).unwrap_or(usize::MAX);
                    limits.guards.push(Guard { pods: Vec::new(), allowed, going: 0 });
                    limits.guards.len() - 1
                });
                limits.guards[guard].pods.push(index);
            }
        }
        let going = self.snapshot.cluster.nodes.iter().filter(|node| node.is_going());
        let leaving: BTreeSet<usize> = going.flat_map(|node| self.on(node).iter().copied()).collect();
        for guard in &mut limits.guards {
            guard.going = guard.pods.iter().filter(|pod| leaving.contains(pod)).count();
        }
        limits
    }
}

/// What may go together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Limits {
    /// How many nodes of each pool may still go; a pool that is not named is not limited.
    pub pools: BTreeMap<String, usize>,
    /// Of some pods, how many may be moved.
    pub guards: Vec<Guard>,
}

/// Of these pods so many may be moved.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Places in `Cluster::pods`, in order.
    pub pods: Vec<usize>,
    /// How many.
    pub allowed: usize,
    /// How many are on nodes that are going anyway.
    pub going: usize,
}

impl Limits {
    /// Counts a node as going, or says what forbids it. A node that alone holds more pods of a budget than it allows is
    /// drained pod by pod, so it may go if it is the only one.
    pub fn take(&mut self, node: &Node, candidate: &Candidate) -> Result<(), (KeepCode, String)> {
        let pool = node.pool().unwrap_or_default();
        let left = self.pools.get_mut(pool);
        if left.as_ref().is_some_and(|left| **left == 0) {
            return Err((KeepCode::Budget, format!("the disruption budget of NodePool {pool} is used up")));
        }
        let mine: Vec<usize> = self
            .guards
            .iter()
            .map(|guard| candidate.pods.iter().filter(|pod| guard.pods.binary_search(pod).is_ok()).count())
            .collect();
        let over = |(guard, mine): (&Guard, &usize)| {
            *mine > 0 && guard.going > 0 && guard.going + mine > guard.allowed
        };
        if self.guards.iter().zip(&mine).any(over) {
            let message = "a PodDisruptionBudget allows no more pods to go with those that do".to_owned();
            return Err((KeepCode::Pdb, message));
        }
        if let Some(left) = left {
            *left -= 1;
        }
        self.guards.iter_mut().zip(mine).for_each(|(guard, mine)| guard.going += mine);
        Ok(())
    }
}

/// What it costs to move a pod: one for an ordinary one, from minus ten to ten.
pub(crate) fn eviction_cost(pod: &Pod) -> f64 {
    let deletion = f64::from(pod.disruption.deletion_cost) / f64::from(1 << 27);
    let priority = f64::from(pod.spec.priority) / f64::from(1 << 25);
    (1.0 + deletion + priority).clamp(-10.0, 10.0)
}

/// A node that stays.
pub(crate) fn kept(node: &Node, code: KeepCode, message: impl Into<String>) -> Kept {
    Kept { node: node.name.clone(), code, message: message.into() }
}

/// After how long without a pod that came or went the pool gives nodes up to save money; if it ever does.
pub(crate) fn consolidates(node: &Node, pool: &NodePool) -> Result<SignedDuration, Kept> {
    if pool.replicas.is_some() {
        return Err(kept(node, KeepCode::Disabled, "its NodePool keeps a fixed number of nodes"));
    }
    let never = || kept(node, KeepCode::Disabled, "its NodePool's consolidateAfter is Never");
    pool.disruption.consolidate_after.ok_or_else(never)
}

/// A pod of a node's to name for those that are homeless: of pods that are alike it is chance which has no place, so the first
/// by name of those like one that hasn't.
pub(crate) fn first_homeless<'a>(
    snapshot: &'a Snapshot,
    pods: &[usize],
    homeless: &BTreeSet<usize>,
) -> Option<&'a ObjectName> {
    let pod = |index: &usize| &snapshot.cluster.pods[*index];
    let without: Vec<&Pod> = pods.iter().filter(|index| homeless.contains(index)).map(pod).collect();
    let alike = |one: &Pod, other: &Pod| one.name.namespace == other.name.namespace && one.spec == other.spec;
    let named = pods.iter().map(pod).filter(|one| without.iter().any(|other| alike(one, other)));
    named.map(|pod| &pod.name).min()
}

/// Whether pods have left the node alone for as long as its pool asks. A node of which nobody knows when a pod came or
/// went counts from its creation.
pub(crate) fn left_alone(snapshot: &Snapshot, node: &Node, pool: &NodePool) -> Result<(), Kept> {
    let patience = consolidates(node, pool)?;
    let since = snapshot.now.duration_since(node.last_pod_event.unwrap_or(node.created));
    if since >= patience {
        return Ok(());
    }
    let message = format!("a pod came or went {since:#} ago, consolidateAfter is {patience:#}");
    Err(kept(node, KeepCode::TooYoung, message))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use model::{PodFacts, PodSpec};

    use super::*;
    use crate::kit;

    #[test]
    fn cost_01_deletion_cost_and_priority_count_within_bounds() {
        let cost = |deletion_cost, priority| {
            eviction_cost(&Pod {
                disruption: PodFacts { deletion_cost, ..PodFacts::default() },
                spec: Arc::new(PodSpec { priority, ..PodSpec::default() }),
                ..kit::pod("p")
            })
        };
        for (deletion, priority, expected) in [
            (0, 0, 1.0),
            (1 << 27, 0, 2.0),
            (-(1 << 27), 0, 0.0),
            (0, 1 << 25, 2.0),
            (0, 1 << 30, 10.0),
            (i32::MIN, i32::MIN, -10.0),
        ] {
            assert!((cost(deletion, priority) - expected).abs() < 1e-9, "{deletion} {priority}");
        }
    }
}
