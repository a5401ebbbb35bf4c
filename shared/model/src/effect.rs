//! The closed list of changes to the world.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use serde::{Deserialize, Serialize};

use crate::cluster::NodeClassRef;
use crate::pod::ObjectName;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::taint::Taint;

/// One change to the world, so complete that carrying it out leaves nothing to choose.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "camelCase")]
pub enum Effect {
    /// Write the intent to have a node. Its name follows from its contents, so that writing it twice is writing it once.
    CreateNodeClaim(Arc<NodeClaimDraft>),
    /// Ask for a NodeClaim to be deleted, if it still is at rest.
    DeleteNodeClaim {
        /// The NodeClaim.
        claim: String,
        /// Why, in the words of events.
        reason: String,
    },
    /// Tell whoever looks at an object.
    PublishEvent {
        /// What it is about.
        about: ObjectRef,
        /// Normal or Warning.
        kind: EventKind,
        /// CamelCase reason.
        reason: String,
        /// A sentence.
        message: String,
    },
}

/// What an event is about.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ObjectRef {
    /// A pod.
    Pod(ObjectName),
    /// A NodePool.
    NodePool(String),
    /// A NodeClaim.
    NodeClaim(String),
}

/// An event's type.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum EventKind {
    /// For the record.
    Normal,
    /// Somebody should look.
    Warning,
}

/// A NodeClaim to write.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeClaimDraft {
    /// Pool name and a hash.
    pub name: String,
    /// The pool, also its owner.
    pub pool: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Taints.
    pub taints: Vec<Taint>,
    /// Startup taints.
    pub startup_taints: Vec<Taint>,
    /// The class.
    pub node_class: NodeClassRef,
    /// What the instance must be, with the types to choose from. Shared by nodes that are alike.
    pub requirements: Arc<Requirements>,
    /// What pods and daemons on it ask.
    pub requests: Resources,
    /// A node's greatest age.
    pub expire_after: Option<SignedDuration>,
    /// How long a drain may take.
    pub termination_grace_period: Option<SignedDuration>,
}
