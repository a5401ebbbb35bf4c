//! The baseline: each unit goes to the first open bin that can still take it, whatever that makes of the bin's price.

use crate::frame::Frame;
use crate::state::{Load, State};
use crate::{Problem, Solution, pattern};

/// A bin whose column is still open.
#[derive(Clone)]
struct Open {
    load: Load,
    /// The columns that hold it, cheapest first.
    candidates: Vec<usize>,
    /// The most room any candidate leaves, for each resource.
    free: Vec<i64>,
    /// What is set aside of budgets for one copy.
    held: Vec<(usize, i64)>,
}

/// Packs in the order of the demands' priority. A bin keeps every column that still holds it, and takes the cheapest of
/// them at the end.
pub fn first_fit(problem: &Problem) -> Solution {
    let frame = Frame::new(problem);
    let prices = crate::bound::prices(&frame);
    let state = pack(&frame);
    let bound = prices.bound(&state);
    state.solution(&frame, "first-fit", bound)
}

pub(crate) fn pack(frame: &Frame) -> State {
    let mut state = State::new(frame);
    let mut budgets: Vec<i64> = frame.problem.budgets.iter().map(|budget| budget.left).collect();
    let mut left = state.left.clone();
    let mut order: Vec<usize> = (0..frame.items.len()).collect();
    order.sort_by_key(|item| (frame.items[*item].priority, *item));
    let mut breeds: Vec<usize> = frame.front.iter().map(|column| frame.breeds[*column]).collect();
    breeds.sort_unstable();
    breeds.dedup();
    let mut open: Vec<Open> = Vec::new();
    for item in order {
        let mut at = 0;
        while left[item] > 0 && at < open.len() {
            insert(frame, &mut open, at, item, &mut left[item]);
            at += 1;
        }
        if frame.items[item].leaders.is_some() {
            continue;
        }
        for &breed in &breeds {
            while left[item] > 0 {
                let Some(mut bin) = start(frame, breed, item, &budgets) else { break };
                let room = bin.room(frame, item, left[item]);
                if room == 0 {
                    break;
                }
                let most = bin
                    .held
                    .iter()
                    .map(|(budget, amount)| budgets[*budget] / amount)
                    .min()
                    .unwrap_or(i64::MAX);
                let copies = (left[item] / room).min(u32::try_from(most).unwrap_or(u32::MAX)).max(1);
                bin.add(frame, item, room);
                bin.load.copies = copies;
                for &(budget, amount) in &bin.held {
                    budgets[budget] -= amount * i64::from(copies);
                }
                left[item] -= room * copies;
                open.push(bin);
            }
        }
    }
    for bin in open {
        let mut copies = bin.load.copies;
        for &column in &bin.candidates {
            let had = state.ledger.available(frame, column, copies);
            if had > 0 {
                state.open(frame, Load { column, copies: had, ..bin.load.clone() });
                copies -= had;
            }
            if copies == 0 {
                break;
            }
        }
    }
    pattern::finish(frame, &mut state);
    state
}

fn start(frame: &Frame, breed: usize, item: usize, budgets: &[i64]) -> Option<Open> {
    let affordable = |column: usize| {
        let column = &frame.problem.columns[column];
        column.usage.iter().all(|(budget, amount)| *amount <= 0 || *amount <= budgets[*budget])
            && column.supply.is_none_or(|supply| frame.problem.supplies[supply] > 0)
    };
    let fits = |column: &usize| {
        frame.breeds[*column] == breed
            && frame.allows(item, *column)
            && frame.fits(&frame.items[item].requests, *column)
            && affordable(*column)
    };
    let candidates: Vec<usize> = frame.front.iter().copied().filter(fits).collect();
    let mut held: Vec<(usize, i64)> = Vec::new();
    for (budget, amount) in candidates.iter().flat_map(|column| &frame.problem.columns[*column].usage) {
        match held.iter_mut().find(|(of, _)| of == budget) {
            Some((_, most)) => *most = (*most).max(*amount),
            None => held.push((*budget, *amount)),
        }
    }
    held.retain(|(_, amount)| *amount > 0);
    let load = Load::new(frame, *candidates.first()?);
    let mut bin = Open { load, candidates, free: Vec::new(), held };
    bin.measure(frame);
    Some(bin)
}

fn insert(frame: &Frame, open: &mut Vec<Open>, at: usize, item: usize, left: &mut u32) {
    let room = open[at].room(frame, item, *left);
    if room == 0 {
        return;
    }
    let copies = open[at].load.copies;
    let full = copies.min(*left / room);
    let rest = if full < copies { *left % room } else { 0 };
    let plain = copies - full - u32::from(rest > 0);
    *left -= full * room + rest;
    let mut parts = Vec::new();
    for (copies, units) in [(full, room), (u32::from(rest > 0), rest), (plain, 0)] {
        if copies > 0 {
            let mut part = open[at].clone();
            part.load.copies = copies;
            if units > 0 {
                part.add(frame, item, units);
            }
            parts.push(part);
        }
    }
    open.splice(at..=at, parts);
}

impl Open {
    fn measure(&mut self, frame: &Frame) {
        let most =
            |resource: usize| self.candidates.iter().map(|c| frame.capacity(*c)[resource]).max().unwrap_or(0);
        self.free = (0..frame.width).map(|resource| most(resource) - self.load.used[resource]).collect();
    }

    fn room(&self, frame: &Frame, item: usize, units: u32) -> u32 {
        let requests = &frame.items[item].requests;
        if requests.iter().zip(&self.free).any(|(request, free)| *request > 0 && request > free) {
            return 0;
        }
        let allowed = self.load.leave(frame, item, units);
        if allowed == 0 {
            return 0;
        }
        let of = |column: usize| -> u32 {
            let mut room = allowed;
            for ((capacity, used), request) in
                frame.capacity(column).iter().zip(&self.load.used).zip(requests)
            {
                if *request > 0 {
                    room = room.min(u32::try_from(((capacity - used) / request).max(0)).unwrap_or(u32::MAX));
                }
            }
            room
        };
        let mut room = 0;
        for &column in self.candidates.iter().rev() {
            if frame.allows(item, column) {
                room = room.max(of(column));
                if room == allowed {
                    break;
                }
            }
        }
        let breed = self.candidates.first().map_or(0, |column| frame.breeds[*column]);
        self.load.varied(frame, breed, item, room)
    }

    fn add(&mut self, frame: &Frame, item: usize, units: u32) {
        self.load.add(frame, item, units);
        let load = &self.load;
        self.candidates.retain(|column| frame.allows(item, *column) && frame.fits(&load.used, *column));
        self.measure(frame);
    }
}
