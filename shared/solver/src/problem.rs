//! What is asked of the solver, and what it answers.

use crate::BitSet;

/// Everything there is to know before packing. Lists refer to each other by index.
#[derive(Clone, Debug, Default)]
pub struct Problem {
    /// What wants a place.
    pub demands: Vec<Demand>,
    /// The shapes a bin may have.
    pub kinds: Vec<Kind>,
    /// The priced ways of getting a kind, those of a kind next to each other.
    pub columns: Vec<Column>,
    /// How many units of some demands one bin may hold.
    pub groups: Vec<CapGroup>,
    /// Pairs of demands that can't share a bin; `(d, d)` means at most one unit of `d` a bin.
    pub conflicts: Vec<(usize, usize)>,
    /// Finite stocks that columns draw on, one a bin.
    pub supplies: Vec<u64>,
    /// Sums that may not be exceeded.
    pub budgets: Vec<Budget>,
    /// How flexible a bin must stay.
    pub facets: Vec<Facet>,
}

/// Equal units that want a place each.
#[derive(Clone, Debug, Default)]
pub struct Demand {
    /// How many units.
    pub count: u32,
    /// What one unit takes of each resource.
    pub requests: Vec<i64>,
    /// The columns a unit may be placed in.
    pub columns: BitSet,
    /// Whom a unit must share its bin with.
    pub company: Option<Company>,
    /// The demand's turn in first-fit, lowest first.
    pub priority: usize,
}

/// A unit may only be in a bin that also holds a unit of one of these demands.
#[derive(Clone, Debug, Default)]
pub struct Company {
    /// The demands that count as company; the demand itself may be among them.
    pub with: BitSet,
    /// Whether one bin may be started without company. All further units then go to that very bin.
    pub bootstrap: bool,
}

/// A shape a bin may have.
#[derive(Clone, Debug, Default)]
pub struct Kind {
    /// What a bin of this kind holds of each resource.
    pub capacity: Vec<i64>,
    /// The family it belongs to; facets are counted within a family.
    pub family: usize,
}

/// A priced way of getting a kind.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// The kind one gets.
    pub kind: usize,
    /// Its price in micro-dollars an hour.
    pub cost: u64,
    /// The stock a bin of this column takes one from.
    pub supply: Option<usize>,
    /// What a bin of this column takes of budgets, as `(budget, amount)`.
    pub usage: Vec<(usize, i64)>,
}

/// A bin that holds a unit of an owner holds at most `limit` units of members, all members together.
#[derive(Clone, Debug, Default)]
pub struct CapGroup {
    /// The most units of members.
    pub limit: u32,
    /// The demands that count.
    pub members: BitSet,
    /// The demands that impose the limit.
    pub owners: BitSet,
}

/// A sum over the chosen columns that may not be exceeded.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// How much may still be used.
    pub left: i64,
}

/// The columns of `family` that could hold a bin's contents and draw on the same stock as its own, or on none if that draws
/// on none, must show at least `min` different values.
#[derive(Clone, Debug, Default)]
pub struct Facet {
    /// The family whose bins are judged.
    pub family: usize,
    /// How many different values there must be.
    pub min: u32,
    /// The value of each column.
    pub values: Vec<u32>,
}

/// Where everything goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Solution {
    /// The bins to get.
    pub bins: Vec<Bin>,
    /// Demands with the number of their units that found no place.
    pub unplaced: Vec<(usize, u32)>,
    /// What the bins cost together.
    pub cost: u64,
    /// No way of placing what was placed costs less.
    pub bound: u64,
    /// The strategy that found it.
    pub strategy: &'static str,
}

/// Equal bins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// How the bin is got.
    pub column: usize,
    /// Demands with the number of their units in one bin.
    pub contents: Vec<(usize, u32)>,
    /// How many such bins.
    pub copies: u32,
}
