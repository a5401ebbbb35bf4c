//! What EC2 says about its instance types, kept as facts: all that the formulas need, and nothing derived.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{Fnv1a, MicroUsd};
use serde::{Deserialize, Serialize};

/// The instance types of one Region at one moment.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Ec2Catalogue {
    /// The AWS Region.
    pub region: String,
    /// When it was read.
    pub as_of: Timestamp,
    /// The Region's availability zones in name order.
    pub zones: Vec<Zone>,
    /// Instance types in name order.
    pub types: Vec<Ec2Type>,
    /// Spot prices are made up for illustration; whoever shows them says so.
    pub spot_illustrative: bool,
}

/// An availability zone.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Zone {
    /// Its name in this account, such as `us-east-1a`.
    pub name: String,
    /// Its id in all accounts, such as `use1-az6`.
    pub id: String,
}

/// One instance type.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Ec2Type {
    /// Its name, such as `m5.large`.
    pub name: String,
    /// Supported architectures in EC2's words and order: `x86_64`, `arm64`.
    pub architectures: Vec<String>,
    /// `on-demand`, `spot`, `capacity-block`.
    pub usage_classes: Vec<String>,
    /// Virtual processors.
    pub cpus: u32,
    /// Memory in MiB before anything takes its share.
    pub memory_mib: u64,
    /// Who makes the processor.
    pub manufacturer: Option<String>,
    /// Sustained clock speed in MHz.
    pub clock_mhz: Option<u32>,
    /// `nitro` or `xen`; metal has none.
    pub hypervisor: Option<String>,
    /// Traffic between instances is encrypted by the network card.
    pub encryption_in_transit: bool,
    /// Nitro Enclaves can run on it.
    pub nitro_enclaves: bool,
    /// Virtual machines can run on it without metal.
    pub nested_virtualization: bool,
    /// It has an Elastic Network Adapter.
    pub ena: bool,
    /// Most Mbit/s to EBS, where a dedicated path is the default.
    pub ebs_mbps: Option<u32>,
    /// Baseline Mbit/s of network, where it is published.
    pub network_mbps: Option<u32>,
    /// Disks that come with it.
    pub storage: Option<Storage>,
    /// Graphics and training processors.
    pub gpus: Vec<Gpu>,
    /// Inference accelerators as EC2 lists them; the Neuron devices say more where there are any.
    pub accelerators: Vec<Accelerator>,
    /// Neuron devices.
    pub neuron: Vec<Accelerator>,
    /// Which network card pods' addresses are taken from.
    pub default_card: u16,
    /// Most interfaces of each network card, by card index.
    pub cards: Vec<u16>,
    /// IPv4 addresses an interface can have, its own included.
    pub ipv4_per_interface: u16,
    /// Most interfaces that bypass the operating system.
    pub efas: u16,
    /// Placement group strategies it can join.
    pub placement: Vec<String>,
    /// Pods that can have a branch interface of their own.
    pub pod_enis: u16,
    /// IPv4 addresses an interface can have on Windows, its own included, where the VPC lists the type.
    pub windows_ipv4: Option<u16>,
    /// The on-demand price of an hour of Linux on shared tenancy; on metal, of a dedicated host's share.
    pub on_demand: Option<MicroUsd>,
    /// Where it is offered: zone name to Spot price.
    pub zones: BTreeMap<String, Option<MicroUsd>>,
}

/// Disks that come with an instance.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Storage {
    /// Decimal gigabytes of all disks together.
    pub gigabytes: u64,
    /// Attached by NVMe.
    pub nvme: bool,
}

/// One kind of graphics processor.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Gpu {
    /// Its name, such as `T4`.
    pub name: String,
    /// `NVIDIA`, `AMD`, `Habana`.
    pub manufacturer: String,
    /// How many; zero where an instance has part of one.
    pub count: u32,
    /// Memory of one, in MiB.
    pub memory_mib: u64,
}

/// One kind of accelerator.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Accelerator {
    /// Its name, such as `Inferentia2`.
    pub name: String,
    /// Who makes it.
    pub manufacturer: String,
    /// How many.
    pub count: u32,
    /// Cores of one; zero where EC2 counts none.
    pub cores: u32,
}

impl Ec2Catalogue {
    /// Puts everything in its order, so that equal facts are equal bytes whatever order EC2 answered in.
    pub fn sort(&mut self) {
        self.zones.sort();
        self.types.sort_by(|one, two| one.name.cmp(&two.name));
    }

    /// The type of that name.
    pub fn get(&self, name: &str) -> Option<&Ec2Type> {
        let index = self.types.binary_search_by(|kind| kind.name.as_str().cmp(name)).ok()?;
        self.types.get(index)
    }

    /// Fills every Spot price in with 30 to 70 % of the on-demand price, by a stable hash of type and zone.
    pub fn illustrate_spot(&mut self) {
        self.spot_illustrative = true;
        for kind in &mut self.types {
            let Some(MicroUsd(on_demand)) = kind.on_demand else { continue };
            if kind.usage_classes.iter().any(|class| class == "spot") {
                for (zone, spot) in &mut kind.zones {
                    let mut hash = Fnv1a::default();
                    hash.write(kind.name.bytes().chain([b'/']).chain(zone.bytes()));
                    let percent = 30 + hash.value() % 41;
                    *spot = Some(MicroUsd((on_demand.saturating_mul(percent)).div_ceil(100)));
                }
            }
        }
    }
}
