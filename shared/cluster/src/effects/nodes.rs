//! Nodes: tainted and labelled, asked to go, let go.

use api::lower;
use http::Method;
use model::labels::FINALIZER;
use model::{NodeChange, Taint};
use serde_json::{Map, Value, json};

use super::claims::delete_options;
use super::{Observed, metadata_changes, text, texts};
use crate::client::{Cluster, JSON, STRATEGIC, Written};
use crate::error::Refused;

pub(super) fn path(node: &str) -> String {
    format!("/api/v1/nodes/{node}")
}

impl Cluster {
    /// Writes to a Node, if it still is as it was read.
    pub(super) async fn change_node(&self, change: &NodeChange) -> Result<Observed, Refused> {
        let what = format!("changing Node {}", change.node);
        let Some(present) = self.object(&path(&change.node), &what).await? else {
            return Err(Refused::NotFound { what });
        };
        let Some(mut patch) = patch(change, &present) else { return Ok(Observed::Already) };
        let version = text(&present, "/metadata/resourceVersion");
        if version != change.version {
            let message = format!("it was read at version {}, and is at {version}", change.version);
            return Err(Refused::Conflict { what, message });
        }
        patch["metadata"]["resourceVersion"] = version.into();
        let written = self.write(Method::PATCH, &path(&change.node), STRATEGIC, &patch, &what).await?;
        self.note(&Written::Node(written));
        Ok(Observed::Done)
    }

    /// Asks a Node to go.
    pub(super) async fn delete_node(&self, node: &str, uid: &str) -> Result<Observed, Refused> {
        let what = format!("deleting Node {node}");
        match self.write(Method::DELETE, &path(node), JSON, &delete_options(uid), &what).await {
            Ok(written) => {
                if text(&written, "/kind") == "Node" {
                    self.note(&Written::Node(written));
                }
                Ok(Observed::Done)
            }
            Err(Refused::NotFound { .. } | Refused::Conflict { .. }) => Ok(Observed::Gone),
            Err(refused) => Err(refused),
        }
    }

    /// Takes our finalizer off a Node.
    pub(super) async fn release_node(&self, node: &str, uid: &str) -> Result<Observed, Refused> {
        let what = format!("releasing Node {node}");
        let (observed, written) = self.release(&path(node), uid, FINALIZER, &what).await?;
        if let Some(written) = written {
            self.note(&Written::Node(written));
        }
        Ok(observed)
    }
}

/// What is to change, if anything is. Finalizers and owners are merged with those that are there.
fn patch(change: &NodeChange, present: &Value) -> Option<Value> {
    let mut metadata = metadata_changes(present, &change.labels, &change.labels_off, &change.annotations);
    let held = texts(present, "/metadata/finalizers").iter().any(|finalizer| finalizer == FINALIZER);
    if change.finalizer && !held {
        metadata.insert("finalizers".to_owned(), json!([FINALIZER]));
    }
    if let Some((name, uid)) = &change.owner {
        let owners = present.pointer("/metadata/ownerReferences").and_then(Value::as_array);
        if !owners.into_iter().flatten().any(|owner| text(owner, "/uid") == uid) {
            let owner = json!({
                "apiVersion": "karpenter.sh/v1",
                "kind": "NodeClaim",
                "name": name,
                "uid": uid,
                "blockOwnerDeletion": true,
            });
            metadata.insert("ownerReferences".to_owned(), json!([owner]));
        }
    }
    let mut patch = Map::new();
    if let Some(wanted) = &change.taints
        && let Some(taints) = taints(wanted, present)
    {
        patch.insert("spec".to_owned(), json!({ "taints": taints }));
    }
    if metadata.is_empty() && patch.is_empty() {
        return None;
    }
    patch.insert("metadata".to_owned(), Value::Object(metadata));
    Some(Value::Object(patch))
}

/// The taints to write if they are not there, each that stays with the time it was added.
fn taints(wanted: &[Taint], present: &Value) -> Option<Vec<Value>> {
    let there: Vec<Value> =
        present.pointer("/spec/taints").and_then(Value::as_array).cloned().unwrap_or_default();
    let key = |taint: &Value| ["/key", "/value", "/effect"].map(|field| text(taint, field).to_owned());
    let wanted =
        lower::taints(wanted).into_iter().map(|taint| serde_json::to_value(taint).unwrap_or_default());
    let taints: Vec<Value> = wanted
        .map(|taint| there.iter().find(|known| key(known) == key(&taint)).cloned().unwrap_or(taint))
        .collect();
    (taints != there).then_some(taints)
}
