//! What a node of a type has: processors, memory, pods, storage, devices.

use model::{Quantity, Resources};

use crate::class::{AmiFamily, ClassShape, InstanceStorePolicy};
use crate::raw::Ec2Type;

/// Contiguous memory that the kernel keeps on Graviton.
const ARM_RESERVED_MIB: u64 = 64;

/// Pods on a node whose addresses don't limit them.
const PODS_WITHOUT_ENI_LIMIT: u64 = 110;

/// All that a node has before kubelet and system take their share.
pub fn capacity(kind: &Ec2Type, class: &ClassShape) -> Resources {
    let count = |count: u64| Quantity::from_units(i64::try_from(count).unwrap_or(i64::MAX));
    let gpus = |maker: &str| -> u64 {
        kind.gpus.iter().filter(|gpu| gpu.manufacturer == maker).map(|gpu| u64::from(gpu.count)).sum()
    };
    let neuron = kind.neuron.iter().map(|device| u64::from(device.count)).sum();
    let cores = kind.neuron.first().map_or(0, |device| u64::from(device.count) * u64::from(device.cores));
    let efas = match &class.network_interfaces {
        Some(interfaces) => interfaces.iter().filter(|interface| interface.efa_only).count() as u64,
        None => u64::from(kind.efas),
    };
    let mut out: Resources = [
        ("cpu", count(u64::from(kind.cpus))),
        ("memory", memory(kind, class)),
        ("pods", count(pods(kind, class))),
        ("ephemeral-storage", ephemeral_storage(kind, class)),
        ("nvidia.com/gpu", count(gpus("NVIDIA"))),
        ("amd.com/gpu", count(gpus("AMD"))),
        ("habana.ai/gaudi", count(gpus("Habana"))),
        ("aws.amazon.com/neuron", count(neuron)),
        ("aws.amazon.com/neuroncore", count(cores)),
        ("vpc.amazonaws.com/efa", count(efas)),
        ("vpc.amazonaws.com/pod-eni", count(u64::from(kind.pod_enis))),
    ]
    .into_iter()
    .collect();
    let windows =
        class.ami_family.windows_build().is_some() && crate::describe::architecture(kind) == Some("amd64");
    if windows {
        let addresses = kind.windows_ipv4.map_or(0, |addresses| u64::from(addresses.saturating_sub(1)));
        out.set("vpc.amazonaws.com/PrivateIPv4Address", count(addresses));
    }
    out
}

/// Memory as the kubelet will report it: measured if a node has shown it, else estimated.
pub fn memory(kind: &Ec2Type, class: &ClassShape) -> Quantity {
    class.discovered_memory.get(&kind.name).copied().unwrap_or_else(|| estimated_memory(kind, class))
}

/// EC2's figure less what the kernel and the hypervisor take, in whole MiB.
pub fn estimated_memory(kind: &Ec2Type, class: &ClassShape) -> Quantity {
    let arm = kind.architectures.first().is_some_and(|name| name == "arm64");
    let size = kind.memory_mib.saturating_sub(if arm { ARM_RESERVED_MIB } else { 0 });
    let overhead = size.saturating_mul(u64::from(class.vm_memory_overhead_ppm)).div_ceil(1_000_000);
    Quantity::from_mebibytes(i64::try_from(size.saturating_sub(overhead)).unwrap_or(i64::MAX))
}

/// How many pods a node takes.
pub fn pods(kind: &Ec2Type, class: &ClassShape) -> u64 {
    let kubelet = &class.kubelet;
    let windows = class.ami_family.windows_build().is_some();
    let pods = match kubelet.max_pods {
        Some(pods) => u64::from(pods),
        None if windows => PODS_WITHOUT_ENI_LIMIT,
        None => eni_limited_pods(kind, class, class.reserved_enis),
    };
    match kubelet.pods_per_core {
        // Bottlerocket has no such setting.
        Some(per_core) if per_core > 0 && class.ami_family != AmiFamily::Bottlerocket => {
            pods.min(u64::from(per_core) * u64::from(kind.cpus))
        }
        _ => pods,
    }
}

/// How many pods the addresses of the default network card are enough for. The VPC's network plugin uses no other
/// card, and two pods of every node use the node's own address.
pub fn eni_limited_pods(kind: &Ec2Type, class: &ClassShape, reserved: u16) -> u64 {
    let interfaces = kind.cards.get(usize::from(kind.default_card)).copied().unwrap_or(0);
    let requested = class.network_interfaces.iter().flatten();
    let efa_only = requested.filter(|interface| interface.card == 0 && interface.efa_only).count() as u64;
    let usable = u64::from(interfaces).saturating_sub(u64::from(reserved)).saturating_sub(efa_only);
    if usable == 0 { 0 } else { usable * u64::from(kind.ipv4_per_interface.saturating_sub(1)) + 2 }
}

/// Where pods' files lie.
pub fn ephemeral_storage(kind: &Ec2Type, class: &ClassShape) -> Quantity {
    if let (Some(InstanceStorePolicy::Raid0), Some(storage)) = (class.instance_store_policy, kind.storage) {
        let gigabytes = i64::try_from(storage.gigabytes).unwrap_or(i64::MAX);
        return Quantity::from_units(gigabytes.saturating_mul(1_000_000_000));
    }
    let (device, gibibytes) = class.ami_family.ephemeral_device();
    let fallback = Quantity::from_mebibytes(gibibytes * 1024);
    let devices = &class.block_devices;
    let root = devices.iter().find(|device| device.root_volume).and_then(|device| device.size);
    let named = match device {
        Some(name) => devices.iter().find(|device| device.device_name.as_deref() == Some(name)),
        None => devices.last(),
    };
    root.or_else(|| named.and_then(|device| device.size)).unwrap_or(fallback)
}
