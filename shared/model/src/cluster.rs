//! Nodes, pools and daemons as they are now.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::disruption::{ClassFacts, NodeFacts, PodDisruptionBudget};
use crate::effect::ConditionStatus;
use crate::labels;
use crate::money::MicroUsd;
use crate::pod::{ObjectName, Pod, PodSpec};
use crate::requirement::Requirement;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::taint::Taint;

/// All that was seen in one cluster.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Cluster {
    /// NodePools, in any order.
    pub pools: Vec<NodePool>,
    /// Nodes and NodeClaims, merged: one entry an instance.
    pub nodes: Vec<Node>,
    /// Pods, bound and pending.
    pub pods: Vec<Pod>,
    /// DaemonSets.
    pub daemon_sets: Vec<DaemonSet>,
    /// PodDisruptionBudgets.
    #[serde(default)]
    pub pdbs: Vec<PodDisruptionBudget>,
    /// What nodes may drift from, by class.
    #[serde(default)]
    pub classes: BTreeMap<String, ClassFacts>,
}

/// A node, or a NodeClaim on its way to being one.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Node {
    /// The Node's name once registered, the NodeClaim's before.
    pub name: String,
    /// The NodeClaim, if it is ours.
    pub claim: Option<String>,
    /// `aws:///zone/id`, once launched.
    pub provider_id: Option<String>,
    /// Labels: the NodeClaim's until registered, then the Node's.
    pub labels: BTreeMap<String, String>,
    /// Taints that count now: known ephemeral and startup taints are already left out until initialized.
    pub taints: Vec<Taint>,
    /// What the instance has.
    pub capacity: Resources,
    /// What pods can have.
    pub allocatable: Resources,
    /// It has joined the cluster (always true for nodes that aren't ours).
    pub registered: bool,
    /// It is ready for work (always true for nodes that aren't ours).
    pub initialized: bool,
    /// A Node object exists.
    pub has_node: bool,
    /// It is going away.
    pub deleting: bool,
    /// When it was created.
    pub created: Timestamp,
    /// When a pod last came or went, or it was initialized, if known.
    pub last_pod_event: Option<Timestamp>,
    /// Its annotation `karpenter.sh/do-not-disrupt` is `true`.
    pub do_not_disrupt: bool,
    /// CSI driver to how many volumes can be attached.
    pub volume_limits: BTreeMap<String, u32>,
    /// What bears on whether it may go.
    #[serde(default)]
    pub disruption: NodeFacts,
}

impl Node {
    /// Whether it is on its way out: asked to go, or to go once its replacements are ready.
    pub fn is_going(&self) -> bool {
        self.deleting || !self.replaced_by().is_empty()
    }

    /// The NodeClaims that are to take over from it.
    pub fn replaced_by(&self) -> &[String] {
        self.disruption.mark.as_ref().map_or(&[], |mark| &mark.replaced_by)
    }

    /// The pool it belongs to.
    pub fn pool(&self) -> Option<&str> {
        self.labels.get(labels::NODEPOOL).map(String::as_str)
    }

    /// Whether it was made for the pool, and not just given its label.
    pub fn is_of(&self, pool: &NodePool) -> bool {
        self.claim.is_some() && self.pool() == Some(&pool.name)
    }

    /// Its hostname label, else its name.
    pub fn hostname(&self) -> &str {
        self.labels.get(labels::HOSTNAME).map_or(&self.name, String::as_str)
    }

    /// The value of `key`; hostname falls back to the name.
    pub fn domain(&self, key: &str) -> Option<&str> {
        if key == labels::HOSTNAME { Some(self.hostname()) } else { self.labels.get(key).map(String::as_str) }
    }
}

/// The EC2NodeClass a pool builds on.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct NodeClassRef {
    /// API group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: String,
}

impl NodeClassRef {
    /// The label that nodes of this class carry.
    pub fn label(&self) -> String {
        format!("{}/{}", self.group, self.kind.to_lowercase())
    }
}

/// Whether a pool can be used.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub enum PoolStatus {
    /// It can.
    #[default]
    Ready,
    /// It can't, because.
    NotReady(String),
}

/// A NodePool.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct NodePool {
    /// Its name.
    pub name: String,
    /// Tried first if higher.
    pub weight: u32,
    /// `spec.template.spec.requirements`.
    pub requirements: Requirements,
    /// Labels its nodes get.
    pub labels: BTreeMap<String, String>,
    /// Annotations its nodes get.
    pub annotations: BTreeMap<String, String>,
    /// Taints its nodes have.
    pub taints: Vec<Taint>,
    /// Taints its nodes start with and that something else removes.
    pub startup_taints: Vec<Taint>,
    /// The class its nodes are built from.
    pub node_class: NodeClassRef,
    /// The most its nodes may hold together, with `nodes` for their number.
    pub limits: Resources,
    /// The most its nodes may cost together.
    pub price_limit: Option<MicroUsd>,
    /// Whether it can be used.
    pub status: PoolStatus,
    /// A fixed number of nodes, whatever the pods ask.
    pub replicas: Option<u32>,
    /// It is being deleted.
    pub deleting: bool,
    /// A node's greatest age.
    pub expire_after: Option<SignedDuration>,
    /// How long a drain may take.
    pub termination_grace_period: Option<SignedDuration>,
    /// When and how fast nodes may be given up.
    pub disruption: Disruption,
    /// Hashes of what its NodeClaims are made from, by the version of how each was made.
    #[serde(default)]
    pub hashes: BTreeMap<String, String>,
    /// Its last nodes have not come to work.
    #[serde(default)]
    pub trouble: Option<LaunchTrouble>,
    /// How many types must be cheaper before one Spot node replaces another, if not as many as usual.
    #[serde(default)]
    pub spot_flexibility: Option<usize>,
    /// How long a node with a new image is to do well before others are replaced for it.
    #[serde(default)]
    pub canary_soak: Option<SignedDuration>,
    /// What its condition CanaryHealthy says: status and message.
    #[serde(default)]
    pub canary: Option<(ConditionStatus, String)>,
    /// Its generation.
    #[serde(default)]
    pub generation: i64,
}

/// Launches of a pool that came to nothing, with no success since.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchTrouble {
    /// How many, and what became of the last, as a clause.
    pub cause: String,
    /// The image of the last.
    pub image: Option<String>,
    /// They were too many: until then no node is made, from then on one at a time.
    pub held_until: Option<Timestamp>,
}

impl NodePool {
    /// Why and until when its launches are held, if they are.
    pub fn hold(&self) -> Option<(&str, Timestamp)> {
        let trouble = self.trouble.as_ref()?;
        Some((&trouble.cause, trouble.held_until?))
    }

    /// What every node of the pool satisfies: requirements, labels, pool and class.
    pub fn node_requirements(&self) -> Requirements {
        let mut requirements = self.requirements.clone();
        requirements.add_all(&Requirements::from_labels(&self.labels));
        requirements.add(labels::NODEPOOL, Requirement::is_in([self.name.as_str()]));
        requirements.add(&self.node_class.label(), Requirement::is_in([self.node_class.name.as_str()]));
        requirements
    }
}

/// `spec.disruption` of a pool.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Disruption {
    /// What counts as worth consolidating.
    pub policy: ConsolidationPolicy,
    /// How long a node must be left alone first; none means never.
    pub consolidate_after: Option<SignedDuration>,
    /// How many nodes may go at once.
    pub budgets: Vec<Budget>,
}

/// `spec.disruption.consolidationPolicy`.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum ConsolidationPolicy {
    /// Only nodes without pods.
    WhenEmpty,
    /// Any node that can be spared or had cheaper.
    #[default]
    WhenEmptyOrUnderutilized,
    /// Saving weighed against the pods moved.
    Balanced,
}

/// Why a node may be disrupted, in the words of budgets.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum BudgetReason {
    /// No pods.
    Empty,
    /// Too few or too dear.
    Underutilized,
    /// No longer as specified.
    Drifted,
}

/// A limit on nodes disrupted at once.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    /// A number, or a percentage as `10%`.
    pub nodes: String,
    /// Cron expression in UTC; none means always.
    pub schedule: Option<String>,
    /// How long each time.
    pub duration: Option<SignedDuration>,
    /// Which reasons it limits; empty means all.
    pub reasons: Vec<BudgetReason>,
}

/// A DaemonSet: what each node it selects must carry.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct DaemonSet {
    /// Namespace and name.
    pub name: ObjectName,
    /// What one of its pods asks.
    pub spec: Arc<PodSpec>,
}
