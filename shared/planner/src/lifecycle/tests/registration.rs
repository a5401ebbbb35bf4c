//! A Node joins, and becomes one that counts.

use model::{
    Claim, ClaimNode, ConditionStatus, Effect, LifecycleSnapshot, NodeChange, ObjectName, PlannedPod,
    Quantity, Taint, TaintEffect, UnboundPod, labels,
};

use super::super::{care, planned, wants};
use super::kit::*;

fn joins(claim: Claim, node: ClaimNode) -> LifecycleSnapshot {
    let mut snapshot = snapshot(vec![claim]);
    snapshot.nodes = vec![node];
    snapshot.instances = vec![machine("1")];
    snapshot
}

#[track_caller]
fn node_change(snapshot: &LifecycleSnapshot) -> NodeChange {
    let care = care(snapshot);
    let mut changes = care.effects.iter().filter_map(|effect| match effect {
        Effect::ChangeNode(change) => Some((**change).clone()),
        _ => None,
    });
    changes.next().unwrap_or_else(|| panic!("{:?}", lines(&care)))
}

/// What the Node is like once a change is written.
fn written(mut node: ClaimNode, change: &NodeChange) -> ClaimNode {
    node.finalizer |= change.finalizer;
    node.owned |= change.owner.is_some();
    node.labels.extend(change.labels.clone());
    node.annotations.extend(change.annotations.clone());
    node.taints = change.taints.clone().unwrap_or(node.taints);
    node
}

#[test]
fn reg_01_a_node_joins_in_two_looks() {
    let decided = care(&joins(launched("c1", "1"), joining("n1", "1")));
    let expected = "node n1 held owned example.com/class=class karpenter.sh/nodepool=default karpenter.sh/registered=true taints []";
    assert_eq!(lines(&decided), [expected]);
    assert_eq!(again(&decided, "c1"), Some(0));

    let change = node_change(&joins(launched("c1", "1"), joining("n1", "1")));
    let joined = written(joining("n1", "1"), &change);
    let mut waiting = launched("c1", "1");
    let unknown = condition(ConditionStatus::Unknown, "NodeNotFound", ago(10));
    waiting.conditions.insert("Registered".into(), unknown);
    let care = care(&joins(waiting, joined));
    assert!(lines(&care)[0].starts_with("claim c1 on n1 "), "{:?}", lines(&care));
    let change = change_of(&care, "c1");
    assert_eq!(change.conditions["Registered"].status, ConditionStatus::True);
    assert_eq!(change.conditions["Registered"].since, now());
}

#[test]
fn reg_02_what_the_claim_says_wins() {
    let mut said = launched("c1", "1");
    said.labels.insert("team".into(), "blue".into());
    said.annotations = map(&[("note", "mine"), (labels::LAUNCH_GROUP, "g")]);
    let mut node = ClaimNode { owned: true, finalizer: true, ..joining("n1", "1") };
    node.labels = map(&[("team", "red"), ("other", "stays")]);
    let change = node_change(&joins(said, node));
    assert_eq!((change.owner, change.finalizer), (None, false), "once is enough");
    let labels = map(&[
        (labels::NODEPOOL, "default"),
        (labels::REGISTERED, "true"),
        ("example.com/class", "class"),
        ("team", "blue"),
    ]);
    assert_eq!(change.labels, labels);
    assert_eq!(change.annotations, map(&[("note", "mine")]));
    assert_eq!(change.version, "1");
}

#[test]
fn reg_03_taints_are_merged_once() {
    let said =
        Claim { taints: vec![taint("own")], startup_taints: vec![taint("starting")], ..launched("c1", "1") };
    let mine = Taint { value: "theirs".into(), ..taint("own") };
    let plain = ClaimNode { taints: vec![unregistered(), mine.clone()], ..joining("n1", "1") };
    let mut apart = plain.clone();
    apart.labels = map(&[(labels::DO_NOT_SYNC_TAINTS, "true")]);
    let mut nearly = plain.clone();
    nearly.labels = map(&[(labels::DO_NOT_SYNC_TAINTS, "True")]);
    // It has joined, and its startup taint is gone; but something else is missing.
    let mut later = ClaimNode { owned: false, ..node("n1", "1") };
    later.taints = vec![mine.clone()];
    let table = [
        (plain, Some(vec![mine.clone(), taint("starting")])),
        (apart, Some(vec![mine.clone()])),
        (nearly, Some(vec![mine, taint("starting")])),
        (later, None),
    ];
    for (row, (node, taints)) in table.into_iter().enumerate() {
        assert_eq!(node_change(&joins(said.clone(), node)).taints, taints, "row {row}");
    }
}

#[test]
fn reg_04_without_the_taint_it_joins_and_somebody_is_told() {
    let bare = ClaimNode { taints: Vec::new(), ..joining("n1", "1") };
    let said = lines(&care(&joins(launched("c1", "1"), bare)));
    assert_eq!(said[0], "event UnregisteredTaintMissing");
    assert!(said[1].starts_with("node n1 held owned"));
}

#[test]
fn reg_05_two_nodes_of_one_machine_are_none() {
    let mut snapshot = joins(launched("c1", "1"), joining("n1", "1"));
    snapshot.nodes.push(joining("n2", "1"));
    let first = change_of(&care(&snapshot), "c1");
    let registered = &first.conditions["Registered"];
    assert_eq!(
        (registered.status, registered.reason.as_str()),
        (ConditionStatus::False, "MultipleNodesFound")
    );
    assert_eq!(first.conditions["Ready"].reason, "UnhealthyDependents");
    // It stays so, though one has gone.
    snapshot.claims[0].conditions.extend(first.conditions);
    snapshot.nodes.pop();
    assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
}

#[test]
fn init_01_what_a_node_lacks_is_said() {
    let said = Claim { startup_taints: vec![taint("starting")], ..launched("c1", "1") };
    let said = with_true(Claim { node: Some("n1".into()), ..said }, &["Registered"]);
    let mut ready = node("n1", "1");
    ready.labels.remove(labels::INITIALIZED);
    let tainted = |taint: Taint| ClaimNode { taints: vec![taint], ..ready.clone() };
    let mut bare = ready.clone();
    bare.allocatable.set("cpu", Quantity::ZERO);
    let table = [
        (ClaimNode { ready: ConditionStatus::Unknown, ..ready.clone() }, "NodeNotReady"),
        (tainted(Taint { value: "x".into(), ..taint("starting") }), "StartupTaintsExist"),
        (tainted(taint("node.kubernetes.io/not-ready")), "KnownEphemeralTaintsExist"),
        (tainted(taint("node.cloudprovider.kubernetes.io/uninitialized")), "KnownEphemeralTaintsExist"),
        (
            tainted(Taint { effect: TaintEffect::NoExecute, ..taint("readiness.k8s.io/gpu") }),
            "KnownEphemeralTaintsExist",
        ),
        (bare, "ResourceNotRegistered"),
    ];
    for (node, reason) in table {
        let care = care(&joins(said.clone(), node));
        let change = change_of(&care, "c1");
        assert_eq!(change.conditions["Initialized"].reason, reason);
        assert_eq!(change.conditions["Initialized"].status, ConditionStatus::Unknown);
        assert_eq!(again(&care, "c1"), Some(2), "{reason}");
    }
    let other = tainted(Taint { effect: TaintEffect::NoExecute, ..taint("starting") });
    assert_eq!(node_change(&joins(said.clone(), other)).labels, map(&[(labels::INITIALIZED, "true")]));
    // Not before it has joined.
    let early = care(&joins(launched("c1", "1"), ready));
    assert!(!lines(&early).iter().any(|line| line.contains("Initialized=True")));
    let mut gone = snapshot(vec![said]);
    gone.instances = vec![machine("1")];
    let nowhere = care(&gone);
    assert_eq!(change_of(&nowhere, "c1").conditions["Initialized"].reason, "NodeNotFound");
}

#[test]
fn init_02_a_node_becomes_one_that_counts_and_stays_one() {
    let said = with_true(Claim { node: Some("n1".into()), ..launched("c1", "1") }, &["Registered"]);
    let change = change_of(&care(&joins(said.clone(), node("n1", "1"))), "c1");
    for kind in ["Initialized", "Ready"] {
        assert_eq!(change.conditions[kind].status, ConditionStatus::True, "{kind}");
    }
    assert_eq!(change.conditions["Ready"].reason, "Ready");
    let unwell = ClaimNode { ready: ConditionStatus::False, ..node("c1", "1") };
    assert_eq!(lines(&care(&joins(at_rest("c1", "1"), unwell))), [] as [&str; 0]);
}

#[test]
fn at_rest_nothing_is_done_and_nobody_looks_again() {
    let decided = care(&joins(at_rest("c1", "1"), node("c1", "1")));
    assert_eq!(decided, model::Care::default());
}

#[test]
fn cond_01_conditions_follow_the_generation() {
    let newer = Claim { generation: 2, ..at_rest("c1", "1") };
    let change = change_of(&care(&joins(newer, node("c1", "1"))), "c1");
    assert_eq!(change.conditions.len(), 5);
    for (kind, condition) in &change.conditions {
        assert_eq!((condition.status, condition.generation), (ConditionStatus::True, 2), "{kind}");
        assert_eq!(condition.since, ago(10), "{kind}");
    }
    // What is written at the end leaves Ready as it was.
    let mut going =
        joins(Claim { generation: 2, deleting: Some(ago(1)), ..at_rest("c1", "1") }, draining("c1", "1"));
    going.pods = vec![pod("p", "c1")];
    let change = change_of(&care(&going), "c1");
    assert_eq!(change.conditions["Ready"].status, ConditionStatus::True);
    assert_eq!(change.conditions["Drained"].generation, 2);
}

#[test]
fn the_machine_is_named_once_its_node_has_joined() {
    let mut joined = at_rest("c1", "1");
    joined.annotations.clear();
    let mut snapshot = joins(joined, node("c1", "1"));
    let tag = r#"tag cloud:///a/i-1 {"Name": "c1", "karpenter.sh/nodeclaim": "c1"}"#;
    assert_eq!(lines(&care(&snapshot)), [tag]);
    assert_eq!(again(&care(&snapshot), "c1"), Some(2));
    snapshot.instances[0].claim = Some("c1".into());
    let marks = map(&[(labels::TAGGED, "true"), (labels::CLUSTER_NAME_TAGGED, "true")]);
    assert_eq!(change_of(&care(&snapshot), "c1").annotations, marks);
    assert_eq!(again(&care(&snapshot), "c1"), None);
    // Who is going needs no name.
    snapshot.instances[0].claim = None;
    snapshot.claims[0].deleting = Some(ago(1));
    assert!(!lines(&care(&snapshot)).contains(&tag.to_owned()));
}

#[test]
fn planned_pods_are_told_while_their_node_starts() {
    let mut waiting = ClaimNode { ready: ConditionStatus::False, ..node("n1", "1") };
    waiting.labels.remove(labels::INITIALIZED);
    let joined = with_true(Claim { node: Some("n1".into()), ..launched("c1", "1") }, &["Registered"]);
    let mut snapshot = joins(joined, waiting);
    let planned = PlannedPod { name: ObjectName::new("default", "p"), uid: "u".into() };
    snapshot.planned.insert("c1".into(), vec![planned]);
    let nominates = |snapshot: &LifecycleSnapshot| {
        lines(&care(snapshot)).contains(&"nominate n1 for default/p".to_owned())
    };
    assert!(nominates(&snapshot));
    snapshot.claims[0] = at_rest("c1", "1");
    assert!(!nominates(&snapshot));
    snapshot.claims[0] = launched("c1", "1");
    assert!(!nominates(&snapshot));
}

#[test]
fn reg_08_live_04_pools_learn_how_registrations_came_out() {
    let joined = || {
        joins(launched("c1", "1"), {
            let change = node_change(&joins(launched("c1", "1"), joining("n1", "1")));
            written(joining("n1", "1"), &change)
        })
    };
    let alone = |claim: Claim| {
        let mut seen = snapshot(vec![Claim { created: ago(900), ..claim }]);
        seen.instances = vec![machine("1")];
        seen
    };
    let mut late = launched("c1", "1");
    late.conditions.get_mut("Launched").unwrap().since = ago(900);
    let mut refused = claim("c1");
    let why = condition(ConditionStatus::Unknown, "Unauthorized", ago(900));
    refused.conditions.insert("Launched".into(), why);
    let unready = |joined: i64, annotations: &[(&str, &str)]| {
        let mut claim = with_true(Claim { node: Some("n1".into()), ..launched("c1", "1") }, &["Registered"]);
        claim.conditions.get_mut("Registered").unwrap().since = ago(joined);
        claim.annotations = map(annotations);
        let mut node = ClaimNode { ready: ConditionStatus::False, ..node("n1", "1") };
        node.labels.remove(labels::INITIALIZED);
        joins(claim, node)
    };
    let mut ready = unready(60, &[]);
    ready.nodes[0].labels.insert(labels::INITIALIZED.into(), "true".into());
    let nobodys = || Claim { pool: None, ..late.clone() };
    for (what, seen, told) in [
        ("joined", joined(), vec!["default: joined"]),
        ("never joined", alone(late.clone()), vec!["default: RegistrationFailed"]),
        (
            "never launched",
            LifecycleSnapshot { instances: vec![], instances_known: false, ..alone(refused) },
            vec!["default: Unauthorized"],
        ),
        ("of no pool", alone(nobodys()), vec![]),
        ("at rest", joins(at_rest("c1", "1"), node("c1", "1")), vec![]),
        ("initialized", ready, vec!["default: joined"]),
        ("not initialized yet", unready(899, &[]), vec![]),
        ("not initialized in time", unready(900, &[]), vec!["default: NodeNotReady"]),
        ("known to be late", unready(9000, &[(labels::OVERDUE, "x")]), vec![]),
    ] {
        assert_eq!(registrations(&care(&seen)), told, "{what}");
    }
}

#[test]
fn the_stage_of_a_start_is_told() {
    use model::StartStage::{Capacity, Initialization, Launch, Registration};
    let stage = |seen: &LifecycleSnapshot| {
        care(seen).effects.into_iter().find_map(|effect| match effect {
            Effect::NoteRegistrations { outcomes, .. } => {
                Some((outcomes[0].stage, outcomes[0].image.clone()))
            }
            _ => None,
        })
    };
    let aged = |claim: Claim| snapshot(vec![Claim { created: ago(900), ..claim }]);
    let mut refused = claim("c1");
    refused
        .conditions
        .insert("Launched".into(), condition(ConditionStatus::Unknown, "Unauthorized", ago(900)));
    let mut never = aged(Claim { image: Some("ami-1".into()), ..launched("c1", "1") });
    never.instances = vec![machine("1")];
    let mut none = snapshot(vec![claim("c1")]);
    none.types.clear();
    none.types.insert("class".into(), Default::default());
    let mut ready = with_true(Claim { node: Some("n1".into()), ..launched("c1", "1") }, &["Registered"]);
    ready.created = ago(60);
    for (what, seen, told) in [
        ("never launched", LifecycleSnapshot { instances_known: false, ..aged(refused) }, (Launch, None)),
        ("never joined", never, (Registration, Some("ami-1".to_owned()))),
        ("sold out", none, (Capacity, None)),
        ("ready", joins(ready, node("n1", "1")), (Initialization, None)),
    ] {
        assert_eq!(stage(&seen), Some(told), "{what}");
    }
}

#[test]
fn planned_pods_are_those_that_still_wait_and_that_nobody_has_a_node_for() {
    let mut joined = with_true(Claim { node: Some("n1".into()), ..launched("c1", "1") }, &["Registered"]);
    joined.annotations.insert(labels::PLANNED_PODS.into(), "default/a,default/b,other/a,default/gone".into());
    let unbound = |namespace: &str, name: &str, nominated: Option<&str>| UnboundPod {
        name: ObjectName::new(namespace, name),
        uid: format!("{namespace}-{name}"),
        nominated: nominated.map(str::to_owned),
    };
    let pods = [
        unbound("default", "a", None),
        unbound("default", "b", Some("n2")),
        unbound("other", "a", None),
        unbound("default", "c", None),
    ];
    let told = |claim: &Claim| -> Vec<String> {
        let all = planned(std::slice::from_ref(claim), &pods);
        assert_eq!(wants(std::slice::from_ref(claim), &[], &[]).unbound, !all.is_empty());
        all.into_values().flatten().map(|pod| pod.uid).collect()
    };
    assert_eq!(told(&joined), ["default-a", "other-a"]);
    let none: [&str; 0] = [];
    assert_eq!(told(&with_true(joined.clone(), &["Initialized"])), none, "it takes pods already");
    assert_eq!(told(&Claim { deleting: Some(ago(1)), ..joined.clone() }), none, "it is going");
    assert_eq!(told(&Claim { annotations: launched("c1", "1").annotations, ..joined.clone() }), none);
    assert_eq!(
        told(&Claim { conditions: launched("c1", "1").conditions, ..joined }),
        none,
        "it has not joined"
    );
}

#[test]
fn nc_04_a_node_with_less_than_promised_is_spoken_of_once() {
    for (millicpu, consistent) in [(3600, true), (3599, false)] {
        let mut fresh = at_rest("c1", "1");
        fresh.conditions.remove("ConsistentStateFound");
        let mut snapshot = joins(fresh, node("c1", "1"));
        snapshot.nodes[0].capacity.set("cpu", Quantity::from_milli(millicpu));
        let first = care(&snapshot);
        let written = change_of(&first, "c1").conditions["ConsistentStateFound"].clone();
        assert_eq!(written.status == ConditionStatus::True, consistent);
        let told = lines(&first).contains(&"event FailedConsistencyCheck".to_owned());
        assert_eq!(told, !consistent);
        snapshot.claims[0].conditions.insert("ConsistentStateFound".into(), written);
        assert_eq!(lines(&care(&snapshot)), [] as [&str; 0]);
    }
}

#[test]
fn nc_01_what_lost_its_machine_goes_unless_its_node_still_answers() {
    let gone = |claim, node: Option<ClaimNode>, known: bool| {
        let mut snapshot = snapshot(vec![claim]);
        snapshot.nodes = node.into_iter().collect();
        snapshot.instances_known = known;
        lines(&care(&snapshot)).contains(&"delete c1: GarbageCollected".to_owned())
    };
    let unwell = ClaimNode { ready: ConditionStatus::Unknown, ..node("c1", "1") };
    assert!(gone(at_rest("c1", "1"), Some(unwell.clone()), true));
    assert!(gone(at_rest("c1", "1"), None, true));
    assert!(!gone(at_rest("c1", "1"), Some(node("c1", "1")), true));
    assert!(!gone(launched("c1", "1"), None, true), "it has not joined");
    assert!(!gone(at_rest("c1", "1"), Some(unwell), false), "nobody has looked");
}

#[test]
fn a_claim_goes_with_its_machine_or_its_node() {
    let mut ended = joins(launched("c1", "1"), joining("n1", "1"));
    ended.instances[0].state = model::InstanceState::ShuttingDown;
    assert!(lines(&care(&ended)).contains(&"delete c1: InstanceTerminated".into()));

    // Two of one name of machine: who has joined keeps it, else who is to stay, else the first.
    let deletes = |claims: Vec<Claim>, name: &str| {
        let mut snapshot = snapshot(claims);
        snapshot.instances = vec![machine("1")];
        lines(&care(&snapshot)).contains(&format!("delete {name}: DuplicateMachine"))
    };
    assert!(deletes(vec![launched("c2", "1"), launched("c1", "1")], "c2"));
    assert!(!deletes(vec![launched("c2", "1"), launched("c1", "1")], "c1"));
    assert!(deletes(vec![at_rest("c2", "1"), launched("c1", "1")], "c1"));
    let going = Claim { deleting: Some(ago(1)), ..launched("c1", "1") };
    assert!(!deletes(vec![going, launched("c2", "1")], "c2"));
}
