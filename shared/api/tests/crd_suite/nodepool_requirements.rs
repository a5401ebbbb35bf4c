//! Requirements and labels of NodePools and NodeClaims.

use api::crd::Kind::{NodeClaim, NodePool};
use model::labels::{EC2_NODE_CLASS, RESERVATION_INTERRUPTIBLE, RESERVATION_TYPE};
use serde_json::{Value, json};

use crate::kit::{Table, check};

const POOL: &str = "/spec/template/spec/requirements";
const CLAIM: &str = "/spec/requirements";
const LABELS: &str = "/spec/template/metadata";

/// The same requirement for a pool and a claim.
struct Both<'a>(&'a mut Table);

impl Both<'_> {
    fn good(&mut self, id: &'static str, requirement: Value) {
        self.0.good(id, NodePool, &[(POOL, json!([requirement]))]);
        self.0.good(id, NodeClaim, &[(CLAIM, json!([requirement]))]);
    }

    fn refused(&mut self, id: &'static str, requirement: Value, field: &str) {
        let (pool, claim) = paths(field);
        self.0.refused(id, NodePool, &[(POOL, json!([requirement]))], &[pool]);
        self.0.refused(id, NodeClaim, &[(CLAIM, json!([requirement]))], &[claim]);
    }

    fn invalid(&mut self, id: &'static str, requirement: Value, field: &str) {
        let (pool, claim) = paths(field);
        self.0.invalid(id, NodePool, &[(POOL, json!([requirement]))], &[pool]);
        self.0.invalid(id, NodeClaim, &[(CLAIM, json!([requirement]))], &[claim]);
    }
}

fn paths(field: &str) -> (&'static str, &'static str) {
    let pool = format!("spec.template.spec.requirements[0].{field}");
    (pool.leak(), format!("spec.requirements[0].{field}").leak())
}

fn of(key: &str, operator: &str, values: &[&str]) -> Value {
    json!({ "key": key, "operator": operator, "values": values })
}

pub fn cases(t: &mut Table) {
    operators(&mut Both(t));
    keys(t);
    min_values(&mut Both(t));
    prices(&mut Both(t));
    for (count, good) in [(0, true), (100, true), (101, false)] {
        let many = json!(vec![of("a", "Exists", &[]); count]);
        if good {
            t.good("api-18", NodePool, &[(POOL, many.clone())]);
            t.good("api-18", NodeClaim, &[(CLAIM, many)]);
        } else {
            t.refused("api-18", NodePool, &[(POOL, many.clone())], &["spec.template.spec.requirements"]);
            t.refused("api-18", NodeClaim, &[(CLAIM, many)], &["spec.requirements"]);
        }
    }
}

fn operators(t: &mut Both<'_>) {
    let cpu = "karpenter.k8s.aws/instance-cpu";
    for operator in ["In", "NotIn", "Gt", "Lt", "Gte", "Lte"] {
        t.good("api-12", of(cpu, operator, &["4"]));
    }
    t.good("api-12", of(cpu, "Exists", &[]));
    t.good("api-12", json!({ "key": cpu, "operator": "DoesNotExist" }));
    for operator in ["", "in", "Equals", "unknown"] {
        t.refused("api-12", of(cpu, operator, &["4"]), "operator");
    }
    t.refused("api-12", json!({ "key": cpu, "values": ["4"] }), "operator");
    t.refused("api-12", json!({ "operator": "Exists" }), "key");
    t.refused("api-13", of(cpu, "In", &[]), "values");
    t.refused("api-13", json!({ "key": cpu, "operator": "In" }), "values");
    t.good("api-13", of(cpu, "NotIn", &[]));
    for operator in ["Gt", "Lt", "Gte", "Lte"] {
        t.good("api-13", of(cpu, operator, &["0"]));
        for values in [&[][..], &["1", "2"], &["a"], &["1.5"], &["99999999999999999999"], &[""]] {
            t.refused("api-13", of(cpu, operator, values), "values");
        }
        t.refused("api-13", json!({ "key": cpu, "operator": operator }), "values");
    }
    // A sign is wrong twice: it starts no label value, and makes the number negative.
    for (kind, at, path) in [
        (
            NodePool,
            POOL,
            ["spec.template.spec.requirements[0].values", "spec.template.spec.requirements[0].values[0]"],
        ),
        (NodeClaim, CLAIM, ["spec.requirements[0].values", "spec.requirements[0].values[0]"]),
    ] {
        t.0.refused("api-13", kind, &[(at, json!([of(cpu, "Gt", &["-1"])]))], &path);
    }
    t.refused("api-13", of("a", "In", &["a b"]), "values[0]");
    t.refused("api-13", of("a", "In", &[&"a".repeat(64)]), "values[0]");
}

fn keys(t: &mut Table) {
    let nodepool = json!([of("karpenter.sh/nodepool", "In", &["default"])]);
    t.refused("api-14", NodePool, &[(POOL, nodepool.clone())], &["spec.template.spec.requirements[0].key"]);
    t.good("api-14", NodeClaim, &[(CLAIM, nodepool)]);

    let own = [
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "k8s.io/a",
        "kubernetes.io/custom",
        "node-restriction.kubernetes.io/a",
        "kops.k8s.io/instancegroup",
        "example.com/team",
        "team",
        "karpenter.k8s.aws/instance-family",
        "topology.k8s.aws/zone-id",
    ];
    for key in own {
        Both(t).good("api-15", of(key, "Exists", &[]));
        t.good("api-15", NodePool, &[(LABELS, json!({ "labels": { key: "a" } }))]);
    }
    for key in
        model::labels::INSTANCE.iter().chain(&[EC2_NODE_CLASS, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE])
    {
        Both(t).good("api-15", of(key, "Exists", &[]));
    }
    Both(t).good("api-15", of("karpenter.sh/capacity-type", "In", &["spot"]));
    for key in
        ["karpenter.sh/custom", "sub.karpenter.sh/custom", "karpenter.sh/registered", "my-karpenter.sh/a"]
    {
        Both(t).refused("api-15", of(key, "Exists", &[]), "key");
        let path = format!("spec.template.metadata.labels[{key}]").leak();
        t.refused("api-15", NodePool, &[(LABELS, json!({ "labels": { key: "a" } }))], &[path]);
    }
    for key in ["karpenter.k8s.aws/custom", "sub.karpenter.k8s.aws/custom", "karpenter.k8s.aws/instance-cpus"]
    {
        Both(t).refused("api-15", of(key, "Exists", &[]), "key");
        let path = format!("spec.template.metadata.labels[{key}]").leak();
        t.refused("api-15", NodePool, &[(LABELS, json!({ "labels": { key: "a" } }))], &[path]);
    }
    Both(t).refused("api-15", of("a b", "Exists", &[]), "key");
    Both(t).refused("api-15", of("", "Exists", &[]), "key");
    for (value, good) in [("a", true), ("", true), ("a b", false), (&"a".repeat(64)[..], false)] {
        let labels = json!({ "labels": { "team": value } });
        match good {
            true => t.good("api-15", NodePool, &[(LABELS, labels)]),
            false => {
                t.refused("api-15", NodePool, &[(LABELS, labels)], &["spec.template.metadata.labels.team"])
            }
        }
    }
    let many: serde_json::Map<String, Value> = (0..101).map(|i| (format!("l{i}"), json!("a"))).collect();
    t.refused("api-15", NodePool, &[(LABELS, json!({ "labels": many }))], &["spec.template.metadata.labels"]);
    t.refused(
        "api-14",
        NodePool,
        &[(LABELS, json!({ "labels": { "karpenter.sh/nodepool": "a" } }))],
        &["spec.template.metadata.labels[karpenter.sh/nodepool]"],
    );

    Both(t).refused("api-16", of("kubernetes.io/hostname", "Exists", &[]), "key");
    t.refused(
        "api-16",
        NodePool,
        &[(LABELS, json!({ "labels": { "kubernetes.io/hostname": "a" } }))],
        &["spec.template.metadata.labels[kubernetes.io/hostname]"],
    );

    let long =
        [format!("example.com/{}", "a".repeat(64)), "a".repeat(250), format!("{}.com/a", "a".repeat(260))];
    for key in &long {
        Both(t).invalid("api-19", of(key, "Exists", &[]), "key");
    }
    let key = format!("example.com/{}", "a".repeat(64));
    let path = format!("spec.template.metadata.labels[{key}]").leak();
    t.invalid("api-19", NodePool, &[(LABELS, json!({ "labels": { key: "a" } }))], &[path]);
    Both(t).good("api-19", of(&format!("{}/{}", "a".repeat(253), "b".repeat(62)), "Exists", &[]));
    Both(t).refused("api-19", of(&"a".repeat(317), "Exists", &[]), "key");
}

fn min_values(t: &mut Both<'_>) {
    let key = "node.kubernetes.io/instance-type";
    let names: Vec<String> = (0..60).map(|i| format!("m{i}.large")).collect();
    let of = |operator: &str, values: &[String], least: i64| match operator {
        "Exists" => json!({ "key": key, "operator": operator, "minValues": least }),
        _ => json!({ "key": key, "operator": operator, "values": values, "minValues": least }),
    };
    for least in [1, 25, 50] {
        t.good("api-17", of("Exists", &[], least));
        t.good("api-17", of("In", &names, least));
    }
    for least in [-1, 0, 51] {
        t.refused("api-17", of("Exists", &[], least), "minValues");
    }
    t.refused("api-17", of("In", &names[..2], 3), "minValues");
    t.good("api-17", of("In", &names[..3], 3));
    t.good("api-17", json!({ "key": key, "operator": "In", "values": names }));

    let capacity =
        |values: &[&str]| json!({ "key": "karpenter.sh/capacity-type", "operator": "In", "values": values });
    for values in [&["spot"][..], &["on-demand", "reserved"], &["spot", "preemptible"]] {
        t.good("api-27", capacity(values));
    }
    t.invalid("api-27", capacity(&["preemptible"]), "values");
    t.invalid("api-27", capacity(&["Spot", "ondemand"]), "values");
    let mut mixed = capacity(&["spot", "preemptible"]);
    mixed["minValues"] = json!(2);
    t.invalid("api-27", mixed, "minValues");
}

fn prices(t: &mut Both<'_>) {
    let key = "journeyman.dev/usd-per-hour";
    for operator in ["Lt", "Lte"] {
        for value in ["0", "1", "0.5", "0.0416", "12.50"] {
            t.good("price", of(key, operator, &[value]));
        }
        for values in [&[][..], &["0.1", "0.2"], &["a"], &["1e3"], &["1.2.3"], &["0x1"]] {
            t.refused("price", of(key, operator, values), "values");
        }
    }
    for operator in ["Gt", "Gte", "In", "NotIn"] {
        t.refused("price", of(key, operator, &["1"]), "operator");
    }
    let least = json!({ "key": key, "operator": "Lt", "values": ["1"], "minValues": 1 });
    t.refused("price", least, "minValues");
    // Other keys keep whole numbers.
    t.refused("price", of("karpenter.k8s.aws/instance-cpu", "Lt", &["0.5"]), "values");
}

#[test]
fn api_12_operators() {
    check("api-12");
}

#[test]
fn api_13_values() {
    check("api-13");
}

#[test]
fn api_14_nodepool_label() {
    check("api-14");
}

#[test]
fn api_15_restricted_domains() {
    check("api-15");
}

#[test]
fn api_16_hostname() {
    check("api-16");
}

#[test]
fn api_17_min_values() {
    check("api-17");
}

#[test]
fn api_18_at_most_a_hundred_requirements() {
    check("api-18");
}

#[test]
fn api_19_long_keys() {
    check("api-19");
}

#[test]
fn api_27_capacity_types() {
    check("api-27");
}
