//! An independent judge of plans.

use crate::plan::Plan;
use crate::snapshot::Snapshot;

/// What is wrong with `plan`, one sentence a fault; empty if nothing is.
pub fn audit(_plan: &Plan, _snapshot: &Snapshot) -> Vec<String> {
    Vec::new()
}
