//! Pods: asked to leave, made to leave, told where to go. None is ever bound.

use http::Method;
use model::{EventKind, ObjectName, ObjectRef};
use serde_json::json;

use super::{Observed, accepted, or_gone};
use crate::client::{Ask, Cluster, JSON, MERGE};
use crate::error::Refused;

fn path(pod: &ObjectName) -> String {
    format!("/api/v1/namespaces/{}/pods/{}", pod.namespace, pod.name)
}

impl Cluster {
    /// Asks a pod to leave, by the API that minds PodDisruptionBudgets.
    pub(super) async fn evict(
        &self,
        pod: &ObjectName,
        uid: &str,
        node: &str,
        remark: Option<&str>,
    ) -> Result<Observed, Refused> {
        let what = format!("evicting {pod}");
        let remark = remark.map(|remark| format!("; {remark}")).unwrap_or_default();
        let body = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": { "namespace": pod.namespace, "name": pod.name },
            "deleteOptions": { "preconditions": { "uid": uid } },
        });
        let path = format!("{}/eviction", path(pod));
        let answer = self.ask(&Ask::write(Method::POST, &path, JSON, &body, &what)).await?;
        if !answer.status.is_success()
            && let Some(message) = answer.refusal().budget()
        {
            let said = format!("pod {pod} can't be evicted: {message}{remark}");
            self.say(&ObjectRef::Node(node.to_owned()), None, EventKind::Warning, "FailedDraining", &said)
                .await;
            return Err(Refused::Budget { pod: pod.to_string(), message });
        }
        let observed = or_gone(accepted(answer, &what))?;
        if observed == Observed::Done {
            let said = format!("evicted from node {node}, which is to go{remark}");
            self.say(&ObjectRef::Pod(pod.clone()), Some(uid), EventKind::Normal, "Evicted", &said).await;
        }
        Ok(observed)
    }

    /// Makes a pod leave.
    pub(super) async fn delete_pod(
        &self,
        pod: &ObjectName,
        uid: &str,
        grace_seconds: i64,
    ) -> Result<Observed, Refused> {
        let what = format!("deleting {pod}");
        let body = json!({
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": grace_seconds,
            "preconditions": { "uid": uid },
        });
        let observed = or_gone(self.write(Method::DELETE, &path(pod), JSON, &body, &what).await)?;
        if observed == Observed::Done {
            let said = format!("deleted with {grace_seconds} s to stop: the time of its node is up");
            self.say(&ObjectRef::Pod(pod.clone()), Some(uid), EventKind::Normal, "Disrupted", &said).await;
        }
        Ok(observed)
    }

    /// Tells kube-scheduler where a pod was planned to go.
    pub(super) async fn nominate(
        &self,
        pod: &ObjectName,
        uid: &str,
        node: &str,
    ) -> Result<Observed, Refused> {
        let what = format!("nominating {node} for {pod}");
        let body = json!({ "metadata": { "uid": uid }, "status": { "nominatedNodeName": node } });
        let path = format!("{}/status", path(pod));
        or_gone(self.write(Method::PATCH, &path, MERGE, &body, &what).await)
    }
}
