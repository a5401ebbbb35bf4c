//! What NodePools and EC2NodeClasses come to, and EC2NodeClasses let go.

use api::crd::Kind;
use http::Method;
use model::labels::CLASS_FINALIZER;
use serde_json::{Value, json};

use super::{Observed, text};
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
}
