//! Statuses; and EC2NodeClasses, held until nothing uses them.

use api::crd::Kind;
use http::Method;
use serde_json::{Value, json};

use super::{Observed, text, texts};
use crate::client::{Cluster, MERGE};
use crate::error::Refused;
use crate::kinds::Served;

/// Holds an EC2NodeClass until nothing uses it.
const FINALIZER: &str = "karpenter.k8s.aws/termination";

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

    /// Holds an EC2NodeClass, if it still is the one with this uid.
    pub async fn hold_node_class(&self, class: &str, uid: &str) -> Result<Observed, Refused> {
        let what = format!("holding EC2NodeClass {class}");
        let Some(present) = self.object(&path(class), &what).await? else { return Ok(Observed::Gone) };
        if text(&present, "/metadata/uid") != uid {
            return Ok(Observed::Gone);
        }
        let mut finalizers = texts(&present, "/metadata/finalizers");
        if finalizers.iter().any(|finalizer| finalizer == FINALIZER) {
            return Ok(Observed::Already);
        }
        finalizers.push(FINALIZER.to_owned());
        let version = text(&present, "/metadata/resourceVersion");
        let body = json!({ "metadata": { "resourceVersion": version, "finalizers": finalizers } });
        self.write(Method::PATCH, &path(class), MERGE, &body, &what).await.map(|_| Observed::Done)
    }

    /// Lets an EC2NodeClass vanish, if it still is the one with this uid.
    pub async fn release_node_class(&self, class: &str, uid: &str) -> Result<Observed, Refused> {
        let what = format!("releasing EC2NodeClass {class}");
        self.release(&path(class), uid, FINALIZER, &what).await.map(|(observed, _)| observed)
    }
}
