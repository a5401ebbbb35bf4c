//! One at a time: a Lease held while deciding and acting, by anybody's clock but for seconds.

use std::time::Duration;

use futures_util::future::{Either, select};
use http::Method;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::client::{Ask, Cluster, JSON};
use crate::error::ClusterError;

/// Which Lease, and for whom.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LeaseSpec {
    /// The namespace, such as `kube-system`.
    pub namespace: String,
    /// The name, such as `journeyman-provision`.
    pub name: String,
    /// Who wants it: one name for each run.
    pub holder: String,
    /// For how long it is held without being renewed.
    pub duration: Duration,
}

/// A Lease that is held.
#[derive(Clone, Debug)]
pub struct Lease {
    spec: LeaseSpec,
    version: String,
}

/// What has become of work that needs a Lease.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Leased<T> {
    /// It was done while the Lease was held.
    Done(T),
    /// It was not begun: somebody else holds the Lease.
    Held {
        /// Who.
        by: String,
    },
    /// It was broken off: the Lease was taken away.
    Lost,
}

/// What an attempt to take a Lease comes to.
enum Taken {
    Held(Lease),
    ByOther(String),
}

impl LeaseSpec {
    fn all(&self) -> String {
        format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", self.namespace)
    }

    fn path(&self) -> String {
        format!("{}/{}", self.all(), self.name)
    }

    /// The Lease as it is to be, written over `present`.
    fn body(&self, present: Option<&Value>, now: Timestamp) -> Value {
        let spec = |field: &str| present.and_then(|present| present.pointer(&format!("/spec/{field}")));
        let mine = spec("holderIdentity").and_then(Value::as_str) == Some(&self.holder);
        let transitions = spec("leaseTransitions").and_then(Value::as_i64).unwrap_or_default();
        let acquired = spec("acquireTime").filter(|_| mine).cloned().unwrap_or_else(|| micros(now).into());
        let mut body = json!({
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": { "namespace": self.namespace, "name": self.name },
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": self.duration.as_secs().max(1),
                "acquireTime": acquired,
                "renewTime": micros(now),
                "leaseTransitions": transitions + i64::from(present.is_some() && !mine),
            },
        });
        if let Some(version) = present.and_then(|present| present.pointer("/metadata/resourceVersion")) {
            body["metadata"]["resourceVersion"] = version.clone();
        }
        body
    }
}

impl Cluster {
    /// Takes a Lease; nothing if somebody else holds it.
    pub async fn acquire(&self, spec: &LeaseSpec) -> Result<Option<Lease>, ClusterError> {
        Ok(match self.take(spec).await? {
            Taken::Held(lease) => Some(lease),
            Taken::ByOther(_) => None,
        })
    }

    /// Gives a Lease back, if it still is ours.
    pub async fn release_lease(&self, lease: &Lease) -> Result<(), ClusterError> {
        let what = format!("releasing Lease {}", lease.spec.name);
        let body = json!({
            "metadata": { "resourceVersion": lease.version },
            "spec": { "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": micros(self.now()) },
        });
        let path = lease.spec.path();
        let ask = Ask::write(Method::PATCH, &path, crate::client::MERGE, &body, &what);
        let answer = self.ask(&ask).await?;
        if matches!(answer.status.as_u16(), 404 | 409) {
            return Ok(());
        }
        answer.expect(&what).map(|_| ())
    }

    /// Does `work` while holding a Lease, which is renewed as long as it takes. If the Lease is lost, the work is
    /// broken off: somebody else may be at it.
    pub async fn with_lease<T>(
        &self,
        spec: &LeaseSpec,
        work: impl Future<Output = T>,
    ) -> Result<Leased<T>, ClusterError> {
        let mut lease = match self.take(spec).await? {
            Taken::Held(lease) => lease,
            Taken::ByOther(by) => return Ok(Leased::Held { by }),
        };
        let mut work = Box::pin(work);
        let mut renewed = tokio::time::Instant::now();
        loop {
            let pause = Box::pin(tokio::time::sleep(spec.duration / 3));
            match select(work, pause).await {
                Either::Left((done, _)) => {
                    // Not worth failing for: it runs out by itself.
                    let _ = self.release_lease(&lease).await;
                    return Ok(Leased::Done(done));
                }
                Either::Right(((), unfinished)) => work = unfinished,
            }
            let renewal = Box::pin(self.take(spec));
            match select(work, renewal).await {
                Either::Left((done, renewal)) => {
                    // Where the renewal got to is not known: wait for it, to release the right version.
                    if let Ok(Taken::Held(held)) = renewal.await {
                        let _ = self.release_lease(&held).await;
                    }
                    return Ok(Leased::Done(done));
                }
                Either::Right((taken, unfinished)) => {
                    work = unfinished;
                    match taken {
                        Ok(Taken::Held(held)) => {
                            lease = held;
                            renewed = tokio::time::Instant::now();
                        }
                        Ok(Taken::ByOther(_)) => return Ok(Leased::Lost),
                        Err(_) if renewed.elapsed() >= spec.duration => return Ok(Leased::Lost),
                        Err(_) => {}
                    }
                }
            }
        }
    }

    /// Takes a Lease that is free, run out or ours already.
    async fn take(&self, spec: &LeaseSpec) -> Result<Taken, ClusterError> {
        let what = format!("taking Lease {}", spec.name);
        let now = self.now();
        let path = spec.path();
        let present: Option<Value> = self.ask(&Ask::get(&path, &what)).await?.found(&what)?;
        if let Some(by) = present.as_ref().and_then(|present| holder(present, now))
            && by != spec.holder
        {
            return Ok(Taken::ByOther(by));
        }
        let body = spec.body(present.as_ref(), now);
        let all = spec.all();
        let ask = match &present {
            None => Ask::write(Method::POST, &all, JSON, &body, &what),
            Some(_) => Ask::write(Method::PUT, &path, JSON, &body, &what),
        };
        let answer = self.ask(&ask).await?;
        if answer.status.as_u16() == 409 {
            // Somebody was faster; it may have been ourselves, with an answer that was lost.
            let present: Option<Value> = self.ask(&Ask::get(&path, &what)).await?.found(&what)?;
            let by = present.as_ref().and_then(|present| holder(present, self.now())).unwrap_or_default();
            return Ok(match present {
                Some(present) if by == spec.holder => Taken::Held(held(spec, &present)),
                _ => Taken::ByOther(by),
            });
        }
        let written: Value = answer.read(&what)?;
        Ok(Taken::Held(held(spec, &written)))
    }
}

fn held(spec: &LeaseSpec, written: &Value) -> Lease {
    let version = written.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
    Lease { spec: spec.clone(), version: version.to_owned() }
}

/// Who holds a Lease at `now`.
fn holder(present: &Value, now: Timestamp) -> Option<String> {
    let holder = present.pointer("/spec/holderIdentity").and_then(Value::as_str).unwrap_or_default();
    let renewed: Timestamp = present.pointer("/spec/renewTime").and_then(Value::as_str)?.parse().ok()?;
    let seconds = present.pointer("/spec/leaseDurationSeconds").and_then(Value::as_i64).unwrap_or_default();
    let over = now.duration_since(renewed) >= SignedDuration::from_secs(seconds);
    (!holder.is_empty() && !over).then(|| holder.to_owned())
}

fn micros(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string()
}
