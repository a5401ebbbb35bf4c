//! Whether the nodes of a NodePool join, as its condition NodeRegistrationHealthy tells: by the last four that should have.
//! With it goes what [`crate::launches`] counts.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use model::{Registration, StartStage, labels};

use crate::crd::NodePool;
use crate::launches;

/// The condition. Nothing follows from it: it is for people to look at.
pub const HEALTHY: &str = "NodeRegistrationHealthy";
/// So many outcomes count.
const KEPT: usize = 4;
/// So many failures among them are too many.
const TOO_MANY: usize = 2;
const JOINED: char = '+';
const FAILED: char = '-';

/// What is to be written on a pool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noted {
    /// Its annotations that change; none takes one off.
    pub annotations: BTreeMap<&'static str, Option<String>>,
    /// All its conditions, if one changes.
    pub conditions: Option<Vec<Condition>>,
    /// What is to be told in an event of it.
    pub warning: Option<String>,
}

/// What follows from outcomes. Those of another generation of the pool, or of its class, don't count any more.
pub fn noted(pool: &NodePool, outcomes: &[Registration], now: Timestamp) -> Noted {
    let status = pool.status.clone().unwrap_or_default();
    let made = pool.metadata.creation_timestamp.as_ref().map(|made| made.0);
    let outcomes = outcomes.iter().filter(|outcome| made.is_none_or(|made| made <= outcome.claimed));
    let outcomes: Vec<&Registration> = outcomes.collect();
    let written = pool.metadata.annotations.as_ref().and_then(|all| all.get(labels::REGISTRATIONS));
    let head = format!("{}:", generations(pool));
    let known = status.conditions.iter().find(|known| known.type_ == HEALTHY);
    let mut standing = known
        .filter(|known| known.observed_generation == pool.metadata.generation)
        .map_or("Unknown", |known| known.status.as_str());
    let mut ring = match written.and_then(|written| written.strip_prefix(&head)) {
        Some(ring) => ring.to_owned(),
        None => match standing {
            "True" => JOINED.to_string(),
            "False" => FAILED.to_string().repeat(TOO_MANY),
            _ => String::new(),
        },
    };
    let mut told = None;
    for outcome in outcomes.iter().filter(|outcome| outcome.stage != StartStage::Initialization) {
        ring.push(if outcome.failure.is_none() { JOINED } else { FAILED });
        let over = ring.chars().count().saturating_sub(KEPT);
        ring = ring.chars().skip(over).collect();
        let failed = ring.chars().filter(|one| *one == FAILED).count() >= TOO_MANY;
        let (status, reason, message) = match &outcome.failure {
            None if !failed => ("True", HEALTHY, ""),
            Some(failure) if failed => ("False", failure.reason.as_str(), failure.message.as_str()),
            _ => continue,
        };
        if status != standing {
            standing = status;
            told = Some(Condition {
                type_: HEALTHY.to_owned(),
                status: status.to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                last_transition_time: Time(now),
                observed_generation: pool.metadata.generation,
            });
        }
    }
    let mut noted = Noted::default();
    let annotation = format!("{head}{ring}");
    if !ring.is_empty() && written != Some(&annotation) {
        noted.annotations.insert(labels::REGISTRATIONS, Some(annotation));
    }
    let counted = launches::count(pool, &outcomes, now);
    if let Some(annotation) = counted.annotation {
        noted.annotations.insert(labels::LAUNCHES, annotation);
    }
    noted.warning = counted.warning;
    let new: Vec<Condition> = told.into_iter().chain(counted.condition).collect();
    if !new.is_empty() {
        let stays = |known: &&Condition| !new.iter().any(|new| new.type_ == known.type_);
        noted.conditions = Some(status.conditions.iter().filter(stays).chain(&new).cloned().collect());
    }
    noted
}

/// The generations of the pool and of its class that outcomes are about.
pub(crate) fn generations(pool: &NodePool) -> String {
    let class = pool.status.as_ref().and_then(|status| status.node_class_observed_generation);
    format!("{}.{}", pool.metadata.generation.unwrap_or_default(), class.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use model::RegistrationFailure;
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-06-01T12:00:00Z";

    fn pool(written: Option<&str>, healthy: Option<(&str, i64)>) -> NodePool {
        let conditions: Vec<Value> = healthy
            .iter()
            .map(|(status, generation)| {
                json!({"type": HEALTHY, "status": status, "reason": "r", "message": "", "observedGeneration": generation,
                    "lastTransitionTime": "2026-06-01T00:00:00Z"})
            })
            .chain([json!({"type": "Ready", "status": "True", "reason": "Ready", "message": "",
                "lastTransitionTime": "2026-06-01T00:00:00Z"})])
            .collect();
        let annotations: Value =
            written.map(|written| json!({labels::REGISTRATIONS: written})).unwrap_or_default();
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": {"name": "web", "generation": 2, "creationTimestamp": "2026-06-01T00:00:00Z",
                "annotations": annotations},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
            "status": {"nodeClassObservedGeneration": 7, "conditions": conditions},
        }))
        .unwrap()
    }

    /// `+` for a node that has joined, `-` for one that has not.
    fn outcomes(letters: &str) -> Vec<Registration> {
        let failure = || RegistrationFailure { reason: "RegistrationFailed".into(), message: "late".into() };
        let one = |letter| Registration {
            claimed: NOW.parse().unwrap(),
            stage: StartStage::Registration,
            image: None,
            failure: (letter == FAILED).then(failure),
        };
        letters.chars().map(one).collect()
    }

    fn told(pool: &NodePool, letters: &str) -> (Option<String>, Option<String>) {
        let mut noted = noted(pool, &outcomes(letters), NOW.parse().unwrap());
        let healthy = noted.conditions.map(|conditions| {
            assert_eq!(conditions.len(), 2, "the others stay");
            let it = conditions.into_iter().find(|it| it.type_ == HEALTHY).unwrap();
            assert_eq!(it.observed_generation, Some(2));
            format!("{} {}", it.status, it.reason)
        });
        (noted.annotations.remove(labels::REGISTRATIONS).flatten(), healthy)
    }

    #[test]
    fn reg_08_live_04_two_failures_of_four_are_unhealthy_and_joining_heals() {
        let (good, bad) = ("True NodeRegistrationHealthy", "False RegistrationFailed");
        for (what, written, healthy, letters, annotation, condition) in [
            ("the first joins", None, Some(("Unknown", 2)), "+", Some("2.7:+"), Some(good)),
            ("one fails", Some("2.7:+"), Some(("True", 2)), "-", Some("2.7:+-"), None),
            ("two fail", Some("2.7:+-"), Some(("True", 2)), "-", Some("2.7:+--"), Some(bad)),
            ("two of nothing known", None, None, "--", Some("2.7:--"), Some(bad)),
            ("still too many", Some("2.7:--"), Some(("False", 2)), "++", Some("2.7:--++"), None),
            ("few enough", Some("2.7:--++"), Some(("False", 2)), "+", Some("2.7:-+++"), Some(good)),
            ("unhealthy already", Some("2.7:--"), Some(("False", 2)), "-", Some("2.7:---"), None),
            ("as ever", Some("2.7:++++"), Some(("True", 2)), "++", None, None),
            ("Karpenter's True", None, Some(("True", 2)), "-", Some("2.7:+-"), None),
            ("Karpenter's False", None, Some(("False", 2)), "+", Some("2.7:--+"), None),
            ("another generation", Some("1.7:--"), Some(("False", 1)), "+", Some("2.7:+"), Some(good)),
            ("another class", Some("2.6:--"), Some(("Unknown", 2)), "+", Some("2.7:+"), Some(good)),
        ] {
            let found = told(&pool(written, healthy), letters);
            let expected = (annotation.map(str::to_owned), condition.map(str::to_owned));
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn reg_09_nodes_of_a_pool_that_had_the_same_name_say_nothing() {
        let old =
            Registration { claimed: "2026-05-31T23:59:59Z".parse().unwrap(), ..outcomes("+").remove(0) };
        let pool = pool(Some("2.7:+"), Some(("Unknown", 2)));
        assert_eq!(noted(&pool, &[old], NOW.parse().unwrap()), Noted::default());
    }
}
