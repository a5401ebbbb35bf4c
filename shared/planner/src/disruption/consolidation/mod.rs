//! Consolidation: the same pods on cheaper nodes.
//!
//! `worth` prices room by what new nodes cost, so that each node shows how much of its price is wasted. `search` takes the
//! most wasteful out of the cluster as a set, lets provisioning place their pods on what stays and on new nodes, and keeps
//! of the result what saves enough for the pods it moves. What is bought never costs more than what goes, whatever the
//! fleet launches of what is listed.

mod eligible;
mod judge;
mod search;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{MicroUsd, NodeClaimDraft, ObjectName, Plan, PlannedNode, Snapshot};

use super::candidate::Scene;

/// How consolidation is weighed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Weights {
    /// The least saving, in thousandths of the price of what is replaced. Without it a cluster would never come to rest.
    pub least_saving: u64,
    /// The least saving an hour for each pod of ordinary importance that moves.
    pub least_saving_per_pod: MicroUsd,
    /// How many types must be cheaper before one Spot node replaces another; as many are listed.
    pub spot_types: usize,
    /// How much work one call may do: a pod placed or a node looked at is one.
    pub work: u64,
}

impl Default for Weights {
    fn default() -> Self {
        Self { least_saving: 30, least_saving_per_pod: MicroUsd(500), spot_types: 15, work: 2_000_000 }
    }
}

/// Nodes that go together, and what comes instead.
#[derive(Clone, Debug, PartialEq)]
pub struct Consolidation {
    /// Names of the nodes that go.
    pub nodes: Vec<String>,
    /// What is launched first.
    pub replacements: Vec<(PlannedNode, Arc<NodeClaimDraft>)>,
    /// Where pods go that need no new node, by node.
    pub existing: BTreeMap<String, Vec<ObjectName>>,
    /// How many pods move.
    pub pods_moved: usize,
    /// What it saves an hour.
    pub saved: MicroUsd,
}

/// What one call came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// What is to be done; each is safe by itself.
    pub consolidations: Vec<Consolidation>,
    /// Where the next call goes on, if the work was not enough to look at everything.
    pub cursor: Option<String>,
}

/// Decides which of the nodes that may go do. `cursor` is where the last call stopped, if it did.
pub(crate) fn plan(snapshot: &Snapshot, weights: &Weights, cursor: Option<&str>) -> Sweep {
    let scene = Scene::new(snapshot, &Plan::default());
    search::sweep(&scene, eligible::eligible(&scene), weights, cursor)
}
