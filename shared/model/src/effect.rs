//! The closed list of changes to the world.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::catalogue::CapacityType;
use crate::cluster::NodeClassRef;
use crate::disruption::DisruptionReason;
use crate::plan::Offer;
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
    /// Ask for a NodeClaim to be deleted; its finalizer holds it until its machine is gone.
    DeleteNodeClaim {
        /// The NodeClaim.
        claim: String,
        /// Its uid, where known: names come back, and a namesake is not meant.
        uid: Option<String>,
        /// Why, in CamelCase; in snake_case it is the `reason` of metrics.
        reason: String,
    },
    /// Say of a NodeClaim and its Node that they are to go, so that nothing new comes and the next run knows: the taint
    /// `karpenter.sh/disrupted`, the condition DisruptionReason, and what replaces it.
    MarkDisrupted(Box<MarkOrder>),
    /// Take that back.
    UnmarkDisrupted {
        /// The NodeClaim.
        claim: String,
        /// Its uid, where known.
        uid: Option<String>,
        /// Its Node, if there is one.
        node: Option<String>,
    },
    /// Ask the cloud for the machines of NodeClaims that are alike.
    Launch(Arc<LaunchOrder>),
    /// Write what has become of a NodeClaim.
    ChangeNodeClaim(Box<ClaimChange>),
    /// Write to a Node.
    ChangeNode(Box<NodeChange>),
    /// Ask for a Node to be deleted; its finalizer holds it until its machine is gone.
    DeleteNode {
        /// The Node.
        node: String,
        /// Its uid.
        uid: String,
    },
    /// Ask a pod to leave, within the PodDisruptionBudgets.
    EvictPod {
        /// The pod.
        pod: ObjectName,
        /// Its uid.
        uid: String,
        /// The node it is to leave.
        node: String,
        /// Why it leaves without a successor, if it asks for one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remark: Option<String>,
    },
    /// Have a Deployment bring new pods and, once they are Ready, take its old ones away.
    RestartRollout(Box<RestartOrder>),
    /// Make a pod leave, whatever the PodDisruptionBudgets say: its node's time is up.
    DeletePod {
        /// The pod.
        pod: ObjectName,
        /// Its uid.
        uid: String,
        /// How long it may take to stop.
        grace_seconds: i64,
    },
    /// End a machine.
    Terminate {
        /// The machine.
        provider_id: String,
    },
    /// Write on a machine what it is for, where nothing is written yet.
    TagInstance {
        /// The machine.
        provider_id: String,
        /// Tags to set if they are absent.
        tags: BTreeMap<String, String>,
    },
    /// Delete launch templates: machines don't need theirs once they are started, and what is still wanted is made anew.
    ForgetLaunchTemplates {
        /// Only those of this class.
        class: Option<String>,
        /// Only those that are at least so old.
        age: SignedDuration,
    },
    /// Let an EC2NodeClass vanish: delete the instance profiles that were made for it, then take the finalizer off.
    ReleaseNodeClass {
        /// The class.
        class: String,
        /// Its uid.
        uid: String,
    },
    /// Let a NodeClaim vanish: take the finalizer off.
    ReleaseNodeClaim {
        /// The NodeClaim.
        claim: String,
        /// Its uid.
        uid: String,
    },
    /// Let a Node vanish: take the finalizer off.
    ReleaseNode {
        /// The Node.
        node: String,
        /// Its uid.
        uid: String,
    },
    /// Don't buy there for a while: there was none to be had, or it is about to be taken back. Saying it again extends it.
    Avoid {
        /// What to keep away from.
        what: Avoided,
        /// Until when.
        until: Timestamp,
    },
    /// Count how a NodePool's nodes came to work or didn't; its conditions NodeRegistrationHealthy and LaunchesAllowed
    /// follow.
    NoteRegistrations {
        /// The NodePool.
        pool: String,
        /// In the order of the NodeClaims' names.
        outcomes: Vec<Registration>,
    },
    /// Write a condition of a NodePool, or take it away.
    TellNodePool {
        /// The NodePool.
        pool: String,
        /// The condition's type.
        kind: String,
        /// What it is to be.
        condition: Option<Condition>,
    },
    /// Tell kube-scheduler which node a pending pod was planned for.
    NominateNode {
        /// The pod.
        pod: ObjectName,
        /// Its uid.
        uid: String,
        /// The node.
        node: String,
    },
    /// Have NodeClaims, and Nodes that no NodeClaim is left for, looked after.
    HintLifecycle {
        /// The NodeClaims.
        claims: Vec<String>,
        /// The Nodes.
        nodes: Vec<String>,
        /// How long to wait first.
        after: SignedDuration,
    },
    /// Have pending pods looked at, now.
    HintProvision {
        /// Why, for the reader of logs.
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

/// What to write to a NodeClaim, and its Node, that is to go.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MarkOrder {
    /// The NodeClaim.
    pub claim: String,
    /// Its uid, where known.
    pub uid: Option<String>,
    /// Its Node, if there is one.
    pub node: Option<String>,
    /// Why.
    pub reason: DisruptionReason,
    /// The NodeClaims that replace it, in name order.
    pub replaced_by: Vec<String>,
    /// When this was decided.
    pub since: Timestamp,
}

/// A Deployment to be restarted, for the sake of a pod that has to leave its node.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RestartOrder {
    /// The Deployment.
    pub deployment: ObjectName,
    /// Its uid.
    pub uid: String,
    /// When it was last restarted, as written: if that has changed, nothing is written.
    pub restarted: Option<String>,
    /// When this was decided, which is written instead.
    pub at: Timestamp,
    /// The pod, in the Deployment's namespace.
    pub pod: String,
    /// The pod's uid.
    pub pod_uid: String,
    /// The node it is to leave.
    pub node: String,
}

/// How a node's start came out, or a stage of it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Registration {
    /// When the NodeClaim was made: one that is older than its NodePool was a namesake's.
    pub claimed: Timestamp,
    /// How far it had come.
    #[serde(default)]
    pub stage: StartStage,
    /// The machine's image, if it had a machine.
    #[serde(default)]
    pub image: Option<String>,
    /// Why it failed, if it did.
    pub failure: Option<RegistrationFailure>,
}

/// A stage of a node's start: the one that is done, or the one that failed.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StartStage {
    /// There was no machine to be had; what is sold out is kept away from, and an EC2NodeClass that can't be used has a
    /// condition of its own.
    Capacity,
    /// The cloud was asked for a machine.
    Launch,
    /// The machine's Node was waited for.
    #[default]
    Registration,
    /// The Node was to become ready for work.
    Initialization,
}

/// Why a node has not come to work.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegistrationFailure {
    /// A CamelCase word.
    pub reason: String,
    /// A sentence, or nothing.
    pub message: String,
}

/// What not to buy from for a while.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Avoided {
    /// An instance type in a zone, bought in one way.
    Offering {
        /// The instance type.
        instance_type: String,
        /// The zone.
        zone: String,
        /// How it is paid for.
        capacity_type: CapacityType,
    },
    /// The same within a placement group: it wants its machines beside each other, so others may have one all the same.
    InPlacementGroup {
        /// The group, by id.
        group: String,
        /// The instance type.
        instance_type: String,
        /// The zone.
        zone: String,
        /// How it is paid for.
        capacity_type: CapacityType,
    },
    /// A way to buy, everywhere.
    CapacityType(CapacityType),
    /// A subnet, by id: its zone can still be had through others.
    Subnet(String),
    /// A capacity reservation, by id: nothing remains of it.
    Reservation(String),
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
    /// A Node.
    Node(String),
    /// An EC2NodeClass.
    NodeClass(String),
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

/// A request for machines, all alike, one for each NodeClaim.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchOrder {
    /// The group's name, written on each machine.
    pub group: String,
    /// Asking twice by the same token is asking once.
    pub token: String,
    /// The NodeClaims, in name order: one machine for each.
    pub claims: Vec<String>,
    /// The pool, if any.
    pub pool: Option<String>,
    /// The class.
    pub node_class: NodeClassRef,
    /// How they are paid for.
    pub capacity_type: CapacityType,
    /// For reserved machines what kind the reservations are: `default`, `capacity-block` or `interruptible`.
    pub reservation_type: Option<String>,
    /// The ways to buy them, cheapest first, all of that capacity type.
    pub offers: Vec<Offer>,
    /// Labels the machines' Nodes start with.
    pub labels: BTreeMap<String, String>,
    /// Taints they start with: for good, for the start, and the one that registration takes off.
    pub taints: Vec<Taint>,
    /// What the machines must be, offers apart: tenancy and the like.
    pub requirements: Requirements,
    /// What pods and daemons ask: special devices are set up only if asked for.
    pub requests: Resources,
    /// `minValues` were relaxed for them.
    pub min_values_relaxed: bool,
}

/// What to write to a NodeClaim; what is empty stays as it is.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimChange {
    /// The NodeClaim.
    pub claim: String,
    /// The version it was read at: if it has changed since, nothing is written. Without, it is written in any case, and
    /// then it holds no conditions but those that stand for themselves.
    pub version: Option<String>,
    /// Hold it until its machine is gone.
    pub finalizer: bool,
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Labels to take away.
    #[serde(default)]
    pub labels_off: BTreeSet<String>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
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
    /// When a pod last came or went.
    pub pod_event: Option<Timestamp>,
    /// Conditions to set, by type.
    pub conditions: BTreeMap<String, Condition>,
    /// Conditions to take away.
    pub off: BTreeSet<String>,
}

impl ClaimChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { claim: self.claim.clone(), version: self.version.clone(), ..Self::default() }
    }
}

/// What to write to a Node; what is empty stays as it is.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeChange {
    /// The Node.
    pub node: String,
    /// The version it was read at: if it has changed since, nothing is written.
    pub version: String,
    /// Hold it until its machine is gone.
    pub finalizer: bool,
    /// The NodeClaim that owns it, by name and uid.
    pub owner: Option<(String, String)>,
    /// Labels to set.
    pub labels: BTreeMap<String, String>,
    /// Labels to take away.
    #[serde(default)]
    pub labels_off: BTreeSet<String>,
    /// Annotations to set.
    pub annotations: BTreeMap<String, String>,
    /// All its taints from now on.
    pub taints: Option<Vec<Taint>>,
}

impl NodeChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == Self { node: self.node.clone(), version: self.version.clone(), ..Self::default() }
    }
}

/// A condition's status.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It doesn't.
    False,
    /// Not known, or not yet.
    #[default]
    Unknown,
}

impl ConditionStatus {
    /// As objects have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }

    /// From an object's value; anything else is unknown.
    pub fn from_name(name: &str) -> Self {
        match name {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

/// What the condition `Ready` is, by the conditions it sums up: status, reason and message. One that is not of the
/// object's present generation counts as not known, whatever its status.
pub fn readiness<'a>(
    dependents: impl IntoIterator<Item = (&'a str, ConditionStatus, bool)>,
) -> (ConditionStatus, &'static str, String) {
    let mut missing = Vec::new();
    let mut failed = false;
    for (kind, status, current) in dependents {
        if status != ConditionStatus::True || !current {
            missing.push(format!("{kind}={}", status.as_str()));
            failed |= status == ConditionStatus::False && current;
        }
    }
    let (status, reason) = match (missing.is_empty(), failed) {
        (true, _) => (ConditionStatus::True, "Ready"),
        (false, true) => (ConditionStatus::False, "UnhealthyDependents"),
        (false, false) => (ConditionStatus::Unknown, "ReconcilingDependents"),
    };
    (status, reason, missing.join(", "))
}

/// One condition of an object.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Whether it holds.
    pub status: ConditionStatus,
    /// A CamelCase word.
    pub reason: String,
    /// A sentence, or nothing.
    pub message: String,
    /// Since when it has this status.
    pub since: Timestamp,
    /// The object's generation it was written for.
    pub generation: i64,
}
