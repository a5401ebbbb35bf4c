//! What can be bought.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::labels;
use crate::money::MicroUsd;
use crate::requirement::Requirement;
use crate::requirements::Requirements;
use crate::resources::Resources;

/// How an instance is paid for.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CapacityType {
    /// From a capacity reservation: already paid for.
    Reserved,
    /// Spare capacity that may be taken back.
    Spot,
    /// By the hour, for as long as wanted.
    OnDemand,
}

impl CapacityType {
    /// As the label `karpenter.sh/capacity-type` has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Spot => "spot",
            Self::OnDemand => "on-demand",
        }
    }

    /// From the label's value.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Reserved, Self::Spot, Self::OnDemand].into_iter().find(|known| known.as_str() == name)
    }
}

impl fmt::Display for CapacityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A share of a capacity reservation.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Reservation {
    /// Its id.
    pub id: String,
    /// `default` or `capacity-block`.
    pub kind: String,
    /// How many more instances it holds.
    pub remaining: u32,
    /// Whether it may be taken back.
    pub interruptible: bool,
}

/// One way to buy an instance type.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Offering {
    /// The zone's name.
    pub zone: String,
    /// The zone's account-independent id, where known.
    pub zone_id: Option<String>,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// What an hour costs; for Spot the last price seen.
    pub price: MicroUsd,
    /// Whether it can be had now.
    pub available: bool,
    /// Spot that was not to be had, or was taken back, within a day.
    #[serde(default)]
    pub unsteady: bool,
    /// The reservation it draws on, for `Reserved`.
    pub reservation: Option<Reservation>,
}

impl Offering {
    /// The labels an instance gets from having been bought this way. The price is one of them, so that price rules
    /// are requirements like any other.
    pub fn labels(&self) -> BTreeMap<String, String> {
        let mut labels = BTreeMap::from([
            (labels::ZONE.to_owned(), self.zone.clone()),
            (labels::CAPACITY_TYPE.to_owned(), self.capacity_type.to_string()),
            (labels::USD_PER_HOUR.to_owned(), self.price.0.to_string()),
        ]);
        if let Some(id) = &self.zone_id {
            labels.insert(labels::ZONE_ID.to_owned(), id.clone());
        }
        if let Some(reservation) = &self.reservation {
            labels.insert(labels::RESERVATION_ID.to_owned(), reservation.id.clone());
            labels.insert(labels::RESERVATION_TYPE.to_owned(), reservation.kind.clone());
            labels
                .insert(labels::RESERVATION_INTERRUPTIBLE.to_owned(), reservation.interruptible.to_string());
        }
        labels
    }

    /// The same as requirements; what the offering lacks is asked not to exist.
    pub fn requirements(&self) -> Requirements {
        let mut requirements = Requirements::from_labels(&self.labels());
        if self.reservation.is_none() {
            for key in [labels::RESERVATION_ID, labels::RESERVATION_TYPE, labels::RESERVATION_INTERRUPTIBLE] {
                requirements.add(key, Requirement::does_not_exist());
            }
        }
        requirements
    }
}

/// A kind of instance, as a node of one EC2NodeClass would have it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct InstanceType {
    /// EC2's name of it.
    pub name: String,
    /// Every label it can have, with the values it can take; an absent one as `DoesNotExist`.
    pub requirements: Requirements,
    /// What the instance has.
    pub capacity: Resources,
    /// What kubelet, system and eviction threshold keep of it.
    pub overhead: Resources,
    /// The ways to buy it, in order of zone and capacity type.
    pub offerings: Vec<Offering>,
}

/// Devices that a machine is dear for, as resources.
const DEVICES: [&str; 5] = [
    "nvidia.com/gpu",
    "amd.com/gpu",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
];

impl InstanceType {
    /// Whether it has graphics processors or accelerators.
    pub fn has_devices(&self) -> bool {
        DEVICES.iter().any(|device| !self.capacity.get(device).is_zero())
    }

    /// What pods and daemons can have: capacity less overhead, and memory less the huge pages set aside.
    pub fn allocatable(&self) -> Resources {
        let mut allocatable = self.capacity.clone();
        allocatable.subtract(&self.overhead);
        let mut memory = allocatable.get("memory");
        for (_, amount) in self.capacity.iter().filter(|(name, _)| name.starts_with("hugepages-")) {
            memory = memory.minus(amount);
        }
        allocatable.set("memory", memory);
        for amount in allocatable.0.values_mut() {
            *amount = (*amount).max(crate::Quantity::ZERO);
        }
        allocatable
    }
}

/// All that can be bought, per EC2NodeClass: classes differ in capacity and overhead of the same type.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct Catalogue {
    /// The AWS Region.
    pub region: String,
    /// EC2NodeClass name to its types, in name order. A class that is missing here does not exist.
    pub types: BTreeMap<String, Arc<Vec<InstanceType>>>,
    /// Spot prices are made up for illustration; whoever shows them says so.
    pub illustrative_spot: bool,
}

impl Catalogue {
    /// All zones that any type is offered in.
    pub fn zones(&self) -> BTreeSet<&str> {
        let offerings = self.types.values().flat_map(|types| types.iter()).flat_map(|kind| &kind.offerings);
        offerings.map(|offering| offering.zone.as_str()).collect()
    }
}
