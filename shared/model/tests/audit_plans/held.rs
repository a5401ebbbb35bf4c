//! Room, daemons, ports, volumes, limits, reservations.

use std::sync::Arc;

use model::{
    DaemonSet, HostPort, MicroUsd, ObjectName, Plan, PodSpec, Quantity, Reservation, Snapshot, Volume,
    VolumeFault, labels,
};

use crate::judge;
use crate::world::{amounts, ask, bound, name, node, one, plan, pod, retype, snapshot};

fn full() -> (Snapshot, Plan) {
    // 1900m of cpu are allocatable on a small one: three pods leave 400m.
    let snapshot = snapshot(&["p1", "p2", "p3"]);
    let plan = plan(&snapshot, &[(&["p1", "p2", "p3"], &["a", "b"])]);
    (snapshot, plan)
}

/// Two pods for a node that holds two already.
fn moved() -> (Snapshot, Plan) {
    let mut snapshot = snapshot(&["p1"]);
    snapshot.cluster.nodes.push(node("old", "a"));
    for one in ["q1", "q2"] {
        snapshot.cluster.pods.push(bound(pod(one), "old"));
    }
    let mut plan = Plan::default();
    plan.existing.insert("old".into(), vec![name("p1")]);
    (snapshot, plan)
}

fn daemon(cpu: i64) -> DaemonSet {
    let spec = PodSpec { requests: amounts(cpu, 0), ..PodSpec::default() };
    DaemonSet { name: ObjectName::new("kube-system", "agent"), spec: Arc::new(spec) }
}

fn ports(spec: &mut PodSpec, ip: &str) {
    spec.host_ports.insert(HostPort { ip: ip.into(), port: 80, protocol: "TCP".into() });
}

fn volume(claim: &str, zones: &[&str]) -> Volume {
    let alternatives = zones.iter().map(|zone| one(labels::ZONE, &[zone])).collect();
    Volume { claim: claim.into(), driver: Some("ebs".into()), alternatives, fault: None }
}

#[test]
fn new_nodes_hold_pods_and_daemons() {
    #[rustfmt::skip]
    judge(full, &[
        ("larger pods", "pods and daemons ask 2100m of cpu, small has 1900m", |snapshot, _| {
            ask(snapshot, |spec| spec.requests.set("cpu", Quantity::from_milli(700)));
        }),
        ("requests left behind", "its requests say", |snapshot, _| {
            ask(snapshot, |spec| spec.requests.set("cpu", Quantity::from_milli(600)));
        }),
        ("a daemon uncounted", "its requests say", |snapshot, _| snapshot.cluster.daemon_sets.push(daemon(100))),
        ("a daemon too many", "pods and daemons ask 2 of cpu", |snapshot, _| {
            snapshot.cluster.daemon_sets.push(daemon(500));
        }),
        ("a daemon for others", "", |snapshot, _| {
            let mut set = daemon(500);
            Arc::make_mut(&mut set.spec).required = vec![one("team", &["b"])];
            snapshot.cluster.daemon_sets.push(set);
        }),
        ("a daemon for one capacity type", "pods and daemons ask 2 of cpu", |snapshot, _| {
            let mut set = daemon(500);
            Arc::make_mut(&mut set.spec).node_selector = one(labels::CAPACITY_TYPE, &["on-demand"]);
            snapshot.cluster.daemon_sets.push(set);
        }),
        ("a resource no type has", "of gpu", |snapshot, _| {
            ask(snapshot, |spec| spec.requests.set("gpu", Quantity::from_units(1)));
        }),
    ]);
}

#[test]
fn nodes_that_are_have_room() {
    #[rustfmt::skip]
    judge(moved, &[
        ("one too many", "new pods ask 500m of cpu, 400m is free", |snapshot, _| {
            snapshot.cluster.pods.push(bound(pod("q3"), "old"));
        }),
        ("a finished pod", "", |snapshot, _| {
            snapshot.cluster.pods.push(bound(pod("q3"), "old"));
            snapshot.cluster.pods[3].phase = model::Phase::Terminal;
        }),
        ("a daemon to come", "500m of cpu, 400m is free", |snapshot, _| {
            snapshot.cluster.daemon_sets.push(daemon(500));
        }),
        ("a daemon that is here", "", |snapshot, _| {
            snapshot.cluster.daemon_sets.push(daemon(500));
            snapshot.cluster.pods[1].daemon = true;
        }),
    ]);
}

#[test]
fn host_ports_are_taken_once() {
    #[rustfmt::skip]
    judge(full, &[
        ("one port", "asks host port 80/TCP of new-0, which pod default/p1 takes", |snapshot, _| {
            ask(snapshot, |spec| ports(spec, "0.0.0.0"));
        }),
        ("a daemon's", "DaemonSet kube-system/agent takes", |snapshot, plan| {
            let mut set = daemon(0);
            ports(Arc::make_mut(&mut set.spec), "0.0.0.0");
            snapshot.cluster.daemon_sets.push(set);
            ports(Arc::make_mut(&mut snapshot.cluster.pods[0].spec), "10.0.0.1");
            plan.nodes[0].requests.set("pods", Quantity::from_units(4));
        }),
        ("two addresses", "", |snapshot, _| {
            ports(Arc::make_mut(&mut snapshot.cluster.pods[0].spec), "10.0.0.1");
            ports(Arc::make_mut(&mut snapshot.cluster.pods[1].spec), "10.0.0.2");
        }),
    ]);
    judge(
        moved,
        &[("a running pod's", "which pod default/q1 takes", |snapshot, _| {
            ask(snapshot, |spec| ports(spec, "0.0.0.0"));
        })],
    );
}

#[test]
fn volumes_can_be_reached() {
    #[rustfmt::skip]
    judge(full, &[
        ("both zones", "", |snapshot, _| snapshot.cluster.pods[0].volumes.push(volume("v", &["a", "b"]))),
        ("one zone of two", "volume v can't be used on new-0", |snapshot, _| {
            snapshot.cluster.pods[0].volumes.push(volume("v", &["a"]));
        }),
        ("anywhere", "", |snapshot, _| snapshot.cluster.pods[0].volumes.push(volume("v", &[]))),
        ("a fault", "though claim v is lost", |snapshot, _| {
            let fault = Some(VolumeFault { detail: "claim v is lost".into() });
            snapshot.cluster.pods[0].volumes.push(Volume { fault, ..volume("v", &[]) });
        }),
    ]);
    #[rustfmt::skip]
    judge(moved, &[
        ("another zone", "can't be used on old", |snapshot, _| {
            snapshot.cluster.pods[0].volumes.push(volume("v", &["b"]));
        }),
        ("too many", "2 volumes of ebs, its limit is 1", |snapshot, _| {
            snapshot.cluster.nodes[0].volume_limits.insert("ebs".into(), 1);
            snapshot.cluster.pods[0].volumes.push(volume("v", &[]));
            snapshot.cluster.pods[1].volumes.push(volume("w", &[]));
        }),
        ("one claim twice", "", |snapshot, _| {
            snapshot.cluster.nodes[0].volume_limits.insert("ebs".into(), 1);
            snapshot.cluster.pods[0].volumes.push(volume("v", &[]));
            snapshot.cluster.pods[1].volumes.push(volume("v", &[]));
        }),
    ]);
}

#[test]
fn pools_keep_to_their_limits() {
    fn limit(snapshot: &mut Snapshot, name: &str, most: i64) {
        snapshot.cluster.pools[0].limits.set(name, Quantity::from_units(most));
    }
    // Whichever of its options is launched: the larger has 4 cores and costs 0.2.
    #[rustfmt::skip]
    judge(full, &[
        ("within", "", |snapshot, _| limit(snapshot, "cpu", 4)),
        ("above", "4 of cpu, its limit is 3", |snapshot, _| limit(snapshot, "cpu", 3)),
        ("with what is there", "6 of cpu, its limit is 5", |snapshot, _| {
            limit(snapshot, "cpu", 5);
            snapshot.cluster.nodes.push(node("old", "a"));
        }),
        ("with what goes", "", |snapshot, _| {
            limit(snapshot, "cpu", 5);
            snapshot.cluster.nodes.push(node("old", "a"));
            snapshot.cluster.nodes[0].deleting = true;
        }),
        ("nodes", "1 of nodes, its limit is 0", |snapshot, _| limit(snapshot, "nodes", 0)),
        ("another resource", "", |snapshot, _| limit(snapshot, "gpu", 0)),
        ("price", "nodes for 0.2000, its limit is 0.1900", |snapshot, _| {
            snapshot.cluster.pools[0].price_limit = Some(MicroUsd(190_000));
        }),
        ("price with what is there", "nodes for 0.3000", |snapshot, _| {
            snapshot.cluster.pools[0].price_limit = Some(MicroUsd(210_000));
            snapshot.cluster.nodes.push(node("old", "a"));
        }),
    ]);
}

#[test]
fn reservations_hold_what_is_drawn() {
    fn reserved(remaining: u32) -> (Snapshot, Plan) {
        let mut snapshot = snapshot(&["p1"]);
        retype(&mut snapshot, |kind| {
            if kind.name == "small" {
                let mut offering = kind.offerings[0].clone();
                offering.capacity_type = model::CapacityType::Reserved;
                offering.price = MicroUsd(1);
                offering.reservation = Some(Reservation {
                    id: "cr-1".into(),
                    kind: "default".into(),
                    remaining,
                    interruptible: false,
                });
                kind.offerings.insert(0, offering);
            }
        });
        let plan = plan(&snapshot, &[(&["p1"], &["a"])]);
        (snapshot, plan)
    }
    judge(|| reserved(1), &[]);
    let (snapshot, plan) = reserved(0);
    let faults = model::audit(&plan, &snapshot);
    assert!(faults.iter().any(|fault| fault.contains("cr-1: 1 nodes draw on it, 0 are left")), "{faults:?}");
}
