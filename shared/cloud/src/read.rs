//! One answer of DescribeInstanceTypes as the catalogue keeps it.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{
    EbsOptimizedSupport, EnaSupport, EphemeralNvmeSupport, InstanceTypeInfo, NetworkInfo,
    NitroEnclavesSupport, SupportedAdditionalProcessorFeature,
};
use catalog::Ec2Type;
use catalog::raw::{Accelerator, Gpu, Storage};

use crate::Published;

/// Numbers that EC2 leaves out, or that make no sense below zero, count as none.
fn count<W: TryFrom<N> + Default, N>(number: Option<N>) -> W {
    number.and_then(|number| number.try_into().ok()).unwrap_or_default()
}

/// The facts of one type. `None` if EC2 did not name it.
pub fn instance_type(info: &InstanceTypeInfo, published: &Published) -> Option<Ec2Type> {
    let name = info.instance_type()?.as_str().to_owned();
    let processor = info.processor_info();
    let network = info.network_info();
    let limits = published.vpc.get(&name);
    let ebs =
        info.ebs_info().filter(|ebs| ebs.ebs_optimized_support() == Some(&EbsOptimizedSupport::Default));
    let hertz = processor.and_then(|processor| processor.sustained_clock_speed_in_ghz());
    let features = processor.map(|processor| processor.supported_features()).unwrap_or_default();
    let placement = info.placement_group_info().map(|group| group.supported_strategies());
    let architectures = processor.map(|processor| processor.supported_architectures()).unwrap_or_default();
    let mut usage_classes: Vec<_> =
        info.supported_usage_classes().iter().map(|class| class.as_str().to_owned()).collect();
    usage_classes.sort();
    Some(Ec2Type {
        architectures: architectures.iter().map(|name| name.as_str().to_owned()).collect(),
        usage_classes,
        cpus: count(info.v_cpu_info().and_then(|cpus| cpus.default_v_cpus())),
        memory_mib: count(info.memory_info().and_then(|memory| memory.size_in_mib())),
        manufacturer: processor.and_then(|processor| processor.manufacturer()).map(str::to_owned),
        clock_mhz: hertz.map(|gigahertz| (gigahertz * 1000.0).round() as u32),
        hypervisor: info.hypervisor().map(|hypervisor| hypervisor.as_str().to_owned()),
        encryption_in_transit: network
            .and_then(|network| network.encryption_in_transit_supported())
            .unwrap_or(false),
        nitro_enclaves: info.nitro_enclaves_support() == Some(&NitroEnclavesSupport::Supported),
        nested_virtualization: features.contains(&SupportedAdditionalProcessorFeature::NestedVirtualization),
        ena: network
            .and_then(|network| network.ena_support())
            .is_some_and(|ena| *ena != EnaSupport::Unsupported),
        ebs_mbps: ebs
            .and_then(|ebs| ebs.ebs_optimized_info()?.maximum_bandwidth_in_mbps())
            .and_then(|mbps| mbps.try_into().ok()),
        network_mbps: published.network_mbps.get(&name).copied(),
        storage: info.instance_storage_info().and_then(|storage| {
            Some(Storage {
                gigabytes: storage.total_size_in_gb()?.try_into().ok()?,
                nvme: storage.nvme_support().is_some_and(|nvme| *nvme != EphemeralNvmeSupport::Unsupported),
            })
        }),
        gpus: gpus(info),
        accelerators: accelerators(info),
        neuron: neuron(info),
        default_card: count(network.and_then(|network| network.default_network_card_index())),
        cards: network.map(cards).unwrap_or_default(),
        ipv4_per_interface: count(network.and_then(|network| network.ipv4_addresses_per_interface())),
        efas: count(network.and_then(|network| network.efa_info()?.maximum_efa_interfaces())),
        placement: placement.unwrap_or_default().iter().map(|name| name.as_str().to_owned()).collect(),
        pod_enis: limits.filter(|limits| limits.trunking).map_or(0, |limits| limits.branch_interfaces),
        windows_ipv4: limits.map(|limits| limits.ipv4_per_interface),
        on_demand: published.on_demand.get(&name).copied(),
        zones: BTreeMap::new(),
        name,
    })
}

/// Most interfaces a card, by the card's own index whatever order EC2 lists them in.
fn cards(network: &NetworkInfo) -> Vec<u16> {
    let by_index: BTreeMap<usize, u16> = network
        .network_cards()
        .iter()
        .map(|card| (count(card.network_card_index()), count(card.maximum_network_interfaces())))
        .collect();
    let length = by_index.last_key_value().map_or(0, |(last, _)| last + 1);
    (0..length).map(|index| by_index.get(&index).copied().unwrap_or(0)).collect()
}

fn gpus(info: &InstanceTypeInfo) -> Vec<Gpu> {
    let gpus = info.gpu_info().map(|gpus| gpus.gpus()).unwrap_or_default();
    let read = gpus.iter().map(|gpu| Gpu {
        name: gpu.name().unwrap_or_default().to_owned(),
        manufacturer: gpu.manufacturer().unwrap_or_default().to_owned(),
        count: count(gpu.count()),
        memory_mib: count(gpu.memory_info().and_then(|memory| memory.size_in_mib())),
    });
    read.collect()
}

fn accelerators(info: &InstanceTypeInfo) -> Vec<Accelerator> {
    let devices = info.inference_accelerator_info().map(|devices| devices.accelerators()).unwrap_or_default();
    let read = devices.iter().map(|device| Accelerator {
        name: device.name().unwrap_or_default().to_owned(),
        manufacturer: device.manufacturer().unwrap_or_default().to_owned(),
        count: count(device.count()),
        cores: 0,
    });
    read.collect()
}

fn neuron(info: &InstanceTypeInfo) -> Vec<Accelerator> {
    let devices = info.neuron_info().map(|devices| devices.neuron_devices()).unwrap_or_default();
    let read = devices.iter().map(|device| Accelerator {
        name: device.name().unwrap_or_default().to_owned(),
        manufacturer: "AWS".to_owned(),
        count: count(device.count()),
        cores: count(device.core_info().and_then(|cores| cores.count())),
    });
    read.collect()
}
