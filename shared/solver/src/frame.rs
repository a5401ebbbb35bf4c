//! The problem as the strategies see it: equal demands merged, demands that must stay together made one, useless columns dropped.

use std::collections::{BTreeMap, BTreeSet};

use crate::{BitSet, Column, Problem};

/// The family and the kinds of each breed that has facets.
type Faceted = BTreeMap<usize, (usize, Vec<usize>)>;

/// The problem, digested.
pub(crate) struct Frame<'p> {
    pub problem: &'p Problem,
    pub width: usize,
    /// Largest first.
    pub items: Vec<Item>,
    /// The distinct sets of allowed columns.
    pub signatures: Vec<BitSet>,
    /// The columns that no other column beats in every respect, cheapest first.
    pub front: Vec<usize>,
    /// The columns of each kind, as a range.
    pub ranges: Vec<(usize, usize)>,
    /// The breed of each column: those of a family with facets that draw on one stock, else all of a family.
    pub breeds: Vec<usize>,
    /// The family and the kinds of each breed that has facets.
    pub faceted: Faceted,
}

/// Units that are placed alike.
#[derive(Clone, Debug, Default)]
pub(crate) struct Item {
    pub count: u32,
    pub requests: Vec<i64>,
    pub signature: usize,
    /// Items of equal requests are next to each other and share a lot.
    pub lot: usize,
    pub priority: usize,
    /// What a unit consists of: for a merged item the demands that share its units, for a block what goes together.
    pub sources: Vec<(usize, u32)>,
    /// One unit is all of the sources at once.
    pub block: bool,
    /// The groups a unit counts in, with how much.
    pub members: Vec<(usize, u32)>,
    /// The groups a unit imposes.
    pub owns: Vec<usize>,
    /// The items it can't share a bin with.
    pub rivals: Vec<usize>,
    /// At most one unit a bin.
    pub solitary: bool,
    /// The items of which one must already be in the bin.
    pub leaders: Option<Vec<usize>>,
}

impl Item {
    /// Whether nothing but room and columns decides where it may go.
    pub fn plain(&self) -> bool {
        self.members.is_empty()
            && self.owns.is_empty()
            && self.rivals.is_empty()
            && !self.solitary
            && self.leaders.is_none()
    }
}

impl<'p> Frame<'p> {
    pub fn new(problem: &'p Problem) -> Self {
        let width = problem.demands.iter().map(|demand| demand.requests.len()).max().unwrap_or(0);
        let mut ranges = vec![(0, 0); problem.kinds.len()];
        for (index, column) in problem.columns.iter().enumerate() {
            let range = &mut ranges[column.kind];
            *range = if range.1 == 0 { (index, index + 1) } else { (range.0, index + 1) };
        }
        let (breeds, faceted) = breeds(problem);
        let mut frame = Self {
            problem,
            width,
            items: Vec::new(),
            signatures: Vec::new(),
            front: Vec::new(),
            ranges,
            breeds,
            faceted,
        };
        crate::items::gather(&mut frame);
        frame.front = frame.useful_columns();
        frame
    }

    pub fn capacity(&self, column: usize) -> &[i64] {
        &self.problem.kinds[self.problem.columns[column].kind].capacity
    }

    pub fn family(&self, column: usize) -> usize {
        self.problem.kinds[self.problem.columns[column].kind].family
    }

    pub fn cost(&self, column: usize) -> u64 {
        self.problem.columns[column].cost
    }

    pub fn allows(&self, item: usize, column: usize) -> bool {
        self.signatures[self.items[item].signature].contains(column)
    }

    pub fn fits(&self, used: &[i64], column: usize) -> bool {
        used.iter().zip(self.capacity(column)).all(|(used, capacity)| used <= capacity)
    }

    /// Whether the columns of `breed` that hold `used` and that all `signatures` allow are as varied as asked.
    pub fn flexible(&self, breed: usize, used: &[i64], signatures: &[usize]) -> bool {
        let Some((family, kinds)) = self.faceted.get(&breed) else { return true };
        let facets: Vec<_> = self.problem.facets.iter().filter(|facet| facet.family == *family).collect();
        let mut seen: Vec<Vec<u32>> = vec![Vec::new(); facets.len()];
        for &kind in kinds {
            let holds =
                used.iter().zip(&self.problem.kinds[kind].capacity).all(|(used, capacity)| used <= capacity);
            let (from, to) = self.ranges[kind];
            if !holds {
                continue;
            }
            let open = |column: &usize| {
                self.breeds[*column] == breed
                    && signatures.iter().all(|s| self.signatures[*s].contains(*column))
            };
            for column in (from..to).filter(open) {
                let mut done = true;
                for (facet, seen) in facets.iter().zip(&mut seen) {
                    let value = facet.values.get(column).copied().unwrap_or(0);
                    if !seen.contains(&value) {
                        seen.push(value);
                    }
                    done &= seen.len() >= facet.min as usize;
                }
                if done {
                    return true;
                }
            }
        }
        facets.iter().zip(&seen).all(|(facet, seen)| seen.len() >= facet.min as usize)
    }

    /// Drops each column that another of its family beats: as much room, for whom it is allowed at least as many, no
    /// dearer, no scarcer.
    fn useful_columns(&self) -> Vec<usize> {
        let count = self.problem.columns.len();
        let mut openness = vec![BitSet::new(self.signatures.len()); count];
        for (index, signature) in self.signatures.iter().enumerate() {
            for column in signature.iter().filter(|column| *column < count) {
                openness[column].insert(index);
            }
        }
        let mut order: Vec<usize> = (0..count).filter(|column| !openness[*column].is_empty()).collect();
        let room = |column: usize| {
            self.capacity(column)
                .iter()
                .take(self.width)
                .map(|room| *room as f64)
                .fold(0.0, |sum, room| sum + room.ln_1p())
        };
        let mut keyed: Vec<_> = order
            .iter()
            .map(|&column| {
                (self.cost(column), self.problem.columns[column].supply.is_some(), room(column), column)
            })
            .collect();
        keyed.sort_by(|one, other| {
            (one.0, one.1).cmp(&(other.0, other.1)).then(other.2.total_cmp(&one.2)).then(one.3.cmp(&other.3))
        });
        order.iter_mut().zip(keyed).for_each(|(place, (.., column))| *place = column);
        // Columns by family and openness, as only those can beat each other.
        let mut classes: Vec<(usize, BitSet, Vec<usize>)> = Vec::new();
        let mut front = Vec::new();
        for column in order {
            let family = self.family(column);
            let mut own = None;
            let mut beaten = false;
            for (index, (of, open, members)) in classes.iter().enumerate() {
                if *of != family {
                    continue;
                }
                if *open == openness[column] {
                    own = Some(index);
                }
                if openness[column].is_subset(open) && members.iter().any(|other| self.beats(*other, column))
                {
                    beaten = true;
                    break;
                }
            }
            if beaten {
                continue;
            }
            match own {
                Some(index) => classes[index].2.push(column),
                None => classes.push((family, openness[column].clone(), vec![column])),
            }
            front.push(column);
        }
        front
    }

    fn beats(&self, better: usize, worse: usize) -> bool {
        let (one, other) = (&self.problem.columns[better], &self.problem.columns[worse]);
        let spends = |columns: &[(usize, i64)], budget: usize| -> i64 {
            columns.iter().filter(|(of, _)| *of == budget).map(|(_, amount)| *amount).sum()
        };
        let faceted = self.faceted.contains_key(&self.breeds[worse]);
        (one.supply == other.supply || one.supply.is_none() && !faceted)
            && self.capacity(worse).iter().zip(self.capacity(better)).all(|(worse, better)| worse <= better)
            && one.usage.iter().all(|(budget, amount)| *amount <= spends(&other.usage, *budget))
    }
}

/// The breed of each column, and what there is to know of those with facets.
fn breeds(problem: &Problem) -> (Vec<usize>, Faceted) {
    let faceted: BTreeSet<usize> = problem.facets.iter().map(|facet| facet.family).collect();
    let likeness = |column: &Column| {
        let family = problem.kinds[column.kind].family;
        let stock = if faceted.contains(&family) { column.supply } else { None };
        // What there is little of comes first.
        (family, stock.is_none(), stock)
    };
    let all: BTreeSet<_> = problem.columns.iter().map(likeness).collect();
    let numbers: BTreeMap<_, usize> = all.iter().enumerate().map(|(number, like)| (*like, number)).collect();
    let breeds: Vec<usize> = problem.columns.iter().map(|column| numbers[&likeness(column)]).collect();
    let mut known = Faceted::new();
    for (&(family, ..), &breed) in numbers.iter().filter(|((family, ..), _)| faceted.contains(family)) {
        let kinds = (0..problem.kinds.len()).filter(|kind| problem.kinds[*kind].family == family);
        known.insert(breed, (family, kinds.collect()));
    }
    (breeds, known)
}
