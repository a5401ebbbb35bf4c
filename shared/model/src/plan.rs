//! What was decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::catalogue::CapacityType;
use crate::disruption::{Command, Kept};
use crate::effect::Effect;
use crate::money::MicroUsd;
use crate::pod::ObjectName;
use crate::reason::Reason;
use crate::resources::Resources;

/// A decision, whole: what to do, and a reason for all that was not possible.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Nodes to have.
    pub nodes: Vec<PlannedNode>,
    /// Pods that fit on what there is or is coming, by node.
    pub existing: BTreeMap<String, Vec<ObjectName>>,
    /// Pods without a place, and why.
    pub unschedulable: Vec<Unschedulable>,
    /// No plan for the same pods on new nodes costs less than this an hour.
    pub lower_bound: Option<MicroUsd>,
    /// Nodes that go, and what comes in their stead.
    #[serde(default)]
    pub disruptions: Vec<Command>,
    /// Nodes that stay, by node, and why.
    #[serde(default)]
    pub kept: Vec<Kept>,
    /// What the nodes that are ours cost an hour; said where nodes may go.
    #[serde(default)]
    pub price_before: Option<MicroUsd>,
    /// What the reader should know.
    pub notes: Vec<Note>,
    /// The changes to the world that make it so, in order.
    pub effects: Vec<Effect>,
}

impl Plan {
    /// What its nodes cost an hour, each at its chosen offer and with the operator's fee.
    pub fn price(&self) -> MicroUsd {
        self.nodes.iter().map(|node| node.price).sum()
    }
}

impl Plan {
    /// What the nodes that are ours will cost an hour when all commands are carried out.
    pub fn price_after(&self) -> Option<MicroUsd> {
        let gone: MicroUsd = self.disruptions.iter().map(|command| command.price_before).sum();
        let new: MicroUsd = self.disruptions.iter().map(|command| command.price_after).sum();
        Some(MicroUsd(self.price_before?.0.saturating_sub(gone.0)).plus(new))
    }
}

/// One node to have.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlannedNode {
    /// The NodeClaim's name.
    pub name: String,
    /// The pool.
    pub pool: String,
    /// The cheapest of the options, which the plan is priced by.
    pub offer: Offer,
    /// Price of the offer and the fee per node.
    pub price: MicroUsd,
    /// The pods it is for, in name order.
    pub pods: Vec<ObjectName>,
    /// What pods and daemons ask.
    pub requests: Resources,
    /// What the chosen type gives them.
    pub allocatable: Resources,
    /// Every way to buy a node that holds the same pods, cheapest first.
    pub options: Arc<Vec<Offer>>,
    /// Labels that topology decisions rely on, such as the zone a spread chose.
    pub pinned: BTreeMap<String, String>,
}

/// A way to buy a node.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// The EC2 instance type.
    pub instance_type: String,
    /// The zone.
    pub zone: String,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// What an hour costs.
    pub price: MicroUsd,
    /// The reservation it draws on.
    pub reservation: Option<String>,
}

/// A pod without a place.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Unschedulable {
    /// The pod.
    pub pod: ObjectName,
    /// Why: shared by pods that are alike.
    pub reason: Arc<Reason>,
    /// What each rule left of each pool's types.
    pub funnels: Arc<Vec<Funnel>>,
}

/// How one pool's types dwindled for one kind of pod.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Funnel {
    /// The pool.
    pub pool: String,
    /// Types the pool's class knows.
    pub types: usize,
    /// Rules in the order they were asked.
    pub steps: Vec<FunnelStep>,
}

/// One rule and what it left.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunnelStep {
    /// The rule, in a few words.
    pub rule: String,
    /// Types left after it.
    pub left: usize,
}

/// Something the reader should know; `place` says where.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    /// The object it is about.
    pub place: String,
    /// A sentence.
    pub message: String,
}
