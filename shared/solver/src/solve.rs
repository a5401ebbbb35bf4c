//! The portfolio: several ways of packing, of which the best wins.

use crate::frame::Frame;
use crate::pattern::{self, Style};
use crate::state::State;
use crate::{Problem, Solution, bound, first_fit, improve};

/// Places as many units as it can, at least cost. Never places fewer than [`crate::first_fit`] does and, where it places as
/// many, never pays more.
pub fn solve(problem: &Problem) -> Solution {
    let frame = Frame::new(problem);
    let prices = bound::prices(&frame);
    let worth: Vec<f64> = prices.worth.iter().map(|worth| worth.max(1e-6)).collect();
    let mut best: Option<((u64, u64), State, &'static str)> = None;
    let mut offer = |state: State, name: &'static str| {
        let key = (state.unplaced(&frame), state.cost(&frame));
        if best.as_ref().is_none_or(|(top, _, _)| key < *top) {
            best = Some((key, state, name));
        }
    };
    let base = first_fit::pack(&frame);
    let short = base.unplaced(&frame) > 0;
    offer(base, "first-fit");
    let many = frame.items.last().is_some_and(|last| last.lot >= 2000) || frame.items.len() > 20_000;
    let styles: &[(&'static str, Style)] = &[
        ("patterns", Style { scarcest: false, size: 0.0, step: 3, ceiling: None, thrifty: false }),
        (
            "patterns, scarcest resource",
            Style { scarcest: true, size: 0.0, step: 3, ceiling: None, thrifty: false },
        ),
        (
            "patterns, large first",
            Style { scarcest: false, size: 0.3, step: 3, ceiling: None, thrifty: false },
        ),
    ];
    let effort = if many { 0 } else { 1_000_000 };
    for (name, style) in styles.iter().take(if many { 1 } else { styles.len() }) {
        let mut state = State::new(&frame);
        pattern::pack(&frame, &mut state, &worth, *style);
        improve::improve(&frame, &mut state, &worth, effort);
        offer(state, name);
    }
    if short && !problem.budgets.is_empty() {
        let mut state = State::new(&frame);
        pattern::pack(&frame, &mut state, &worth, Style { thrifty: true, ..Style::default() });
        offer(state, "patterns, sparing budgets");
    }
    match best {
        Some((_, state, name)) => {
            let bound = prices.bound(&state);
            state.solution(&frame, name, bound)
        }
        None => Solution::default(),
    }
}
