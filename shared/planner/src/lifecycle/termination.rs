//! The end: pods leave, volumes let go, the machine ends, then Node and NodeClaim vanish, in this order.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimNode, Condition, ConditionStatus, DisruptionReason, Effect, EventKind, NodeChange, ObjectRef,
    StartStage, Taint, TaintEffect, labels,
};

use super::drain::drain;
use super::launch::{Fate, Launches};
use super::registration::untouched;
use super::view::{Machine, View, is_ready};
use super::work::{Desk, Work};
use super::{REGISTERED, adoption, pace, volumes};

const DRAINED: &str = "Drained";
const VOLUMES_DETACHED: &str = "VolumesDetached";
const INSTANCE_TERMINATING: &str = "InstanceTerminating";
/// A drain takes at least so long: pods that were just bound are to be seen.
const SHORTEST_DRAIN: SignedDuration = SignedDuration::from_secs(5);
/// A Node that breaks sooner was never a good one.
const YOUNG: SignedDuration = SignedDuration::from_hours(24);
/// Condition: why it is to go.
const DISRUPTION_REASON: &str = "DisruptionReason";
/// So many of what is waited for are named.
const NAMED: usize = 5;

/// Leads a NodeClaim to its end.
pub(super) fn tend(view: &View<'_>, launches: &Launches<'_>, since: Timestamp, work: &mut Work<'_>) {
    let claim = work.claim;
    // What is not held has nothing to be done for.
    if !claim.finalizer {
        return;
    }
    let deadline = deadline(since, work);
    let Some(id) = claim.provider_id.as_deref() else {
        match launches.of(claim) {
            Some(Fate::Takes(machine)) => {
                adoption::adopt(view, work, machine);
                work.look_at_once();
            }
            Some(Fate::Goes) => release(work),
            _ => work.look_by_age(since),
        }
        return;
    };
    if view.keeper(id) != Some(&claim.name) {
        // Another NodeClaim's machine is none of its business.
        release(work);
        return;
    }
    work.look_by_age(since);
    let machine = view.machine(claim, id);
    // A Node that never registered is left to whoever made it.
    let held: Vec<&ClaimNode> =
        view.nodes_of(id).filter(|node| node.finalizer || claim.is(REGISTERED)).collect();
    let mut asked = false;
    let mut to_empty = Vec::new();
    for &node in &held {
        match clear(view, node, &machine, deadline, &mut |effect| work.effect(effect)) {
            Step::Asked => asked = true,
            Step::Lost => {}
            Step::Tainted => to_empty.push(node),
        }
    }
    if asked {
        work.look_at_once();
        return;
    }
    if !to_empty.is_empty() && !is_empty(view, &to_empty, deadline, work) {
        return;
    }
    match machine {
        Machine::Alive(_) => {
            work.effect(Effect::Terminate { provider_id: id.to_owned() });
            work.set_true(INSTANCE_TERMINATING);
        }
        Machine::Ending => work.set_true(INSTANCE_TERMINATING),
        Machine::Unknown => {}
        Machine::Ended | Machine::Absent if held.is_empty() => {
            if was_broken_young(work) {
                work.came_out(
                    StartStage::Initialization,
                    Some(("NodeUnhealthy", "its Node broke within a day")),
                );
            }
            release(work);
        }
        Machine::Ended | Machine::Absent => {
            work.set_true(INSTANCE_TERMINATING);
            for node in held {
                work.effect(Effect::ReleaseNode { node: node.name.clone(), uid: node.uid.clone() });
            }
            work.look_at_once();
        }
    }
}

/// A Node whose NodeClaim is no more: pods and volumes leave it, then it goes. Its machine, if it has one, is swept up.
pub(super) fn tend_orphan(view: &View<'_>, node: &ClaimNode, desk: &mut Desk) {
    let Some(since) = node.deleting.filter(|_| node.finalizer) else { return };
    let mut again = pace::wait(since, view.now());
    let machine = view.machine_by_id(&node.provider_id, true);
    let step = clear(view, node, &machine, None, &mut |effect| desk.effect(effect));
    let released = match step {
        Step::Asked => {
            again = SignedDuration::ZERO;
            false
        }
        Step::Lost => true,
        Step::Tainted => {
            let drain = drain(view, node, since, None);
            let over = drain.is_over() && volumes::attached(view, node).is_empty();
            drain.effects.into_iter().for_each(|effect| desk.effect(effect));
            again = drain.next.map_or(again, |next| again.min(next.duration_since(view.now())));
            over
        }
    };
    if released {
        desk.effect(Effect::ReleaseNode { node: node.name.clone(), uid: node.uid.clone() });
    } else {
        desk.care.again_nodes.insert(node.name.clone(), again);
    }
}

/// Whether it went because its Node was broken, soon after it was made: that counts as if it had never come to work.
fn was_broken_young(work: &Work<'_>) -> bool {
    let broken = |mark: &Condition| mark.reason == DisruptionReason::Unhealthy.as_str();
    work.claim.conditions.get(DISRUPTION_REASON).is_some_and(broken)
        && work.now().duration_since(work.claim.created) < YOUNG
}

fn release(work: &mut Work<'_>) {
    let claim = work.claim;
    work.effect(Effect::ReleaseNodeClaim { claim: claim.name.clone(), uid: claim.uid.clone() });
    // Nothing that is to be written about it would be read.
    work.change = claim.change();
    work.rest();
}

/// When pods are made to leave: when its grace ends, or the cloud takes the machine, whichever is first.
fn deadline(since: Timestamp, work: &mut Work<'_>) -> Option<Timestamp> {
    let claim = work.claim;
    let written = |key: &str| claim.annotations.get(key).and_then(|text| text.parse::<Timestamp>().ok());
    let granted = claim.termination_grace_period.and_then(|grace| since.checked_add(grace).ok());
    if let Some(end) = granted
        && !claim.annotations.contains_key(labels::TERMINATION_TIMESTAMP)
    {
        work.annotate(labels::TERMINATION_TIMESTAMP, &end.to_string());
        work.warn("TerminationGracePeriodExpiring", format!("all pods will be deleted by {end}"));
    }
    // What can't be read is as good as not written.
    let end = written(labels::TERMINATION_TIMESTAMP).or(granted);
    end.into_iter().chain(written(labels::INTERRUPTION_DEADLINE)).min()
}

/// How a Node stands that is to be drained.
enum Step {
    /// It was asked to go, or to take no more pods; that is to be seen first.
    Asked,
    /// It takes no more pods.
    Tainted,
    /// It is not ready and has no machine.
    Lost,
}

/// Has a Node asked to go and take no more pods.
fn clear(
    view: &View<'_>,
    node: &ClaimNode,
    machine: &Machine<'_>,
    deadline: Option<Timestamp>,
    act: &mut dyn FnMut(Effect),
) -> Step {
    let mut asked = false;
    let change = closing(node);
    if !change.is_empty() {
        act(Effect::ChangeNode(Box::new(change)));
        asked = true;
    }
    if node.deleting.is_none() {
        // Not held, it would be gone at once, and its pods with it.
        if node.finalizer {
            act(Effect::DeleteNode { node: node.name.clone(), uid: node.uid.clone() });
        }
        asked = true;
    }
    if !is_ready(node) && machine.is_gone() && node.deleting.is_some() {
        return Step::Lost;
    }
    if asked {
        return Step::Asked;
    }
    if let Some(deadline) = deadline.filter(|_| !view.pods_on(&node.name).is_empty()) {
        act(Effect::PublishEvent {
            about: ObjectRef::Node(node.name.clone()),
            kind: EventKind::Warning,
            reason: "TerminationGracePeriodExpiring".to_owned(),
            message: format!("all pods will be deleted by {deadline}"),
        });
    }
    Step::Tainted
}

/// The taint of a node that is to go.
fn disrupted() -> Taint {
    Taint { key: labels::DISRUPTED.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }
}

/// What a Node lacks of taking no more pods and traffic, and of being held.
pub(crate) fn closing(node: &ClaimNode) -> NodeChange {
    let mut change = NodeChange { finalizer: !node.finalizer && node.deleting.is_none(), ..untouched(node) };
    let disrupted = disrupted();
    if !node.taints.contains(&disrupted) {
        let others = node.taints.iter().filter(|taint| taint.key != labels::DISRUPTED).cloned();
        change.taints = Some(others.chain([disrupted]).collect());
    }
    let (key, value) = (labels::EXCLUDE_FROM_LOAD_BALANCERS, "karpenter");
    if node.labels.get(key).is_none_or(|present| present != value) {
        change.labels = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    }
    change
}

/// Empties the Nodes of one NodeClaim; whether no pods and no volumes are waited for any more.
fn is_empty(view: &View<'_>, nodes: &[&ClaimNode], deadline: Option<Timestamp>, work: &mut Work<'_>) -> bool {
    let claim = work.claim;
    let begun = claim.conditions.get(DRAINED).map_or(work.now(), |condition| condition.since);
    let mut over = true;
    for node in nodes {
        let drain = drain(view, node, begun, deadline);
        if !drain.is_over() {
            over = false;
            let names = named(drain.waiting.iter().map(|pod| pod.name.to_string()));
            tell(work, node, EventKind::Warning, "FailedDraining", format!("still there: {names}"));
        }
        if let Some(next) = drain.next {
            work.look_at(next);
        }
        drain.effects.into_iter().for_each(|effect| work.effect(effect));
    }
    if !claim.is(DRAINED) {
        let end = begun + SHORTEST_DRAIN;
        if !over || end > work.now() {
            work.set(DRAINED, ConditionStatus::Unknown, "Draining", "");
            work.look_at(end);
            return false;
        }
        work.set_true(DRAINED);
    } else if !over {
        // A pod that came in spite of all is waited for all the same.
        return false;
    }
    is_detached(view, nodes, deadline, work)
}

fn is_detached(
    view: &View<'_>,
    nodes: &[&ClaimNode],
    deadline: Option<Timestamp>,
    work: &mut Work<'_>,
) -> bool {
    let mut waiting = false;
    for node in nodes {
        let attached = volumes::attached(view, node);
        if !attached.is_empty() {
            waiting = true;
            let names = named(attached.into_iter().map(str::to_owned));
            let message = format!("still attached: {names}");
            tell(work, node, EventKind::Normal, "AwaitingVolumeDetachment", message);
        }
    }
    if !waiting {
        work.set_true(VOLUMES_DETACHED);
        return true;
    }
    match deadline {
        Some(deadline) if deadline <= work.now() => {
            work.set(VOLUMES_DETACHED, ConditionStatus::False, "TerminationGracePeriodElapsed", "");
            true
        }
        _ => {
            work.set(VOLUMES_DETACHED, ConditionStatus::Unknown, "AwaitingVolumeDetachment", "");
            if let Some(deadline) = deadline {
                work.look_at(deadline);
            }
            false
        }
    }
}

fn tell(work: &mut Work<'_>, node: &ClaimNode, kind: EventKind, reason: &str, message: String) {
    work.event(ObjectRef::Node(node.name.clone()), kind, reason, message);
}

/// The first few names and how many more there are.
fn named(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let more = names.len().saturating_sub(NAMED);
    let first = names.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first} and {more} more") }
}
