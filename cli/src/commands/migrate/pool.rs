//! What a group comes to: a NodePool and an EC2NodeClass, and notes on what they can't say.

use std::fmt;

use api::crd::Kind;
use serde_json::{Map, Value, json};

/// A group moved over.
#[derive(Debug)]
pub(super) struct Migrated {
    /// What was read, such as `node group web`.
    pub(super) from: String,
    /// Line by line what was not carried over, and why.
    pub(super) notes: Vec<String>,
    pub(super) pool: Value,
    pub(super) class: Value,
}

/// What both kinds of groups know of themselves.
#[derive(Debug, Default)]
pub(super) struct Group {
    pub(super) from: String,
    pub(super) name: String,
    pub(super) cluster: String,
    pub(super) instance_types: Vec<String>,
    /// `spot`, `on-demand`.
    pub(super) capacity_types: Vec<&'static str>,
    /// Further requirements, ready made.
    pub(super) requirements: Vec<Value>,
    pub(super) architecture: Option<&'static str>,
    /// An AMI alias.
    pub(super) alias: Option<&'static str>,
    /// A role's name; a place to fill in where it isn't known.
    pub(super) role: Option<String>,
    pub(super) subnets: Vec<String>,
    pub(super) labels: Map<String, Value>,
    pub(super) taints: Vec<Value>,
    pub(super) tags: Map<String, Value>,
    pub(super) max_nodes: Option<u64>,
    pub(super) disk_gib: Option<u64>,
    /// How many nodes may go at once: `1` or `10%`.
    pub(super) budget: Option<String>,
    pub(super) notes: Vec<String>,
}

impl Group {
    pub(super) fn note(&mut self, what: &str, why: &str) {
        self.notes.push(format!("{what}: {why}"));
    }

    pub(super) fn finish(mut self) -> Migrated {
        let requirement =
            |key: &str, values: &[&str]| json!({"key": key, "operator": "In", "values": values});
        let mut requirements = Vec::new();
        if !self.capacity_types.is_empty() {
            requirements.push(requirement("karpenter.sh/capacity-type", &self.capacity_types));
        }
        if let Some(architecture) = self.architecture {
            requirements.push(requirement("kubernetes.io/arch", &[architecture]));
        }
        if !self.instance_types.is_empty() {
            let types: Vec<&str> = self.instance_types.iter().map(String::as_str).collect();
            requirements.push(requirement("node.kubernetes.io/instance-type", &types));
            let few = "more types would be cheaper and sell out less often";
            if types.len() < 5 {
                self.note(&format!("{} instance type(s)", types.len()), few);
            }
        }
        requirements.append(&mut self.requirements);
        let mut spec = json!({
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": Kind::Ec2NodeClass.name(), "name": self.name},
                    "requirements": requirements,
                    "expireAfter": "720h",
                },
            },
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "1m",
                "budgets": [{"nodes": self.budget.as_deref().unwrap_or("10%")}],
            },
        });
        if !self.labels.is_empty() {
            spec["template"]["metadata"] = json!({"labels": self.labels});
        }
        if !self.taints.is_empty() {
            spec["template"]["spec"]["taints"] = self.taints.clone().into();
        }
        if let Some(most) = self.max_nodes {
            spec["limits"] = json!({"nodes": most.to_string()});
        }
        if self.alias.is_none() {
            self.note("image", "not known here: al2023@latest stands in its place, check it");
        }
        if self.role.is_none() {
            self.note("role", "not known here: spec.role is to be filled in");
        }
        let subnets: Vec<Value> = match self.subnets.as_slice() {
            [] => {
                self.note("subnets", "none are named: those tagged karpenter.sh/discovery are taken");
                vec![json!({"tags": {"karpenter.sh/discovery": self.cluster}})]
            }
            ids => ids.iter().map(|id| json!({"id": id})).collect(),
        };
        let mut class = json!({
            "role": self.role.as_deref().unwrap_or("FILL-IN"),
            "amiSelectorTerms": [{"alias": self.alias.unwrap_or("al2023@latest")}],
            "subnetSelectorTerms": subnets,
            // EKS gives this tag to the security group that it makes for a cluster and its nodes.
            "securityGroupSelectorTerms": [{"tags": {"aws:eks:cluster-name": self.cluster}}],
        });
        self.note("security groups", "the cluster's own is taken: add others that the nodes need");
        if let Some(size) = self.disk_gib {
            class["blockDeviceMappings"] = json!([{
                "deviceName": "/dev/xvda",
                "rootVolume": true,
                "ebs": {"volumeSize": format!("{size}Gi"), "volumeType": "gp3", "encrypted": true},
            }]);
        }
        if !self.tags.is_empty() {
            class["tags"] = self.tags.clone().into();
        }
        let object = |kind: Kind, spec: Value| {
            let (version, name) = (kind.api_version(), &self.name);
            json!({"apiVersion": version, "kind": kind.name(), "metadata": {"name": name}, "spec": spec})
        };
        Migrated {
            pool: object(Kind::NodePool, spec),
            class: object(Kind::Ec2NodeClass, class),
            from: self.from,
            notes: self.notes,
        }
    }
}

impl fmt::Display for Migrated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}; not carried over or to be looked at:", self.from)?;
        for note in &self.notes {
            writeln!(f, "#   {note}")?;
        }
        for object in [&self.pool, &self.class] {
            let text = serde_saphyr::to_string(object).map_err(|_| fmt::Error)?;
            write!(f, "---\n{text}")?;
        }
        writeln!(f, "---")
    }
}

/// A name as Kubernetes has them: lower-case letters, digits, hyphens.
pub(super) fn object_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .collect();
    plain.trim_matches('-').chars().take(63).collect()
}

/// A role's name of its ARN.
pub(super) fn role_name(arn: &str) -> String {
    arn.rsplit('/').next().unwrap_or(arn).to_owned()
}

/// A tag that users may set: AWS's and Kubernetes' own are made anew.
pub(super) fn is_own_tag(key: &str) -> bool {
    const THEIRS: [&str; 6] = [
        "aws:",
        "eks:",
        "k8s.io/cluster-autoscaler/",
        "kubernetes.io/cluster/",
        "karpenter.sh/",
        "alpha.eksctl.io/",
    ];
    !THEIRS.iter().any(|prefix| key.starts_with(prefix))
}
