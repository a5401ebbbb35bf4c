//! What holds of every problem: the judge finds no fault, first-fit is never cheaper, the bound never lies.

#[path = "brute/mod.rs"]
mod brute;

use proptest::prelude::*;
use solver::{BitSet, Budget, CapGroup, Column, Company, Demand, Facet, Kind, Problem, Solution};

fn set(length: usize, mask: u64) -> BitSet {
    let mut set = BitSet::new(length);
    (0..length).filter(|index| mask >> index & 1 == 1).for_each(|index| set.insert(index));
    set
}

/// Problems with up to `demands` demands of up to `count` units.
fn problems(demands: usize, count: u32, rules: bool) -> impl Strategy<Value = Problem> {
    let kind =
        (1..=12_i64, 1..=12_i64, 0..2_usize, prop::collection::vec((1..100_u64, 0..6_usize, 0..4_i64), 1..4));
    let demand = (0..=count, 0..=6_i64, 1..=6_i64, any::<u64>(), 0..8_u8, any::<u64>(), 0..5_usize);
    let group = (0..4_u32, any::<u64>(), any::<u64>());
    let facet = (0..2_usize, 1..3_u32, prop::collection::vec(0..3_u32, 15));
    (
        prop::collection::vec(kind, 1..6),
        prop::collection::vec(demand, 1..=demands),
        prop::collection::vec(group, 0..3),
        prop::collection::vec((0..demands, 0..demands), 0..4),
        prop::collection::vec(facet, 0..2),
        (0..4_u64, 0..12_i64, 0..4_u8),
    )
        .prop_map(move |(kinds, demands, groups, conflicts, facets, (supply, budget, scarce))| {
            let count = demands.len();
            let mut problem = Problem {
                supplies: vec![supply],
                budgets: vec![Budget { left: budget }],
                ..Problem::default()
            };
            for (cpu, memory, family, columns) in kinds {
                let kind = problem.kinds.len();
                problem.kinds.push(Kind { capacity: vec![cpu, memory], family });
                for (cost, draws, uses) in columns {
                    let supply = (rules && draws == 0).then_some(0);
                    let usage = if rules && scarce == 0 { vec![(0, uses)] } else { Vec::new() };
                    problem.columns.push(Column { kind, cost, supply, usage });
                }
            }
            for (units, cpu, memory, columns, wish, with, priority) in demands {
                let columns = if columns % 3 == 0 { u64::MAX } else { columns };
                let company =
                    (rules && wish < 2).then(|| Company { with: set(count, with), bootstrap: wish == 0 });
                let columns = set(problem.columns.len(), columns);
                problem.demands.push(Demand {
                    count: units,
                    requests: vec![cpu, memory],
                    columns,
                    company,
                    priority,
                });
            }
            if rules {
                for (limit, members, owners) in groups {
                    problem.groups.push(CapGroup {
                        limit,
                        members: set(count, members),
                        owners: set(count, owners),
                    });
                }
                problem.conflicts =
                    conflicts.into_iter().filter(|(one, other)| *one < count && *other < count).collect();
                problem.facets =
                    facets.into_iter().map(|(family, min, values)| Facet { family, min, values }).collect();
            }
            problem
        })
}

/// Problems whose demands each hold a limit of units a bin among themselves, as a spread over bins does, or keep apart.
/// No two demands are alike but in name.
fn capped() -> impl Strategy<Value = Problem> {
    (problems(6, 9, false), prop::collection::vec((0..4_u32, any::<bool>()), 6)).prop_map(
        |(mut problem, rules)| {
            let count = problem.demands.len();
            for (demand, (limit, all)) in rules.into_iter().enumerate().take(count) {
                problem.demands[demand].requests[0] += 7 * demand as i64;
                let owners = set(count, 1 << demand);
                match limit {
                    0 => problem.conflicts.push((demand, demand)),
                    _ => problem.groups.push(CapGroup {
                        limit,
                        members: if all { BitSet::full(count) } else { owners.clone() },
                        owners,
                    }),
                }
            }
            problem.kinds.iter_mut().for_each(|kind| kind.capacity[0] *= 10);
            problem
        },
    )
}

fn unplaced(solution: &Solution) -> u32 {
    solution.unplaced.iter().map(|(_, units)| units).sum()
}

/// The same problem with its demands turned around.
fn reversed(problem: &Problem) -> Problem {
    let last = problem.demands.len() - 1;
    let turn = |set: &BitSet| {
        let mut turned = BitSet::new(problem.demands.len());
        set.iter().for_each(|index| turned.insert(last - index));
        turned
    };
    let mut other = problem.clone();
    other.demands.reverse();
    for company in other.demands.iter_mut().filter_map(|demand| demand.company.as_mut()) {
        company.with = turn(&company.with);
    }
    for group in &mut other.groups {
        (group.members, group.owners) = (turn(&group.members), turn(&group.owners));
    }
    other.conflicts.iter_mut().for_each(|pair| *pair = (last - pair.0, last - pair.1));
    other
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_judge_finds_no_fault(problem in problems(7, 9, true)) {
        let best = solver::solve(&problem);
        let base = solver::first_fit(&problem);
        prop_assert_eq!(solver::check(&problem, &best), Vec::<String>::new());
        prop_assert_eq!(solver::check(&problem, &base), Vec::<String>::new());
        let (ours, theirs) = ((unplaced(&best), best.cost), (unplaced(&base), base.cost));
        prop_assert!(ours <= theirs, "{:?} against first-fit's {:?}", ours, theirs);
        prop_assert_eq!(&solver::solve(&problem), &best);
    }

    #[test]
    fn what_can_be_had_alone_is_placed(problem in problems(7, 9, false)) {
        let solution = solver::solve(&problem);
        for (demand, _) in &solution.unplaced {
            prop_assert!(solver::holders(&problem, &[(*demand, 1)], 0).is_empty());
            prop_assert!(solver::holders(&problem, &[(*demand, 1)], 1).is_empty());
        }
    }

    #[test]
    fn the_order_of_demands_changes_nothing(problem in problems(7, 9, false)) {
        let (one, other) = (solver::solve(&problem), solver::solve(&reversed(&problem)));
        prop_assert_eq!((one.cost, unplaced(&one), one.bound), (other.cost, unplaced(&other), other.bound));
    }

    #[test]
    fn the_order_of_demands_changes_nothing_where_a_bin_holds_few_of_them(problem in capped()) {
        let (one, other) = (solver::solve(&problem), solver::solve(&reversed(&problem)));
        prop_assert_eq!((one.cost, unplaced(&one), one.bound), (other.cost, unplaced(&other), other.bound));
    }

    #[test]
    fn the_bound_is_below_the_true_optimum(problem in problems(3, 2, false)) {
        let solution = solver::solve(&problem);
        let optimum = brute::cheapest(&problem);
        prop_assert!(solution.bound <= optimum && optimum <= solution.cost,
            "bound {}, optimum {}, cost {}", solution.bound, optimum, solution.cost);
        prop_assert!(solution.cost <= 2 * optimum.max(1), "optimum {}, cost {}", optimum, solution.cost);
    }
}
