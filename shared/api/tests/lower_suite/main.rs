//! Reading and lowering, held against tables of manifests.
#![allow(clippy::expect_used, clippy::panic, reason = "the helpers of tests fail by panicking, too")]

mod case;
mod daemons;
mod fuzz;
mod kit;
mod nodes;
mod pods;
mod pools;
mod reading;
mod requests;
mod surge;
mod topology;
mod volumes;
mod workloads;
