//! The policy: from what is seen to what is to be done, a file a step.
//!
//! Knows no AWS, no clock, no network. It cannot fail: what could not be done is in the plan with its reason.

mod disruption;
mod interruption;
#[cfg(test)]
mod kit;
mod lifecycle;
mod peace;
mod pods;
mod provision;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{Effect, Funnel, MarkOrder, ObjectName, Plan, Snapshot};

pub use disruption::consolidation::{Consolidation, Sweep, Weights};
pub use interruption::{endings, interrupt};
pub use lifecycle::{Wants, care, launch_group, planned, release, sweep, wants};

/// One kind of decision. Steps run in the order given, each seeing what earlier ones planned.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Room for pending pods.
    Provision,
    /// Nodes go that aren't needed, not as they are, or whose pods can be had cheaper.
    Disrupt,
    /// The same, but only of nodes that were closed to new pods before they were looked at.
    Confirm,
}

impl Step {
    /// Its name, as records have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Provision => "provision",
            Self::Disrupt => "disrupt",
            Self::Confirm => "confirm",
        }
    }

    /// The step of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Provision, Self::Disrupt, Self::Confirm].into_iter().find(|known| known.name() == name)
    }
}

/// Only make room.
pub const PROVISION: &[Step] = &[Step::Provision];
/// Only give nodes up.
pub const DISRUPT: &[Step] = &[Step::Disrupt];
/// Only give up nodes that are closed already.
pub const CONFIRM: &[Step] = &[Step::Confirm];

/// Decides. Equal snapshots give equal plans, whatever the order of their lists.
pub fn decide(snapshot: &Snapshot, steps: &[Step]) -> Plan {
    let mut plan = Plan::default();
    for step in steps {
        match step {
            Step::Provision => provision::plan(snapshot, &mut plan),
            Step::Disrupt => disruption::plan(snapshot, disruption::Of::All, &mut plan),
            Step::Confirm => disruption::plan(snapshot, disruption::Of::Closed, &mut plan),
        }
    }
    plan
}

/// What is wrong with a plan that `decide` came to by these steps; empty if nothing is. Without making room, pods that have
/// none are another plan's to place or explain.
pub fn objections(plan: &Plan, snapshot: &Snapshot, steps: &[Step]) -> Vec<String> {
    if steps.contains(&Step::Provision) {
        model::audit(plan, snapshot)
    } else {
        model::audit_disruption(plan, snapshot)
    }
}

/// What NodeClaims are to be told of themselves, where it has changed.
pub fn findings(snapshot: &Snapshot) -> Vec<Effect> {
    disruption::findings::findings(snapshot)
}

/// What closes the nodes that a plan gives up to new pods, before they are looked at once more: what lands on a node in
/// between a look and its end would be moved for nothing.
pub fn closing(plan: &Plan) -> Vec<Effect> {
    let close = |effect: &Effect| match effect {
        Effect::MarkDisrupted(order) => {
            let order = MarkOrder { replaced_by: Vec::new(), ..(**order).clone() };
            Some(Effect::MarkDisrupted(Box::new(order)))
        }
        _ => None,
    };
    plan.effects.iter().filter_map(close).collect()
}

/// How many pods each node has that would have to be placed anew if it went; a node without any is left out.
pub fn displaced(snapshot: &Snapshot) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for pod in snapshot.cluster.pods.iter().filter(|pod| pods::is_reschedulable(pod)) {
        if let Some(node) = &pod.node {
            *counts.entry(node.as_str()).or_default() += 1;
        }
    }
    counts
}

/// What each rule leaves of each pool's types for one pod, whether it finds a place or not; none if there is no such pod.
pub fn funnels(snapshot: &Snapshot, pod: &ObjectName) -> Option<Arc<Vec<Funnel>>> {
    let index = snapshot.cluster.pods.iter().position(|known| known.name == *pod)?;
    Some(provision::funnels(snapshot, index))
}

/// Which working nodes to give up so that the same pods cost less.
pub fn consolidate(snapshot: &Snapshot, weights: &Weights) -> Sweep {
    disruption::consolidation::plan(snapshot, weights)
}
