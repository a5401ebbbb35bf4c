//! The parts that several kinds share: requirements, references, durations and their schemas.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::patterns;

/// How a requirement's values are compared with a label.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub enum Operator {
    /// The label is one of the values.
    In,
    /// The label is none of the values, or absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a number above the value.
    Gt,
    /// The label is a number below the value.
    Lt,
    /// The label is a number not below the value.
    Gte,
    /// The label is a number not above the value.
    Lte,
}

/// A constraint on one label of the nodes, optionally asking for a number of different values.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requirement {
    /// The label's key, or journeyman.dev/usd-per-hour for a node's price.
    #[schemars(length(max = 316), regex(pattern = patterns::QUALIFIED_KEY))]
    pub key: String,
    /// How the label is compared with the values.
    pub operator: Operator,
    /// The values: at least one for In; exactly one whole number not below zero for Gt, Lt, Gte and Lte
    /// (a decimal number for a price); none for Exists and DoesNotExist.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "label_values")]
    pub values: Vec<String>,
    /// How many different values of this label the instance types to choose from must have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 50))]
    pub min_values: Option<i64>,
}

/// Names the object that holds the cloud's side of a node's configuration.
#[derive(Clone, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeClassReference {
    /// The API group, such as karpenter.k8s.aws.
    #[schemars(length(min = 1), regex(pattern = patterns::GROUP))]
    pub group: String,
    /// The kind, such as EC2NodeClass.
    #[schemars(length(min = 1))]
    pub kind: String,
    /// The object's name.
    #[schemars(length(min = 1))]
    pub name: String,
}

/// Reads a duration written as the API has it: numbers with `h`, `m` or `s`, added up. `Never` and
/// anything else is `None`.
///
/// ```
/// assert_eq!(api::crd::duration("1h30m"), Some(jiff::SignedDuration::from_mins(90)));
/// assert_eq!(api::crd::duration("Never"), None);
/// ```
pub fn duration(text: &str) -> Option<SignedDuration> {
    let mut total = SignedDuration::ZERO;
    let mut rest = text;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, unit) = rest.split_at(digits);
        let number: i64 = number.parse().ok()?;
        let seconds = match unit.bytes().next()? {
            b'h' => number.checked_mul(3600)?,
            b'm' => number.checked_mul(60)?,
            b's' => number,
            _ => return None,
        };
        total = total.checked_add(SignedDuration::from_secs(seconds))?;
        rest = &unit[1..];
    }
    Some(total)
}

/// The serde default of `expireAfter`.
pub(super) fn thirty_days() -> String {
    "720h".to_owned()
}

fn label_values(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": { "type": "string", "maxLength": 63, "pattern": patterns::LABEL_VALUE },
    })
}

/// A map of resource names to quantities.
pub(super) fn resources(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "additionalProperties": {
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
            "pattern": patterns::QUANTITY,
            "x-kubernetes-int-or-string": true,
        },
    })
}

/// The labels a template puts on its nodes.
pub(super) fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": 100,
        "x-kubernetes-map-type": "atomic",
        "additionalProperties": { "type": "string", "maxLength": 63, "pattern": patterns::LABEL_VALUE },
    })
}

/// A list of taints.
pub(super) fn taints(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "atomic",
        "items": {
            "type": "object",
            "description": "Keeps pods that do not tolerate it away from the node.",
            "required": ["effect", "key"],
            "properties": {
                "key": {
                    "type": "string", "minLength": 1, "pattern": patterns::QUALIFIED_KEY,
                    "description": "The taint's key.",
                },
                "value": {
                    "type": "string", "pattern": patterns::TAINT_VALUE,
                    "description": "The taint's value.",
                },
                "effect": {
                    "type": "string", "enum": ["NoSchedule", "PreferNoSchedule", "NoExecute"],
                    "description": "What happens to pods that do not tolerate the taint.",
                },
                "timeAdded": {
                    "type": "string", "format": "date-time",
                    "description": "When the taint was added.",
                },
            },
        },
    })
}

/// A point in time.
pub(super) fn time(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "format": "date-time" })
}

/// A status's conditions; `reason` may be empty, as objects of old versions have it.
pub(super) fn conditions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "description": "One aspect of the object's state.",
            "required": ["lastTransitionTime", "status", "type"],
            "properties": {
                "type": {
                    "type": "string", "maxLength": 316, "pattern": patterns::CONDITION_TYPE,
                    "description": "The condition's type, in CamelCase.",
                },
                "status": {
                    "type": "string", "enum": ["True", "False", "Unknown"],
                    "description": "Whether the condition holds.",
                },
                "reason": {
                    "type": "string", "maxLength": 1024, "pattern": patterns::CONDITION_REASON,
                    "description": "Why, as one word for programs.",
                },
                "message": {
                    "type": "string", "maxLength": 32768,
                    "description": "Why, as a sentence for people.",
                },
                "lastTransitionTime": {
                    "type": "string", "format": "date-time",
                    "description": "When the status last changed.",
                },
                "observedGeneration": {
                    "type": "integer", "format": "int64", "minimum": 0,
                    "description": "The generation of the object that the condition is about.",
                },
            },
        },
    })
}

/// The requirements of a pool's template or of a claim.
pub(super) fn requirements(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "maxItems": 100,
        "x-kubernetes-list-type": "atomic",
        "items": Requirement::json_schema(generator),
    })
}

/// A map without empty keys would be said by a rule; here only its shape.
pub(super) type Tags = BTreeMap<String, String>;
