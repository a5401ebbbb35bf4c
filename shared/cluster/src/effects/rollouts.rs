//! Deployments: restarted, where a pod asks for a successor before it leaves. Nothing else of them is touched.

use http::Method;
use model::labels::RESTARTED_AT;
use model::{EventKind, ObjectName, ObjectRef, RestartOrder};
use serde_json::{Value, json};

use super::claims::seconds;
use super::{Observed, anew, text};
use crate::client::{Cluster, MERGE};
use crate::error::Refused;

/// Where a Deployment is found.
pub(crate) fn path(deployment: &ObjectName) -> String {
    format!("/apis/apps/v1/namespaces/{}/deployments/{}", deployment.namespace, deployment.name)
}

impl Cluster {
    /// Has a Deployment make its pods anew, as `kubectl rollout restart` does, unless somebody has meanwhile.
    pub(super) async fn restart_rollout(&self, order: &RestartOrder) -> Result<Observed, Refused> {
        let RestartOrder { deployment, node, .. } = order;
        let what = format!("restarting Deployment {deployment}");
        let outcome = anew(&what, async || self.restart_once(order, &what).await).await;
        let (kind, reason, said) = match &outcome {
            Ok(Observed::Done) => (
                EventKind::Normal,
                "SurgeStarted",
                format!(
                    "Deployment {} is restarted: node {node} is to go, and a successor is to be Ready first",
                    deployment.name
                ),
            ),
            Err(Refused::Forbidden { message, .. } | Refused::Invalid { message, .. }) => (
                EventKind::Warning,
                "SurgeFailed",
                format!("Deployment {} can't be restarted: {message}", deployment.name),
            ),
            _ => return outcome,
        };
        let pod = ObjectRef::Pod(ObjectName::new(&deployment.namespace, &order.pod));
        self.say(&pod, Some(&order.pod_uid), kind, reason, &said).await;
        outcome
    }

    async fn restart_once(&self, order: &RestartOrder, what: &str) -> Result<Observed, Refused> {
        let path = path(&order.deployment);
        let Some(present) = self.object(&path, what).await? else { return Ok(Observed::Gone) };
        if text(&present, "/metadata/uid") != order.uid {
            return Ok(Observed::Gone);
        }
        let annotations = present.pointer("/spec/template/metadata/annotations");
        let restarted = annotations.and_then(|all| all.get(RESTARTED_AT)).and_then(Value::as_str);
        if restarted != order.restarted.as_deref() {
            return Ok(Observed::Already);
        }
        let body = json!({
            "metadata": { "resourceVersion": text(&present, "/metadata/resourceVersion") },
            "spec": { "template": { "metadata": { "annotations": { RESTARTED_AT: seconds(order.at) } } } },
        });
        match self.write(Method::PATCH, &path, MERGE, &body, what).await {
            Err(Refused::NotFound { .. }) => Ok(Observed::Gone),
            other => other.map(|_| Observed::Done),
        }
    }
}
