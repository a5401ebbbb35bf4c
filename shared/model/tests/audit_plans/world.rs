//! A small cluster, and plans for it drawn by hand.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use model::{
    AffinityTerm, CapacityType, Catalogue, Cluster, Effect, InstanceType, LabelSelector, MicroUsd,
    Namespaces, Node, NodeClaimDraft, NodeClassRef, NodePool, ObjectName, Offer, Offering, Phase, Plan,
    PlannedNode, Pod, PodSpec, Quantity, Requirement, Requirements, Resources, Settings, Snapshot, Spread,
    labels,
};

pub(crate) fn amounts(cpu: i64, gib: i64) -> Resources {
    [
        ("cpu", Quantity::from_milli(cpu)),
        ("memory", Quantity::from_mebibytes(gib * 1024)),
        ("pods", Quantity::from_units(1)),
    ]
    .into_iter()
    .collect()
}

pub(crate) fn name(pod: &str) -> ObjectName {
    ObjectName::new("default", pod)
}

pub(crate) fn one(key: &str, values: &[&str]) -> Requirements {
    [(key.to_owned(), Requirement::is_in(values.iter().copied()))].into_iter().collect()
}

/// A pending pod of 500m and 1 GiB, labelled `app: app`.
pub(crate) fn pod(pod: &str) -> Pod {
    let labels = BTreeMap::from([("app".to_owned(), "app".to_owned())]);
    Pod {
        name: name(pod),
        uid: pod.into(),
        created: Timestamp::UNIX_EPOCH,
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
        spec: Arc::new(PodSpec { labels, requests: amounts(500, 1), ..PodSpec::default() }),
    }
}

pub(crate) fn bound(mut pod: Pod, node: &str) -> Pod {
    pod.node = Some(node.into());
    pod.phase = Phase::Running;
    pod.unschedulable = false;
    pod
}

/// Changes what every pod asks.
pub(crate) fn ask(snapshot: &mut Snapshot, change: impl Fn(&mut PodSpec)) {
    snapshot.cluster.pods.iter_mut().for_each(|pod| change(Arc::make_mut(&mut pod.spec)));
}

/// Changes what one pod asks.
pub(crate) fn ask_of(snapshot: &mut Snapshot, pod: &str, change: impl Fn(&mut PodSpec)) {
    let found = snapshot.cluster.pods.iter_mut().find(|known| known.name.name == pod).unwrap();
    change(Arc::make_mut(&mut found.spec));
}

fn kind(name: &str, cores: i64, price: u64) -> InstanceType {
    let mut requirements = one(labels::INSTANCE_TYPE, &[name]);
    requirements.add(labels::ARCH, Requirement::is_in(["amd64"]));
    requirements.add(labels::ZONE, Requirement::is_in(["a", "b", "c"]));
    requirements.add(labels::CAPACITY_TYPE, Requirement::is_in(["on-demand", "spot"]));
    requirements.add("karpenter.k8s.aws/instance-gpu-name", Requirement::does_not_exist());
    let ways = [(CapacityType::Spot, price / 2), (CapacityType::OnDemand, price)];
    let offerings = ["a", "b", "c"].iter().flat_map(|zone| {
        ways.map(|(capacity_type, price)| Offering {
            zone: (*zone).into(),
            zone_id: None,
            capacity_type,
            price: MicroUsd(price),
            available: true,
            unsteady: false,
            reservation: None,
        })
    });
    InstanceType {
        name: name.into(),
        requirements,
        capacity: [
            ("cpu", Quantity::from_units(cores)),
            ("memory", Quantity::from_mebibytes(cores * 4096)),
            ("pods", Quantity::from_units(10)),
        ]
        .into_iter()
        .collect(),
        overhead: [("cpu", Quantity::from_milli(100))].into_iter().collect(),
        offerings: offerings.collect(),
    }
}

pub(crate) fn pool() -> NodePool {
    NodePool {
        name: "pool".into(),
        labels: BTreeMap::from([("team".to_owned(), "a".to_owned())]),
        node_class: NodeClassRef { group: "k".into(), kind: "Class".into(), name: "class".into() },
        ..NodePool::default()
    }
}

/// A pool, two types of 2 and 4 cores in three zones, and pending pods of these names.
pub(crate) fn snapshot(pods: &[&str]) -> Snapshot {
    let types = Arc::new(vec![kind("big", 4, 200_000), kind("small", 2, 100_000)]);
    Snapshot {
        now: Timestamp::UNIX_EPOCH,
        settings: Settings { fee_per_node: MicroUsd(7), ..Settings::default() },
        cluster: Cluster {
            pools: vec![pool()],
            nodes: Vec::new(),
            pods: pods.iter().map(|name| pod(name)).collect(),
            daemon_sets: Vec::new(),
            ..Cluster::default()
        },
        catalogue: Catalogue {
            region: "here".into(),
            types: BTreeMap::from([("class".to_owned(), types)]),
            illustrative_spot: false,
        },
    }
}

/// A node of type `small` of the pool, on demand.
pub(crate) fn node(name: &str, zone: &str) -> Node {
    let kind = kind("small", 2, 100_000);
    let known = [
        (labels::ZONE, zone),
        (labels::HOSTNAME, name),
        (labels::INSTANCE_TYPE, "small"),
        (labels::ARCH, "amd64"),
        (labels::CAPACITY_TYPE, "on-demand"),
        (labels::NODEPOOL, "pool"),
        ("team", "a"),
    ];
    Node {
        name: name.into(),
        claim: Some(format!("claim-{name}")),
        provider_id: None,
        labels: known.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        taints: Vec::new(),
        capacity: kind.capacity.clone(),
        allocatable: kind.allocatable(),
        registered: true,
        initialized: true,
        has_node: true,
        deleting: false,
        created: Timestamp::UNIX_EPOCH,
        last_pod_event: None,
        do_not_disrupt: false,
        volume_limits: BTreeMap::new(),
        disruption: Default::default(),
    }
}

/// A plan with these pods on new nodes of type `small` or `big`, on demand or Spot, in the given zones.
pub(crate) fn plan(snapshot: &Snapshot, nodes: &[(&[&str], &[&str])]) -> Plan {
    let mut plan = Plan::default();
    for (index, (pods, zones)) in nodes.iter().enumerate() {
        let mut options = Vec::new();
        for kind in snapshot.catalogue.types["class"].iter() {
            for offering in kind.offerings.iter().filter(|offering| zones.contains(&offering.zone.as_str())) {
                options.push(Offer {
                    instance_type: kind.name.clone(),
                    zone: offering.zone.clone(),
                    capacity_type: offering.capacity_type,
                    price: offering.price,
                    reservation: offering.reservation.as_ref().map(|reservation| reservation.id.clone()),
                });
            }
        }
        options.sort_by_key(|offer| (offer.price, offer.instance_type.clone(), offer.zone.clone()));
        let pinned = match zones {
            [zone] => BTreeMap::from([(labels::ZONE.to_owned(), (*zone).to_owned())]),
            _ => BTreeMap::new(),
        };
        add(&mut plan, snapshot, &format!("new-{index}"), pods, options, pinned);
    }
    plan
}

fn add(
    plan: &mut Plan,
    snapshot: &Snapshot,
    named: &str,
    pods: &[&str],
    options: Vec<Offer>,
    pinned: BTreeMap<String, String>,
) {
    let pool = &snapshot.cluster.pools[0];
    let offer = options[0].clone();
    let mut requests = Resources::new();
    for pod in pods {
        let pod = snapshot.cluster.pods.iter().find(|known| known.name.name == *pod).unwrap();
        requests.add(&pod.spec.requests);
    }
    let mut requirements = Requirements::new();
    requirements.add(
        labels::INSTANCE_TYPE,
        Requirement::is_in(options.iter().map(|offer| offer.instance_type.as_str())),
    );
    requirements.add(labels::ZONE, Requirement::is_in(options.iter().map(|offer| offer.zone.as_str())));
    requirements.add(
        labels::CAPACITY_TYPE,
        Requirement::is_in(options.iter().map(|offer| offer.capacity_type.as_str())),
    );
    let mut known = pool.labels.clone();
    known.insert(labels::NODEPOOL.into(), pool.name.clone());
    let kind =
        snapshot.catalogue.types["class"].iter().find(|kind| kind.name == offer.instance_type).unwrap();
    plan.effects.push(Effect::CreateNodeClaim(Arc::new(NodeClaimDraft {
        name: named.into(),
        pool: pool.name.clone(),
        labels: known,
        annotations: pool.annotations.clone(),
        taints: pool.taints.clone(),
        startup_taints: pool.startup_taints.clone(),
        node_class: pool.node_class.clone(),
        requirements: Arc::new(requirements),
        requests: requests.clone(),
        expire_after: None,
        termination_grace_period: None,
    })));
    plan.nodes.push(PlannedNode {
        name: named.into(),
        pool: pool.name.clone(),
        price: offer.price.plus(snapshot.settings.fee_per_node),
        allocatable: kind.allocatable(),
        options: Arc::new(options),
        offer,
        pods: pods.iter().map(|pod| name(pod)).collect(),
        requests,
        pinned,
    });
}

/// Changes the claim of the plan's first node.
pub(crate) fn redraft(plan: &mut Plan, change: impl Fn(&mut NodeClaimDraft)) {
    if let Effect::CreateNodeClaim(draft) = &mut plan.effects[0] {
        change(Arc::make_mut(draft));
    }
}

/// Changes the class's types.
pub(crate) fn retype(snapshot: &mut Snapshot, change: impl Fn(&mut InstanceType)) {
    let types = snapshot.catalogue.types.get_mut("class").unwrap();
    Arc::make_mut(types).iter_mut().for_each(change);
}

pub(crate) fn spread(key: &str, max_skew: u32) -> Spread {
    Spread {
        key: key.into(),
        max_skew,
        hard: true,
        min_domains: None,
        selector: Some(selector("app")),
        honor_affinity: true,
        honor_taints: false,
    }
}

fn selector(app: &str) -> LabelSelector {
    LabelSelector::from_labels([(&"app".to_owned(), &app.to_owned())])
}

pub(crate) fn term(key: &str, app: &str) -> AffinityTerm {
    AffinityTerm {
        key: key.into(),
        selector: Some(selector(app)),
        namespaces: Namespaces::Only(["default".to_owned()].into()),
    }
}
