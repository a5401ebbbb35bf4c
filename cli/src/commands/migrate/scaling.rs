//! Auto Scaling groups, as `aws autoscaling describe-auto-scaling-groups` prints them, with Cluster Autoscaler's tags.

use serde_json::{Value, json};

use super::pool::{Group, Migrated, is_own_tag, object_name};

const LABEL: &str = "k8s.io/cluster-autoscaler/node-template/label/";
const TAINT: &str = "k8s.io/cluster-autoscaler/node-template/taint/";
const RESOURCES: &str = "k8s.io/cluster-autoscaler/node-template/resources/";
const CLUSTER: &str = "kubernetes.io/cluster/";

/// Nothing if it isn't known which cluster it belongs to.
pub(super) fn migrate(value: &Value, cluster: Option<&str>) -> Option<Migrated> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let name = text("AutoScalingGroupName");
    let tags: Vec<(&str, &str)> = value
        .get("Tags")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|tag| Some((tag.get("Key")?.as_str()?, tag.get("Value")?.as_str()?)))
        .collect();
    let tagged = || tags.iter().find_map(|(key, _)| key.strip_prefix(CLUSTER));
    let cluster = cluster.or_else(tagged)?;
    let mut group = Group {
        from: format!("Auto Scaling group {name}"),
        name: object_name(name),
        cluster: cluster.to_owned(),
        max_nodes: value.get("MaxSize").and_then(Value::as_u64),
        subnets: text("VPCZoneIdentifier")
            .split(',')
            .map(str::trim)
            .filter(|id| !id.is_empty())
            .map(str::to_owned)
            .collect(),
        capacity_types: vec!["on-demand"],
        ..Group::default()
    };
    read_tags(&mut group, &tags);
    match value.get("MixedInstancesPolicy").filter(|policy| !policy.is_null()) {
        Some(policy) => read_mixed(&mut group, policy),
        None => group.note("LaunchTemplate", "its instance type is to be filled in as a requirement"),
    }
    group.note(
        "launch template",
        "image, role, user data and security groups stand there: carry them over by hand",
    );
    for (key, why) in [
        ("MinSize", "nodes follow pods; spare room is a Deployment of low priority"),
        ("DesiredCapacity", "nodes follow pods"),
        ("WarmPoolSize", "there is no warm pool"),
        ("MaxInstanceLifetime", "expireAfter is 720h: set it"),
    ] {
        if let Some(count) = value.get(key).and_then(Value::as_u64).filter(|count| *count > 0) {
            group.note(&format!("{key} {count}"), why);
        }
    }
    let suspended = value.get("SuspendedProcesses").and_then(Value::as_array);
    if suspended.is_some_and(|all| !all.is_empty()) {
        group.note("SuspendedProcesses", "nothing rebalances zones behind the scheduler's back any more");
    }
    let targets = value.get("TargetGroupARNs").and_then(Value::as_array);
    if targets.is_some_and(|all| !all.is_empty()) {
        group.note("TargetGroupARNs", "nodes are not registered: use the AWS Load Balancer Controller");
    }
    Some(group.finish())
}

fn read_tags(group: &mut Group, tags: &[(&str, &str)]) {
    for (key, value) in tags {
        if let Some(label) = key.strip_prefix(LABEL) {
            group.labels.insert(label.to_owned(), (*value).into());
        } else if let Some(taint) = key.strip_prefix(TAINT) {
            match value.rsplit_once(':') {
                Some((value, effect)) => {
                    group.taints.push(json!({"key": taint, "value": value, "effect": effect}));
                }
                None => group.note(&format!("taint {taint}"), &format!("{value:?} is not VALUE:EFFECT")),
            }
        } else if let Some(resource) = key.strip_prefix(RESOURCES) {
            group.note(&format!("resource {resource}"), "what a type has is known, and found on the node");
        } else if is_own_tag(key) && *key != "Name" {
            group.tags.insert((*key).to_owned(), (*value).into());
        }
    }
}

fn read_mixed(group: &mut Group, policy: &Value) {
    let overrides = policy.pointer("/LaunchTemplate/Overrides").and_then(Value::as_array);
    for one in overrides.into_iter().flatten() {
        if let Some(kind) = one.get("InstanceType").and_then(Value::as_str) {
            group.instance_types.push(kind.to_owned());
        }
        if let Some(weight) = one.get("WeightedCapacity") {
            group.note(&format!("WeightedCapacity {weight}"), "pods' requests say how much is needed");
        }
        if let Some(needs) = one.get("InstanceRequirements").and_then(Value::as_object) {
            for (key, label) in [
                ("VCpuCount", "karpenter.k8s.aws/instance-cpu"),
                ("MemoryMiB", "karpenter.k8s.aws/instance-memory"),
            ] {
                let bound =
                    |side: &str| needs.get(key).and_then(|range| range.get(side)).and_then(Value::as_u64);
                let mut requirement = |operator: &str, value: u64| {
                    let values = [value.to_string()];
                    group.requirements.push(json!({"key": label, "operator": operator, "values": values}));
                };
                if let Some(least) = bound("Min").filter(|least| *least > 0) {
                    requirement("Gt", least - 1);
                }
                if let Some(most) = bound("Max") {
                    requirement("Lt", most + 1);
                }
            }
            for key in needs.keys().filter(|key| !["VCpuCount", "MemoryMiB"].contains(&key.as_str())) {
                group.note(
                    &format!("InstanceRequirements.{key}"),
                    "say it as a requirement on the type's labels",
                );
            }
        }
    }
    let distribution =
        |key: &str| policy.get("InstancesDistribution").and_then(|all| all.get(key)).and_then(Value::as_u64);
    let base = distribution("OnDemandBaseCapacity").unwrap_or_default();
    match distribution("OnDemandPercentageAboveBaseCapacity").unwrap_or(100) {
        100 => {}
        0 if base == 0 => group.capacity_types = vec!["spot"],
        share => {
            group.capacity_types = vec!["spot", "on-demand"];
            let what = format!("{share} % on demand above {base}");
            group.note(&what, "Spot comes first where it is cheaper; for a fixed share make two NodePools and spread over them");
        }
    }
}
