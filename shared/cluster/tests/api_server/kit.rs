//! An API server that expects requests and gives recorded answers; a watch may be fed while it is open.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use cluster::{Cause, Cluster};
use futures_util::{Stream, StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use jiff::Timestamp;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

/// An answer of the server.
pub type Answer = Response<UnsyncBoxBody<Bytes, Cause>>;

/// The time in all tests.
pub const NOW: &str = "2026-06-01T12:00:00Z";

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// One request that is expected, and its answer.
pub struct Exchange {
    request: String,
    body: Option<Value>,
    answer: Answer,
}

/// What was expected and has not come, and what has come unexpectedly.
#[derive(Default)]
struct Ledger {
    expected: Vec<Exchange>,
    unexpected: Vec<String>,
}

/// An API server.
#[derive(Clone, Default)]
pub struct Server(Arc<Mutex<Ledger>>);

impl Server {
    pub fn expecting(exchanges: impl IntoIterator<Item = Exchange>) -> Self {
        let server = Self::default();
        server.expect(exchanges);
        server
    }

    pub fn expect(&self, exchanges: impl IntoIterator<Item = Exchange>) {
        self.0.lock().unwrap().expected.extend(exchanges);
    }

    pub fn cluster(&self) -> Cluster {
        let ledger = self.0.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let ledger = ledger.clone();
            async move { Ok::<_, Cause>(answer(&ledger, request).await) }
        });
        Cluster::over(service).with_clock(now)
    }

    /// Fails unless all that was expected has come, and nothing else.
    #[track_caller]
    pub fn done(&self) {
        let ledger = self.0.lock().unwrap();
        let missing: Vec<&str> = ledger.expected.iter().map(|exchange| exchange.request.as_str()).collect();
        assert_eq!(missing, Vec::<&str>::new(), "expected, and did not come");
        assert_eq!(ledger.unexpected, Vec::<String>::new(), "came unexpectedly");
    }
}

async fn answer(ledger: &Mutex<Ledger>, request: Request<Body>) -> Answer {
    let (parts, body) = request.into_parts();
    let line = format!("{} {}", parts.method, parts.uri.path_and_query().unwrap());
    let body = body.collect().await.unwrap().to_bytes();
    let body: Option<Value> = serde_json::from_slice(&body).ok();
    let mut ledger = ledger.lock().unwrap();
    let fits = |exchange: &Exchange| {
        exchange.request == line && exchange.body.as_ref().is_none_or(|wanted| Some(wanted) == body.as_ref())
    };
    match ledger.expected.iter().position(fits) {
        Some(index) => ledger.expected.remove(index).answer,
        None => {
            let body = body.map_or_else(String::new, |body| format!(" {body}"));
            ledger.unexpected.push(format!("{line}{body}"));
            whole(599, json!({ "message": "unexpected" }).to_string())
        }
    }
}

/// A request such as `GET /api/v1/pods`, with any body, answered by a status and an object.
pub fn on(request: &str, status: u16, answer: Value) -> Exchange {
    Exchange { request: request.to_owned(), body: None, answer: whole(status, answer.to_string()) }
}

impl Exchange {
    /// Only with this body.
    pub fn with(self, body: Value) -> Self {
        Self { body: Some(body), ..self }
    }

    /// With a header in the answer.
    pub fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.answer.headers_mut().insert(name, value.parse().unwrap());
        self
    }
}

/// A watch that tells `events` and then is silent, until it is let go.
pub fn watch(request: &str, events: &[Value]) -> Exchange {
    let lines: Vec<Bytes> = events.iter().map(line).collect();
    let silent = stream::iter(lines).chain(stream::pending());
    Exchange { request: request.to_owned(), body: None, answer: streamed(silent) }
}

/// A watch that tells `events` and ends.
pub fn ended_watch(request: &str, events: &[Value]) -> Exchange {
    let lines: Vec<Bytes> = events.iter().map(line).collect();
    Exchange { request: request.to_owned(), body: None, answer: streamed(stream::iter(lines)) }
}

/// A watch that tells in pieces of this size and then is silent.
pub fn chopped_watch(request: &str, size: usize, events: &[Value]) -> Exchange {
    let text: Vec<u8> = events.iter().flat_map(|event| line(event).to_vec()).collect();
    let pieces: Vec<Bytes> = text.chunks(size).map(Bytes::copy_from_slice).collect();
    let silent = stream::iter(pieces).chain(stream::pending());
    Exchange { request: request.to_owned(), body: None, answer: streamed(silent) }
}

/// A watch that tells what it is fed.
pub fn fed_watch(request: &str, events: UnboundedReceiver<Value>) -> Exchange {
    let told = stream::unfold(events, |mut events| async move {
        let event = events.recv().await?;
        Some((line(&event), events))
    });
    Exchange { request: request.to_owned(), body: None, answer: streamed(told) }
}

/// An event of a watch.
pub fn event(kind: &str, object: Value) -> Value {
    json!({ "type": kind, "object": object })
}

/// A bookmark.
pub fn bookmark(version: &str) -> Value {
    event("BOOKMARK", json!({ "metadata": { "resourceVersion": version } }))
}

/// A page of a list.
pub fn list(version: &str, items: &[Value]) -> Value {
    json!({ "metadata": { "resourceVersion": version }, "items": items })
}

/// A refusal as the server words it.
pub fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({ "kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message })
}

fn line(event: &Value) -> Bytes {
    Bytes::from(format!("{event}\n"))
}

pub fn whole(status: u16, body: String) -> Answer {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    Response::builder().status(status).body(body).unwrap()
}

/// A watch that says nothing.
pub fn silent() -> Answer {
    streamed(stream::pending())
}

fn streamed(lines: impl Stream<Item = Bytes> + Send + 'static) -> Answer {
    Response::new(StreamBody::new(lines.map(|line| Ok(Frame::data(line)))).boxed_unsync())
}

/// A NodeClaim at rest but for what `status` says.
pub fn claim(name: &str, version: &str, rest: Value) -> Value {
    let mut claim = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "uid": format!("uid-{name}"),
            "resourceVersion": version,
            "generation": 1,
            "creationTimestamp": "2026-06-01T11:00:00Z",
            "labels": { "karpenter.sh/nodepool": "default" },
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": {
            "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
            "requirements": [],
            "expireAfter": "720h",
        },
    });
    merge(&mut claim, rest);
    claim
}

/// A Node of a pool.
pub fn node(name: &str, version: &str, rest: Value) -> Value {
    let mut node = json!({
        "metadata": {
            "name": name,
            "uid": format!("uid-{name}"),
            "resourceVersion": version,
            "labels": { "karpenter.sh/nodepool": "default", "karpenter.sh/initialized": "true" },
            "finalizers": ["karpenter.sh/termination"],
        },
        "spec": { "providerID": format!("aws:///eu-west-1a/i-{name}") },
        "status": {
            "conditions": [{ "type": "Ready", "status": "True" }],
            "allocatable": { "cpu": "4", "memory": "8Gi", "pods": "50" },
        },
    });
    merge(&mut node, rest);
    node
}

/// A pod that waits for a place, unless `rest` says otherwise.
pub fn pod(name: &str, version: &str, rest: Value) -> Value {
    let mut pod = json!({
        "metadata": { "name": name, "namespace": "default", "uid": format!("uid-{name}"), "resourceVersion": version },
        "spec": { "containers": [{
            "name": "main",
            "image": "registry.example/app:1",
            "env": [{ "name": "PASSWORD", "value": "hunter2" }],
            "resources": { "requests": { "cpu": "100m" } },
        }] },
        "status": {
            "phase": "Pending",
            "conditions": [{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable" }],
        },
    });
    merge(&mut pod, rest);
    pod
}

/// Conditions of a NodeClaim that are true, by type.
pub fn conditions(kinds: &[&str]) -> Value {
    let conditions = kinds.iter().map(|kind| {
        json!({
            "type": kind,
            "status": "True",
            "reason": kind,
            "message": "",
            "lastTransitionTime": "2026-06-01T11:05:00Z",
            "observedGeneration": 1,
        })
    });
    Value::Array(conditions.collect())
}

/// A NodeClaim whose node runs.
pub fn running(name: &str, version: &str) -> Value {
    let status = json!({
        "providerID": format!("aws:///eu-west-1a/i-{name}"),
        "nodeName": name,
        "conditions": conditions(&["Launched", "Registered", "Initialized", "Ready"]),
    });
    claim(name, version, json!({ "status": status }))
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                if value.is_null() {
                    into.remove(&key);
                } else {
                    merge(into.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (into, from) => *into = from,
    }
}
