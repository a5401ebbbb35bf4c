//! Nodes that are no longer as their pool and class want them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use model::{
    BudgetReason, ClassFacts, DisruptionReason, InstanceType, KeepCode, Kept, Node, NodePool, Requirements,
    Resolved, Snapshot, labels,
};

use jiff::SignedDuration;

use super::canary::{self, Stand};
use super::candidate::{Candidate, Scene, Urgency, kept};
use super::command::Decided;
use super::fixed;
use super::renew::renew;

/// So often another node is chosen to try a new image, where one can't go.
const ATTEMPTS: usize = 4;
const RESERVATION: &str = "CapacityReservationDrift";
/// A machine that its reservation has let go of is on demand from then on, and doesn't drift: so long that may take to be
/// written down.
const LET_GO: SignedDuration = SignedDuration::from_mins(3);
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
        let told = node.disruption.drifted.unwrap_or(scene.snapshot.now);
        if reason == RESERVATION && scene.snapshot.now.duration_since(told) < LET_GO {
            let message = format!("{why}; it is given {LET_GO:#} to fall back to on-demand");
            stay.push(kept(node, KeepCode::Waiting, message));
            continue;
        }
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
    if let (Some(image), Some(kind)) = (&node.disruption.image, known)
        && let Some(newest) = newer(class, kind, image)
    {
        return Some(("AMIDrift", format!("its image is {image}, {newest} would be launched now")));
    }
    placed_otherwise(class, node)
}

/// Where a node's machine is and what is around it that its class no longer says. What is not known of either is no drift.
fn placed_otherwise(class: &ClassFacts, node: &Node) -> Option<(&'static str, String)> {
    let annotation = |key: &str| node.disruption.annotations.get(key).map(String::as_str);
    let among = |known: &BTreeSet<String>| known.iter().cloned().collect::<Vec<_>>().join(", ");
    if let Some(has) = annotation(labels::SECURITY_GROUPS)
        && !class.security_groups.is_empty()
        && !has.split(',').eq(&class.security_groups)
    {
        let wanted = among(&class.security_groups);
        let has = has.replace(',', ", ");
        return Some((
            "SecurityGroupDrift",
            format!("its security groups are {has}, its class has {wanted}"),
        ));
    }
    if let Some(has) = annotation(labels::SUBNET)
        && !class.subnets.is_empty()
        && !class.subnets.contains(has)
    {
        let wanted = among(&class.subnets);
        return Some(("SubnetDrift", format!("its subnet is {has}, its class has {wanted}")));
    }
    if let Some(has) = node.labels.get(labels::RESERVATION_ID)
        && !class.reservations.contains(has)
    {
        return Some((RESERVATION, format!("its capacity reservation {has} is none of its class any more")));
    }
    let has = node.labels.get(labels::PLACEMENT_GROUP_ID);
    let detail = match (&class.placement_group, has) {
        (Resolved::Found(wanted), Some(has)) if wanted != has => {
            format!("its placement group is {has}, its class has {wanted}")
        }
        (Resolved::Found(wanted), None) => format!("it is in no placement group, its class has {wanted}"),
        (Resolved::Unasked, Some(has)) => format!("its placement group is {has}, its class has none"),
        _ => return None,
    };
    Some(("PlacementGroupDrift", detail))
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
        let facts = ClassFacts {
            hash: Some(("2".into(), "v4".into())),
            images,
            subnets: ["subnet-2".into()].into(),
            security_groups: ["sg-1".into(), "sg-2".into()].into(),
            reservations: ["cr-2".into()].into(),
            placement_group: Resolved::Found("pg-2".into()),
        };
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
            (labels::SECURITY_GROUPS, "sg-1,sg-3"),
            (labels::SUBNET, "subnet-1"),
        ] {
            node.disruption.annotations.insert(key.into(), value.into());
        }
        node.labels.insert(labels::RESERVATION_ID.into(), "cr-1".into());
        node.labels.insert(labels::PLACEMENT_GROUP_ID.into(), "pg-1".into());
        let cures: [(&str, Cure); 9] = [
            ("NodePoolDrifted", |snapshot| snapshot.cluster.pools[0].hashes.clear()),
            ("RequirementsDrifted", |snapshot| snapshot.cluster.pools[0].requirements = Requirements::new()),
            ("InstanceTypeNotFound", |snapshot| {
                snapshot.cluster.nodes[0].labels.insert(labels::INSTANCE_TYPE.into(), "small".into());
            }),
            ("NodeClassDrift", |snapshot| {
                snapshot.cluster.nodes[0].disruption.annotations.remove(labels::NODECLASS_HASH);
            }),
            ("AMIDrift", |snapshot| snapshot.cluster.nodes[0].disruption.image = Some("ami-2".into())),
            ("SecurityGroupDrift", |snapshot| {
                let annotations = &mut snapshot.cluster.nodes[0].disruption.annotations;
                annotations.insert(labels::SECURITY_GROUPS.into(), "sg-1,sg-2".into());
            }),
            ("SubnetDrift", |snapshot| {
                let annotations = &mut snapshot.cluster.nodes[0].disruption.annotations;
                annotations.insert(labels::SUBNET.into(), "subnet-2".into());
            }),
            ("CapacityReservationDrift", |snapshot| {
                snapshot.cluster.nodes[0].labels.remove(labels::RESERVATION_ID);
            }),
            ("PlacementGroupDrift", |snapshot| {
                snapshot.cluster.nodes[0].labels.insert(labels::PLACEMENT_GROUP_ID.into(), "pg-2".into());
            }),
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

    #[test]
    fn d201_where_a_machine_is_and_what_is_around_it() {
        let class = |change: fn(&mut ClassFacts)| {
            let mut facts = ClassFacts {
                subnets: ["subnet-1".into(), "subnet-2".into()].into(),
                security_groups: ["sg-1".into(), "sg-2".into()].into(),
                ..ClassFacts::default()
            };
            change(&mut facts);
            facts
        };
        let (groups, subnet) = (labels::SECURITY_GROUPS, labels::SUBNET);
        let (reservation, group) = (labels::RESERVATION_ID, labels::PLACEMENT_GROUP_ID);
        for (case, written, class, expected) in [
            ("as it should be", vec![(groups, "sg-1,sg-2"), (subnet, "subnet-2")], class(|_| ()), None),
            ("one group too few", vec![(groups, "sg-1")], class(|_| ()), Some("SecurityGroupDrift")),
            ("one too many", vec![(groups, "sg-1,sg-2,sg-3")], class(|_| ()), Some("SecurityGroupDrift")),
            ("groups are not known", vec![], class(|_| ()), None),
            (
                "the class's are not",
                vec![(groups, "sg-9")],
                class(|class| class.security_groups.clear()),
                None,
            ),
            ("another subnet", vec![(subnet, "subnet-9")], class(|_| ()), Some("SubnetDrift")),
            (
                "the class's are not known",
                vec![(subnet, "subnet-9")],
                class(|class| class.subnets.clear()),
                None,
            ),
            (
                "a reservation",
                vec![(reservation, "cr-1")],
                class(|class| class.reservations = ["cr-1".into()].into()),
                None,
            ),
            (
                "no more selected",
                vec![(reservation, "cr-1")],
                class(|_| ()),
                Some("CapacityReservationDrift"),
            ),
            ("a group nobody has looked for", vec![(group, "pg-1")], class(|_| ()), None),
            (
                "none wanted",
                vec![(group, "pg-1")],
                class(|class| class.placement_group = Resolved::Unasked),
                Some("PlacementGroupDrift"),
            ),
            (
                "one wanted",
                vec![],
                class(|class| class.placement_group = Resolved::Found("pg-1".into())),
                Some("PlacementGroupDrift"),
            ),
        ] {
            let mut node = kit::node("n1", "small");
            for (key, value) in written {
                let at = if key.starts_with("journeyman.dev") {
                    &mut node.disruption.annotations
                } else {
                    &mut node.labels
                };
                at.insert(key.into(), value.into());
            }
            assert_eq!(placed_otherwise(&class, &node).map(|(reason, _)| reason), expected, "{case}");
        }
    }
}
