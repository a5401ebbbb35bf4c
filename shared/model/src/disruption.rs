//! Nodes that are given up: what bears on it, and what was decided.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::effect::ConditionStatus;
use crate::money::MicroUsd;
use crate::plan::PlannedNode;
use crate::pod::{ObjectName, Pod};
use crate::requirements::Requirements;
use crate::selector::LabelSelector;

/// Why a node is given up.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum DisruptionReason {
    /// No pods.
    Empty,
    /// It is no longer as its pool and class want it.
    Drifted,
    /// It has reached its greatest age.
    Expired,
    /// Its pods can be had cheaper.
    Underutilized,
    /// It is broken.
    Unhealthy,
    /// Its pool is to have fewer nodes.
    ScaledDown,
}

impl DisruptionReason {
    /// As conditions, events and budgets have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Drifted => "Drifted",
            Self::Expired => "Expired",
            Self::Underutilized => "Underutilized",
            Self::Unhealthy => "Unhealthy",
            Self::ScaledDown => "ScaledDown",
        }
    }

    /// The reason of a word.
    pub fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Empty,
            Self::Drifted,
            Self::Expired,
            Self::Underutilized,
            Self::Unhealthy,
            Self::ScaledDown,
        ];
        all.into_iter().find(|known| known.as_str() == name)
    }

    /// Whether nodes that go for it do so within budgets, PodDisruptionBudgets and do-not-disrupt.
    pub fn is_voluntary(self) -> bool {
        !matches!(self, Self::Unhealthy | Self::ScaledDown)
    }
}

/// What of a node bears on whether it may go, beside where its pods can be.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeFacts {
    /// The NodeClaim's uid.
    pub claim_uid: Option<String>,
    /// The NodeClaim's annotations: the hashes of what it was made from.
    pub annotations: BTreeMap<String, String>,
    /// It is being given up, but its NodeClaim is not deleted yet.
    pub mark: Option<Mark>,
    /// The machine's image.
    pub image: Option<String>,
    /// A node's greatest age.
    pub expire_after: Option<SignedDuration>,
    /// How long its drain may take.
    pub termination_grace_period: Option<SignedDuration>,
    /// Its Node is not Ready.
    pub not_ready: bool,
    /// Conditions of its Node, each with the time since it is so.
    pub conditions: BTreeMap<String, (ConditionStatus, Timestamp)>,
    /// Since when its NodeClaim has the condition Drifted, if it has.
    pub drifted: Option<Timestamp>,
    /// Which of the conditions Drifted and Consolidatable its NodeClaim has, and the reason of each.
    pub findings: BTreeMap<String, String>,
    /// When a pod last came or went, as its NodeClaim says.
    pub pod_event: Option<Timestamp>,
    /// The NodeClaim's generation.
    pub generation: i64,
}

/// A node is to go once its replacements are ready.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// Why; none if nobody has said.
    pub reason: Option<DisruptionReason>,
    /// When it was marked, if that is known.
    pub since: Option<Timestamp>,
    /// The NodeClaims that replace it, in name order.
    pub replaced_by: Vec<String>,
}

/// What of a pod bears on whether its node may go, beside where else it could be.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodFacts {
    /// `controller.kubernetes.io/pod-deletion-cost`.
    pub deletion_cost: i32,
    /// When it was started.
    pub started: Option<Timestamp>,
    /// Its condition Ready is False.
    pub unready: bool,
    /// When it last came to its node, ended, or was asked to leave, if that is known.
    pub event: Option<Timestamp>,
    /// Its successor is to be Ready before it leaves (`journeyman.dev/surge`).
    pub surge: bool,
}

/// What a PodDisruptionBudget allows now.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodDisruptionBudget {
    /// Namespace and name.
    pub name: ObjectName,
    /// Which pods of its namespace it protects; none protects none.
    pub selector: Option<LabelSelector>,
    /// How many of them may be evicted now.
    pub allowed: u32,
    /// It never allows any, whatever becomes of the pods.
    pub blocks: bool,
    /// Pods that are not Ready may be evicted in any case (`unhealthyPodEvictionPolicy: AlwaysAllow`).
    pub frees_unready: bool,
}

impl PodDisruptionBudget {
    /// Whether a pod is protected.
    pub fn selects(&self, pod: &Pod) -> bool {
        self.name.namespace == pod.name.namespace
            && self.selector.as_ref().is_some_and(|selector| selector.matches(&pod.spec.labels))
    }
}

/// What of a class nodes may drift from.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassFacts {
    /// Its hash, and the version of how that was made.
    pub hash: Option<(String, String)>,
    /// Its images, newest first, and which types each is for.
    pub images: Vec<(String, Requirements)>,
    /// The subnets it launches into, by id; empty while not known.
    pub subnets: BTreeSet<String>,
    /// The security groups of its machines, by id; empty while not known.
    pub security_groups: BTreeSet<String>,
    /// The capacity reservations it may use, by id.
    pub reservations: BTreeSet<String>,
    /// The placement group it launches into, if it is known whether there is one.
    pub placement_group: Resolved,
}

/// What became of something that is looked up by a selector.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Resolved {
    /// Nobody has looked yet.
    #[default]
    Unknown,
    /// Nothing is asked for.
    Unasked,
    /// This is it, by id.
    Found(String),
}

/// Nodes that go together, and what comes in their stead.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Command {
    /// The nodes that go, in name order.
    pub nodes: Vec<String>,
    /// Why.
    pub reason: DisruptionReason,
    /// A sentence for people: what made them go.
    pub message: String,
    /// What is launched first.
    pub replacements: Vec<PlannedNode>,
    /// How many pods have to move.
    pub pods_moved: usize,
    /// What the nodes cost an hour.
    pub price_before: MicroUsd,
    /// What their replacements cost.
    pub price_after: MicroUsd,
}

impl Command {
    /// What it saves an hour, in millionths of a dollar; negative if it costs more.
    pub fn saved(&self) -> i64 {
        let signed = |price: MicroUsd| i64::try_from(price.0).unwrap_or(i64::MAX);
        signed(self.price_before).saturating_sub(signed(self.price_after))
    }
}

/// A node that stays.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// The node.
    pub node: String,
    /// Which rule keeps it.
    pub code: KeepCode,
    /// What that means here, as a clause.
    pub message: String,
}

/// The rules that keep nodes.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeepCode {
    /// Nothing may or need be done with it: not ours, or its pool says so.
    Disabled,
    /// It isn't ready for work yet.
    NotInitialized,
    /// Pods are about to come.
    Nominated,
    /// Pods came or went too recently.
    TooYoung,
    /// It, or a pod on it, is not to be disturbed.
    DoNotDisrupt,
    /// A PodDisruptionBudget allows no eviction.
    Pdb,
    /// A pod has more than one PodDisruptionBudget, so that it can't be evicted at all.
    MultiplePdbs,
    /// The pool's budget is used up.
    Budget,
    /// It would cost as much without it.
    NoSaving,
    /// Its pods have no other place.
    NoRoom,
    /// A Spot replacement would have too few types to choose from.
    SpotFlexibility,
    /// It is broken, but so are too many of its pool.
    TooManyUnhealthy,
    /// What would take over from it has failed where it was tried first.
    CanaryFailed,
    /// Others that waste more go first.
    Outdone,
    /// The work of one look was used up before it; in time one gets to it.
    NotLookedAt,
    /// It goes already, or waits for something that is under way.
    Waiting,
}

impl KeepCode {
    /// All there are.
    pub const ALL: [Self; 16] = [
        Self::Disabled,
        Self::NotInitialized,
        Self::Nominated,
        Self::TooYoung,
        Self::DoNotDisrupt,
        Self::Pdb,
        Self::MultiplePdbs,
        Self::Budget,
        Self::NoSaving,
        Self::NoRoom,
        Self::SpotFlexibility,
        Self::TooManyUnhealthy,
        Self::CanaryFailed,
        Self::Outdone,
        Self::NotLookedAt,
        Self::Waiting,
    ];

    /// Whether it is what came of looking for a cheaper way to hold the node's pods; the others keep it from being looked at.
    pub fn is_verdict(self) -> bool {
        matches!(
            self,
            Self::NoSaving | Self::NoRoom | Self::SpotFlexibility | Self::NotLookedAt | Self::Outdone
        )
    }

    /// As plans, events, records and metrics have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Disabled => "disabled",
            Self::NotInitialized => "not-initialized",
            Self::Nominated => "nominated",
            Self::TooYoung => "too-young",
            Self::DoNotDisrupt => "do-not-disrupt",
            Self::Pdb => "pdb",
            Self::MultiplePdbs => "multiple-pdbs",
            Self::Budget => "budget",
            Self::NoSaving => "no-saving",
            Self::NoRoom => "no-room",
            Self::SpotFlexibility => "spot-flexibility",
            Self::TooManyUnhealthy => "too-many-unhealthy",
            Self::CanaryFailed => "canary-failed",
            Self::Outdone => "outdone",
            Self::NotLookedAt => "not-looked-at",
            Self::Waiting => "waiting",
        }
    }
}
