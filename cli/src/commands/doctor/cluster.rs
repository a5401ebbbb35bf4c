//! Checks of the cluster: kinds, rights, access, NodePools.

use serde_json::Value;

use super::facts::{Facts, Finding, all_of, entries, text};

/// The functions.
pub(super) const FUNCTIONS: [&str; 5] = ["provision", "lifecycle", "interruption", "disruption", "catalog"];
const KINDS: [&str; 3] =
    ["ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh"];

pub(super) fn examine(facts: &Facts) -> Vec<Finding> {
    let apply = "kubectl apply --server-side --force-conflicts -k infra/kubernetes";
    let mut out = vec![
        facts.check("CRDs are installed", "crds", apply, |crds| {
            all_of("missing or not served", &KINDS, |name| {
                let found = entries(crds, "items").iter().find(|crd| text(crd, "/metadata/name") == name);
                found.is_some_and(|crd| has_condition(crd, "Established"))
            })
        }),
        facts.check("RBAC is bound to the functions' groups", "clusterrolebindings", apply, |bindings| {
            all_of("no ClusterRoleBinding of the group of", &FUNCTIONS, |function| {
                let group = format!("journeyman:{function}");
                let subjects =
                    entries(bindings, "items").iter().flat_map(|binding| entries(binding, "subjects"));
                subjects.into_iter().any(|it| text(it, "/kind") == "Group" && text(it, "/name") == group)
            })
        }),
        facts.check(
            "access entries are possible",
            "cluster",
            "aws eks update-cluster-config --access-config authenticationMode=API_AND_CONFIG_MAP",
            |cluster| match text(cluster, "/cluster/accessConfig/authenticationMode") {
                "API" | "API_AND_CONFIG_MAP" => Ok(()),
                mode => Err(format!("the cluster's authentication mode is {mode:?}")),
            },
        ),
    ];
    out.extend(FUNCTIONS.map(|function| {
        facts.check(
            &format!("{function} is let into the cluster"),
            &format!("access-entry-{function}"),
            "terraform apply, with access_entries = true for this cluster",
            |entry| {
                let group = format!("journeyman:{function}");
                let groups = entry.pointer("/accessEntry/kubernetesGroups").and_then(Value::as_array);
                match groups {
                    Some(groups) if groups.iter().any(|it| it.as_str() == Some(&group)) => Ok(()),
                    Some(groups) => Err(format!("its access entry has the groups {groups:?}, not {group}")),
                    None => Err("its role has no access entry".to_owned()),
                }
            },
        )
    }));
    out.extend([
        facts.check(
            "nodes are let into the cluster",
            "access-entry-node",
            "terraform apply; or aws eks create-access-entry --type EC2_LINUX for the node role",
            |entry| match text(entry, "/accessEntry/type") {
                "EC2_LINUX" | "EC2_WINDOWS" | "EC2" => Ok(()),
                "" => Err("the node role has no access entry: nodes could not register".to_owned()),
                other => Err(format!("the node role's access entry is of type {other}")),
            },
        ),
        facts.check(
            "EC2NodeClasses are ready",
            "nodeclasses",
            "kubectl describe ec2nodeclass says which selector finds nothing, or which image has no match",
            |classes| ready(classes, "EC2NodeClass"),
        ),
        facts.check(
            "NodePools are ready",
            "nodepools",
            "kubectl describe nodepool; its nodeClassRef must name an EC2NodeClass that is ready",
            |pools| ready(pools, "NodePool"),
        ),
    ]);
    out
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let is_true = |it: &Value| text(it, "/type") == kind && text(it, "/status") == "True";
    conditions.is_some_and(|all| all.iter().any(is_true))
}

fn ready(objects: &Value, kind: &str) -> Result<(), String> {
    let all = entries(objects, "items");
    if all.is_empty() {
        return Err(format!("there is no {kind}: nothing can be launched"));
    }
    let unready = all.iter().filter(|object| !has_condition(object, "Ready"));
    let unready: Vec<&str> = unready.map(|object| text(object, "/metadata/name")).collect();
    if unready.is_empty() { Ok(()) } else { Err(format!("not ready: {}", unready.join(", "))) }
}
