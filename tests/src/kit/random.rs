//! Small snapshots with everything in them, by chance.

use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    CapacityType, HostPort, InstanceType, LaunchTrouble, MicroUsd, MinValuesPolicy, Node, NodePool, Pod,
    PodSpec, PoolStatus, Quantity, Requirement, Requirements, Snapshot, TaintEffect, Volume, Weighted,
    labels,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::build::{
    ZONES, amounts, bound, daemon, instance_type, node, now, pod, pool, reserve, snapshot, spread, taint,
    term, toleration,
};

const APPS: [&str; 3] = ["web", "db", "job"];
const KEYS: [&str; 3] = [labels::ZONE, labels::HOSTNAME, labels::CAPACITY_TYPE];

fn one(key: &str, requirement: Requirement) -> Requirements {
    [(key.to_owned(), requirement)].into_iter().collect()
}

/// Some of the zones, at least one.
fn zones() -> impl Strategy<Value = Vec<&'static str>> {
    (1_usize..8).prop_map(|mask| (0..3).filter(|bit| mask >> bit & 1 == 1).map(|bit| ZONES[bit]).collect())
}

/// Cores, GiB a core, zones, price in percent of the usual, arm64, reserved instances, which offerings are sold out.
type TypeShape = (i64, i64, Vec<&'static str>, u64, bool, Option<u32>, u8);

fn types() -> impl Strategy<Value = Vec<InstanceType>> {
    let shape = (
        select(vec![1_i64, 2, 4, 8, 16]),
        select(vec![2_i64, 4, 8]),
        zones(),
        80_u64..121,
        any::<bool>(),
        prop::option::weighted(0.15, 0_u32..3),
        any::<u8>(),
    );
    vec(shape, 3..=12).prop_map(|shapes| {
        let build = |(index, shape): (usize, TypeShape)| {
            let (cores, ratio, zones, percent, arm, reserved, sold_out) = shape;
            let price = (cores as u64 * 30_000 + (cores * ratio) as u64 * 4_000) * percent / 100;
            let family = ["c5", "m5", "r5"][index % 3];
            let mut kind = instance_type(&format!("{family}.s{index}"), cores, cores * ratio, price, &zones);
            if arm {
                kind.requirements.replace(labels::ARCH, Requirement::is_in(["arm64"]));
            }
            for (place, offering) in kind.offerings.iter_mut().enumerate() {
                // One in four is sold out.
                offering.available = sold_out.rotate_left(place as u32) & 3 != 0;
            }
            match reserved {
                Some(remaining) => reserve(kind, &format!("cr-{index}"), remaining),
                None => kind,
            }
        };
        shapes.into_iter().enumerate().map(build).collect()
    })
}

fn requirement() -> impl Strategy<Value = (String, Requirement)> {
    prop_oneof![
        zones().prop_map(|zones| (labels::ZONE.into(), Requirement::is_in(zones))),
        select(vec!["amd64", "arm64"]).prop_map(|arch| (labels::ARCH.into(), Requirement::is_in([arch]))),
        select(vec!["on-demand", "spot"])
            .prop_map(|way| (labels::CAPACITY_TYPE.into(), Requirement::is_in([way]))),
        (1_i64..9).prop_map(|most| {
            ("karpenter.k8s.aws/instance-cpu".into(), Requirement::within(None, Some(most)))
        }),
        (20_000_i64..400_000)
            .prop_map(|most| (labels::USD_PER_HOUR.into(), Requirement::within(None, Some(most)))),
    ]
}

/// Weight, requirements, taint, how it sets `team`, limits, minValues, price limit, broken.
type PoolShape = (
    u32,
    Vec<(String, Requirement)>,
    Option<TaintEffect>,
    &'static str,
    Option<(i64, i64, bool)>,
    Option<u32>,
    Option<u64>,
    bool,
    Option<i64>,
);

fn pools() -> impl Strategy<Value = Vec<NodePool>> {
    let shape = (
        0_u32..3,
        vec(requirement(), 0..3),
        prop::option::weighted(0.3, select(vec![TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule])),
        select(vec!["", "", "label", "choice", "any"]),
        prop::option::weighted(0.3, (1_i64..40, 1_i64..6, any::<bool>())),
        prop::option::weighted(0.2, 1_u32..4),
        prop::option::weighted(0.2, 50_000_u64..1_000_000),
        prop::bool::weighted(0.1),
        prop::option::weighted(0.15, select(vec![-60_i64, 60])),
    );
    vec(shape, 1..=4).prop_map(|shapes| {
        let build = |(index, shape): (usize, PoolShape)| {
            let (weight, requirements, tainted, team, limits, least, price, broken, held) = shape;
            let mut built = pool(&format!("pool-{index}"));
            built.weight = weight;
            for (key, requirement) in requirements {
                built.requirements.add(&key, requirement);
            }
            if let Some(effect) = tainted {
                built.taints.push(taint("dedicated", effect));
            }
            match team {
                "label" => drop(built.labels.insert("team".into(), "a".into())),
                "choice" => built.requirements.add("team", Requirement::is_in(["a", "b"])),
                "any" => built.requirements.add("team", Requirement::exists()),
                _ => {}
            }
            if let Some((cores, nodes, by_nodes)) = limits {
                let (name, most) = if by_nodes { ("nodes", nodes) } else { ("cpu", cores) };
                built.limits.set(name, Quantity::from_units(most));
            }
            if let Some(least) = least {
                let some = Requirement::exists().with_min_values(Some(least));
                built.requirements.add(labels::INSTANCE_TYPE, some);
            }
            built.price_limit = price.map(MicroUsd);
            if broken {
                built.status = PoolStatus::NotReady("its class is not ready".into());
            }
            built.trouble = held.map(|seconds| LaunchTrouble {
                cause: "for its last launches came to nothing".into(),
                image: None,
                held_until: Some(now() + SignedDuration::from_secs(seconds)),
            });
            built
        };
        shapes.into_iter().enumerate().map(build).collect()
    })
}

/// A spec and the zones that its pods' volume can be in, if they have one.
type Shape = (Arc<PodSpec>, Option<(Vec<&'static str>, bool)>);

fn neighbours() -> impl Strategy<Value = PodSpec> {
    let topology = || (select(KEYS.to_vec()), select(APPS.to_vec()));
    let spreads =
        (topology(), 1_u32..3, prop::bool::weighted(0.8), prop::option::of(1_u32..4), any::<bool>());
    (
        vec(spreads, 0..2),
        prop::option::weighted(0.15, topology()),
        prop::option::weighted(0.2, topology()),
        prop::option::weighted(0.2, (topology(), any::<bool>())),
    )
        .prop_map(|(spreads, near, apart, preferred)| {
            let mut spec = PodSpec::default();
            for ((key, app), max_skew, hard, min_domains, honor_taints) in spreads {
                let min_domains = min_domains.filter(|_| hard);
                spec.spread.push(model::Spread {
                    hard,
                    min_domains,
                    honor_taints,
                    ..spread(key, max_skew, app)
                });
            }
            spec.affinity.extend(near.map(|(key, app)| term(key, app)));
            spec.anti_affinity.extend(apart.map(|(key, app)| term(key, app)));
            if let Some(((key, app), near)) = preferred {
                let weighted = Weighted { weight: 10, term: term(key, app) };
                if near {
                    spec.preferred_affinity.push(weighted)
                } else {
                    spec.preferred_anti_affinity.push(weighted)
                }
            }
            spec
        })
}

/// A label with what is asked of it.
type Label = (String, Requirement);
/// App, cpu, memory, selector, terms, preference, team, tolerates, neighbours, port, volume.
type SpecShape = (
    &'static str,
    &'static str,
    &'static str,
    Option<Label>,
    Vec<Label>,
    Option<Label>,
    Option<&'static str>,
    bool,
    PodSpec,
    Option<u16>,
    Option<(Vec<&'static str>, bool)>,
);

fn specs() -> impl Strategy<Value = Vec<Shape>> {
    let shape = (
        select(APPS.to_vec()),
        select(vec!["50m", "250m", "500m", "1", "1900m", "3"]),
        select(vec!["64Mi", "512Mi", "1Gi", "3Gi", "7Gi"]),
        prop::option::weighted(0.3, requirement()),
        vec(requirement(), 0..3),
        prop::option::weighted(0.2, requirement()),
        prop::option::weighted(0.2, select(vec!["a", "b", "c"])),
        prop::bool::weighted(0.4),
        prop_oneof![2 => Just(PodSpec::default()), 3 => neighbours()],
        prop::option::weighted(0.15, 8_080_u16..8_082),
        prop::option::weighted(0.2, (zones(), any::<bool>())),
    );
    let build = |shape: SpecShape| {
        let (app, cpu, memory, selects, terms, prefers, team, tolerates, mut spec, port, volume) = shape;
        spec.labels.insert("app".into(), app.into());
        spec.requests = amounts(cpu, memory);
        if let Some((key, requirement)) = selects.filter(|(key, _)| key != labels::USD_PER_HOUR) {
            spec.node_selector.add(&key, requirement);
        }
        if let Some(team) = team {
            spec.node_selector.add("team", Requirement::is_in([team]));
        }
        spec.required = terms.into_iter().map(|(key, requirement)| one(&key, requirement)).collect();
        let prefers = prefers.map(|(key, requirement)| Weighted { weight: 5, term: one(&key, requirement) });
        spec.preferred.extend(prefers);
        if tolerates {
            spec.tolerations.push(toleration("dedicated"));
        }
        spec.host_ports.extend(port.map(|port| HostPort {
            ip: "0.0.0.0".into(),
            port,
            protocol: "TCP".into(),
        }));
        (Arc::new(spec), volume)
    };
    vec(shape.prop_map(build), 1..=6)
}

fn make(name: &str, shape: &Shape) -> Pod {
    let (spec, volume) = shape;
    let mut pod = pod(name, "0", "0");
    pod.spec = Arc::clone(spec);
    if let Some((zones, shared)) = volume {
        pod.volumes.push(Volume {
            claim: format!("default/{}", if *shared { "shared" } else { name }),
            driver: Some("ebs.csi.aws.com".into()),
            alternatives: zones.iter().map(|zone| one(labels::ZONE, Requirement::is_in([*zone]))).collect(),
            fault: None,
        });
    }
    pod
}

/// Type, zone, Spot, pool, deleting, limited volumes, the specs of its pods.
type NodeShape = (Index, Index, bool, Option<Index>, bool, bool, Vec<Index>);

fn existing(
    shapes: Vec<NodeShape>,
    types: &[InstanceType],
    pools: &[NodePool],
    specs: &[Shape],
) -> (Vec<Node>, Vec<Pod>) {
    let (mut nodes, mut pods) = (Vec::new(), Vec::new());
    for (index, (kind, zone, spot, owner, deleting, limited, held)) in shapes.into_iter().enumerate() {
        let name = format!("node-{index}");
        let way = if spot { CapacityType::Spot } else { CapacityType::OnDemand };
        let owner = owner.map(|owner| owner.get(pools));
        let mut built = node(&name, kind.get(types), ZONES[zone.index(3)], way, owner);
        built.deleting = deleting;
        if limited {
            built.volume_limits.insert("ebs.csi.aws.com".into(), 1);
        }
        nodes.push(built);
        for (place, spec) in held.into_iter().enumerate() {
            pods.push(bound(make(&format!("old-{index}-{place}"), spec.get(specs)), &name));
        }
    }
    (nodes, pods)
}

/// Small snapshots, rich in kinds: pools with weights, taints, labels and limits, odd types, nodes with pods, DaemonSets,
/// and pods that ask for everything a pod can ask.
pub fn snapshots() -> impl Strategy<Value = Snapshot> {
    let held = vec(any::<Index>(), 0..4);
    let node = (
        any::<Index>(),
        any::<Index>(),
        any::<bool>(),
        prop::option::of(any::<Index>()),
        prop::bool::weighted(0.2),
        any::<bool>(),
        held,
    );
    let daemons = vec((select(vec!["50m", "200m"]), any::<bool>(), prop::option::of(requirement())), 0..3);
    let settings = (any::<bool>(), select(vec![0_u64, 0, 5_000]));
    (pools(), types(), specs(), vec(any::<Index>(), 1..=30), vec(node, 0..=6), daemons, settings).prop_map(
        |(pools, types, specs, pending, nodes, daemons, (best_effort, fee))| {
            let (nodes, mut pods) = existing(nodes, &types, &pools, &specs);
            let pending = pending.iter().enumerate();
            pods.extend(pending.map(|(index, spec)| make(&format!("pod-{index:02}"), spec.get(&specs))));
            let mut snapshot = snapshot(pools, types, pods);
            snapshot.cluster.nodes = nodes;
            for (index, (cpu, tolerates, selects)) in daemons.into_iter().enumerate() {
                let mut set = daemon(&format!("daemon-{index}"), cpu, "64Mi");
                let spec = Arc::make_mut(&mut set.spec);
                if tolerates {
                    spec.tolerations.push(toleration("dedicated"));
                }
                spec.required.extend(selects.map(|(key, requirement)| one(&key, requirement)));
                snapshot.cluster.daemon_sets.push(set);
            }
            if best_effort {
                snapshot.settings.min_values = MinValuesPolicy::BestEffort;
            }
            snapshot.settings.fee_per_node = MicroUsd(fee);
            snapshot
        },
    )
}

/// The same snapshot with every list whose order means nothing in another order.
pub fn shuffle(mut snapshot: Snapshot, seed: u64) -> Snapshot {
    let mut state = seed | 1;
    let cluster = &mut snapshot.cluster;
    mix(&mut cluster.pools, &mut state);
    mix(&mut cluster.nodes, &mut state);
    mix(&mut cluster.pods, &mut state);
    mix(&mut cluster.daemon_sets, &mut state);
    snapshot
}

/// Fisher and Yates with xorshift.
fn mix<T>(list: &mut [T], state: &mut u64) {
    for last in (1..list.len()).rev() {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        list.swap(last, (*state % (last as u64 + 1)) as usize);
    }
}
