//! From the wish that a NodeClaim go to its having gone.

use model::{
    Attachment, BoundPod, Claim, ClaimNode, ConditionStatus, InstanceState, LifecycleSnapshot, labels,
};

use super::super::care;
use super::kit::*;

const EVENTS: &[&str] = &["event", "provision"];

/// A NodeClaim that was asked to go ten seconds ago, and began to drain then.
fn going(name: &str, number: &str) -> Claim {
    let mut claim = Claim { deleting: Some(ago(10)), ..at_rest(name, number) };
    claim.conditions.insert("Drained".into(), condition(ConditionStatus::Unknown, "Draining", ago(10)));
    claim
}

fn with_node(claim: Claim, node: ClaimNode) -> LifecycleSnapshot {
    let mut snapshot = snapshot(vec![claim]);
    snapshot.nodes = vec![node];
    snapshot.instances = vec![machine("1")];
    snapshot
}

#[test]
fn term_01_node_machine_claim_in_this_order() {
    let claim = || Claim { deleting: Some(ago(10)), ..at_rest("c1", "1") };
    let mut snapshot = with_node(claim(), node("c1", "1"));
    let exclude = format!("{}=karpenter", labels::EXCLUDE_FROM_LOAD_BALANCERS);
    let taint = "taints [karpenter.sh/disrupted:NoSchedule]";
    assert_eq!(lines(&care(&snapshot)), [format!("node c1 {exclude} {taint}"), "delete node c1".into()]);
    assert_eq!(again(&care(&snapshot), "c1"), Some(0));

    snapshot.nodes = vec![draining("c1", "1")];
    let first = care(&snapshot);
    assert_eq!(lines(&first), ["claim c1 Drained=Unknown/Draining"]);
    assert_eq!(again(&first, "c1"), Some(2));

    snapshot.claims = vec![going("c1", "1")];
    let ends = care(&snapshot);
    let written = "claim c1 Drained=True/Drained InstanceTerminating=True/InstanceTerminating VolumesDetached=True/VolumesDetached";
    assert_eq!(lines(&ends), [written, "terminate cloud:///a/i-1"]);

    snapshot.claims[0].conditions.extend(change_of(&ends, "c1").conditions);
    snapshot.instances[0].state = InstanceState::ShuttingDown;
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
    assert_eq!(again(&care(&snapshot), "c1"), Some(2));

    snapshot.instances[0].state = InstanceState::Terminated;
    assert_eq!(lines(&care(&snapshot)), ["release node c1"]);
    assert_eq!(again(&care(&snapshot), "c1"), Some(0));

    snapshot.nodes.clear();
    assert_eq!(lines(&care(&snapshot)), ["release c1"]);
    assert_eq!(again(&care(&snapshot), "c1"), None);
    snapshot.claims[0].finalizer = false;
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
}

#[test]
fn a_node_that_broke_soon_counts_as_one_that_never_came_to_work() {
    let gone = |reason: &str, age: i64| {
        let mut claim = Claim { created: ago(age), image: Some("ami-1".into()), ..going("c1", "1") };
        claim.conditions.insert("DisruptionReason".into(), condition(ConditionStatus::True, reason, ago(20)));
        let mut snapshot = snapshot(vec![claim]);
        snapshot.instances = vec![machine("1")];
        snapshot.instances[0].state = InstanceState::Terminated;
        snapshot
    };
    let day = 24 * 3600;
    for (reason, age, told) in [
        ("Unhealthy", day - 1, &["default: NodeUnhealthy"][..]),
        ("Unhealthy", day, &[]),
        ("Drifted", 60, &[]),
    ] {
        let care = care(&gone(reason, age));
        assert_eq!(lines(&care), ["release c1"]);
        assert_eq!(registrations(&care), told, "{reason} {age}");
    }
}

#[test]
fn term_02_without_machine_or_node_there_is_less_to_do() {
    let asked = |claim: Claim| Claim { deleting: Some(ago(1)), ..claim };
    assert_eq!(lines(&care(&snapshot(vec![asked(claim("c1"))]))), ["release c1"]);
    // Nobody has looked for its machine.
    let mut dark = snapshot(vec![asked(claim("c1"))]);
    dark.instances_known = false;
    assert_eq!(lines(&care(&dark)), [] as [&str; 0]);
    // A Node that has not joined is left alone.
    let mut early = with_node(asked(launched("c1", "1")), joining("n1", "1"));
    let written = "claim c1 Initialized=Unknown/AwaitingReconciliation InstanceTerminating=True/InstanceTerminating \
                   Ready=Unknown/ReconcilingDependents Registered=Unknown/AwaitingReconciliation";
    assert_eq!(lines(&care(&early)), [written, "terminate cloud:///a/i-1"]);
    early.instances[0].state = InstanceState::Terminated;
    assert!(lines(&care(&early)).contains(&"release c1".to_owned()));
    // One that we hold is not.
    early.nodes[0].finalizer = true;
    assert!(lines(&care(&early)).contains(&"delete node n1".to_owned()));
}

#[test]
fn a_claim_asked_to_go_while_it_is_launched_takes_its_machine_along() {
    let asked = Claim { deleting: Some(ago(1)), ..claim("c1") };
    let mut snapshot = snapshot(vec![asked, claim("c2")]);
    snapshot.instances = vec![machine("1")];
    // The other may be on its way.
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
    snapshot.instances.push(machine("2"));
    let said = lines(&care(&snapshot));
    assert!(said[0].starts_with("claim c1 is cloud:///a/i-1"), "{said:?}");
    assert!(said[1].starts_with("claim c2 is cloud:///a/i-2"), "{said:?}");
    assert_eq!(again(&care(&snapshot), "c1"), Some(0));
    // If there is none in the end, it goes, and the other has what there is.
    snapshot.instances = vec![machine("2")];
    snapshot.instances[0].claim = Some("c2".into());
    snapshot.instances[0].launched = ago(60);
    let said = lines(&care(&snapshot));
    assert_eq!(said[0], "release c1");
    // And what is launched is not launched for it.
    snapshot.instances.clear();
    assert_eq!(lines(&care(&snapshot)), ["launch g for c2", "release c1"]);
}

#[test]
fn a_young_machine_that_does_not_show_is_ended_all_the_same() {
    let asked = |age| Claim { deleting: Some(ago(1)), created: ago(age), ..launched("c1", "1") };
    let said = |age| lines(&care(&snapshot(vec![asked(age)])));
    assert!(said(59).contains(&"terminate cloud:///a/i-1".to_owned()));
    assert_eq!(said(60), ["release c1"]);
}

#[test]
fn the_machine_of_another_is_not_ended() {
    let asked = Claim { deleting: Some(ago(1)), ..launched("c2", "1") };
    let mut snapshot = with_node(at_rest("c1", "1"), node("c1", "1"));
    snapshot.claims.push(asked);
    assert_eq!(lines(&care(&snapshot)), ["release c2"]);
}

#[test]
fn term_04_the_grace_period_sets_a_deadline() {
    let grace = |seconds| Some(jiff::SignedDuration::from_secs(seconds));
    let mut claim = going("c1", "1");
    claim.termination_grace_period = grace(60);
    let mut snapshot = with_node(claim, draining("c1", "1"));
    snapshot.pods = vec![pod("p", "c1")];
    let said = lines(&care(&snapshot));
    let stamp = format!("claim c1 {}=2026-06-01T12:00:50Z", labels::TERMINATION_TIMESTAMP);
    assert_eq!(said[..2], [stamp, "event TerminationGracePeriodExpiring".to_owned()]);
    // One that is written stands, whatever it says.
    snapshot.claims[0].annotations.insert(labels::TERMINATION_TIMESTAMP.into(), NOW.into());
    let said = lines_but(&care(&snapshot), EVENTS);
    assert_eq!(said, ["kill default/p in 1"]);
    snapshot.claims[0].annotations.insert(labels::TERMINATION_TIMESTAMP.into(), "soon".into());
    assert_eq!(lines_but(&care(&snapshot), EVENTS), ["evict default/p"], "its own grace counts");
    snapshot.claims[0].annotations.remove(labels::TERMINATION_TIMESTAMP);
    snapshot.claims[0].termination_grace_period = None;
    assert_eq!(lines_but(&care(&snapshot), EVENTS), ["evict default/p"]);
    assert!(!lines(&care(&snapshot)).contains(&"event TerminationGracePeriodExpiring".to_owned()));
}

#[test]
fn a_spot_deadline_cuts_the_grace() {
    let mut claim = going("c1", "1");
    claim.termination_grace_period = Some(jiff::SignedDuration::from_hours(1));
    claim.annotations.insert(labels::INTERRUPTION_DEADLINE.into(), in_secs(20).to_string());
    let mut snapshot = with_node(claim, draining("c1", "1"));
    snapshot.pods = vec![pod("p", "c1"), BoundPod { grace_seconds: 5, ..pod("quick", "c1") }];
    let said = lines_but(&care(&snapshot), &["event", "claim"]);
    assert_eq!(said, ["kill default/p in 20", "evict default/quick"]);
}

#[test]
fn term_05_a_node_that_is_deleted_takes_its_claim_along() {
    let mut snapshot = with_node(at_rest("c1", "1"), ClaimNode { deleting: Some(ago(1)), ..node("c1", "1") });
    assert_eq!(lines(&care(&snapshot)), ["event NodeDeleted", "delete c1: NodeDeleted", "provision"]);
    // Two of them with one machine: both are drained.
    snapshot.claims = vec![going("c1", "1")];
    snapshot.nodes = vec![draining("c1", "1"), draining("c2", "1")];
    snapshot.pods = vec![pod("p", "c1"), pod("q", "c2")];
    assert_eq!(lines_but(&care(&snapshot), EVENTS), ["evict default/p", "evict default/q"]);
}

#[test]
fn term_05_a_node_without_claim_is_drained_and_let_go() {
    let mut snapshot = snapshot(Vec::new());
    snapshot.orphans = vec![ClaimNode { deleting: Some(ago(1)), ..node("n1", "1") }];
    snapshot.instances = vec![machine("1")];
    assert!(lines(&care(&snapshot))[0].starts_with("node n1"));
    assert_eq!(care(&snapshot).again_nodes["n1"].as_secs(), 0);
    snapshot.orphans = vec![draining("n1", "1")];
    snapshot.pods = vec![pod("p", "n1")];
    assert_eq!(lines(&care(&snapshot)), ["evict default/p"]);
    assert_eq!(care(&snapshot).again_nodes["n1"].as_secs(), 2);
    snapshot.pods.clear();
    snapshot.attachments = vec![Attachment { name: "a".into(), node: "n1".into(), volume: "v".into() }];
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
    snapshot.attachments.clear();
    // Its machine is not ended by this; nobody may own it.
    assert_eq!(lines(&care(&snapshot)), ["release node n1"]);
    snapshot.orphans[0].finalizer = false;
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
}

#[test]
fn term_06_the_node_takes_no_more_pods_before_any_leaves() {
    let mut half = draining("c1", "1");
    half.taints = vec![model::Taint { value: "x".into(), ..taint(labels::DISRUPTED) }, taint("own")];
    let mut snapshot = with_node(going("c1", "1"), half);
    snapshot.pods = vec![pod("p", "c1")];
    let expected = "node c1 taints [own:NoSchedule, karpenter.sh/disrupted:NoSchedule]";
    assert_eq!(lines(&care(&snapshot)), [expected]);
    // Who isn't held would be gone at once: first held, then deleted.
    snapshot.nodes = vec![ClaimNode { finalizer: false, ..node("c1", "1") }];
    assert!(lines(&care(&snapshot))[0].starts_with("node c1 held"));
    assert_eq!(lines(&care(&snapshot)).len(), 1);
}

#[test]
fn term_09_pods_that_stay_hold_the_node() {
    let mut snapshot = with_node(going("c1", "1"), draining("c1", "1"));
    snapshot.pods = vec![pod("p", "c1")];
    let decided = care(&snapshot);
    assert_eq!(lines(&decided), ["event FailedDraining", "evict default/p"]);
    assert_eq!(again(&decided, "c1"), Some(2));
    snapshot.claims[0].deleting = Some(ago(4000));
    assert_eq!(again(&care(&snapshot), "c1"), Some(30), "the longer it lasts, the rarer the looks");
}

#[test]
fn term_10_a_dead_node_without_machine_goes_at_once() {
    let unwell = ClaimNode { ready: ConditionStatus::Unknown, ..draining("c1", "1") };
    let mut snapshot = with_node(going("c1", "1"), unwell);
    snapshot.pods = vec![pod("p", "c1")];
    assert!(lines(&care(&snapshot)).contains(&"evict default/p".to_owned()), "its machine is there");
    snapshot.instances.clear();
    let said = lines(&care(&snapshot));
    assert!(said.contains(&"release node c1".to_owned()) && !said.contains(&"evict default/p".to_owned()));
    snapshot.nodes[0].ready = ConditionStatus::True;
    assert!(lines(&care(&snapshot)).contains(&"evict default/p".to_owned()), "it still answers");
    snapshot.nodes[0].ready = ConditionStatus::False;
    snapshot.instances_known = false;
    assert!(lines(&care(&snapshot)).contains(&"evict default/p".to_owned()), "nobody has looked");
}

#[test]
fn term_13_a_drain_takes_five_seconds_at_least() {
    for (age, over) in [(4, false), (5, true)] {
        let mut claim = going("c1", "1");
        claim.conditions.insert("Drained".into(), condition(ConditionStatus::Unknown, "Draining", ago(age)));
        let decided = care(&with_node(claim, draining("c1", "1")));
        assert_eq!(lines(&decided).contains(&"terminate cloud:///a/i-1".to_owned()), over, "after {age} s");
        assert_eq!(again(&decided, "c1"), Some(if over { 2 } else { 1 }));
    }
}

#[test]
fn term_14_volumes_let_go_first() {
    let attached = |volume: &str| Attachment { name: "a".into(), node: "c1".into(), volume: volume.into() };
    let stays = BoundPod { tolerates_disruption: true, volumes: vec!["kept".into()], ..pod("p", "c1") };
    let ends = |volume: &str, deadline: Option<i64>| {
        let mut claim = going("c1", "1");
        if let Some(seconds) = deadline {
            claim.annotations.insert(labels::TERMINATION_TIMESTAMP.into(), in_secs(seconds).to_string());
        }
        let mut snapshot = with_node(claim, draining("c1", "1"));
        snapshot.attachments = vec![attached(volume)];
        snapshot.pods = vec![stays.clone()];
        let care = care(&snapshot);
        let reason = change_of(&care, "c1").conditions["VolumesDetached"].reason.clone();
        (lines(&care).contains(&"terminate cloud:///a/i-1".to_owned()), reason, again(&care, "c1"))
    };
    assert_eq!(ends("v", None), (false, "AwaitingVolumeDetachment".into(), Some(2)));
    assert_eq!(ends("kept", None), (true, "VolumesDetached".into(), Some(2)), "of a pod that stays");
    assert_eq!(ends("", None), (true, "VolumesDetached".into(), Some(2)), "of no persistent volume");
    assert_eq!(ends("v", Some(1)), (false, "AwaitingVolumeDetachment".into(), Some(1)));
    assert_eq!(ends("v", Some(0)), (true, "TerminationGracePeriodElapsed".into(), Some(2)));
}

#[test]
fn term_03_ending_is_asked_again_until_it_is_seen() {
    let mut claim = going("c1", "1");
    for kind in ["Drained", "VolumesDetached", "InstanceTerminating"] {
        claim = with_true(claim, &[kind]);
    }
    let mut snapshot = with_node(claim, draining("c1", "1"));
    assert_eq!(lines(&care(&snapshot)), ["terminate cloud:///a/i-1"]);
    snapshot.instances_known = false;
    snapshot.instances.clear();
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
    assert_eq!(again(&care(&snapshot), "c1"), Some(2));
}
