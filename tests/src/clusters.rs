//! Half-empty clusters to consolidate, made from a seed, and what becomes of them when a plan is carried out.
#![expect(clippy::expect_used, reason = "a plan that names what is not there is a fault to stop at")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    Budget, CapacityType, InstanceType, Node, ObjectName, Offer, Offering, Phase, PlannedNode, Requirement,
    Snapshot, labels,
};

use crate::kit;
use crate::workloads::{self, Dice, Shape};

/// What a cluster is like.
#[derive(Clone, Copy, Debug)]
pub struct Half {
    /// What its pods are like.
    pub shape: Shape,
    /// How many nodes.
    pub nodes: usize,
    /// How many pods.
    pub pods: usize,
    /// Whether the pool buys 4 to 32 vCPU only, as its nodes have.
    pub small: bool,
    /// Whether half of the nodes are Spot.
    pub spot: bool,
    /// The disruption budget.
    pub budget: &'static str,
    /// Which of many.
    pub seed: u64,
}

/// Nodes of mixed types with 4 to 32 vCPU, pods strewn over them at random as they fit.
pub fn half_empty(half: Half, types: &Arc<Vec<InstanceType>>) -> Snapshot {
    let shape = half.shape;
    let mut snapshot = workloads::snapshot(shape, half.pods, half.small, types.clone());
    let mut dice = Dice(half.seed);
    let pool = &mut snapshot.cluster.pools[0];
    if half.spot {
        pool.requirements.replace(labels::CAPACITY_TYPE, Requirement::is_in(["spot", "on-demand"]));
    }
    pool.disruption.consolidate_after = Some(SignedDuration::ZERO);
    let (schedule, duration, reasons) = (None, None, Vec::new());
    pool.disruption.budgets = vec![Budget { nodes: half.budget.to_owned(), schedule, duration, reasons }];
    let asked = pool.requirements.clone();
    let fits = |kind: &&InstanceType| {
        let cpu = kind.capacity.get("cpu").milli() / 1000;
        let agrees = |key: &str| {
            asked
                .get(key)
                .is_none_or(|asked| kind.requirements.get(key).is_some_and(|has| asked.intersects(has)))
        };
        (4..=32).contains(&cpu)
            && agrees("karpenter.k8s.aws/instance-category")
            && agrees(labels::ARCH)
            && kind.offerings.iter().any(|offering| offering.capacity_type == CapacityType::OnDemand)
    };
    let types: Vec<&InstanceType> = types.iter().filter(fits).collect();
    for index in 0..half.nodes {
        let kind = types[dice.roll(types.len())];
        let wanted = if half.spot && dice.roll(2) == 0 { CapacityType::Spot } else { CapacityType::OnDemand };
        let sold: Vec<_> =
            kind.offerings.iter().filter(|offering| offering.capacity_type == wanted).collect();
        let sold = if sold.is_empty() { kind.offerings.iter().collect() } else { sold };
        let offering = sold[dice.roll(sold.len())];
        let offer = Offer {
            instance_type: kind.name.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type,
            price: offering.price,
            reservation: None,
        };
        let made = node(&snapshot, "default", &format!("node-{index:04}"), &offer);
        snapshot.cluster.nodes.push(made);
    }
    let mut room: Vec<_> = snapshot.cluster.nodes.iter().map(|node| node.allocatable.clone()).collect();
    for pod in &mut snapshot.cluster.pods {
        // A pod that finds no room after many tries stays away.
        for _ in 0..1000 {
            let at = dice.roll(room.len());
            if pod.spec.requests.exceeds(&room[at]).is_none() {
                room[at].subtract(&pod.spec.requests);
                pod.node = Some(snapshot.cluster.nodes[at].name.clone());
                (pod.phase, pod.unschedulable) = (Phase::Running, false);
                // It has run long enough to be worth moving.
                pod.created = snapshot.now - SignedDuration::from_hours(24);
                break;
            }
        }
    }
    snapshot.cluster.pods.retain(|pod| pod.node.is_some());
    snapshot
}

/// A working node of an offer.
fn node(snapshot: &Snapshot, pool: &str, name: &str, offer: &Offer) -> Node {
    let pool = snapshot.cluster.pools.iter().find(|known| known.name == pool).expect("the pool is there");
    let types = &snapshot.catalogue.types[&pool.node_class.name];
    let kind = types.iter().find(|kind| kind.name == offer.instance_type).expect("the type is known");
    let sold = |known: &&Offering| known.zone == offer.zone && known.capacity_type == offer.capacity_type;
    let offering = kind.offerings.iter().find(sold).expect("the offering is known");
    let mut node = kit::node(name, kind, &offer.zone, offer.capacity_type, Some(pool));
    node.claim = Some(name.to_owned());
    node.created = snapshot.now;
    node.labels.extend(offering.labels());
    node.labels.insert(labels::INSTANCE_TYPE.to_owned(), kind.name.clone());
    node
}

/// Carries a command out at once: `gone` go, `planned` come at their cheapest offer, pods are where they were planned to
/// be. How many pods moved.
pub fn apply<'p>(
    snapshot: &mut Snapshot,
    gone: &[String],
    planned: impl IntoIterator<Item = &'p PlannedNode>,
    existing: &BTreeMap<String, Vec<ObjectName>>,
) -> usize {
    let gone: BTreeSet<&str> = gone.iter().map(String::as_str).collect();
    let mut home: BTreeMap<ObjectName, String> = BTreeMap::new();
    for new in planned {
        let made = node(snapshot, &new.pool, &new.name, &new.offer);
        snapshot.cluster.nodes.push(made);
        home.extend(new.pods.iter().map(|pod| (pod.clone(), new.name.clone())));
    }
    for (node, pods) in existing {
        home.extend(pods.iter().map(|pod| (pod.clone(), node.clone())));
    }
    let mut moved = 0;
    for pod in &mut snapshot.cluster.pods {
        if pod.node.as_deref().is_some_and(|node| gone.contains(node)) {
            pod.node = Some(home.get(&pod.name).expect("every pod that moves has a place").clone());
            moved += 1;
        }
    }
    snapshot.cluster.nodes.retain(|node| !gone.contains(node.name.as_str()));
    moved
}

/// What all nodes of pools cost an hour with the operator's fee, in dollars.
pub fn price(snapshot: &Snapshot) -> f64 {
    let of_node = |node: &Node| {
        let label = |key: &str| node.labels.get(key).map_or("", String::as_str);
        let mut types = snapshot.catalogue.types.values().flat_map(|types| types.iter());
        let kind = types.find(|kind| kind.name == label(labels::INSTANCE_TYPE))?;
        let sold = |offering: &&Offering| {
            offering.zone == label(labels::ZONE)
                && offering.capacity_type.as_str() == label(labels::CAPACITY_TYPE)
        };
        Some(kind.offerings.iter().find(sold)?.price.usd())
    };
    let fee = snapshot.settings.fee_per_node.usd();
    let ours = snapshot.cluster.nodes.iter().filter(|node| node.claim.is_some());
    ours.map(|node| of_node(node).unwrap_or(0.0) + fee).sum()
}

/// A node that holds more than it has, by a judge that only adds up.
pub fn overfull(snapshot: &Snapshot) -> Option<String> {
    let mut room: BTreeMap<&str, model::Resources> =
        snapshot.cluster.nodes.iter().map(|node| (node.name.as_str(), node.allocatable.clone())).collect();
    for pod in &snapshot.cluster.pods {
        let Some(node) = pod.node.as_deref() else { return Some(pod.name.to_string()) };
        let Some(left) = room.get_mut(node) else { return Some(format!("{} is on no node", pod.name)) };
        if pod.spec.requests.exceeds(left).is_some() {
            return Some(node.to_owned());
        }
        left.subtract(&pod.spec.requests);
    }
    None
}

/// The same pods, all of them waiting, and no nodes.
pub fn afresh(snapshot: &Snapshot) -> Snapshot {
    let mut fresh = snapshot.clone();
    fresh.cluster.nodes.clear();
    for pod in &mut fresh.cluster.pods {
        (pod.node, pod.phase, pod.unschedulable) = (None, Phase::Pending, true);
    }
    fresh
}
