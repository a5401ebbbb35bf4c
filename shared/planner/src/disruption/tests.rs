//! What a second look makes of what the first has marked, and in which order things are done.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    Budget, BudgetReason, ConsolidationPolicy, Effect, KeepCode, Mark, Node, NodeClaimDraft, ObjectName,
    Phase, Plan, Pod, PodSpec, Quantity, Resources, Snapshot,
};

use super::{Of, plan};
use crate::kit::{self, node};
use crate::{Weights, consolidate};

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn cores(count: i64) -> Resources {
    Resources::from_iter([("cpu", Quantity::from_units(count)), ("pods", Quantity::from_units(110))])
}

fn asks(count: i64) -> Resources {
    Resources::from_iter([("cpu", Quantity::from_units(count)), ("pods", Quantity::from_units(1))])
}

/// A cluster of nodes with eight cores at 40 cents or two at 10 cents an hour, with pods that have run for a day.
fn cluster(nodes: &[(&str, &str)], pods: &[(&str, &str, i64)]) -> Snapshot {
    let nodes = nodes.iter().map(|(name, kind)| {
        let room = cores(if *kind == "large" { 8 } else { 2 });
        Node { capacity: room.clone(), allocatable: room, ..node(name, kind) }
    });
    let pods = pods.iter().map(|(name, node, count)| Pod {
        node: Some((*node).into()),
        phase: Phase::Running,
        unschedulable: false,
        created: now() - SignedDuration::from_hours(24),
        spec: Arc::new(PodSpec { requests: asks(*count), ..PodSpec::default() }),
        ..kit::pod(name)
    });
    let mut snapshot = kit::snapshot(nodes.collect(), pods.collect());
    let types = snapshot.catalogue.types.get_mut("default").map(Arc::make_mut).unwrap();
    for kind in types {
        let large = kind.name == "large";
        kind.capacity = cores(if large { 8 } else { 2 });
        kind.offerings[0].price = model::MicroUsd(if large { 400_000 } else { 100_000 });
        kind.requirements.add(model::labels::INSTANCE_TYPE, model::Requirement::is_in([kind.name.as_str()]));
    }
    snapshot
}

fn close(snapshot: &mut Snapshot, node: usize) {
    let mark = Mark { reason: None, since: Some(now()), replaced_by: Vec::new() };
    snapshot.cluster.nodes[node].disruption.mark = Some(mark);
}

/// What goes, what the marks come off from, and why `n1` stays.
fn look(snapshot: &Snapshot, of: Of) -> (Vec<String>, Vec<String>, Option<KeepCode>) {
    let mut decided = Plan::default();
    plan(snapshot, of, &mut decided);
    let (mut gone, mut freed) = (Vec::new(), Vec::new());
    for effect in &decided.effects {
        match effect {
            Effect::DeleteNodeClaim { claim, .. } => gone.push(claim.clone()),
            Effect::UnmarkDisrupted { claim, .. } => freed.push(claim.clone()),
            _ => {}
        }
    }
    let kept = decided.kept.iter().find(|kept| kept.node == "n1");
    (gone, freed, kept.map(|kept| kept.code))
}

/// Two nodes of which `n1` can go, since `n2` has room for its pod.
fn half_empty() -> Snapshot {
    let mut snapshot = cluster(&[("n1", "small"), ("n2", "large")], &[("a", "n1", 1), ("b", "n2", 6)]);
    close(&mut snapshot, 0);
    snapshot
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn val_02_a_second_look_lets_go_of_what_no_longer_holds() {
    assert_eq!(look(&half_empty(), Of::Closed), (names(&["claim-n1"]), names(&[]), None));

    // Pods without a node are going to use it: whose node tolerates its taint.
    let mut nominated = half_empty();
    let spec = PodSpec { requests: asks(1), ..PodSpec::default() };
    let waits = Pod { spec: Arc::new(spec), ..kit::pod("w") };
    nominated.cluster.nodes[1].allocatable = cores(6);
    nominated.cluster.pods.push(waits);
    assert_eq!(look(&nominated, Of::Closed).2, Some(KeepCode::Nominated));
    assert_eq!(look(&nominated, Of::Closed).1, names(&["claim-n1"]));

    // Others have used the budget up.
    let mut used = half_empty();
    let reasons = vec![BudgetReason::Underutilized];
    let budget = Budget { nodes: "1".into(), schedule: None, duration: None, reasons };
    used.cluster.pools[0].disruption.budgets = vec![budget];
    used.cluster.nodes.push(Node { deleting: true, ..node("n3", "small") });
    assert_eq!(look(&used, Of::Closed), (names(&[]), names(&["claim-n1"]), Some(KeepCode::Budget)));

    // A pod has come that is not to be disturbed.
    let mut quiet = half_empty();
    quiet.cluster.pods[0].do_not_disrupt = Some("true".into());
    assert_eq!(look(&quiet, Of::Closed), (names(&[]), names(&["claim-n1"]), Some(KeepCode::DoNotDisrupt)));

    // Its pod would have no place any more.
    let mut full = half_empty();
    full.cluster.nodes[1].allocatable = cores(6);
    assert_eq!(look(&full, Of::Closed), (names(&[]), names(&["claim-n1"]), Some(KeepCode::NoSaving)));

    // It has gone in the meantime; nothing else was closed, so nothing else goes.
    let mut gone = half_empty();
    gone.cluster.nodes.remove(0);
    gone.cluster.pods.remove(0);
    gone.cluster.pods.clear();
    assert_eq!(look(&gone, Of::Closed), (names(&[]), names(&[]), None));
    assert_eq!(look(&gone, Of::All).0, names(&["claim-n2"]));
}

#[test]
fn queue_05_what_a_run_that_was_cut_off_has_marked_is_let_go() {
    let mut busy = cluster(&[("n1", "small"), ("n2", "small")], &[("a", "n1", 2), ("b", "n2", 2)]);
    close(&mut busy, 0);
    assert_eq!(look(&busy, Of::All), (names(&[]), names(&["claim-n1"]), Some(KeepCode::NoSaving)));
    // One that waits for its replacements keeps its mark.
    let coming = Node { initialized: false, ..node("n3", "small") };
    busy.cluster.nodes.push(coming);
    busy.cluster.nodes[0].disruption.mark.as_mut().unwrap().replaced_by = names(&["claim-n3"]);
    assert_eq!(look(&busy, Of::All), (names(&[]), names(&[]), Some(KeepCode::Waiting)));
}

#[test]
fn queue_01_nodes_are_marked_before_replacements_are_made_and_go_when_they_are_there() {
    let snapshot = cluster(&[("n1", "large")], &[("a", "n1", 1)]);
    let mut decided = Plan::default();
    plan(&snapshot, Of::All, &mut decided);
    let [Effect::MarkDisrupted(order), Effect::CreateNodeClaim(draft)] = decided.effects.as_slice() else {
        panic!("{:#?}", decided.effects)
    };
    let draft: &NodeClaimDraft = draft;
    assert_eq!((order.claim.as_str(), &order.replaced_by), ("claim-n1", &vec![draft.name.clone()]));
    assert_eq!((order.node.as_deref(), order.since), (Some("n1"), now()));
}

#[test]
fn cons_21_nodes_of_a_pool_without_types_are_passed_over() {
    let mut snapshot = half_empty();
    snapshot.cluster.nodes[0].disruption.mark = None;
    let mut other = snapshot.cluster.pools[0].clone();
    (other.name, other.node_class.name) = ("other".into(), "gone".into());
    snapshot.cluster.pools.push(other);
    let mut strange = Node { allocatable: cores(2), ..node("n3", "small") };
    strange.labels.insert(model::labels::NODEPOOL.into(), "other".into());
    snapshot.cluster.nodes.push(strange);
    snapshot.cluster.pods.push(Pod {
        node: Some("n3".into()),
        name: ObjectName::new("default", "c"),
        ..snapshot.cluster.pods[0].clone()
    });
    let mut decided = Plan::default();
    plan(&snapshot, Of::All, &mut decided);
    assert_eq!(look(&snapshot, Of::All).0, names(&["claim-n1"]));
    let kept = decided.kept.iter().find(|kept| kept.node == "n3").unwrap();
    assert_eq!((kept.code, kept.message.as_str()), (KeepCode::Disabled, "what it costs is not known"));
    assert_eq!(snapshot.cluster.pools[1].disruption.policy, ConsolidationPolicy::WhenEmptyOrUnderutilized);
}

#[test]
fn in_time_every_node_is_looked_at_however_little_one_look_can_do() {
    let names: Vec<String> = (100..200).map(|number| format!("n{number}")).collect();
    let nodes: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "small")).collect();
    let pods: Vec<(&str, &str, i64)> = names.iter().map(|name| (name.as_str(), name.as_str(), 2)).collect();
    let mut snapshot = cluster(&nodes, &pods);
    let weights = Weights { work: 20, ..Weights::default() };
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        let sweep = consolidate(&snapshot, &weights);
        assert!(sweep.cut_short && sweep.consolidations.is_empty());
        let looked_at = sweep.kept.into_iter().filter(|kept| kept.code != KeepCode::NotLookedAt);
        seen.extend(looked_at.map(|kept| kept.node));
        snapshot.now += SignedDuration::from_mins(1);
    }
    assert_eq!(seen.len(), names.len());
}
