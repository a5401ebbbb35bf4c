//! Events: one object for all times that the same is said of the same thing, with a count.

use api::crd::Kind;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use model::{EventKind, Fnv1a, ObjectRef};
use serde_json::{Value, json};

use super::claims::seconds;
use super::{Observed, accepted, text};
use crate::client::{Ask, Cluster, JSON, MERGE};
use crate::error::Refused;
use crate::kinds::Served;

/// Who says it, by the name that those who listen for it know.
const SOURCE: &str = "karpenter";
/// Who really says it.
const INSTANCE: &str = "journeyman";
/// The longest message the API server takes.
const LONGEST: usize = 1024;
/// How many events are remembered at most; the server remembers the rest.
const REMEMBERED: usize = 5000;

/// For how long the same is not said again.
fn silence(reason: &str) -> SignedDuration {
    match reason {
        "FailedScheduling" => SignedDuration::from_mins(5),
        "Unconsolidatable" | "NodeRepairBlocked" => SignedDuration::from_mins(15),
        _ => SignedDuration::from_mins(2),
    }
}

/// What an event is about, as it is found and as it is named.
struct Subject {
    api_version: &'static str,
    kind: &'static str,
    /// Empty for what is not in a namespace.
    namespace: String,
    name: String,
    path: String,
}

impl Subject {
    fn new(about: &ObjectRef) -> Self {
        let own = |kind: Kind, name: &String| Self {
            api_version: kind.api_version(),
            kind: kind.name(),
            namespace: String::new(),
            name: name.clone(),
            path: format!("{}/{name}", Served::crd(kind).path),
        };
        match about {
            ObjectRef::Pod(pod) => Self {
                api_version: "v1",
                kind: "Pod",
                namespace: pod.namespace.clone(),
                name: pod.name.clone(),
                path: format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name),
            },
            ObjectRef::Node(node) => Self {
                api_version: "v1",
                kind: "Node",
                namespace: String::new(),
                name: node.clone(),
                path: super::nodes::path(node),
            },
            ObjectRef::NodePool(name) => own(Kind::NodePool, name),
            ObjectRef::NodeClaim(name) => own(Kind::NodeClaim, name),
            ObjectRef::NodeClass(name) => own(Kind::Ec2NodeClass, name),
        }
    }
}

impl Cluster {
    /// Publishes an event beside an effect. The effect does not depend on it.
    pub(super) async fn say(
        &self,
        about: &ObjectRef,
        uid: Option<&str>,
        kind: EventKind,
        reason: &str,
        message: &str,
    ) {
        let _ = self.publish(about, uid, kind, reason, message).await;
    }

    /// Says something about an object, unless the same was said of it just now.
    pub(super) async fn publish(
        &self,
        about: &ObjectRef,
        uid: Option<&str>,
        kind: EventKind,
        reason: &str,
        message: &str,
    ) -> Result<Observed, Refused> {
        let subject = Subject::new(about);
        let what = format!("publishing {reason} about {} {}", subject.kind, subject.name);
        let now = self.now();
        let message = shortened(message);
        let name = event_name(&subject, reason, message);
        let namespace = if subject.namespace.is_empty() { "default" } else { &subject.namespace };
        let all = format!("/api/v1/namespaces/{namespace}/events");
        let key = format!("{namespace}/{name}");
        let recent = |at: &Timestamp| now.duration_since(*at) < silence(reason);
        if self.memory().events.get(&key).is_some_and(recent) {
            return Ok(Observed::Already);
        }
        // `kubectl describe` finds events by the object's uid.
        let uid = match uid {
            Some(uid) => uid.to_owned(),
            None => match accepted(self.ask(&Ask::metadata(&subject.path, &what)).await?, &what) {
                Err(Refused::NotFound { .. }) => return Ok(Observed::Gone),
                other => text(&other?, "/metadata/uid").to_owned(),
            },
        };
        let time = seconds(now);
        let body = json!({
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": { "namespace": namespace, "name": name },
            "involvedObject": {
                "apiVersion": subject.api_version,
                "kind": subject.kind,
                "namespace": subject.namespace,
                "name": subject.name,
                "uid": uid,
            },
            "type": format!("{kind:?}"),
            "reason": reason,
            "message": message,
            "source": { "component": SOURCE },
            "reportingComponent": SOURCE,
            "reportingInstance": INSTANCE,
            "firstTimestamp": time,
            "lastTimestamp": time,
            "count": 1,
        });
        let observed = match self.write(Method::POST, &all, JSON, &body, &what).await {
            Ok(_) => Observed::Done,
            Err(Refused::Conflict { .. }) => {
                self.say_again(&format!("{all}/{name}"), now, silence(reason), &what).await?
            }
            Err(refused) => return Err(refused),
        };
        let mut memory = self.memory();
        memory.events.insert(key, now);
        if memory.events.len() > REMEMBERED {
            memory.events.retain(|_, at| now.duration_since(*at) < SignedDuration::from_mins(15));
        }
        Ok(observed)
    }

    async fn say_again(
        &self,
        path: &str,
        now: Timestamp,
        silence: SignedDuration,
        what: &str,
    ) -> Result<Observed, Refused> {
        let Some(present) = self.object(path, what).await? else { return Ok(Observed::Gone) };
        let last: Option<Timestamp> = text(&present, "/lastTimestamp").parse().ok();
        if last.is_some_and(|last| now.duration_since(last) < silence) {
            return Ok(Observed::Already);
        }
        let count = present.pointer("/count").and_then(Value::as_i64).unwrap_or(1);
        let body = json!({ "count": count.saturating_add(1), "lastTimestamp": seconds(now) });
        match self.write(Method::PATCH, path, MERGE, &body, what).await {
            Err(Refused::NotFound { .. }) => Ok(Observed::Gone),
            other => other.map(|_| Observed::Done),
        }
    }
}

fn shortened(message: &str) -> &str {
    let mut end = message.len().min(LONGEST);
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    &message[..end]
}

/// The same for the same reason and message about the same object.
fn event_name(subject: &Subject, reason: &str, message: &str) -> String {
    let mut hash = Fnv1a::default();
    for part in [subject.kind, subject.namespace.as_str(), subject.name.as_str(), reason, message] {
        hash.write(part.bytes().chain([0]));
    }
    // A name has room for 253 characters.
    let name = &subject.name[..subject.name.len().min(200)];
    format!("{}.{:016x}", name.trim_end_matches(['.', '-']), hash.value())
}
