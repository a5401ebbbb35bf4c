//! What all ways in share: configuration, telemetry, observe, decide, audit, act, records.
//!
//! A function is one method of `World`; none of them holds policy: they see, ask the planner, have its plan judged, and
//! do what it says.

mod act;
mod alone;
mod aws;
mod catalogue;
pub mod config;
mod counted;
mod deadline;
mod disruption;
mod error;
pub mod hints;
mod interruption;
#[cfg(test)]
mod kit;
mod lifecycle;
pub mod local;
pub mod message;
mod metrics;
mod provision;
mod records;
mod refresh;
pub mod telemetry;
mod world;

pub use deadline::Deadline;
pub use error::RunError;
pub use world::World;
