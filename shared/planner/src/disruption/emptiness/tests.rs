//! Which empty nodes go, and which stay.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    Budget, Effect, KeepCode, Node, ObjectName, Owner, Phase, Plan, Pod, PodFacts, PodSpec, Quantity,
    Resources, Snapshot,
};

use crate::disruption::{Of, plan};
use crate::kit::{self, node, snapshot};

const NOW: &str = "2026-06-01T12:00:00Z";

fn ago(seconds: i64) -> Timestamp {
    NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_secs(seconds)
}

fn pod(node: &str) -> Pod {
    Pod {
        created: ago(600),
        node: Some(node.into()),
        phase: Phase::Running,
        unschedulable: false,
        disruption: PodFacts { started: Some(ago(600)), ..PodFacts::default() },
        ..kit::pod("p")
    }
}

#[track_caller]
fn check(snapshot: &Snapshot, gone: &[&str]) {
    let mut decided = Plan::default();
    plan(snapshot, Of::All, &mut decided);
    let mut claims = Vec::new();
    let mut marked = String::new();
    for effect in decided.effects {
        match effect {
            Effect::MarkDisrupted(order) => marked = order.claim,
            Effect::DeleteNodeClaim { claim, reason, .. } => {
                assert_eq!((reason.as_str(), &claim), ("Empty", &marked), "marked first");
                claims.push(claim.trim_start_matches("claim-").to_owned());
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(claims, gone);
    // Every other node has one line.
    let lines = decided.kept.iter().map(|kept| kept.node.clone());
    let mut lines: Vec<String> = lines.chain(gone.iter().map(|&node| node.to_owned())).collect();
    lines.sort();
    let mut all: Vec<&str> = snapshot.cluster.nodes.iter().map(|node| node.name.as_str()).collect();
    all.sort_unstable();
    assert_eq!(lines, all);
}

#[test]
fn empty_01_empty_nodes_go_together_up_to_the_budget_dearest_first() {
    let nodes = vec![node("n1", "small"), node("n2", "large"), node("n3", "small")];
    let mut snapshot = snapshot(nodes, Vec::new());
    check(&snapshot, &["n2", "n1", "n3"]);
    let budget = Budget { nodes: "50%".into(), schedule: None, duration: None, reasons: Vec::new() };
    snapshot.cluster.pools[0].disruption.budgets = vec![budget];
    check(&snapshot, &["n2", "n1"]);
    snapshot.cluster.nodes[1].deleting = true;
    check(&snapshot, &["n1"]);
    snapshot.cluster.nodes.reverse();
    check(&snapshot, &["n1"]);
}

#[test]
fn empty_02_daemons_and_what_is_on_its_way_out_leave_a_node_empty() {
    let stateful = Some(Owner { kind: "StatefulSet".into(), name: "db".into() });
    let table = [
        (pod("n1"), false),
        (Pod { phase: Phase::Pending, ..pod("n1") }, false),
        (Pod { phase: Phase::Terminal, ..pod("n1") }, true),
        (Pod { terminating: true, ..pod("n1") }, true),
        (Pod { terminating: true, owner: stateful, ..pod("n1") }, false),
        (Pod { daemon: true, ..pod("n1") }, true),
        (Pod { mirror: true, ..pod("n1") }, true),
        (Pod { daemon: true, do_not_disrupt: Some("true".into()), ..pod("n1") }, false),
        (Pod { daemon: true, do_not_disrupt: Some("11m".into()), ..pod("n1") }, false),
        (Pod { daemon: true, do_not_disrupt: Some("9m".into()), ..pod("n1") }, true),
        (Pod { daemon: true, do_not_disrupt: Some("please".into()), ..pod("n1") }, true),
        (
            Pod { mirror: true, do_not_disrupt: Some("true".into()), phase: Phase::Terminal, ..pod("n1") },
            true,
        ),
        (pod("elsewhere"), true),
    ];
    for (pod, goes) in table {
        let gone: &[&str] = if goes { &["n1"] } else { &[] };
        check(&snapshot(vec![node("n1", "small")], vec![pod]), gone);
    }
}

#[test]
fn empty_03_what_is_not_at_rest_or_not_to_be_disturbed_stays() {
    let fresh = node("n1", "small");
    use KeepCode::{Disabled, DoNotDisrupt, NotInitialized, TooYoung, Waiting};
    let cases: [(KeepCode, Node); 8] = [
        (TooYoung, Node { last_pod_event: Some(ago(29)), ..fresh.clone() }),
        (TooYoung, Node { last_pod_event: None, created: ago(29), ..fresh.clone() }),
        (Disabled, Node { claim: None, ..fresh.clone() }),
        (NotInitialized, Node { initialized: false, ..fresh.clone() }),
        (NotInitialized, Node { has_node: false, ..fresh.clone() }),
        (Waiting, Node { deleting: true, ..fresh.clone() }),
        (DoNotDisrupt, Node { do_not_disrupt: true, ..fresh.clone() }),
        (Disabled, Node { labels: Default::default(), ..fresh.clone() }),
    ];
    for (why, node) in cases {
        let mut decided = Plan::default();
        plan(&snapshot(vec![node], Vec::new()), Of::All, &mut decided);
        assert_eq!(decided.effects, [], "{why:?}");
        assert_eq!(decided.kept.iter().map(|kept| kept.code).collect::<Vec<_>>(), [why]);
    }
    check(&snapshot(vec![Node { last_pod_event: Some(ago(30)), ..fresh.clone() }], Vec::new()), &["n1"]);

    let mut never = snapshot(vec![fresh.clone()], Vec::new());
    never.cluster.pools[0].disruption.consolidate_after = None;
    check(&never, &[]);
    let mut fixed = snapshot(vec![fresh.clone()], Vec::new());
    fixed.cluster.pools[0].replicas = Some(1);
    check(&fixed, &[]);

    let mut promised = Plan::default();
    promised.existing.insert("n1".into(), vec![ObjectName::new("default", "p")]);
    plan(&snapshot(vec![fresh], Vec::new()), Of::All, &mut promised);
    assert_eq!(promised.effects, [], "a pod is planned for it");
}

#[test]
fn empty_05_nodes_that_pending_pods_will_land_on_stay() {
    let room = |cpu: i64| Resources::from_iter([("cpu", Quantity::from_units(cpu))]);
    let with_room = |name: &str, cpu| Node { allocatable: room(cpu), ..node(name, "small") };
    let waiting = |cpu: i64| Pod {
        node: None,
        phase: Phase::Pending,
        unschedulable: true,
        spec: Arc::new(PodSpec { requests: room(cpu), ..Default::default() }),
        ..pod("")
    };
    for (cpu, gone) in [(2, &["n2"][..]), (9, &["n1", "n2"])] {
        let mut snapshot = snapshot(vec![with_room("n1", 4), with_room("n2", 1)], vec![waiting(cpu)]);
        // Whatever the pool's patience: it starts to count when the node is there, not when the pods are.
        snapshot.cluster.pools[0].disruption.consolidate_after = Some(SignedDuration::ZERO);
        check(&snapshot, gone);
    }
}
