//! Places demands into bins at least cost. Knows nothing of what a demand or a bin stands for.
//!
//! [`solve`] runs several strategies, [`first_fit`] among them, and keeps the one that places most at least cost, so its
//! answer is never dearer than first-fit's. [`check`] judges an answer and shares no code with what made it.

mod bits;
mod bound;
mod check;
mod first_fit;
mod frame;
mod improve;
mod items;
mod lp;
mod options;
mod pattern;
mod problem;
mod solve;
mod state;

pub use bits::BitSet;
pub use bound::worths;
pub use check::check;
pub use first_fit::first_fit;
pub use options::holders;
pub use problem::{Bin, Budget, CapGroup, Column, Company, Demand, Facet, Kind, Problem, Solution};
pub use solve::solve;
