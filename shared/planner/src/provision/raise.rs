//! By how much a pool's limits must be raised for all the pods that they keep out.
//!
//! What one pod is short of may not do for all of its kind, and who follows an advice should not be given the next one.
//! So the advice is tried: the batch is planned again under higher limits.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;
use std::sync::Arc;

use model::{InstanceType, MicroUsd, NodePool, Offer, Plan, PlannedNode, Quantity, Reason, Snapshot, labels};

use super::packing::{self, taken};
use super::{Failure, settle};

/// Plans that look for the least raise of one pool, at most.
const MAX_TRIES: usize = 10;
/// A raise is doubled so often before what is surely enough is tried.
const MAX_DOUBLED: usize = 3;
/// The more pods, the fewer tries: so many are planned anew in all, but for one try.
const MAX_PODS_TRIED: usize = 20_000;

/// Resource to amount: thousandths of its unit, or millionths of a dollar an hour.
type Amounts = BTreeMap<String, i64>;

/// Lets each failure that is about limits say what all the pods with such a failure in its pool need.
pub(super) fn word(snapshot: &Snapshot, failures: &mut [Failure]) {
    let mut pools: BTreeMap<String, Amounts> = BTreeMap::new();
    for (_, reason, _) in failures.iter() {
        if let Reason::Limits { pool, resource, short, .. } = &**reason {
            let least = pools.entry(pool.clone()).or_default().entry(resource.clone()).or_default();
            *least = (*least).max(read(resource, short));
        }
    }
    for (pool, least) in pools {
        let Some(known) = snapshot.cluster.pools.iter().find(|known| known.name == pool) else { continue };
        let Some(raises) = Search::new(snapshot, known, &least, failures).run() else { continue };
        for (_, failure, _) in failures.iter_mut() {
            let mut reason = Reason::clone(failure);
            if let Reason::Limits { pool: of, resource, short, .. } = &mut reason
                && *of == pool
            {
                *short = sentence(resource, short, &raises);
                *failure = Arc::new(reason);
            }
        }
    }
}

/// What follows "raise limit cpu of NodePool default by".
fn sentence(resource: &str, short: &str, raises: &Amounts) -> String {
    let own = raises.get(resource).map_or_else(|| short.to_owned(), |&amount| show(resource, amount));
    let others = raises.iter().filter(|(other, _)| *other != resource);
    others.fold(own, |text, (other, &amount)| format!("{text} and limit {other} by {}", show(other, amount)))
}

/// Amounts as messages have them.
pub(super) fn show(resource: &str, amount: i64) -> String {
    match resource {
        labels::USD_PER_HOUR => MicroUsd(u64::try_from(amount).unwrap_or(0)).to_string(),
        _ => Quantity::from_milli(amount).display(resource),
    }
}

fn read(resource: &str, text: &str) -> i64 {
    let amount = match resource {
        labels::USD_PER_HOUR => text.parse().ok().and_then(|price: MicroUsd| i64::try_from(price.0).ok()),
        _ => text.parse().ok().map(Quantity::milli),
    };
    amount.unwrap_or(0)
}

/// To a whole core or piece, gibibyte or cent.
fn round_up(resource: &str, amount: i64) -> i64 {
    let step = match resource {
        labels::USD_PER_HOUR => 10_000,
        "memory" | "ephemeral-storage" => Quantity::from_mebibytes(1024).milli(),
        _ => Quantity::from_units(1).milli(),
    };
    let over = amount.rem_euclid(step);
    if over == 0 { amount } else { amount.saturating_add(step - over) }
}

/// The search for one pool.
struct Search<'s> {
    snapshot: &'s Snapshot,
    pool: &'s NodePool,
    /// What it has now.
    own: Amounts,
    /// What its nodes take of it.
    there: Amounts,
    /// What some pod is short of, by itself.
    least: &'s Amounts,
    /// The pods that the limits keep out.
    held: BTreeSet<usize>,
    /// All pods without a place, as it is and without limits.
    refused: BTreeSet<usize>,
    tries: usize,
}

impl<'s> Search<'s> {
    fn new(snapshot: &'s Snapshot, pool: &'s NodePool, least: &'s Amounts, failures: &[Failure]) -> Self {
        let by_limits =
            |reason: &Reason| matches!(reason, Reason::Limits { pool: of, .. } if *of == pool.name);
        let held = failures.iter().filter(|(_, reason, _)| by_limits(reason));
        let held = held.flat_map(|(pods, ..)| pods.iter().copied()).collect();
        let refused = failures.iter().flat_map(|(pods, ..)| pods.iter().copied()).collect();
        let limits = packing::limits(snapshot, pool);
        let own = limits.iter().map(|limit| (limit.resource.clone(), limit.limit)).collect();
        let there = limits.into_iter().map(|limit| (limit.resource, limit.used)).collect();
        let tries = (MAX_PODS_TRIED / super::batch(snapshot).len().max(1)).clamp(1, MAX_TRIES);
        Self { snapshot, pool, own, there, least, held, refused, tries }
    }

    /// How much to add to which limits; none if not even a pool without limits would help a pod.
    fn run(mut self) -> Option<Amounts> {
        let (unlimited, hopeless) = self.plan(&Amounts::new());
        self.held.retain(|pod| !hopeless.contains(pod));
        if self.held.is_empty() {
            return None;
        }
        self.refused.extend(hopeless);
        // Limits that are in nobody's way stay, if it goes without.
        let mut kept = self.own.clone();
        kept.retain(|name, _| !self.least.contains_key(name));
        let without = if kept.is_empty() { None } else { self.attempt(&kept) };
        let first = self.holding(without.as_ref().unwrap_or(&unlimited), |node| slice::from_ref(&node.offer));
        let widest = self.holding(&unlimited, |node| &node.options);
        let mut enough = self.grow(first, &widest);
        for (name, limit) in self.own.clone() {
            if enough[&name] > limit {
                let found =
                    if self.can_stay(&name, &enough) { limit } else { self.narrow(&name, limit, &enough) };
                enough.insert(name, found);
            }
        }
        let raised = enough.into_iter().map(|(name, amount)| {
            let raise = amount.saturating_sub(self.own[&name]);
            (name, raise)
        });
        Some(raised.filter(|(_, amount)| *amount > 0).collect())
    }

    /// Limits that were tried and help, unless the tries run out before: what the plan without them takes may not be
    /// enough, for under them another plan is made. A limit that is in nobody's way may be when another is raised.
    /// `widest` is what the plan without limits takes if the dearest of what it names is launched: it is tried once others
    /// were in vain.
    fn grow(&mut self, mut limits: Amounts, widest: &Amounts) -> Amounts {
        let mut doubled = 0;
        while self.attempt(&limits).is_none() && self.tries > 0 {
            doubled += 1;
            for (name, amount) in &mut limits {
                let (limit, widest) = (self.own[name], if doubled < MAX_DOUBLED { 0 } else { widest[name] });
                let raise = amount.saturating_sub(limit);
                let least = || self.least.get(name).copied().unwrap_or_else(|| round_up(name, limit / 8 + 1));
                let step = if raise > 0 { raise } else { least() };
                *amount = amount.saturating_add(step).max(widest);
            }
        }
        limits
    }

    /// Whether a limit that no pod is short of by itself need not be raised with the others.
    fn can_stay(&mut self, name: &str, enough: &Amounts) -> bool {
        if self.least.contains_key(name) || self.tries == 0 {
            return false;
        }
        let mut limits = enough.clone();
        limits.insert(name.to_owned(), self.own[name]);
        self.attempt(&limits).is_some()
    }

    /// The least limit of `name` found to be enough, with the others as in `enough`.
    fn narrow(&mut self, name: &str, limit: i64, enough: &Amounts) -> i64 {
        let mut too_little =
            limit.saturating_add(self.least.get(name).copied().unwrap_or(1)).saturating_sub(1);
        let mut found = enough[name];
        // Nobody is told to raise a limit by a seventeenth of a core: halves are rounded up.
        let half = |least: i64, most: i64| {
            let raise = least.saturating_add(most.saturating_sub(least) / 2).saturating_sub(limit);
            limit.saturating_add(round_up(name, raise))
        };
        let mut next = half(too_little, found);
        while self.tries > 0 && next > too_little && next < found {
            let mut limits = enough.clone();
            limits.insert(name.to_owned(), next);
            match self.attempt(&limits) {
                Some(_) => found = next,
                None => too_little = next,
            }
            next = half(too_little, found);
        }
        found
    }

    /// The plan if the pool has these limits and no others; none if that doesn't help every pod that can be helped, or
    /// harms another.
    fn attempt(&mut self, limits: &Amounts) -> Option<Plan> {
        let (plan, refused) = self.plan(limits);
        let helps = refused.iter().all(|pod| self.refused.contains(pod) && !self.held.contains(pod));
        helps.then_some(plan)
    }

    /// Under these limits and no others: the plan, and the pods without a place.
    fn plan(&mut self, limits: &Amounts) -> (Plan, BTreeSet<usize>) {
        self.tries = self.tries.saturating_sub(1);
        let mut snapshot = self.snapshot.clone();
        for pool in snapshot.cluster.pools.iter_mut().filter(|pool| pool.name == self.pool.name) {
            pool.limits.0.clear();
            pool.price_limit = None;
            for (name, &amount) in limits {
                match name.as_str() {
                    labels::USD_PER_HOUR => pool.price_limit = u64::try_from(amount).ok().map(MicroUsd),
                    _ => pool.limits.set(name, Quantity::from_milli(amount)),
                }
            }
        }
        let (plan, failures) = settle(&snapshot);
        (plan, failures.into_iter().flat_map(|(pods, ..)| pods).collect())
    }

    /// Limits that hold what there is and is planned, none below what it is now, if of each planned node the largest of
    /// these offers is launched.
    fn holding<'p>(&self, plan: &'p Plan, launched: impl Fn(&'p PlannedNode) -> &'p [Offer]) -> Amounts {
        let types = self.snapshot.catalogue.types.get(&self.pool.node_class.name);
        let types = types.into_iter().flat_map(|types| types.iter());
        let types: BTreeMap<&str, &InstanceType> = types.map(|kind| (kind.name.as_str(), kind)).collect();
        let fee = self.snapshot.settings.fee_per_node;
        let limit = |(name, &limit): (&String, &i64)| {
            let of_offer = |offer: &Offer| {
                let kind = types.get(offer.instance_type.as_str());
                let capacity = || kind.map_or(Quantity::ZERO, |kind| kind.capacity.get(name));
                taken(name, || offer.price.plus(fee), capacity)
            };
            let planned = plan.nodes.iter().filter(|node| node.pool == self.pool.name);
            let planned = planned.map(|node| launched(node).iter().map(of_offer).max().unwrap_or(0));
            (name.clone(), planned.fold(self.there[name], i64::saturating_add).max(limit))
        };
        self.own.iter().map(limit).collect()
    }
}
