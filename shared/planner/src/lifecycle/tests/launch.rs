//! Launches: whom one is asked for, what it brings, who gets what.

use std::sync::Arc;

use model::{
    Avoided, CapacityType, Claim, ClassStatus, ConditionStatus, Effect, Instance, InstanceState,
    LaunchAnswer, LaunchClass, LaunchFailure, LaunchFailureKind, LaunchOrder, LifecycleSnapshot, Offer,
    Requirement, labels,
};

use super::super::care;
use super::kit::*;

#[track_caller]
fn order(snapshot: &LifecycleSnapshot) -> LaunchOrder {
    let care = care(snapshot);
    let launches = care.effects.iter().filter_map(|effect| match effect {
        Effect::Launch(order) => Some(order.as_ref().clone()),
        _ => None,
    });
    let orders: Vec<_> = launches.collect();
    assert_eq!(orders.len(), 1, "{:?}", lines(&care));
    orders[0].clone()
}

fn failure(kind: LaunchFailureKind, reason: &str) -> LaunchFailure {
    let offer = Offer {
        instance_type: "m".into(),
        zone: "a".into(),
        capacity_type: CapacityType::Spot,
        price: model::MicroUsd(5),
        reservation: None,
    };
    LaunchFailure {
        kind,
        offer: Some(offer),
        subnet: Some("s1".into()),
        reason: reason.into(),
        message: format!("{reason}: no"),
    }
}

/// With what the newest launch of the group brought.
fn answered(claims: Vec<Claim>, mut answer: LaunchAnswer) -> LifecycleSnapshot {
    answer.token = match claims[0].annotations.get(labels::LAUNCH_ATTEMPT) {
        Some(attempt) => format!("g-{attempt}"),
        None => "g".to_owned(),
    };
    let mut snapshot = snapshot(claims);
    snapshot.launches.insert("g".into(), answer);
    snapshot
}

#[test]
fn launch_01_the_finalizer_comes_first() {
    let unheld = Claim { finalizer: false, ..claim("c1") };
    let care = care(&snapshot(vec![unheld, claim("c2")]));
    // Nor is its group launched without it.
    assert_eq!(lines(&care), ["claim c1 held"]);
    assert_eq!(again(&care, "c1"), Some(0));
    assert_eq!(change_of(&care, "c1").version.as_deref(), Some("1"));
}

#[test]
fn one_group_is_one_request() {
    let mut two = claim("c2");
    two.requests = resources(&[("cpu", 3)]);
    two.labels.insert("only".into(), "two".into());
    two.taints = vec![taint("dedicated")];
    two.startup_taints = vec![taint("starting")];
    let one = Claim { taints: two.taints.clone(), startup_taints: two.startup_taints.clone(), ..claim("c1") };
    let other = Claim { launch_group: None, ..claim("c3") };
    let care = care(&snapshot(vec![two.clone(), other, one.clone()]));
    assert_eq!(lines(&care), ["launch g for c1 c2", "launch uid-c3 for c3"]);
    assert_eq!((again(&care, "c1"), again(&care, "c3")), (Some(0), Some(0)));

    let order = order(&snapshot(vec![two, one]));
    assert_eq!(order.requests, resources(&[("cpu", 3)]));
    let labels =
        [(labels::NODEPOOL, "default"), (labels::CAPACITY_TYPE, "spot"), ("example.com/class", "class")];
    assert_eq!(order.labels, map(&labels));
    assert_eq!(order.taints, [taint("dedicated"), taint("starting"), unregistered()]);
    let offers: Vec<_> =
        order.offers.iter().map(|o| (o.instance_type.as_str(), o.zone.as_str(), o.price.0)).collect();
    assert_eq!(offers, [("m", "a", 5), ("m", "b", 5), ("l", "a", 10), ("l", "b", 10)]);
}

#[test]
fn launch_02_success_is_written_down() {
    let mut first = claim("c1");
    first.labels.insert(labels::ARCH.into(), "mine".into());
    first.annotations.insert("hash".into(), "old".into());
    first.requirements.add("team", Requirement::is_in(["blue"]));
    let mut snapshot = snapshot(vec![first]);
    let groups = ["sg-2".to_owned(), "sg-1".to_owned()].into();
    snapshot.instances =
        vec![Instance { subnet: Some("subnet-1".into()), security_groups: groups, ..machine("1") }];
    let class = LaunchClass { annotations: map(&[("hash", "new")]), ..LaunchClass::default() };
    snapshot.classes.insert("class".into(), class);
    let care = care(&snapshot);
    let change = change_of(&care, "c1");
    assert_eq!(care.effects.len(), 1);
    assert_eq!(change.provider_id, Some(id_of("1")));
    assert_eq!(change.image.as_deref(), Some("image-1"));
    assert_eq!(change.capacity, resources(&[("cpu", 4), ("memory", 4 << 30), ("pods", 100)]));
    assert_eq!(change.allocatable, change.capacity);
    let annotations =
        map(&[("hash", "new"), (labels::SECURITY_GROUPS, "sg-1,sg-2"), (labels::SUBNET, "subnet-1")]);
    assert_eq!(change.annotations, annotations);
    // Its own labels stay: arch is not among these.
    let labels = map(&[
        (labels::INSTANCE_TYPE, "m"),
        (labels::ZONE, "a"),
        (labels::ZONE_ID, "id-a"),
        (labels::CAPACITY_TYPE, "on-demand"),
        (labels::TENANCY, "default"),
        ("team", "blue"),
    ]);
    assert_eq!(change.labels, labels);
    let launched = &change.conditions["Launched"];
    assert_eq!((launched.status, launched.since), (ConditionStatus::True, ago(10)));
    assert_eq!(change.conditions["Registered"].reason, "NodeNotFound");
    assert_eq!(change.conditions["Ready"].message, "Registered=Unknown, Initialized=Unknown");
}

#[test]
fn launch_03_without_capacity_or_class_the_claim_goes() {
    let class = |status| Some(LaunchClass { status, ..LaunchClass::default() });
    let table = [
        (None, "NodeClassNotFound", "InsufficientCapacity"),
        (class(ClassStatus::Deleting), "NodeClassTerminating", "InsufficientCapacity"),
        (class(ClassStatus::NotReady("subnets".into())), "NodeClassNotReady", "NodeClassNotReady"),
    ];
    for (class, event, reason) in table {
        let mut snapshot = snapshot(vec![claim("c1")]);
        snapshot.classes = class.map(|class| ("class".to_owned(), class)).into_iter().collect();
        let care = care(&snapshot);
        assert_eq!(
            lines(&care),
            [format!("event {event}"), format!("delete c1: {reason}"), "provision".into()]
        );
        assert_eq!(again(&care, "c1"), Some(0));
    }
    let mut too_big = claim("c1");
    too_big.requests = resources(&[("cpu", 9)]);
    let expected = ["event InsufficientCapacityError", "delete c1: InsufficientCapacity", "provision"];
    assert_eq!(lines(&care(&snapshot(vec![too_big]))), expected);

    let failures = vec![failure(LaunchFailureKind::Capacity, "InsufficientInstanceCapacity")];
    let answer = LaunchAnswer { spent: true, failures, ..LaunchAnswer::default() };
    let care = care(&answered(vec![claim("c1")], answer));
    assert_eq!(lines_but(&care, &["avoid"]), expected);
    let what =
        Avoided::Offering { instance_type: "m".into(), zone: "a".into(), capacity_type: CapacityType::Spot };
    assert_eq!(care.effects[0], Effect::Avoid { what, until: in_secs(180) });
}

#[test]
fn launch_03_without_answer_about_the_class_it_is_tried_again() {
    let mut unknown = snapshot(vec![claim("c1")]);
    let class = LaunchClass { status: ClassStatus::Unknown("resolving".into()), ..LaunchClass::default() };
    unknown.classes.insert("class".into(), class);
    let mut no_types = snapshot(vec![claim("c1")]);
    no_types.types.clear();
    for (snapshot, reason) in
        [(unknown, "NodeClassReadinessUnknown"), (no_types, "InstanceTypeResolutionFailed")]
    {
        let care = care(&snapshot);
        assert_eq!(care.effects.len(), 1);
        assert_eq!(change_of(&care, "c1").conditions["Launched"].reason, reason);
        assert_eq!(again(&care, "c1"), Some(2));
    }
}

#[test]
fn launch_04_other_failures_are_written_down_and_tried_again() {
    use LaunchFailureKind::{Capacity, Rejected, Throttled, Unknown};
    let both = vec![failure(Capacity, "InsufficientInstanceCapacity"), failure(Rejected, "AMINotFound")];
    let table = [
        (false, vec![failure(Rejected, "Unauthorized")], "Unauthorized", None),
        (false, vec![failure(Throttled, "RequestLimitExceeded")], "RequestLimitExceeded", None),
        (false, vec![failure(Unknown, "InternalError")], "InternalError", None),
        // The token is used up, so there is a new one.
        (true, vec![failure(Rejected, "Unauthorized")], "Unauthorized", Some("1")),
        (true, both, "AMINotFound", Some("1")),
    ];
    for (spent, failures, reason, attempt) in table {
        let answer = LaunchAnswer { spent, failures, ..LaunchAnswer::default() };
        let care = care(&answered(vec![claim("c1")], answer));
        let change = change_of(&care, "c1");
        let launched = &change.conditions["Launched"];
        assert_eq!((launched.status, launched.reason.as_str()), (ConditionStatus::Unknown, reason));
        assert_eq!(change.annotations.get(labels::LAUNCH_ATTEMPT).map(String::as_str), attempt, "{reason}");
        assert_eq!(again(&care, "c1"), Some(2), "{reason}");
    }
    let mut long = failure(Rejected, "LaunchFailed");
    long.message = "x".repeat(301);
    let answer = LaunchAnswer { failures: vec![long], ..LaunchAnswer::default() };
    let care = care(&answered(vec![claim("c1")], answer));
    assert_eq!(change_of(&care, "c1").conditions["Launched"].message, format!("{}...", "x".repeat(300)));
}

#[test]
fn launch_05_a_launch_whose_record_was_lost_is_not_repeated() {
    let claims = vec![claim("c2"), claim("c1")];
    let mut snapshot = snapshot(claims);
    snapshot.instances = vec![machine("9"), machine("3")];
    let dealt = ["claim c1 is cloud:///a/i-3", "claim c2 is cloud:///a/i-9"];
    let care = care(&snapshot);
    let said = lines(&care);
    assert!(said.iter().zip(dealt).all(|(line, start)| line.starts_with(start)), "{said:?}");
    assert_eq!(said.len(), 2);
}

#[test]
fn machines_are_dealt_when_all_can_be_seen() {
    let claims = || vec![claim("c1"), claim("c2")];
    let mut young = snapshot(claims());
    young.instances = vec![machine("1")];
    let decided = care(&young);
    assert_eq!(lines(&decided), [] as [&str; 0], "another may still show up");
    assert_eq!(again(&decided, "c2"), Some(2));

    // The answer itself tells that there is no other.
    let mut told = young.clone();
    told.launches.insert(
        "g".into(),
        LaunchAnswer { spent: true, machines: vec![id_of("1")], ..LaunchAnswer::default() },
    );
    let mut settled = young.clone();
    settled.instances[0].launched = ago(30);
    for snapshot in [told, settled] {
        let decided = care(&snapshot);
        assert!(lines(&decided)[0].starts_with("claim c1 is cloud:///a/i-1"));
        let rest = ["event InsufficientCapacityError", "delete c2: InsufficientCapacity", "provision"];
        assert_eq!(lines(&decided)[1..], rest);
    }

    // One that ended at once counts as brought, but nobody gets it.
    let mut ended = young.clone();
    ended.instances = vec![machine("1"), machine("2")];
    ended.instances[0].state = InstanceState::Terminated;
    ended.instances.iter_mut().for_each(|machine| machine.launched = ago(60));
    assert!(lines(&care(&ended))[0].starts_with("claim c1 is cloud:///a/i-2"));

    // What another has is not dealt again.
    let mut taken = snapshot(vec![launched("c1", "1"), claim("c2")]);
    taken.instances = vec![machine("1"), machine("2")];
    assert!(lines(&care(&taken)).iter().any(|line| line.starts_with("claim c2 is cloud:///a/i-2")));

    // A tag says more than an order.
    let mut tagged = snapshot(claims());
    tagged.instances = vec![machine("1"), machine("2")];
    tagged.instances[0].claim = Some("c2".into());
    assert!(lines(&care(&tagged))[0].starts_with("claim c1 is cloud:///a/i-2"));
}

#[test]
fn nothing_is_launched_in_the_dark() {
    let mut dark = snapshot(vec![claim("c1")]);
    dark.instances_known = false;
    assert_eq!(lines(&care(&dark)), [] as [&str; 0]);
    assert_eq!(again(&care(&dark), "c1"), Some(2));

    // Another of the group has its machine, so there was a launch.
    let half = snapshot(vec![launched("c1", "1"), claim("c2")]);
    assert!(!lines(&care(&half)).iter().any(|line| line.starts_with("launch")));

    // There was another launch; what it brought will show.
    let failures = vec![failure(LaunchFailureKind::OtherLaunch, "IdempotentParameterMismatch")];
    let answer = LaunchAnswer { failures, ..LaunchAnswer::default() };
    assert_eq!(lines(&care(&answered(vec![claim("c1")], answer))), [] as [&str; 0]);
}

#[test]
fn l01_a_full_subnet_closes_itself_alone() {
    let failures = vec![failure(LaunchFailureKind::Subnet, "InsufficientFreeAddressesInSubnet")];
    let answer = LaunchAnswer { spent: true, failures, ..LaunchAnswer::default() };
    let decided = care(&answered(vec![claim("c1")], answer.clone()));
    assert_eq!(decided.effects[0], Effect::Avoid { what: Avoided::Subnet("s1".into()), until: in_secs(180) });
    assert_eq!(change_of(&decided, "c1").annotations, map(&[(labels::LAUNCH_ATTEMPT, "1")]));
    assert_eq!(again(&decided, "c1"), Some(0), "it is tried again at once");

    // By a new token, since the old one has its answer.
    let mut again = claim("c1");
    again.annotations = map(&[(labels::LAUNCH_ATTEMPT, "1")]);
    assert_eq!(lines(&care(&snapshot(vec![again.clone()])))[0], "launch g-1 for c1");
    // What the old one was answered says nothing of the new one.
    let mut stale = snapshot(vec![again.clone()]);
    stale.launches.insert("g".into(), LaunchAnswer { token: "g".into(), ..answer.clone() });
    assert_eq!(lines(&care(&stale)), [r#"avoid Subnet("s1")"#, "launch g-1 for c1"]);
    // In the end there is no capacity.
    again.annotations = map(&[(labels::LAUNCH_ATTEMPT, "3")]);
    assert!(lines(&care(&answered(vec![again], answer))).contains(&"delete c1: InsufficientCapacity".into()));
}

#[test]
fn what_is_avoided_follows_from_the_failure() {
    let mut reserved = failure(LaunchFailureKind::Capacity, "ReservationCapacityExceeded");
    reserved.offer.as_mut().unwrap().reservation = Some("cr-1".into());
    // It is about no offer alone, and told without one.
    let slr =
        LaunchFailure { offer: None, ..failure(LaunchFailureKind::CapacityType, "SpotSLRCreationFailed") };
    let throttled = failure(LaunchFailureKind::Throttled, "RequestLimitExceeded");
    let failures = vec![slr.clone(), reserved, throttled, slr];
    let answer = LaunchAnswer { spent: true, failures, ..LaunchAnswer::default() };
    let decided = care(&answered(vec![claim("c1")], answer));
    let avoided: Vec<_> = lines(&decided).into_iter().filter(|line| line.starts_with("avoid")).collect();
    assert_eq!(avoided, ["avoid CapacityType(Spot)", "avoid Reservation(\"cr-1\")"]);
}

#[test]
fn c133_what_a_placement_group_has_no_room_for_others_may_still_have() {
    let failures = vec![failure(LaunchFailureKind::Capacity, "InsufficientInstanceCapacity")];
    let answer = LaunchAnswer { spent: true, failures, ..LaunchAnswer::default() };
    let mut snapshot = answered(vec![claim("c1")], answer);
    let mut kinds = vec![kind("m", 4, 10)];
    kinds[0].requirements.add(labels::PLACEMENT_GROUP_ID, Requirement::is_in(["pg-1"]));
    snapshot.types.insert("class".into(), Arc::new(kinds));
    let what = Avoided::InPlacementGroup {
        group: "pg-1".into(),
        instance_type: "m".into(),
        zone: "a".into(),
        capacity_type: CapacityType::Spot,
    };
    assert_eq!(care(&snapshot).effects[0], Effect::Avoid { what, until: in_secs(180) });
}

#[test]
fn live_01_without_a_machine_for_five_minutes_the_claim_goes() {
    for (age, gone) in [(299, false), (300, true)] {
        let old = Claim { created: ago(age), ..claim("c1") };
        let decided = care(&snapshot(vec![old]));
        let said = lines(&decided);
        let expected: &[&str] = if gone {
            &["event LaunchTimeout", "delete c1: LaunchTimeout", "provision"]
        } else {
            &["launch g for c1"]
        };
        assert_eq!(said, expected, "at {age} s");
    }
}

#[test]
fn live_02_live_03_without_a_node_for_fifteen_minutes_the_claim_goes() {
    for (age, gone) in [(899, false), (900, true)] {
        let old = with_true(Claim { created: ago(age), ..launched("c1", "1") }, &["Launched"]);
        let decided = care(&snapshot(vec![old]));
        let deleted = lines(&decided).contains(&"delete c1: RegistrationTimeout".to_owned());
        assert_eq!(deleted, gone, "at {age} s");
        if !gone {
            assert_eq!(again(&decided, "c1"), Some(1), "not later than its end");
        }
    }
    // One that has joined is kept for ever.
    let mut joined = snapshot(vec![Claim { created: ago(90_000), ..at_rest("c1", "1") }]);
    joined.nodes = vec![node("c1", "1")];
    assert_eq!(lines(&care(&joined)), [] as [&str; 0]);
    // And one whose machine was found in this very look.
    let mut late = snapshot(vec![Claim { created: ago(301), ..claim("c1") }]);
    late.instances = vec![machine("1")];
    assert!(!lines(&care(&late)).iter().any(|line| line.starts_with("delete")));
}

#[test]
fn nc_02_expiry_is_exact_and_ignores_all_else() {
    let hour = Some(jiff::SignedDuration::from_hours(1));
    // A tenth of the age is disruption's, to renew nodes within budgets, unless the pool names the latest age itself.
    let table = [
        (3959, hour, None, false),
        (3960, hour, None, true),
        (3600, hour, Some("1h"), true),
        (7199, hour, Some("2h"), false),
        (7200, hour, Some("2h"), true),
        (90_000, None, None, false),
    ];
    for (age, after, latest, goes) in table {
        let mut old =
            with_true(Claim { created: ago(age), expire_after: after, ..at_rest("c1", "1") }, &["Ready"]);
        let latest = latest.map(|latest| (labels::EXPIRE_AT_LATEST_AFTER.to_owned(), latest.to_owned()));
        old.annotations.extend(latest);
        let mut snapshot = snapshot(vec![old]);
        snapshot.nodes = vec![node("c1", "1")];
        snapshot.nodes[0].annotations = map(&[(labels::DO_NOT_DISRUPT, "true")]);
        let expected: &[&str] =
            if goes { &["event Expired", "delete c1: Expired", "provision"] } else { &[] };
        assert_eq!(lines(&care(&snapshot)), expected, "at {age} s");
        snapshot.claims[0].deleting = Some(ago(1));
        assert!(!lines(&care(&snapshot)).contains(&"delete c1: Expired".into()), "it is asked once");
    }
}
