//! Conditions of NodeClaims, by the rules that their readers rely on: a time that only moves with the status, a
//! generation, and the root `Ready` that sums them up.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{ClaimChange, Condition, ConditionStatus, readiness};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::claims::seconds;
use super::text;

/// What `Ready` sums up.
const DEPENDENTS: [&str; 3] = ["Launched", "Registered", "Initialized"];
const ROOT: &str = "Ready";

#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Written {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    last_transition_time: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
}

impl Written {
    fn new(kind: &str, wanted: &Condition, known: Option<&Self>) -> Self {
        let status = wanted.status.as_str();
        let since = known.filter(|known| known.status == status);
        let since = since.map_or_else(|| seconds(wanted.since), |known| known.last_transition_time.clone());
        Self {
            r#type: kind.to_owned(),
            status: status.to_owned(),
            reason: wanted.reason.clone(),
            message: wanted.message.clone(),
            last_transition_time: since,
            observed_generation: Some(wanted.generation),
        }
    }
}

/// All conditions of an object with one written, or taken away, if that changes them. The others stay as they are.
pub(super) fn with(kind: &str, wanted: Option<&Condition>, present: &Value) -> Option<Vec<Value>> {
    let all = present.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_it = |known: &Value| text(known, "/type") == kind;
    let old = all.iter().find(|known| is_it(known));
    let known = old.and_then(|old| serde_json::from_value(old.clone()).ok());
    let new = wanted.map(|wanted| Written::new(kind, wanted, known.as_ref()));
    let new = new.and_then(|new| serde_json::to_value(new).ok());
    if old == new.as_ref() {
        return None;
    }
    Some(all.into_iter().filter(|known| !is_it(known)).chain(new).collect())
}

/// All conditions of a NodeClaim with the changes made, if any are.
pub(super) fn changed(change: &ClaimChange, present: &Value) -> Option<Value> {
    if change.conditions.is_empty() && change.off.is_empty() {
        return None;
    }
    let number = |pointer: &str| present.pointer(pointer).and_then(Value::as_i64);
    let text = |pointer: &str| present.pointer(pointer).and_then(Value::as_str);
    let generation = number("/metadata/generation").unwrap_or_default();
    let created = text("/metadata/creationTimestamp").unwrap_or_default();
    let before: Vec<Written> = present
        .pointer("/status/conditions")
        .and_then(|written| serde_json::from_value(written.clone()).ok())
        .unwrap_or_default();
    let mut all: BTreeMap<String, Written> =
        before.iter().map(|written| (written.r#type.clone(), written.clone())).collect();
    all.retain(|kind, _| !change.off.contains(kind));
    for kind in DEPENDENTS {
        all.entry(kind.to_owned()).or_insert_with(|| Written {
            r#type: kind.to_owned(),
            status: "Unknown".to_owned(),
            reason: "AwaitingReconciliation".to_owned(),
            message: "object is awaiting reconciliation".to_owned(),
            last_transition_time: created.to_owned(),
            observed_generation: Some(generation),
        });
    }
    for (kind, wanted) in &change.conditions {
        let written = Written::new(kind, wanted, all.get(kind));
        all.insert(kind.clone(), written);
    }
    if present.pointer("/metadata/deletionTimestamp").is_some() {
        all.values_mut().for_each(|written| written.observed_generation = Some(generation));
    }
    if !change.conditions.contains_key(ROOT) {
        let latest = change.conditions.values().map(|condition| condition.since).max();
        let ready = root(&all, generation, latest.unwrap_or_default());
        all.insert(ROOT.to_owned(), ready);
    }
    let mut after: Vec<Written> = all.into_values().collect();
    after.sort_by(|one, two| {
        let rank = |written: &Written| (written.r#type == ROOT, written.last_transition_time.clone());
        rank(one).cmp(&rank(two))
    });
    let sorted = |mut list: Vec<Written>| {
        list.sort_by(|one, two| one.r#type.cmp(&two.r#type));
        list
    };
    if sorted(before) == sorted(after.clone()) {
        return None;
    }
    serde_json::to_value(after).ok()
}

/// What the dependents come to.
fn root(all: &BTreeMap<String, Written>, generation: i64, now: Timestamp) -> Written {
    let dependents = DEPENDENTS.iter().filter_map(|kind| all.get(*kind)).map(|written| {
        let current = written.observed_generation == Some(generation);
        (written.r#type.as_str(), ConditionStatus::from_name(&written.status), current)
    });
    let (status, reason, message) = readiness(dependents);
    let status = status.as_str();
    let known = all.get(ROOT).filter(|known| known.status == status);
    Written {
        r#type: ROOT.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message,
        last_transition_time: known.map_or_else(|| seconds(now), |known| known.last_transition_time.clone()),
        observed_generation: Some(generation),
    }
}
