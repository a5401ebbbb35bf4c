//! Builders of small inputs: each makes something plain and valid to be changed by the test.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use model::{
    AffinityTerm, CapacityType, Catalogue, Cluster, DaemonSet, InstanceType, LabelSelector, MicroUsd,
    Namespaces, Node, NodeClassRef, NodePool, ObjectName, Offering, Phase, Pod, PodSpec, Quantity,
    Requirement, Requirements, Reservation, Resources, Settings, Snapshot, Spread, Taint, TaintEffect,
    Toleration, TolerationOperator, labels,
};

/// The class every pool of the kit builds on.
pub const DEFAULT_CLASS: &str = "default";
/// The zones of the kit's Region.
pub const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];

/// The time of every snapshot.
pub fn now() -> Timestamp {
    Timestamp::constant(1_764_633_600, 0)
}

/// A quantity as Kubernetes writes it.
#[expect(clippy::expect_used, reason = "a test that writes a wrong quantity should stop there")]
pub fn quantity(text: &str) -> Quantity {
    text.parse().expect("a quantity")
}

/// What one pod asks.
pub fn amounts(cpu: &str, memory: &str) -> Resources {
    [("cpu", quantity(cpu)), ("memory", quantity(memory)), ("pods", Quantity::from_units(1))]
        .into_iter()
        .collect()
}

/// A pool that takes anything.
pub fn pool(name: &str) -> NodePool {
    let node_class = NodeClassRef {
        group: "karpenter.k8s.aws".into(),
        kind: "EC2NodeClass".into(),
        name: DEFAULT_CLASS.into(),
    };
    NodePool { name: name.into(), node_class, ..NodePool::default() }
}

/// A pending pod in namespace `default`.
pub fn pod(name: &str, cpu: &str, memory: &str) -> Pod {
    Pod {
        name: ObjectName::new("default", name),
        uid: name.into(),
        created: now(),
        node: None,
        phase: Phase::Pending,
        terminating: false,
        unschedulable: true,
        owner: None,
        daemon: false,
        mirror: false,
        do_not_disrupt: None,
        disruption: Default::default(),
        volumes: Vec::new(),
        spec: Arc::new(PodSpec { requests: amounts(cpu, memory), ..PodSpec::default() }),
    }
}

/// The pod with its spec changed.
pub fn with(mut pod: Pod, change: impl FnOnce(&mut PodSpec)) -> Pod {
    change(Arc::make_mut(&mut pod.spec));
    pod
}

/// The pod running on `node`.
pub fn bound(mut pod: Pod, node: &str) -> Pod {
    pod.node = Some(node.into());
    pod.phase = Phase::Running;
    pod.unschedulable = false;
    pod
}

/// A DaemonSet for every node.
pub fn daemon(name: &str, cpu: &str, memory: &str) -> DaemonSet {
    let spec = Arc::new(PodSpec { requests: amounts(cpu, memory), ..PodSpec::default() });
    DaemonSet { name: ObjectName::new("kube-system", name), spec }
}

/// A type with so many cores and GiB, on demand at `price` millionths of a dollar and as Spot at a third.
pub fn instance_type(name: &str, cores: i64, gib: i64, price: u64, zones: &[&str]) -> InstanceType {
    let (family, size) = name.split_once('.').unwrap_or((name, "large"));
    let mut requirements = Requirements::new();
    let cores_text = cores.to_string();
    let mebibytes = (gib * 1024).to_string();
    for (key, value) in [
        (labels::INSTANCE_TYPE, name),
        (labels::ARCH, "amd64"),
        (labels::OS, "linux"),
        (labels::REGION, "us-east-1"),
        ("karpenter.k8s.aws/instance-family", family),
        ("karpenter.k8s.aws/instance-size", size),
        ("karpenter.k8s.aws/instance-category", &family[..1]),
        ("karpenter.k8s.aws/instance-cpu", &cores_text),
        ("karpenter.k8s.aws/instance-memory", &mebibytes),
    ] {
        requirements.add(key, Requirement::is_in([value]));
    }
    requirements.add(labels::ZONE, Requirement::is_in(zones.iter().copied()));
    requirements.add(labels::CAPACITY_TYPE, Requirement::is_in(["on-demand", "spot"]));
    for key in ["karpenter.k8s.aws/instance-gpu-name", labels::RESERVATION_ID, labels::RESERVATION_TYPE] {
        requirements.add(key, Requirement::does_not_exist());
    }
    let offering = |zone: &str, capacity_type, price| Offering {
        zone: zone.into(),
        zone_id: None,
        capacity_type,
        price: MicroUsd(price),
        available: true,
        unsteady: false,
        reservation: None,
    };
    let each = zones.iter().flat_map(|zone| {
        [offering(zone, CapacityType::Spot, price / 3), offering(zone, CapacityType::OnDemand, price)]
    });
    let gibibytes = |count: i64| Quantity::from_mebibytes(count * 1024);
    InstanceType {
        name: name.into(),
        requirements,
        capacity: [
            ("cpu", Quantity::from_units(cores)),
            ("memory", gibibytes(gib)),
            ("pods", Quantity::from_units(20)),
            ("ephemeral-storage", gibibytes(20)),
        ]
        .into_iter()
        .collect(),
        overhead: [("cpu", quantity("100m")), ("memory", quantity("256Mi"))].into_iter().collect(),
        offerings: each.collect(),
    }
}

/// The type with `remaining` instances of it reserved in its first zone.
pub fn reserve(mut kind: InstanceType, id: &str, remaining: u32) -> InstanceType {
    let Some(first) = kind.offerings.first().cloned() else { return kind };
    let reservation = Reservation { id: id.into(), kind: "default".into(), remaining, interruptible: false };
    kind.offerings.insert(
        0,
        Offering {
            capacity_type: CapacityType::Reserved,
            price: MicroUsd(1),
            available: remaining > 0,
            unsteady: false,
            reservation: Some(reservation),
            ..first
        },
    );
    kind.requirements.replace(labels::CAPACITY_TYPE, Requirement::is_in(["on-demand", "reserved", "spot"]));
    kind.requirements.replace(labels::RESERVATION_ID, Requirement::is_in([id]));
    kind.requirements.replace(labels::RESERVATION_TYPE, Requirement::is_in(["default"]));
    kind
}

/// A ready node of that type.
pub fn node(
    name: &str,
    kind: &InstanceType,
    zone: &str,
    capacity_type: CapacityType,
    pool: Option<&NodePool>,
) -> Node {
    let mut known: BTreeMap<String, String> = kind
        .requirements
        .iter()
        .filter_map(|(key, requirement)| Some((key.to_owned(), requirement.single()?.to_owned())))
        .collect();
    known.insert(labels::ZONE.into(), zone.into());
    known.insert(labels::CAPACITY_TYPE.into(), capacity_type.to_string());
    known.insert(labels::HOSTNAME.into(), name.into());
    for key in [labels::RESERVATION_ID, labels::RESERVATION_TYPE] {
        known.remove(key);
    }
    if let Some(pool) = pool {
        known.extend(pool.labels.clone());
        known.insert(labels::NODEPOOL.into(), pool.name.clone());
        known.insert(labels::EC2_NODE_CLASS.into(), pool.node_class.name.clone());
        known.insert(labels::REGISTERED.into(), "true".into());
        known.insert(labels::INITIALIZED.into(), "true".into());
    }
    Node {
        name: name.into(),
        claim: pool.map(|_| format!("claim-{name}")),
        provider_id: Some(format!("aws:///{zone}/i-{name}")),
        labels: known,
        taints: pool.map(|pool| pool.taints.clone()).unwrap_or_default(),
        capacity: kind.capacity.clone(),
        allocatable: kind.allocatable(),
        registered: true,
        initialized: true,
        has_node: true,
        deleting: false,
        created: now(),
        last_pod_event: None,
        do_not_disrupt: false,
        volume_limits: BTreeMap::new(),
        disruption: Default::default(),
    }
}

/// A snapshot with these types for the one class.
pub fn snapshot(pools: Vec<NodePool>, types: Vec<InstanceType>, pods: Vec<Pod>) -> Snapshot {
    let mut types = types;
    types.sort_by(|one, two| one.name.cmp(&two.name));
    Snapshot {
        now: now(),
        settings: Settings::default(),
        cluster: Cluster { pools, nodes: Vec::new(), pods, daemon_sets: Vec::new(), ..Cluster::default() },
        catalogue: Catalogue {
            region: "us-east-1".into(),
            types: BTreeMap::from([(DEFAULT_CLASS.to_owned(), Arc::new(types))]),
            illustrative_spot: false,
        },
    }
}

/// A selector of `app: name`.
pub fn selector(app: &str) -> LabelSelector {
    LabelSelector::from_labels([(&"app".to_owned(), &app.to_owned())])
}

/// A hard spread of the pods of one app.
pub fn spread(key: &str, max_skew: u32, app: &str) -> Spread {
    Spread {
        key: key.into(),
        max_skew,
        hard: true,
        min_domains: None,
        selector: Some(selector(app)),
        honor_affinity: true,
        honor_taints: false,
    }
}

/// A term of affinity for the pods of one app in namespace `default`.
pub fn term(key: &str, app: &str) -> AffinityTerm {
    let namespaces = Namespaces::Only(["default".to_owned()].into());
    AffinityTerm { key: key.into(), selector: Some(selector(app)), namespaces }
}

/// The pod labelled `app: name` and kept from its like by `key`.
pub fn anti(pod: Pod, key: &str, app: &str) -> Pod {
    with(pod, |spec| {
        spec.labels.insert("app".into(), app.into());
        spec.anti_affinity.push(term(key, app));
    })
}

/// A taint without a value.
pub fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.into(), value: String::new(), effect }
}

/// Leave to be where `key` taints.
pub fn toleration(key: &str) -> Toleration {
    let operator = TolerationOperator::Exists;
    Toleration { key: Some(key.into()), operator, value: String::new(), effect: None }
}
