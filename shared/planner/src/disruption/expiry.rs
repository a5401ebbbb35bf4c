//! Nodes that have reached their greatest age, within the budgets.
//!
//! A node that can't go for long all the same is ended by its lifecycle, at its hard latest date.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{DisruptionReason, Fnv1a, Kept, Node};

use super::candidate::{Candidate, Scene, Urgency};
use super::command::Decided;
use super::fixed;
use super::renew::renew;

/// Nodes whose birthdays are closer together than this were born together.
const TOGETHER: i64 = 600;
/// They are renewed up to so much before their time, each by another part of it.
const JITTER: SignedDuration = SignedDuration::from_hours(1);

/// Nodes that have reached their greatest age, oldest first, and why others that have stay. Budgets have no word for
/// this reason: those without reasons count.
pub(super) fn plan(scene: &Scene) -> (Vec<Decided>, Vec<Kept>) {
    let ours = || scene.snapshot.cluster.nodes.iter().enumerate().filter(|(_, node)| node.claim.is_some());
    let mut born: BTreeMap<(Option<&str>, i64), usize> = BTreeMap::new();
    for (_, node) in ours() {
        *born.entry(birth(node)).or_default() += 1;
    }
    let (mut wanted, mut stay) = (Vec::new(), Vec::new());
    for (index, node) in ours().filter(|(_, node)| !node.is_going()) {
        let alone = born.get(&birth(node)).is_none_or(|count| *count < 2);
        if scene.pool(node).is_none() || due(node, alone).is_none_or(|due| due > scene.snapshot.now) {
            continue;
        }
        let age = node.disruption.expire_after.unwrap_or_default();
        let why = format!("it has reached its greatest age, {age:#}");
        match scene.candidate(index, Urgency::Eventual) {
            Ok(candidate) => wanted.push((candidate, why)),
            Err(kept) => stay.push(Kept { message: format!("{why}, but {}", kept.message), ..kept }),
        }
    }
    wanted.sort_by_cached_key(|(candidate, _): &(Candidate, String)| {
        let node = scene.node(candidate.node);
        (node.created, node.name.clone())
    });
    let mut limits = scene.limits(None);
    let (fixed, wanted) = wanted.into_iter().partition(|(candidate, _)| scene.is_fixed(candidate));
    let (mut decided, kept) = fixed::renew(scene, fixed, DisruptionReason::Expired, &mut limits);
    stay.extend(kept);
    let (others, kept) = renew(scene, &wanted, DisruptionReason::Expired, &limits);
    decided.extend(others);
    stay.extend(kept);
    (decided, stay)
}

fn birth(node: &Node) -> (Option<&str>, i64) {
    (node.pool(), node.created.as_second().div_euclid(TOGETHER))
}

/// When a node is renewed. Nodes born together are given different times, none later than their greatest age.
fn due(node: &Node, alone: bool) -> Option<Timestamp> {
    let age = node.disruption.expire_after?;
    let end = node.created.checked_add(age).ok()?;
    if alone {
        return Some(end);
    }
    let most = (age / 100).min(JITTER).as_secs().max(1).unsigned_abs();
    let mut hash = Fnv1a::default();
    hash.write(node.name.bytes());
    let early = i64::try_from((hash.value() >> 20) % most).unwrap_or_default();
    end.checked_sub(SignedDuration::from_secs(early)).ok()
}
