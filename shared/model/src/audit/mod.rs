//! An independent judge of plans.
//!
//! It shares no code with whoever makes plans: it takes Kubernetes' rules for where a pod may be and Karpenter's for
//! what a NodeClaim says, and asks of the finished plan only what must hold of any right one. Where a rule leaves
//! room (the order in which pods come, domains that may or may not appear) it takes the reading that favours the
//! plan, so that every fault it reports is one.

mod affinity;
mod anti_affinity;
mod budget;
mod claims;
mod contents;
mod daemons;
mod disruptions;
mod fit;
mod flexibility;
mod market;
mod offers;
mod placement;
mod pools;
mod ports;
mod removals;
mod requirements;
mod room;
mod spread;
mod taints;
mod view;
mod volumes;

use crate::plan::Plan;
use crate::snapshot::Snapshot;

/// What is wrong with `plan`, one sentence a fault; empty if nothing is.
pub fn audit(plan: &Plan, snapshot: &Snapshot) -> Vec<String> {
    let view = view::View::new(plan, snapshot);
    [placement::check_complete(&view), check(&view)].concat()
}

/// What is wrong with a plan that only gives nodes up: pods without a place are another plan's to place or explain.
pub fn audit_disruption(plan: &Plan, snapshot: &Snapshot) -> Vec<String> {
    check(&view::View::new(plan, snapshot))
}

fn check(view: &view::View<'_>) -> Vec<String> {
    let checks: [fn(&view::View<'_>) -> Vec<String>; 18] = [
        placement::check,
        removals::check,
        disruptions::check,
        pools::check,
        claims::check,
        offers::check,
        flexibility::check,
        taints::check,
        requirements::check,
        room::check_planned,
        room::check_existing,
        ports::check,
        volumes::check,
        spread::check,
        affinity::check,
        anti_affinity::check,
        budget::check_limits,
        budget::check_reservations,
    ];
    checks.iter().flat_map(|check| check(view)).collect()
}
