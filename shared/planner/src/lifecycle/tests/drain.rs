//! Which pods leave when.

use jiff::Timestamp;
use model::{BoundPod, LifecycleSnapshot};

use super::super::drain::drain;
use super::super::view::View;
use super::kit::*;

/// What is done about pods on a node that is going, and who is waited for.
fn drained(pods: Vec<BoundPod>, deadline: Option<Timestamp>) -> (Vec<String>, Vec<String>) {
    let node = draining("n1", "1");
    let snapshot = LifecycleSnapshot { pods, ..snapshot(Vec::new()) };
    let drain = drain(&View::new(&snapshot), &node, ago(10), deadline);
    let waiting = drain.waiting.iter().map(|pod| pod.name.name.clone()).collect();
    let care = model::Care { effects: drain.effects, ..model::Care::default() };
    (lines(&care), waiting)
}

#[test]
fn term_07_who_is_waited_for_and_who_is_asked() {
    let plain = || pod("p", "n1");
    let nobody: &[&str] = &[];
    let table: [(&str, BoundPod, bool, bool); 8] = [
        ("plain", plain(), true, true),
        ("tolerates the taint", BoundPod { tolerates_disruption: true, ..plain() }, false, false),
        ("the node's own", BoundPod { mirror: true, ..plain() }, false, false),
        ("finished", BoundPod { finished: true, ..plain() }, false, false),
        ("going", BoundPod { deleting: Some(in_secs(5)), ..plain() }, true, false),
        ("TERM-11: stuck", BoundPod { deleting: Some(ago(61)), ..plain() }, false, false),
        ("late but not stuck", BoundPod { deleting: Some(ago(60)), ..plain() }, true, false),
        ("EVICT-05: in peace", BoundPod { do_not_disrupt: Some("true".into()), ..plain() }, true, false),
    ];
    for (what, pod, waited, asked) in table {
        let (effects, waiting) = drained(vec![pod], None);
        assert_eq!(waiting == ["p"], waited, "{what}");
        let expected: &[&str] = if asked { &["evict default/p"] } else { nobody };
        assert_eq!(effects, expected, "{what}");
    }
    assert!(drained(vec![pod("p", "other")], None).1.is_empty());
}

#[test]
fn evict_05_peace_for_a_while() {
    for (text, asked) in
        [("9m", true), ("10m", true), ("11m", false), ("1h30m", false), ("-1m", true), ("no", true)]
    {
        let quiet = BoundPod { do_not_disrupt: Some(text.into()), ..pod("p", "n1") };
        assert_eq!(!drained(vec![quiet], None).0.is_empty(), asked, "{text}");
    }
    let fresh = BoundPod { do_not_disrupt: Some("1s".into()), started: None, ..pod("p", "n1") };
    assert!(drained(vec![fresh], None).0.is_empty(), "it has not started");
}

#[test]
fn term_08_tiers_leave_one_after_the_other() {
    let of = |name: &str, critical, daemon| BoundPod { critical, daemon, ..pod(name, "n1") };
    let all = || vec![of("d", true, true), of("c", true, false), of("b", false, true), of("a", false, false)];
    let mut left = all();
    for turn in ["a", "b", "c", "d"] {
        assert_eq!(drained(left.clone(), None).0, [format!("evict default/{turn}")]);
        // Who is going is still waited for.
        left.last_mut().unwrap().deleting = Some(in_secs(20));
        assert!(drained(left.clone(), None).0.is_empty(), "{turn} is going");
        left.pop();
    }
    // One that asks for peace holds the tiers after its own.
    let mut held = all();
    held[3].do_not_disrupt = Some("true".into());
    assert!(drained(held, None).0.is_empty());
}

#[test]
fn term_12_evict_04_the_deadline_makes_pods_leave() {
    let plain = || pod("p", "n1");
    let peace = BoundPod { do_not_disrupt: Some("true".into()), ..plain() };
    let late = BoundPod { critical: true, daemon: true, ..plain() };
    let going = |secs| BoundPod { deleting: Some(in_secs(secs)), ..plain() };
    #[rustfmt::skip]
    let table: [(&str, BoundPod, i64, &[&str]); 11] = [
        ("its grace fits",                  plain(),       30, &["evict default/p"]),
        ("its grace does not",              plain(),       29, &["kill default/p in 29"]),
        ("peace ends",                      peace.clone(), 29, &["kill default/p in 29"]),
        ("peace holds",                     peace,         30, &[]),
        ("whatever its tier",               late,          10, &["kill default/p in 10"]),
        ("the deadline has passed",         plain(),       -5, &["kill default/p in 1"]),
        ("it goes in time",                 going(20),     20, &[]),
        ("it goes too late",                going(21),     20, &["kill default/p in 20"]),
        ("it can't go sooner",              going(1),      -5, &[]),
        ("it could go sooner",              going(2),      -5, &["kill default/p in 1"]),
        ("no grace at all",                 BoundPod { grace_seconds: 0, ..plain() }, 1, &["evict default/p"]),
    ];
    for (what, pod, deadline, expected) in table {
        assert_eq!(drained(vec![pod], Some(in_secs(deadline))).0, expected, "{what}");
    }
    // Forced ones of all tiers at once, the others in turn.
    let pods = vec![
        BoundPod { grace_seconds: 600, critical: true, ..pod("slow", "n1") },
        BoundPod { grace_seconds: 5, ..pod("quick", "n1") },
        BoundPod { grace_seconds: 5, daemon: true, ..pod("daemon", "n1") },
    ];
    assert_eq!(drained(pods, Some(in_secs(60))).0, ["kill default/slow in 60", "evict default/quick"]);
}

#[test]
fn time_alone_wakes() {
    let next = |pod: BoundPod, deadline: Option<i64>| {
        let snapshot = LifecycleSnapshot { pods: vec![pod], ..snapshot(Vec::new()) };
        let drain = drain(&View::new(&snapshot), &draining("n1", "1"), ago(10), deadline.map(in_secs));
        drain.next.map(|next| next.duration_since(now()).as_secs())
    };
    assert_eq!(next(pod("p", "n1"), None), None);
    assert_eq!(next(pod("p", "n1"), Some(100)), Some(71), "its grace begins to be cut");
    let quiet = BoundPod { do_not_disrupt: Some("11m".into()), ..pod("p", "n1") };
    assert_eq!(next(quiet, None), Some(60), "its peace ends");
    let going = BoundPod { deleting: Some(in_secs(7)), ..pod("p", "n1") };
    assert_eq!(next(going, None), Some(7), "it is to be gone");
    let late = BoundPod { deleting: Some(ago(1)), ..pod("p", "n1") };
    assert_eq!(next(late, None), Some(60), "it will be stuck");
}
