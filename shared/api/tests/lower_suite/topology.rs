//! Spread constraints, pod affinity, and default constraints.

use std::collections::BTreeMap;

use api::lower::{DefaultSpread, LowerOptions, lower};
use model::Namespaces;

use super::kit::{lowered, objects, spec};

fn labelled(lines: &str) -> model::PodSpec {
    let text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: own, labels: {{app: a, rev: '1'}}}}\nspec:\n  containers: []\n{lines}\n\
         ---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: red, labels: {{colour: red}}}}\n\
         ---\napiVersion: v1\nkind: Namespace\nmetadata: {{name: blue, labels: {{colour: blue}}}}\n"
    );
    (*lowered(&text).cluster.pods[0].spec).clone()
}

fn labels(text: &str) -> BTreeMap<String, String> {
    text.split(' ')
        .filter_map(|pair| pair.split_once('='))
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

#[test]
fn core_topo_14_match_label_keys_become_part_of_the_selector() {
    let constraint = |keys: &str| {
        format!(
            "  topologySpreadConstraints: [{{maxSkew: 2, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: a}}}}, matchLabelKeys: {keys}}}]"
        )
    };
    for (keys, same, other) in
        [("[rev]", true, false), ("[missing]", true, true), ("[rev, rev]", true, false)]
    {
        let spread = &labelled(&constraint(keys)).spread[0];
        assert_eq!(spread.selects(&labels("app=a rev=1")), same, "{keys}");
        assert_eq!(spread.selects(&labels("app=a rev=2")), other, "{keys}");
    }
    assert_eq!(labelled(&constraint("[rev]")).spread, labelled(&constraint("[rev, rev]")).spread);
}

#[test]
fn spread_has_the_defaults_of_kubernetes() {
    let read = |lines: &str| spec(&format!("  topologySpreadConstraints: [{{topologyKey: zone, {lines}}}]"));
    let hard = &read("maxSkew: 1, whenUnsatisfiable: DoNotSchedule, minDomains: 3").spread[0];
    assert_eq!(
        (hard.hard, hard.min_domains, hard.honor_affinity, hard.honor_taints),
        (true, Some(3), true, false)
    );
    let soft = &read("maxSkew: 1, whenUnsatisfiable: ScheduleAnyway, minDomains: 3, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor").spread[0];
    assert_eq!(
        (soft.hard, soft.min_domains, soft.honor_affinity, soft.honor_taints),
        (false, None, false, true)
    );
    assert_eq!(hard.selector, None);
    assert_eq!(read("maxSkew: 0, whenUnsatisfiable: DoNotSchedule").faults.len(), 1);
}

#[test]
fn core_topo_01_a_selector_that_cannot_be_read_selects_nothing() {
    let spread = spec(
        "  topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: Near, values: [b]}]}}]",
    );
    assert_eq!(spread.spread[0].selector, None);
}

#[test]
fn core_topo_26_namespaces_of_terms() {
    let term = |lines: &str| {
        let list = format!("[{{topologyKey: zone, labelSelector: {{matchLabels: {{app: a}}}}{lines}}}]");
        labelled(&format!(
            "  affinity: {{podAntiAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {list}}}}}"
        ))
        .anti_affinity[0]
            .clone()
    };
    let only = |names: &[&str]| Namespaces::Only(names.iter().map(|name| (*name).to_owned()).collect());
    #[rustfmt::skip]
    let table = [
        ("", only(&["own"])),
        (", namespaces: []", only(&["own"])),
        (", namespaces: [x, z]", only(&["x", "z"])),
        (", namespaceSelector: {}", Namespaces::All),
        (", namespaceSelector: {matchLabels: {colour: red}}", only(&["red"])),
        (", namespaceSelector: {matchLabels: {colour: red}}, namespaces: [x]", only(&["red", "x"])),
        (", namespaceSelector: {matchLabels: {colour: green}}", only(&[])),
        (", namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: blue}}", only(&["blue"])),
    ];
    for (lines, namespaces) in table {
        assert_eq!(term(lines).namespaces, namespaces, "{lines}");
    }
    let keyed = term(", matchLabelKeys: [rev], mismatchLabelKeys: [app]");
    assert!(!keyed.selects("own", &labels("app=a rev=1")));
    assert!(!keyed.selects("own", &labels("app=a rev=2")));
    let matching = term(", matchLabelKeys: [rev]");
    assert!(
        matching.selects("own", &labels("app=a rev=1")) && !matching.selects("own", &labels("app=a rev=2"))
    );
}

#[test]
fn core_topo_29_30_31_default_constraints_count_the_workload() {
    let config = "podTopologySpread:\n  defaultConstraints:\n  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule, minDomains: 3}\n";
    let options = LowerOptions {
        default_spread: DefaultSpread::read("f", config).expect("a configuration"),
        ..LowerOptions::default()
    };
    let workload = |kind: &str, selector: &str| {
        let version = if kind == "ReplicationController" { "v1" } else { "apps/v1" };
        format!(
            "---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: w}}\nspec: {{replicas: 1, selector: {selector}, template: {{metadata: {{labels: {{app: a, tier: t}}}}, spec: {{containers: []}}}}}}\n"
        )
    };
    let service = |namespace: &str, selector: &str| {
        format!(
            "---\napiVersion: v1\nkind: Service\nmetadata: {{name: s, namespace: {namespace}}}\nspec: {selector}\n"
        )
    };
    let set = workload("ReplicaSet", "{matchLabels: {app: a}}");
    #[rustfmt::skip]
    let table = [
        (set.clone(), Some("app=a")),
        (format!("{set}{}", service("default", "{selector: {tier: t}}")), Some("app=a tier=t")),
        (format!("{set}{}", service("other", "{selector: {tier: t}}")), Some("app=a")),
        (format!("{set}{}", service("default", "{}")), Some("app=a")),
        (workload("ReplicationController", "{app: a}"), Some("app=a")),
        (super::kit::pod(""), None),
        (format!("{}{}", super::kit::pod(""), service("default", "{selector: {}}")), None),
        (workload("Job", "{}").replace("apps/v1", "batch/v1").replace("replicas: 1, selector: {}, ", ""), None),
    ];
    for (text, selected) in table {
        let lowered =
            lower(&objects(&text), &options).unwrap_or_else(|error| panic!("{text}: {:?}", error.faults()));
        let spread = &lowered.cluster.pods[0].spec.spread;
        match selected {
            None => assert!(spread.is_empty(), "{text}"),
            Some(selected) => {
                let expected = model::LabelSelector::from_labels(&labels(selected));
                assert_eq!(spread[0].selector.as_ref(), Some(&expected), "{text}");
                assert_eq!(spread[0].min_domains, Some(3));
            }
        }
    }
    let own =
        "  topologySpreadConstraints: [{maxSkew: 5, topologyKey: x, whenUnsatisfiable: ScheduleAnyway}]";
    let lowered = lower(&objects(&super::kit::pod(own)), &options).expect("lowered");
    assert_eq!(lowered.cluster.pods[0].spec.spread.len(), 1);
    assert_eq!(lowered.cluster.pods[0].spec.spread[0].key, "x");
}

#[test]
fn default_constraints_that_cannot_be_meant_are_refused() {
    for constraint in [
        "{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}",
        "{maxSkew: 1, topologyKey: '', whenUnsatisfiable: DoNotSchedule}",
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Perhaps}",
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {}}",
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [a]}",
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, maxSkiw: 2}",
        "{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule}, {maxSkew: 2, topologyKey: z, whenUnsatisfiable: DoNotSchedule}",
    ] {
        let config = format!("podTopologySpread: {{defaultConstraints: [{constraint}]}}");
        assert!(DefaultSpread::read("f", &config).is_err(), "{constraint}");
    }
}
