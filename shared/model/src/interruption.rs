//! What the cloud announces about machines: that they are about to go, or that they are not well.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::lifecycle::{Claim, ClaimNode};

/// Announcements at one moment, and what they are about.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InterruptionSnapshot {
    /// The only time there is.
    pub now: Timestamp,
    /// The announcements.
    pub notices: Vec<Notice>,
    /// NodeClaims whose machines they name, found by provider id.
    pub claims: Vec<Claim>,
    /// Their Nodes, found by provider id.
    pub nodes: Vec<ClaimNode>,
    /// Pools whose annotation `journeyman.dev/rebalance` is `replace`.
    pub rebalancing_pools: BTreeSet<String>,
}

/// One announcement.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Notice {
    /// What is announced.
    pub kind: NoticeKind,
    /// The machines, by instance id.
    pub instances: Vec<String>,
}

/// What is announced.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum NoticeKind {
    /// Spot capacity is taken back.
    SpotInterruption {
        /// When the machine goes.
        deadline: Timestamp,
    },
    /// Spot capacity is likelier than usual to be taken back.
    Rebalance,
    /// The machine is stopping or has stopped.
    Stopping,
    /// The machine is ending or has ended.
    Terminating,
    /// Maintenance or retirement.
    ScheduledChange {
        /// When it begins, if told.
        starts: Option<Timestamp>,
    },
    /// The machine, or the host under it, fails its checks.
    Impaired {
        /// The host, not only the machine.
        host: bool,
        /// Since when.
        since: Timestamp,
    },
    /// Reserved capacity is taken back.
    ReservationInterruption {
        /// When the machine goes, if told.
        deadline: Option<Timestamp>,
    },
}

/// The machine's own id, by which announcements name it: the last part of the id that objects carry.
pub fn machine_id(provider_id: &str) -> &str {
    provider_id.rsplit('/').next().unwrap_or(provider_id)
}

/// The value of `journeyman.dev/rebalance` that has nodes replaced on a rebalance recommendation.
pub const REPLACE: &str = "replace";

impl InterruptionSnapshot {
    /// The pools among these, with their annotations, that have nodes replaced on a rebalance recommendation.
    pub fn rebalancing<'a>(
        pools: impl IntoIterator<Item = (&'a String, &'a BTreeMap<String, String>)>,
    ) -> BTreeSet<String> {
        let replaces = |annotations: &BTreeMap<String, String>| {
            annotations.get(crate::labels::REBALANCE).is_some_and(|value| value == REPLACE)
        };
        pools.into_iter().filter(|(_, all)| replaces(all)).map(|(pool, _)| pool.clone()).collect()
    }
}
