//! The rules of NodePool alone, and of changes.

use model::labels::{CAPACITY_TYPE, EC2_NODE_CLASS, HOSTNAME, NODEPOOL, is_well_known};
use serde_json::Value;

use super::super::Kind::{NodeClaim, NodePool};
use super::{Rule, Test, has};

/// The labels under karpenter.k8s.aws that users may set and require, as CEL; `outside_aws` knows the same.
macro_rules! aws_labels {
    () => {
        "['karpenter.k8s.aws/capacity-reservation-id', \
         'karpenter.k8s.aws/capacity-reservation-interruptible', \
         'karpenter.k8s.aws/capacity-reservation-type', \
         'karpenter.k8s.aws/ec2nodeclass', \
         'karpenter.k8s.aws/instance-accelerator-count', \
         'karpenter.k8s.aws/instance-accelerator-manufacturer', \
         'karpenter.k8s.aws/instance-accelerator-name', \
         'karpenter.k8s.aws/instance-capability-flex', \
         'karpenter.k8s.aws/instance-category', \
         'karpenter.k8s.aws/instance-cpu', \
         'karpenter.k8s.aws/instance-cpu-manufacturer', \
         'karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz', \
         'karpenter.k8s.aws/instance-ebs-bandwidth', \
         'karpenter.k8s.aws/instance-encryption-in-transit-supported', \
         'karpenter.k8s.aws/instance-family', \
         'karpenter.k8s.aws/instance-generation', \
         'karpenter.k8s.aws/instance-gpu-count', \
         'karpenter.k8s.aws/instance-gpu-manufacturer', \
         'karpenter.k8s.aws/instance-gpu-memory', \
         'karpenter.k8s.aws/instance-gpu-name', \
         'karpenter.k8s.aws/instance-hypervisor', \
         'karpenter.k8s.aws/instance-local-nvme', \
         'karpenter.k8s.aws/instance-memory', \
         'karpenter.k8s.aws/instance-network-bandwidth', \
         'karpenter.k8s.aws/instance-size', \
         'karpenter.k8s.aws/instance-tenancy', \
         'karpenter.k8s.aws/nitro-sandbox', \
         'karpenter.k8s.aws/placement-group-id', \
         'karpenter.k8s.aws/placement-group-partition']"
    };
}
pub(super) use aws_labels;

/// The message about other labels there.
pub(super) const AWS_RESTRICTED: &str =
    "the domain karpenter.k8s.aws is restricted to the labels that EC2 instance types have";

/// All of them.
pub(super) const RULES: &[Rule] = &[
    Rule {
        at: &[(NodePool, "spec")],
        cel: "has(self.replicas) == has(oldSelf.replicas)",
        message: "replicas can't be added to a NodePool or taken from it",
        help: Some("make another NodePool"),
        test: Test::Update(|new, old| has(new, "replicas") == has(old, "replicas")),
    },
    Rule {
        at: &[(NodePool, "spec")],
        cel: "!has(self.replicas) || !has(self.limits) || self.limits.all(k, k == 'nodes')",
        message: "with replicas, only limits.nodes may be set",
        help: Some("remove the other limits: the number of nodes is fixed"),
        test: Test::Whole(|spec| {
            let limits = spec.get("limits").and_then(Value::as_object);
            !has(spec, "replicas") || limits.is_none_or(|limits| limits.keys().all(|name| name == "nodes"))
        }),
    },
    Rule {
        at: &[(NodePool, "spec")],
        cel: "!has(self.replicas) || !has(self.weight)",
        message: "with replicas, weight may not be set",
        help: Some("remove weight: pods don't choose among pools with a fixed number of nodes"),
        test: Test::Whole(|spec| !has(spec, "replicas") || !has(spec, "weight")),
    },
    Rule {
        at: &[(NodePool, "spec.disruption.budgets")],
        cel: "self.all(b, has(b.schedule) == has(b.duration))",
        message: "schedule and duration must be set together",
        help: Some("set both for a budget that holds at times, neither for one that always holds"),
        test: Test::Each("", |budget| has(budget, "schedule") == has(budget, "duration")),
    },
    Rule {
        at: &[(NodePool, "spec.template.metadata.labels")],
        cel: "self.all(k, k in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || \
              !k.matches('^[^/]*karpenter[.]sh(/|$)'))",
        message: "the domain karpenter.sh is restricted",
        help: Some("use a domain of your own"),
        test: Test::Keys(outside_karpenter),
    },
    Rule {
        at: &[(NodePool, "spec.template.metadata.labels")],
        cel: concat!(
            "self.all(k, k in ",
            aws_labels!(),
            " || !k.matches('^[^/]*karpenter[.]k8s[.]aws(/|$)'))"
        ),
        message: AWS_RESTRICTED,
        help: Some("use a domain of your own"),
        test: Test::Keys(outside_aws),
    },
    Rule {
        at: &[(NodePool, "spec.template.metadata.labels")],
        cel: "self.all(k, k != 'karpenter.sh/nodepool')",
        message: "the label karpenter.sh/nodepool is restricted",
        help: Some("remove it: each node gets it by itself"),
        test: Test::Keys(|key| key != NODEPOOL),
    },
    Rule {
        at: &[(NodePool, "spec.template.metadata.labels")],
        cel: "self.all(k, k != 'kubernetes.io/hostname')",
        message: "the label kubernetes.io/hostname is restricted",
        help: Some("remove it: each node has its own"),
        test: Test::Keys(|key| key != HOSTNAME),
    },
    Rule {
        at: &[(NodePool, "spec.template.spec.nodeClassRef")],
        cel: "self.group == oldSelf.group",
        message: "group can't be changed",
        help: Some("make another NodePool"),
        test: Test::Update(|new, old| new.get("group") == old.get("group")),
    },
    Rule {
        at: &[(NodePool, "spec.template.spec.nodeClassRef")],
        cel: "self.kind == oldSelf.kind",
        message: "kind can't be changed",
        help: Some("make another NodePool"),
        test: Test::Update(|new, old| new.get("kind") == old.get("kind")),
    },
    Rule {
        at: &[(NodeClaim, "spec")],
        cel: "self == oldSelf",
        message: "the spec of a NodeClaim can't be changed",
        help: Some("change the NodePool; or delete the NodeClaim and make another"),
        test: Test::Update(|new, old| new == old),
    },
];

/// Whether a key is outside the domain karpenter.sh, or one of the two that users may know.
pub(super) fn outside_karpenter(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    key == CAPACITY_TYPE || key == NODEPOOL || !domain.ends_with("karpenter.sh")
}

/// Whether a key is outside the domain karpenter.k8s.aws, or a label there that users may know.
pub(super) fn outside_aws(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    is_well_known(key) || key == EC2_NODE_CLASS || !domain.ends_with("karpenter.k8s.aws")
}
