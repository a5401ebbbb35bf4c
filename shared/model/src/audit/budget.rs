//! Pools stay within their limits and reservations within what they hold.

use std::collections::{BTreeMap, BTreeSet};

use super::market::Market;
use super::view::View;
use crate::Quantity;
use crate::catalogue::CapacityType;
use crate::cluster::{Node, NodePool};
use crate::labels;
use crate::money::MicroUsd;
use crate::plan::PlannedNode;
use crate::resources::Resources;

const NODES: &str = "nodes";

pub(super) fn check_limits(view: &View<'_>) -> Vec<String> {
    let mut planned: BTreeMap<&str, Vec<&PlannedNode>> = BTreeMap::new();
    for node in &view.plan.nodes {
        planned.entry(node.pool.as_str()).or_default().push(node);
    }
    let mut faults = Vec::new();
    for (name, nodes) in planned {
        let Some(&pool) = view.pools.get(name) else { continue };
        let Some(market) = view.markets.get(pool.node_class.name.as_str()) else { continue };
        faults.extend(resources(view, pool, market, &nodes));
        faults.extend(price(view, pool, market, &nodes));
    }
    faults
}

fn active<'v>(view: &'v View<'_>, pool: &'v NodePool) -> impl Iterator<Item = &'v Node> {
    view.nodes.values().copied().filter(|node| !node.deleting && node.pool() == Some(pool.name.as_str()))
}

fn resources(view: &View<'_>, pool: &NodePool, market: &Market<'_>, planned: &[&PlannedNode]) -> Vec<String> {
    if pool.limits.0.is_empty() {
        return Vec::new();
    }
    let one = Quantity::from_units(1);
    let mut added = Resources::new();
    let mut total = Resources::new();
    let count = |sum: &mut Resources, capacity: &Resources| {
        let mut capacity = capacity.clone();
        capacity.set(NODES, one);
        sum.add(&capacity);
    };
    for node in planned {
        // Whichever of its options is launched.
        let mut largest = Resources::new();
        let names = node.options.iter().map(|offer| &offer.instance_type);
        let names: BTreeSet<&String> = names.chain([&node.offer.instance_type]).collect();
        for kind in names.into_iter().filter_map(|name| market.kind(name)) {
            largest.raise_to(&kind.capacity);
        }
        count(&mut added, &largest);
    }
    for node in active(view, pool) {
        count(&mut total, &node.capacity);
    }
    total.add(&added);
    let over =
        pool.limits.iter().filter(|(name, limit)| !added.get(name).is_zero() && total.get(name) > *limit);
    over.map(|(name, limit)| {
        let (total, limit) = (total.get(name).display(name), limit.display(name));
        format!("NodePool {}: {total} of {name}, its limit is {limit}", pool.name)
    })
    .collect()
}

fn price(view: &View<'_>, pool: &NodePool, market: &Market<'_>, planned: &[&PlannedNode]) -> Option<String> {
    let limit = pool.price_limit?;
    let paid = active(view, pool).filter_map(|node| price_of(market, node));
    let dearest = |node: &&PlannedNode| {
        node.options.iter().chain([&node.offer]).map(|offer| offer.price).max().unwrap_or_default()
    };
    let total: MicroUsd = planned.iter().map(dearest).chain(paid).sum();
    let over = total > limit && planned.iter().any(|node| node.offer.price > MicroUsd::ZERO);
    over.then(|| format!("NodePool {}: nodes for {total}, its limit is {limit}", pool.name))
}

/// What an existing node costs, as far as its labels tell.
fn price_of(market: &Market<'_>, node: &Node) -> Option<MicroUsd> {
    let kind = market.kind(node.labels.get(labels::INSTANCE_TYPE)?)?;
    let zone = node.labels.get(labels::ZONE)?;
    let way = CapacityType::from_name(node.labels.get(labels::CAPACITY_TYPE)?)?;
    let same =
        kind.offerings.iter().filter(|offering| offering.zone == *zone && offering.capacity_type == way);
    same.map(|offering| offering.price).min()
}

pub(super) fn check_reservations(view: &View<'_>) -> Vec<String> {
    let mut left: BTreeMap<&str, u32> = BTreeMap::new();
    for (_, offering) in view.markets.values().flat_map(|market| &market.offerings) {
        if let Some(reservation) = &offering.reservation {
            let least = left.entry(&reservation.id).or_insert(reservation.remaining);
            *least = reservation.remaining.min(*least);
        }
    }
    let mut used: BTreeMap<&str, u32> = BTreeMap::new();
    for id in view.plan.nodes.iter().filter_map(|node| node.offer.reservation.as_deref()) {
        *used.entry(id).or_default() += 1;
    }
    let ids: BTreeSet<&str> = used.keys().copied().collect();
    ids.into_iter()
        .filter_map(|id| {
            let (used, left) = (used.get(id)?, left.get(id).copied().unwrap_or_default());
            (*used > left).then(|| format!("reservation {id}: {used} nodes draw on it, {left} are left"))
        })
        .collect()
}
