//! From demands to items.

use std::collections::BTreeMap;

use crate::frame::{Frame, Item};
use crate::{BitSet, Problem};

/// What demands must share to be merged: requests, columns, groups as member and as owner, rivals.
type Likeness<'a> = (&'a [i64], &'a BitSet, &'a (Vec<usize>, Vec<usize>), &'a [usize]);

/// Fills in the frame's signatures and items.
pub(crate) fn gather(frame: &mut Frame) {
    let problem = frame.problem;
    let blocks = blocks(problem);
    let mut wanted = BitSet::new(problem.demands.len());
    for company in problem.demands.iter().filter_map(|demand| demand.company.as_ref()) {
        wanted.or_assign(&company.with);
    }
    let mut blocked = BitSet::new(problem.demands.len());
    blocks.iter().flatten().for_each(|demand| blocked.insert(*demand));

    let mut groups: Vec<(Vec<usize>, Vec<usize>)> = vec![Default::default(); problem.demands.len()];
    for (index, group) in problem.groups.iter().enumerate() {
        group.members.iter().for_each(|demand| groups[demand].0.push(index));
        group.owners.iter().for_each(|demand| groups[demand].1.push(index));
    }
    let mut rivals: Vec<Vec<usize>> = vec![Vec::new(); problem.demands.len()];
    let mut solitary = BitSet::new(problem.demands.len());
    for &(one, other) in &problem.conflicts {
        if one == other {
            solitary.insert(one);
        } else {
            rivals[one].push(other);
            rivals[other].push(one);
        }
    }
    rivals.iter_mut().for_each(|rivals| {
        rivals.sort_unstable();
        rivals.dedup();
    });

    // Items as lists of (demand, units), and whether they are blocks.
    let mut drafts: Vec<(Vec<(usize, u32)>, bool)> = Vec::new();
    let mut alike: BTreeMap<Likeness, usize> = BTreeMap::new();
    for (index, demand) in problem.demands.iter().enumerate() {
        if blocked.contains(index) || demand.count == 0 {
            continue;
        }
        let single = wanted.contains(index) || demand.company.is_some() || solitary.contains(index);
        if single {
            drafts.push((vec![(index, demand.count)], false));
            continue;
        }
        let key = (demand.requests.as_slice(), &demand.columns, &groups[index], rivals[index].as_slice());
        let draft = *alike.entry(key).or_insert(drafts.len());
        if draft == drafts.len() {
            drafts.push((Vec::new(), false));
        }
        drafts[draft].0.push((index, demand.count));
    }
    for block in &blocks {
        let together = largest(frame, block);
        for &demand in block {
            let inside = together.iter().find(|(of, _)| *of == demand).map_or(0, |(_, units)| *units);
            if inside < problem.demands[demand].count {
                drafts.push((vec![(demand, problem.demands[demand].count - inside)], false));
            }
        }
        if !together.is_empty() {
            drafts.push((together, true));
        }
    }

    let mut sets: BTreeMap<BitSet, usize> = BTreeMap::new();
    let mut items: Vec<Item> = Vec::new();
    for (sources, block) in drafts {
        let mut columns = problem.demands[sources[0].0].columns.clone();
        let mut item = Item { block, sources, ..Item::default() };
        let mut members: BTreeMap<usize, u32> = BTreeMap::new();
        item.requests = vec![0; frame.width];
        for (position, &(demand, units)) in item.sources.iter().enumerate() {
            let times = if block { units } else { 1 };
            item.priority = if position == 0 {
                problem.demands[demand].priority
            } else {
                item.priority.min(problem.demands[demand].priority)
            };
            columns.and_assign(&problem.demands[demand].columns);
            if position == 0 || block {
                for (sum, request) in item.requests.iter_mut().zip(&problem.demands[demand].requests) {
                    *sum = sum.saturating_add(request.saturating_mul(i64::from(times)));
                }
                groups[demand].0.iter().for_each(|group| *members.entry(*group).or_default() += times);
                item.owns.extend(&groups[demand].1);
                item.solitary |= solitary.contains(demand);
            }
            item.count = if block { 1 } else { item.count.saturating_add(units) };
        }
        item.members = members.into_iter().collect();
        item.owns.sort_unstable();
        item.owns.dedup();
        let next = sets.len();
        item.signature = *sets.entry(columns).or_insert(next);
        items.push(item);
    }
    frame.signatures = vec![BitSet::default(); sets.len()];
    for (set, index) in sets {
        frame.signatures[index] = set;
    }
    let size = |item: &Item| item.requests.iter().map(|amount| (*amount as f64).ln_1p()).sum::<f64>();
    items.sort_by(|one, other| {
        size(other)
            .total_cmp(&size(one))
            .then_with(|| other.requests.cmp(&one.requests))
            .then_with(|| frame.signatures[one.signature].cmp(&frame.signatures[other.signature]))
            .then_with(|| one.members.cmp(&other.members))
            .then_with(|| one.owns.cmp(&other.owns))
            .then_with(|| other.count.cmp(&one.count))
            .then_with(|| one.priority.cmp(&other.priority))
    });
    for place in 1..items.len() {
        let next = usize::from(items[place].requests != items[place - 1].requests);
        items[place].lot = items[place - 1].lot + next;
    }
    connect(problem, &mut items, &rivals);
    frame.items = items;
}

/// Turns conflicts and company between demands into such between items.
fn connect(problem: &Problem, items: &mut [Item], rivals: &[Vec<usize>]) {
    let mut holders: Vec<Vec<usize>> = vec![Vec::new(); problem.demands.len()];
    for (index, item) in items.iter().enumerate() {
        item.sources.iter().for_each(|(demand, _)| holders[*demand].push(index));
    }
    for (index, item) in items.iter_mut().enumerate() {
        let mut against: Vec<usize> = item
            .sources
            .iter()
            .flat_map(|(demand, _)| &rivals[*demand])
            .flat_map(|rival| holders[*rival].iter().copied())
            .collect();
        // A demand that is at most once in a bin may be in a block and outside it.
        if item.solitary {
            against.extend(item.sources.iter().flat_map(|(demand, _)| holders[*demand].iter().copied()));
        }
        against.sort_unstable();
        against.dedup();
        against.retain(|other| *other != index);
        item.rivals = against;
        if item.block {
            continue;
        }
        let Some((demand, _)) = item.sources.first() else { continue };
        if let Some(company) = &problem.demands[*demand].company {
            let mut leaders: Vec<usize> =
                company.with.iter().flat_map(|other| holders[other].iter().copied()).collect();
            leaders.sort_unstable();
            leaders.dedup();
            leaders.retain(|other| *other != index);
            item.leaders = Some(leaders);
        }
    }
}

/// The sets of demands that are bound to one bin, because they may start it alone.
fn blocks(problem: &Problem) -> Vec<Vec<usize>> {
    let boots: Vec<usize> = (0..problem.demands.len())
        .filter(|demand| problem.demands[*demand].company.as_ref().is_some_and(|company| company.bootstrap))
        .collect();
    let mut root: BTreeMap<usize, usize> = boots.iter().map(|demand| (*demand, *demand)).collect();
    let find = |root: &BTreeMap<usize, usize>, mut demand: usize| {
        while root[&demand] != demand {
            demand = root[&demand];
        }
        demand
    };
    for &demand in &boots {
        for other in problem.demands[demand].company.iter().flat_map(|company| company.with.iter()) {
            if root.contains_key(&other) {
                let (one, two) = (find(&root, demand), find(&root, other));
                root.insert(one.max(two), one.min(two));
            }
        }
    }
    let mut blocks: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &demand in &boots {
        blocks.entry(find(&root, demand)).or_default().push(demand);
    }
    let mut blocks: Vec<Vec<usize>> = blocks.into_values().collect();
    for block in &mut blocks {
        block.sort_by_key(|demand| (problem.demands[*demand].priority, *demand));
    }
    blocks
}

/// As many units of the block as one bin can hold, in the order of their priority.
fn largest(frame: &Frame, block: &[usize]) -> Vec<(usize, u32)> {
    let problem = frame.problem;
    let mut best: (u64, Vec<(usize, u32)>) = (0, Vec::new());
    let whole: u64 = block.iter().map(|demand| u64::from(problem.demands[*demand].count)).sum();
    let mut order: Vec<usize> = (0..problem.columns.len()).collect();
    order.sort_by_key(|column| (problem.columns[*column].cost, *column));
    for index in order {
        let column = &problem.columns[index];
        let affordable =
            column.usage.iter().all(|(budget, amount)| *amount <= problem.budgets[*budget].left.max(0));
        if !affordable || column.supply.is_some_and(|supply| problem.supplies[supply] == 0) {
            continue;
        }
        let mut inside: Vec<(usize, u32)> = Vec::new();
        let mut room = problem.kinds[column.kind].capacity.clone();
        for &demand in block {
            let wanted = &problem.demands[demand];
            if !wanted.columns.contains(index) {
                continue;
            }
            let mut units = wanted.count;
            for (room, request) in room.iter().zip(&wanted.requests).filter(|(_, request)| **request > 0) {
                units = units.min(u32::try_from((room / request).max(0)).unwrap_or(u32::MAX));
            }
            while units > 0 && !allowed(problem, &inside, demand, units) {
                units -= 1;
            }
            if units == 0 {
                continue;
            }
            for (room, request) in room.iter_mut().zip(&wanted.requests) {
                *room -= request * i64::from(units);
            }
            inside.push((demand, units));
        }
        if frame.faceted.contains_key(&frame.breeds[index]) {
            while !inside.is_empty() && !varied(frame, index, &inside) {
                if let Some(last) = inside.last_mut() {
                    last.1 -= 1;
                }
                inside.retain(|(_, units)| *units > 0);
            }
        }
        let units: u64 = inside.iter().map(|(_, units)| u64::from(*units)).sum();
        if units > best.0 {
            best = (units, inside);
        }
        if best.0 == whole {
            break;
        }
    }
    best.1
}

fn allowed(problem: &Problem, inside: &[(usize, u32)], demand: usize, units: u32) -> bool {
    let conflict = |pair: &(usize, usize)| {
        *pair == (demand, demand) && units > 1
            || inside.iter().any(|(other, _)| *pair == (demand, *other) || *pair == (*other, demand))
    };
    let over = |group: &crate::CapGroup| {
        let all = || inside.iter().copied().chain([(demand, units)]);
        all().any(|(one, _)| group.owners.contains(one))
            && all().filter(|(one, _)| group.members.contains(*one)).map(|(_, n)| u64::from(n)).sum::<u64>()
                > u64::from(group.limit)
    };
    !problem.conflicts.iter().any(conflict) && !problem.groups.iter().any(over)
}

fn varied(frame: &Frame, column: usize, inside: &[(usize, u32)]) -> bool {
    let problem = frame.problem;
    let family = problem.kinds[problem.columns[column].kind].family;
    let mut allowed = BitSet::full(problem.columns.len());
    let mut used = vec![0_i64; frame.width];
    for &(demand, units) in inside {
        allowed.and_assign(&problem.demands[demand].columns);
        for (used, request) in used.iter_mut().zip(&problem.demands[demand].requests) {
            *used += request * i64::from(units);
        }
    }
    problem.facets.iter().filter(|facet| facet.family == family).all(|facet| {
        let holds = |other: usize| {
            let kind = &problem.kinds[problem.columns[other].kind];
            frame.breeds[other] == frame.breeds[column]
                && used.iter().zip(&kind.capacity).all(|(used, capacity)| used <= capacity)
        };
        let mut values: Vec<u32> =
            allowed.iter().filter(|other| holds(*other)).map(|other| facet.values[other]).collect();
        values.sort_unstable();
        values.dedup();
        values.len() >= facet.min as usize
    })
}
