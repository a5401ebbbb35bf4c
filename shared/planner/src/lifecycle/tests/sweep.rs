//! Leftovers.

use std::collections::{BTreeMap, BTreeSet};

use model::{Claim, ClaimNode, ConditionStatus, Instance, InstanceState, SweepSnapshot, labels};

use super::super::{sweep, wants};
use super::kit::*;

fn whole(claims: Vec<Claim>, nodes: Vec<ClaimNode>, instances: Vec<Instance>) -> SweepSnapshot {
    SweepSnapshot {
        now: now(),
        claims,
        nodes,
        instances,
        complete: true,
        leaving: Vec::new(),
        pools: BTreeMap::new(),
        classes: BTreeMap::new(),
        expiring: BTreeSet::new(),
    }
}

fn old(number: &str) -> Instance {
    Instance { launched: ago(30), ..machine(number) }
}

#[test]
fn machines_without_claim_are_ended() {
    let unlaunched = claim("c1");
    let table = [
        ("nobody's", vec![], old("1"), true),
        ("young", vec![], Instance { launched: ago(29), ..old("1") }, false),
        ("claimed", vec![at_rest("c1", "1")], old("1"), false),
        ("another's is claimed", vec![at_rest("c1", "2")], old("1"), true),
        ("ended", vec![], Instance { state: InstanceState::Terminated, ..old("1") }, false),
        ("its group still deals", vec![unlaunched.clone()], old("1"), false),
        ("of another group", vec![unlaunched], Instance { launch_group: Some("h".into()), ..old("1") }, true),
        ("of no group", vec![], Instance { launch_group: None, ..old("1") }, true),
        (
            "its tag says nothing",
            vec![claim("c9")],
            Instance { claim: Some("c9".into()), launch_group: None, ..old("1") },
            true,
        ),
    ];
    for (what, claims, machine, ended) in table {
        let mut snapshot = whole(claims, vec![], vec![machine]);
        let ends = |snapshot: &SweepSnapshot| {
            lines(&sweep(snapshot)).contains(&"terminate cloud:///a/i-1".to_owned())
        };
        assert_eq!(ends(&snapshot), ended, "{what}");
        snapshot.complete = false;
        assert!(!ends(&snapshot), "{what}: a page is missing");
    }
    let care = sweep(&whole(vec![], vec![node("n1", "1")], vec![old("1"), old("2")]));
    assert_eq!(lines(&care), ["terminate cloud:///a/i-1", "delete node n1", "terminate cloud:///a/i-2"]);
    assert_eq!(care.counts["instances-without-nodeclaim"], 2);
}

#[test]
fn c143_what_a_block_of_capacity_takes_with_it_goes_before() {
    let mut reserved = at_rest("c1", "1");
    reserved.labels.insert(labels::RESERVATION_ID.into(), "cr-1".into());
    let mut going = reserved.clone();
    going.deleting = Some(ago(1));
    let gone = "delete c1: CapacityReservationExpiring".to_owned();
    for (what, claim, ends, goes) in [
        ("its block ends", reserved.clone(), "cr-1", true),
        ("another does", reserved, "cr-2", false),
        ("on none", at_rest("c1", "1"), "cr-1", false),
        ("goes already", going, "cr-1", false),
    ] {
        let mut snapshot = whole(vec![claim], vec![node("c1", "1")], vec![machine("1")]);
        snapshot.expiring.insert(ends.into());
        assert_eq!(lines(&sweep(&snapshot)).contains(&gone), goes, "{what}");
    }
}

#[test]
fn nc_01_claims_without_machine_go() {
    let unwell = |name: &str, number: &str| ClaimNode { ready: ConditionStatus::False, ..node(name, number) };
    let claims = vec![at_rest("c1", "1"), at_rest("c2", "2"), at_rest("c3", "3"), launched("c4", "4")];
    let nodes = vec![unwell("c1", "1"), node("c2", "2")];
    let mut snapshot = whole(claims, nodes, vec![]);
    let deleted = |snapshot: &SweepSnapshot| -> Vec<String> {
        lines(&sweep(snapshot)).into_iter().filter(|line| line.starts_with("delete")).collect()
    };
    // c2's Node still answers, c4 has not joined.
    assert_eq!(deleted(&snapshot), ["delete c1: GarbageCollected", "delete c3: GarbageCollected"]);
    snapshot.complete = false;
    assert_eq!(deleted(&snapshot), [] as [&str; 0]);
    // One that is seen to have ended is certain, whoever answers.
    snapshot.instances = vec![Instance { state: InstanceState::ShuttingDown, ..old("4") }];
    assert_eq!(deleted(&snapshot), ["delete c4: InstanceTerminated"]);
}

#[test]
fn nc_02_expired_claims_go_once() {
    let expired = Claim { expire_after: Some(jiff::SignedDuration::from_secs(9)), ..at_rest("c1", "1") };
    let going = Claim { name: "c2".into(), deleting: Some(ago(1)), ..expired.clone() };
    let care = sweep(&whole(vec![expired, going], vec![], vec![old("1")]));
    assert_eq!(lines(&care), ["event Expired", "delete c1: Expired", "look c1 c2 ", "provision"]);
}

#[test]
fn whatever_is_not_at_rest_is_looked_at() {
    let untagged = Claim { annotations: Default::default(), ..at_rest("c5", "5") };
    let claims = vec![
        at_rest("c1", "1"),
        claim("c2"),
        launched("c3", "3"),
        Claim { deleting: Some(ago(1)), ..at_rest("c4", "4") },
        untagged,
        at_rest("c6", "6"),
    ];
    let nodes = vec![node("c1", "1"), draining("c6", "6"), draining("n7", "7"), node("n8", "8")];
    let instances = ["1", "3", "4", "5", "6", "7", "8"].map(machine).to_vec();
    let care = sweep(&whole(claims, nodes, instances));
    assert_eq!(lines(&care), ["look c2 c3 c4 c5 c6 n7"]);
    assert_eq!(
        sweep(&whole(vec![at_rest("c1", "1")], vec![node("c1", "1")], vec![old("1")])),
        Default::default()
    );
}

#[test]
fn only_what_a_decision_needs_is_read() {
    let unwell = ClaimNode { ready: ConditionStatus::Unknown, ..node("c4", "4") };
    let deleted = ClaimNode { deleting: Some(ago(1)), ..node("c5", "5") };
    let claims = [
        claim("c1"),
        launched("c2", "2"),
        at_rest("c3", "3"),
        at_rest("c4", "4"),
        at_rest("c5", "5"),
        Claim { deleting: Some(ago(1)), ..at_rest("c6", "6") },
        Claim { annotations: map(&[(labels::TAGGED, "true")]), ..at_rest("c7", "7") },
        Claim { launch_group: None, ..claim("c8") },
    ];
    let nodes = [node("c3", "3"), unwell, deleted, node("c6", "6"), node("c7", "7")];
    let wants = wants(&claims, &nodes, &[draining("n9", "9")]);
    let set = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    assert_eq!(wants.groups, set(&["g", "uid-c8"]));
    assert_eq!(wants.classes, set(&["class"]));
    assert_eq!(wants.provider_ids, ["4", "6", "7", "9"].iter().map(|number| id_of(number)).collect());
    assert_eq!(wants.pods_on, set(&["c5", "c6", "n9"]));
}
