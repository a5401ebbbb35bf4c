//! Launches of a NodePool that come to nothing: counted on the pool, and held while there is no hope.
//!
//! So many failures in a row, and no node is made for a while; then one at a time is tried, after each failure of which the
//! while is twice as long. The first node that becomes ready for work ends it, and so does a change of the pool or of its class.
//! That there was no capacity says nothing of the pool.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use model::{LaunchTrouble, Registration, RegistrationFailure, StartStage, labels};
use serde::{Deserialize, Serialize};

use crate::crd::NodePool;
use crate::registrations::generations;

/// The condition. A pool without it has had no trouble.
pub const ALLOWED: &str = "LaunchesAllowed";
/// So many failures in a row are too many, unless the pool says otherwise.
const TOO_MANY: u32 = 5;
/// Failures that are further apart have nothing to do with each other.
const APART: SignedDuration = SignedDuration::from_hours(1);
/// Launches are held for so long first.
const FIRST: SignedDuration = SignedDuration::from_mins(5);
/// And so long at most.
const LONGEST: SignedDuration = SignedDuration::from_hours(1);
/// What is kept of a failure's message.
const LONGEST_MESSAGE: usize = 300;

/// What the annotation says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Count {
    /// The generations it is about.
    of: String,
    failures: u32,
    /// When the last failed.
    last: Timestamp,
    reason: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    image: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    held: Option<Held>,
}

/// Launches are held.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Held {
    since: Timestamp,
    /// How many nodes have been tried in vain.
    tried: u32,
}

impl Held {
    fn until(self) -> Timestamp {
        let wait = 1_i32.checked_shl(self.tried).and_then(|times| FIRST.checked_mul(times));
        self.since + wait.filter(|wait| wait.is_positive()).map_or(LONGEST, |wait| wait.min(LONGEST))
    }
}

impl Count {
    fn read(pool: &NodePool) -> Option<Self> {
        let text = pool.metadata.annotations.as_ref()?.get(labels::LAUNCHES)?;
        serde_json::from_str(text).ok().filter(|count: &Self| count.of == generations(pool))
    }

    /// As a clause.
    fn cause(&self) -> String {
        let of = if self.failures == 1 { "its last launch" } else { "its last launches" };
        let many = if self.failures == 1 { String::new() } else { format!("{} in a row, ", self.failures) };
        let said = if self.message.is_empty() { String::new() } else { format!(": {}", self.message) };
        format!("for {of} came to nothing, {many}{}{said}", self.reason)
    }

    fn failed(
        &mut self,
        outcome: &Registration,
        failure: &RegistrationFailure,
        most: Option<u32>,
        now: Timestamp,
    ) {
        self.failures = self.failures.saturating_add(1);
        self.last = now;
        self.reason.clone_from(&failure.reason);
        self.message = failure.message.chars().take(LONGEST_MESSAGE).collect();
        self.image.clone_from(&outcome.image);
        match &mut self.held {
            // What was launched before says nothing new.
            Some(held) if outcome.claimed > held.since => {
                *held = Held { since: now, tried: held.tried.saturating_add(1) }
            }
            None if most.is_some_and(|most| self.failures >= most) => {
                self.held = Some(Held { since: now, tried: 0 })
            }
            _ => {}
        }
    }
}

/// After how many failures in a row the pool's launches are held; never, if it says so.
fn most(pool: &NodePool) -> Option<u32> {
    let text = pool.metadata.annotations.as_ref().and_then(|all| all.get(labels::LAUNCH_BREAKER));
    match text.map(String::as_str) {
        Some("off") => None,
        // What can't be read is as good as not written.
        Some(text) => Some(text.parse().ok().filter(|most| *most > 0).unwrap_or(TOO_MANY)),
        None => Some(TOO_MANY),
    }
}

/// The trouble that a pool has now.
pub(crate) fn trouble(pool: &NodePool) -> Option<LaunchTrouble> {
    let count = Count::read(pool)?;
    let held = count.held.filter(|_| most(pool).is_some());
    Some(LaunchTrouble { cause: count.cause(), held_until: held.map(Held::until), image: count.image })
}

/// What is to be written on a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Counted {
    /// Its annotation, or that it has none any more, if that changes.
    pub annotation: Option<Option<String>>,
    pub condition: Option<Condition>,
    /// Launches are held from now on, or for longer.
    pub warning: Option<String>,
}

/// What follows from outcomes, all of them the pool's own.
pub(crate) fn count(pool: &NodePool, outcomes: &[&Registration], now: Timestamp) -> Counted {
    let before = Count::read(pool);
    let mut count = before.clone();
    for outcome in outcomes {
        match (outcome.stage, &outcome.failure) {
            (StartStage::Initialization, None) => count = None,
            (StartStage::Capacity, _) | (_, None) => {}
            (_, Some(failure)) => {
                let known = count
                    .take()
                    .filter(|known| known.held.is_some() || now.duration_since(known.last) <= APART);
                let fresh = || Count { of: generations(pool), ..Count::default() };
                let mut known = known.unwrap_or_else(fresh);
                known.failed(outcome, failure, most(pool), now);
                count = Some(known);
            }
        }
    }
    let mut counted = Counted::default();
    let present = pool.metadata.annotations.as_ref().and_then(|all| all.get(labels::LAUNCHES));
    let text = count.as_ref().and_then(|count| serde_json::to_string(count).ok());
    if present != text.as_ref() {
        counted.annotation = Some(text);
    }
    let held = count.as_ref().and_then(|count| Some((count, count.held?)));
    let known = pool
        .condition(ALLOWED)
        .map(|known| (known.status.as_str(), known.reason.as_str(), known.message.as_str()));
    let (status, reason, message) = match held {
        Some((count, held)) => {
            let until = held.until();
            let message = format!(
                "no node is made, {}; from {until} on one at a time is tried; a change of the NodePool or its \
                EC2NodeClass lets it start anew",
                count.cause()
            );
            ("False", count.reason.clone(), message)
        }
        None if known.is_some() => ("True", ALLOWED.to_owned(), String::new()),
        None => return counted,
    };
    if known != Some((status, &reason, &message)) {
        let longer = held.is_some_and(|(_, held)| before.and_then(|before| before.held) != Some(held));
        counted.warning = longer.then(|| message.clone());
        let since = pool.condition(ALLOWED).filter(|known| known.status == status);
        counted.condition = Some(Condition {
            type_: ALLOWED.to_owned(),
            status: status.to_owned(),
            reason,
            message,
            last_transition_time: since.map_or(Time(now), |known| known.last_transition_time.clone()),
            observed_generation: pool.metadata.generation,
        });
    }
    counted
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-06-01T12:00:00Z";

    fn at(minutes: i64) -> Timestamp {
        NOW.parse::<Timestamp>().unwrap() + SignedDuration::from_mins(minutes)
    }

    fn pool(annotations: Value) -> NodePool {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": {"name": "web", "generation": 2, "annotations": annotations},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
            "status": {"nodeClassObservedGeneration": 7},
        }))
        .unwrap()
    }

    /// Of a NodeClaim made at a minute: `+` ready for work, `j` joined, `c` no capacity, `l` not launched, `r` not joined,
    /// `i` not initialized.
    fn outcome(letter: char, claimed: i64) -> Registration {
        let (stage, failed) = match letter {
            '+' => (StartStage::Initialization, false),
            'j' => (StartStage::Registration, false),
            'c' => (StartStage::Capacity, true),
            'l' => (StartStage::Launch, true),
            'r' => (StartStage::Registration, true),
            'i' => (StartStage::Initialization, true),
            other => panic!("what is {other}?"),
        };
        let failure =
            failed.then(|| RegistrationFailure { reason: "Slow".into(), message: "no Node".into() });
        Registration { claimed: at(claimed), stage, image: Some("ami-1".into()), failure }
    }

    /// Writes what follows from outcomes, and says how the pool stands: failures, minutes until which launches are held,
    /// the condition, and whether somebody is told.
    fn happen(pool: &mut NodePool, letters: &str, claimed: i64, minute: i64) -> String {
        let all: Vec<Registration> = letters.chars().map(|letter| outcome(letter, claimed)).collect();
        let counted = count(pool, &all.iter().collect::<Vec<_>>(), at(minute));
        let annotations = pool.metadata.annotations.get_or_insert_default();
        match counted.annotation {
            Some(Some(text)) => drop(annotations.insert(labels::LAUNCHES.to_owned(), text)),
            Some(None) => drop(annotations.remove(labels::LAUNCHES)),
            None => {}
        }
        let conditions = &mut pool.status.as_mut().unwrap().conditions;
        if let Some(condition) = counted.condition {
            conditions.retain(|known| known.type_ != ALLOWED);
            conditions.push(condition);
        }
        let failures = Count::read(pool).map_or(0, |count| count.failures);
        let held = trouble(pool).and_then(|trouble| trouble.held_until);
        let held =
            held.map_or_else(|| "-".to_owned(), |until| until.duration_since(at(0)).as_mins().to_string());
        let allowed = pool.condition(ALLOWED).map_or("-", |known| known.status.as_str());
        format!("{failures} {held} {allowed}{}", if counted.warning.is_some() { " told" } else { "" })
    }

    #[test]
    fn failures_in_a_row_hold_launches_and_one_success_lets_them_go() {
        for (what, breaker, steps) in [
            (
                "a success between",
                None,
                vec![("rrrr", 0, 15, "4 - -"), ("+", 0, 16, "0 - -"), ("l", 0, 20, "1 - -")],
            ),
            ("no capacity", None, vec![("cccccc", 0, 1, "0 - -")]),
            ("joining is not enough", None, vec![("rrrr", 0, 15, "4 - -"), ("ji", 0, 30, "5 35 False told")]),
            ("all kinds", None, vec![("lriri", 0, 15, "5 20 False told"), ("+", 16, 21, "0 - True")]),
            ("far apart", None, vec![("rrrr", 0, 15, "4 - -"), ("r", 60, 76, "1 - -")]),
            ("just not", None, vec![("rrrr", 0, 15, "4 - -"), ("r", 60, 75, "5 80 False told")]),
            (
                "tried in vain",
                None,
                vec![
                    ("rrrrr", 0, 15, "5 20 False told"),
                    ("r", 15, 16, "6 20 False"),
                    ("r", 20, 35, "7 45 False told"),
                    ("r", 45, 60, "8 80 False told"),
                    ("r", 80, 95, "9 135 False told"),
                    ("r", 135, 150, "10 210 False told"),
                    ("r", 210, 225, "11 285 False told"),
                    ("+", 285, 287, "0 - True"),
                    ("r", 290, 305, "1 - True"),
                ],
            ),
            ("sooner", Some("2"), vec![("rr", 0, 15, "2 20 False told")]),
            ("never", Some("off"), vec![("rrrrrrr", 0, 15, "7 - -")]),
            ("unreadable", Some("often"), vec![("rrrr", 0, 15, "4 - -"), ("r", 0, 15, "5 20 False told")]),
            ("none", Some("0"), vec![("rrrr", 0, 15, "4 - -"), ("r", 0, 15, "5 20 False told")]),
        ] {
            let mut pool = pool(breaker.map_or(json!({}), |most| json!({labels::LAUNCH_BREAKER: most})));
            for (place, (letters, claimed, minute, expected)) in steps.into_iter().enumerate() {
                assert_eq!(happen(&mut pool, letters, claimed, minute), expected, "{what}, step {place}");
            }
        }
    }

    #[test]
    fn a_change_of_the_pool_or_its_class_lets_it_start_anew() {
        let mut held = pool(json!({labels::LAUNCH_BREAKER: "1"}));
        assert_eq!(happen(&mut held, "r", 0, 15), "1 20 False told");
        let known = trouble(&held).unwrap();
        assert_eq!(known.cause, "for its last launch came to nothing, Slow: no Node");
        assert_eq!(known.image.as_deref(), Some("ami-1"));
        for change in
            [(|pool: &mut NodePool| pool.metadata.generation = Some(3)) as fn(&mut NodePool), |pool| {
                pool.status.as_mut().unwrap().node_class_observed_generation = Some(8)
            }]
        {
            let mut pool = held.clone();
            change(&mut pool);
            assert_eq!(trouble(&pool), None);
            assert_eq!(happen(&mut pool, "r", 16, 31), "1 36 False told", "counted anew");
        }
        held.metadata.annotations.as_mut().unwrap().insert(labels::LAUNCH_BREAKER.into(), "off".into());
        assert_eq!(trouble(&held).unwrap().held_until, None, "let go by hand");
        held.metadata.annotations.as_mut().unwrap().insert(labels::LAUNCHES.into(), "?".into());
        assert_eq!(trouble(&held), None, "what can't be read is nothing");
    }
}
