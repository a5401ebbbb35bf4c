//! Nodes that go though they are needed: their pods get room first, on nodes that stay or on new ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{DisruptionReason, Effect, KeepCode, Kept, NodeClaimDraft, ObjectName, Plan, PlannedNode};

use super::candidate::{Candidate, Limits, Scene, first_homeless, kept};
use super::command::{self, Decided};
use crate::provision;

/// So often a set is tried again without those that have no other place.
const ATTEMPTS: usize = 4;

/// Of `wanted`, most urgent first and each with what made it so, as many as limits and room let.
pub(super) fn renew(
    scene: &Scene,
    wanted: &[(Candidate, String)],
    reason: DisruptionReason,
    limits: &Limits,
) -> (Vec<Decided>, Vec<Kept>) {
    let mut dropped: BTreeMap<usize, Kept> = BTreeMap::new();
    for _ in 0..ATTEMPTS {
        let mut left = limits.clone();
        let mut stay: BTreeMap<usize, Kept> = dropped.clone();
        let mut chosen: Vec<usize> = Vec::new();
        for (place, (candidate, why)) in wanted.iter().enumerate() {
            if dropped.contains_key(&place) {
                continue;
            }
            let node = scene.node(candidate.node);
            match left.take(node, candidate) {
                Ok(()) => chosen.push(place),
                Err((code, message)) => {
                    stay.insert(place, kept(node, code, format!("{why}, but {message}")));
                }
            }
        }
        if chosen.is_empty() {
            return (Vec::new(), stay.into_values().collect());
        }
        let mut without = scene.snapshot.clone();
        chosen.iter().for_each(|&place| without.cluster.nodes[wanted[place].0.node].deleting = true);
        let (moved, homeless) = provision::rehouse(&without);
        let bad = unfit(scene, wanted, &chosen, &moved, &homeless);
        if bad.is_empty() {
            return (commands(scene, wanted, &chosen, &moved, reason), stay.into_values().collect());
        }
        dropped.extend(bad);
    }
    // What is left is looked at again by the next run, which begins without those that have just been dropped.
    let kept_all = wanted.iter().enumerate().map(|(place, (candidate, why))| {
        let message = format!("{why}; it is looked at again");
        let waits = || kept(scene.node(candidate.node), KeepCode::Waiting, message);
        dropped.remove(&place).unwrap_or_else(waits)
    });
    (Vec::new(), kept_all.collect())
}

/// Those of `chosen` whose pods have no place to go to now, and why.
fn unfit(
    scene: &Scene,
    wanted: &[(Candidate, String)],
    chosen: &[usize],
    moved: &Plan,
    homeless: &[usize],
) -> BTreeMap<usize, Kept> {
    let homeless: BTreeSet<usize> = homeless.iter().copied().collect();
    // A pod must be able to run where it goes, and who knows whether a node that is coming will ever come.
    let coming = scene.snapshot.cluster.nodes.iter().filter(|node| !node.initialized);
    let waits: BTreeSet<&ObjectName> =
        coming.filter_map(|node| moved.existing.get(&node.name)).flatten().collect();
    let mut bad = BTreeMap::new();
    for &place in chosen {
        let (candidate, why) = &wanted[place];
        let node = scene.node(candidate.node);
        if let Some(pod) = first_homeless(scene.snapshot, &candidate.pods, &homeless) {
            let message = format!("{why}, but pod {pod} has no other place");
            bad.insert(place, kept(node, KeepCode::NoRoom, message));
        } else if candidate.pods.iter().any(|&pod| waits.contains(&scene.pod(pod).name)) {
            let message = format!("{why}; its pods wait for a node that is coming");
            bad.insert(place, kept(node, KeepCode::Waiting, message));
        }
    }
    bad
}

/// Nodes that go together, by place, and what replaces them.
type Group = (BTreeSet<usize>, Vec<(PlannedNode, Arc<NodeClaimDraft>)>);

/// A command for each set of nodes whose pods meet on new nodes.
fn commands(
    scene: &Scene,
    wanted: &[(Candidate, String)],
    chosen: &[usize],
    moved: &Plan,
    reason: DisruptionReason,
) -> Vec<Decided> {
    let mut owner: BTreeMap<&ObjectName, usize> = BTreeMap::new();
    for &place in chosen {
        owner.extend(wanted[place].0.pods.iter().map(|&pod| (&scene.pod(pod).name, place)));
    }
    let drafts: BTreeMap<&str, &Arc<NodeClaimDraft>> = moved
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::CreateNodeClaim(draft) => Some((draft.name.as_str(), draft)),
            _ => None,
        })
        .collect();
    let mut groups: Vec<Group> = chosen.iter().map(|&place| ([place].into(), Vec::new())).collect();
    for node in &moved.nodes {
        let owners: BTreeSet<usize> = node.pods.iter().filter_map(|pod| owner.get(pod).copied()).collect();
        // One that only pending pods need is another plan's.
        let Some(draft) = drafts.get(node.name.as_str()).filter(|_| !owners.is_empty()) else { continue };
        let (mut met, rest): (Vec<_>, Vec<_>) =
            groups.into_iter().partition(|(places, _)| !places.is_disjoint(&owners));
        let mut whole = (BTreeSet::new(), vec![(node.clone(), Arc::clone(draft))]);
        for (places, nodes) in &mut met {
            whole.0.append(places);
            whole.1.append(nodes);
        }
        groups = rest;
        groups.push(whole);
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    let mut decided = Vec::new();
    for (places, mut replacements) in groups {
        replacements.sort_by(|a, b| a.0.name.cmp(&b.0.name));
        let candidates: Vec<&Candidate> = places.iter().map(|&place| &wanted[place].0).collect();
        let why: BTreeSet<&str> = places.iter().map(|&place| wanted[place].1.as_str()).collect();
        let why = why.into_iter().collect::<Vec<_>>().join("; ");
        decided.push(command::replacement(scene, &candidates, reason, why, replacements));
    }
    decided
}
