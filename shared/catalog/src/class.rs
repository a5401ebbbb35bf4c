//! What an EC2NodeClass changes about the instance types, as plain values.

use std::collections::{BTreeMap, BTreeSet};

use model::Quantity;
use serde::{Deserialize, Serialize};

/// The part of an EC2NodeClass, and of the settings, that capacity, overhead and offerings depend on.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct ClassShape {
    /// Which family of images the nodes boot.
    pub ami_family: AmiFamily,
    /// Names of the zones in which it has a subnet; `None` for all.
    pub zones: Option<BTreeSet<String>>,
    /// `spec.kubelet`.
    pub kubelet: Kubelet,
    /// `spec.blockDeviceMappings`, in order.
    pub block_devices: Vec<BlockDevice>,
    /// `spec.instanceStorePolicy`.
    pub instance_store_policy: Option<InstanceStorePolicy>,
    /// `spec.networkInterfaces`; `None` if it is not set.
    pub network_interfaces: Option<Vec<NetworkInterface>>,
    /// `spec.connectionTracking` is set.
    pub connection_tracking: bool,
    /// `spec.cpuOptions.nestedVirtualization` is `enabled`.
    pub nested_virtualization: bool,
    /// The placement group its selector found.
    pub placement_group: Option<PlacementGroup>,
    /// The capacity reservations its selectors found.
    pub capacity_reservations: Vec<CapacityReservation>,
    /// `RESERVED_ENIS`: interfaces that pods don't get.
    pub reserved_enis: u16,
    /// `VM_MEMORY_OVERHEAD_PERCENT` in millionths: 75,000 is 7.5 %.
    pub vm_memory_overhead_ppm: u32,
    /// Memory that nodes of a type have shown to have with this class's images: better than any estimate.
    pub discovered_memory: BTreeMap<String, Quantity>,
}

/// Seven and a half per cent, of which the hypervisor takes most.
const VM_MEMORY_OVERHEAD_PPM: u32 = 75_000;

impl Default for ClassShape {
    fn default() -> Self {
        Self {
            ami_family: AmiFamily::Al2023,
            zones: None,
            kubelet: Kubelet::default(),
            block_devices: Vec::new(),
            instance_store_policy: None,
            network_interfaces: None,
            connection_tracking: false,
            nested_virtualization: false,
            placement_group: None,
            capacity_reservations: Vec::new(),
            reserved_enis: 0,
            vm_memory_overhead_ppm: VM_MEMORY_OVERHEAD_PPM,
            discovered_memory: BTreeMap::new(),
        }
    }
}

/// A family of machine images.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum AmiFamily {
    /// Amazon Linux 2.
    Al2,
    /// Amazon Linux 2023.
    Al2023,
    /// Bottlerocket.
    Bottlerocket,
    /// Windows Server 2019 Core.
    Windows2019,
    /// Windows Server 2022 Core.
    Windows2022,
    /// Windows Server 2025 Core.
    Windows2025,
    /// The user's own.
    Custom,
}

impl AmiFamily {
    const ALL: [(&'static str, Self); 7] = [
        ("AL2", Self::Al2),
        ("AL2023", Self::Al2023),
        ("Bottlerocket", Self::Bottlerocket),
        ("Windows2019", Self::Windows2019),
        ("Windows2022", Self::Windows2022),
        ("Windows2025", Self::Windows2025),
        ("Custom", Self::Custom),
    ];

    /// From `spec.amiFamily`, or the part of an alias before `@`; case doesn't matter.
    pub fn from_name(name: &str) -> Option<Self> {
        let known = Self::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, family)| family)
    }

    /// As `spec.amiFamily` has it.
    pub fn as_str(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, family)| *family == self).map_or("", |(name, _)| name)
    }

    /// The build a Windows family runs.
    pub fn windows_build(self) -> Option<&'static str> {
        match self {
            Self::Windows2019 => Some("10.0.17763"),
            Self::Windows2022 => Some("10.0.20348"),
            Self::Windows2025 => Some("10.0.26100"),
            _ => None,
        }
    }

    /// The device that pods' ephemeral storage lies on, and its size in GiB unless the class says otherwise.
    pub(crate) fn ephemeral_device(self) -> (Option<&'static str>, i64) {
        match self {
            Self::Al2 | Self::Al2023 => (Some("/dev/xvda"), 20),
            Self::Bottlerocket => (Some("/dev/xvdb"), 20),
            Self::Windows2019 | Self::Windows2022 | Self::Windows2025 => (Some("/dev/sda1"), 50),
            Self::Custom => (None, 20),
        }
    }
}

/// `spec.kubelet`, the part that matters here. Texts are as users wrote them; one that does not read as what it
/// should be counts as not given, for validation has already refused it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Kubelet {
    /// `maxPods`.
    pub max_pods: Option<u32>,
    /// `podsPerCore`; zero is as good as none.
    pub pods_per_core: Option<u32>,
    /// `systemReserved`.
    pub system_reserved: BTreeMap<String, String>,
    /// `kubeReserved`.
    pub kube_reserved: BTreeMap<String, String>,
    /// `evictionHard`.
    pub eviction_hard: BTreeMap<String, String>,
    /// `evictionSoft`: a warning, so it takes nothing away.
    pub eviction_soft: BTreeMap<String, String>,
}

/// One of `spec.blockDeviceMappings`.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct BlockDevice {
    /// `deviceName`.
    pub device_name: Option<String>,
    /// `rootVolume`.
    pub root_volume: bool,
    /// `ebs.volumeSize`.
    pub size: Option<Quantity>,
}

/// What becomes of the disks that come with an instance.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub enum InstanceStorePolicy {
    /// They are striped, and pods' ephemeral storage lies on them.
    Raid0,
}

/// One of `spec.networkInterfaces`.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct NetworkInterface {
    /// `networkCardIndex`.
    pub card: u16,
    /// `deviceIndex`.
    pub device: u16,
    /// `interfaceType` is `efa-only`: it has no addresses for pods.
    pub efa_only: bool,
}

/// A placement group.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct PlacementGroup {
    /// Its id.
    pub id: String,
    /// `cluster`, `partition` or `spread`.
    pub strategy: String,
    /// How many partitions it has, if any.
    pub partitions: u16,
}

/// A capacity reservation.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct CapacityReservation {
    /// Its id.
    pub id: String,
    /// The type it holds.
    pub instance_type: String,
    /// The name of the zone it is in.
    pub zone: String,
    /// `default` or `capacity-block`.
    pub kind: String,
    /// How many more instances it holds.
    pub remaining: u32,
    /// It may be taken back.
    pub interruptible: bool,
    /// Its end is near: nothing is launched in it any more.
    pub expiring: bool,
}
