//! What unit tests of several modules are made of.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, Catalogue, Cluster, Disruption, InstanceType, MicroUsd, Node, NodeClassRef, NodePool,
    ObjectName, Offering, Phase, Pod, Settings, Snapshot, labels,
};

/// When it all plays.
const NOW: &str = "2026-06-01T12:00:00Z";

fn ago(seconds: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_secs(seconds)
}

/// An ordinary pod that waits for a node and asks for nothing.
pub(crate) fn pod(name: &str) -> Pod {
    Pod {
        name: ObjectName::new("default", name),
        uid: name.into(),
        created: "2026-06-01T11:59:00Z".parse().unwrap(),
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
        spec: Default::default(),
    }
}

/// A node of the pool `default`, an hour old, of a type of [`snapshot`].
pub(crate) fn node(name: &str, kind: &str) -> Node {
    let labels = [
        (labels::NODEPOOL, "default"),
        (labels::INSTANCE_TYPE, kind),
        (labels::ZONE, "a"),
        (labels::CAPACITY_TYPE, "on-demand"),
    ];
    Node {
        name: name.into(),
        claim: Some(format!("claim-{name}")),
        provider_id: None,
        labels: labels.map(|(key, value)| (key.into(), value.into())).into(),
        taints: Vec::new(),
        capacity: Default::default(),
        allocatable: Default::default(),
        registered: true,
        initialized: true,
        has_node: true,
        deleting: false,
        created: ago(3600),
        last_pod_event: Some(ago(60)),
        do_not_disrupt: false,
        volume_limits: Default::default(),
        disruption: Default::default(),
    }
}

/// A cluster whose pool gives up nodes that were left alone for half a minute; a `large` is four times as dear as a `small`.
pub(crate) fn snapshot(nodes: Vec<Node>, pods: Vec<Pod>) -> Snapshot {
    let kind = |name: &str, price| InstanceType {
        name: name.into(),
        requirements: Default::default(),
        capacity: Default::default(),
        overhead: Default::default(),
        offerings: vec![Offering {
            zone: "a".into(),
            zone_id: None,
            capacity_type: CapacityType::OnDemand,
            price: MicroUsd(price),
            available: true,
            unsteady: false,
            reservation: None,
        }],
    };
    let types = Arc::new(vec![kind("small", 1), kind("large", 4)]);
    let disruption =
        Disruption { consolidate_after: Some(SignedDuration::from_secs(30)), ..Default::default() };
    let node_class = NodeClassRef { name: "default".into(), ..Default::default() };
    let pool = NodePool { name: "default".into(), node_class, disruption, ..Default::default() };
    Snapshot {
        now: NOW.parse().unwrap(),
        settings: Settings::default(),
        cluster: Cluster { pools: vec![pool], nodes, pods, daemon_sets: Vec::new(), ..Cluster::default() },
        catalogue: Catalogue { types: [("default".into(), types)].into(), ..Default::default() },
    }
}
