//! Snapshots by hand and by chance.

mod build;
mod random;

pub use build::{
    DEFAULT_CLASS, ZONES, amounts, anti, bound, daemon, instance_type, node, now, pod, pool, quantity,
    reserve, selector, snapshot, spread, taint, term, toleration, with,
};
pub use random::{shuffle, snapshots};
