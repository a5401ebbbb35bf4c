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

use jiff::SignedDuration;
use model::{DisruptionReason, Kept, MicroUsd, NodeClaimDraft, ObjectName, Plan, PlannedNode, Snapshot};

use super::candidate::{self, Candidate, Scene};
use super::command::{self, Decided};

/// How consolidation is weighed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Weights {
    /// The least saving, in thousandths of the price of what is replaced. Without it a cluster would never come to rest.
    pub least_saving: u64,
    /// What it is worth not to move a pod of ordinary importance.
    pub price_of_a_move: MicroUsd,
    /// For how long a saving counts at most; for less where the pods are younger.
    pub horizon: SignedDuration,
    /// For how long a node and what replaces it are both paid for.
    pub overlap: SignedDuration,
    /// How many types must be cheaper before one Spot node replaces another; as many are listed.
    pub spot_types: usize,
    /// How much work one call may do: a pod placed or a node looked at is one.
    pub work: u64,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            least_saving: 30,
            price_of_a_move: MicroUsd(500),
            horizon: SignedDuration::from_hours(1),
            overlap: SignedDuration::from_mins(2),
            spot_types: 15,
            work: 2_000_000,
        }
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
    /// Whether the work was not enough to look at everything. A look of another minute looks at other nodes.
    pub cut_short: bool,
    /// Why each node stays that does.
    pub kept: Vec<Kept>,
}

/// Decides which of the nodes that may go do.
pub(crate) fn plan(snapshot: &Snapshot, weights: &Weights) -> Sweep {
    let nominated = candidate::nominated(snapshot, &Plan::default());
    let scene = Scene::new(snapshot, &nominated);
    let (candidates, mut kept) = eligible::eligible(&scene);
    let mut sweep = search::sweep(&scene, candidates, weights);
    sweep.kept.append(&mut kept);
    sweep.kept.sort();
    sweep
}

/// The same as commands. Empty nodes are for `emptiness` to take or to leave.
pub(super) fn commands(scene: &Scene) -> (Vec<Decided>, Vec<Kept>) {
    let (mut candidates, mut stay) = eligible::eligible(scene);
    candidates.retain(|candidate| !scene.is_empty(scene.node(candidate.node)));
    let by_name: BTreeMap<&str, Candidate> = candidates
        .iter()
        .map(|candidate| (scene.node(candidate.node).name.as_str(), candidate.clone()))
        .collect();
    let sweep = search::sweep(scene, candidates, &Weights::default());
    let command = |consolidation: Consolidation| {
        let own = consolidation.nodes.iter().filter_map(|node| by_name.get(node.as_str()));
        let own: Vec<&Candidate> = own.collect();
        let why = match consolidation.replacements.len() {
            0 => "its pods have room on other nodes".to_owned(),
            _ => "its pods can be had cheaper".to_owned(),
        };
        command::replacement(scene, &own, DisruptionReason::Underutilized, why, consolidation.replacements)
    };
    stay.extend(sweep.kept);
    (sweep.consolidations.into_iter().map(command).collect(), stay)
}
