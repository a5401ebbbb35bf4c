//! A packing in the making: bins with their columns fixed, what is left to place, and what may still be spent.

use crate::frame::Frame;
use crate::{Bin, Solution};

/// What may still be drawn and spent.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    budgets: Vec<i64>,
    supplies: Vec<u64>,
}

impl Ledger {
    /// How many bins of the column can still be had, at most `wanted`.
    pub fn available(&self, frame: &Frame, column: usize, wanted: u32) -> u32 {
        let column = &frame.problem.columns[column];
        let mut bins = u64::from(wanted);
        if let Some(supply) = column.supply {
            bins = bins.min(self.supplies[supply]);
        }
        for &(budget, amount) in column.usage.iter().filter(|(_, amount)| *amount > 0) {
            bins = bins.min(u64::try_from(self.budgets[budget] / amount).unwrap_or(0));
        }
        u32::try_from(bins).unwrap_or(wanted)
    }

    pub fn take(&mut self, frame: &Frame, column: usize, bins: u32) {
        let column = &frame.problem.columns[column];
        if let Some(supply) = column.supply {
            self.supplies[supply] = self.supplies[supply].saturating_sub(u64::from(bins));
        }
        for &(budget, amount) in &column.usage {
            self.budgets[budget] =
                self.budgets[budget].saturating_sub(amount.saturating_mul(i64::from(bins)));
        }
    }

    pub fn give(&mut self, frame: &Frame, column: usize, bins: u32) {
        let column = &frame.problem.columns[column];
        if let Some(supply) = column.supply {
            self.supplies[supply] += u64::from(bins);
        }
        for &(budget, amount) in &column.usage {
            self.budgets[budget] =
                self.budgets[budget].saturating_add(amount.saturating_mul(i64::from(bins)));
        }
    }
}

/// Equal bins of one column.
#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub column: usize,
    pub used: Vec<i64>,
    pub contents: Vec<(usize, u32)>,
    pub copies: u32,
}

impl Load {
    pub fn new(frame: &Frame, column: usize) -> Self {
        Self { column, used: vec![0; frame.width], contents: Vec::new(), copies: 1 }
    }

    pub fn units(&self, item: usize) -> u32 {
        self.contents.iter().find(|(of, _)| *of == item).map_or(0, |(_, units)| *units)
    }

    pub fn add(&mut self, frame: &Frame, item: usize, units: u32) {
        for (used, request) in self.used.iter_mut().zip(&frame.items[item].requests) {
            *used += request * i64::from(units);
        }
        match self.contents.iter_mut().find(|(of, _)| *of == item) {
            Some((_, count)) => *count += units,
            None => self.contents.push((item, units)),
        }
    }

    /// How many units of the item the rules other than room and columns allow to add.
    pub fn leave(&self, frame: &Frame, item: usize, mut units: u32) -> u32 {
        let wanted = &frame.items[item];
        if wanted.plain() {
            return units;
        }
        if wanted.solitary {
            units = units.min(1_u32.saturating_sub(self.units(item)));
        }
        let holds = |other: &usize| self.contents.iter().any(|(of, _)| of == other);
        // Rivals are in order, and often many more than what a bin holds.
        if self.contents.iter().any(|(of, _)| wanted.rivals.binary_search(of).is_ok())
            || wanted.leaders.as_ref().is_some_and(|leaders| !leaders.iter().any(holds))
        {
            return 0;
        }
        let inside = |group: usize| -> u32 {
            let of = |item: usize| {
                frame.items[item].members.iter().find(|(of, _)| *of == group).map_or(0, |(_, n)| *n)
            };
            self.contents.iter().map(|(item, units)| of(*item) * units).sum()
        };
        for &(group, weight) in &wanted.members {
            let owned = wanted.owns.contains(&group)
                || self.contents.iter().any(|(other, _)| frame.items[*other].owns.contains(&group));
            if owned {
                let limit = frame.problem.groups[group].limit;
                units = units.min(limit.saturating_sub(inside(group)) / weight.max(1));
            }
        }
        let bursts = |group: &usize| inside(*group) > frame.problem.groups[*group].limit;
        if wanted.owns.iter().any(bursts) { 0 } else { units }
    }

    /// How many units of the item, at most `units`, one of the bins can take in.
    pub fn room(&self, frame: &Frame, item: usize, units: u32) -> u32 {
        let wanted = &frame.items[item];
        let mut room = units;
        for ((capacity, used), request) in
            frame.capacity(self.column).iter().zip(&self.used).zip(&wanted.requests)
        {
            if *request > 0 {
                let free = (capacity - used) / request;
                if free <= 0 {
                    return 0;
                }
                room = room.min(u32::try_from(free).unwrap_or(u32::MAX));
            }
        }
        if !frame.allows(item, self.column) {
            return 0;
        }
        room = self.leave(frame, item, room);
        self.varied(frame, frame.breeds[self.column], item, room)
    }

    /// At most `units` of the item, so that the bin stays as flexible as its breed must be.
    pub fn varied(&self, frame: &Frame, breed: usize, item: usize, units: u32) -> u32 {
        if units == 0 || !frame.faceted.contains_key(&breed) {
            return units;
        }
        let mut signatures: Vec<usize> =
            self.contents.iter().map(|(item, _)| frame.items[*item].signature).collect();
        signatures.push(frame.items[item].signature);
        signatures.sort_unstable();
        signatures.dedup();
        let open = |units: u32| {
            let more = frame.items[item].requests.iter().map(|request| request * i64::from(units));
            let used: Vec<i64> = self.used.iter().zip(more).map(|(used, more)| used + more).collect();
            frame.flexible(breed, &used, &signatures)
        };
        if open(units) {
            return units;
        }
        let (mut good, mut bad) = (0, units);
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if open(middle) { good = middle } else { bad = middle }
        }
        good
    }

    pub fn signatures(&self, frame: &Frame) -> Vec<usize> {
        let mut signatures: Vec<usize> =
            self.contents.iter().map(|(item, _)| frame.items[*item].signature).collect();
        signatures.sort_unstable();
        signatures.dedup();
        signatures
    }
}

/// A packing in the making.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub bins: Vec<Load>,
    pub left: Vec<u32>,
    pub ledger: Ledger,
}

impl State {
    pub fn new(frame: &Frame) -> Self {
        let ledger = Ledger {
            budgets: frame.problem.budgets.iter().map(|budget| budget.left).collect(),
            supplies: frame.problem.supplies.clone(),
        };
        Self { bins: Vec::new(), left: frame.items.iter().map(|item| item.count).collect(), ledger }
    }

    /// Adds bins and takes their contents off what is left.
    pub fn open(&mut self, frame: &Frame, load: Load) {
        for &(item, units) in &load.contents {
            self.left[item] -= units * load.copies;
        }
        self.ledger.take(frame, load.column, load.copies);
        self.bins.push(load);
    }

    /// Takes some copies of a bin away and puts their contents back to what is left. A bin may stay with no copies.
    pub fn close(&mut self, frame: &Frame, bin: usize, copies: u32) {
        let load = &mut self.bins[bin];
        for &(item, units) in &load.contents {
            self.left[item] += units * copies;
        }
        load.copies -= copies;
        let column = load.column;
        self.ledger.give(frame, column, copies);
    }

    /// Puts up to `limit` units of the item into a copy of the bin and as many of the other copies, and the rest into one
    /// more copy.
    pub fn insert(&mut self, frame: &Frame, bin: usize, item: usize, room: u32) {
        let room = room.min(self.left[item]);
        let (copies, left) = (self.bins[bin].copies, self.left[item]);
        if room == 0 || copies == 0 {
            return;
        }
        let full = copies.min(left / room);
        let rest = if full < copies { left % room } else { 0 };
        self.left[item] -= full * room + rest;
        if rest > 0 {
            let mut odd = self.bins[bin].clone();
            odd.copies = 1;
            odd.add(frame, item, rest);
            self.bins.push(odd);
        }
        let plain = copies - full - u32::from(rest > 0);
        if full == 0 {
            self.bins[bin].copies = plain;
            return;
        }
        if plain > 0 {
            let mut same = self.bins[bin].clone();
            same.copies = plain;
            self.bins.push(same);
        }
        self.bins[bin].copies = full;
        self.bins[bin].add(frame, item, room);
    }

    /// Fills the free room of the bins with what is left.
    pub fn fill(&mut self, frame: &Frame) {
        let mut again = true;
        while again {
            again = false;
            for item in 0..frame.items.len() {
                let mut bin = 0;
                while self.left[item] > 0 && bin < self.bins.len() {
                    if self.bins[bin].copies > 0 {
                        let room = self.bins[bin].room(frame, item, self.left[item]);
                        if room > 0 {
                            self.insert(frame, bin, item, room);
                            // Whom it leads may now be let in.
                            again |= frame.items.iter().any(|item| item.leaders.is_some());
                        }
                    }
                    bin += 1;
                }
            }
        }
        self.bins.retain(|bin| bin.copies > 0);
    }

    /// Moves each bin to the cheapest column that holds its contents.
    pub fn settle(&mut self, frame: &Frame) {
        self.bins.retain(|bin| bin.copies > 0 && !bin.contents.is_empty());
        let mut bin = 0;
        while bin < self.bins.len() {
            let load = &self.bins[bin];
            let (from, copies) = (load.column, load.copies);
            let signatures = load.signatures(frame);
            self.ledger.give(frame, from, copies);
            let better = frame
                .front
                .iter()
                .copied()
                .take_while(|column| frame.cost(*column) < frame.cost(from))
                .find_map(|column| {
                    if !frame.fits(&load.used, column)
                        || !signatures.iter().all(|s| frame.signatures[*s].contains(column))
                    {
                        return None;
                    }
                    let had = self.ledger.available(frame, column, copies);
                    let breed = frame.breeds[column];
                    let fine = had > 0
                        && (breed == frame.breeds[from] || frame.flexible(breed, &load.used, &signatures));
                    // Those that stay must still be paid for.
                    let stays = || {
                        let mut after = self.ledger.clone();
                        after.take(frame, column, had);
                        after.available(frame, from, copies - had) == copies - had
                    };
                    (fine && (had == copies || stays())).then_some((column, had))
                });
            match better {
                Some((column, had)) => {
                    self.ledger.take(frame, column, had);
                    self.ledger.take(frame, from, copies - had);
                    if had < copies {
                        let mut rest = self.bins[bin].clone();
                        rest.copies = copies - had;
                        self.bins.push(rest);
                    }
                    self.bins[bin].column = column;
                    self.bins[bin].copies = had;
                }
                None => self.ledger.take(frame, from, copies),
            }
            bin += 1;
        }
    }

    pub fn cost(&self, frame: &Frame) -> u64 {
        self.bins.iter().fold(0, |sum, bin| {
            sum.saturating_add(frame.cost(bin.column).saturating_mul(u64::from(bin.copies)))
        })
    }

    /// How many units of demands have no place.
    pub fn unplaced(&self, frame: &Frame) -> u64 {
        let units = |index: usize| match frame.items[index].block {
            true => frame.items[index].sources.iter().map(|(_, units)| u64::from(*units)).sum(),
            false => 1,
        };
        self.left
            .iter()
            .enumerate()
            .filter(|(_, left)| **left > 0)
            .map(|(item, left)| u64::from(*left) * units(item))
            .sum()
    }

    /// The packing in the caller's words.
    pub fn solution(&self, frame: &Frame, strategy: &'static str, bound: u64) -> Solution {
        let mut hands: Vec<(usize, u32)> =
            frame.items.iter().map(|item| (0, item.sources.first().map_or(0, |source| source.1))).collect();
        let mut deal = |item: usize, mut units: u32, into: &mut Vec<(usize, u32)>| {
            let sources = &frame.items[item].sources;
            if frame.items[item].block {
                into.extend(sources.iter().map(|(demand, count)| (*demand, count * units)));
                return;
            }
            let (at, rest) = &mut hands[item];
            while units > 0 && *at < sources.len() {
                let now = units.min(*rest);
                into.push((sources[*at].0, now));
                units -= now;
                *rest -= now;
                if *rest == 0 {
                    *at += 1;
                    *rest = sources.get(*at).map_or(0, |source| source.1);
                }
            }
        };
        let mut bins: Vec<Bin> = Vec::new();
        for load in &self.bins {
            for _ in 0..load.copies {
                let mut contents = Vec::new();
                load.contents.iter().for_each(|(item, units)| deal(*item, *units, &mut contents));
                let contents = sum(contents);
                match bins.last_mut() {
                    Some(last) if last.column == load.column && last.contents == contents => last.copies += 1,
                    _ => bins.push(Bin { column: load.column, contents, copies: 1 }),
                }
            }
        }
        let mut unplaced = Vec::new();
        for (item, left) in self.left.iter().enumerate().filter(|(_, left)| **left > 0) {
            deal(item, *left, &mut unplaced);
        }
        Solution { bins, unplaced: sum(unplaced), cost: self.cost(frame), bound, strategy }
    }
}

/// One entry a demand, by demand.
fn sum(mut entries: Vec<(usize, u32)>) -> Vec<(usize, u32)> {
    entries.retain(|(_, units)| *units > 0);
    entries.sort_unstable();
    entries.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    entries
}
