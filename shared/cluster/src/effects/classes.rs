//! What NodePools and EC2NodeClasses come to, and EC2NodeClasses let go.

use api::crd::Kind;
use api::lower;
use api::registrations::{self, Noted};
use http::Method;
use model::labels::CLASS_FINALIZER;
use model::{Condition, EventKind, ObjectRef, Registration};
use serde_json::{Value, json};

use super::{Observed, anew, conditions, text};
use crate::client::{Cluster, MERGE};
use crate::error::Refused;
use crate::kinds::Served;

fn path(class: &str) -> String {
    format!("{}/{class}", Served::crd(Kind::Ec2NodeClass).path)
}

impl Cluster {
    /// Writes fields of an object's status, if it still is at `version`.
    pub async fn set_status(
        &self,
        kind: Kind,
        name: &str,
        version: &str,
        status: &Value,
    ) -> Result<Observed, Refused> {
        let what = format!("writing the status of {kind} {name}");
        let body = json!({ "metadata": { "resourceVersion": version }, "status": status });
        let path = format!("{}/{name}/status", Served::crd(kind).path);
        self.write(Method::PATCH, &path, MERGE, &body, &what).await.map(|_| Observed::Done)
    }

    /// Writes fields of an object's metadata, if it still is at `version`, and gives the version it is at now.
    pub async fn set_metadata(
        &self,
        kind: Kind,
        name: &str,
        version: &str,
        metadata: &Value,
    ) -> Result<String, Refused> {
        let what = format!("marking {kind} {name}");
        let mut metadata = metadata.clone();
        metadata["resourceVersion"] = version.into();
        let path = format!("{}/{name}", Served::crd(kind).path);
        let body = json!({ "metadata": metadata });
        let written = self.write(Method::PATCH, &path, MERGE, &body, &what).await?;
        Ok(text(&written, "/metadata/resourceVersion").to_owned())
    }

    /// Lets an EC2NodeClass vanish, if it still is the one with this uid.
    pub async fn release_node_class(&self, class: &str, uid: &str) -> Result<Observed, Refused> {
        let what = format!("releasing EC2NodeClass {class}");
        self.release(&path(class), uid, CLASS_FINALIZER, &what).await.map(|(observed, _)| observed)
    }

    /// Counts how nodes came to work on their pool; if the pool is gone, nobody asks any more.
    pub(super) async fn note_registrations(
        &self,
        pool: &str,
        outcomes: &[Registration],
    ) -> Result<Observed, Refused> {
        let what = format!("counting registrations of NodePool {pool}");
        let path = format!("{}/{pool}", Served::crd(Kind::NodePool).path);
        anew(&what, async || {
            let Some(present) = self.object(&path, &what).await? else { return Ok(Observed::Gone) };
            let read = lower::read_stored(&present)
                .map_err(|message| Refused::Invalid { what: what.clone(), message })?;
            let noted = registrations::noted(&read, outcomes, self.now());
            self.write_noted(pool, &present, noted).await
        })
        .await
    }

    /// Writes a condition of a pool, or takes it away; all others stay.
    pub(super) async fn tell_node_pool(
        &self,
        pool: &str,
        kind: &str,
        condition: Option<&Condition>,
    ) -> Result<Observed, Refused> {
        let what = format!("writing the condition {kind} of NodePool {pool}");
        let path = format!("{}/{pool}", Served::crd(Kind::NodePool).path);
        anew(&what, async || {
            let Some(present) = self.object(&path, &what).await? else { return Ok(Observed::Gone) };
            let Some(conditions) = conditions::with(kind, condition, &present) else {
                return Ok(Observed::Already);
            };
            let version = text(&present, "/metadata/resourceVersion");
            match self.set_status(Kind::NodePool, pool, version, &json!({ "conditions": conditions })).await {
                Err(Refused::NotFound { .. }) => Ok(Observed::Gone),
                other => other,
            }
        })
        .await
    }

    async fn write_noted(&self, pool: &str, present: &Value, noted: Noted) -> Result<Observed, Refused> {
        let mut version = text(present, "/metadata/resourceVersion").to_owned();
        let mut observed = Observed::Already;
        // The condition first: if the run ends there, the next outcome is counted from what it says.
        if let Some(conditions) = noted.conditions {
            let status = json!({ "conditions": conditions });
            let what = format!("writing the status of NodePool {pool}");
            let body = json!({ "metadata": { "resourceVersion": version }, "status": status });
            let path = format!("{}/{pool}/status", Served::crd(Kind::NodePool).path);
            let written = self.write(Method::PATCH, &path, MERGE, &body, &what).await?;
            version = text(&written, "/metadata/resourceVersion").to_owned();
            observed = Observed::Done;
        }
        if !noted.annotations.is_empty() {
            let metadata = json!({ "annotations": noted.annotations });
            self.set_metadata(Kind::NodePool, pool, &version, &metadata).await?;
            observed = Observed::Done;
        }
        if let Some(warning) = noted.warning {
            let uid = Some(text(present, "/metadata/uid"));
            let about = ObjectRef::NodePool(pool.to_owned());
            self.say(&about, uid, EventKind::Warning, "LaunchesHeld", &warning).await;
        }
        Ok(observed)
    }
}
