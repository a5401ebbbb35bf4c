//! `karpenter.k8s.aws/v1` EC2NodeClass: the AWS side of a node's configuration.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ec2nodeclass_status::Ec2NodeClassStatus;
use super::fields::Tags;
use super::patterns;

/// The AWS side of a node's configuration: where it starts, from which image, with what attached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ec2NodeClass {
    /// `karpenter.k8s.aws/v1`.
    pub api_version: String,
    /// `EC2NodeClass`.
    pub kind: String,
    /// Name, labels, generation and so on.
    pub metadata: ObjectMeta,
    /// What the user wants.
    pub spec: Ec2NodeClassSpec,
    /// What the selectors found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<Ec2NodeClassStatus>,
}

/// What the user wants of the machines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ec2NodeClassSpec {
    /// The subnets that machines may start in: those that any term selects.
    #[schemars(length(min = 1, max = 30))]
    pub subnet_selector_terms: Vec<SubnetSelectorTerm>,
    /// The security groups that machines get: those that any term selects.
    #[schemars(length(min = 1, max = 30))]
    pub security_group_selector_terms: Vec<SecurityGroupSelectorTerm>,
    /// The capacity reservations that machines may use: those that any term selects.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 30))]
    pub capacity_reservation_selector_terms: Vec<CapacityReservationSelectorTerm>,
    /// The placement group that machines start in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement_group_selector: Option<PlacementGroupSelector>,
    /// Whether machines get a public address; without it, the subnet decides.
    #[serde(default, rename = "associatePublicIPAddress", skip_serializing_if = "Option::is_none")]
    pub associate_public_ip_address: Option<bool>,
    /// How many address prefixes a machine's first network interface gets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ip_prefix_count: Option<i32>,
    /// The images that machines may start from: those that any term selects.
    #[schemars(length(min = 1, max = 30))]
    pub ami_selector_terms: Vec<AmiSelectorTerm>,
    /// How the machine is told to join the cluster; needed unless an alias tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ami_family: Option<AmiFamily>,
    /// Text that is merged into what the machine runs at its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_data: Option<String>,
    /// The IAM role of the machines, for which an instance profile is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub role: Option<String>,
    /// The IAM instance profile of the machines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub instance_profile: Option<String>,
    /// AWS tags of the machines and all that belongs to them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: Tags,
    /// Fields of the kubelet's own configuration (KubeletConfiguration, kubelet.config.k8s.io/v1beta1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "open_object")]
    pub kubelet: Option<serde_json::Map<String, Value>>,
    /// The machines' disks; without it, what suits the image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 50))]
    pub block_device_mappings: Vec<BlockDeviceMapping>,
    /// What to do with disks built into the machine; without it, nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_store_policy: Option<InstanceStorePolicy>,
    /// The machines' network interfaces; without it, one on each network card.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 150))]
    pub network_interfaces: Vec<NetworkInterface>,
    /// Whether CloudWatch gets figures every minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detailed_monitoring: Option<bool>,
    /// How the machine serves its own metadata.
    #[serde(default)]
    pub metadata_options: MetadataOptions,
    /// How long idle connections are remembered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_tracking: Option<ConnectionTracking>,
    /// An opaque text for EC2, passed on with each launch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// What the machine's processors may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_options: Option<CpuOptions>,
}

/// Selects subnets.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubnetSelectorTerm {
    /// Tags that the subnet has; the value * stands for any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub tags: Tags,
    /// The subnet's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::SUBNET_ID))]
    pub id: Option<String>,
}

/// Selects security groups.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecurityGroupSelectorTerm {
    /// Tags that the security group has; the value * stands for any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub tags: Tags,
    /// The security group's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::SECURITY_GROUP_ID))]
    pub id: Option<String>,
    /// The security group's name, which is not its Name tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Selects capacity reservations.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CapacityReservationSelectorTerm {
    /// Tags that the reservation has; the value * stands for any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub tags: Tags,
    /// The reservation's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::CAPACITY_RESERVATION_ID))]
    pub id: Option<String>,
    /// The account that owns the reservation.
    #[serde(default, rename = "ownerID", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::OWNER_ID))]
    pub owner_id: Option<String>,
    /// Which machines the reservation takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_match_criteria: Option<InstanceMatchCriteria>,
}

/// Which machines a capacity reservation takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum InstanceMatchCriteria {
    /// Any that fit it.
    Open,
    /// Only those that name it.
    Targeted,
}

/// Selects one placement group, by name or by id.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementGroupSelector {
    /// The placement group's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub name: Option<String>,
    /// The placement group's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::PLACEMENT_GROUP_ID))]
    pub id: Option<String>,
}

/// Selects images.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AmiSelectorTerm {
    /// An image of the cluster's Kubernetes version that AWS maintains, as family@version: al2023@latest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 30), regex(pattern = patterns::ALIAS))]
    pub alias: Option<String>,
    /// Tags that the image has; the value * stands for any.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(extend("maxProperties" = 20))]
    pub tags: Tags,
    /// The image's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = patterns::AMI_ID))]
    pub id: Option<String>,
    /// The image's name, which is not its Name tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The account that owns the image, or self or amazon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The name or ARN of an SSM parameter that holds the image's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssm_parameter: Option<String>,
}

/// How a machine is told to join the cluster.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub enum AmiFamily {
    /// Amazon Linux 2.
    AL2,
    /// Amazon Linux 2023.
    AL2023,
    /// Bottlerocket.
    Bottlerocket,
    /// By the user data alone.
    Custom,
    /// Windows Server 2019.
    Windows2019,
    /// Windows Server 2022.
    Windows2022,
    /// Windows Server 2025.
    Windows2025,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockDeviceMapping {
    /// The name of the device, such as /dev/xvda.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_name: Option<String>,
    /// The EBS volume behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ebs: Option<BlockDevice>,
    /// Whether it is the disk that the kubelet's files are on, whose size is the ephemeral storage.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub root_volume: bool,
}

/// An EBS volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlockDevice {
    /// Whether the volume goes with the machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete_on_termination: Option<bool>,
    /// Whether the volume is encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encrypted: Option<bool>,
    /// Operations a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iops: Option<i64>,
    /// The key to encrypt it with.
    #[serde(default, rename = "kmsKeyID", skip_serializing_if = "Option::is_none")]
    pub kms_key_id: Option<String>,
    /// The snapshot to fill it from.
    #[serde(default, rename = "snapshotID", skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// MiB a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<i64>,
    /// MiB a second at which the snapshot is read; it has a price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 100, max = 300))]
    pub volume_initialization_rate: Option<i32>,
    /// Its size, in whole Gi, G, Ti or T; without it, the snapshot's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "volume_size")]
    pub volume_size: Option<Quantity>,
    /// Its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volume_type: Option<VolumeType>,
}

/// The type of an EBS volume.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VolumeType {
    /// Magnetic, of the first generation.
    Standard,
    /// Provisioned operations.
    Io1,
    /// Provisioned operations, of the second generation.
    Io2,
    /// General purpose.
    Gp2,
    /// Cold magnetic.
    Sc1,
    /// Magnetic, for throughput.
    St1,
    /// General purpose, of the second generation.
    Gp3,
}

/// What to do with disks built into a machine.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub enum InstanceStorePolicy {
    /// Join them and put the pods' and the kubelet's files there.
    #[serde(rename = "RAID0")]
    Raid0,
}

/// A network interface.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NetworkInterface {
    /// The network card's number.
    #[schemars(range(min = 0))]
    pub network_card_index: i32,
    /// The interface's number on the card.
    #[schemars(range(min = 0))]
    pub device_index: i32,
    /// What it carries.
    pub interface_type: InterfaceType,
}

/// What a network interface carries.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InterfaceType {
    /// IP.
    Interface,
    /// Elastic Fabric Adapter traffic alone, no IP.
    EfaOnly,
}

/// How a machine serves its own metadata.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetadataOptions {
    /// Whether it is served.
    #[serde(default = "Switch::on")]
    pub http_endpoint: Switch,
    /// Whether it is served over IPv6.
    #[serde(default = "Switch::off", rename = "httpProtocolIPv6")]
    pub http_protocol_ipv6: Switch,
    /// How many network hops an answer may take; 1 keeps it from pods without the host's network.
    #[serde(default = "one_hop")]
    #[schemars(range(min = 1, max = 64))]
    pub http_put_response_hop_limit: i64,
    /// Whether a session token is needed.
    #[serde(default)]
    pub http_tokens: HttpTokens,
}

impl Default for MetadataOptions {
    fn default() -> Self {
        MetadataOptions {
            http_endpoint: Switch::on(),
            http_protocol_ipv6: Switch::off(),
            http_put_response_hop_limit: one_hop(),
            http_tokens: HttpTokens::default(),
        }
    }
}

/// On or off.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Switch {
    /// On.
    Enabled,
    /// Off.
    Disabled,
}

impl Switch {
    fn on() -> Self {
        Switch::Enabled
    }

    fn off() -> Self {
        Switch::Disabled
    }
}

/// Whether the metadata service wants a session token.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Ord, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum HttpTokens {
    /// It does (IMDSv2).
    #[default]
    Required,
    /// It need not.
    Optional,
}

/// How long idle connections are remembered, in seconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ConnectionTracking {
    /// Established TCP connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 432000))]
    pub tcp_established_timeout: Option<i32>,
    /// UDP flows with more than one request and answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 60, max = 180))]
    pub udp_stream_timeout: Option<i32>,
    /// UDP flows with traffic one way only, or a single request and answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 30, max = 60))]
    pub udp_timeout: Option<i32>,
}

/// What a machine's processors may do.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CpuOptions {
    /// Whether the machine can host virtual machines of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_virtualization: Option<Switch>,
}

fn one_hop() -> i64 {
    1
}

fn open_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}

fn volume_size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": patterns::VOLUME_SIZE })
}
