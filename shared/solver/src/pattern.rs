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

/// Above this many items a bin is filled in one pass.
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
    let live = |state: &State| -> Vec<usize> {
        (0..frame.items.len()).filter(|item| state.left[*item] > 0).collect()
    };
    let mut items = live(state);
    let wanted = |item: &usize| seed.is_none() && frame.items[*item].leaders.is_none();
    if seed.is_none() && !items.iter().any(wanted) {
        return;
    }
    let mut heap: BinaryHeap<Reverse<(Key, usize)>> = BinaryHeap::new();
    let mut scratch = Scratch::default();
    for &column in &frame.front {
        if style.ceiling.is_some_and(|ceiling| frame.cost(column) > ceiling) {
            continue;
        }
        if let Some((key, _)) = scratch.evaluate(frame, state, worth, style, column, &items, seed) {
            heap.push(Reverse((Key(key), column)));
        }
    }
    while let Some(Reverse((_, column))) = heap.pop() {
        let Some((key, load)) = scratch.evaluate(frame, state, worth, style, column, &items, seed) else {
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
        heap.push(Reverse((Key(key), column)));
    }
}

#[derive(Default)]
struct Scratch {
    open: Vec<usize>,
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
        if items.len() > MANY {
            for &item in items {
                let units = load.room(frame, item, left[item].saturating_sub(load.units(item)));
                if units > 0 {
                    load.add(frame, item, units);
                    total += worth[item] * f64::from(units);
                }
            }
            return total;
        }
        let capacity = frame.capacity(load.column);
        self.open.clear();
        let fits = |item: &usize| {
            frame.allows(*item, load.column) && frame.fits(&frame.items[*item].requests, load.column)
        };
        self.open.extend(items.iter().copied().filter(fits));
        let mut scales = vec![0.0; frame.width];
        loop {
            for ((scale, room), used) in scales.iter_mut().zip(capacity).zip(&load.used) {
                *scale = 1.0 / (*room - used).max(1) as f64;
            }
            let mut best: Option<(f64, usize)> = None;
            self.open.retain(|&item| {
                let wanted = &frame.items[item];
                let mut share = 1e-12_f64;
                for (request, scale) in wanted.requests.iter().zip(&scales) {
                    let part = *request as f64 * scale;
                    if part > 1.000_000_1 {
                        return false;
                    }
                    share = if style.scarcest { share.max(part) } else { share + part * part };
                }
                if load.units(item) >= left[item] {
                    return false;
                }
                if !style.scarcest {
                    share = share.sqrt();
                }
                let mut score = worth[item] / share;
                if style.size > 0.0 {
                    score *= worth[item].powf(style.size);
                }
                let better = best.is_none_or(|(top, _)| score > top);
                if better && (wanted.plain() || load.leave(frame, item, 1) > 0) {
                    best = Some((score, item));
                }
                true
            });
            let Some((_, item)) = best else { return total };
            let room = load.room(frame, item, left[item] - load.units(item));
            if room == 0 {
                self.open.retain(|other| *other != item);
                continue;
            }
            let units = (room / style.step).max(1);
            load.add(frame, item, units);
            total += worth[item] * f64::from(units);
        }
    }
}

/// What part of the tightest budget a bin of the column takes.
fn thrift(frame: &Frame, column: usize) -> f64 {
    let parts = frame.problem.columns[column].usage.iter().map(|(budget, amount)| {
        let left = frame.problem.budgets[*budget].left.max(1);
        *amount as f64 / left as f64
    });
    parts.fold(frame.cost(column) as f64 * 1e-12, f64::max) * 1e6
}
