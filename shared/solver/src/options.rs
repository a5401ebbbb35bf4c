//! All columns that could hold a bin's contents.

use crate::{BitSet, Kind, Problem};

/// The columns of `family` that hold `contents` and that all its demands allow. Supplies and budgets are not looked at.
pub fn holders(problem: &Problem, contents: &[(usize, u32)], family: usize) -> BitSet {
    let width = problem.demands.first().map_or(0, |demand| demand.requests.len());
    let mut used = vec![0_i64; width];
    let mut allowed = BitSet::full(problem.columns.len());
    for &(demand, units) in contents {
        allowed.and_assign(&problem.demands[demand].columns);
        for (sum, request) in used.iter_mut().zip(&problem.demands[demand].requests) {
            *sum = sum.saturating_add(request.saturating_mul(i64::from(units)));
        }
    }
    let mut holders = BitSet::new(problem.columns.len());
    // The columns of a kind are next to each other.
    let mut last = None;
    for column in allowed.iter() {
        let kind = problem.columns[column].kind;
        let fits = match last {
            Some((known, fits)) if known == kind => fits,
            _ => {
                let Kind { capacity, family: of } = &problem.kinds[kind];
                *of == family && used.iter().zip(capacity).all(|(used, capacity)| used <= capacity)
            }
        };
        last = Some((kind, fits));
        if fits {
            holders.insert(column);
        }
    }
    holders
}
