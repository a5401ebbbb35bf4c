//! All a decision is made from.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::catalogue::Catalogue;
use crate::cluster::Cluster;
use crate::money::MicroUsd;

/// What was seen, when, and how it is to be judged. Equal snapshots give equal plans.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The only time there is.
    pub now: Timestamp,
    /// The operator's choices.
    pub settings: Settings,
    /// The cluster.
    pub cluster: Cluster,
    /// What can be bought.
    pub catalogue: Catalogue,
}

/// What becomes of preferences.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub enum PreferencePolicy {
    /// Requirements, until they stand in the way.
    #[default]
    Respect,
    /// Nothing.
    Ignore,
}

/// What becomes of `minValues` that can't be met.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub enum MinValuesPolicy {
    /// No node.
    #[default]
    Strict,
    /// A node with as many values as there are, marked as such.
    BestEffort,
}

/// The operator's choices.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What becomes of preferences.
    pub preferences: PreferencePolicy,
    /// What becomes of `minValues` that can't be met.
    pub min_values: MinValuesPolicy,
    /// What a node costs beside its instance: licences, monitoring.
    pub fee_per_node: MicroUsd,
    /// kube-scheduler is told which nodes pods are planned for.
    #[serde(default)]
    pub nominate: bool,
}
