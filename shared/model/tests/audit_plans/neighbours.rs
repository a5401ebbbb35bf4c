//! Spread, affinity, anti-affinity.

use model::{Plan, Requirement, Snapshot, labels};

use crate::judge;
use crate::world::{ask, ask_of, bound, node, plan, pod, snapshot, spread, term};

const ZONE: &str = labels::ZONE;
const HOST: &str = labels::HOSTNAME;

/// Two pods in zone `a` on two nodes, one in `b`, one in `c`.
fn apart() -> (Snapshot, Plan) {
    let snapshot = snapshot(&["p1", "p2", "p3", "p4"]);
    let plan = plan(&snapshot, &[(&["p1"], &["a"]), (&["p2"], &["a"]), (&["p3"], &["b"]), (&["p4"], &["c"])]);
    (snapshot, plan)
}

/// Three pods on one node in zone `a`.
fn together() -> (Snapshot, Plan) {
    let snapshot = snapshot(&["p1", "p2", "p3"]);
    let plan = plan(&snapshot, &[(&["p1", "p2", "p3"], &["a"])]);
    (snapshot, plan)
}

/// Two pods on nodes whose zone is open.
fn open() -> (Snapshot, Plan) {
    let snapshot = snapshot(&["p1", "p2"]);
    let plan = plan(&snapshot, &[(&["p1"], &["a", "b"]), (&["p2"], &["a", "b"])]);
    (snapshot, plan)
}

#[test]
fn spread_keeps_to_its_skew() {
    #[rustfmt::skip]
    judge(apart, &[
        ("over zones", "", |snapshot, _| ask(snapshot, |spec| spec.spread.push(spread(ZONE, 1)))),
        ("over hosts", "", |snapshot, _| ask(snapshot, |spec| spec.spread.push(spread(HOST, 1)))),
        ("three more are in a", "a holds 5 pods", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "a"));
            for one in ["q1", "q2", "q3"] {
                snapshot.cluster.pods.push(bound(pod(one), "old"));
            }
            ask(snapshot, |spec| spec.spread.push(spread(ZONE, 1)));
        }),
        ("too few domains", "a holds 2 pods", |snapshot, _| ask(snapshot, |spec| {
            spec.spread.push(model::Spread { min_domains: Some(4), ..spread(ZONE, 1) });
        })),
        ("enough domains", "", |snapshot, _| ask(snapshot, |spec| {
            spec.spread.push(model::Spread { min_domains: Some(3), ..spread(ZONE, 1) });
        })),
        ("a label nobody has", "over x, which node new-0 does not have", |snapshot, _| {
            ask(snapshot, |spec| spec.spread.push(spread("x", 1)));
        }),
        ("an empty zone of nodes that are", "another 0", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "d"));
            ask(snapshot, |spec| spec.spread.push(spread(ZONE, 1)));
        }),
        ("which pods can't be in", "", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "d"));
            ask(snapshot, |spec| {
                spec.spread.push(spread(ZONE, 1));
                spec.node_selector.add(ZONE, Requirement::not_in(["d"]));
            });
        }),
        ("an unbound pod came last", "", |snapshot, _| {
            for pod in ["p1", "p3", "p4"] {
                ask_of(snapshot, pod, |spec| spec.spread.push(spread(ZONE, 1)));
            }
        }),
    ]);
    #[rustfmt::skip]
    judge(together, &[
        ("all in one zone of three", "a holds 3 pods", |snapshot, _| {
            ask(snapshot, |spec| spec.spread.push(spread(ZONE, 1)));
        }),
        ("all there is", "", |snapshot, _| ask(snapshot, |spec| {
            spec.spread.push(spread(ZONE, 1));
            spec.node_selector.add(ZONE, Requirement::is_in(["a"]));
        })),
        ("a wide skew", "", |snapshot, _| ask(snapshot, |spec| spec.spread.push(spread(ZONE, 3)))),
        ("a wish", "", |snapshot, _| ask(snapshot, |spec| {
            spec.spread.push(model::Spread { hard: false, ..spread(ZONE, 1) });
        })),
        ("all on one host", "node new-0 holds 3 pods", |snapshot, _| {
            ask(snapshot, |spec| spec.spread.push(spread(HOST, 2)));
        }),
    ]);
    judge(
        open,
        &[("an open zone", "leaves open", |snapshot, _| {
            ask(snapshot, |spec| spec.spread.push(spread(ZONE, 1)));
        })],
    );
}

#[test]
fn anti_affinity_holds_both_ways() {
    #[rustfmt::skip]
    judge(apart, &[
        ("by host", "", |snapshot, _| ask(snapshot, |spec| spec.anti_affinity.push(term(HOST, "app")))),
        ("by zone", "together in topology.kubernetes.io/zone a", |snapshot, _| {
            ask(snapshot, |spec| spec.anti_affinity.push(term(ZONE, "app")));
        }),
        ("one of a pair asks", "together", |snapshot, _| {
            ask_of(snapshot, "p2", |spec| spec.anti_affinity.push(term(ZONE, "app")));
        }),
        ("of others", "", |snapshot, _| ask(snapshot, |spec| spec.anti_affinity.push(term(ZONE, "other")))),
        ("a running pod asks", "zone b", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "b"));
            snapshot.cluster.pods.push(bound(pod("q1"), "old"));
            ask_of(snapshot, "q1", |spec| spec.anti_affinity.push(term(ZONE, "app")));
        }),
        ("it is on its way out", "", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "b"));
            snapshot.cluster.pods.push(bound(pod("q1"), "old"));
            snapshot.cluster.pods[4].terminating = true;
            ask_of(snapshot, "q1", |spec| spec.anti_affinity.push(term(ZONE, "app")));
        }),
        ("two met before", "", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "d"));
            for one in ["q1", "q2"] {
                snapshot.cluster.pods.push(bound(pod(one), "old"));
                ask_of(snapshot, one, |spec| spec.anti_affinity.push(term(HOST, "app")));
            }
        }),
    ]);
    judge(
        open,
        &[("zones that may be one", "may be together", |snapshot, _| {
            ask(snapshot, |spec| spec.anti_affinity.push(term(ZONE, "app")));
        })],
    );
}

#[test]
fn affinity_finds_its_like() {
    fn near_db(snapshot: &mut Snapshot, pod: &str) {
        ask_of(snapshot, pod, |spec| spec.affinity.push(term(ZONE, "db")));
    }
    fn db(snapshot: &mut Snapshot, zone: &str) {
        snapshot.cluster.nodes.push(node("old", zone));
        snapshot.cluster.pods.push(bound(pod("q1"), "old"));
        ask_of(snapshot, "q1", |spec| drop(spec.labels.insert("app".into(), "db".into())));
    }
    #[rustfmt::skip]
    judge(together, &[
        ("the first starts it", "", |snapshot, _| ask(snapshot, |spec| spec.affinity.push(term(HOST, "app")))),
        ("nobody to be near", "have nobody to be near in topology.kubernetes.io/zone a", |snapshot, _| {
            near_db(snapshot, "p1");
        }),
        ("somebody is there", "", |snapshot, _| {
            db(snapshot, "a");
            near_db(snapshot, "p1");
        }),
        ("somebody is elsewhere", "nobody to be near", |snapshot, _| {
            db(snapshot, "b");
            near_db(snapshot, "p1");
        }),
        ("somebody comes along", "", |snapshot, _| {
            ask_of(snapshot, "p2", |spec| drop(spec.labels.insert("app".into(), "db".into())));
            near_db(snapshot, "p1");
        }),
        ("its like is elsewhere already", "must be near those in b", |snapshot, _| {
            snapshot.cluster.nodes.push(node("old", "b"));
            snapshot.cluster.pods.push(bound(pod("q1"), "old"));
            ask(snapshot, |spec| spec.affinity.push(term(ZONE, "app")));
        }),
    ]);
    judge(
        apart,
        &[("started twice", "but are in 4 places", |snapshot, _| {
            ask(snapshot, |spec| spec.affinity.push(term(HOST, "app")));
        })],
    );
    judge(
        open,
        &[("an open zone", "leaves open", |snapshot, _| {
            ask(snapshot, |spec| spec.affinity.push(term(ZONE, "app")));
        })],
    );
}
