//! The policy: from what is seen to what is to be done, a file a step.
//!
//! Knows no AWS, no clock, no network. It cannot fail: what could not be done is in the plan with its reason.

mod disruption;
mod interruption;
mod lifecycle;
mod peace;
mod pods;
mod provision;

use std::sync::Arc;

use model::{Funnel, ObjectName, Plan, Snapshot};

pub use disruption::consolidation::{Consolidation, Sweep, Weights};
pub use interruption::interrupt;
pub use lifecycle::{Wants, care, launch_group, sweep, wants};

/// One kind of decision. Steps run in the order given, each seeing what earlier ones planned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Room for pending pods.
    Provision,
    /// Nodes go that aren't needed, or not as they are.
    Disrupt,
}

impl Step {
    /// Its name, as records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provision => "provision",
            Self::Disrupt => "disrupt",
        }
    }

    /// The step of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Provision, Self::Disrupt].into_iter().find(|known| known.name() == name)
    }
}

/// Only make room.
pub const PROVISION: &[Step] = &[Step::Provision];
/// Only give nodes up.
pub const DISRUPT: &[Step] = &[Step::Disrupt];

/// Decides. Equal snapshots give equal plans, whatever the order of their lists.
pub fn decide(snapshot: &Snapshot, steps: &[Step]) -> Plan {
    let mut plan = Plan::default();
    for step in steps {
        match step {
            Step::Provision => provision::plan(snapshot, &mut plan),
            Step::Disrupt => disruption::plan(snapshot, &mut plan),
        }
    }
    plan
}

/// What each rule leaves of each pool's types for one pod, whether it finds a place or not; none if there is no such pod.
pub fn funnels(snapshot: &Snapshot, pod: &ObjectName) -> Option<Arc<Vec<Funnel>>> {
    let index = snapshot.cluster.pods.iter().position(|known| known.name == *pod)?;
    Some(provision::funnels(snapshot, index))
}

/// Which working nodes to give up so that the same pods cost less. `cursor` is where the last call stopped, if it did.
pub fn consolidate(snapshot: &Snapshot, weights: &Weights, cursor: Option<&str>) -> Sweep {
    disruption::consolidation::plan(snapshot, weights, cursor)
}
