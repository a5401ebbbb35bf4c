//! What becomes of NodeClaims, from the wish for a machine to the machine's end: a file a stage.
//!
//! Records never run ahead of what was read: that something is done is written in the look that sees it done. So any run
//! may be cut off anywhere, and two may go on at once.

mod adoption;
mod classes;
mod consistency;
mod drain;
mod expiry;
mod fallback;
mod initialization;
mod launch;
mod liveness;
mod offers;
mod pace;
mod registration;
mod stamping;
mod surge;
mod sweep;
mod tagging;
mod termination;
mod view;
mod volumes;
mod wants;
mod work;

use model::{Care, Claim, ConditionStatus, LifecycleSnapshot};

pub use classes::release;
pub(crate) use launch::AVOIDED_FOR;
pub use sweep::sweep;
pub use tagging::planned;
pub(crate) use termination::closing;
pub use wants::{Wants, launch_group, wants};

use launch::Launches;
use view::{Machine, View};
use work::{Desk, Work};

/// Condition: the machine is known.
const LAUNCHED: &str = "Launched";
/// Condition: the machine's Node has joined.
const REGISTERED: &str = "Registered";
/// Condition: the Node takes pods.
const INITIALIZED: &str = "Initialized";
/// Condition: it is not as its pool or class want it.
const DRIFTED: &str = "Drifted";
/// Condition: all three of the others.
const READY: &str = "Ready";

/// Decides what to do next for some NodeClaims. Equal snapshots give equal decisions, whatever the order of their lists,
/// and deciding anew once it is done gives nothing new.
pub fn care(snapshot: &LifecycleSnapshot) -> Care {
    let view = View::new(snapshot);
    let mut desk = Desk::new(snapshot.now);
    let launches = launch::decide(&view, &mut desk);
    for &claim in &view.claims {
        let mut work = Work::new(claim, snapshot.now);
        match claim.deleting {
            Some(since) => termination::tend(&view, &launches, since, &mut work),
            None => living(&view, &launches, &mut work),
        }
        desk.add(work);
    }
    for &node in &view.orphans {
        termination::tend_orphan(&view, node, &mut desk);
    }
    desk.finish()
}

/// A NodeClaim that nobody asked to go.
fn living(view: &View<'_>, launches: &Launches<'_>, work: &mut Work<'_>) {
    let claim = work.claim;
    if let Some((reason, message)) = ends(view, claim) {
        work.delete(reason, message);
        return;
    }
    if expiry::is_due(claim, view.now()) {
        work.delete(expiry::REASON, expiry::message(claim));
        return;
    }
    if !claim.finalizer {
        work.change.finalizer = true;
        work.look_at_once();
        return;
    }
    launch::tend(view, launches, work);
    registration::tend(view, work);
    initialization::tend(view, work);
    liveness::tend(work);
    tagging::tend(view, work);
    consistency::tend(view, work);
    if claim.condition(INITIALIZED) != ConditionStatus::True {
        work.look_by_age(claim.created);
    }
}

/// Why a NodeClaim can't go on: its machine or its Node is going without it.
fn ends(view: &View<'_>, claim: &Claim) -> Option<(&'static str, String)> {
    let id = claim.provider_id.as_deref()?;
    if view.keeper(id) != Some(&claim.name) {
        return Some(("DuplicateMachine", format!("{id} is another NodeClaim's machine")));
    }
    if view.nodes_of(id).any(|node| node.deleting.is_some() && (node.finalizer || claim.is(REGISTERED))) {
        return Some(("NodeDeleted", "its Node was asked to go".to_owned()));
    }
    match view.machine(claim, id) {
        Machine::Ending | Machine::Ended => {
            Some(("InstanceTerminated", format!("{id} was ended by somebody else")))
        }
        Machine::Absent if claim.is(REGISTERED) && !view.nodes_of(id).any(view::is_ready) => {
            Some(("GarbageCollected", format!("there is no {id} any more")))
        }
        Machine::Absent | Machine::Alive(_) | Machine::Unknown => None,
    }
}

#[cfg(test)]
mod tests;
