//! From NodeClaims without a machine to one request for a launch group, and from what it brought to who gets what.
//!
//! Nothing is launched by a group that has machines: those are dealt out first. A group is asked for by a token, so asking
//! twice is asking once; the token changes only when a launch is known to have come to nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    Avoided, CapacityType, Claim, ClassStatus, ConditionStatus, Effect, Instance, LaunchAnswer,
    LaunchFailure, LaunchFailureKind, LaunchOrder, Offer, Requirements, Resources, StartStage, Taint,
    TaintEffect, labels,
};

use super::offers::{self, Choice};
use super::view::View;
use super::work::{Desk, Work};
use super::{LAUNCHED, adoption, expiry, launch_group, liveness};

/// What could not be had is not asked for again for so long.
pub(crate) const AVOIDED_FOR: SignedDuration = SignedDuration::from_mins(3);
/// After so long a listing shows every machine of a launch.
const SETTLED_AFTER: SignedDuration = SignedDuration::from_secs(30);
/// So often a launch is tried anew because a subnet was full.
const MAX_ATTEMPTS: u32 = 4;
/// Messages of conditions are cut here.
const LONGEST_MESSAGE: usize = 300;

/// What becomes of each NodeClaim without a machine, by name.
pub(super) struct Launches<'a>(BTreeMap<&'a str, Fate<'a>>);

/// What becomes of a NodeClaim without a machine.
#[derive(Clone)]
pub(super) enum Fate<'a> {
    /// A launch is on its way, or nobody has looked.
    Waits,
    /// A launch was asked for just now.
    Launches,
    /// This machine is its.
    Takes(&'a Instance),
    /// There is no machine, and none is on its way.
    Goes,
    /// It can't have one.
    Fails { reason: &'static str, event: &'static str, message: String },
    /// The launch failed, and is tried again.
    Retries { reason: String, message: String, attempt: Option<u32>, at_once: bool },
}

impl<'a> Launches<'a> {
    pub fn of(&self, claim: &Claim) -> Option<&Fate<'a>> {
        self.0.get(claim.name.as_str())
    }
}

/// Decides for all launch groups; what concerns no NodeClaim alone goes to the desk.
pub(super) fn decide<'a>(view: &View<'a>, desk: &mut Desk) -> Launches<'a> {
    let mut groups: BTreeMap<&str, Vec<&'a Claim>> = BTreeMap::new();
    for &claim in &view.claims {
        groups.entry(launch_group(claim)).or_default().push(claim);
    }
    let mut fates = BTreeMap::new();
    for (name, members) in groups {
        let seekers = members.iter().copied().filter(|claim| claim.provider_id.is_none() && claim.finalizer);
        let group = Group { name, seekers: seekers.collect(), members };
        if !group.seekers.is_empty() {
            for (claim, fate) in group.seekers.iter().zip(group.fates(view, desk)) {
                fates.insert(claim.name.as_str(), fate);
            }
        }
    }
    Launches(fates)
}

/// The launch of a NodeClaim that is to stay.
pub(super) fn tend(view: &View<'_>, launches: &Launches<'_>, work: &mut Work<'_>) {
    if work.claim.provider_id.is_some() {
        if !work.claim.is(LAUNCHED) {
            work.set_true(LAUNCHED);
        }
        return;
    }
    match launches.of(work.claim) {
        Some(Fate::Takes(machine)) => adoption::adopt(view, work, machine),
        Some(Fate::Fails { reason, event, message }) => {
            work.came_out(StartStage::Capacity, Some((reason, message)));
            work.delete_saying(reason, event, message.clone());
        }
        Some(Fate::Retries { reason, message, attempt, at_once }) => {
            work.set(LAUNCHED, ConditionStatus::Unknown, reason, cut(message));
            if let Some(attempt) = attempt {
                work.annotate(labels::LAUNCH_ATTEMPT, &attempt.to_string());
            }
            if *at_once {
                work.look_at_once();
            }
        }
        Some(Fate::Launches) => work.look_at_once(),
        Some(Fate::Waits | Fate::Goes) | None => {}
    }
}

/// Cut to what a condition holds.
fn cut(message: &str) -> String {
    if message.chars().count() <= LONGEST_MESSAGE {
        return message.to_owned();
    }
    message.chars().take(LONGEST_MESSAGE).chain("...".chars()).collect()
}

/// NodeClaims that are launched by one request.
struct Group<'a, 'v> {
    name: &'v str,
    /// All of them, in name order.
    members: Vec<&'a Claim>,
    /// Those that are held and have no machine; some may have been asked to go.
    seekers: Vec<&'a Claim>,
}

impl<'a> Group<'a, '_> {
    /// A fate for each seeker.
    fn fates(&self, view: &View<'a>, desk: &mut Desk) -> Vec<Fate<'a>> {
        let answer = view.snapshot.launches.get(self.name);
        if let Some(answer) = answer {
            avoid(answer, self.placement_group(view), desk);
        }
        // What was said to an earlier launch says nothing about a later one, unless it brought machines.
        let answer = answer.filter(|answer| answer.token == self.token() || !answer.machines.is_empty());
        if answer.is_none() && !view.snapshot.instances_known {
            return self.all(&Fate::Waits);
        }
        let machines = view.machines_of(self.name);
        let told = answer.map_or(0, |answer| answer.machines.len());
        if told > machines.len() {
            return self.all(&Fate::Waits);
        }
        if !machines.is_empty() {
            return self.deal(view, &machines, told > 0);
        }
        match answer {
            Some(answer) => self.living(&self.refused(answer)),
            // Somebody else has launched the group and its machines don't show yet.
            None if self.members.iter().any(|claim| claim.provider_id.is_some()) => self.all(&Fate::Waits),
            None => self.living(&self.launch(view, desk)),
        }
    }

    fn all(&self, fate: &Fate<'a>) -> Vec<Fate<'a>> {
        vec![fate.clone(); self.seekers.len()]
    }

    /// The same for all that were not asked to go; those that were can.
    fn living(&self, fate: &Fate<'a>) -> Vec<Fate<'a>> {
        let of = |claim: &&Claim| if claim.deleting.is_some() { Fate::Goes } else { fate.clone() };
        self.seekers.iter().map(of).collect()
    }

    /// Deals machines that are nobody's to those that have none, also to those that were asked to go: they end them. In
    /// the order of names and ids, so that whoever deals from the same machines deals alike; hence not before all of
    /// them can be seen.
    fn deal(&self, view: &View<'a>, machines: &[&'a Instance], told: bool) -> Vec<Fate<'a>> {
        let free = machines
            .iter()
            .copied()
            .filter(|machine| !machine.state.is_ending() && !view.is_claimed(&machine.provider_id));
        let mut free: Vec<&Instance> = free.collect();
        let newest = machines.iter().map(|machine| machine.launched).max();
        let settled = newest.is_none_or(|newest| view.now().duration_since(newest) >= SETTLED_AFTER);
        if !told && !settled && free.len() < self.seekers.len() {
            return self.all(&Fate::Waits);
        }
        let mut fates: Vec<Option<Fate<'a>>> = vec![None; self.seekers.len()];
        for (claim, fate) in self.seekers.iter().zip(&mut fates) {
            let own = free.iter().position(|machine| machine.claim.as_ref() == Some(&claim.name));
            *fate = own.map(|own| Fate::Takes(free.remove(own)));
        }
        let mut free = free.into_iter();
        let rest = self.seekers.iter().zip(fates).map(|(claim, fate)| match fate {
            Some(fate) => fate,
            None => match free.next() {
                Some(machine) => Fate::Takes(machine),
                None if claim.deleting.is_some() => Fate::Goes,
                None => no_capacity(format!(
                    "the launch of {} brought {} of {} machines",
                    self.name,
                    machines.len(),
                    self.members.len()
                )),
            },
        });
        rest.collect()
    }

    /// What follows from a launch that brought nothing.
    fn refused(&self, answer: &LaunchAnswer) -> Fate<'a> {
        use LaunchFailureKind::{Capacity, CapacityType, OtherLaunch, Rejected, Subnet, Throttled, Unknown};
        let of = |kinds: &[LaunchFailureKind]| {
            answer.failures.iter().find(|failure| kinds.contains(&failure.kind))
        };
        let next = self.attempt().saturating_add(1);
        if let Some(failure) = of(&[Rejected]).or_else(|| of(&[Throttled, Unknown])) {
            return Fate::Retries {
                reason: failure.reason.clone(),
                message: failure.message.clone(),
                attempt: answer.spent.then_some(next),
                at_once: false,
            };
        }
        if of(&[OtherLaunch]).is_some() {
            return Fate::Waits;
        }
        if let Some(failure) = of(&[Subnet]).filter(|_| next < MAX_ATTEMPTS) {
            return Fate::Retries {
                reason: failure.reason.clone(),
                message: failure.message.clone(),
                attempt: Some(next),
                at_once: true,
            };
        }
        let said: BTreeSet<&str> = answer
            .failures
            .iter()
            .filter(|failure| [Capacity, CapacityType, Subnet].contains(&failure.kind))
            .map(|failure| failure.message.as_str())
            .collect();
        let said: Vec<&str> = said.into_iter().collect();
        no_capacity(cut(&format!("the launch of {} brought no machine: {}", self.name, said.join("; "))))
    }

    /// The placement group that machines are launched into, as their types say.
    fn placement_group(&self, view: &View<'a>) -> Option<&'a str> {
        let class = &self.members.first()?.node_class.name;
        let kind = view.snapshot.types.get(class)?.first()?;
        kind.requirements.get(labels::PLACEMENT_GROUP_ID)?.single()
    }

    /// How many launches of the group have come to nothing.
    fn attempt(&self) -> u32 {
        let of = |claim: &&Claim| claim.annotations.get(labels::LAUNCH_ATTEMPT)?.parse::<u32>().ok();
        self.seekers.iter().filter_map(of).max().unwrap_or(0)
    }

    /// What the next launch is asked for by.
    fn token(&self) -> String {
        match self.attempt() {
            0 => self.name.to_owned(),
            attempt => format!("{}-{attempt}", self.name),
        }
    }

    /// Asks for the machines, if all is as it should be.
    fn launch(&self, view: &View<'a>, desk: &mut Desk) -> Fate<'a> {
        let living = || self.members.iter().filter(|claim| claim.deleting.is_none());
        let claims: Vec<&Claim> =
            self.seekers.iter().copied().filter(|claim| claim.deleting.is_none()).collect();
        let Some(&first) = claims.first() else { return Fate::Goes };
        let over =
            |claim: &Claim| liveness::is_overdue(claim, view.now()) || expiry::is_due(claim, view.now());
        // One more request by the same token would be another request; better all at once, a little later.
        if living().any(|claim| !claim.finalizer || over(claim)) {
            return Fate::Waits;
        }
        let class = &first.node_class.name;
        let retries = |reason: &str, message: String| Fate::Retries {
            reason: reason.to_owned(),
            message,
            attempt: None,
            at_once: false,
        };
        let fails = |event, message| Fate::Fails { reason: "InsufficientCapacity", event, message };
        let types = match view.snapshot.classes.get(class).map(|class| &class.status) {
            None => {
                return fails("NodeClassNotFound", format!("there is no {} {class}", first.node_class.kind));
            }
            Some(ClassStatus::Deleting) => {
                return fails("NodeClassTerminating", format!("{class} is being deleted"));
            }
            Some(ClassStatus::NotReady(why)) => {
                let (reason, message) = ("NodeClassNotReady", format!("{class} is not ready: {why}"));
                return Fate::Fails { reason, event: reason, message };
            }
            Some(ClassStatus::Unknown(why)) => {
                return retries("NodeClassReadinessUnknown", format!("whether {class} is ready: {why}"));
            }
            Some(ClassStatus::Ready) => match view.snapshot.types.get(class) {
                Some(types) => types,
                None => {
                    return retries(
                        "InstanceTypeResolutionFailed",
                        format!("the instance types of {class} are not known"),
                    );
                }
            },
        };
        let mut requirements = Requirements::new();
        let mut requests = Resources::new();
        for claim in &claims {
            requirements.add_all(&claim.requirements);
            requests.raise_to(&claim.requests);
        }
        let relaxed = first.annotations.get(labels::MIN_VALUES_RELAXED).is_some_and(|value| value == "true");
        match offers::choose(types, &requirements, &requests, relaxed) {
            Ok(choice) => {
                let order = self.order(&claims, choice, requirements, requests, relaxed);
                desk.effect(Effect::Launch(Arc::new(order)));
                Fate::Launches
            }
            Err(why) => no_capacity(why),
        }
    }

    fn order(
        &self,
        claims: &[&Claim],
        choice: Choice,
        requirements: Requirements,
        requests: Resources,
        relaxed: bool,
    ) -> LaunchOrder {
        let first = claims[0];
        let mut labels = first.labels.clone();
        labels.retain(|key, value| claims.iter().all(|claim| claim.labels.get(key) == Some(value)));
        labels.insert(labels::CAPACITY_TYPE.to_owned(), choice.capacity_type.to_string());
        let mut taints: Vec<Taint> = Vec::new();
        let unregistered = Taint {
            key: labels::UNREGISTERED.to_owned(),
            value: String::new(),
            effect: TaintEffect::NoExecute,
        };
        for taint in first.taints.iter().chain(&first.startup_taints).chain([&unregistered]) {
            if !taints.iter().any(|present| present.matches(taint)) {
                taints.push(taint.clone());
            }
        }
        LaunchOrder {
            group: self.name.to_owned(),
            token: self.token(),
            claims: claims.iter().map(|claim| claim.name.clone()).collect(),
            pool: first.pool.clone(),
            node_class: first.node_class.clone(),
            capacity_type: choice.capacity_type,
            reservation_type: choice.reservation_type,
            offers: choice.offers,
            labels,
            taints,
            requirements,
            requests,
            min_values_relaxed: relaxed,
        }
    }
}

fn no_capacity<'a>(message: String) -> Fate<'a> {
    Fate::Fails { reason: "InsufficientCapacity", event: "InsufficientCapacityError", message }
}

/// Keeps everybody from what could not be had, each thing once.
fn avoid(answer: &LaunchAnswer, group: Option<&str>, desk: &mut Desk) {
    let until = desk.now + AVOIDED_FOR;
    let avoided = answer.failures.iter().filter_map(|failure| avoided(failure, group));
    let avoided: BTreeSet<Avoided> = avoided.collect();
    for what in avoided {
        desk.effect(Effect::Avoid { what, until });
    }
}

fn avoided(failure: &LaunchFailure, group: Option<&str>) -> Option<Avoided> {
    match failure.kind {
        LaunchFailureKind::Capacity => {
            let Offer { instance_type, zone, capacity_type, reservation, .. } = failure.offer.clone()?;
            Some(match (reservation, group) {
                (Some(id), _) => Avoided::Reservation(id),
                (None, Some(group)) => {
                    let group = group.to_owned();
                    Avoided::InPlacementGroup { group, instance_type, zone, capacity_type }
                }
                (None, None) => Avoided::Offering { instance_type, zone, capacity_type },
            })
        }
        // Of no offer alone, and so told without one; the only one that an account can be without is Spot.
        LaunchFailureKind::CapacityType => Some(Avoided::CapacityType(CapacityType::Spot)),
        LaunchFailureKind::Subnet => failure.subnet.clone().map(Avoided::Subnet),
        LaunchFailureKind::Throttled
        | LaunchFailureKind::OtherLaunch
        | LaunchFailureKind::Unknown
        | LaunchFailureKind::Rejected => None,
    }
}
