//! Launch templates: what machines that are alike are started with.

use std::collections::BTreeMap;

use api::crd::{HttpTokens, Switch};
use model::{CapacityType, labels};
use serde::{Deserialize, Serialize};

use super::devices::{BlockDevice, devices};
use super::interfaces::{NetworkInterface, interfaces};
use super::machines::Machine;
use super::request::{LaunchError, LaunchRequest};
use super::{hash, tags};

/// What a machine asks to have enclaves.
const NITRO_SANDBOX: &str = "eks.amazonaws.com/nitro-sandbox";

/// The label of a placement group's partition.
const PARTITION: &str = "karpenter.k8s.aws/placement-group-partition";

/// Regions whose EC2 does not know the IPv6 endpoint of the metadata service.
const NO_METADATA_IPV6: [&str; 6] = [
    "us-iso-east-1",
    "us-iso-west-1",
    "us-isob-east-1",
    "us-isob-west-1",
    "us-isof-south-1",
    "us-isof-east-1",
];

/// The contents of a launch template.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TemplateSpec {
    /// The image.
    pub image: String,
    /// The instance profile's name.
    pub instance_profile: String,
    /// User data as the machine reads it, not yet base64.
    pub user_data: String,
    /// Disks.
    pub block_devices: Vec<BlockDevice>,
    /// Network interfaces; the security groups are in them.
    pub interfaces: Vec<NetworkInterface>,
    /// How the machine serves its own metadata.
    pub metadata: MetadataOptions,
    /// Whether CloudWatch gets figures every minute.
    pub detailed_monitoring: bool,
    /// Whether the machine can host enclaves.
    pub enclaves: bool,
    /// Whether the machine can host virtual machines; without it, as EC2 has it.
    pub nested_virtualization: Option<Switch>,
    /// Where the machine is put.
    pub placement: Placement,
    /// Which reservation it draws on: without one, none, not even an open one.
    pub reservation: Option<String>,
    /// How it is paid for where EC2 wants it said.
    pub market: Option<Market>,
    /// Tags of the template itself and of the network interfaces.
    pub tags: BTreeMap<String, String>,
    /// Whether the Spot request gets the tags too.
    pub spot: bool,
}

/// How a machine serves its own metadata.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetadataOptions {
    /// Whether it does.
    pub endpoint: Switch,
    /// Whether over IPv6 too; without it, EC2 is not told.
    pub ipv6: Option<Switch>,
    /// How many network hops an answer may take.
    pub hop_limit: i32,
    /// Whether it wants a session token.
    pub tokens: HttpTokens,
}

/// Where a machine is put.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// `default` or `dedicated`.
    pub tenancy: String,
    /// The placement group's id.
    pub group: Option<String>,
    /// The partition of the group.
    pub partition: Option<i32>,
}

/// How a machine is paid for where EC2 wants it said.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Market {
    /// From a block of capacity bought for a time.
    CapacityBlock,
    /// From a reservation that may be taken back.
    InterruptibleCapacityReservation,
}

impl TemplateSpec {
    /// The template's name, which follows from its contents. Not Karpenter's prefix: a Karpenter that looks after
    /// the same cluster would take it for one of its own.
    pub fn name(&self) -> Result<String, LaunchError> {
        Ok(format!("journeyman.dev/{}", hash::content(self).map_err(LaunchError::Name)?))
    }
}

/// The template of one kind of machine.
pub(super) fn template(request: &LaunchRequest<'_>, machine: &Machine) -> Result<TemplateSpec, LaunchError> {
    let (class, spec) = (request.order.node_class.name.as_str(), &request.class.spec);
    let status = request.class.status.as_ref();
    let profile = status.and_then(|status| status.instance_profile.clone()).filter(|name| !name.is_empty());
    let mut groups: Vec<String> = status
        .map(|status| status.security_groups.iter().map(|group| group.id.clone()).collect())
        .unwrap_or_default();
    if groups.is_empty() {
        return Err(LaunchError::NoSecurityGroups { class: class.to_owned() });
    }
    groups.sort();
    let order = request.order;
    let options = &spec.metadata_options;
    let hops = options.http_put_response_hop_limit;
    let asked = |name: &str| !order.requests.get(name).is_zero();
    let efas = if asked("vpc.amazonaws.com/efa") { machine.efas } else { 0 };
    Ok(TemplateSpec {
        image: machine.image.clone(),
        instance_profile: profile.ok_or_else(|| LaunchError::NoProfile { class: class.to_owned() })?,
        user_data: machine.user_data.clone(),
        block_devices: devices(spec, request.shape.ami_family)?,
        interfaces: interfaces(request, &groups, efas),
        metadata: MetadataOptions {
            endpoint: options.http_endpoint,
            ipv6: (!NO_METADATA_IPV6.contains(&request.region)).then_some(options.http_protocol_ipv6),
            hop_limit: i32::try_from(hops)
                .map_err(|_| LaunchError::Number { field: "httpPutResponseHopLimit", number: hops })?,
            tokens: options.http_tokens,
        },
        detailed_monitoring: spec.detailed_monitoring.unwrap_or(false),
        enclaves: asked(NITRO_SANDBOX),
        nested_virtualization: spec.cpu_options.and_then(|options| options.nested_virtualization),
        placement: placement(request),
        reservation: machine.reservation.clone(),
        market: request.market(),
        tags: tags::class_tags(request.cluster, order.pool.as_deref(), class, &spec.tags),
        spot: order.capacity_type == CapacityType::Spot,
    })
}

/// Dedicated hardware only if nothing else will do; a partition only if one is asked for.
fn placement(request: &LaunchRequest<'_>) -> Placement {
    let wanted = &request.order.requirements;
    let tenancy = wanted.get(labels::TENANCY);
    let dedicated = tenancy.is_some_and(|tenancy| tenancy.has("dedicated") && !tenancy.has("default"));
    let group = request.shape.placement_group.as_ref();
    let partition = group.zip(wanted.get(PARTITION)).and_then(|(group, wanted)| {
        (1..=group.partitions).find(|partition| wanted.has(&partition.to_string()))
    });
    Placement {
        tenancy: if dedicated { "dedicated" } else { "default" }.to_owned(),
        group: group.map(|group| group.id.clone()),
        partition: partition.map(i32::from),
    }
}
