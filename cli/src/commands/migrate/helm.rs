//! Karpenter's Helm values become variables of our Terraform module.

use std::fmt::Write;

use serde_json::Value;

/// What becomes of a value that has no counterpart, by the beginning of its path.
const FATE: [(&str, &str); 20] = [
    (
        "settings.interruptionQueue",
        "the module makes its own queue and rules: delete the old ones after the move",
    ),
    ("settings.clusterEndpoint", "asked of EKS"),
    ("settings.eksControlPlane", "asked of EKS"),
    ("settings.clusterCABundle", "asked of EKS"),
    (
        "settings.isolatedVPC",
        "vpc = { …, isolated = true, endpoints = { … } }; name instanceProfile in EC2NodeClasses",
    ),
    ("settings.vmMemoryOverheadPercent", "not a setting: 7.5 % of memory are taken for the hypervisor's"),
    ("settings.reservedENIs", "not a setting: write maxPods into the EC2NodeClass's kubelet"),
    (
        "settings.batchMaxDuration",
        "an environment variable of the functions: BATCH_MAX_DURATION, 10s unless set",
    ),
    (
        "settings.batchIdleDuration",
        "an environment variable of the functions: BATCH_IDLE_DURATION, 1s unless set",
    ),
    ("settings.featureGates", "no gates: what is there is on"),
    ("settings.", "has no counterpart"),
    ("controller.resources", "nothing runs in the cluster: functions = { provision = { memory = … } }"),
    ("controller.env", "nothing runs in the cluster"),
    ("controller.", "nothing runs in the cluster"),
    ("replicas", "nothing runs in the cluster"),
    ("serviceMonitor", "metrics are in CloudWatch, namespace Journeyman"),
    ("serviceAccount", "the functions have roles of their own, and EKS access entries"),
    ("logLevel", "functions = { provision = { log = \"debug\" } }"),
    ("webhook", "there is none: the CRDs' own rules check manifests"),
    ("", "concerns pods that don't run any more"),
];

/// Whether these are values of Karpenter's chart.
pub(super) fn is_values(value: &Value) -> bool {
    value.get("apiVersion").is_none() && value.pointer("/settings").is_some_and(Value::is_object)
}

/// Nothing if it isn't known which cluster they are for.
pub(super) fn migrate(values: &Value, cluster: Option<&str>) -> Option<String> {
    let text =
        |pointer: &str| values.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    let cluster = cluster.or_else(|| text("/settings/clusterName"))?;
    let mut out = String::from("# Karpenter's Helm values; not carried over or to be looked at:\n");
    let mut leaves = Vec::new();
    collect(values, String::new(), &mut leaves);
    let carried = ["settings.clusterName", "settings.preferencePolicy", "settings.minValuesPolicy"];
    for path in leaves.iter().filter(|path| !carried.contains(&path.as_str())) {
        let fate = FATE.iter().find(|(start, _)| path.starts_with(start)).map_or("", |(_, fate)| fate);
        // Writing to a text can't fail.
        let _ = writeln!(out, "#   {path}: {fate}");
    }
    let mut settings = Vec::new();
    for (name, pointer) in [
        ("preference_policy", "/settings/preferencePolicy"),
        ("min_values_policy", "/settings/minValuesPolicy"),
    ] {
        if let Some(value) = text(pointer) {
            settings.push(format!("    {name} = \"{value}\"\n"));
        }
    }
    let settings =
        if settings.is_empty() { "{}".to_owned() } else { format!("{{\n{}  }}", settings.concat()) };
    let _ = writeln!(out, "clusters = {{\n  \"{cluster}\" = {settings}\n}}");
    Some(out)
}

/// The paths of all values that aren't themselves objects.
fn collect(value: &Value, path: String, out: &mut Vec<String>) {
    match value.as_object().filter(|fields| !fields.is_empty()) {
        Some(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(value, path, out);
            }
        }
        None => out.push(path),
    }
}
