//! What follows from announcements.

use model::{
    Avoided, CapacityType, Care, Claim, ClaimNode, ConditionStatus, Effect, InterruptionSnapshot,
    NodeClassRef, Notice, NoticeKind, ObjectRef, Requirements, Resources, Taint, TaintEffect, labels,
};

use super::*;

fn now() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

fn in_secs(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

fn claim(name: &str, instance: &str) -> Claim {
    let labels = [
        (labels::NODEPOOL, "default"),
        (labels::INSTANCE_TYPE, "m"),
        (labels::ZONE, "a"),
        (labels::CAPACITY_TYPE, "spot"),
        (labels::RESERVATION_ID, "cr-1"),
    ];
    Claim {
        name: name.into(),
        uid: format!("uid-{name}"),
        version: "1".into(),
        generation: 1,
        pool: Some("default".into()),
        node_class: NodeClassRef::default(),
        launch_group: None,
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        requirements: Requirements::new(),
        requests: Resources::new(),
        termination_grace_period: None,
        expire_after: None,
        created: in_secs(-600),
        deleting: None,
        finalizer: true,
        provider_id: Some(format!("cloud:///a/{instance}")),
        image: None,
        node: None,
        capacity: Resources::new(),
        allocatable: Resources::new(),
        conditions: BTreeMap::new(),
    }
}

/// Named by nobody's rule: it is found by its provider id.
fn node(name: &str, instance: &str) -> ClaimNode {
    ClaimNode {
        name: name.into(),
        uid: format!("uid-{name}"),
        version: "7".into(),
        provider_id: format!("cloud:///a/{instance}"),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        ready: ConditionStatus::True,
        allocatable: Resources::new(),
        capacity: Resources::new(),
        finalizer: true,
        owned: true,
        created: in_secs(-600),
        deleting: None,
    }
}

fn notice(kind: NoticeKind, instances: &[&str]) -> Notice {
    Notice { kind, instances: instances.iter().map(|id| (*id).to_owned()).collect() }
}

fn snapshot(notices: Vec<Notice>) -> InterruptionSnapshot {
    InterruptionSnapshot {
        now: now(),
        notices,
        claims: vec![claim("c1", "i-1"), claim("c2", "i-2")],
        nodes: vec![node("worker-7", "i-1"), node("worker-8", "i-2")],
        rebalancing_pools: BTreeSet::new(),
    }
}

fn spot() -> NoticeKind {
    NoticeKind::SpotInterruption { deadline: in_secs(120) }
}

/// Effects by name, events as their reason with what they are about.
fn said(care: &Care) -> Vec<String> {
    let one = |effect: &Effect| match effect {
        Effect::ChangeNodeClaim(change) => format!("annotate {} {:?}", change.claim, change.annotations),
        Effect::ChangeNode(change) => format!("taint {} {}", change.node, change.version),
        Effect::DeleteNodeClaim { claim, reason, .. } => format!("delete {claim} {reason}"),
        Effect::Avoid { what, .. } => format!("avoid {what:?}"),
        Effect::PublishEvent { about: ObjectRef::NodeClaim(name), kind, reason, .. }
        | Effect::PublishEvent { about: ObjectRef::Node(name), kind, reason, .. } => {
            format!("{kind:?} {reason} {name}")
        }
        Effect::HintLifecycle { claims, .. } => format!("look {}", claims.join(" ")),
        Effect::HintProvision { .. } => "provision".to_owned(),
        other => format!("{other:?}"),
    };
    care.effects.iter().map(one).collect()
}

/// The same without events.
fn done(care: &Care) -> Vec<String> {
    said(care)
        .into_iter()
        .filter(|line| !line.starts_with("Warning") && !line.starts_with("Normal"))
        .collect()
}

#[test]
fn e215_e221_a_spot_warning_in_full() {
    let care = interrupt(&snapshot(vec![notice(spot(), &["i-1"])]));
    let expected = [
        r#"annotate c1 {"journeyman.dev/interruption-deadline": "2026-06-01T12:02:00Z"}"#,
        "Warning SpotInterrupted c1",
        "Warning SpotInterrupted worker-7",
        r#"avoid Offering { instance_type: "m", zone: "a", capacity_type: Spot }"#,
        "taint worker-7 7",
        "delete c1 SpotInterrupted",
        "Warning TerminatingOnInterruption c1",
        "Warning TerminatingOnInterruption worker-7",
        "look c1",
        "provision",
    ];
    assert_eq!(said(&care), expected);
    let offering =
        Avoided::Offering { instance_type: "m".into(), zone: "a".into(), capacity_type: CapacityType::Spot };
    assert!(care.effects.contains(&Effect::Avoid { what: offering, until: in_secs(180) }));
    // The deadline gets through whoever else writes; a stale Node is left to the drain.
    let unbound = care.effects.iter().any(|effect| match effect {
        Effect::ChangeNodeClaim(change) => change.version.is_none() && change.conditions.is_empty(),
        _ => false,
    });
    assert!(unbound);
}

#[test]
fn each_kind_and_what_follows() {
    use NoticeKind::{Impaired, ReservationInterruption, ScheduledChange, Stopping, Terminating};
    let since = in_secs(-120);
    let days = in_secs(3 * 86_400);
    type Row<'a> = (&'a str, NoticeKind, &'a str, &'a str, Option<&'a str>, &'a [&'a str]);
    let table: [Row<'_>; 8] = [
        ("e215", spot(), "SpotInterrupted", "SpotInterrupted", Some("12:02"), &["Offering"]),
        (
            "e216",
            ReservationInterruption { deadline: None },
            "CapacityReservationInterrupted",
            "CapacityReservationInstanceInterrupted",
            None,
            &["Reservation"],
        ),
        ("e218", Stopping, "InstanceStopped", "InstanceStopping", None, &[]),
        ("e218", Terminating, "InstanceTerminated", "InstanceTerminating", None, &[]),
        (
            "n04",
            ScheduledChange { starts: Some(days) },
            "ScheduledChange",
            "InstanceUnhealthy",
            Some("2026-06-04"),
            &[],
        ),
        ("e232", ScheduledChange { starts: None }, "ScheduledChange", "InstanceUnhealthy", None, &[]),
        ("n04", Impaired { host: true, since }, "SystemStatus", "InstanceUnhealthy", Some("12:00:00"), &[]),
        (
            "e231",
            Impaired { host: false, since },
            "InstanceStatus",
            "InstanceUnhealthy",
            Some("12:00:00"),
            &[],
        ),
    ];
    for (id, kind, reason, event, deadline, avoided) in table {
        let care = interrupt(&snapshot(vec![notice(kind, &["i-1"])]));
        let said = said(&care);
        assert!(said.contains(&format!("delete c1 {reason}")), "{id}: {said:?}");
        for about in ["c1", "worker-7"] {
            assert!(said.contains(&format!("Warning {event} {about}")), "{id}: {said:?}");
        }
        let written: Vec<_> = said.iter().filter(|line| line.starts_with("annotate")).collect();
        assert_eq!(written.len(), usize::from(deadline.is_some()), "{id}: {said:?}");
        assert!(deadline.is_none_or(|deadline| written[0].contains(deadline)), "{id}: {written:?}");
        let kept_from: Vec<_> = said.iter().filter_map(|line| line.strip_prefix("avoid ")).collect();
        assert_eq!(kept_from.len(), avoided.len(), "{id}");
        assert!(kept_from.iter().zip(avoided).all(|(what, kind)| what.starts_with(kind)), "{id}");
    }
}

#[test]
fn e222_rebalance_is_an_event_unless_the_pool_says_replace() {
    let mut snapshot = snapshot(vec![notice(NoticeKind::Rebalance, &["i-1"])]);
    let care = interrupt(&snapshot);
    let events = ["Normal SpotRebalanceRecommendation c1", "Normal SpotRebalanceRecommendation worker-7"];
    assert_eq!(said(&care), events);

    let pools = BTreeMap::from([
        ("default".to_owned(), BTreeMap::from([(labels::REBALANCE.to_owned(), "replace".to_owned())])),
        ("other".to_owned(), BTreeMap::from([(labels::REBALANCE.to_owned(), "yes".to_owned())])),
        ("third".to_owned(), BTreeMap::new()),
    ]);
    snapshot.rebalancing_pools = InterruptionSnapshot::rebalancing(&pools);
    assert_eq!(snapshot.rebalancing_pools.iter().collect::<Vec<_>>(), ["default"]);
    let care = interrupt(&snapshot);
    let expected = [
        r#"avoid Offering { instance_type: "m", zone: "a", capacity_type: Spot }"#,
        "taint worker-7 7",
        "delete c1 RebalanceRecommendation",
        "look c1",
        "provision",
    ];
    assert_eq!(done(&care), expected, "no deadline: within the budgets");
}

#[test]
fn n02_the_node_is_found_by_its_provider_id() {
    let mut other = snapshot(vec![notice(spot(), &["i-2"])]);
    // A Node that has the machine's name and isn't its.
    other.nodes.push(ClaimNode { name: "i-2".into(), ..node("i-2", "i-9") });
    let care = interrupt(&other);
    assert!(done(&care).contains(&"taint worker-8 7".to_owned()));
    assert!(
        !done(&care).iter().any(|line| line.starts_with("taint i-2") || line.starts_with("taint worker-7"))
    );
    // Without a Node there is nothing to taint, and the rest happens.
    other.nodes.clear();
    assert!(done(&interrupt(&other)).contains(&"delete c2 SpotInterrupted".to_owned()));
    // One that is tainted already is left as it is.
    let mut tainted = snapshot(vec![notice(spot(), &["i-1"])]);
    let disrupted =
        Taint { key: labels::DISRUPTED.into(), value: String::new(), effect: TaintEffect::NoSchedule };
    tainted.nodes[0].taints = vec![disrupted];
    tainted.nodes[0].labels =
        [(labels::EXCLUDE_FROM_LOAD_BALANCERS.to_owned(), "karpenter".to_owned())].into();
    assert!(!done(&interrupt(&tainted)).iter().any(|line| line.starts_with("taint")));
}

#[test]
fn n04_a_broken_host_and_planned_maintenance() {
    let broken = NoticeKind::Impaired { host: true, since: in_secs(-300) };
    let planned = NoticeKind::ScheduledChange { starts: Some(in_secs(3 * 86_400)) };
    let care = interrupt(&snapshot(vec![notice(planned, &["i-2"]), notice(broken, &["i-1"])]));
    let expected = [
        // Its time is up already: pods are made to leave at once, whatever their budgets say.
        r#"annotate c1 {"journeyman.dev/interruption-deadline": "2026-06-01T11:57:00Z"}"#,
        "taint worker-7 7",
        "delete c1 SystemStatus",
        // This one has three days.
        r#"annotate c2 {"journeyman.dev/interruption-deadline": "2026-06-04T12:00:00Z"}"#,
        "taint worker-8 7",
        "delete c2 ScheduledChange",
        "look c1 c2",
        "provision",
    ];
    assert_eq!(done(&care), expected);
}

#[test]
fn e217_a_change_may_concern_several() {
    let planned = NoticeKind::ScheduledChange { starts: None };
    let care = interrupt(&snapshot(vec![notice(planned, &["i-1", "i-2", "i-3"])]));
    assert!(done(&care).contains(&"delete c1 ScheduledChange".to_owned()));
    assert!(done(&care).contains(&"delete c2 ScheduledChange".to_owned()));
    assert_eq!(care.counts["unknown-instance"], 1);
}

#[test]
fn e229_machines_of_others_are_counted_and_left_alone() {
    let care = interrupt(&snapshot(vec![notice(spot(), &["i-9"]), notice(NoticeKind::Stopping, &["i-10"])]));
    assert_eq!(care.effects, []);
    assert_eq!(care.counts["unknown-instance"], 2);
    assert_eq!(care.notes.len(), 2);
}

#[test]
fn e225_who_is_going_already_only_gets_the_deadline() {
    let mut snapshot = snapshot(vec![notice(spot(), &["i-1"])]);
    snapshot.claims[0].deleting = Some(in_secs(-5));
    let care = interrupt(&snapshot);
    let stamp = r#"annotate c1 {"journeyman.dev/interruption-deadline": "2026-06-01T12:02:00Z"}"#;
    assert_eq!(said(&care), [stamp, "look c1"]);
    assert_eq!(care.counts["already-deleting"], 1);
    // Once written, an earlier or equal one stands.
    for (written, again) in [(119, false), (120, false), (121, true)] {
        let stamp = in_secs(written).to_string();
        snapshot.claims[0].annotations.insert(labels::INTERRUPTION_DEADLINE.into(), stamp);
        let annotates = said(&interrupt(&snapshot)).iter().any(|line| line.starts_with("annotate"));
        assert_eq!(annotates, again, "{written}");
    }
}

#[test]
fn e230_e234_a_check_must_fail_for_two_minutes() {
    for (age, goes) in [(119, false), (120, true)] {
        let kind = NoticeKind::Impaired { host: true, since: in_secs(-age) };
        let care = interrupt(&snapshot(vec![notice(kind, &["i-1"])]));
        assert_eq!(!care.effects.is_empty(), goes, "{age}");
        assert_eq!(care.counts.get("not-yet").copied(), (!goes).then_some(1));
    }
    // Told again, the deadline is the same, so it is not written again.
    let kind = NoticeKind::Impaired { host: true, since: in_secs(-120) };
    let mut later = snapshot(vec![notice(kind, &["i-1"])]);
    later.claims[0].annotations.insert(labels::INTERRUPTION_DEADLINE.into(), now().to_string());
    later.claims[0].deleting = Some(now());
    later.now = in_secs(60);
    assert!(!said(&interrupt(&later)).iter().any(|line| line.starts_with("annotate")));
}

#[test]
fn e235_who_is_given_up_counts_once_for_each_reason() {
    let impaired = |host, age: i64| NoticeKind::Impaired { host, since: in_secs(-age) };
    let mut snapshot = snapshot(vec![
        notice(impaired(true, 120), &["i-1", "i-2", "i-9"]),
        notice(impaired(true, 120), &["i-1"]),
        notice(impaired(false, 119), &["i-1"]),
        notice(NoticeKind::ScheduledChange { starts: None }, &["i-1"]),
        notice(NoticeKind::Rebalance, &["i-1"]),
    ]);
    assert_eq!(endings(&snapshot), BTreeMap::from([("ScheduledChange", 1), ("SystemStatus", 2)]));
    snapshot.claims[0].deleting = Some(now());
    assert_eq!(
        endings(&snapshot),
        BTreeMap::from([("SystemStatus", 1)]),
        "it was counted when it was given up"
    );
}

#[test]
fn e219_several_announcements_of_one_machine_are_one() {
    let all = vec![
        notice(NoticeKind::Rebalance, &["i-1"]),
        notice(NoticeKind::Stopping, &["i-1"]),
        notice(spot(), &["i-1"]),
        notice(spot(), &["i-1"]),
    ];
    let mut turned = all.clone();
    turned.reverse();
    let care = interrupt(&snapshot(all));
    assert_eq!(care, interrupt(&snapshot(turned)), "in whatever order");
    let said = said(&care);
    let count = |start: &str| said.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!((count("delete"), count("annotate"), count("taint")), (1, 1, 1));
    assert!(said.contains(&"delete c1 SpotInterrupted".to_owned()), "the deadline tells the reason");
    assert_eq!(count("Warning SpotInterrupted c1"), 1);
    assert_eq!(count("Normal SpotRebalanceRecommendation c1"), 1);
}
