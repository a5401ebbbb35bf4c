//! `karpenter.sh/v1` NodeClaim: one node, from the wish for it to its end.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{self, NodeClassReference, Requirement};
use super::patterns;

/// One node: what it must be, and how far it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeClaim {
    /// `karpenter.sh/v1`.
    pub api_version: String,
    /// `NodeClaim`.
    pub kind: String,
    /// Name, labels, generation and so on.
    pub metadata: ObjectMeta,
    /// What the node must be; it can't be changed.
    pub spec: NodeClaimSpec,
    /// How far the node has come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<NodeClaimStatus>,
}

/// What a node must be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeClaimSpec {
    /// Taints of the node, for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::taints")]
    pub taints: Vec<Taint>,
    /// Taints of the node until something else removes them; pods need not tolerate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::taints")]
    pub startup_taints: Vec<Taint>,
    /// What the node's labels must be.
    #[schemars(schema_with = "fields::requirements")]
    pub requirements: Vec<Requirement>,
    /// What the node must have room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resources: Option<ResourceRequests>,
    /// The object with the cloud's side of the configuration.
    pub node_class_ref: NodeClassReference,
    /// How long the node may take to drain; without it, as long as its pods need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::DURATION))]
    pub termination_grace_period: Option<String>,
    /// How old the node may get; Never for no limit.
    #[serde(default = "fields::thirty_days")]
    #[schemars(regex(pattern = patterns::DURATION_OR_NEVER))]
    pub expire_after: String,
}

/// What a node must have room for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRequests {
    /// The least that the node must offer: its first pods and the daemons.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "fields::resources")]
    pub requests: BTreeMap<String, Quantity>,
}

/// How far a node has come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeClaimStatus {
    /// The Node's name, once registered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_name: Option<String>,
    /// The cloud's id of the machine.
    #[serde(rename = "providerID", skip_serializing_if = "Option::is_none")]
    pub provider_id: Option<String>,
    /// The id of the image the machine was started from.
    #[serde(rename = "imageID", skip_serializing_if = "Option::is_none")]
    pub image_id: Option<String>,
    /// What the machine has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "fields::resources")]
    pub capacity: BTreeMap<String, Quantity>,
    /// What of it pods can use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "fields::resources")]
    pub allocatable: BTreeMap<String, Quantity>,
    /// When a pod last came to, ended on or began to leave the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "fields::time")]
    pub last_pod_event_time: Option<Time>,
    /// Ready, Launched, Registered, Initialized and what befalls the node later.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::conditions")]
    pub conditions: Vec<Condition>,
}
