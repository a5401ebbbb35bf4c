//! Plain values as the SDK wants them.

use std::collections::BTreeMap;

use api::crd::{HttpTokens, Switch};
use aws_sdk_ec2::operation::create_fleet::builders::CreateFleetFluentBuilder;
use aws_sdk_ec2::types::*;
use aws_smithy_types::base64;

use super::devices::BlockDevice;
use super::fleet::{FleetOverride, FleetSpec, OnDemandStrategy, TargetCapacity};
use super::interfaces::NetworkInterface;
use super::template::{Market, TemplateSpec};

pub(super) fn tags(tags: &BTreeMap<String, String>) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

pub(super) fn resource_tags(kind: ResourceType, values: &BTreeMap<String, String>) -> TagSpecification {
    TagSpecification::builder().resource_type(kind).set_tags(Some(tags(values))).build()
}

/// The request of a fleet, ready to send.
pub(super) fn create_fleet(client: &aws_sdk_ec2::Client, fleet: &FleetSpec) -> CreateFleetFluentBuilder {
    let target = match fleet.target {
        TargetCapacity::OnDemand => DefaultTargetCapacityType::OnDemand,
        TargetCapacity::Spot => DefaultTargetCapacityType::Spot,
        TargetCapacity::CapacityBlock => DefaultTargetCapacityType::CapacityBlock,
        TargetCapacity::ReservedCapacity => DefaultTargetCapacityType::ReservedCapacity,
    };
    let capacity = TargetCapacitySpecificationRequest::builder()
        .total_target_capacity(i32::try_from(fleet.machines).unwrap_or(i32::MAX))
        .default_target_capacity_type(target)
        .build();
    let configs = fleet.templates.iter().map(|template| {
        let specification = FleetLaunchTemplateSpecificationRequest::builder()
            .launch_template_name(&template.name)
            .version("$Latest")
            .build();
        FleetLaunchTemplateConfigRequest::builder()
            .launch_template_specification(specification)
            .set_overrides(Some(template.overrides.iter().map(override_request).collect()))
            .build()
    });
    let request = client
        .create_fleet()
        .r#type(FleetType::Instant)
        .client_token(&fleet.client_token)
        .set_context(fleet.context.clone())
        .target_capacity_specification(capacity)
        .set_launch_template_configs(Some(configs.collect()))
        .tag_specifications(resource_tags(ResourceType::Instance, &fleet.tags))
        .tag_specifications(resource_tags(ResourceType::Volume, &fleet.tags))
        .tag_specifications(resource_tags(ResourceType::Fleet, &fleet.tags));
    let request = match fleet.on_demand {
        Some(strategy) => request.on_demand_options(on_demand(strategy)),
        None => request,
    };
    match fleet.target {
        TargetCapacity::Spot => request.spot_options(
            SpotOptionsRequest::builder()
                .allocation_strategy(SpotAllocationStrategy::PriceCapacityOptimized)
                .build(),
        ),
        TargetCapacity::ReservedCapacity => request.reserved_capacity_options(
            ReservedCapacityOptionsRequest::builder()
                .reservation_types(FleetReservationType::InterruptibleCapacityReservation)
                .build(),
        ),
        TargetCapacity::OnDemand | TargetCapacity::CapacityBlock => request,
    }
}

fn on_demand(strategy: OnDemandStrategy) -> OnDemandOptionsRequest {
    let strategy = match strategy {
        OnDemandStrategy::LowestPrice => FleetOnDemandAllocationStrategy::LowestPrice,
        OnDemandStrategy::Prioritized => FleetOnDemandAllocationStrategy::Prioritized,
    };
    OnDemandOptionsRequest::builder().allocation_strategy(strategy).build()
}

fn override_request(asked: &FleetOverride) -> FleetLaunchTemplateOverridesRequest {
    FleetLaunchTemplateOverridesRequest::builder()
        .instance_type(InstanceType::from(asked.offer.instance_type.as_str()))
        .subnet_id(&asked.subnet)
        .availability_zone(&asked.offer.zone)
        .priority(asked.offer.price.usd())
        .build()
}

/// The contents of a launch template.
pub(super) fn launch_template_data(spec: &TemplateSpec) -> RequestLaunchTemplateData {
    let profile =
        LaunchTemplateIamInstanceProfileSpecificationRequest::builder().name(&spec.instance_profile);
    let monitoring = LaunchTemplatesMonitoringRequest::builder().enabled(spec.detailed_monitoring);
    let enclaves = LaunchTemplateEnclaveOptionsRequest::builder().enabled(spec.enclaves);
    let mut specifications = vec![template_tags(ResourceType::NetworkInterface, spec)];
    if spec.spot {
        specifications.push(template_tags(ResourceType::SpotInstancesRequest, spec));
    }
    let market = spec.market.map(|market| {
        let kind = match market {
            Market::CapacityBlock => MarketType::CapacityBlock,
            Market::InterruptibleCapacityReservation => MarketType::InterruptibleCapacityReservation,
        };
        LaunchTemplateInstanceMarketOptionsRequest::builder().market_type(kind).build()
    });
    let placement = LaunchTemplatePlacementRequest::builder()
        .tenancy(Tenancy::from(spec.placement.tenancy.as_str()))
        .set_group_id(spec.placement.group.clone())
        .set_partition_number(spec.placement.partition)
        .build();
    RequestLaunchTemplateData::builder()
        .image_id(&spec.image)
        .user_data(base64::encode(&spec.user_data))
        .iam_instance_profile(profile.build())
        .monitoring(monitoring.build())
        .enclave_options(enclaves.build())
        .set_cpu_options(spec.nested_virtualization.map(nested_virtualization))
        .metadata_options(metadata(spec))
        .placement(placement)
        .capacity_reservation_specification(reservation(spec))
        .set_instance_market_options(market)
        .set_block_device_mappings(Some(spec.block_devices.iter().map(device).collect()))
        .set_network_interfaces(Some(spec.interfaces.iter().map(interface).collect()))
        .set_tag_specifications(Some(specifications))
        .build()
}

fn template_tags(kind: ResourceType, spec: &TemplateSpec) -> LaunchTemplateTagSpecificationRequest {
    LaunchTemplateTagSpecificationRequest::builder()
        .resource_type(kind)
        .set_tags(Some(tags(&spec.tags)))
        .build()
}

fn nested_virtualization(switch: Switch) -> LaunchTemplateCpuOptionsRequest {
    let switch = match switch {
        Switch::Enabled => NestedVirtualizationSpecification::Enabled,
        Switch::Disabled => NestedVirtualizationSpecification::Disabled,
    };
    LaunchTemplateCpuOptionsRequest::builder().nested_virtualization(switch).build()
}

fn metadata(spec: &TemplateSpec) -> LaunchTemplateInstanceMetadataOptionsRequest {
    let options = &spec.metadata;
    LaunchTemplateInstanceMetadataOptionsRequest::builder()
        .http_endpoint(match options.endpoint {
            Switch::Enabled => LaunchTemplateInstanceMetadataEndpointState::Enabled,
            Switch::Disabled => LaunchTemplateInstanceMetadataEndpointState::Disabled,
        })
        .set_http_protocol_ipv6(options.ipv6.map(|switch| match switch {
            Switch::Enabled => LaunchTemplateInstanceMetadataProtocolIpv6::Enabled,
            Switch::Disabled => LaunchTemplateInstanceMetadataProtocolIpv6::Disabled,
        }))
        .http_put_response_hop_limit(options.hop_limit)
        .http_tokens(match options.tokens {
            HttpTokens::Required => LaunchTemplateHttpTokensState::Required,
            HttpTokens::Optional => LaunchTemplateHttpTokensState::Optional,
        })
        // Tags of the machine are not for its pods to read.
        .instance_metadata_tags(LaunchTemplateInstanceMetadataTagsState::Disabled)
        .build()
}

fn reservation(spec: &TemplateSpec) -> LaunchTemplateCapacityReservationSpecificationRequest {
    let builder = LaunchTemplateCapacityReservationSpecificationRequest::builder();
    match &spec.reservation {
        None => builder.capacity_reservation_preference(CapacityReservationPreference::None).build(),
        Some(id) => builder
            .capacity_reservation_preference(CapacityReservationPreference::CapacityReservationsOnly)
            .capacity_reservation_target(
                CapacityReservationTarget::builder().capacity_reservation_id(id).build(),
            )
            .build(),
    }
}

fn device(device: &BlockDevice) -> LaunchTemplateBlockDeviceMappingRequest {
    let ebs = device.ebs.as_ref().map(|volume| {
        LaunchTemplateEbsBlockDeviceRequest::builder()
            .set_delete_on_termination(volume.delete_on_termination)
            .set_encrypted(volume.encrypted)
            .set_iops(volume.iops)
            .set_kms_key_id(volume.kms_key_id.clone())
            .set_snapshot_id(volume.snapshot_id.clone())
            .set_throughput(volume.throughput)
            .set_volume_initialization_rate(volume.initialization_rate)
            .set_volume_size(volume.size)
            .set_volume_type(volume.kind.as_deref().map(VolumeType::from))
            .build()
    });
    LaunchTemplateBlockDeviceMappingRequest::builder()
        .set_device_name(device.device_name.clone())
        .set_ebs(ebs)
        .build()
}

fn interface(interface: &NetworkInterface) -> LaunchTemplateInstanceNetworkInterfaceSpecificationRequest {
    let tracking = interface.connection_tracking.map(|tracking| {
        ConnectionTrackingSpecificationRequest::builder()
            .set_tcp_established_timeout(tracking.tcp_established_timeout)
            .set_udp_stream_timeout(tracking.udp_stream_timeout)
            .set_udp_timeout(tracking.udp_timeout)
            .build()
    });
    LaunchTemplateInstanceNetworkInterfaceSpecificationRequest::builder()
        .network_card_index(interface.card)
        .device_index(interface.device)
        .set_interface_type(interface.kind.clone())
        .set_groups(Some(interface.groups.clone()))
        .set_associate_public_ip_address(interface.public_address)
        .set_ipv4_prefix_count(interface.ipv4_prefixes)
        .set_ipv6_prefix_count(interface.ipv6_prefixes)
        .set_primary_ipv6(interface.ipv6.then_some(true))
        .set_ipv6_address_count(interface.ipv6.then_some(1))
        .set_connection_tracking_specification(tracking)
        .build()
}
