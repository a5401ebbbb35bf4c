//! The true optimum of tiny problems without other rules than room and columns, by trying every partition.

use solver::Problem;

/// What placing all units that fit somewhere costs at least.
pub fn cheapest(problem: &Problem) -> u64 {
    let places = |demand: usize| price(problem, &[demand]).is_some();
    let units: Vec<usize> = (0..problem.demands.len())
        .filter(|demand| places(*demand))
        .flat_map(|demand| std::iter::repeat_n(demand, problem.demands[demand].count as usize))
        .collect();
    partition(problem, &units, &mut Vec::new())
}

fn partition(problem: &Problem, units: &[usize], bins: &mut Vec<Vec<usize>>) -> u64 {
    let Some((unit, rest)) = units.split_first() else {
        return bins.iter().map(|bin| price(problem, bin).unwrap_or(u64::from(u32::MAX))).sum();
    };
    let mut best = u64::MAX;
    for bin in 0..=bins.len() {
        if bin == bins.len() {
            bins.push(Vec::new());
        }
        bins[bin].push(*unit);
        if price(problem, &bins[bin]).is_some() {
            best = best.min(partition(problem, rest, bins));
        }
        bins[bin].pop();
        bins.retain(|bin| !bin.is_empty());
    }
    best
}

fn price(problem: &Problem, units: &[usize]) -> Option<u64> {
    let holds = |index: usize| {
        let kind = &problem.kinds[problem.columns[index].kind];
        units.iter().all(|unit| problem.demands[*unit].columns.contains(index))
            && (0..kind.capacity.len()).all(|resource| {
                units.iter().map(|unit| problem.demands[*unit].requests[resource]).sum::<i64>()
                    <= kind.capacity[resource]
            })
    };
    (0..problem.columns.len()).filter(|index| holds(*index)).map(|index| problem.columns[index].cost).min()
}
