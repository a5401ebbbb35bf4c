//! What the tests share: builders, strategies and generated problems.

pub mod clusters;
pub mod kit;
pub mod workloads;
