//! What decisions come to in metrics.

use api::lower;
use model::{Catalogue, Cluster, NodeFacts, ObjectName, Phase, Pod, Settings};
use serde_json::json;

use super::*;

#[test]
fn reasons_read_as_metrics_have_them() {
    for (reason, label) in
        [("Expired", "expired"), ("InsufficientCapacity", "insufficient_capacity"), ("", "")]
    {
        assert_eq!(snake_case(reason), label);
    }
}

fn deletion(claim: &str, reason: &str) -> Effect {
    Effect::DeleteNodeClaim { claim: claim.into(), uid: None, reason: reason.into() }
}

fn pod(name: &str, node: &str) -> Pod {
    Pod {
        name: ObjectName::new("default", name),
        uid: name.into(),
        created: "2026-06-01T11:00:00Z".parse().unwrap(),
        node: Some(node.into()),
        phase: Phase::Running,
        terminating: false,
        unschedulable: false,
        owner: None,
        daemon: false,
        mirror: false,
        do_not_disrupt: None,
        disruption: Default::default(),
        volumes: Vec::new(),
        spec: Default::default(),
    }
}

fn node(name: &str, grace: Option<i64>) -> model::Node {
    let labels = [(labels::NODEPOOL, "web"), (labels::CAPACITY_TYPE, "spot")];
    model::Node {
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
        created: "2026-06-01T11:00:00Z".parse().unwrap(),
        last_pod_event: None,
        do_not_disrupt: false,
        volume_limits: BTreeMap::new(),
        disruption: NodeFacts {
            termination_grace_period: grace.map(SignedDuration::from_secs),
            ..NodeFacts::default()
        },
    }
}

#[test]
fn nc_03_what_goes_is_counted_by_how_it_goes_and_with_the_pods_that_move() {
    let daemon = Pod { daemon: true, ..pod("daemon", "a") };
    let over = Pod { phase: Phase::Terminal, ..pod("over", "a") };
    let snapshot = Snapshot {
        now: "2026-06-01T12:00:00Z".parse().unwrap(),
        settings: Settings::default(),
        cluster: Cluster {
            nodes: vec![node("a", None), node("b", Some(300)), node("c", Some(0)), node("d", None)],
            pods: vec![pod("one", "a"), pod("two", "a"), daemon, over, pod("three", "b"), pod("four", "d")],
            ..Cluster::default()
        },
        catalogue: Catalogue::default(),
    };
    let effects = ["a", "b", "c"].map(|node| deletion(&format!("claim-{node}"), "Expired"));
    let plan = Plan { effects: effects.into(), ..Plan::default() };
    let mut metrics = Metrics::default();
    metrics.plan("prod", &snapshot, &plan);
    let labels = "capacity_type=spot,cluster=prod,nodepool=web,reason=expired,termination_mode";
    assert_eq!(
        metrics.told(),
        [
            format!("karpenter_nodeclaims_disrupted_total{{{labels}=eventual}} 1"),
            format!("karpenter_nodeclaims_disrupted_total{{{labels}=forceful}} 1"),
            format!("karpenter_nodeclaims_disrupted_total{{{labels}=graceful}} 1"),
            format!("karpenter_pods_disruption_initiated_total{{{labels}=eventual}} 1"),
            format!("karpenter_pods_disruption_initiated_total{{{labels}=graceful}} 2"),
        ]
    );
}

fn claim(name: &str, reason: Option<&str>) -> Claim {
    let conditions = reason.map(|reason| {
        json!({"type": "DisruptionReason", "status": "True", "reason": reason, "message": "",
            "lastTransitionTime": "2026-06-01T12:00:00Z", "observedGeneration": 1})
    });
    let status = json!({
        "providerID": format!("aws:///a/i-{name}"), "nodeName": name,
        "conditions": conditions.into_iter().collect::<Vec<_>>(),
    });
    let mut claim = crate::kit::node_claim(name, json!([]), status);
    claim["spec"]["terminationGracePeriod"] = "5m".into();
    lower::claim(&serde_json::from_value(claim).unwrap()).unwrap()
}

#[test]
fn nc_03_what_its_lifecycle_ends_is_counted_the_same_way() {
    let mut metrics = Metrics::default();
    let care = Care { effects: vec![deletion("a", "Expired")], ..Care::default() };
    metrics.care("prod", &care, &[claim("a", None)]);
    let labels = "capacity_type=spot,cluster=prod,nodepool=default,reason=expired,termination_mode=eventual";
    assert_eq!(metrics.told(), [format!("karpenter_nodeclaims_disrupted_total{{{labels}}} 1")]);
}

#[test]
fn evict_02_pods_that_leave_are_counted_by_why_their_node_goes() {
    let bound = |name: &str, node: &str, deleting: bool| {
        let mut pod = json!({
            "metadata": {"namespace": "default", "name": name, "uid": name},
            "spec": {"nodeName": node, "containers": []},
        });
        if deleting {
            pod["metadata"]["deletionTimestamp"] = "2026-06-01T12:00:00Z".into();
        }
        lower::bound_pod(&serde_json::from_value(pod).unwrap(), |_| None).unwrap()
    };
    let machine = |name: &str| {
        let node = json!({"metadata": {"name": name}, "spec": {"providerID": format!("aws:///a/i-{name}")}});
        lower::claim_node(&serde_json::from_value(node).unwrap()).unwrap()
    };
    let snapshot = LifecycleSnapshot {
        now: "2026-06-01T12:00:00Z".parse().unwrap(),
        claims: vec![claim("drifted", Some("Drifted")), claim("deleted", None)],
        nodes: ["drifted", "deleted"].map(machine).into(),
        orphans: vec![machine("orphan")],
        pods: vec![
            bound("one", "drifted", false),
            bound("gone", "drifted", false),
            bound("two", "deleted", false),
            bound("hurried", "deleted", true),
            bound("three", "orphan", false),
        ],
        deployments: Vec::new(),
        attachments: Vec::new(),
        instances: Vec::new(),
        instances_known: true,
        types: BTreeMap::new(),
        classes: BTreeMap::new(),
        launches: BTreeMap::new(),
        planned: BTreeMap::new(),
    };
    let evict = |name: &str| Effect::EvictPod {
        pod: ObjectName::new("default", name),
        uid: name.into(),
        node: String::new(),
        remark: None,
    };
    let delete = |name: &str| Effect::DeletePod {
        pod: ObjectName::new("default", name),
        uid: name.into(),
        grace_seconds: 1,
    };
    let effects = [evict("one"), evict("gone"), delete("two"), delete("hurried"), evict("three")];
    let mut metrics = Metrics::default();
    metrics.drained("prod", &snapshot, &effects, &[true, false, true, true, true]);
    assert_eq!(
        metrics.told(),
        [
            "karpenter_pods_drained_total{cluster=prod,reason=Drifted} 1",
            "karpenter_pods_drained_total{cluster=prod,reason=Forceful Termination} 2",
        ]
    );
}

#[test]
fn offerings_are_counted_by_class_and_capacity_type() {
    let mut metrics = Metrics::default();
    let all = BTreeMap::from([(CapacityType::Spot, 6), (CapacityType::OnDemand, 6)]);
    let left = BTreeMap::from([(CapacityType::Spot, 4), (CapacityType::OnDemand, 6)]);
    metrics.offerings("prod", "default", &all, &left);
    let told = |name: &str, capacity_type: &str, count: usize| {
        format!("{name}{{capacity_type={capacity_type},cluster=prod,nodeclass=default}} {count}")
    };
    assert_eq!(
        metrics.told(),
        [
            told("instance_type_offerings_available", "on-demand", 6),
            told("instance_type_offerings_available", "spot", 4),
            told("instance_type_offerings_avoided", "on-demand", 0),
            told("instance_type_offerings_avoided", "spot", 2),
        ]
    );
}
