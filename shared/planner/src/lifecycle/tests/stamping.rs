//! Hashes and labels that NodeClaims of other times lack.

use std::collections::{BTreeMap, BTreeSet};

use model::{CapacityType, Claim, ClaimNode, Effect, Instance, SweepSnapshot, labels};

use super::super::sweep;
use super::kit::*;

const OURS: &str = labels::HASH_VERSION;

fn swept(claim: Claim, node: ClaimNode) -> Vec<String> {
    let care = sweep(&SweepSnapshot {
        now: now(),
        claims: vec![claim],
        nodes: vec![node],
        instances: vec![machine("1")],
        complete: true,
        leaving: Vec::new(),
        pools: map(&[("default", "11")]),
        classes: map(&[("class", "22")]),
        expiring: BTreeSet::new(),
    });
    let line = |effect: &Effect| match effect {
        Effect::ChangeNodeClaim(change) => {
            let said = |written: &BTreeMap<String, String>| {
                let said = written.iter().map(|(key, value)| format!("{key}={value}"));
                said.collect::<Vec<_>>()
            };
            [said(&change.annotations), said(&change.labels)].concat()
        }
        _ => lines(&model::Care { effects: vec![effect.clone()], ..model::Care::default() }),
    };
    care.effects.iter().flat_map(line).collect()
}

fn hashed(annotations: &[(&str, &str)], version: &str) -> Claim {
    let mut claim = at_rest("c1", "1");
    claim.annotations.extend(map(annotations));
    for key in [labels::NODEPOOL_HASH_VERSION, labels::NODECLASS_HASH_VERSION] {
        claim.annotations.insert(key.into(), version.into());
    }
    claim
}

#[test]
fn drfc_04_hashes_made_otherwise_are_made_anew_and_what_has_drifted_keeps_its_own() {
    let karpenters = || hashed(&[(labels::NODEPOOL_HASH, "1"), (labels::NODECLASS_HASH, "2")], "v3");
    let (pool_version, class_version) = (
        format!("{}={OURS}", labels::NODEPOOL_HASH_VERSION),
        format!("{}={OURS}", labels::NODECLASS_HASH_VERSION),
    );
    let (pool, class) = (format!("{}=11", labels::NODEPOOL_HASH), format!("{}=22", labels::NODECLASS_HASH));
    let all = [&class, &class_version, &pool, &pool_version].map(String::as_str).to_vec();
    let table = [
        ("Karpenter's", karpenters(), all.clone()),
        ("none", at_rest("c1", "1"), all),
        (
            "drifted by Karpenter's",
            with_true(karpenters(), &["Drifted"]),
            vec![&class_version, &pool_version],
        ),
        ("ours", hashed(&[(labels::NODEPOOL_HASH, "1"), (labels::NODECLASS_HASH, "2")], OURS), vec![]),
        ("of no pool", Claim { pool: None, ..karpenters() }, vec![&class, &class_version]),
        (
            "of a pool that is gone",
            Claim { pool: Some("gone".into()), ..karpenters() },
            vec![&class, &class_version],
        ),
        ("going", Claim { deleting: Some(ago(1)), ..karpenters() }, vec!["look c1 "]),
    ];
    for (what, claim, expected) in table {
        assert_eq!(swept(claim, node("c1", "1")), expected, "{what}");
    }
}

#[test]
fn a_claim_without_a_machine_gets_the_hash_of_its_class_with_it() {
    let told = swept(claim("c1"), node("other", "9"));
    let (hash, version) =
        (format!("{}=11", labels::NODEPOOL_HASH), format!("{}={OURS}", labels::NODEPOOL_HASH_VERSION));
    assert_eq!(told, [hash.as_str(), version.as_str(), "look c1 "]);
}

#[test]
fn nc_06_the_label_of_the_class_is_filled_in_on_claim_and_node() {
    let without = |mut labels: BTreeMap<String, String>| {
        labels.remove("example.com/class");
        labels
    };
    let claim = hashed(&[], OURS);
    let bare = Claim { labels: without(claim.labels.clone()), ..claim.clone() };
    let bare_node = ClaimNode { labels: without(node("c1", "1").labels), ..node("c1", "1") };
    let on_claim = "example.com/class=class";
    let on_node = "node c1 example.com/class=class";
    let table = [
        ("both lack it", bare.clone(), bare_node.clone(), vec![on_claim, on_node]),
        ("the Node lacks it", claim.clone(), bare_node.clone(), vec![on_node]),
        ("neither lacks it", claim.clone(), node("c1", "1"), vec![]),
        ("of no pool", Claim { pool: None, ..bare.clone() }, bare_node.clone(), vec![]),
        (
            "the Node is going",
            bare,
            ClaimNode { deleting: Some(ago(1)), ..bare_node },
            vec![on_claim, "look c1 "],
        ),
    ];
    for (what, claim, node, expected) in table {
        assert_eq!(swept(claim, node), expected, "{what}");
    }
}

#[test]
fn c144_a_machine_that_its_reservation_let_go_of_is_on_demand() {
    let reserved = map(&[
        (labels::CAPACITY_TYPE, "reserved"),
        (labels::RESERVATION_ID, "cr-1"),
        (labels::RESERVATION_TYPE, "default"),
        (labels::RESERVATION_INTERRUPTIBLE, "false"),
    ]);
    let mut claim = at_rest("c1", "1");
    claim.labels.extend(reserved.clone());
    let mut joined = node("c1", "1");
    joined.labels.extend(reserved);
    let on_demand = Instance { capacity_type: CapacityType::OnDemand, reservation: None, ..machine("1") };
    let in_it =
        Instance { capacity_type: CapacityType::Reserved, reservation: Some("cr-1".into()), ..machine("1") };
    let swept = |claim: &Claim, node: &ClaimNode, machine: &Instance| -> Vec<(String, String, usize)> {
        let care = sweep(&SweepSnapshot {
            now: now(),
            claims: vec![claim.clone()],
            nodes: vec![node.clone()],
            instances: vec![machine.clone()],
            complete: true,
            leaving: Vec::new(),
            pools: BTreeMap::new(),
            classes: BTreeMap::new(),
            expiring: BTreeSet::new(),
        });
        let told = |what: &str, set: &BTreeMap<String, String>, off: &BTreeSet<String>| {
            let way = set.get(labels::CAPACITY_TYPE).cloned()?;
            Some((what.to_owned(), way, off.len()))
        };
        let told = care.effects.iter().filter_map(|effect| match effect {
            Effect::ChangeNodeClaim(change) => told("claim", &change.labels, &change.labels_off),
            Effect::ChangeNode(change) => told("node", &change.labels, &change.labels_off),
            _ => None,
        });
        told.collect()
    };
    let line = |what: &str| (what.to_owned(), "on-demand".to_owned(), 3);
    assert_eq!(swept(&claim, &joined, &on_demand), [line("claim"), line("node")]);
    assert_eq!(swept(&claim, &joined, &in_it), [], "still in it");
    let unjoined = Claim { node: None, ..claim.clone() };
    assert_eq!(
        swept(&unjoined, &joined, &on_demand),
        [line("claim")],
        "the Node waits until it has registered"
    );
    let going = Claim { deleting: Some(ago(1)), ..claim.clone() };
    assert_eq!(swept(&going, &joined, &on_demand), []);
    let mut behind = claim;
    behind.labels.insert(labels::CAPACITY_TYPE.into(), "on-demand".into());
    assert_eq!(swept(&behind, &joined, &on_demand), [line("node")], "a write that was lost is made up for");
    assert_eq!(swept(&behind, &node("c1", "1"), &in_it), [], "nothing becomes reserved");
}

#[test]
fn d201_where_a_machine_is_is_written_down_and_kept_true() {
    let groups = ["sg-1".to_owned(), "sg-2".to_owned()].into();
    let seen = Instance { subnet: Some("subnet-1".into()), security_groups: groups, ..machine("1") };
    let both = [(labels::SECURITY_GROUPS, "sg-1,sg-2"), (labels::SUBNET, "subnet-1")];
    for (case, written, machine, expected) in [
        ("never written", vec![], Some(&seen), both.to_vec()),
        ("so already", both.to_vec(), Some(&seen), vec![]),
        (
            "somebody changed a group",
            vec![(labels::SECURITY_GROUPS, "sg-1"), both[1]],
            Some(&seen),
            vec![both[0]],
        ),
        ("no machine was found", both.to_vec(), None, vec![]),
        ("nothing was said", both.to_vec(), Some(&machine("1")), vec![]),
    ] {
        let mut claim = at_rest("c1", "1");
        claim.annotations.extend(map(&written));
        let care = sweep(&SweepSnapshot {
            now: now(),
            claims: vec![claim],
            nodes: vec![node("c1", "1")],
            instances: machine.into_iter().cloned().collect(),
            complete: true,
            leaving: Vec::new(),
            pools: BTreeMap::new(),
            classes: BTreeMap::new(),
            expiring: BTreeSet::new(),
        });
        let changes = care.effects.iter().filter_map(|effect| match effect {
            Effect::ChangeNodeClaim(change) => Some(change.annotations.clone()),
            _ => None,
        });
        let told: BTreeMap<String, String> = changes.flatten().collect();
        assert_eq!(told, map(&expected), "{case}");
    }
}
