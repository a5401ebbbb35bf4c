//! `karpenter.sh/v1` NodePool: what nodes may be made, how many, and how they are disrupted.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Taint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fields::{self, NodeClassReference, Requirement};
use super::patterns;

/// A kind of nodes: the template they are made from, and the rules for making and disrupting them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePool {
    /// `karpenter.sh/v1`.
    pub api_version: String,
    /// `NodePool`.
    pub kind: String,
    /// Name, labels, generation and so on.
    pub metadata: ObjectMeta,
    /// What the user wants.
    pub spec: NodePoolSpec,
    /// What the controllers saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<NodePoolStatus>,
}

/// What the user wants of a pool's nodes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodePoolSpec {
    /// What each of the pool's NodeClaims is made from.
    pub template: NodeClaimTemplate,
    /// When and how fast nodes may be replaced or removed.
    #[serde(default)]
    pub disruption: Disruption,
    /// The most that the pool's nodes may have together: any resource, nodes, or
    /// journeyman.dev/usd-per-hour for their price. A pool with replicas may only limit nodes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "fields::resources")]
    pub limits: BTreeMap<String, Quantity>,
    /// Pools of higher weight are tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub weight: Option<i32>,
    /// A fixed number of nodes, whatever the pods need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i64>,
}

/// What a NodeClaim of the pool is made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeClaimTemplate {
    /// The labels and annotations that the nodes get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// The rest of the NodeClaim.
    pub spec: NodeClaimTemplateSpec,
}

/// The labels and annotations of a pool's nodes.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplateMetadata {
    /// Labels that each node gets, and that pods may select.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "fields::labels")]
    pub labels: BTreeMap<String, String>,
    /// Annotations that each node gets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// The rest of the NodeClaim that a pool's template describes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeClaimTemplateSpec {
    /// Taints of the nodes, for good.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::taints")]
    pub taints: Vec<Taint>,
    /// Taints of the nodes until something else removes them; pods need not tolerate them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::taints")]
    pub startup_taints: Vec<Taint>,
    /// What the nodes' labels must be; with labels, it narrows the instance types.
    #[schemars(schema_with = "fields::requirements")]
    pub requirements: Vec<Requirement>,
    /// The object with the cloud's side of the configuration.
    pub node_class_ref: NodeClassReference,
    /// How long a node may take to drain; without it, as long as its pods need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::DURATION))]
    pub termination_grace_period: Option<String>,
    /// How old a node may get; Never for no limit.
    #[serde(default = "fields::thirty_days")]
    #[schemars(regex(pattern = patterns::DURATION_OR_NEVER))]
    pub expire_after: String,
}

/// When and how fast a pool's nodes may be replaced or removed.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disruption {
    /// How long a node must have been free of pods coming and going; Never turns consolidation off.
    #[serde(default = "at_once")]
    #[schemars(regex(pattern = patterns::DURATION_OR_NEVER))]
    pub consolidate_after: String,
    /// Which nodes may be consolidated.
    #[serde(default)]
    pub consolidation_policy: ConsolidationPolicy,
    /// How many nodes may be disrupted at once; the tightest of those in force counts.
    #[serde(default = "one_in_ten")]
    #[schemars(length(max = 50), extend("x-kubernetes-list-type" = "atomic"))]
    pub budgets: Vec<Budget>,
}

impl Default for Disruption {
    fn default() -> Self {
        Disruption {
            consolidate_after: at_once(),
            consolidation_policy: ConsolidationPolicy::default(),
            budgets: one_in_ten(),
        }
    }
}

/// Which nodes may be consolidated.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub enum ConsolidationPolicy {
    /// Those without pods of their own.
    WhenEmpty,
    /// Those, and all whose pods fit on fewer or cheaper nodes.
    #[default]
    WhenEmptyOrUnderutilized,
    /// Those whose saving outweighs the pods that have to move.
    Balanced,
}

/// Why a node is disrupted of its controller's own will.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub enum DisruptionReason {
    /// Its pods fit on fewer or cheaper nodes.
    Underutilized,
    /// It has no pods of its own.
    Empty,
    /// It is no longer what its pool or class describes.
    Drifted,
}

/// How many of a pool's nodes may be disrupted at once, perhaps only at certain times.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// A number of nodes, or a percentage of the pool's nodes.
    #[serde(default = "ten_percent")]
    #[schemars(regex(pattern = patterns::COUNT_OR_PERCENT))]
    pub nodes: String,
    /// The reasons for disruption that it is about; without it, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50), extend("x-kubernetes-list-type" = "set"))]
    pub reasons: Option<Vec<DisruptionReason>>,
    /// When it comes into force, as a cron line in UTC; without it, always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::SCHEDULE))]
    pub schedule: Option<String>,
    /// How long it stays in force after each time of the schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::BUDGET_DURATION))]
    pub duration: Option<String>,
}

/// What the controllers saw of a pool.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodePoolStatus {
    /// What the pool's nodes have together, and how many they are.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "fields::resources")]
    pub resources: BTreeMap<String, Quantity>,
    /// How many nodes the pool has.
    #[schemars(extend("default" = 0))]
    pub nodes: i64,
    /// The generation of the node class that registrations were last counted for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_class_observed_generation: Option<i64>,
    /// Ready, ValidationSucceeded, NodeClassReady, NodeRegistrationHealthy, LaunchesAllowed, CanaryHealthy.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::conditions")]
    pub conditions: Vec<Condition>,
}

fn at_once() -> String {
    "0s".to_owned()
}

fn ten_percent() -> String {
    "10%".to_owned()
}

fn one_in_ten() -> Vec<Budget> {
    vec![Budget { nodes: ten_percent(), reasons: None, schedule: None, duration: None }]
}
