//! Pods leave a node: in tiers, within their budgets, and in the end by the deadline.

use jiff::{SignedDuration, Timestamp};
use model::{BoundPod, ClaimNode, Effect};

use super::surge::{self, Leave};
use super::view::View;
use crate::peace::{Peace, peace};

/// A pod that is still there so long after it was to be gone is not waited for.
const STUCK_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// What is left of the pods on one node.
#[derive(Debug, Default)]
pub(super) struct Drain<'a> {
    /// Pods that are waited for.
    pub waiting: Vec<&'a BoundPod>,
    /// What to do about them.
    pub effects: Vec<Effect>,
    /// When time alone changes something.
    pub next: Option<Timestamp>,
}

impl Drain<'_> {
    /// Whether none is waited for.
    pub fn is_over(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// Whether a pod goes with the drain; others stay on the node until its end.
pub(super) fn is_drainable(pod: &BoundPod, now: Timestamp) -> bool {
    !pod.tolerates_disruption && !pod.mirror && !is_stuck(pod, now)
}

fn is_stuck(pod: &BoundPod, now: Timestamp) -> bool {
    pod.deleting.is_some_and(|gone| now.duration_since(gone) > STUCK_AFTER)
}

/// Decides about the pods on `node`, which is tainted and drained since `begun`.
pub(super) fn drain<'a>(
    view: &View<'a>,
    node: &ClaimNode,
    begun: Timestamp,
    deadline: Option<Timestamp>,
) -> Drain<'a> {
    let now = view.now();
    let waits = |pod: &&BoundPod| !pod.finished && is_drainable(pod, now);
    let waiting = view.pods_on(&node.name).iter().copied().filter(waits).collect();
    let mut drain = Drain { waiting, ..Drain::default() };
    let (forced, rest): (Vec<&BoundPod>, Vec<&BoundPod>) =
        drain.waiting.iter().partition(|pod| deadline.is_some_and(|deadline| is_forced(pod, deadline, now)));
    for pod in forced {
        let remaining = deadline.map_or(0, |deadline| deadline.duration_since(now).as_secs()).max(1);
        // A pod that is going already is only asked to hurry.
        if pod.deleting.is_none_or(|gone| now + SignedDuration::from_secs(remaining) < gone) {
            drain.effects.push(Effect::DeletePod {
                pod: pod.name.clone(),
                uid: pod.uid.clone(),
                grace_seconds: remaining,
            });
        }
    }
    let first = rest.iter().map(|pod| tier(pod)).min();
    for pod in &rest {
        match peace(pod.do_not_disrupt.as_deref(), pod.started, now) {
            Peace::None if pod.deleting.is_none() => {
                let turn = first == Some(tier(pod));
                drain.see_off(pod, node, turn, surge::leave(view, node, pod, begun));
            }
            Peace::Until(end) => drain.wake(end),
            Peace::None | Peace::ForGood => {}
        }
        if let Some(deadline) = deadline.filter(|_| pod.deleting.is_none()) {
            drain.wake(deadline - grace(pod) + SignedDuration::from_secs(1));
        }
    }
    for gone in drain.waiting.iter().filter_map(|pod| pod.deleting).collect::<Vec<_>>() {
        if gone > now {
            drain.wake(gone);
        }
        drain.wake(gone + STUCK_AFTER + SignedDuration::from_secs(1));
    }
    drain.next = drain.next.filter(|next| *next > now);
    drain
}

impl Drain<'_> {
    /// A successor starts elsewhere, so it needs no turn.
    fn see_off(&mut self, pod: &BoundPod, node: &ClaimNode, turn: bool, leave: Leave) {
        match leave {
            Leave::Evict(remark) if turn => self.effects.push(Effect::EvictPod {
                pod: pod.name.clone(),
                uid: pod.uid.clone(),
                node: node.name.clone(),
                remark,
            }),
            Leave::Evict(_) => {}
            Leave::Restart(order, end) => {
                self.effects.push(Effect::RestartRollout(order));
                self.wake(end);
            }
            Leave::Wait(end) => self.wake(end),
        }
    }

    fn wake(&mut self, time: Timestamp) {
        self.next = Some(self.next.map_or(time, |next| next.min(time)));
    }
}

fn grace(pod: &BoundPod) -> SignedDuration {
    SignedDuration::from_secs(pod.grace_seconds.max(0))
}

/// Whether the deadline comes before the pod would be gone: budgets and wishes no longer count.
fn is_forced(pod: &BoundPod, deadline: Timestamp, now: Timestamp) -> bool {
    match pod.deleting {
        Some(gone) => gone > deadline,
        None => now > deadline - grace(pod),
    }
}

/// What others may need stays longest.
fn tier(pod: &BoundPod) -> (bool, bool) {
    (pod.critical, pod.daemon)
}
