//! Takes the bins apart that cost most for what they hold, and packs their contents again; keeps what got better.

use crate::frame::Frame;
use crate::pattern::{self, Style};
use crate::state::State;

/// Improves a packing within about `effort` steps of work.
pub(crate) fn improve(frame: &Frame, state: &mut State, worth: &[f64], effort: usize) {
    state.settle(frame);
    let mut spent = 0;
    let sizes = [2, 1, 3, 4, 6, 8];
    let mut idle = 0;
    let mut offset = 0;
    let mut round = 0;
    while spent < effort && idle < 3 * sizes.len() && !state.bins.is_empty() {
        let size = sizes[round % sizes.len()];
        let style = Style {
            scarcest: round % 2 == 0,
            size: [0.0, 0.2, 0.5][round / 2 % 3],
            step: [3, 1, 2][round / 3 % 3],
            ..Style::default()
        };
        round += 1;
        let mut order: Vec<(f64, usize)> = state
            .bins
            .iter()
            .enumerate()
            .map(|(at, bin)| {
                let value: f64 =
                    bin.contents.iter().map(|(item, units)| worth[*item] * f64::from(*units)).sum();
                (value - frame.cost(bin.column) as f64, at)
            })
            .collect();
        order.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut attempt = state.clone();
        for step in 0..size.min(order.len()) {
            let (_, bin) = order[(offset + step) % order.len()];
            attempt.close(frame, bin, 1);
        }
        attempt.bins.retain(|bin| bin.copies > 0);
        attempt.fill(frame);
        pattern::pack(frame, &mut attempt, worth, style);
        attempt.settle(frame);
        spent += frame.front.len() * (4 + attempt.left.len() / 50) + 50 * state.bins.len();
        if (attempt.unplaced(frame), attempt.cost(frame)) < (state.unplaced(frame), state.cost(frame)) {
            *state = attempt;
            idle = 0;
            offset = 0;
        } else {
            idle += 1;
            offset += size;
        }
    }
}
