//! Greedy packing by patterns: of all columns take the one whose best filling costs least for its worth, again and again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::frame::Frame;
use crate::state::{Load, State};

/// How a bin is filled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Whether an item is measured by the scarcest resource alone rather than by all of them.
    pub scarcest: bool,
    /// How much larger units are preferred.
    pub size: f64,
    /// What part of an item's room is filled before the choice is made anew.
    pub step: u32,
    /// The dearest column considered, as a multiple of the dearest needed; large bins waste less but are hard to fill.
    pub ceiling: Option<u64>,
    /// Spend as little as possible of budgets instead of money.
    pub thrifty: bool,
}

impl Default for Style {
    fn default() -> Self {
        Self { scarcest: false, size: 0.0, step: 3, ceiling: None, thrifty: false }
    }
}

/// Of so many different requests each choice is the best one. Of more, several good ones are taken at a time.
const FEW: usize = 64;

/// Of more items than this with different requests only every so manieth is looked at for a bin.
const MANY: usize = 1500;

/// Floats with a total order.
#[derive(Clone, Copy, PartialEq)]
struct Key(f64);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// Fills free room and new bins until nothing that is left can be placed.
pub(crate) fn finish(frame: &Frame, state: &mut State) {
    if state.left.iter().all(|left| *left == 0) {
        return;
    }
    let worth = plain_worth(frame);
    state.fill(frame);
    pack(frame, state, &worth, Style::default());
}

/// The worth of an item without further knowledge: its cheapest column's cost, by the share of it that it takes.
pub(crate) fn plain_worth(frame: &Frame) -> Vec<f64> {
    let of = |item: &crate::frame::Item| {
        let share = |column: usize| {
            let parts = item.requests.iter().zip(frame.capacity(column)).filter(|(request, _)| **request > 0);
            parts.map(|(request, room)| *request as f64 / *room as f64).fold(1e-6, f64::max)
                * frame.cost(column) as f64
        };
        let fitting = |column: &&usize| {
            frame.signatures[item.signature].contains(**column) && frame.fits(&item.requests, **column)
        };
        let least =
            frame.front.iter().filter(fitting).map(|column| share(*column)).fold(f64::INFINITY, f64::min);
        if least.is_finite() { least.max(1e-6) } else { 1e-6 }
    };
    frame.items.iter().map(of).collect()
}

/// Packs what is left into new bins.
pub(crate) fn pack(frame: &Frame, state: &mut State, worth: &[f64], style: Style) {
    // Those that need company go first, each with one of those it follows: later none may be left.
    for item in 0..frame.items.len() {
        let Some(leaders) = &frame.items[item].leaders else { continue };
        for &leader in leaders {
            while state.left[item] > 0 && state.left[leader] > 0 && frame.items[leader].leaders.is_none() {
                let each = state.left[item].div_ceil(state.left[leader]);
                let before = state.left[item];
                rounds(frame, state, worth, style, Some((leader, item, each)));
                if state.left[item] == before {
                    break;
                }
            }
        }
    }
    rounds(frame, state, worth, style, None);
    state.fill(frame);
    // Filling may have used up what a follower could have had; whoever still lacks a place gets bins of its own.
    rounds(frame, state, worth, style, None);
}

fn rounds(frame: &Frame, state: &mut State, worth: &[f64], style: Style, seed: Option<(usize, usize, u32)>) {
    let mut items: Vec<usize> = (0..frame.items.len()).filter(|item| state.left[*item] > 0).collect();
    // Of equal requests the most worth comes first; equal requests are next to each other already.
    items.sort_by(|&one, &other| {
        let lots = frame.items[one].lot.cmp(&frame.items[other].lot);
        lots.then_with(|| worth[other].total_cmp(&worth[one])).then(one.cmp(&other))
    });
    let wanted = |item: &usize| seed.is_none() && frame.items[*item].leaders.is_none();
    if seed.is_none() && !items.iter().any(wanted) {
        return;
    }
    let mut heap: BinaryHeap<Reverse<(Key, usize)>> = BinaryHeap::new();
    let mut scratch = Scratch { values: vec![0.0; frame.items.len()], ..Scratch::default() };
    for &item in &items {
        let bonus = if style.size > 0.0 { worth[item].powf(style.size) } else { 1.0 };
        scratch.values[item] = worth[item] * bonus;
    }
    let mut looked_at = sample(frame, &items);
    for &column in &frame.front {
        if style.ceiling.is_some_and(|ceiling| frame.cost(column) > ceiling) {
            continue;
        }
        if let Some((key, _)) = scratch.evaluate(frame, state, worth, style, column, &looked_at, seed) {
            heap.push(Reverse((Key(key), column)));
        }
    }
    while let Some(Reverse((_, column))) = heap.pop() {
        let Some((key, load)) = scratch.evaluate(frame, state, worth, style, column, &looked_at, seed) else {
            continue;
        };
        if heap.peek().is_some_and(|Reverse((next, _))| next.0 < key * (1.0 - 1e-9)) {
            heap.push(Reverse((Key(key), column)));
            continue;
        }
        let copies = load.contents.iter().map(|(item, units)| state.left[*item] / units).min().unwrap_or(0);
        let copies = if seed.is_some() { copies.min(1) } else { copies };
        let copies = state.ledger.available(frame, column, copies);
        if copies == 0 {
            continue;
        }
        state.open(frame, Load { copies, ..load });
        items.retain(|item| state.left[*item] > 0);
        if seed.is_some_and(|(leader, item, _)| state.left[leader] == 0 || state.left[item] == 0) {
            return;
        }
        if items.is_empty() {
            return;
        }
        looked_at = sample(frame, &items);
        heap.push(Reverse((Key(key), column)));
    }
}

#[derive(Default)]
struct Scratch {
    /// What each item is worth, its size considered.
    values: Vec<f64>,
    /// What may still go into the bin, equal requests next to each other.
    open: Vec<usize>,
    /// Where in `open` the items of equal requests are.
    lots: Vec<(usize, usize)>,
    /// The score and the first item of each lot, and the place of the lot.
    scored: Vec<(f64, usize, usize)>,
}

impl Scratch {
    /// The best filling found for a bin of the column, and its price for what it is worth.
    #[expect(clippy::too_many_arguments, reason = "the whole of a round's state")]
    fn evaluate(
        &mut self,
        frame: &Frame,
        state: &State,
        worth: &[f64],
        style: Style,
        column: usize,
        items: &[usize],
        seed: Option<(usize, usize, u32)>,
    ) -> Option<(f64, Load)> {
        if state.ledger.available(frame, column, 1) == 0 {
            return None;
        }
        let mut load = Load::new(frame, column);
        if let Some((leader, item, each)) = seed {
            if load.room(frame, leader, 1) == 0 {
                return None;
            }
            load.add(frame, leader, 1);
            let units = load.room(frame, item, each.min(state.left[item]));
            if units == 0 {
                return None;
            }
            load.add(frame, item, units);
        }
        let mut total: f64 = load.contents.iter().map(|(item, units)| worth[*item] * f64::from(*units)).sum();
        total += self.fill(frame, &state.left, worth, style, items, &mut load);
        if load.contents.is_empty() {
            return None;
        }
        let price = if style.thrifty { thrift(frame, column) } else { frame.cost(column) as f64 };
        Some((price.max(1e-3) / total.max(1e-9), load))
    }

    fn fill(
        &mut self,
        frame: &Frame,
        left: &[u32],
        worth: &[f64],
        style: Style,
        items: &[usize],
        load: &mut Load,
    ) -> f64 {
        let mut total = 0.0;
        let capacity = frame.capacity(load.column);
        self.open.clear();
        self.lots.clear();
        for lot in lots(frame, items) {
            if !lot.first().is_some_and(|first| frame.fits(&frame.items[*first].requests, load.column)) {
                continue;
            }
            let start = self.open.len();
            self.open.extend(lot.iter().copied().filter(|item| frame.allows(*item, load.column)));
            if start < self.open.len() {
                self.lots.push((start, self.open.len()));
            }
        }
        if self.lots.len() > FEW {
            return self.fill_in_batches(frame, left, worth, style, load);
        }
        let Self { values, open, lots, .. } = self;
        let mut scales = vec![0.0; frame.width];
        loop {
            measure(&mut scales, capacity, &load.used);
            let mut best: Option<(f64, usize)> = None;
            lots.retain_mut(|(start, end)| {
                let Some(share) = share(&frame.items[open[*start]].requests, &scales, style) else {
                    return false;
                };
                let mut at = *start;
                while at < *end {
                    let item = open[at];
                    let score = values[item] / share;
                    if best.is_some_and(|(top, of)| score < top || score == top && item > of) {
                        return true;
                    }
                    let wanted = &frame.items[item];
                    let some = load.units(item) < left[item];
                    if some && (wanted.plain() || load.leave(frame, item, 1) > 0) {
                        best = Some((score, item));
                        return true;
                    }
                    // What a bin turns down it never takes later, unless company comes.
                    if some && wanted.leaders.is_some() {
                        at += 1;
                    } else if at == *start {
                        *start += 1;
                        at = *start;
                    } else {
                        open.copy_within(at + 1..*end, at);
                        *end -= 1;
                    }
                }
                start < end
            });
            let Some((_, item)) = best else { return total };
            let room = load.room(frame, item, left[item] - load.units(item));
            if room == 0 {
                drop_item(open, lots, item);
                continue;
            }
            let units = (room / style.step).max(1);
            load.add(frame, item, units);
            total += worth[item] * f64::from(units);
        }
    }
}

impl Scratch {
    /// The same for many lots: the measure is taken anew only after some of the best have been added.
    fn fill_in_batches(
        &mut self,
        frame: &Frame,
        left: &[u32],
        worth: &[f64],
        style: Style,
        load: &mut Load,
    ) -> f64 {
        let Self { values, open, lots, scored } = self;
        let capacity = frame.capacity(load.column);
        let mut scales = vec![0.0; frame.width];
        let mut total = 0.0;
        loop {
            measure(&mut scales, capacity, &load.used);
            scored.clear();
            let mut place = 0;
            lots.retain(|(start, end)| {
                if start == end {
                    return false;
                }
                let item = open[*start];
                let share = share(&frame.items[item].requests, &scales, style);
                if let Some(share) = share {
                    scored.push((values[item] / share, item, place));
                    place += 1;
                }
                share.is_some()
            });
            if scored.is_empty() {
                return total;
            }
            let first = |one: &(f64, usize, usize), other: &(f64, usize, usize)| {
                other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
            };
            let batch = scored.len().div_ceil(FEW);
            if batch < scored.len() {
                scored.select_nth_unstable_by(batch, first);
                scored.truncate(batch);
            }
            scored.sort_unstable_by(first);
            for &(_, item, lot) in scored.iter() {
                let wanted = left[item].saturating_sub(load.units(item));
                let room = load.room(frame, item, wanted);
                let units = (room / style.step).max(1);
                if room > 0 {
                    load.add(frame, item, units);
                    total += worth[item] * f64::from(units);
                }
                // What is used up or turned down makes way for the next of its lot.
                if room <= units {
                    lots[lot].0 += 1;
                }
            }
        }
    }
}

/// One over what is free of each resource.
fn measure(scales: &mut [f64], capacity: &[i64], used: &[i64]) {
    for ((scale, room), used) in scales.iter_mut().zip(capacity).zip(used) {
        *scale = 1.0 / (*room - used).max(1) as f64;
    }
}

/// How much of what is free a unit takes; none if it takes more than that.
fn share(requests: &[i64], scales: &[f64], style: Style) -> Option<f64> {
    let mut share = 1e-12_f64;
    for (request, scale) in requests.iter().zip(scales) {
        let part = *request as f64 * scale;
        if part > 1.000_000_1 {
            return None;
        }
        share = if style.scarcest { share.max(part) } else { share + part * part };
    }
    Some(if style.scarcest { share } else { share.sqrt() })
}

/// Every so manieth item, if there are many with different requests.
fn sample(frame: &Frame, items: &[usize]) -> Vec<usize> {
    let count = lots(frame, items).count();
    if count <= MANY { items.to_vec() } else { items.iter().copied().step_by(count.div_ceil(MANY)).collect() }
}

/// Runs of items with equal requests.
fn lots<'a>(frame: &'a Frame, items: &'a [usize]) -> impl Iterator<Item = &'a [usize]> {
    items.chunk_by(|one, other| frame.items[*one].lot == frame.items[*other].lot)
}

/// Takes one item out of those that may still go into a bin.
fn drop_item(open: &mut [usize], lots: &mut Vec<(usize, usize)>, item: usize) {
    lots.retain_mut(|(start, end)| {
        if let Some(at) = (*start..*end).find(|at| open[*at] == item) {
            open.copy_within(at + 1..*end, at);
            *end -= 1;
        }
        start < end
    });
}

/// What part of the tightest budget a bin of the column takes.
fn thrift(frame: &Frame, column: usize) -> f64 {
    let parts = frame.problem.columns[column].usage.iter().map(|(budget, amount)| {
        let left = frame.problem.budgets[*budget].left.max(1);
        *amount as f64 / left as f64
    });
    parts.fold(frame.cost(column) as f64 * 1e-12, f64::max) * 1e6
}
