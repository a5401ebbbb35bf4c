//! Nodes that are no longer as their pool and class want them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{
    BudgetReason, ClassFacts, DisruptionReason, InstanceType, KeepCode, Kept, Node, NodePool, Requirements,
    Snapshot, labels,
};

use jiff::SignedDuration;

use super::canary::{self, Stand};
use super::candidate::{Candidate, Scene, Urgency, kept};
use super::command::Decided;
use super::fixed;
use super::renew::renew;

/// So often another node is chosen to try a new image, where one can't go.
const ATTEMPTS: usize = 4;
/// The list of types may be behind what was just launched.
const SETTLED: SignedDuration = SignedDuration::from_hours(1);

/// Drifted nodes that go, and why others that have drifted don't: first those without pods, then the oldest.
pub(super) fn plan(scene: &Scene) -> (Vec<Decided>, Vec<Kept>) {
    let (mut wanted, mut stay) = (Vec::new(), Vec::new());
    for (index, node) in scene.snapshot.cluster.nodes.iter().enumerate() {
        let Some(pool) = scene.pool(node).filter(|_| node.claim.is_some() && !node.is_going()) else {
            continue;
        };
        let Some((reason, detail)) = reason(scene.snapshot, node, pool) else { continue };
        let why = format!("it has drifted ({reason}): {detail}");
        match scene.candidate(index, Urgency::Eventual) {
            Ok(candidate) => wanted.push((candidate, why)),
            Err(kept) => stay.push(Kept { message: format!("{why}, but {}", kept.message), ..kept }),
        }
    }
    wanted.sort_by_cached_key(|(candidate, _): &(Candidate, String)| {
        let node = scene.node(candidate.node);
        (!candidate.pods.is_empty(), node.disruption.drifted.unwrap_or(node.created), node.name.clone())
    });
    let (decided, kept) = take_turns(scene, &wanted);
    stay.extend(kept);
    (decided, stay)
}

/// Of nodes that have drifted, most urgent first, those that go; where a new image is to be tried first, one of them.
fn take_turns(scene: &Scene, wanted: &[(Candidate, String)]) -> (Vec<Decided>, Vec<Kept>) {
    let mut stay = Vec::new();
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut trials: BTreeMap<(&str, &str), VecDeque<usize>> = BTreeMap::new();
    let mut stands: BTreeMap<(&str, &str), Stand> = BTreeMap::new();
    for (place, (candidate, why)) in wanted.iter().enumerate() {
        let node = scene.node(candidate.node);
        let pool = scene.pool(node);
        let Some((pool, image)) = pool.and_then(|pool| Some((pool, next_image(scene.snapshot, node, pool)?)))
        else {
            open.insert(place);
            continue;
        };
        let of = (pool.name.as_str(), image);
        match stands.entry(of).or_insert_with(|| canary::stand(scene.snapshot, pool, image)) {
            Stand::Free => drop(open.insert(place)),
            Stand::First => trials.entry(of).or_default().push_back(place),
            Stand::Tried(how) => stay.push(kept(node, KeepCode::Waiting, format!("{why}; {how}"))),
            Stand::Failed(_, how) => {
                stay.push(kept(node, KeepCode::CanaryFailed, format!("{why}, but {how}")))
            }
        }
    }
    for attempt in 1.. {
        let first = trials.values().filter_map(|places| places.front());
        let going: BTreeSet<usize> = open.iter().chain(first).copied().collect();
        let (decided, kept_now) = go(scene, going.into_iter().map(|place| wanted[place].clone()).collect());
        let gone: BTreeSet<usize> = decided.iter().flat_map(|decided| &decided.nodes).copied().collect();
        let mut again = false;
        for places in trials.values_mut().filter(|places| places.len() > 1 && attempt < ATTEMPTS) {
            let Some(first) = places.front().map(|&place| wanted[place].0.node) else { continue };
            if !gone.contains(&first) {
                stay.extend(kept_now.iter().find(|kept| kept.node == scene.node(first).name).cloned());
                places.pop_front();
                again = true;
            }
        }
        if !again {
            stay.extend(kept_now);
            for (&(pool, image), places) in &trials {
                stay.extend(places.iter().skip(1).map(|&place| {
                    let (candidate, why) = &wanted[place];
                    let message = format!(
                        "{why}; another node of NodePool {pool} goes first, so that {image} is tried"
                    );
                    kept(scene.node(candidate.node), KeepCode::Waiting, message)
                }));
            }
            return (decided, stay);
        }
    }
    (Vec::new(), stay)
}

/// Those of `wanted` that go within budgets, limits and room.
fn go(scene: &Scene, wanted: Vec<(Candidate, String)>) -> (Vec<Decided>, Vec<Kept>) {
    let mut stay = Vec::new();
    let mut limits = scene.limits(Some(BudgetReason::Drifted));
    let (fixed, wanted) = wanted.into_iter().partition(|(candidate, _)| scene.is_fixed(candidate));
    let (mut decided, kept) = fixed::renew(scene, fixed, DisruptionReason::Drifted, &mut limits);
    stay.extend(kept);
    let (others, kept) = renew(scene, &wanted, DisruptionReason::Drifted, &limits);
    decided.extend(others);
    stay.extend(kept);
    (decided, stay)
}

/// What a node has drifted by, in Karpenter's order and words.
pub(super) fn reason(snapshot: &Snapshot, node: &Node, pool: &NodePool) -> Option<(&'static str, String)> {
    let annotation = |key: &str| node.disruption.annotations.get(key).map(String::as_str);
    let hashed = |hash: &str, version: &str| Some((annotation(hash)?, annotation(version)?));
    if let Some((then, at)) = hashed(labels::NODEPOOL_HASH, labels::NODEPOOL_HASH_VERSION)
        && pool.hashes.get(at).is_some_and(|now| now != then)
    {
        return Some(("NodePoolDrifted", format!("the template of NodePool {} has changed", pool.name)));
    }
    if let Some(detail) = off_requirements(node, pool) {
        return Some(("RequirementsDrifted", detail));
    }
    let types = snapshot.catalogue.types.get(&pool.node_class.name).map(|types| types.as_slice());
    let name = node.labels.get(labels::INSTANCE_TYPE);
    let known = types.zip(name).and_then(|(types, name)| types.iter().find(|kind| kind.name == *name));
    let settled = snapshot.now.duration_since(node.created) > SETTLED;
    if let (Some(name), true) = (name, settled && types.is_some_and(|types| !types.is_empty()))
        && !known.is_some_and(|kind| is_offered(kind, node))
    {
        return Some(("InstanceTypeNotFound", format!("{name} is not on offer there any more")));
    }
    let class = snapshot.cluster.classes.get(&pool.node_class.name)?;
    if let (Some((now, how)), Some((then, at))) =
        (&class.hash, hashed(labels::NODECLASS_HASH, labels::NODECLASS_HASH_VERSION))
        && how == at
        && now != then
    {
        return Some(("NodeClassDrift", format!("node class {} has changed", pool.node_class.name)));
    }
    let (image, kind) = (node.disruption.image.as_ref()?, known?);
    let newest = newer(class, kind, image)?;
    Some(("AMIDrift", format!("its image is {image}, {newest} would be launched now")))
}

/// The image that would be launched now in a node's stead, if it is another than its own.
pub(super) fn next_image<'a>(snapshot: &'a Snapshot, node: &Node, pool: &NodePool) -> Option<&'a str> {
    let image = node.disruption.image.as_ref()?;
    let name = node.labels.get(labels::INSTANCE_TYPE)?;
    let kind = snapshot.catalogue.types.get(&pool.node_class.name)?.iter().find(|kind| kind.name == *name)?;
    newer(snapshot.cluster.classes.get(&pool.node_class.name)?, kind, image)
}

fn newer<'a>(class: &'a ClassFacts, kind: &InstanceType, image: &str) -> Option<&'a str> {
    // They come newest first, so the first that suits the type is the one that would be launched now.
    let mut suitable =
        class.images.iter().filter(|(_, requirements)| kind.requirements.intersects(requirements).is_ok());
    let (newest, _) = suitable.next()?;
    (newest != image).then_some(newest)
}

/// What the pool asks that the node's labels don't have.
fn off_requirements(node: &Node, pool: &NodePool) -> Option<String> {
    let has = Requirements::from_labels(&node.labels);
    let mut asked = pool.requirements.iter().filter(|(key, _)| *key != labels::USD_PER_HOUR);
    let (key, _) = asked.find(|(key, requirement)| match has.get(key).and_then(|has| has.single()) {
        Some(value) => !requirement.has(value),
        None => !requirement.allows_absence(),
    })?;
    let value = has.get(key).and_then(|has| has.single()).map_or("absent", |value| value);
    Some(format!("its label {key} is {value}, which NodePool {} no longer allows", pool.name))
}

/// Whether the type can be bought where the node is and how it was, sold out or not. A reserved node may have fallen back
/// to on-demand.
fn is_offered(kind: &InstanceType, node: &Node) -> bool {
    let zone = node.labels.get(labels::ZONE);
    let way = node.labels.get(labels::CAPACITY_TYPE).map(String::as_str);
    kind.offerings.iter().any(|offering| {
        let same = way.is_none_or(|way| {
            way == offering.capacity_type.as_str()
                || (way == "reserved" && offering.capacity_type.as_str() == "on-demand")
        });
        same && zone.is_none_or(|zone| *zone == offering.zone)
    })
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use model::{ClassFacts, Requirement};

    use super::*;
    use crate::kit;

    /// Takes a reason away.
    type Cure = fn(&mut Snapshot);

    #[test]
    fn drfc_08_of_several_reasons_the_first_is_told() {
        let mut snapshot = kit::snapshot(vec![kit::node("n1", "small")], Vec::new());
        let pool = &mut snapshot.cluster.pools[0];
        pool.hashes.insert("v3".into(), "2".into());
        pool.requirements.add(labels::ZONE, Requirement::is_in(["b"]));
        let images = vec![("ami-2".to_owned(), Requirements::new())];
        let facts = ClassFacts { hash: Some(("2".into(), "v4".into())), images };
        snapshot.cluster.classes.insert("default".into(), facts);
        let node = &mut snapshot.cluster.nodes[0];
        node.created -= SignedDuration::from_hours(1);
        node.labels.insert(labels::INSTANCE_TYPE.into(), "gone".into());
        node.disruption.image = Some("ami-1".into());
        for (key, value) in [
            (labels::NODEPOOL_HASH, "1"),
            (labels::NODEPOOL_HASH_VERSION, "v3"),
            (labels::NODECLASS_HASH, "1"),
            (labels::NODECLASS_HASH_VERSION, "v4"),
        ] {
            node.disruption.annotations.insert(key.into(), value.into());
        }
        let cures: [(&str, Cure); 5] = [
            ("NodePoolDrifted", |snapshot| snapshot.cluster.pools[0].hashes.clear()),
            ("RequirementsDrifted", |snapshot| snapshot.cluster.pools[0].requirements = Requirements::new()),
            ("InstanceTypeNotFound", |snapshot| {
                snapshot.cluster.nodes[0].labels.insert(labels::INSTANCE_TYPE.into(), "small".into());
            }),
            ("NodeClassDrift", |snapshot| {
                snapshot.cluster.nodes[0].disruption.annotations.remove(labels::NODECLASS_HASH);
            }),
            ("AMIDrift", |snapshot| snapshot.cluster.nodes[0].disruption.image = Some("ami-2".into())),
        ];
        let told = |snapshot: &Snapshot| {
            reason(snapshot, &snapshot.cluster.nodes[0], &snapshot.cluster.pools[0]).map(|(reason, _)| reason)
        };
        for (expected, cure) in cures {
            assert_eq!(told(&snapshot), Some(expected));
            cure(&mut snapshot);
        }
        assert_eq!(told(&snapshot), None);
    }
}
