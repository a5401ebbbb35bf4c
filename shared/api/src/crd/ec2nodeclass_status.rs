//! The status of an EC2NodeClass: what its selectors found.

use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::fields;

/// What the selectors of a node class found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Ec2NodeClassStatus {
    /// The subnets, those with most free addresses first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subnets: Vec<Subnet>,
    /// The security groups.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub security_groups: Vec<SecurityGroup>,
    /// The capacity reservations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capacity_reservations: Vec<CapacityReservation>,
    /// The images, newest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub amis: Vec<Ami>,
    /// The instance profile in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_profile: Option<String>,
    /// Ready and what it depends on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "fields::conditions")]
    pub conditions: Vec<Condition>,
}

/// A subnet.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subnet {
    /// Its id.
    pub id: String,
    /// Its zone's name.
    pub zone: String,
    /// Its zone's id, the same for all accounts.
    #[serde(default, rename = "zoneID", skip_serializing_if = "Option::is_none")]
    pub zone_id: Option<String>,
}

/// A security group.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecurityGroup {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A capacity reservation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CapacityReservation {
    /// The zone it is in.
    pub availability_zone: String,
    /// When it ends, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "fields::time")]
    pub end_time: Option<Time>,
    /// Its id.
    #[schemars(regex(pattern = super::patterns::CAPACITY_RESERVATION_ID))]
    pub id: String,
    /// Which machines it takes.
    #[schemars(schema_with = "match_criteria")]
    pub instance_match_criteria: String,
    /// The instance type it is for.
    pub instance_type: String,
    /// Whether EC2 may take its machines back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interruptible: bool,
    /// The account that owns it.
    #[serde(rename = "ownerID")]
    #[schemars(regex(pattern = super::patterns::OWNER_ID))]
    pub owner_id: String,
    /// Whether it is one of a kind or a block of capacity for a time.
    #[serde(default = "ordinary")]
    #[schemars(schema_with = "reservation_type")]
    pub reservation_type: String,
    /// Whether it is soon to end.
    #[serde(default = "active")]
    #[schemars(schema_with = "reservation_state")]
    pub state: String,
}

/// An image.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ami {
    /// Its id.
    pub id: String,
    /// Its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Whether its owner advises against it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deprecated: bool,
    /// Which instance types it suits.
    #[schemars(schema_with = "node_selector_requirements")]
    pub requirements: Vec<NodeSelectorRequirement>,
}

fn ordinary() -> String {
    "default".to_owned()
}

fn active() -> String {
    "active".to_owned()
}

fn match_criteria(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["open", "targeted"] })
}

fn reservation_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["default", "capacity-block"], "default": "default" })
}

fn reservation_state(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "enum": ["active", "expiring"], "default": "active" })
}

fn node_selector_requirements(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "array",
        "items": {
            "type": "object",
            "description": "A constraint on one label of the nodes.",
            "required": ["key", "operator"],
            "properties": {
                "key": { "type": "string", "description": "The label's key." },
                "operator": { "type": "string", "description": "How the label is compared with the values." },
                "values": {
                    "type": "array", "x-kubernetes-list-type": "atomic",
                    "items": { "type": "string" }, "description": "The values.",
                },
            },
        },
    })
}
