//! The rules of NodePool alone, and of changes.

use model::labels::{CAPACITY_TYPE, HOSTNAME, NODEPOOL};
use serde_json::Value;

use super::super::Kind::{NodeClaim, NodePool};
use super::{Rule, Test, has};

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
pub(in super::super) fn outside_karpenter(key: &str) -> bool {
    let domain = key.split('/').next().unwrap_or_default();
    key == CAPACITY_TYPE || key == NODEPOOL || !domain.ends_with("karpenter.sh")
}
