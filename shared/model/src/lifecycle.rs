//! NodeClaims under way, with all that hangs on them: what a machine's life is decided from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::catalogue::{CapacityType, InstanceType};
use crate::cluster::NodeClassRef;
use crate::effect::{ClaimChange, Condition, ConditionStatus, Effect};
use crate::plan::{Note, Offer};
use crate::pod::ObjectName;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::taint::Taint;

/// Some NodeClaims at one moment, and what belongs to them. Equal snapshots give equal decisions.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleSnapshot {
    /// The only time there is.
    pub now: Timestamp,
    /// The NodeClaims to look after, with all others of their launch groups and all others that name the same machine.
    pub claims: Vec<Claim>,
    /// Nodes with the provider id of one of them.
    pub nodes: Vec<ClaimNode>,
    /// Nodes that are going, that are held, and whose provider id no NodeClaim has.
    pub orphans: Vec<ClaimNode>,
    /// Pods on nodes that are to be drained.
    pub pods: Vec<BoundPod>,
    /// Deployments of those of them that ask for a successor before they leave; one that is missing does not exist.
    #[serde(default)]
    pub deployments: Vec<Deployment>,
    /// Volumes attached to those nodes.
    pub attachments: Vec<Attachment>,
    /// Machines with the provider id, or the launch group, of one of them.
    pub instances: Vec<Instance>,
    /// Whether all machines were read that were wanted: if not, that one is absent says nothing.
    pub instances_known: bool,
    /// What can be bought now for each class that an unlaunched NodeClaim names, by the class's name.
    pub types: BTreeMap<String, Arc<Vec<InstanceType>>>,
    /// These classes; one that is missing does not exist.
    pub classes: BTreeMap<String, LaunchClass>,
    /// What this run's launches brought, by launch group.
    pub launches: BTreeMap<String, LaunchAnswer>,
    /// Pending pods planned for each NodeClaim, if kube-scheduler is to be told.
    pub planned: BTreeMap<String, Vec<PlannedPod>>,
}

/// What a launch needs to know of a class.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchClass {
    /// Whether it can be used.
    pub status: ClassStatus,
    /// Annotations that NodeClaims made from it carry, such as its hash.
    pub annotations: BTreeMap<String, String>,
}

/// Whether a class can be used.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClassStatus {
    /// It can.
    #[default]
    Ready,
    /// It can't, because.
    NotReady(String),
    /// Not known yet, because.
    Unknown(String),
    /// It is being deleted.
    Deleting,
}

/// What the cloud answered to a launch.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchAnswer {
    /// The token it was asked by: a launch by another may be on its way since.
    pub token: String,
    /// The token is used up: asking by it again gets the same answer.
    pub spent: bool,
    /// Provider ids of the machines, all of them; they are among the snapshot's instances too.
    pub machines: Vec<String>,
    /// What went wrong, each thing once.
    pub failures: Vec<LaunchFailure>,
}

/// One thing that went wrong in a launch.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchFailure {
    /// What kind of thing.
    pub kind: LaunchFailureKind,
    /// The way to buy it concerns; none if it concerns them all.
    pub offer: Option<Offer>,
    /// The subnet it concerns, by id.
    pub subnet: Option<String>,
    /// A CamelCase word, such as `InsufficientInstanceCapacity` or `Unauthorized`.
    pub reason: String,
    /// What the cloud said.
    pub message: String,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchFailureKind {
    /// There is none to be had that way, or no quota for it.
    Capacity,
    /// No machine of that capacity type can be had by this account.
    CapacityType,
    /// The subnet has no address left.
    Subnet,
    /// Too many requests: nothing happened.
    Throttled,
    /// The token was used for a request that was not quite the same: there was another launch.
    OtherLaunch,
    /// Nobody knows whether it happened.
    Unknown,
    /// The request is not right or not allowed.
    Rejected,
}

/// A pending pod that a NodeClaim was planned for.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedPod {
    /// The pod.
    pub name: ObjectName,
    /// Its uid.
    pub uid: String,
}

/// A pod that is bound to no node.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UnboundPod {
    /// The pod.
    pub name: ObjectName,
    /// Its uid.
    pub uid: String,
    /// The node that kube-scheduler was told, or has chosen itself.
    pub nominated: Option<String>,
}

/// A whole cluster at one moment, as far as leftovers can be told.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SweepSnapshot {
    /// The only time there is.
    pub now: Timestamp,
    /// All NodeClaims, read after the machines: a machine is always younger than its NodeClaim.
    pub claims: Vec<Claim>,
    /// All Nodes that are ours.
    pub nodes: Vec<ClaimNode>,
    /// All machines of this cluster.
    pub instances: Vec<Instance>,
    /// Whether the three lists are whole, to the last page: if not, that something is absent says nothing.
    pub complete: bool,
    /// EC2NodeClasses that were asked to go.
    #[serde(default)]
    pub leaving: Vec<LeavingClass>,
    /// Hashes of NodePools, made our way.
    #[serde(default)]
    pub pools: BTreeMap<String, String>,
    /// Hashes of EC2NodeClasses, those that are written on them, made our way.
    #[serde(default)]
    pub classes: BTreeMap<String, String>,
    /// Capacity reservations, by id, that are about to end and take their machines with them.
    #[serde(default)]
    pub expiring: BTreeSet<String>,
}

/// An EC2NodeClass that was asked to go and is held.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeavingClass {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// A NodeClaim, as written.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The version read, which a change is bound to.
    pub version: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// The pool it is of, if any.
    pub pool: Option<String>,
    /// The class.
    pub node_class: NodeClassRef,
    /// Claims with the same are launched by one request; without, a claim is alone in a group named by its uid.
    pub launch_group: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Taints its node has.
    pub taints: Vec<Taint>,
    /// Taints its node starts with and that something else removes.
    pub startup_taints: Vec<Taint>,
    /// What the machine must be.
    pub requirements: Requirements,
    /// What it must have room for.
    pub requests: Resources,
    /// How long a drain may take.
    pub termination_grace_period: Option<SignedDuration>,
    /// The node's greatest age.
    pub expire_after: Option<SignedDuration>,
    /// When it was created.
    pub created: Timestamp,
    /// When it was asked to go.
    pub deleting: Option<Timestamp>,
    /// It may not vanish before its machine.
    pub finalizer: bool,
    /// The machine.
    pub provider_id: Option<String>,
    /// The machine's image.
    pub image: Option<String>,
    /// The Node.
    pub node: Option<String>,
    /// What the machine has.
    pub capacity: Resources,
    /// What pods can have of it.
    pub allocatable: Resources,
    /// Conditions by type.
    pub conditions: BTreeMap<String, Condition>,
}

impl Claim {
    /// A condition's status; one that was never written is unknown.
    pub fn condition(&self, kind: &str) -> ConditionStatus {
        self.conditions.get(kind).map_or(ConditionStatus::Unknown, |condition| condition.status)
    }

    /// Whether a condition is true.
    pub fn is(&self, kind: &str) -> bool {
        self.condition(kind) == ConditionStatus::True
    }

    /// No change to it yet.
    pub fn change(&self) -> ClaimChange {
        ClaimChange {
            claim: self.name.clone(),
            version: Some(self.version.clone()),
            ..ClaimChange::default()
        }
    }
}

/// A Node that belongs to a NodeClaim.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimNode {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The version read, which a change of taints is bound to.
    pub version: String,
    /// The machine.
    pub provider_id: String,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Taints, all of them.
    pub taints: Vec<Taint>,
    /// Its condition `Ready`.
    pub ready: ConditionStatus,
    /// What pods can have.
    pub allocatable: Resources,
    /// What it has.
    pub capacity: Resources,
    /// It may not vanish before its machine.
    pub finalizer: bool,
    /// Its owner is the NodeClaim.
    pub owned: bool,
    /// When it was created.
    pub created: Timestamp,
    /// When it was asked to go.
    pub deleting: Option<Timestamp>,
}

/// A pod on a node that may be drained.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BoundPod {
    /// Its name.
    pub name: ObjectName,
    /// Its uid: an eviction is of this pod, not of a namesake.
    pub uid: String,
    /// The node.
    pub node: String,
    /// A DaemonSet's.
    pub daemon: bool,
    /// The node's own: mirrors a manifest on the machine.
    pub mirror: bool,
    /// Its priority class is one of the system's two.
    pub critical: bool,
    /// It stays where disrupted nodes are.
    pub tolerates_disruption: bool,
    /// `karpenter.sh/do-not-disrupt` as written, if it is.
    pub do_not_disrupt: Option<String>,
    /// It has succeeded or failed.
    pub finished: bool,
    /// When it was started.
    pub started: Option<Timestamp>,
    /// When it is to be gone, if it was asked to go.
    pub deleting: Option<Timestamp>,
    /// How long it may take to stop.
    pub grace_seconds: i64,
    /// Persistent volumes it uses.
    pub volumes: Vec<String>,
    /// What it says of a successor that is to be Ready before it leaves, if anything.
    #[serde(default)]
    pub surge: Option<Surge>,
}

/// A pod's annotation `journeyman.dev/surge`, and what it takes to do as it says.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Surge {
    /// The annotation, as written.
    pub text: String,
    /// The Deployment that the pod is of, in its namespace.
    pub deployment: Option<String>,
    /// When the rollout was restarted that the pod came with, as written.
    pub restarted: Option<String>,
}

impl Surge {
    /// Whether it asks for a successor.
    pub fn is_wanted(&self) -> bool {
        self.text == "true"
    }
}

/// A Deployment with a pod that asks for a successor before it leaves.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Deployment {
    /// Its name.
    pub name: ObjectName,
    /// How it brings new pods; none if it may not be read.
    pub rollout: Option<Rollout>,
}

/// How a Deployment brings new pods in the place of old ones.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rollout {
    /// The Deployment's uid.
    pub uid: String,
    /// How many pods it is to have.
    pub replicas: i64,
    /// By `RollingUpdate`: old pods may stay until new ones are Ready.
    pub rolling: bool,
    /// How many more than its replicas there may be meanwhile.
    pub max_surge: i64,
    /// How many fewer may be Ready.
    pub max_unavailable: i64,
    /// How long it may take until new pods are Ready.
    pub progress_deadline_seconds: i64,
    /// It brings none for now.
    pub paused: bool,
    /// It was asked to go.
    pub deleting: bool,
    /// When it was last restarted, as written.
    pub restarted: Option<String>,
}

/// A persistent volume attached to a node.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attachment {
    /// The VolumeAttachment.
    pub name: String,
    /// The node.
    pub node: String,
    /// The persistent volume.
    pub volume: String,
}

/// A machine, as the cloud tells of it: from a listing or from the answer to a launch.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Its id.
    pub id: String,
    /// The id as Nodes carry it.
    pub provider_id: String,
    /// Its type.
    pub instance_type: String,
    /// Its zone.
    pub zone: String,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// The reservation it draws on.
    pub reservation: Option<String>,
    /// The image it started from.
    pub image: String,
    /// Its subnet.
    #[serde(default)]
    pub subnet: Option<String>,
    /// The security groups of its first network interface, the one it was launched with.
    #[serde(default)]
    pub security_groups: BTreeSet<String>,
    /// How far it is.
    pub state: InstanceState,
    /// When it was launched.
    pub launched: Timestamp,
    /// The launch group it was asked for by.
    pub launch_group: Option<String>,
    /// The NodeClaim it is tagged with.
    pub claim: Option<String>,
}

/// How far a machine is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InstanceState {
    /// Starting.
    Pending,
    /// Up.
    Running,
    /// Stopping or stopped; ours are never stopped on purpose.
    Stopped,
    /// On its way out.
    ShuttingDown,
    /// Gone.
    Terminated,
}

impl InstanceState {
    /// Whether it won't come back.
    pub fn is_ending(self) -> bool {
        matches!(self, Self::ShuttingDown | Self::Terminated)
    }
}

/// What to do for some NodeClaims.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Care {
    /// The changes, in order.
    pub effects: Vec<Effect>,
    /// When each NodeClaim that isn't at rest wants to be looked at again; zero is at once, in this very run.
    pub again: BTreeMap<String, SignedDuration>,
    /// The same for Nodes without a NodeClaim.
    pub again_nodes: BTreeMap<String, SignedDuration>,
    /// How often what happened, for metrics.
    pub counts: BTreeMap<String, u64>,
    /// What the reader should know.
    pub notes: Vec<Note>,
}
