//! What a unit is worth at least: prices whose sum no packing undercuts.
//!
//! Choose for each column `c` prices `λ_cr ≥ 0` of its resources with `Σ_r λ_cr · capacity_cr ≤ cost_c`. Let a unit of
//! item `d` be worth `y_d = min Σ_r λ_cr · request_dr` over the columns that allow and hold it. A bin of column `c` with
//! `u_d` units then costs at least what it holds is worth: `Σ u_d y_d ≤ Σ_d u_d Σ_r λ_cr request_dr ≤ Σ_r λ_cr capacity_cr
//! ≤ cost_c`. Summed over bins: any packing of the same units costs at least `Σ n_d y_d`. Every λ proves a bound; the
//! search below only looks for a good one. Only columns of the front need be looked at: every other one has a column
//! there that holds whatever it holds and costs no more.
//!
//! Rules count as resources too: where a bin may hold at most `L` units of some items together, every column has `L` of a
//! resource of which each of those units takes one. Rules that can't be written so are left out, which only lowers the bound.

use std::collections::BTreeMap;

use crate::frame::Frame;
use crate::lp;
use crate::state::State;
use crate::{BitSet, Problem};

/// No more rules than this become resources: those with the most units for their limit.
const MOST_RULES: usize = 16;

/// Items that no price tells apart: equal requests, rules and columns.
struct Sort {
    /// What a unit takes, rules among it.
    requests: Vec<i64>,
    /// The same without what it takes nothing of.
    parts: Vec<(usize, f64)>,
    signature: usize,
    /// Units of all its items.
    count: f64,
    /// The places of columns that allow and hold it.
    open: BitSet,
}

/// Requests and capacities, rules among them.
struct Rows {
    width: usize,
    sorts: Vec<Sort>,
    /// The sort of each item.
    of_item: Vec<usize>,
    /// The columns of the front, and what each has.
    columns: Vec<usize>,
    capacity: Vec<Vec<i64>>,
}

impl Rows {
    fn new(frame: &Frame) -> Self {
        let rules = rules(frame);
        let width = frame.width + rules.len();
        let columns = frame.front.clone();
        let capacity = columns.iter().map(|&column| {
            let real = frame.capacity(column).iter().copied().take(frame.width);
            real.chain(rules.iter().map(|(_, limit)| i64::from(*limit))).collect()
        });
        let capacity = capacity.collect();
        let mut known: BTreeMap<(Vec<i64>, usize), usize> = BTreeMap::new();
        let mut sorts: Vec<Sort> = Vec::new();
        let mut of_item = Vec::with_capacity(frame.items.len());
        for (index, item) in frame.items.iter().enumerate() {
            let mut requests = item.requests.clone();
            requests.extend(rules.iter().map(|(row, _)| i64::from(row[index])));
            let sort =
                *known.entry((requests, item.signature)).or_insert_with_key(|(requests, signature)| {
                    let mut open = BitSet::new(columns.len());
                    for (at, &column) in columns.iter().enumerate() {
                        if frame.signatures[*signature].contains(column) && frame.fits(&item.requests, column)
                        {
                            open.insert(at);
                        }
                    }
                    let parts = requests.iter().enumerate().filter(|(_, amount)| **amount != 0);
                    let parts = parts.map(|(resource, amount)| (resource, *amount as f64)).collect();
                    let (requests, signature) = (requests.clone(), *signature);
                    sorts.push(Sort { requests, parts, signature, count: 0.0, open });
                    sorts.len() - 1
                });
            sorts[sort].count += f64::from(item.count);
            of_item.push(sort);
        }
        Self { width, sorts, of_item, columns, capacity }
    }
}

/// Rules of the form "at most so many units of these items a bin": what a unit of each item takes, and the limit.
fn rules(frame: &Frame) -> Vec<(Vec<u32>, u32)> {
    let count = frame.items.len();
    let mut rules: Vec<(Vec<u32>, u32)> = Vec::new();
    for (index, group) in frame.problem.groups.iter().enumerate() {
        let mut row = vec![0; count];
        for (item, takes) in frame.items.iter().zip(&mut row) {
            // A member that does not impose the limit may exceed it where no owner is.
            if item.owns.contains(&index) {
                *takes = item.members.iter().find(|(of, _)| *of == index).map_or(0, |(_, units)| *units);
            }
        }
        rules.push((row, group.limit));
    }
    // Items that keep to themselves and pairwise off each other: one unit of them all a bin.
    let mut open: Vec<usize> = (0..count).filter(|&item| frame.items[item].solitary).collect();
    while let Some(&first) = open.first() {
        let mut clique = vec![first];
        for &item in &open[1..] {
            if clique.iter().all(|other| frame.items[item].rivals.contains(other)) {
                clique.push(item);
            }
        }
        open.retain(|item| !clique.contains(item));
        let mut row = vec![0; count];
        clique.into_iter().for_each(|item| row[item] = 1);
        rules.push((row, 1));
    }
    let weight = |(row, limit): &(Vec<u32>, u32)| {
        let units =
            row.iter().zip(&frame.items).map(|(takes, item)| u64::from(*takes) * u64::from(item.count));
        units.sum::<u64>() / u64::from((*limit).max(1))
    };
    rules.retain(|rule| weight(rule) > 1);
    rules.sort_by_key(|rule| std::cmp::Reverse(weight(rule)));
    rules.truncate(MOST_RULES);
    rules
}

/// What a unit of each demand is worth at least, in micro-dollars an hour: no packing of all of them costs less than the
/// sum. What units share as a block is split evenly.
pub fn worths(problem: &Problem) -> Vec<f64> {
    let frame = Frame::new(problem);
    let mut worths = vec![0.0; problem.demands.len()];
    for (item, worth) in frame.items.iter().zip(prices(&frame).worth) {
        let units: u32 = if item.block { item.sources.iter().map(|(_, units)| *units).sum() } else { 1 };
        for &(demand, _) in &item.sources {
            worths[demand] = worth / f64::from(units.max(1));
        }
    }
    worths
}

/// Prices of resources and worths of units.
pub(crate) struct Prices {
    /// The worth of a unit of each item.
    pub worth: Vec<f64>,
    counts: Vec<u32>,
}

impl Prices {
    /// What the units that the state has placed cost at least. Rounded down with room for the error of sums.
    pub fn bound(&self, state: &State) -> u64 {
        let sum: f64 = self
            .worth
            .iter()
            .zip(self.counts.iter().zip(&state.left))
            .map(|(worth, (count, left))| worth * f64::from(count - left))
            .sum();
        let safe = (sum * (1.0 - 1e-9) - 1.0).floor();
        if safe > 0.0 { safe as u64 } else { 0 }
    }
}

/// Finds good prices for the frame's items.
pub(crate) fn prices(frame: &Frame) -> Prices {
    let counts: Vec<u32> = frame.items.iter().map(|item| item.count).collect();
    let rows = Rows::new(frame);
    let guess = by_signature(frame, &rows);
    let mut lambda = support(frame, &rows, &guess);
    let (mut worth, mut argmin) = worths_at(&rows, &lambda);
    let value = |worth: &[f64]| -> f64 {
        worth.iter().zip(&rows.sorts).map(|(worth, sort)| worth * sort.count).sum()
    };
    let mut best = worth.clone();
    let mut top = value(&best);
    // Ascent: a column's prices move towards the resources for which it is the bottleneck.
    let rounds = if rows.sorts.len() > 5000 { 4 } else { 40 };
    for round in 0..rounds {
        let mut pull = vec![vec![0.0; rows.width]; rows.columns.len()];
        for (sort, at) in rows.sorts.iter().zip(&argmin) {
            let Some(at) = *at else { continue };
            for &(resource, amount) in &sort.parts {
                pull[at][resource] += sort.count * amount;
            }
        }
        let step = 0.5 / (1.0 + f64::from(round));
        for (at, pull) in pull.iter().enumerate() {
            let capacity = &rows.capacity[at];
            let shares: Vec<f64> =
                pull.iter().zip(capacity).map(|(p, c)| if *c > 0 { p / *c as f64 } else { 0.0 }).collect();
            let most = shares.iter().copied().fold(0.0, f64::max);
            if most <= 0.0 {
                continue;
            }
            for (price, share) in lambda[at].iter_mut().zip(&shares) {
                *price *= (step * (share / most - 1.0)).exp();
            }
            saturate(&mut lambda[at], capacity, frame.cost(rows.columns[at]));
        }
        (worth, argmin) = worths_at(&rows, &lambda);
        let now = value(&worth);
        if now > top {
            top = now;
            best.clone_from(&worth);
        }
    }
    Prices { worth: rows.of_item.iter().map(|sort| best[*sort]).collect(), counts }
}

/// Scales prices so that a full bin is worth its cost, and never more.
fn saturate(prices: &mut [f64], capacity: &[i64], cost: u64) {
    let full: f64 = prices.iter().zip(capacity).map(|(price, capacity)| price * *capacity as f64).sum();
    if full > 0.0 {
        let scale = cost as f64 / full;
        prices.iter_mut().for_each(|price| *price *= scale);
    }
}

/// A first guess: for the items of one signature the best prices shared by all their columns.
fn by_signature(frame: &Frame, rows: &Rows) -> Vec<f64> {
    let mut worth = vec![0.0; rows.sorts.len()];
    for (index, signature) in frame.signatures.iter().enumerate() {
        let members: Vec<usize> =
            (0..rows.sorts.len()).filter(|sort| rows.sorts[*sort].signature == index).collect();
        let mut total = vec![0.0; rows.width];
        for &sort in &members {
            for &(resource, amount) in &rows.sorts[sort].parts {
                total[resource] += amount * rows.sorts[sort].count;
            }
        }
        let scale: Vec<f64> =
            total.iter().map(|total| if *total > 0.0 { 1.0 / total } else { 0.0 }).collect();
        let open: Vec<usize> =
            (0..rows.columns.len()).filter(|&at| signature.contains(rows.columns[at])).collect();
        let full: Vec<Vec<f64>> = open
            .iter()
            .map(|&at| {
                rows.capacity[at].iter().zip(&scale).map(|(room, scale)| *room as f64 * scale).collect()
            })
            .collect();
        let cost = |at: &usize| frame.cost(rows.columns[*at]);
        let most = open.iter().map(cost).max().unwrap_or(1).max(1) as f64;
        let limits: Vec<f64> = open.iter().map(|at| cost(at) as f64 / most).collect();
        let value: Vec<f64> = scale.iter().map(|scale| if *scale > 0.0 { 1.0 } else { 0.0 }).collect();
        // A resource that no column has makes the programme unbounded; such items have no place anyway.
        let (shared, _) = lp::maximise(&value, &full, &limits);
        for &sort in &members {
            let parts = rows.sorts[sort].parts.iter();
            worth[sort] =
                parts.map(|&(resource, amount)| amount * shared[resource] * scale[resource]).sum::<f64>()
                    * most;
        }
    }
    worth
}

/// For each column the cheapest prices at which no unit is worth more than its requests, scaled to the column's cost.
fn support(frame: &Frame, rows: &Rows, worth: &[f64]) -> Vec<Vec<f64>> {
    let mut lambda = Vec::with_capacity(rows.columns.len());
    let mut previous: Vec<usize> = Vec::new();
    for (at, (&column, capacity)) in rows.columns.iter().zip(&rows.capacity).enumerate() {
        let holds = |sort: usize| rows.sorts[sort].open.contains(at);
        let members: Vec<usize> = (0..rows.sorts.len()).filter(|sort| holds(*sort)).collect();
        // Only few items matter: add the one that is worth most against the prices until none is.
        let mut chosen: Vec<usize> = previous.iter().copied().filter(|item| holds(*item)).collect();
        let mut prices = vec![0.0; rows.width];
        for _ in 0..60 {
            let share = |item: usize, r: usize| {
                if capacity[r] > 0 { rows.sorts[item].requests[r] as f64 / capacity[r] as f64 } else { 0.0 }
            };
            if !chosen.is_empty() {
                let most = chosen.iter().map(|item| worth[*item]).fold(1e-9, f64::max);
                let value: Vec<f64> = chosen.iter().map(|item| worth[*item] / most).collect();
                let shares: Vec<Vec<f64>> =
                    (0..rows.width).map(|r| chosen.iter().map(|item| share(*item, r)).collect()).collect();
                let (_, duals) = lp::maximise(&value, &shares, &vec![1.0; rows.width]);
                prices = duals.iter().map(|dual| dual * most).collect();
            }
            let excess = |item: usize| {
                let parts = rows.sorts[item].parts.iter();
                let covered: f64 = parts.map(|&(r, _)| share(item, r) * prices[r]).sum();
                worth[item] - covered
            };
            let worst = members
                .iter()
                .map(|item| (excess(*item) / worth[*item].max(1e-9), *item))
                .max_by(|a, b| a.0.total_cmp(&b.0));
            match worst {
                Some((over, item)) if over > 1e-6 && !chosen.contains(&item) => chosen.push(item),
                _ => break,
            }
        }
        previous = chosen;
        // A little of everything, lest the ascent could not raise a price from nothing.
        let sum: f64 = prices.iter().sum::<f64>().max(1e-9);
        let mut line: Vec<f64> = prices
            .iter()
            .zip(capacity)
            .map(|(price, room)| if *room > 0 { (price + sum * 1e-4) / *room as f64 } else { 0.0 })
            .collect();
        saturate(&mut line, capacity, frame.cost(column));
        lambda.push(line);
    }
    lambda
}

/// The worth of each sort, and the place of the column that sets it.
fn worths_at(rows: &Rows, lambda: &[Vec<f64>]) -> (Vec<f64>, Vec<Option<usize>>) {
    // Prices by resource, so that the sums below run along columns.
    let across: Vec<Vec<f64>> =
        (0..rows.width).map(|resource| lambda.iter().map(|prices| prices[resource]).collect()).collect();
    let mut sums = vec![0.0; rows.columns.len()];
    let least = |sort: &Sort| {
        sums.fill(0.0);
        for &(resource, amount) in &sort.parts {
            sums.iter_mut().zip(&across[resource]).for_each(|(sum, price)| *sum += price * amount);
        }
        let mut least = (f64::INFINITY, None);
        for at in sort.open.iter() {
            if sums[at] < least.0 {
                least = (sums[at], Some(at));
            }
        }
        if least.1.is_some() { least } else { (0.0, None) }
    };
    rows.sorts.iter().map(least).unzip()
}
