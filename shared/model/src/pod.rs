//! Pods as scheduling sees them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::disruption::PodFacts;
use crate::labels;
use crate::requirements::Requirements;
use crate::resources::Resources;
use crate::selector::LabelSelector;
use crate::taint::Toleration;

/// Namespace and name.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct ObjectName {
    /// The namespace.
    pub namespace: String,
    /// The name within it.
    pub name: String,
}

impl ObjectName {
    /// From its parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

impl Serialize for ObjectName {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ObjectName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (namespace, name) = text.split_once('/').unwrap_or(("default", &text));
        Ok(Self::new(namespace, name))
    }
}

/// Where a pod is in its life, as far as capacity cares.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum Phase {
    /// Not running yet.
    #[default]
    Pending,
    /// Running.
    Running,
    /// Succeeded or failed: it holds nothing any more.
    Terminal,
}

/// The controller of a pod.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Owner {
    /// Its kind, such as `ReplicaSet`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// One pod.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Pod {
    /// Namespace and name.
    pub name: ObjectName,
    /// The API server's id; the last tie-breaker.
    pub uid: String,
    /// When it was created.
    pub created: Timestamp,
    /// The node it is bound to.
    pub node: Option<String>,
    /// Where it is in its life.
    pub phase: Phase,
    /// It is being deleted.
    pub terminating: bool,
    /// kube-scheduler found no place for it, and it is not already promised one: the ones to make room for.
    pub unschedulable: bool,
    /// Its controller.
    pub owner: Option<Owner>,
    /// It belongs to a DaemonSet.
    pub daemon: bool,
    /// It belongs to the node itself (a static pod).
    pub mirror: bool,
    /// Its annotation `karpenter.sh/do-not-disrupt`, as written.
    pub do_not_disrupt: Option<String>,
    /// What else bears on whether its node may go.
    #[serde(default)]
    pub disruption: PodFacts,
    /// What it mounts, resolved.
    pub volumes: Vec<Volume>,
    /// All else, shared by pods that are alike.
    pub spec: Arc<PodSpec>,
}

/// What a pod asks of a node and of its neighbours.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct PodSpec {
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Effective requests (init containers, overhead, pod-level and LimitRange defaults applied), with `pods: 1`.
    pub requests: Resources,
    /// `spec.nodeSelector`.
    pub node_selector: Requirements,
    /// Required node affinity: one of the terms must hold; none means anything does.
    pub required: Vec<Requirements>,
    /// Preferred node affinity.
    pub preferred: Vec<Weighted<Requirements>>,
    /// Tolerations.
    pub tolerations: Vec<Toleration>,
    /// Topology spread constraints.
    pub spread: Vec<Spread>,
    /// Required pod affinity.
    pub affinity: Vec<AffinityTerm>,
    /// Required pod anti-affinity.
    pub anti_affinity: Vec<AffinityTerm>,
    /// Preferred pod affinity.
    pub preferred_affinity: Vec<Weighted<AffinityTerm>>,
    /// Preferred pod anti-affinity.
    pub preferred_anti_affinity: Vec<Weighted<AffinityTerm>>,
    /// Ports on the node.
    pub host_ports: BTreeSet<HostPort>,
    /// `spec.priority`.
    pub priority: i32,
    /// What makes it invalid (`matchFields`, a restricted label…): reported, never guessed at.
    pub faults: Vec<String>,
}

/// A preference and how much it matters.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Weighted<T> {
    /// 1 to 100.
    pub weight: i32,
    /// What is preferred.
    pub term: T,
}

/// A topology spread constraint; `matchLabelKeys` is already part of the selector.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Spread {
    /// The label whose values are the domains.
    pub key: String,
    /// The most by which counts may differ.
    pub max_skew: u32,
    /// `DoNotSchedule`, not `ScheduleAnyway`.
    pub hard: bool,
    /// Fewer eligible domains than this count as one more that is empty.
    pub min_domains: Option<u32>,
    /// Which pods are counted, in the pod's own namespace; none counts nothing.
    pub selector: Option<LabelSelector>,
    /// `nodeAffinityPolicy: Honor`.
    pub honor_affinity: bool,
    /// `nodeTaintsPolicy: Honor`.
    pub honor_taints: bool,
}

/// Which namespaces a term looks into.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum Namespaces {
    /// All there are.
    All,
    /// Just these.
    Only(BTreeSet<String>),
}

impl Namespaces {
    /// Whether `namespace` is looked into.
    pub fn contains(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(namespace),
        }
    }
}

/// A term of pod affinity or anti-affinity; namespace selectors and label keys are already resolved.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct AffinityTerm {
    /// The label whose values are the domains.
    pub key: String,
    /// Which pods are meant; none means no pod.
    pub selector: Option<LabelSelector>,
    /// Where they live.
    pub namespaces: Namespaces,
}

impl AffinityTerm {
    /// Whether a pod is meant.
    pub fn selects(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.namespaces.contains(namespace)
            && self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

impl Spread {
    /// Whether a pod in the same namespace is counted.
    pub fn selects(&self, labels: &BTreeMap<String, String>) -> bool {
        self.selector.as_ref().is_some_and(|selector| selector.matches(labels))
    }
}

/// A port a pod takes on its node.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct HostPort {
    /// The address, `0.0.0.0` if none was given.
    pub ip: String,
    /// The port.
    pub port: u16,
    /// TCP, UDP or SCTP.
    pub protocol: String,
}

impl HostPort {
    /// Whether both can't be on one node.
    pub fn conflicts(&self, other: &Self) -> bool {
        let any = |ip: &str| matches!(ip, "0.0.0.0" | "::" | "");
        self.port == other.port
            && self.protocol == other.protocol
            && (self.ip == other.ip || any(&self.ip) || any(&other.ip))
    }
}

/// A claim a pod mounts, resolved through PersistentVolumeClaim, PersistentVolume and StorageClass.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Volume {
    /// The claim, `namespace/name`: one claim counts once a node.
    pub claim: String,
    /// The CSI driver whose limit it counts against.
    pub driver: Option<String>,
    /// Where it can be attached: one of these; none means anywhere.
    pub alternatives: Vec<Requirements>,
    /// Why it can't be mounted at all.
    pub fault: Option<VolumeFault>,
}

/// Why a volume can't be mounted.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct VolumeFault {
    /// What is wrong, as a clause: "claim data-0 does not exist".
    pub detail: String,
}

/// The Deployment of a ReplicaSet, by the ReplicaSet's name and its pods' labels.
pub fn deployment_of<'a>(replica_set: &'a str, labels: &BTreeMap<String, String>) -> Option<&'a str> {
    let hash = labels.get(labels::POD_TEMPLATE_HASH).filter(|hash| !hash.is_empty())?;
    let name = replica_set.strip_suffix(hash.as_str())?.strip_suffix('-')?;
    Some(name).filter(|name| !name.is_empty())
}

impl Pod {
    /// The Deployment it is of.
    pub fn deployment(&self) -> Option<&str> {
        let owner = self.owner.as_ref().filter(|owner| owner.kind == "ReplicaSet")?;
        deployment_of(&owner.name, &self.spec.labels)
    }

    /// Whether it holds resources on its node.
    pub fn holds_capacity(&self) -> bool {
        self.node.is_some() && self.phase != Phase::Terminal
    }

    /// Whether room is to be made for it.
    pub fn is_pending(&self) -> bool {
        self.unschedulable
            && self.node.is_none()
            && self.phase == Phase::Pending
            && !self.terminating
            && !self.daemon
            && !self.mirror
    }
}
