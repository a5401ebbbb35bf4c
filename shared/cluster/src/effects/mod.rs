//! Effects on the API server, each with its precondition, each as good done twice as once.

mod claims;
mod classes;
mod conditions;
mod events;
mod marks;
mod nodes;
mod pods;
pub(crate) mod rollouts;

use std::collections::{BTreeMap, BTreeSet};

use http::{Method, StatusCode};
use jiff::Timestamp;
use model::Effect;
use serde_json::{Map, Value};

use crate::client::{Answer, Ask, Cluster};
use crate::error::{ClusterError, Refused};

/// How often a change is made anew when somebody else wrote in between.
const ATTEMPTS: usize = 3;

/// What has become of an effect.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Observed {
    /// It is done.
    Done,
    /// It was so before.
    Already,
    /// What it was to happen to isn't there any more, which is as good.
    Gone,
}

/// What a process remembers of its effects, only to save requests.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// When an event was last published, by its name.
    events: BTreeMap<String, Timestamp>,
    /// Uids of NodePools, and since when they are known.
    pools: BTreeMap<String, (String, Timestamp)>,
}

impl Cluster {
    /// Carries out an effect. What becomes of a pod that is to leave is also said where people look for it: as an event
    /// of the pod or, if a budget holds it, of its Node.
    pub async fn act(&self, effect: &Effect) -> Result<Observed, Refused> {
        match effect {
            Effect::CreateNodeClaim(draft) => self.create_claim(draft).await,
            Effect::DeleteNodeClaim { claim, uid, .. } => self.delete_claim(claim, uid.as_deref()).await,
            Effect::MarkDisrupted(order) => self.mark_disrupted(order).await,
            Effect::UnmarkDisrupted { claim, uid, node } => {
                self.unmark_disrupted(claim, uid.as_deref(), node.as_deref()).await
            }
            Effect::ChangeNodeClaim(change) => self.change_claim(change).await,
            Effect::ReleaseNodeClaim { claim, uid } => self.release_claim(claim, uid).await,
            Effect::ChangeNode(change) => self.change_node(change).await,
            Effect::DeleteNode { node, uid } => self.delete_node(node, uid).await,
            Effect::ReleaseNode { node, uid } => self.release_node(node, uid).await,
            Effect::EvictPod { pod, uid, node, remark } => {
                self.evict(pod, uid, node, remark.as_deref()).await
            }
            Effect::RestartRollout(order) => self.restart_rollout(order).await,
            Effect::DeletePod { pod, uid, grace_seconds } => self.delete_pod(pod, uid, *grace_seconds).await,
            Effect::NoteRegistrations { pool, outcomes } => self.note_registrations(pool, outcomes).await,
            Effect::TellNodePool { pool, kind, condition } => {
                self.tell_node_pool(pool, kind, condition.as_ref()).await
            }
            Effect::NominateNode { pod, uid, node } => self.nominate(pod, uid, node).await,
            Effect::PublishEvent { about, kind, reason, message } => {
                self.publish(about, None, *kind, reason, message).await
            }
            Effect::Launch(_)
            | Effect::Terminate { .. }
            | Effect::TagInstance { .. }
            | Effect::Avoid { .. }
            | Effect::ForgetLaunchTemplates { .. }
            | Effect::ReleaseNodeClass { .. }
            | Effect::HintLifecycle { .. }
            | Effect::HintProvision { .. } => Err(Refused::NotMine),
        }
    }

    /// Whether an effect is one on the API server.
    pub fn is_mine(effect: &Effect) -> bool {
        !matches!(
            effect,
            Effect::Launch(_)
                | Effect::Terminate { .. }
                | Effect::TagInstance { .. }
                | Effect::Avoid { .. }
                | Effect::ForgetLaunchTemplates { .. }
                | Effect::ReleaseNodeClass { .. }
                | Effect::HintLifecycle { .. }
                | Effect::HintProvision { .. }
        )
    }

    /// Writes, and gives what the server has now.
    async fn write(
        &self,
        method: Method,
        path: &str,
        kind: &'static str,
        body: &Value,
        what: &str,
    ) -> Result<Value, Refused> {
        let answer = self.ask(&Ask::write(method, path, kind, body, what)).await?;
        accepted(answer, what)
    }

    /// Reads an object.
    async fn object(&self, path: &str, what: &str) -> Result<Option<Value>, Refused> {
        let answer = self.ask(&Ask::get(path, what)).await?;
        match accepted(answer, what) {
            Ok(value) => Ok(Some(value)),
            Err(Refused::NotFound { .. }) => Ok(None),
            Err(refused) => Err(refused),
        }
    }
}

/// The object in an answer, or why there is none.
fn accepted(answer: Answer, what: &str) -> Result<Value, Refused> {
    if answer.status.is_success() {
        return answer.read(what).map_err(Refused::Failed);
    }
    let what = what.to_owned();
    let message = answer.refusal().message;
    // Of the parts of an object only its status says so in this way.
    let namesake = message.contains("metadata.uid: Invalid value");
    Err(match answer.status {
        StatusCode::UNPROCESSABLE_ENTITY if namesake => Refused::Conflict { what, message },
        StatusCode::NOT_FOUND => Refused::NotFound { what },
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => Refused::Conflict { what, message },
        StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => Refused::Invalid { what, message },
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Refused::Forbidden { what, message },
        status => Refused::Failed(ClusterError::Answer { what, status: status.as_u16(), message }),
    })
}

/// Done; or the object that was meant is gone: there is none, or there is a namesake.
fn or_gone(outcome: Result<Value, Refused>) -> Result<Observed, Refused> {
    match outcome {
        Ok(_) => Ok(Observed::Done),
        Err(Refused::NotFound { .. } | Refused::Conflict { .. }) => Ok(Observed::Gone),
        Err(refused) => Err(refused),
    }
}

/// A text in an object.
fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Texts in an object's list.
fn texts(object: &Value, pointer: &str) -> Vec<String> {
    let list = object.pointer(pointer).and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Entries of `wanted` that `object` has not, or has otherwise.
fn missing(object: &Value, pointer: &str, wanted: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let has = object.pointer(pointer).and_then(Value::as_object);
    let differs = |key: &str, value: &str| {
        has.and_then(|has| has.get(key)).and_then(Value::as_str).is_none_or(|has| has != value)
    };
    let wanted = wanted.iter().filter(|(key, value)| differs(key, value));
    wanted.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// What of an object's metadata is to change of its labels and annotations; in a merge, null takes one away.
fn metadata_changes(
    object: &Value,
    labels: &BTreeMap<String, String>,
    labels_off: &BTreeSet<String>,
    annotations: &BTreeMap<String, String>,
) -> Map<String, Value> {
    let none = BTreeSet::new();
    let mut metadata = Map::new();
    for (field, wanted, off) in [("labels", labels, labels_off), ("annotations", annotations, &none)] {
        let pointer = format!("/metadata/{field}");
        let set = missing(object, &pointer, wanted).into_iter().map(|(key, value)| (key, value.into()));
        let has = object.pointer(&pointer).and_then(Value::as_object);
        let present = off.iter().filter(|key| has.is_some_and(|has| has.contains_key(*key)));
        let changed: Map<String, Value> = set.chain(present.map(|key| (key.clone(), Value::Null))).collect();
        if !changed.is_empty() {
            metadata.insert(field.to_owned(), Value::Object(changed));
        }
    }
    metadata
}

/// Makes a change anew, from reading on, while somebody else writes in between.
async fn anew<T>(what: &str, mut once: impl AsyncFnMut() -> Result<T, Refused>) -> Result<T, Refused> {
    let mut refused = String::new();
    for _ in 0..ATTEMPTS {
        match once().await {
            Err(Refused::Conflict { message, .. }) => refused = message,
            other => return other,
        }
    }
    Err(Refused::Conflict { what: what.to_owned(), message: refused })
}
