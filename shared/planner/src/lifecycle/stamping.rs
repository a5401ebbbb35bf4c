//! What NodeClaims and Nodes of other times, or of Karpenter, lack: hashes made our way, the label of their class, where
//! their machine is; and what they no longer say rightly of it.

use std::collections::BTreeMap;

use model::{Claim, ClaimChange, ClaimNode, Instance, NodeChange, SweepSnapshot, labels};

use super::adoption::surroundings;
use super::fallback::relabelled;
use super::registration::untouched;
use super::{DRIFTED, LAUNCHED};

/// What a NodeClaim is to be given, if it lacks anything.
///
/// Hashes that were made otherwise can't be compared with ours, so it is taken to be as its pool and class are now; but
/// one that has drifted already keeps the hashes by which it has, and stays drifted.
pub(super) fn of_claim(
    snapshot: &SweepSnapshot,
    claim: &Claim,
    machine: Option<&Instance>,
) -> Option<ClaimChange> {
    let mut change = claim.change();
    let pool = claim.pool.as_ref().and_then(|pool| snapshot.pools.get(pool));
    let class = snapshot.classes.get(&claim.node_class.name);
    // Until its machine is asked for it is of no state of its class.
    let class = class.filter(|_| claim.is(LAUNCHED));
    for (known, key, version) in [
        (pool, labels::NODEPOOL_HASH, labels::NODEPOOL_HASH_VERSION),
        (class, labels::NODECLASS_HASH, labels::NODECLASS_HASH_VERSION),
    ] {
        let Some(hash) = known else { continue };
        if claim.annotations.get(version).is_some_and(|written| written == labels::HASH_VERSION) {
            continue;
        }
        change.annotations.insert(version.to_owned(), labels::HASH_VERSION.to_owned());
        if !claim.is(DRIFTED) {
            change.annotations.insert(key.to_owned(), hash.clone());
        }
    }
    if claim.pool.is_some() {
        change.labels = class_label(claim, &claim.labels);
    }
    for (key, value) in machine.into_iter().flat_map(surroundings) {
        if claim.annotations.get(key) != Some(&value) {
            change.annotations.insert(key.to_owned(), value);
        }
    }
    let (labels, off) = relabelled(&claim.labels, machine);
    change.labels.extend(labels);
    change.labels_off = off;
    (claim.deleting.is_none() && !change.is_empty()).then_some(change)
}

/// What the Node of a NodeClaim is to be given, once it has joined.
pub(super) fn of_node(claim: &Claim, node: &ClaimNode, machine: Option<&Instance>) -> Option<NodeChange> {
    let joined = claim.node.as_ref() == Some(&node.name);
    let (mut labels, labels_off) = relabelled(&node.labels, machine);
    if claim.pool.is_some() {
        labels.extend(class_label(claim, &node.labels));
    }
    let due = joined && node.deleting.is_none() && claim.deleting.is_none() && !labels.is_empty();
    due.then(|| NodeChange { labels, labels_off, ..untouched(node) })
}

fn class_label(claim: &Claim, has: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let label = claim.node_class.label();
    let lacks = !claim.node_class.name.is_empty() && !has.contains_key(&label);
    lacks.then(|| (label, claim.node_class.name.clone())).into_iter().collect()
}
