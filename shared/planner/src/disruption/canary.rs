//! A new image is tried on one node first, where a pool asks for that (`journeyman.dev/canary-soak`): the others that have
//! drifted from theirs wait until one with the new image has been Ready for so long, and stay if it fails.
//!
//! Nothing is remembered but what is seen: which nodes run the image, how they do, and whether the pool's last launch with
//! it came to nothing.

use std::collections::BTreeSet;

use jiff::Timestamp;
use model::{
    Condition, ConditionStatus, DisruptionReason, Effect, EventKind, Node, NodePool, ObjectRef, Snapshot,
    labels,
};

use super::{drift, repair};

/// A NodePool's condition: how the image that its nodes are to have next does.
const CONDITION: &str = "CanaryHealthy";

/// How a new image stands with a pool.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Stand {
    /// Nodes may be replaced by ones that have it.
    Free,
    /// It is to be tried on one.
    First,
    /// It is being tried; how, as a clause.
    Tried(String),
    /// It has failed: in a word and as a clause.
    Failed(&'static str, String),
}

/// How an image stands that nodes of the pool would be launched with now.
pub(super) fn stand(snapshot: &Snapshot, pool: &NodePool, image: &str) -> Stand {
    let Some(soak) = pool.canary_soak else { return Stand::Free };
    let own: Vec<&Node> = snapshot.cluster.nodes.iter().filter(|node| node.is_of(pool)).collect();
    let living = || own.iter().filter(|node| !node.deleting);
    let with = || living().filter(|node| node.disruption.image.as_deref() == Some(image));
    let soaked = |node: &Node| ready_since(node)?.checked_add(soak).ok();
    if with().any(|node| soaked(node).is_some_and(|end| end <= snapshot.now)) {
        return Stand::Free;
    }
    let of_image = |failed: &Option<String>| failed.as_deref().is_none_or(|failed| failed == image);
    if let Some(trouble) = pool.trouble.as_ref().filter(|trouble| of_image(&trouble.image)) {
        return Stand::Failed("LaunchFailed", format!("{image} has failed, {}", trouble.cause));
    }
    if let Some((node, how)) = with().find_map(|node| Some((node, broken(node)?))) {
        return Stand::Failed("NodeFailed", format!("{image} has failed: {how} on {}", node.name));
    }
    if let Some(node) = with().next() {
        return Stand::Tried(match soaked(node) {
            Some(end) => format!("{image} is being tried on {} until {end}", node.name),
            None => format!("{} is starting with {image}", node.name),
        });
    }
    let starting = living().find(|node| node.provider_id.is_none() && !node.has_node);
    let drifts = |node: &&&Node| {
        let mark = node.disruption.mark.as_ref().filter(|_| node.is_going());
        mark.is_some_and(|mark| mark.reason == Some(DisruptionReason::Drifted))
    };
    match starting.or_else(|| own.iter().find(drifts)) {
        Some(node) => Stand::Tried(format!("{} comes first, so that {image} is tried", node.name)),
        None => Stand::First,
    }
}

/// Since when a node is at work without a break.
fn ready_since(node: &Node) -> Option<Timestamp> {
    if !node.initialized || broken(node).is_some() {
        return None;
    }
    match node.disruption.conditions.get("Ready") {
        Some((ConditionStatus::True, since)) => Some(node.created.max(*since)),
        Some(_) => None,
        None => Some(node.created),
    }
}

/// What is wrong with a node that should be at work by now.
fn broken(node: &Node) -> Option<String> {
    if node.disruption.annotations.contains_key(labels::OVERDUE) && !node.initialized {
        return Some("the Node was not ready for work in time".to_owned());
    }
    if !node.initialized {
        return None;
    }
    let fault = repair::fault(node)
        .map(|fault| format!("condition {} is {}", fault.condition, fault.status.as_str()));
    fault.or_else(|| node.disruption.not_ready.then(|| "the Node is not Ready".to_owned()))
}

/// The condition of each pool that asks for it while nodes are to get another image, where it has changed; that it has
/// failed is told in an event too.
pub(super) fn findings(snapshot: &Snapshot) -> Vec<Effect> {
    let mut effects = Vec::new();
    for pool in &snapshot.cluster.pools {
        if pool.canary_soak.is_none() && pool.canary.is_none() {
            continue;
        }
        let own = snapshot.cluster.nodes.iter().filter(|node| node.is_of(pool) && !node.deleting);
        let images: BTreeSet<&str> = own.filter_map(|node| drift::next_image(snapshot, node, pool)).collect();
        let stands = images.into_iter().map(|image| (stand(snapshot, pool, image), image));
        let worst = stands.max().filter(|_| pool.canary_soak.is_some());
        let found = worst.map(|(stand, image)| match stand {
            Stand::Free => (ConditionStatus::True, CONDITION, String::new()),
            Stand::First => (ConditionStatus::Unknown, "Awaited", format!("no node has {image} yet")),
            Stand::Tried(message) => (ConditionStatus::Unknown, "Soaking", message),
            Stand::Failed(reason, message) => (
                ConditionStatus::False,
                reason,
                format!(
                    "{message}; no more nodes are replaced for it. Another image, a change of the NodePool or its node \
                     class, or a node that does well with it goes on"
                ),
            ),
        });
        let known = pool.canary.as_ref().map(|(status, message)| (*status, message.as_str()));
        if found.as_ref().map(|(status, _, message)| (*status, message.as_str())) == known {
            continue;
        }
        if let Some((ConditionStatus::False, _, message)) = &found {
            effects.push(Effect::PublishEvent {
                about: ObjectRef::NodePool(pool.name.clone()),
                kind: EventKind::Warning,
                reason: "CanaryFailed".to_owned(),
                message: message.clone(),
            });
        }
        let condition = found.map(|(status, reason, message)| Condition {
            status,
            reason: reason.to_owned(),
            message,
            since: snapshot.now,
            generation: pool.generation,
        });
        effects.push(Effect::TellNodePool { pool: pool.name.clone(), kind: CONDITION.to_owned(), condition });
    }
    effects
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use model::{ClassFacts, LaunchTrouble, Requirements};

    use super::*;
    use crate::kit;

    /// A cluster of one node that is to get another image, of a pool that wants it tried for half an hour first.
    fn drifting() -> Snapshot {
        let mut old = kit::node("n1", "small");
        old.disruption.image = Some("ami-1".into());
        let mut snapshot = kit::snapshot(vec![old], Vec::new());
        snapshot.cluster.pools[0].canary_soak = Some(SignedDuration::from_mins(30));
        let images = vec![("ami-2".to_owned(), Requirements::new())];
        snapshot.cluster.classes.insert("default".into(), ClassFacts { images, ..ClassFacts::default() });
        snapshot
    }

    /// With a node that has the image, at work for so many minutes.
    fn with(minutes: i64, not_ready: bool) -> Snapshot {
        let mut snapshot = drifting();
        let mut new = kit::node("c1", "small");
        new.disruption.image = Some("ami-2".into());
        new.disruption.not_ready = not_ready;
        let since = snapshot.now - SignedDuration::from_mins(minutes);
        new.disruption.conditions.insert("Ready".into(), (ConditionStatus::True, since));
        snapshot.cluster.nodes.push(new);
        snapshot
    }

    fn told(snapshot: &Snapshot) -> Vec<String> {
        let line = |effect: Effect| match effect {
            Effect::TellNodePool { condition, .. } => condition.map_or_else(
                || "off".to_owned(),
                |told| format!("{} {}: {}", told.status.as_str(), told.reason, told.message),
            ),
            Effect::PublishEvent { reason, .. } => reason,
            other => panic!("{other:?}"),
        };
        findings(snapshot).into_iter().map(line).collect()
    }

    #[test]
    fn a_pool_is_told_how_its_next_image_does_and_only_what_is_new() {
        let mut failed = drifting();
        failed.cluster.pools[0].trouble =
            Some(LaunchTrouble { cause: "for so".into(), image: Some("ami-2".into()), held_until: None });
        let mut same = drifting();
        same.cluster.classes.clear();
        let mut unasked = drifting();
        unasked.cluster.pools[0].canary_soak = None;
        let goes_on = "no more nodes are replaced for it. Another image, a change of the NodePool or its node class, or a \
                       node that does well with it goes on";
        for (what, mut snapshot, expected) in [
            ("nobody has it", drifting(), vec!["Unknown Awaited: no node has ami-2 yet".to_owned()]),
            (
                "it is tried",
                with(10, false),
                vec!["Unknown Soaking: ami-2 is being tried on c1 until 2026-06-01T12:20:00Z".to_owned()],
            ),
            ("it does well", with(30, false), vec!["True CanaryHealthy: ".to_owned()]),
            (
                "it is broken",
                with(40, true),
                vec![
                    "CanaryFailed".to_owned(),
                    format!("False NodeFailed: ami-2 has failed: the Node is not Ready on c1; {goes_on}"),
                ],
            ),
            (
                "it never came",
                failed,
                vec![
                    "CanaryFailed".to_owned(),
                    format!("False LaunchFailed: ami-2 has failed, for so; {goes_on}"),
                ],
            ),
            ("all have it", same, vec![]),
            ("nobody asked", unasked, vec![]),
        ] {
            assert_eq!(told(&snapshot), expected, "{what}");
            let written = findings(&snapshot).into_iter().find_map(|effect| match effect {
                Effect::TellNodePool { condition, .. } => condition,
                _ => None,
            });
            let Some(written) = written else { continue };
            snapshot.cluster.pools[0].canary = Some((written.status, written.message));
            assert_eq!(told(&snapshot), Vec::<String>::new(), "{what}, written");
            snapshot.cluster.classes.clear();
            assert_eq!(told(&snapshot), ["off"], "{what}, and over");
        }
    }
}
