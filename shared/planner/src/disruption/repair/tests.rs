//! What is written before a broken node goes, and what is said when it may not.

use jiff::{SignedDuration, Timestamp};
use model::{ConditionStatus, Effect, EventKind, Node, Plan, Snapshot, labels};

use crate::disruption::{Of, plan};
use crate::kit;

const NOW: &str = "2026-06-01T12:00:00Z";

fn now() -> Timestamp {
    NOW.parse().unwrap()
}

/// A node whose Node has not been Ready for an hour.
fn broken(name: &str) -> Node {
    let mut node = kit::node(name, "small");
    let since = now() - SignedDuration::from_hours(1);
    node.disruption.conditions.insert("Ready".into(), (ConditionStatus::False, since));
    node.disruption.not_ready = true;
    node
}

fn effects(nodes: Vec<Node>) -> Vec<Effect> {
    let mut snapshot: Snapshot = kit::snapshot(nodes, Vec::new());
    // That they are empty is of no account.
    snapshot.cluster.pools[0].disruption.consolidate_after = None;
    let mut decided = Plan::default();
    plan(&snapshot, Of::All, &mut decided);
    decided.effects
}

/// What happens to NodeClaims, in order: `!` pods leave now, `-` it goes, `x` it is marked.
fn steps(effects: &[Effect]) -> String {
    let step = |effect: &Effect| match effect {
        Effect::ChangeNodeClaim(change) => {
            assert_eq!(change.annotations[labels::TERMINATION_TIMESTAMP], NOW);
            assert_eq!(change.version, None, "it is written whoever else is writing");
            format!("!{} ", change.claim)
        }
        Effect::MarkDisrupted(order) => format!("x{} ", order.claim),
        Effect::DeleteNodeClaim { claim, reason, .. } => {
            assert_eq!(reason, "Unhealthy");
            format!("-{claim} ")
        }
        other => panic!("{other:?}"),
    };
    effects.iter().map(step).collect()
}

#[test]
fn health_01_pods_are_made_to_leave_before_it_is_asked_to_go() {
    assert_eq!(steps(&effects(vec![broken("n1")])), "!claim-n1 xclaim-n1 -claim-n1 ");
}

#[test]
fn health_04_a_time_that_has_come_is_not_written_again_and_a_later_one_is() {
    let with = |time: &str| {
        let mut node = broken("n1");
        node.disruption.annotations.insert(labels::TERMINATION_TIMESTAMP.into(), time.into());
        steps(&effects(vec![node]))
    };
    assert_eq!(with("2026-06-01T11:59:59Z"), "xclaim-n1 -claim-n1 ");
    assert_eq!(with(NOW), "xclaim-n1 -claim-n1 ");
    assert_eq!(with("2026-06-01T15:00:00Z"), "!claim-n1 xclaim-n1 -claim-n1 ");
    assert_eq!(with("soon"), "!claim-n1 xclaim-n1 -claim-n1 ");
}

#[test]
fn one_that_is_going_already_is_hurried() {
    let effects = effects(vec![Node { deleting: true, ..broken("n1") }]);
    assert_eq!(steps(&effects), "!claim-n1 ");
}

#[test]
fn one_whose_replacement_is_coming_goes_at_once() {
    let mut node = broken("n1");
    let replaced_by = vec!["claim-n2".to_owned()];
    node.disruption.mark = Some(model::Mark { reason: None, since: Some(now()), replaced_by });
    let coming = Node { initialized: false, ..kit::node("n2", "small") };
    assert_eq!(steps(&effects(vec![node, coming])), "!claim-n1 xclaim-n1 -claim-n1 ");
}

#[test]
fn health_03_both_node_and_nodeclaim_hear_that_too_many_are_broken() {
    let effects = effects(vec![broken("n1"), broken("n2"), kit::node("n3", "small")]);
    let told: Vec<_> = effects
        .iter()
        .map(|effect| match effect {
            Effect::PublishEvent { kind: EventKind::Warning, reason, message, .. } => (reason, message),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told.len(), 4, "{told:?}");
    for (reason, message) in told {
        assert_eq!(reason, "NodeRepairBlocked");
        let why = "its condition Ready is False, but 2 of 3 nodes of NodePool default are broken";
        assert_eq!(*message, format!("too-many-unhealthy: {why}"));
    }
}
