//! From EC2's facts to the model: every instance type as a node of one EC2NodeClass would have it.

use model::{CapacityType, InstanceType, MicroUsd, Offering, Reservation};

use crate::capacity::capacity;
use crate::class::{AmiFamily, CapacityReservation, ClassShape};
use crate::describe::{architecture, capacity_types, requirements, zones};
use crate::overhead::overhead;
use crate::raw::{Ec2Catalogue, Ec2Type};

/// The price of what has none: dearer than anything and above any price rule. Its offering is not available either.
pub const UNPRICED: MicroUsd = MicroUsd(u64::MAX);

/// How much cheaper a reserved hour counts than the same on demand. It is paid for already, so it must be the
/// cheapest; but of two reservations the smaller instance should still be the cheaper.
const RESERVED_DISCOUNT: u64 = 10_000;

/// The instance types of the Region as nodes of `class`, in name order. A type that can't serve the class is there
/// with no offering available, so that a refusal can be explained.
pub fn resolve(catalogue: &Ec2Catalogue, class: &ClassShape) -> Vec<InstanceType> {
    let runs_kubernetes = catalogue.types.iter().filter(|kind| architecture(kind).is_some());
    runs_kubernetes.map(|kind| instance_type(catalogue, kind, class)).collect()
}

fn instance_type(catalogue: &Ec2Catalogue, kind: &Ec2Type, class: &ClassShape) -> InstanceType {
    let held = class.capacity_reservations.iter();
    let held: Vec<_> = held.filter(|reservation| reservation.instance_type == kind.name).collect();
    InstanceType {
        name: kind.name.clone(),
        requirements: requirements(catalogue, kind, class, &held),
        capacity: capacity(kind, class),
        overhead: overhead(kind, class),
        offerings: offerings(catalogue, kind, class, &held),
    }
}

/// The ways to buy a type: one a zone and capacity type, and one a reservation; in order of zone and capacity type.
fn offerings(
    catalogue: &Ec2Catalogue,
    kind: &Ec2Type,
    class: &ClassShape,
    held: &[&CapacityReservation],
) -> Vec<Offering> {
    let compatible = incompatibility(kind, class).is_none();
    let zones = zones(kind, class);
    let zone_id =
        |name: &str| catalogue.zones.iter().find(|zone| zone.name == name).map(|zone| zone.id.clone());
    let mut out = Vec::new();
    for &zone in &zones {
        for capacity_type in capacity_types(kind) {
            let price = match capacity_type {
                CapacityType::Spot => kind.zones.get(zone).copied().flatten(),
                _ => kind.on_demand,
            };
            out.push(Offering {
                zone: zone.to_owned(),
                zone_id: zone_id(zone),
                capacity_type,
                price: price.unwrap_or(UNPRICED),
                available: compatible && price.is_some(),
                unsteady: false,
                reservation: None,
            });
        }
    }
    for reservation in held.iter().filter(|reservation| zones.contains(&reservation.zone.as_str())) {
        out.push(Offering {
            zone: reservation.zone.clone(),
            zone_id: zone_id(&reservation.zone),
            capacity_type: CapacityType::Reserved,
            price: MicroUsd(kind.on_demand.map_or(0, |MicroUsd(price)| price.div_ceil(RESERVED_DISCOUNT))),
            available: compatible && reservation.remaining > 0 && !reservation.expiring,
            unsteady: false,
            reservation: Some(Reservation {
                id: reservation.id.clone(),
                kind: reservation.kind.clone(),
                remaining: reservation.remaining,
                interruptible: reservation.interruptible,
            }),
        });
    }
    let id = |offering: &Offering| offering.reservation.as_ref().map(|reservation| reservation.id.clone());
    out.sort_by_cached_key(|offering| (offering.zone.clone(), offering.capacity_type, id(offering)));
    out
}

/// Why a type can't serve a class, if it can't.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Incompatibility {
    /// The image family doesn't boot on it.
    AmiFamily,
    /// It hasn't got the network interfaces the class lists.
    NetworkInterfaces,
    /// It has no nested virtualization.
    NestedVirtualization,
    /// It can't join a placement group of that strategy.
    PlacementGroup,
    /// It can't set the timeouts of connection tracking.
    ConnectionTracking,
}

/// Why `kind` can't serve `class`, if it can't.
pub fn incompatibility(kind: &Ec2Type, class: &ClassShape) -> Option<Incompatibility> {
    let strategy = class.placement_group.as_ref().map(|group| &group.strategy);
    let nitro = kind.hypervisor.as_deref() == Some("nitro");
    if class.ami_family == AmiFamily::Al2023 && kind.name.starts_with("a1.") {
        Some(Incompatibility::AmiFamily)
    } else if !has_interfaces(kind, class) {
        Some(Incompatibility::NetworkInterfaces)
    } else if class.nested_virtualization && !kind.nested_virtualization {
        Some(Incompatibility::NestedVirtualization)
    } else if strategy.is_some_and(|strategy| !kind.placement.contains(strategy)) {
        Some(Incompatibility::PlacementGroup)
    } else if class.connection_tracking && !nitro {
        Some(Incompatibility::ConnectionTracking)
    } else {
        None
    }
}

fn has_interfaces(kind: &Ec2Type, class: &ClassShape) -> bool {
    let Some(interfaces) = class.network_interfaces.as_ref().filter(|interfaces| !interfaces.is_empty())
    else {
        return true;
    };
    let exist = interfaces.iter().all(|interface| {
        kind.cards.get(usize::from(interface.card)).is_some_and(|&most| interface.device < most)
    });
    let efa_only = interfaces.iter().filter(|interface| interface.efa_only).count();
    kind.ena && exist && efa_only <= usize::from(kind.efas)
}
