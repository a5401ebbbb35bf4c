//! Managed node groups, as `aws eks describe-nodegroup` prints them.

use serde_json::{Value, json};

use super::pool::{Group, Migrated, is_own_tag, object_name, role_name};

/// What a node group's `amiType` is as an alias and an architecture.
fn image(ami_type: &str) -> Option<(&'static str, &'static str)> {
    let architecture = if ami_type.contains("ARM_64") { "arm64" } else { "amd64" };
    let family = ami_type.to_ascii_uppercase();
    let alias = match family.as_str() {
        _ if family.starts_with("AL2023") => "al2023@latest",
        _ if family.starts_with("BOTTLEROCKET") => "bottlerocket@latest",
        _ if family.starts_with("AL2_") => "al2@latest",
        _ if family.starts_with("WINDOWS") && family.contains("2019") => "windows2019@latest",
        _ if family.starts_with("WINDOWS") && family.contains("2022") => "windows2022@latest",
        _ => return None,
    };
    Some((alias, architecture))
}

pub(super) fn migrate(value: &Value, cluster: Option<&str>) -> Migrated {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let texts = |key: &str| -> Vec<String> {
        let all = value.get(key).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let number = |pointer: &str| value.pointer(pointer).and_then(Value::as_u64);
    let name = text("nodegroupName");
    let image = image(text("amiType"));
    let budget = number("/updateConfig/maxUnavailable").map(|count| count.to_string());
    let share = number("/updateConfig/maxUnavailablePercentage").map(|share| format!("{share}%"));
    let mut group = Group {
        from: format!("Node group {name} of {}", text("clusterName")),
        name: object_name(name),
        cluster: cluster.unwrap_or(text("clusterName")).to_owned(),
        instance_types: texts("instanceTypes"),
        capacity_types: vec![if text("capacityType") == "SPOT" { "spot" } else { "on-demand" }],
        alias: image.map(|(alias, _)| alias),
        architecture: image.map(|(_, architecture)| architecture),
        role: Some(role_name(text("nodeRole"))).filter(|role| !role.is_empty()),
        subnets: texts("subnets"),
        max_nodes: number("/scalingConfig/maxSize"),
        disk_gib: number("/diskSize"),
        budget: budget.or(share),
        ..Group::default()
    };
    if let Some(labels) = value.get("labels").and_then(Value::as_object) {
        group.labels.clone_from(labels);
    }
    for taint in value.get("taints").and_then(Value::as_array).into_iter().flatten() {
        let effect = match taint.get("effect").and_then(Value::as_str) {
            Some("NO_SCHEDULE") => "NoSchedule",
            Some("NO_EXECUTE") => "NoExecute",
            Some("PREFER_NO_SCHEDULE") => "PreferNoSchedule",
            other => {
                group.note("taint", &format!("effect {other:?} is not known"));
                continue;
            }
        };
        let mut own = json!({"key": taint["key"], "effect": effect});
        if let Some(value) = taint.get("value").filter(|value| !value.is_null()) {
            own["value"] = value.clone();
        }
        group.taints.push(own);
    }
    for (key, tag) in value.get("tags").and_then(Value::as_object).into_iter().flatten() {
        if is_own_tag(key) {
            group.tags.insert(key.clone(), tag.clone());
        }
    }
    let least = number("/scalingConfig/minSize").unwrap_or_default();
    if least > 0 {
        group.note(
            &format!("minSize {least}"),
            "nodes follow pods; spare room is a Deployment of low priority",
        );
    }
    if let Some(count) = number("/scalingConfig/desiredSize") {
        group.note(&format!("desiredSize {count}"), "nodes follow pods");
    }
    if value.get("launchTemplate").is_some_and(|template| !template.is_null()) {
        let why =
            "its user data, metadata options, devices and security groups go into the EC2NodeClass by hand";
        group.note("launchTemplate", why);
    }
    if value.get("remoteAccess").is_some_and(|access| !access.is_null()) {
        group.note("remoteAccess", "EC2NodeClass knows no key pair; use Session Manager");
    }
    if text("amiType") == "CUSTOM" {
        group.note("amiType CUSTOM", "select the image by id or name in amiSelectorTerms, with amiFamily");
    }
    if !text("releaseVersion").is_empty() {
        let version = format!("releaseVersion {}", text("releaseVersion"));
        group.note(&version, "the newest image is taken: pin it as alias: FAMILY@VERSION");
    }
    if value.pointer("/nodeRepairConfig/enabled") == Some(&Value::Bool(true)) {
        group.note("nodeRepairConfig", "node repair is decided for all NodePools alike");
    }
    group.finish()
}
