//! The form of case files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use model::MicroUsd;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::Value;

/// What is to be done with a case.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Find room for the pending pods.
    #[default]
    Provision,
    /// Give up nodes.
    Disrupt,
    /// Answer events.
    Interrupt,
}

/// One case.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct CaseFile {
    /// What the case shows, as a sentence.
    pub(super) name: String,
    /// The AWS Region; us-east-1 unless given.
    pub(super) region: Option<String>,
    /// When it plays, such as 2026-06-01T12:00:00Z.
    pub(super) now: Option<String>,
    /// The operator's choices.
    pub(super) settings: Option<SettingsEntry>,
    /// Spread constraints for pods that have none of their own.
    #[schemars(schema_with = "objects")]
    pub(super) default_constraints: Option<Vec<TopologySpreadConstraint>>,
    /// What can be bought, instead of the embedded catalogue.
    pub(super) instance_types: Option<Vec<TypeEntry>>,
    /// Kubernetes objects as users write them. A workload may say where its pods run: `placed: node`, or
    /// `placed: {pod: node}`.
    #[schemars(schema_with = "objects")]
    #[expect(dead_code, reason = "read from the document, where each object has its place")]
    pub(super) objects: Vec<Value>,
    /// What is to be done.
    #[serde(default)]
    pub(super) action: Action,
    /// What is announced, for interrupt: EventBridge's events as AWS sends them, and instances' statuses as
    /// DescribeInstanceStatus answers them.
    #[serde(default)]
    #[schemars(schema_with = "objects")]
    pub(super) events: Vec<Value>,
    /// What should come of it.
    pub(super) expect: Expect,
}

impl CaseFile {
    pub(super) fn region(&self) -> &str {
        self.region.as_deref().unwrap_or(super::types::REGION)
    }
}

/// The operator's choices.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct SettingsEntry {
    /// What becomes of preferences.
    pub(super) preferences: Preferences,
    /// What becomes of minValues that can't be met.
    pub(super) min_values: MinValues,
    /// What a node costs beside its instance, in dollars an hour.
    pub(super) fee_per_node: Option<Usd>,
}

/// What becomes of preferences.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub(super) enum Preferences {
    /// Requirements, until they stand in the way.
    #[default]
    Respect,
    /// Nothing.
    Ignore,
}

/// What becomes of minValues that can't be met.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub(super) enum MinValues {
    /// No node.
    #[default]
    Strict,
    /// A node with as many values as there are.
    BestEffort,
}

/// An instance type: in short (cpu, memory, zones, prices) or in full (capacity, offerings).
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct TypeEntry {
    /// Its name.
    #[schemars(required)]
    pub(super) name: String,
    /// Cores.
    #[schemars(schema_with = "quantity")]
    pub(super) cpu: Option<Quantity>,
    /// Memory.
    #[schemars(schema_with = "quantity")]
    pub(super) memory: Option<Quantity>,
    /// How many pods it holds; 110 unless given.
    pub(super) pods: Option<u32>,
    /// amd64 unless given.
    pub(super) arch: Option<String>,
    /// linux unless given.
    pub(super) os: Option<String>,
    /// Where it is offered.
    pub(super) zones: Vec<String>,
    /// Its price on demand, in dollars an hour.
    pub(super) on_demand: Option<Usd>,
    /// Its Spot price: one, or one a zone.
    pub(super) spot: Option<SpotPrices>,
    /// More of what it has, such as nvidia.com/gpu.
    #[schemars(schema_with = "quantities")]
    pub(super) resources: BTreeMap<String, Quantity>,
    /// What pods can't have; by Karpenter's formula unless given.
    #[schemars(schema_with = "quantities")]
    pub(super) overhead: Option<BTreeMap<String, Quantity>>,
    /// Labels its nodes get.
    pub(super) labels: BTreeMap<String, String>,
    /// Offerings that are sold out.
    pub(super) unavailable: Vec<Unavailable>,
    /// Offerings whose Spot capacity was short or taken back within a day.
    pub(super) unsteady: Vec<Unavailable>,
    /// In full: all it has.
    #[schemars(schema_with = "quantities")]
    pub(super) capacity: Option<BTreeMap<String, Quantity>>,
    /// In full: the ways to buy it.
    pub(super) offerings: Option<Vec<OfferingEntry>>,
}

/// Which offerings: those that every given field names.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Unavailable {
    /// In this zone.
    pub(super) zone: Option<String>,
    /// Paid for this way.
    pub(super) capacity_type: Option<String>,
}

/// One way to buy an instance type.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct OfferingEntry {
    /// The zone.
    pub(super) zone: String,
    /// The zone's id.
    pub(super) zone_id: Option<String>,
    /// on-demand, spot or reserved.
    pub(super) capacity_type: String,
    /// Dollars an hour.
    pub(super) price: Usd,
    /// Whether it can be had; true unless given.
    pub(super) available: Option<bool>,
    /// The reservation it draws on.
    pub(super) reservation: Option<ReservationEntry>,
}

/// A capacity reservation.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ReservationEntry {
    /// Its id.
    pub(super) id: String,
    /// default or capacity-block; default unless given.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    /// How many more instances it holds.
    pub(super) remaining: u32,
    /// Whether it may be taken back.
    #[serde(default)]
    pub(super) interruptible: bool,
}

/// What should come of a case. Only what is given is checked.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct Expect {
    /// All new NodeClaims, in any order; every given field must hold.
    pub(super) nodes: Option<Vec<ExpectedNode>>,
    /// How many new NodeClaims.
    pub(super) node_count: Option<Range<usize>>,
    /// What the new nodes cost together, in dollars an hour.
    pub(super) usd_per_hour: Option<Range<Usd>>,
    /// Pods that go to nodes that are there.
    pub(super) placed: Option<BTreeMap<String, String>>,
    /// All pods without a place, with the reason's code; empty asserts that there is none.
    pub(super) unschedulable: Option<BTreeMap<String, String>>,
    /// All nodes that go; empty asserts that none does.
    pub(super) disrupt: Option<Vec<ExpectedDisruption>>,
    /// Nodes that stay, with the reason's code.
    pub(super) keep: Option<BTreeMap<String, String>>,
    /// For interrupt: all nodes that take no more pods from now on.
    pub(super) closed: Option<BTreeSet<String>>,
    /// For interrupt: all nodes whose pods are made to leave at a time, such as 2026-06-01T12:02:00Z.
    pub(super) deadlines: Option<BTreeMap<String, String>>,
    /// For interrupt: all that is not bought for a while: offerings as `m5.large us-east-1a spot`, reservations by id.
    pub(super) avoid: Option<BTreeSet<String>>,
    /// For interrupt: all that is said about a node, by the reasons of its Kubernetes events.
    pub(super) events: Option<BTreeMap<String, BTreeSet<String>>>,
    /// For interrupt: how many of the events are no concern of ours.
    pub(super) ignored: Option<usize>,
}

/// New NodeClaims that are alike.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(super) struct ExpectedNode {
    /// How many; one unless given.
    pub(super) count: Option<usize>,
    /// Their NodePool.
    pub(super) node_pool: Option<String>,
    /// Their zone.
    pub(super) zone: Option<String>,
    /// How they are paid for.
    pub(super) capacity_type: Option<String>,
    /// Their instance type.
    pub(super) instance_type: Option<String>,
    /// All their pods together.
    pub(super) pods: Option<Vec<String>>,
    /// The most that one may cost.
    pub(super) max_usd_per_hour: Option<Usd>,
}

/// A node that goes.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExpectedDisruption {
    /// The node.
    pub(super) node: String,
    /// Why.
    pub(super) reason: Option<String>,
    /// What takes its place.
    pub(super) replacement: Option<ExpectedNode>,
}

/// US dollars an hour, as a number or a text.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Usd(pub(super) MicroUsd);

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.0)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = match Value::deserialize(deserializer)? {
            Value::String(text) => text,
            // Plain digits: a float is written without an exponent.
            Value::Number(number) => match number.as_f64() {
                Some(float) if !number.is_u64() => float.to_string(),
                _ => number.to_string(),
            },
            other => {
                return Err(D::Error::custom(format!(
                    "expected a price, found {}",
                    crate::read::describe(&other)
                )));
            }
        };
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

impl JsonSchema for Usd {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Usd".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "description": "US dollars an hour.", "type": ["number", "string"] })
    }
}

/// Spot prices: one for all zones, or one a zone.
#[derive(Clone, Debug)]
pub(super) enum SpotPrices {
    All(Usd),
    PerZone(BTreeMap<String, Usd>),
}

impl<'de> Deserialize<'de> for SpotPrices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            map @ Value::Object(_) => {
                serde_json::from_value(map).map(Self::PerZone).map_err(D::Error::custom)
            }
            one => serde_json::from_value(one).map(Self::All).map_err(D::Error::custom),
        }
    }
}

impl JsonSchema for SpotPrices {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SpotPrices".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let price = generator.subschema_for::<Usd>();
        json_schema!({ "anyOf": [price, { "type": "object", "additionalProperties": price }] })
    }
}

/// An exact amount, or bounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range<T> {
    pub(super) min: Option<T>,
    pub(super) max: Option<T>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds<T> {
    min: Option<T>,
    max: Option<T>,
}

impl<'de, T: serde::de::DeserializeOwned + Copy> Deserialize<'de> for Range<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            map @ Value::Object(_) => {
                let Bounds { min, max } = serde_json::from_value(map).map_err(D::Error::custom)?;
                Ok(Self { min, max })
            }
            one => {
                let exact: T = serde_json::from_value(one).map_err(D::Error::custom)?;
                Ok(Self { min: Some(exact), max: Some(exact) })
            }
        }
    }
}

impl<T: JsonSchema> JsonSchema for Range<T> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("RangeOf{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [
                one,
                { "type": "object", "additionalProperties": false, "properties": { "min": one, "max": one } },
            ],
        })
    }
}

fn quantity(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "string"] })
}

fn quantities(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "additionalProperties": { "type": ["number", "string"] } })
}

fn objects(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "array", "items": { "type": "object" } })
}
