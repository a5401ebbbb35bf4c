//! Which NodeClaims are launched together.

use std::collections::BTreeSet;

use model::{Catalogue, Cluster, MicroUsd, NodePool, Offering, Pod, PodSpec, Settings};

use super::*;
use crate::{PROVISION, decide, kit};

fn kind(name: &str, cpu: i64) -> InstanceType {
    let offering = |zone: &str| Offering {
        zone: zone.into(),
        zone_id: None,
        capacity_type: CapacityType::OnDemand,
        price: MicroUsd(cpu.unsigned_abs()),
        available: true,
        unsteady: false,
        reservation: None,
    };
    let mut requirements = Requirements::new();
    requirements.add(labels::INSTANCE_TYPE, Requirement::is_in([name]));
    requirements.add(labels::ZONE, Requirement::is_in(["a", "b"]));
    InstanceType {
        name: name.into(),
        requirements,
        capacity: [("cpu", cpu), ("pods", 1)]
            .map(|(name, amount)| (name, model::Quantity::from_units(amount)))
            .into_iter()
            .collect(),
        overhead: Resources::new(),
        offerings: vec![offering("a"), offering("b")],
    }
}

fn pod(name: &str, cpu: i64, zone: Option<&str>) -> Pod {
    let requests =
        [("cpu", cpu), ("pods", 1)].map(|(name, amount)| (name, model::Quantity::from_units(amount)));
    let zone = zone.map(|zone| (labels::ZONE.to_owned(), Requirement::is_in([zone])));
    let spec = PodSpec {
        requests: requests.into_iter().collect(),
        node_selector: zone.into_iter().collect(),
        ..PodSpec::default()
    };
    Pod { spec: Arc::new(spec), ..kit::pod(name) }
}

fn snapshot(pods: Vec<Pod>) -> Snapshot {
    let pool = NodePool { name: "default".into(), ..NodePool::default() };
    let types = Arc::new(vec![kind("small", 2), kind("large", 8)]);
    Snapshot {
        now: "2026-06-01T12:00:00Z".parse().unwrap(),
        settings: Settings::default(),
        cluster: Cluster { pools: vec![pool], pods, ..Cluster::default() },
        catalogue: Catalogue { types: [(String::new(), types)].into(), ..Catalogue::default() },
    }
}

/// For each launch group its NodeClaims.
fn groups(snapshot: &Snapshot) -> BTreeMap<String, Vec<String>> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for effect in decide(snapshot, PROVISION).effects {
        if let Effect::CreateNodeClaim(draft) = effect {
            groups
                .entry(draft.annotations[labels::LAUNCH_GROUP].clone())
                .or_default()
                .push(draft.name.clone());
        }
    }
    groups
}

/// How many NodeClaims each launch group has, smallest first.
fn sizes(snapshot: &Snapshot) -> Vec<usize> {
    let mut sizes: Vec<usize> = groups(snapshot).values().map(Vec::len).collect();
    sizes.sort_unstable();
    sizes
}

#[test]
fn nodes_that_are_alike_are_launched_together() {
    // One pod a node: three that may be anything, one that must be large, two in one zone.
    let pods = vec![
        pod("a1", 1, None),
        pod("a2", 2, None),
        pod("a3", 1, None),
        pod("b1", 4, None),
        pod("c1", 1, Some("a")),
        pod("c2", 1, Some("a")),
    ];
    let mut snapshot = snapshot(pods);
    assert_eq!(sizes(&snapshot), [1, 2, 3]);
    let before = groups(&snapshot);
    snapshot.cluster.pods.reverse();
    assert_eq!(groups(&snapshot), before);

    // The same NodeClaims another time are another launch.
    snapshot.now = "2026-06-01T12:00:01Z".parse().unwrap();
    let after = groups(&snapshot);
    let names = |groups: &BTreeMap<String, Vec<String>>| groups.values().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(&after), names(&before));
    assert!(after.keys().all(|group| !before.contains_key(group)));
}

#[test]
fn a_launch_group_has_at_most_a_hundred_nodes() {
    let pods = (0..250).map(|index| pod(&format!("p{index}"), 1, None)).collect();
    assert_eq!(sizes(&snapshot(pods)), [50, 100, 100]);
}

#[test]
fn claims_carry_the_hash_of_their_pool_and_the_pods_they_are_for() {
    let mut snapshot = snapshot(vec![pod("a1", 1, None)]);
    let annotations = |snapshot: &Snapshot| -> Vec<String> {
        let drafts = decide(snapshot, PROVISION).effects.into_iter().filter_map(|effect| match effect {
            Effect::CreateNodeClaim(draft) => Some(draft),
            _ => None,
        });
        let wanted = [labels::NODEPOOL_HASH, labels::NODEPOOL_HASH_VERSION, labels::PLANNED_PODS];
        let told = |draft: Arc<NodeClaimDraft>| {
            wanted.map(|key| draft.annotations.get(key).cloned().unwrap_or_default()).join(" ")
        };
        drafts.map(told).collect()
    };
    assert_eq!(annotations(&snapshot), ["  "]);
    let hashes = [("v3", "1"), (labels::HASH_VERSION, "2")];
    snapshot.cluster.pools[0].hashes = hashes.map(|(at, hash)| (at.to_owned(), hash.to_owned())).into();
    assert_eq!(annotations(&snapshot), [format!("2 {} ", labels::HASH_VERSION)]);
    snapshot.settings.nominate = true;
    assert_eq!(annotations(&snapshot), [format!("2 {} default/a1", labels::HASH_VERSION)]);
}

#[test]
fn a_plan_of_many_pods_is_cut_between_two_of_them() {
    let name = "p".repeat(100);
    let pods: Vec<_> = (0..1000).map(|_| model::ObjectName::new("default", &name)).collect();
    let text = planned(&pods);
    assert!(text.len() <= LONGEST_PLAN && text.len() > LONGEST_PLAN - 200, "{}", text.len());
    assert!(text.split(',').all(|pod| pod == format!("default/{name}")));
}
