//! Small worlds: a handful of types, one pool, a workload or two.
#![expect(clippy::unwrap_used, reason = "a test without its world is none")]
#![allow(dead_code, reason = "each test file uses its own part of the kit")]

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    CapacityType, Catalogue, Cluster, DaemonSet, Disruption, InstanceType, LabelSelector, MicroUsd,
    NodeClassRef, NodePool, ObjectName, Offering, Owner, Phase, Pod, PodSpec, Requirement, Requirements,
    Resources, Settings, Snapshot, Spread, labels,
};
use simulation::{Burst, Pattern, Point, Scenario, Workload};

pub const START: &str = "2026-06-01T06:00:00Z";

pub fn resources(cpu: &str, memory: &str) -> Resources {
    let amounts = [("cpu", cpu), ("memory", memory), ("pods", "1")];
    amounts.into_iter().map(|(name, amount)| (name, amount.parse().unwrap())).collect()
}

pub fn instance_type(name: &str, cpu: &str, memory: &str, cents: u64) -> InstanceType {
    let mut offerings = Vec::new();
    for zone in ["a", "b", "c"] {
        for (capacity_type, price) in
            [(CapacityType::Spot, cents * 4000), (CapacityType::OnDemand, cents * 10_000)]
        {
            let price = MicroUsd(price);
            offerings.push(Offering {
                zone: zone.into(),
                zone_id: None,
                capacity_type,
                price,
                available: true,
                unsteady: false,
                reservation: None,
            });
        }
    }
    let mut requirements = Requirements::new();
    for (key, values) in [
        (labels::INSTANCE_TYPE, vec![name]),
        (labels::ARCH, vec!["amd64"]),
        (labels::OS, vec!["linux"]),
        (labels::ZONE, vec!["a", "b", "c"]),
        (labels::CAPACITY_TYPE, vec!["spot", "on-demand"]),
    ] {
        requirements.add(key, Requirement::is_in(values));
    }
    let mut capacity = resources(cpu, memory);
    capacity.set("pods", "30".parse().unwrap());
    InstanceType { name: name.into(), requirements, capacity, overhead: Resources::new(), offerings }
}

pub fn pool(name: &str, capacity_type: CapacityType) -> NodePool {
    let mut requirements = Requirements::new();
    requirements.add(labels::CAPACITY_TYPE, Requirement::is_in([capacity_type.as_str()]));
    let consolidate_after = Some(SignedDuration::from_mins(1));
    NodePool {
        name: name.into(),
        requirements,
        node_class: NodeClassRef {
            group: "karpenter.k8s.aws".into(),
            kind: "EC2NodeClass".into(),
            name: "default".into(),
        },
        disruption: Disruption { consolidate_after, ..Disruption::default() },
        ..NodePool::default()
    }
}

pub fn spec(app: &str, cpu: &str, memory: &str) -> PodSpec {
    PodSpec {
        labels: BTreeMap::from([("app".into(), app.into())]),
        requests: resources(cpu, memory),
        ..PodSpec::default()
    }
}

/// Spread over zones with a skew of one.
pub fn spread(mut spec: PodSpec) -> PodSpec {
    spec.spread.push(Spread {
        key: labels::ZONE.into(),
        max_skew: 1,
        hard: true,
        min_domains: None,
        selector: Some(LabelSelector::from_labels(&spec.labels)),
        honor_affinity: true,
        honor_taints: false,
    });
    spec
}

pub fn pod(name: &str, spec: PodSpec) -> Pod {
    Pod {
        name: ObjectName::new("default", name),
        uid: name.into(),
        created: START.parse().unwrap(),
        node: None,
        phase: Phase::Pending,
        terminating: false,
        unschedulable: false,
        owner: None,
        daemon: false,
        mirror: false,
        do_not_disrupt: None,
        disruption: Default::default(),
        volumes: Vec::new(),
        spec: Arc::new(spec),
    }
}

pub fn workload(name: &str, spec: PodSpec, pattern: Pattern) -> Workload {
    let owner = Some(Owner { kind: "Deployment".into(), name: name.into() });
    let template = Pod { owner, ..pod(&format!("{name}-0"), spec) };
    Workload { name: ObjectName::new("default", name), template, pattern }
}

pub fn steps(steps: &[(&str, u32)]) -> Pattern {
    let point = |&(at, replicas): &(&str, u32)| Point { at: at.parse().unwrap(), replicas };
    Pattern::Steps(steps.iter().map(point).collect())
}

pub fn jobs(at: &str, pods: u32, minutes: (i64, i64)) -> Pattern {
    let runs = (SignedDuration::from_mins(minutes.0), SignedDuration::from_mins(minutes.1));
    Pattern::Jobs(vec![Burst { at: at.parse().unwrap(), every: None, pods, runs }])
}

pub fn scenario(pools: Vec<NodePool>, workloads: Vec<Workload>, hours: i64) -> Scenario {
    let types = vec![
        instance_type("t.large", "2", "8Gi", 8),
        instance_type("t.xlarge", "4", "16Gi", 16),
        instance_type("t.2xlarge", "8", "32Gi", 32),
    ];
    let daemons = DaemonSet {
        name: ObjectName::new("kube-system", "agent"),
        spec: Arc::new(spec("agent", "100m", "128Mi")),
    };
    let types = BTreeMap::from([("default".to_owned(), Arc::new(types))]);
    Scenario {
        name: "small".into(),
        length: SignedDuration::from_hours(hours),
        snapshot: Snapshot {
            now: START.parse().unwrap(),
            settings: Settings::default(),
            cluster: Cluster {
                pools,
                nodes: Vec::new(),
                pods: Vec::new(),
                daemon_sets: vec![daemons],
                ..Cluster::default()
            },
            catalogue: Catalogue { region: "test".into(), types, illustrative_spot: true },
        },
        workloads,
    }
}

/// A web service over zones that halves after an hour, and a burst of jobs on a pool of their own kind.
pub fn mixed() -> Scenario {
    let web = workload("web", spread(spec("web", "500m", "1Gi")), steps(&[("06:00", 20), ("07:00", 6)]));
    let batch = workload("batch", spec("batch", "1", "2Gi"), jobs("06:30", 12, (5, 20)));
    scenario(vec![pool("default", CapacityType::OnDemand)], vec![web, batch], 4)
}
