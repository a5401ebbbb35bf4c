//! What is being decided: one piece of work a NodeClaim, put together in order at the end.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{
    Care, Claim, ClaimChange, Condition, ConditionStatus, Effect, EventKind, ObjectRef, Registration,
    RegistrationFailure, StartStage, readiness,
};

use super::{INITIALIZED, LAUNCHED, READY, REGISTERED, pace};

/// The conditions that `Ready` is made of.
const DEPENDENTS: [&str; 3] = [LAUNCHED, REGISTERED, INITIALIZED];

/// All that is decided in one look.
pub(super) struct Desk {
    pub now: Timestamp,
    pub care: Care,
    room_wanted: Option<String>,
    registrations: BTreeMap<String, Vec<Registration>>,
}

impl Desk {
    pub fn new(now: Timestamp) -> Self {
        Self { now, care: Care::default(), room_wanted: None, registrations: BTreeMap::new() }
    }

    /// Something that concerns no NodeClaim alone.
    pub fn effect(&mut self, effect: Effect) {
        self.care.effects.push(effect);
    }

    /// Takes over what was decided for a NodeClaim: its record first, then what is done for it.
    pub fn add(&mut self, work: Work<'_>) {
        let name = work.claim.name.clone();
        let deleted = work.deleted;
        if let (Some(outcome), Some(pool)) = (work.registration.clone(), &work.claim.pool) {
            self.registrations.entry(pool.clone()).or_default().push(outcome);
        }
        let (change, effects, again) = work.settle();
        if !change.is_empty() {
            self.effect(Effect::ChangeNodeClaim(Box::new(change)));
        }
        self.care.effects.extend(effects);
        if let Some(reason) = deleted {
            self.room_wanted.get_or_insert_with(|| format!("{name}: {reason}"));
        }
        if let Some(again) = again {
            self.care.again.insert(name, again);
        }
    }

    pub fn finish(mut self) -> Care {
        let noted = std::mem::take(&mut self.registrations).into_iter();
        let noted = noted.map(|(pool, outcomes)| Effect::NoteRegistrations { pool, outcomes });
        self.care.effects.extend(noted);
        if let Some(reason) = self.room_wanted {
            // Its pods need room elsewhere; provisioning would find out by itself, but later.
            self.care.effects.push(Effect::HintProvision { reason });
        }
        self.care
    }
}

/// What is decided for one NodeClaim.
pub(super) struct Work<'a> {
    pub claim: &'a Claim,
    pub change: ClaimChange,
    now: Timestamp,
    effects: Vec<Effect>,
    again: Option<SignedDuration>,
    deleted: Option<&'static str>,
    registration: Option<Registration>,
}

impl<'a> Work<'a> {
    pub fn new(claim: &'a Claim, now: Timestamp) -> Self {
        Self {
            claim,
            change: claim.change(),
            now,
            effects: Vec::new(),
            again: None,
            deleted: None,
            registration: None,
        }
    }

    pub fn now(&self) -> Timestamp {
        self.now
    }

    pub fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Sets a condition. A reason that changes alone leaves `since` as it is. Those that `Ready` is made of hold since the
    /// NodeClaim's creation when they are written first, so that time limits count from there.
    pub fn set(&mut self, kind: &str, status: ConditionStatus, reason: &str, message: impl Into<String>) {
        let present = self.condition(kind);
        let first = if DEPENDENTS.contains(&kind) { self.claim.created } else { self.now };
        let since =
            present.map_or(first, |present| if present.status == status { present.since } else { self.now });
        let generation = self.claim.generation;
        let condition =
            Condition { status, reason: reason.to_owned(), message: message.into(), since, generation };
        if present != Some(&condition) {
            self.change.conditions.insert(kind.to_owned(), condition);
        }
    }

    /// A condition that holds names itself as its reason.
    pub fn set_true(&mut self, kind: &str) {
        self.set(kind, ConditionStatus::True, kind, "");
    }

    /// A condition as it will be.
    fn condition(&self, kind: &str) -> Option<&Condition> {
        self.change.conditions.get(kind).or_else(|| self.claim.conditions.get(kind))
    }

    pub fn annotate(&mut self, key: &str, value: &str) {
        if self.claim.annotations.get(key).is_none_or(|present| present != value) {
            self.change.annotations.insert(key.to_owned(), value.to_owned());
        }
    }

    pub fn event(&mut self, about: ObjectRef, kind: EventKind, reason: &str, message: impl Into<String>) {
        let (reason, message) = (reason.to_owned(), message.into());
        self.effects.push(Effect::PublishEvent { about, kind, reason, message });
    }

    /// Tells whoever looks at the NodeClaim.
    pub fn warn(&mut self, reason: &str, message: impl Into<String>) {
        self.event(ObjectRef::NodeClaim(self.claim.name.clone()), EventKind::Warning, reason, message);
    }

    /// Asks for the NodeClaim to go and says why.
    pub fn delete(&mut self, reason: &'static str, message: impl Into<String>) {
        self.delete_saying(reason, reason, message);
    }

    /// The same with another word in the event.
    pub fn delete_saying(&mut self, reason: &'static str, event: &str, message: impl Into<String>) {
        if self.deleted.replace(reason).is_none() {
            self.warn(event, message);
            let claim = self.claim;
            self.effects.push(Effect::DeleteNodeClaim {
                claim: claim.name.clone(),
                uid: Some(claim.uid.clone()),
                reason: reason.to_owned(),
            });
            self.look_at_once();
        }
    }

    /// A stage of its start is done, or never will be.
    pub fn came_out(&mut self, stage: StartStage, failure: Option<(&str, &str)>) {
        let failure = failure.map(|(reason, message)| RegistrationFailure {
            reason: reason.to_owned(),
            message: message.to_owned(),
        });
        let (claimed, image) = (self.claim.created, self.claim.image.clone());
        self.registration = Some(Registration { claimed, stage, image, failure });
    }

    /// Whether the NodeClaim was just asked to go.
    pub fn is_deleted(&self) -> bool {
        self.deleted.is_some()
    }

    /// It is over: no more looks.
    pub fn rest(&mut self) {
        self.again = None;
    }

    pub fn look_at_once(&mut self) {
        self.look_in(SignedDuration::ZERO);
    }

    pub fn look_in(&mut self, wait: SignedDuration) {
        let wait = wait.max(SignedDuration::ZERO);
        self.again = Some(self.again.map_or(wait, |again| again.min(wait)));
    }

    /// Looks again at a time, if it is yet to come.
    pub fn look_at(&mut self, time: Timestamp) {
        if time > self.now {
            self.look_in(time.duration_since(self.now));
        }
    }

    /// Looks again the later, the longer it has lasted.
    pub fn look_by_age(&mut self, since: Timestamp) {
        self.look_in(pace::wait(since, self.now));
    }

    fn settle(mut self) -> (ClaimChange, Vec<Effect>, Option<SignedDuration>) {
        let claim = self.claim;
        let stale = |condition: &Condition| condition.generation != claim.generation;
        let behind = claim.deleting.is_none() && claim.conditions.values().any(stale);
        if !self.change.conditions.is_empty() || behind {
            let conditions = self.conditions();
            let written =
                |kind: &String, condition: &Condition| claim.conditions.get(kind) == Some(condition);
            self.change.conditions =
                conditions.into_iter().filter(|(kind, condition)| !written(kind, condition)).collect();
        }
        (self.change, self.effects, self.again)
    }

    /// All conditions as they will be, with `Ready`.
    fn conditions(&self) -> BTreeMap<String, Condition> {
        let claim = self.claim;
        let mut all = claim.conditions.clone();
        all.extend(self.change.conditions.clone());
        let unknown = |reason: &str| Condition {
            status: ConditionStatus::Unknown,
            reason: reason.to_owned(),
            message: String::new(),
            since: claim.created,
            generation: claim.generation,
        };
        for kind in DEPENDENTS {
            all.entry(kind.to_owned()).or_insert_with(|| unknown("AwaitingReconciliation"));
        }
        // All are brought to the present generation below.
        let (status, reason, message) = readiness(
            DEPENDENTS
                .map(|kind| (kind, all.get(kind).map_or(ConditionStatus::Unknown, |it| it.status), true)),
        );
        let ready = all.entry(READY.to_owned()).or_insert_with(|| unknown(""));
        if ready.status != status {
            ready.since = self.now;
        }
        ready.status = status;
        reason.clone_into(&mut ready.reason);
        ready.message = message;
        all.values_mut().for_each(|condition| condition.generation = claim.generation);
        all
    }
}
