//! NodeClaims: written, changed, asked to go, let go.

use api::crd::Kind;
use api::lower;
use http::Method;
use jiff::{SignedDuration, Timestamp};
use model::labels::FINALIZER;
use model::{ClaimChange, NodeClaimDraft};
use serde_json::{Map, Value, json};

use super::{Observed, accepted, anew, conditions, metadata_changes, missing, text, texts};
use crate::client::{Ask, Cluster, JSON, MERGE, Written};
use crate::error::Refused;
use crate::kinds::Served;

/// For how long a pool's uid is taken to be known.
const POOL_UID: SignedDuration = SignedDuration::from_secs(10);

pub(super) fn path(claim: &str) -> String {
    format!("{}/{claim}", Served::crd(Kind::NodeClaim).path)
}

impl Cluster {
    /// Writes a NodeClaim. One of that name that says the same is the same one.
    pub(super) async fn create_claim(&self, draft: &NodeClaimDraft) -> Result<Observed, Refused> {
        let what = format!("creating NodeClaim {}", draft.name);
        let uid = self.pool_uid(&draft.pool, &what).await?;
        let claim = lower::node_claim(draft);
        let mut body = serde_json::to_value(&claim).unwrap_or_default();
        body["metadata"]["ownerReferences"] = json!([{
            "apiVersion": Kind::NodePool.api_version(),
            "kind": Kind::NodePool.name(),
            "name": draft.pool,
            "uid": uid,
            "blockOwnerDeletion": true,
        }]);
        let all = Served::crd(Kind::NodeClaim).path;
        match self.write(Method::POST, &all, JSON, &body, &what).await {
            Ok(written) => {
                self.note(&Written::Claim(written));
                Ok(Observed::Done)
            }
            Err(Refused::Conflict { message, .. }) => {
                let Some(present) = self.object(&path(&draft.name), &what).await? else {
                    return Err(Refused::Conflict { what, message });
                };
                let same = same_intent(&present, &body);
                let going = present.pointer("/metadata/deletionTimestamp").is_some();
                if same && !going {
                    self.note(&Written::Claim(present));
                    return Ok(Observed::Already);
                }
                let message =
                    if going { "one of that name is going" } else { "one of that name says otherwise" };
                Err(Refused::Conflict { what, message: message.to_owned() })
            }
            Err(refused) => Err(refused),
        }
    }

    async fn pool_uid(&self, pool: &str, what: &str) -> Result<String, Refused> {
        let now = self.now();
        if let Some((uid, at)) = self.memory().pools.get(pool)
            && now.duration_since(*at) < POOL_UID
        {
            return Ok(uid.clone());
        }
        let path = format!("{}/{pool}", Served::crd(Kind::NodePool).path);
        let object = accepted(self.ask(&Ask::metadata(&path, what)).await?, what);
        let object = object.map_err(|refused| match refused {
            Refused::NotFound { .. } => Refused::NotFound { what: format!("{what}: NodePool {pool}") },
            other => other,
        })?;
        if object.pointer("/metadata/deletionTimestamp").is_some() {
            let message = format!("NodePool {pool} is being deleted");
            return Err(Refused::Conflict { what: what.to_owned(), message });
        }
        let uid = text(&object, "/metadata/uid").to_owned();
        self.memory().pools.insert(pool.to_owned(), (uid.clone(), now));
        Ok(uid)
    }

    /// Asks a NodeClaim to go.
    pub(super) async fn delete_claim(&self, claim: &str, uid: Option<&str>) -> Result<Observed, Refused> {
        let what = format!("deleting NodeClaim {claim}");
        let uid = match uid {
            Some(uid) => uid.to_owned(),
            None => match self.object(&path(claim), &what).await? {
                None => return Ok(Observed::Gone),
                Some(present) if present.pointer("/metadata/deletionTimestamp").is_some() => {
                    return Ok(Observed::Already);
                }
                Some(present) => text(&present, "/metadata/uid").to_owned(),
            },
        };
        let body = delete_options(&uid);
        match self.write(Method::DELETE, &path(claim), JSON, &body, &what).await {
            Ok(written) => {
                if text(&written, "/kind") == Kind::NodeClaim.name() {
                    self.note(&Written::Claim(written));
                }
                Ok(Observed::Done)
            }
            Err(Refused::NotFound { .. } | Refused::Conflict { .. }) => Ok(Observed::Gone),
            Err(refused) => Err(refused),
        }
    }

    /// Writes what has become of a NodeClaim: its metadata first, then its status.
    pub(super) async fn change_claim(&self, change: &ClaimChange) -> Result<Observed, Refused> {
        let what = format!("changing NodeClaim {}", change.claim);
        let once = async || {
            let Some(present) = self.object(&path(&change.claim), &what).await? else {
                return Err(Refused::NotFound { what: what.clone() });
            };
            let version = text(&present, "/metadata/resourceVersion");
            if let Some(read) = change.version.as_deref().filter(|read| *read != version) {
                let message = format!("it was read at version {read}, and is at {version}");
                return Err(Refused::Conflict { what: what.clone(), message });
            }
            self.change_present_claim(change, present, &what).await
        };
        match change.version {
            Some(_) => once().await,
            // Bound to no version: what is to be set is still to be set.
            None => anew(&what, once).await,
        }
    }

    async fn change_present_claim(
        &self,
        change: &ClaimChange,
        mut present: Value,
        what: &str,
    ) -> Result<Observed, Refused> {
        let mut observed = Observed::Already;
        if let Some(metadata) = metadata_patch(change, &present) {
            let body = json!({ "metadata": metadata });
            present = self.write(Method::PATCH, &path(&change.claim), MERGE, &body, what).await?;
            observed = Observed::Done;
        }
        if let Some(status) = status_patch(change, &present) {
            let version = text(&present, "/metadata/resourceVersion");
            let body = json!({ "metadata": { "resourceVersion": version }, "status": status });
            let path = format!("{}/status", path(&change.claim));
            present = self.write(Method::PATCH, &path, MERGE, &body, what).await?;
            observed = Observed::Done;
        }
        self.note(&Written::Claim(present));
        Ok(observed)
    }

    /// Takes our finalizer off a NodeClaim.
    pub(super) async fn release_claim(&self, claim: &str, uid: &str) -> Result<Observed, Refused> {
        let what = format!("releasing NodeClaim {claim}");
        let (observed, written) = self.release(&path(claim), uid, FINALIZER, &what).await?;
        if let Some(written) = written {
            self.note(&Written::Claim(written));
        }
        Ok(observed)
    }

    /// Takes a finalizer off an object, and leaves those of others.
    pub(super) async fn release(
        &self,
        path: &str,
        uid: &str,
        finalizer: &str,
        what: &str,
    ) -> Result<(Observed, Option<Value>), Refused> {
        anew(what, async || {
            let Some(present) = self.object(path, what).await? else { return Ok((Observed::Gone, None)) };
            if text(&present, "/metadata/uid") != uid {
                return Ok((Observed::Gone, None));
            }
            let mut finalizers = texts(&present, "/metadata/finalizers");
            let before = finalizers.len();
            finalizers.retain(|other| other != finalizer);
            if finalizers.len() == before {
                return Ok((Observed::Already, None));
            }
            let version = text(&present, "/metadata/resourceVersion");
            let body =
                json!({ "metadata": { "uid": uid, "resourceVersion": version, "finalizers": finalizers } });
            match self.write(Method::PATCH, path, MERGE, &body, what).await {
                Ok(written) => {
                    // The last finalizer of an object that is going: it is gone.
                    let going = written.pointer("/metadata/deletionTimestamp").is_some();
                    let gone = going && finalizers.is_empty();
                    Ok((Observed::Done, (!gone).then_some(written)))
                }
                Err(Refused::NotFound { .. }) => Ok((Observed::Gone, None)),
                Err(refused) => Err(refused),
            }
        })
        .await
    }
}

/// Delete only the object with this uid.
pub(super) fn delete_options(uid: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid } })
}

/// Whether two NodeClaims ask for the same, however they are spelt.
fn same_intent(present: &Value, wanted: &Value) -> bool {
    let read = |value: &Value| lower::read_stored(value).and_then(|claim| lower::claim(&claim)).ok();
    let (Some(present), Some(wanted)) = (read(present), read(wanted)) else { return false };
    present.pool == wanted.pool
        && present.node_class == wanted.node_class
        && present.launch_group == wanted.launch_group
        && present.requirements == wanted.requirements
        && present.requests == wanted.requests
        && present.taints == wanted.taints
        && present.startup_taints == wanted.startup_taints
        && present.expire_after == wanted.expire_after
        && present.termination_grace_period == wanted.termination_grace_period
}

/// What of the metadata is to change; the list of finalizers is bound to the version it was read at.
fn metadata_patch(change: &ClaimChange, present: &Value) -> Option<Value> {
    let mut metadata = metadata_changes(present, &change.labels, &change.labels_off, &change.annotations);
    let mut finalizers = texts(present, "/metadata/finalizers");
    let holds = !change.finalizer || finalizers.iter().any(|finalizer| finalizer == FINALIZER);
    if !holds {
        finalizers.push(FINALIZER.to_owned());
        metadata.insert("finalizers".to_owned(), json!(finalizers));
    }
    if metadata.is_empty() {
        return None;
    }
    if !holds || change.version.is_some() {
        let version = text(present, "/metadata/resourceVersion");
        metadata.insert("resourceVersion".to_owned(), version.into());
    }
    Some(Value::Object(metadata))
}

/// What of the status is to change.
fn status_patch(change: &ClaimChange, present: &Value) -> Option<Value> {
    let mut status = Map::new();
    let texts = [("providerID", &change.provider_id), ("imageID", &change.image), ("nodeName", &change.node)];
    for (field, wanted) in texts {
        if let Some(wanted) =
            wanted.as_ref().filter(|wanted| text(present, &format!("/status/{field}")) != **wanted)
        {
            status.insert(field.to_owned(), wanted.clone().into());
        }
    }
    let event =
        change.pod_event.map(seconds).filter(|event| text(present, "/status/lastPodEventTime") != event);
    if let Some(event) = event {
        status.insert("lastPodEventTime".to_owned(), event.into());
    }
    for (field, wanted) in [("capacity", &change.capacity), ("allocatable", &change.allocatable)] {
        let wanted = lower::resources(wanted).into_iter().map(|(name, amount)| (name, amount.0)).collect();
        let missing = missing(present, &format!("/status/{field}"), &wanted);
        if !missing.is_empty() {
            status.insert(field.to_owned(), json!(missing));
        }
    }
    if let Some(conditions) = conditions::changed(change, present) {
        status.insert("conditions".to_owned(), conditions);
    }
    (!status.is_empty()).then_some(Value::Object(status))
}

/// Now, as objects have it.
pub(super) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
