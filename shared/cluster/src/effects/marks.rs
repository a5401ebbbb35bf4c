//! NodeClaims and Nodes that are to go: marked, and let off.

use http::Method;
use model::labels::{DISRUPTED, DISRUPTED_SINCE, REPLACED_BY};
use model::{ClaimChange, Condition, ConditionStatus, MarkOrder};
use serde_json::{Value, json};

use super::claims::{path as claim_path, seconds};
use super::nodes::path as node_path;
use super::{Observed, anew, text};
use crate::client::{Cluster, MERGE, STRATEGIC, Written};
use crate::error::Refused;

const CONDITION: &str = "DisruptionReason";

impl Cluster {
    /// Taints the Node, then writes to the NodeClaim why and for what it goes. One that is going already is left alone.
    pub(super) async fn mark_disrupted(&self, order: &MarkOrder) -> Result<Observed, Refused> {
        let what = format!("marking NodeClaim {}", order.claim);
        let Some(present) = self.staying_claim(&order.claim, order.uid.as_deref(), &what).await? else {
            return Ok(Observed::Gone);
        };
        let tainted = match &order.node {
            Some(node) => self.set_taint(node, true, &what).await?,
            None => Observed::Already,
        };
        let condition = Condition {
            status: ConditionStatus::True,
            reason: order.reason.as_str().to_owned(),
            message: String::new(),
            since: order.since,
            generation: present.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default(),
        };
        let annotations =
            [(REPLACED_BY, order.replaced_by.join(",")), (DISRUPTED_SINCE, seconds(order.since))];
        // A mark that stands keeps its time: it tells when to give up waiting.
        let stands = text(&present, &annotation(REPLACED_BY)) == annotations[0].1
            && !text(&present, &annotation(DISRUPTED_SINCE)).is_empty();
        let annotations = annotations.into_iter().filter(|_| !stands);
        let change = ClaimChange {
            claim: order.claim.clone(),
            version: Some(text(&present, "/metadata/resourceVersion").to_owned()),
            annotations: annotations.map(|(key, value)| (key.to_owned(), value)).collect(),
            conditions: [(CONDITION.to_owned(), condition)].into(),
            ..ClaimChange::default()
        };
        let written = self.change_claim(&change).await?;
        Ok(if tainted == Observed::Done { tainted } else { written })
    }

    /// Takes taint, annotations and condition off. What is going by now stays marked.
    pub(super) async fn unmark_disrupted(
        &self,
        claim: &str,
        uid: Option<&str>,
        node: Option<&str>,
    ) -> Result<Observed, Refused> {
        let what = format!("letting NodeClaim {claim} off");
        let Some(mut present) = self.staying_claim(claim, uid, &what).await? else {
            return Ok(Observed::Gone);
        };
        let mut observed = match node {
            Some(node) => self.set_taint(node, false, &what).await?,
            None => Observed::Already,
        };
        let conditions = present.pointer("/status/conditions").and_then(Value::as_array).cloned();
        let mut conditions = conditions.unwrap_or_default();
        let before = conditions.len();
        conditions.retain(|condition| text(condition, "/type") != CONDITION);
        if conditions.len() < before {
            let version = text(&present, "/metadata/resourceVersion");
            let body =
                json!({ "metadata": { "resourceVersion": version }, "status": { "conditions": conditions } });
            let path = format!("{}/status", claim_path(claim));
            present = self.write(Method::PATCH, &path, MERGE, &body, &what).await?;
            observed = Observed::Done;
        }
        // Last, since they are what makes the next run finish this one.
        let marked = [REPLACED_BY, DISRUPTED_SINCE].map(|key| present.pointer(&annotation(key)).is_some());
        if marked.contains(&true) {
            let version = text(&present, "/metadata/resourceVersion");
            let body = json!({ "metadata": {
                "resourceVersion": version,
                "annotations": { REPLACED_BY: null, DISRUPTED_SINCE: null },
            } });
            present = self.write(Method::PATCH, &claim_path(claim), MERGE, &body, &what).await?;
            observed = Observed::Done;
        }
        self.note(&Written::Claim(present));
        Ok(observed)
    }

    /// The NodeClaim, if it is the one that is meant and isn't going.
    async fn staying_claim(
        &self,
        claim: &str,
        uid: Option<&str>,
        what: &str,
    ) -> Result<Option<Value>, Refused> {
        let present = self.object(&claim_path(claim), what).await?;
        Ok(present.filter(|present| {
            uid.is_none_or(|uid| text(present, "/metadata/uid") == uid)
                && present.pointer("/metadata/deletionTimestamp").is_none()
        }))
    }

    async fn set_taint(&self, node: &str, wanted: bool, what: &str) -> Result<Observed, Refused> {
        anew(what, async || {
            let Some(present) = self.object(&node_path(node), what).await? else { return Ok(Observed::Gone) };
            let taints = present.pointer("/spec/taints").and_then(Value::as_array).cloned();
            let mut taints = taints.unwrap_or_default();
            let ours = |taint: &Value| text(taint, "/key") == DISRUPTED;
            if taints.iter().any(ours) == wanted {
                return Ok(Observed::Already);
            }
            if wanted {
                taints.push(json!({ "key": DISRUPTED, "effect": "NoSchedule" }));
            } else {
                taints.retain(|taint| !ours(taint));
            }
            let version = text(&present, "/metadata/resourceVersion");
            let body = json!({ "metadata": { "resourceVersion": version }, "spec": { "taints": taints } });
            match self.write(Method::PATCH, &node_path(node), STRATEGIC, &body, what).await {
                Ok(written) => {
                    self.note(&Written::Node(written));
                    Ok(Observed::Done)
                }
                Err(Refused::NotFound { .. }) => Ok(Observed::Gone),
                Err(refused) => Err(refused),
            }
        })
        .await
    }
}

/// Where an annotation stands in an object.
fn annotation(key: &str) -> String {
    format!("/metadata/annotations/{}", key.replace('/', "~1"))
}
