//! The rules of requirements, which a NodePool's template and a NodeClaim share.

use model::labels::{HOSTNAME, NODEPOOL, USD_PER_HOUR};
use serde_json::Value;

use super::super::Kind::{self, NodeClaim, NodePool};
use super::nodepool::{AWS_RESTRICTED, aws_labels, outside_aws, outside_karpenter};
use super::{Rule, Test, has, items, text};

const LISTS: &[(Kind, &str)] =
    &[(NodePool, "spec.template.spec.requirements"), (NodeClaim, "spec.requirements")];
const KEYS: &[(Kind, &str)] =
    &[(NodePool, "spec.template.spec.requirements[].key"), (NodeClaim, "spec.requirements[].key")];

/// All of them.
pub(super) const RULES: &[Rule] = &[
    Rule {
        at: LISTS,
        cel: "self.all(r, r.operator != 'In' || (has(r.values) && size(r.values) > 0))",
        message: "operator In needs at least one value",
        help: Some("list the values, or use the operator Exists"),
        test: Test::Each("values", |r| text(r, "operator") != "In" || !values(r).is_empty()),
    },
    Rule {
        at: LISTS,
        cel: "self.all(r, r.key == 'journeyman.dev/usd-per-hour' || \
              !(r.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (has(r.values) && size(r.values) == 1 && \
              r.values[0].matches('^[0-9]+$') && int(r.values[0]) >= 0))",
        message: "operators Gt, Lt, Gte and Lte need exactly one value, a whole number not below zero",
        help: Some("for example: values: [\"4\"]"),
        test: Test::Each("values", |r| {
            text(r, "key") == USD_PER_HOUR || !compares(r) || matches!(values(r), [one] if whole(one))
        }),
    },
    Rule {
        at: LISTS,
        cel: "self.all(r, r.key != 'journeyman.dev/usd-per-hour' || r.operator in ['Lt', 'Lte'])",
        message: "a price takes the operator Lt or Lte",
        help: Some(PRICE),
        test: Test::Each("operator", |r| {
            text(r, "key") != USD_PER_HOUR || matches!(text(r, "operator"), "Lt" | "Lte")
        }),
    },
    Rule {
        at: LISTS,
        cel: "self.all(r, r.key != 'journeyman.dev/usd-per-hour' || (has(r.values) && size(r.values) == 1 && \
              r.values[0].matches('^[0-9]+([.][0-9]+)?$')))",
        message: "a price takes exactly one value, a decimal number not below zero",
        help: Some(PRICE),
        test: Test::Each("values", |r| {
            text(r, "key") != USD_PER_HOUR || matches!(values(r), [one] if one.as_str().is_none_or(decimal))
        }),
    },
    Rule {
        at: LISTS,
        cel: "self.all(r, r.key != 'journeyman.dev/usd-per-hour' || !has(r.minValues))",
        message: "a price takes no minValues",
        help: Some(PRICE),
        test: Test::Each("minValues", |r| text(r, "key") != USD_PER_HOUR || !has(r, "minValues")),
    },
    Rule {
        at: LISTS,
        cel: "self.all(r, r.operator != 'In' || !has(r.minValues) || \
              (has(r.values) && size(r.values) >= r.minValues))",
        message: "operator In with minValues needs at least that many values",
        help: Some("list more values, or lower minValues"),
        test: Test::Each("minValues", |r| {
            let least = r.get("minValues").and_then(Value::as_u64);
            text(r, "operator") != "In" || least.is_none_or(|least| values(r).len() as u64 >= least)
        }),
    },
    Rule {
        at: KEYS,
        cel: "self in ['karpenter.sh/capacity-type', 'karpenter.sh/nodepool'] || \
              !self.matches('^[^/]*karpenter[.]sh(/|$)')",
        message: "the domain karpenter.sh is restricted",
        help: Some("of its labels, only karpenter.sh/capacity-type may be required"),
        test: Test::Whole(|key| key.as_str().is_none_or(outside_karpenter)),
    },
    Rule {
        at: KEYS,
        cel: concat!("self in ", aws_labels!(), " || !self.matches('^[^/]*karpenter[.]k8s[.]aws(/|$)')"),
        message: AWS_RESTRICTED,
        help: None,
        test: Test::Whole(|key| key.as_str().is_none_or(outside_aws)),
    },
    Rule {
        at: KEYS,
        cel: "self != 'kubernetes.io/hostname'",
        message: "the label kubernetes.io/hostname is restricted",
        help: Some("remove it: each node has its own"),
        test: Test::Whole(|key| key != HOSTNAME),
    },
    Rule {
        at: &[(NodePool, "spec.template.spec.requirements[].key")],
        cel: "self != 'karpenter.sh/nodepool'",
        message: "the label karpenter.sh/nodepool is restricted",
        help: Some("remove it: each node gets it by itself"),
        test: Test::Whole(|key| key != NODEPOOL),
    },
];

const PRICE: &str = "for example: {key: journeyman.dev/usd-per-hour, operator: Lte, values: [\"0.50\"]}";

fn values(requirement: &Value) -> &[Value] {
    requirement.get("values").map_or(&[], items)
}

fn compares(requirement: &Value) -> bool {
    matches!(text(requirement, "operator"), "Gt" | "Lt" | "Gte" | "Lte")
}

fn whole(value: &Value) -> bool {
    value.as_str().is_none_or(|text| digits(text) && text.parse::<i64>().is_ok())
}

/// Whether a text is a decimal number as a price is written: digits, perhaps a point and digits.
pub(in super::super) fn decimal(text: &str) -> bool {
    match text.split_once('.') {
        Some((units, fraction)) => digits(units) && digits(fraction),
        None => digits(text),
    }
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
