//! NodePools and NodeClaims: durations, budgets, taints, references, replicas.

use api::crd::Kind::{NodeClaim, NodePool};
use api::crd::{NodePool as Pool, apply_defaults};
use serde_json::{Value, json};

use crate::kit::{Table, check, with};

const EXPIRE: &str = "/spec/template/spec/expireAfter";
const GRACE: &str = "/spec/template/spec/terminationGracePeriod";
const AFTER: &str = "/spec/disruption/consolidateAfter";
const POLICY: &str = "/spec/disruption/consolidationPolicy";
const BUDGETS: &str = "/spec/disruption/budgets";
const TAINTS: &str = "/spec/template/spec/taints";
const STARTUP: &str = "/spec/template/spec/startupTaints";
const CLASS: &str = "/spec/template/spec/nodeClassRef";

pub fn cases(t: &mut Table) {
    durations(t);
    budgets(t);
    taints(t);
    references(t);
    replicas(t);
}

fn durations(t: &mut Table) {
    for text in ["30s", "1h2m", "Never", "720h"] {
        t.good("api-02", NodePool, &[(EXPIRE, json!(text))]);
        t.good("api-02", NodeClaim, &[("/spec/expireAfter", json!(text))]);
        t.good("api-03", NodePool, &[(AFTER, json!(text))]);
    }
    for text in ["-1s", "1d", "Nevers", "30sNever", "never", "", "1.5h", "30 s"] {
        t.refused("api-02", NodePool, &[(EXPIRE, json!(text))], &["spec.template.spec.expireAfter"]);
        t.refused("api-02", NodeClaim, &[("/spec/expireAfter", json!(text))], &["spec.expireAfter"]);
        t.refused("api-03", NodePool, &[(AFTER, json!(text))], &["spec.disruption.consolidateAfter"]);
    }
    t.invalid("api-02", NodePool, &[(EXPIRE, json!("9999999999h"))], &["spec.template.spec.expireAfter"]);
    for policy in ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"] {
        t.good("api-04", NodePool, &[(POLICY, json!(policy))]);
    }
    for policy in ["", "whenEmpty", "WhenUnderutilized", "Always"] {
        t.refused("api-04", NodePool, &[(POLICY, json!(policy))], &["spec.disruption.consolidationPolicy"]);
    }
    for text in ["30s", "1h30m"] {
        t.good("api-05", NodePool, &[(GRACE, json!(text))]);
        t.good("api-05", NodeClaim, &[("/spec/terminationGracePeriod", json!(text))]);
    }
    for text in ["Never", "-30s", "1d"] {
        t.refused(
            "api-05",
            NodePool,
            &[(GRACE, json!(text))],
            &["spec.template.spec.terminationGracePeriod"],
        );
        t.refused(
            "api-05",
            NodeClaim,
            &[("/spec/terminationGracePeriod", json!(text))],
            &["spec.terminationGracePeriod"],
        );
    }
}

fn budgets(t: &mut Table) {
    let mut good = |id, budget: Value| t.good(id, NodePool, &[(BUDGETS, json!([budget]))]);
    good("api-06", json!({ "nodes": "10" }));
    good("api-06", json!({ "nodes": "10", "schedule": "0 9 * * 1-5", "duration": "8h" }));
    for duration in ["1h", "30m", "1h30m", "1h30m0s", "8h0s"] {
        good("api-07", json!({ "nodes": "1", "schedule": "@daily", "duration": duration }));
    }
    for nodes in ["0", "10", "0%", "10%", "100%", "1000"] {
        good("api-08", json!({ "nodes": nodes }));
    }
    let macros = ["@annually", "@yearly", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];
    for line in macros.iter().chain(&["* * * * *", "*/15 0-6,18 1 JAN-mar mon", "0 9 ? * 1-5"]) {
        good("api-09", json!({ "nodes": "1", "schedule": line, "duration": "1h" }));
    }
    for reasons in [json!(["Drifted"]), json!(["Underutilized"]), json!(["Empty"])] {
        good("api-10", json!({ "nodes": "1", "reasons": reasons }));
    }
    good("api-10", json!({ "nodes": "1", "reasons": ["Drifted", "Underutilized", "Empty"] }));

    let mut refused =
        |id, budget: Value, path| t.refused(id, NodePool, &[(BUDGETS, json!([budget]))], &[path]);
    const FIRST: &str = "spec.disruption.budgets[0]";
    refused("api-06", json!({ "nodes": "10", "schedule": "@daily" }), FIRST);
    refused("api-06", json!({ "nodes": "10", "duration": "8h" }), FIRST);
    for duration in ["30s", "-30m", "1h30m20s", "1d", ""] {
        let budget = json!({ "nodes": "1", "schedule": "@daily", "duration": duration });
        refused("api-07", budget, "spec.disruption.budgets[0].duration");
    }
    for nodes in [json!("-1"), json!("-10%"), json!("1000%"), json!("101%"), json!("ten"), json!(10)] {
        refused("api-08", json!({ "nodes": nodes }), "spec.disruption.budgets[0].nodes");
    }
    for line in ["* * * *", "*", "@reboot", "@daily now", ""] {
        let budget = json!({ "nodes": "1", "schedule": line, "duration": "1h" });
        refused("api-09", budget, "spec.disruption.budgets[0].schedule");
    }
    for reason in ["Expired", "drifted", "Unknown", ""] {
        let budget = json!({ "nodes": "1", "reasons": [reason] });
        refused("api-10", budget, "spec.disruption.budgets[0].reasons[0]");
    }
    refused(
        "api-10",
        json!({ "nodes": "1", "reasons": ["Empty", "Empty"] }),
        "spec.disruption.budgets[0].reasons[1]",
    );
    let one_bad = json!([{ "nodes": "10%" }, { "nodes": "1", "schedule": "* *", "duration": "1h" }]);
    t.refused("api-09", NodePool, &[(BUDGETS, one_bad)], &["spec.disruption.budgets[1].schedule"]);
    for line in [
        "60 * * * *",
        "* 24 * * *",
        "* * 0 * *",
        "* * * 13 *",
        "* * * * 7",
        "*/0 * * * *",
        "5-1 * * * *",
        "0 0 0 * * *",
    ] {
        let budget = json!([{ "nodes": "1", "schedule": line, "duration": "1h" }]);
        t.invalid("api-09", NodePool, &[(BUDGETS, budget)], &["spec.disruption.budgets[0].schedule"]);
    }
    t.refused(
        "api-06",
        NodePool,
        &[(BUDGETS, json!(vec![json!({ "nodes": "1" }); 51]))],
        &["spec.disruption.budgets"],
    );
    t.good("api-06", NodePool, &[(BUDGETS, json!(vec![json!({ "nodes": "1" }); 50]))]);
}

fn taints(t: &mut Table) {
    let taint =
        |key: &str, value: &str, effect: &str| json!({ "key": key, "value": value, "effect": effect });
    t.good("api-11", NodePool, &[(TAINTS, json!([taint("a.example/gpu", "yes", "NoSchedule")]))]);
    t.good(
        "api-11",
        NodePool,
        &[(TAINTS, json!([taint("a", "", "NoExecute"), taint("a", "", "NoSchedule")]))],
    );
    t.good("api-11", NodePool, &[(STARTUP, json!([{ "key": "a", "effect": "PreferNoSchedule" }]))]);
    for (bad, field) in [
        (taint("a b", "", "NoSchedule"), "key"),
        (taint("", "", "NoSchedule"), "key"),
        (taint("/a", "", "NoSchedule"), "key"),
        (json!({ "effect": "NoSchedule" }), "key"),
        (taint("a", "a b", "NoSchedule"), "value"),
        (taint("a", "???", "NoSchedule"), "value"),
        (taint("a", "", "Never"), "effect"),
        (taint("a", "", ""), "effect"),
        (json!({ "key": "a" }), "effect"),
    ] {
        for (list, name) in [(TAINTS, "taints"), (STARTUP, "startupTaints")] {
            let path = format!("spec.template.spec.{name}[0].{field}").leak();
            t.refused("api-11", NodePool, &[(list, json!([bad]))], &[path]);
        }
        let path = format!("spec.taints[0].{field}").leak();
        t.refused("api-11", NodeClaim, &[("/spec/taints", json!([bad]))], &[path]);
    }
    t.invalid(
        "api-28",
        NodePool,
        &[
            (TAINTS, json!([taint("a", "1", "NoSchedule")])),
            (STARTUP, json!([taint("a", "2", "NoSchedule")])),
        ],
        &["spec.template.spec.startupTaints[0]"],
    );
    let twice = json!([taint("a", "1", "NoSchedule"), taint("a", "1", "NoSchedule")]);
    t.invalid("api-28", NodePool, &[(TAINTS, twice.clone())], &["spec.template.spec.taints[1]"]);
    t.invalid("api-28", NodeClaim, &[("/spec/taints", twice)], &["spec.taints[1]"]);
}

fn references(t: &mut Table) {
    for field in ["group", "kind", "name"] {
        let pointer = format!("{CLASS}/{field}");
        let path = format!("spec.template.spec.nodeClassRef.{field}").leak();
        t.refused("api-20", NodePool, &[(&pointer, Value::Null)], &[path]);
        t.refused("api-20", NodePool, &[(&pointer, json!(""))], &[path]);
        let pointer = format!("/spec/nodeClassRef/{field}");
        let path = format!("spec.nodeClassRef.{field}").leak();
        t.refused("api-20", NodeClaim, &[(&pointer, Value::Null)], &[path]);
        t.refused("api-20", NodeClaim, &[(&pointer, json!(""))], &[path]);
    }
    t.refused("api-20", NodePool, &[(CLASS, Value::Null)], &["spec.template.spec.nodeClassRef"]);
    let (group, kind, name) = (format!("{CLASS}/group"), format!("{CLASS}/kind"), format!("{CLASS}/name"));
    t.refused(
        "api-20",
        NodePool,
        &[(&group, json!("karpenter.k8s.aws/v1"))],
        &["spec.template.spec.nodeClassRef.group"],
    );
    t.update("api-20", NodePool, &[], &[(&name, json!("other"))], &[]);
    t.update("api-20", NodePool, &[], &[(&group, json!("x.example"))], &["spec.template.spec.nodeClassRef"]);
    t.update("api-20", NodePool, &[], &[(&kind, json!("Other"))], &["spec.template.spec.nodeClassRef"]);
    t.update("api-23", NodeClaim, &[], &[], &[]);
    t.update("api-23", NodeClaim, &[], &[("/spec/expireAfter", json!("720h"))], &[]);
    t.update("api-23", NodeClaim, &[], &[("/metadata/labels", json!({ "a": "b" }))], &[]);
    t.update("api-23", NodeClaim, &[], &[("/spec/expireAfter", json!("1h"))], &["spec"]);
    t.update("api-23", NodeClaim, &[], &[("/spec/requirements", json!([]))], &["spec"]);
}

fn replicas(t: &mut Table) {
    const REPLICAS: &str = "/spec/replicas";
    for number in [0_i64, 1, 1_000_000] {
        t.good("api-21", NodePool, &[(REPLICAS, json!(number))]);
    }
    t.refused("api-21", NodePool, &[(REPLICAS, json!(-1))], &["spec.replicas"]);
    t.update("api-21", NodePool, &[], &[(REPLICAS, json!(1))], &["spec"]);
    t.update("api-21", NodePool, &[(REPLICAS, json!(1))], &[], &["spec"]);
    t.update("api-21", NodePool, &[(REPLICAS, json!(1))], &[(REPLICAS, json!(5))], &[]);
    t.refused("api-22", NodePool, &[(REPLICAS, json!(1)), ("/spec/weight", json!(10))], &["spec"]);
    for resource in ["cpu", "memory", "pods", "ephemeral-storage", "journeyman.dev/usd-per-hour"] {
        let limits = json!({ resource: "10" });
        t.refused("api-22", NodePool, &[(REPLICAS, json!(1)), ("/spec/limits", limits.clone())], &["spec"]);
        t.good("api-22", NodePool, &[("/spec/limits", limits)]);
    }
    t.good("api-22", NodePool, &[(REPLICAS, json!(1)), ("/spec/limits", json!({ "nodes": 10 }))]);
    t.good("api-22", NodePool, &[(REPLICAS, json!(1)), ("/spec/limits", json!({}))]);
    for weight in [0, 101] {
        t.refused("api-22", NodePool, &[("/spec/weight", json!(weight))], &["spec.weight"]);
    }
    for weight in [1, 100] {
        t.good("api-22", NodePool, &[("/spec/weight", json!(weight))]);
    }
    let limit = |value: Value| json!({ "journeyman.dev/usd-per-hour": value });
    const PRICE: &str = "spec.limits[journeyman.dev/usd-per-hour]";
    for good in [json!("25"), json!("25.50"), json!(25)] {
        t.good("price", NodePool, &[("/spec/limits", limit(good))]);
    }
    for bad in ["-1", "1k", "2500m", "1e3", "5."] {
        t.invalid("price", NodePool, &[("/spec/limits", limit(json!(bad)))], &[PRICE]);
    }
    for bad in [json!("$25"), json!("25 USD"), json!(25.5), json!("")] {
        t.refused("price", NodePool, &[("/spec/limits", limit(bad))], &[PRICE]);
    }
}

#[test]
fn api_01_disruption_is_filled_in() {
    let filled = json!({
        "budgets": [{ "nodes": "10%" }],
        "consolidateAfter": "0s",
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
    });
    for disruption in [Value::Null, json!({}), json!({ "budgets": null }), json!({ "budgets": [{}] })] {
        let mut pool = with(NodePool, &[("/spec/disruption", disruption.clone())]);
        apply_defaults(NodePool, &mut pool);
        assert_eq!(pool["spec"]["disruption"], filled, "{disruption}");
    }
    let mut pool = with(NodePool, &[("/spec/disruption", json!({ "budgets": [] }))]);
    apply_defaults(NodePool, &mut pool);
    assert_eq!(pool["spec"]["disruption"]["budgets"], json!([]), "an empty list is the user's own");
}

#[test]
fn api_01_types_have_the_same_defaults() {
    for disruption in [Value::Null, json!({}), json!({ "budgets": [{}] }), json!({ "budgets": [] })] {
        let raw = with(NodePool, &[("/spec/disruption", disruption)]);
        let mut filled = raw.clone();
        apply_defaults(NodePool, &mut filled);
        let typed: Pool = serde_json::from_value(raw).expect("a pool");
        assert_eq!(serde_json::to_value(&typed).expect("json")["spec"], filled["spec"]);
    }
}

#[test]
fn api_02_expire_after() {
    check("api-02");
    let mut pool = with(NodePool, &[]);
    apply_defaults(NodePool, &mut pool);
    assert_eq!(pool.pointer(EXPIRE), Some(&json!("720h")));
    let mut claim = with(NodeClaim, &[]);
    apply_defaults(NodeClaim, &mut claim);
    assert_eq!(claim["spec"]["expireAfter"], "720h");
}

#[test]
fn api_03_consolidate_after() {
    check("api-03");
}

#[test]
fn api_04_consolidation_policy() {
    check("api-04");
}

#[test]
fn api_05_termination_grace_period() {
    check("api-05");
}

#[test]
fn api_06_budget_schedule_with_duration() {
    check("api-06");
}

#[test]
fn api_07_budget_duration() {
    check("api-07");
}

#[test]
fn api_08_budget_nodes() {
    check("api-08");
}

#[test]
fn api_09_budget_schedule() {
    check("api-09");
}

#[test]
fn api_10_budget_reasons() {
    check("api-10");
}

#[test]
fn api_11_taints() {
    check("api-11");
}

#[test]
fn api_20_node_class_reference() {
    check("api-20");
}

#[test]
fn api_21_replicas() {
    check("api-21");
}

#[test]
fn api_22_replicas_with_limits_and_weight() {
    check("api-22");
}

#[test]
fn api_23_node_claims_stay_as_they_are() {
    check("api-23");
}

#[test]
fn api_28_taints_once_per_key_and_effect() {
    check("api-28");
}

#[test]
fn price_limits_and_rules() {
    check("price");
}
