//! All columns that could hold a bin's contents.

use crate::Problem;

/// The columns of `family` that hold `contents` and that all its demands allow, cheapest first, ties by index. Supplies
/// and budgets are not looked at.
pub fn cheapest_columns(problem: &Problem, contents: &[(usize, u32)], family: usize) -> Vec<usize> {
    let width = problem.demands.first().map_or(0, |demand| demand.requests.len());
    let mut used = vec![0_i64; width];
    let mut allowed = crate::BitSet::full(problem.columns.len());
    for &(demand, units) in contents {
        allowed.and_assign(&problem.demands[demand].columns);
        for (sum, request) in used.iter_mut().zip(&problem.demands[demand].requests) {
            *sum = sum.saturating_add(request.saturating_mul(i64::from(units)));
        }
    }
    let fits = |column: &usize| {
        let kind = &problem.kinds[problem.columns[*column].kind];
        kind.family == family && used.iter().zip(&kind.capacity).all(|(used, capacity)| used <= capacity)
    };
    let mut columns: Vec<usize> = allowed.iter().filter(fits).collect();
    columns.sort_by_key(|column| (problem.columns[*column].cost, *column));
    columns
}
