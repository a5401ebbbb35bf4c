//! What the cloud announces: a machine is about to go or is not well, so its pods get another and leave in time.
//!
//! The one fact that only an announcement carries, its deadline, is written to the NodeClaim before anything else.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    Avoided, CapacityType, Care, Claim, ClaimNode, Effect, EventKind, InterruptionSnapshot, Note, NoticeKind,
    ObjectRef, labels, machine_id,
};

use crate::lifecycle::{AVOIDED_FOR, closing};

/// A check that fails for less may pass again.
const IMPAIRED_FOR: SignedDuration = SignedDuration::from_mins(2);

/// What follows from one announcement for one machine.
struct Consequence {
    /// CamelCase, as events and metrics have it.
    reason: &'static str,
    event: &'static str,
    message: &'static str,
    kind: EventKind,
    goes: bool,
    /// When pods are made to leave.
    deadline: Option<Timestamp>,
    /// Not to be bought for a while.
    avoid: Avoid,
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Avoid {
    Nothing,
    Offering,
    Reservation,
}

/// Decides what follows from announcements. One that comes again changes nothing.
pub fn interrupt(snapshot: &InterruptionSnapshot) -> Care {
    let mut care = Care::default();
    let claims: BTreeMap<&str, &Claim> = snapshot.claims.iter().filter_map(by_machine).collect();
    let mut told: BTreeMap<&str, Vec<Consequence>> = BTreeMap::new();
    for notice in &snapshot.notices {
        for instance in &notice.instances {
            let Some((&id, &claim)) = claims.get_key_value(instance.as_str()) else {
                count(&mut care, "unknown-instance");
                let message = "no NodeClaim has this machine".to_owned();
                care.notes.push(Note { place: instance.clone(), message });
                continue;
            };
            match consequence(snapshot, &notice.kind, claim) {
                Some(consequence) => told.entry(id).or_default().push(consequence),
                None => count(&mut care, "not-yet"),
            }
        }
    }
    let mut touched = BTreeSet::new();
    let mut going = BTreeSet::new();
    for (id, mut consequences) in told {
        let claim = claims[id];
        // Whichever comes first tells the reason; those that end the machine before those that don't.
        consequences.sort_by_key(|it| (!it.goes, it.deadline.is_none(), it.deadline, it.reason));
        let nodes =
            snapshot.nodes.iter().filter(|node| Some(&node.provider_id) == claim.provider_id.as_ref());
        let mut nodes: Vec<&ClaimNode> = nodes.collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        carry_out(snapshot.now, claim, &nodes, &consequences, &mut care);
        if consequences.iter().any(|it| it.goes) {
            touched.insert(claim.name.clone());
            if claim.deleting.is_none() {
                going.insert(claim.name.clone());
            }
        }
    }
    if !touched.is_empty() {
        let claims = touched.into_iter().collect();
        let (nodes, after) = (Vec::new(), SignedDuration::ZERO);
        care.effects.push(Effect::HintLifecycle { claims, nodes, after });
    }
    if !going.is_empty() {
        let names: Vec<String> = going.into_iter().collect();
        let reason = format!("interrupted: {}", names.join(", "));
        care.effects.push(Effect::HintProvision { reason });
    }
    care.notes.sort();
    care
}

/// How many machines are given up by announcements, by the reason in CamelCase; one that has several counts for each. What
/// goes already counts no more, so a machine counts once however long it is announced.
pub fn endings(snapshot: &InterruptionSnapshot) -> BTreeMap<&'static str, usize> {
    let claims: BTreeMap<&str, &Claim> = snapshot.claims.iter().filter_map(by_machine).collect();
    let mut machines: BTreeMap<&'static str, BTreeSet<&str>> = BTreeMap::new();
    for notice in &snapshot.notices {
        for instance in &notice.instances {
            let claim = claims.get(instance.as_str()).filter(|claim| claim.deleting.is_none());
            let follows = claim.and_then(|claim| consequence(snapshot, &notice.kind, claim));
            if let Some(it) = follows.filter(|it| it.goes) {
                machines.entry(it.reason).or_default().insert(instance);
            }
        }
    }
    machines.into_iter().map(|(reason, machines)| (reason, machines.len())).collect()
}

fn by_machine(claim: &Claim) -> Option<(&str, &Claim)> {
    Some((machine_id(claim.provider_id.as_deref()?), claim))
}

fn count(care: &mut Care, what: &str) {
    *care.counts.entry(what.to_owned()).or_default() += 1;
}

fn consequence(snapshot: &InterruptionSnapshot, kind: &NoticeKind, claim: &Claim) -> Option<Consequence> {
    let goes = |reason, event, message| Consequence {
        reason,
        event,
        message,
        kind: EventKind::Warning,
        goes: true,
        deadline: None,
        avoid: Avoid::Nothing,
    };
    Some(match kind {
        NoticeKind::SpotInterruption { deadline } => Consequence {
            deadline: Some(*deadline),
            avoid: Avoid::Offering,
            ..goes("SpotInterrupted", "SpotInterrupted", "Spot capacity under it is being taken back")
        },
        NoticeKind::Rebalance => {
            let replaced = claim.pool.as_ref().is_some_and(|pool| snapshot.rebalancing_pools.contains(pool));
            let (event, message) =
                ("SpotRebalanceRecommendation", "Spot capacity under it is at a higher risk than usual");
            if replaced {
                // No deadline: the machine may well stay, so pods leave within their budgets.
                Consequence { avoid: Avoid::Offering, ..goes("RebalanceRecommendation", event, message) }
            } else {
                let kind = EventKind::Normal;
                Consequence { goes: false, kind, ..goes("RebalanceRecommendation", event, message) }
            }
        }
        NoticeKind::Stopping => goes("InstanceStopped", "InstanceStopping", "its instance is stopping"),
        NoticeKind::Terminating => {
            goes("InstanceTerminated", "InstanceTerminating", "its instance is terminating")
        }
        NoticeKind::ScheduledChange { starts } => Consequence {
            deadline: *starts,
            ..goes("ScheduledChange", "InstanceUnhealthy", "maintenance of its instance is scheduled")
        },
        NoticeKind::Impaired { host, since } => {
            if snapshot.now.duration_since(*since) < IMPAIRED_FOR {
                return None;
            }
            let (reason, message) = if *host {
                ("SystemStatus", "the host under its instance fails its checks")
            } else {
                ("InstanceStatus", "its instance fails its checks")
            };
            // Its kubelet may not answer, and a budget would hold its pods for ever. The time is the check's, so that
            // it is the same whenever it is told again.
            Consequence {
                deadline: Some(*since + IMPAIRED_FOR),
                ..goes(reason, "InstanceUnhealthy", message)
            }
        }
        NoticeKind::ReservationInterruption { deadline } => Consequence {
            deadline: *deadline,
            avoid: Avoid::Reservation,
            ..goes(
                "CapacityReservationInterrupted",
                "CapacityReservationInstanceInterrupted",
                "reserved capacity under it is being taken back",
            )
        },
    })
}

fn carry_out(
    now: Timestamp,
    claim: &Claim,
    nodes: &[&ClaimNode],
    consequences: &[Consequence],
    care: &mut Care,
) {
    let deadline = consequences.iter().filter_map(|it| it.deadline).min();
    let written = claim.annotations.get(labels::INTERRUPTION_DEADLINE);
    let written = written.and_then(|text| text.parse::<Timestamp>().ok());
    if let Some(deadline) = deadline.filter(|new| written.is_none_or(|written| *new < written)) {
        let mut change = claim.change();
        // It must get through, whoever else is writing.
        change.version = None;
        change.annotations.insert(labels::INTERRUPTION_DEADLINE.to_owned(), deadline.to_string());
        care.effects.push(Effect::ChangeNodeClaim(Box::new(change)));
    }
    if claim.deleting.is_some() {
        count(care, "already-deleting");
        return;
    }
    let about = |care: &mut Care, kind, reason: &str, message: &str| {
        let claim = std::iter::once(ObjectRef::NodeClaim(claim.name.clone()));
        let nodes = nodes.iter().map(|node| ObjectRef::Node(node.name.clone()));
        for about in claim.chain(nodes) {
            let (reason, message) = (reason.to_owned(), message.to_owned());
            care.effects.push(Effect::PublishEvent { about, kind, reason, message });
        }
    };
    let mut said = BTreeSet::new();
    for it in consequences {
        if said.insert(it.event) {
            about(care, it.kind, it.event, it.message);
        }
    }
    let Some(first) = consequences.iter().find(|it| it.goes) else { return };
    for what in avoided(claim, consequences) {
        care.effects.push(Effect::Avoid { what, until: now + AVOIDED_FOR });
    }
    for node in nodes.iter().filter(|node| node.deleting.is_none()) {
        let change = closing(node);
        if !change.is_empty() {
            care.effects.push(Effect::ChangeNode(Box::new(change)));
        }
    }
    care.effects.push(Effect::DeleteNodeClaim {
        claim: claim.name.clone(),
        uid: Some(claim.uid.clone()),
        reason: first.reason.to_owned(),
    });
    about(
        care,
        EventKind::Warning,
        "TerminatingOnInterruption",
        "it goes because of what the cloud announced",
    );
}

/// What is not to be bought for a while, by what the NodeClaim says of its machine.
fn avoided(claim: &Claim, consequences: &[Consequence]) -> BTreeSet<Avoided> {
    let label = |key: &str| claim.labels.get(key).cloned();
    let mut all = BTreeSet::new();
    for it in consequences {
        let what = match it.avoid {
            Avoid::Nothing => None,
            Avoid::Reservation => label(labels::RESERVATION_ID).map(Avoided::Reservation),
            Avoid::Offering => {
                label(labels::INSTANCE_TYPE).zip(label(labels::ZONE)).map(|(instance_type, zone)| {
                    Avoided::Offering { instance_type, zone, capacity_type: CapacityType::Spot }
                })
            }
        };
        all.extend(what);
    }
    all
}

#[cfg(test)]
mod tests;
