//! A judge of solutions that shares no code with the solver.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Bin, Problem, Solution};

/// Every way in which the solution breaks the problem's rules; empty when it breaks none.
pub fn check(problem: &Problem, solution: &Solution) -> Vec<String> {
    let mut faults = Vec::new();
    let mut placed = vec![0_u64; problem.demands.len()];
    let mut drawn = vec![0_u64; problem.supplies.len()];
    let mut spent = vec![0_i128; problem.budgets.len()];
    let mut cost = 0_u128;
    // Started bins a clump of demands that bootstrap each other.
    let mut started: BTreeMap<usize, u32> = BTreeMap::new();
    for (index, bin) in solution.bins.iter().enumerate() {
        let mut fault = |text: String| faults.push(format!("bin {index}: {text}"));
        let Some(column) = problem.columns.get(bin.column) else {
            fault(format!("no column {}", bin.column));
            continue;
        };
        let copies = u64::from(bin.copies);
        cost += u128::from(column.cost) * u128::from(copies);
        if let Some(supply) = column.supply {
            drawn[supply] += copies;
        }
        for &(budget, amount) in &column.usage {
            spent[budget] += i128::from(amount) * i128::from(copies);
        }
        for &(demand, units) in &bin.contents {
            placed[demand] += u64::from(units) * copies;
        }
        check_bin(problem, bin, &mut fault);
        for clump in starts(problem, bin, &mut fault) {
            *started.entry(clump).or_default() += bin.copies;
        }
    }
    for (clump, bins) in started {
        if bins > 1 {
            faults.push(format!("{bins} bins were started without company for demand {clump} and its like"));
        }
    }
    for &(demand, units) in &solution.unplaced {
        placed[demand] += u64::from(units);
    }
    for (demand, placed) in placed.iter().enumerate() {
        let count = u64::from(problem.demands[demand].count);
        if *placed != count {
            faults.push(format!("demand {demand}: {placed} units answered of {count}"));
        }
    }
    for (supply, (drawn, stock)) in drawn.iter().zip(&problem.supplies).enumerate() {
        if drawn > stock {
            faults.push(format!("supply {supply}: {drawn} drawn of {stock}"));
        }
    }
    for (index, (spent, budget)) in spent.iter().zip(&problem.budgets).enumerate() {
        if *spent > 0 && *spent > i128::from(budget.left) {
            faults.push(format!("budget {index}: {spent} spent of {}", budget.left));
        }
    }
    if cost != u128::from(solution.cost) {
        faults.push(format!("the bins cost {cost}, not {}", solution.cost));
    }
    if solution.bound > solution.cost {
        faults.push(format!("the bound {} exceeds the cost {}", solution.bound, solution.cost));
    }
    faults
}

fn check_bin(problem: &Problem, bin: &Bin, fault: &mut impl FnMut(String)) {
    let kind = &problem.kinds[problem.columns[bin.column].kind];
    let mut units: BTreeMap<usize, i128> = BTreeMap::new();
    for &(demand, count) in &bin.contents {
        if count == 0 || units.insert(demand, i128::from(count)).is_some() {
            fault(format!("demand {demand} is listed twice or without units"));
        }
        if !problem.demands[demand].columns.contains(bin.column) {
            fault(format!("demand {demand} doesn't allow column {}", bin.column));
        }
    }
    if bin.copies == 0 || bin.contents.is_empty() {
        fault("nothing is in it".to_owned());
    }
    let used = |resource: usize| -> i128 {
        units
            .iter()
            .map(|(demand, count)| i128::from(problem.demands[*demand].requests[resource]) * count)
            .sum()
    };
    for (resource, capacity) in kind.capacity.iter().enumerate() {
        if used(resource) > i128::from(*capacity) {
            fault(format!("resource {resource}: {} used of {capacity}", used(resource)));
        }
    }
    for (index, group) in problem.groups.iter().enumerate() {
        let members: i128 =
            units.iter().filter(|(demand, _)| group.members.contains(**demand)).map(|(_, n)| n).sum();
        let owned = units.keys().any(|demand| group.owners.contains(*demand));
        if owned && members > i128::from(group.limit) {
            fault(format!("group {index}: {members} units of at most {}", group.limit));
        }
    }
    for &(one, other) in &problem.conflicts {
        let broken = if one == other {
            units.get(&one).is_some_and(|count| *count > 1)
        } else {
            units.contains_key(&one) && units.contains_key(&other)
        };
        if broken {
            fault(format!("demands {one} and {other} share it"));
        }
    }
    for (index, facet) in problem.facets.iter().enumerate().filter(|(_, facet)| facet.family == kind.family) {
        let mut values = BTreeSet::new();
        let own = problem.columns[bin.column].supply;
        for (number, column) in problem.columns.iter().enumerate() {
            let other = &problem.kinds[column.kind];
            let allowed = other.family == facet.family
                && column.supply == own
                && units.keys().all(|demand| problem.demands[*demand].columns.contains(number))
                && other
                    .capacity
                    .iter()
                    .enumerate()
                    .all(|(resource, room)| used(resource) <= i128::from(*room));
            if allowed {
                values.insert(facet.values[number]);
            }
        }
        if values.len() < facet.min as usize {
            fault(format!("facet {index}: {} values of at least {}", values.len(), facet.min));
        }
    }
}

/// The demands that must have been the first of their like in the bin, by the smallest demand of the like.
fn starts(problem: &Problem, bin: &Bin, fault: &mut impl FnMut(String)) -> Vec<usize> {
    let company = |demand: usize| problem.demands[demand].company.as_ref();
    let mut settled: BTreeSet<usize> = BTreeSet::new();
    let mut waiting: BTreeSet<usize> = bin.contents.iter().map(|(demand, _)| *demand).collect();
    let mut started = Vec::new();
    while !waiting.is_empty() {
        let ready = |demand: &usize| {
            company(*demand).is_none_or(|company| settled.iter().any(|other| company.with.contains(*other)))
        };
        let boot = |demand: &usize| company(*demand).is_some_and(|company| company.bootstrap);
        let next = waiting.iter().copied().find(|demand| ready(demand)).or_else(|| {
            let first = waiting.iter().copied().find(boot);
            started.extend(first.map(|first| like(problem, first)));
            first
        });
        let Some(next) = next else {
            fault(format!("demands {waiting:?} lack company"));
            break;
        };
        waiting.remove(&next);
        settled.insert(next);
    }
    // Several may start the same bin.
    started.sort_unstable();
    started.dedup();
    started
}

/// The smallest demand that is tied to this one by a chain of bootstrapping company.
fn like(problem: &Problem, demand: usize) -> usize {
    let boots = |one: usize| problem.demands[one].company.as_ref().filter(|company| company.bootstrap);
    let mut seen = BTreeSet::from([demand]);
    let mut queue = vec![demand];
    while let Some(one) = queue.pop() {
        for other in 0..problem.demands.len() {
            let tied = boots(other).is_some_and(|company| company.with.contains(one))
                || boots(other).is_some() && boots(one).is_some_and(|company| company.with.contains(other));
            if tied && seen.insert(other) {
                queue.push(other);
            }
        }
    }
    seen.first().copied().unwrap_or(demand)
}
