//! EC2NodeClasses: what of them instance types depend on.

use std::collections::{BTreeMap, BTreeSet};

use catalog::ClassShape;
use catalog::class::{
    AmiFamily, BlockDevice, CapacityReservation, InstanceStorePolicy, Kubelet, NetworkInterface,
};
use model::{Claim, ClassFacts, Note, Resolved, labels};
use serde_json::{Map, Value};

use super::pools::written;
use super::requirement::term;
use crate::crd;
use crate::reservations::{self, Counts, found};

/// What instance types of a class depend on, with what the reader should know about it. Its reservations hold what EC2
/// said they do: a launch takes the place that was kept for it.
pub fn class_shape(class: &crd::Ec2NodeClass) -> (ClassShape, Vec<Note>) {
    shape(class.metadata.name.as_deref().unwrap_or_default(), class)
}

/// What nodes of a class may drift from.
pub(super) fn facts(class: &crd::Ec2NodeClass) -> ClassFacts {
    let none = crd::Ec2NodeClassStatus::default();
    let status = class.status.as_ref().unwrap_or(&none);
    let group = reservations::placement_group(class).map(|group| Resolved::Found(group.id));
    let asked = class.spec.placement_group_selector.is_some();
    ClassFacts {
        hash: written(
            class.metadata.annotations.as_ref(),
            labels::NODECLASS_HASH,
            labels::NODECLASS_HASH_VERSION,
        ),
        images: status.amis.iter().map(|image| (image.id.clone(), term(&image.requirements).0)).collect(),
        subnets: status.subnets.iter().map(|subnet| subnet.id.clone()).collect(),
        security_groups: status.security_groups.iter().map(|group| group.id.clone()).collect(),
        reservations: found(class).iter().map(|reservation| reservation.id.clone()).collect(),
        placement_group: group.unwrap_or(if asked { Resolved::Unknown } else { Resolved::Unasked }),
    }
}

/// The shape of a class, with what the reader should know about it.
pub(super) fn shape(name: &str, class: &crd::Ec2NodeClass) -> (ClassShape, Vec<Note>) {
    let spec = &class.spec;
    let interfaces = spec.network_interfaces.iter().filter_map(|interface| {
        Some(NetworkInterface {
            card: u16::try_from(interface.network_card_index).ok()?,
            device: u16::try_from(interface.device_index).ok()?,
            efa_only: interface.interface_type == crd::InterfaceType::EfaOnly,
        })
    });
    let interfaces: Vec<NetworkInterface> = interfaces.collect();
    let devices = spec.block_device_mappings.iter().map(|mapping| BlockDevice {
        device_name: mapping.device_name.clone(),
        root_volume: mapping.root_volume,
        size: mapping.ebs.as_ref().and_then(|ebs| ebs.volume_size.as_ref()?.0.parse().ok()),
    });
    let (held, notes) = reservations(name, class);
    let shape = ClassShape {
        ami_family: family(spec),
        zones: zones(class),
        kubelet: spec.kubelet.as_ref().map(kubelet).unwrap_or_default(),
        block_devices: devices.collect(),
        instance_store_policy: spec
            .instance_store_policy
            .map(|crd::InstanceStorePolicy::Raid0| InstanceStorePolicy::Raid0),
        network_interfaces: if interfaces.is_empty() { None } else { Some(interfaces) },
        connection_tracking: spec.connection_tracking.is_some(),
        nested_virtualization: spec.cpu_options.and_then(|options| options.nested_virtualization)
            == Some(crd::Switch::Enabled),
        placement_group: reservations::placement_group(class),
        capacity_reservations: held,
        ..ClassShape::default()
    };
    (shape, notes)
}

/// The family that is named, or that the alias is of; without either the image is the user's own.
pub(crate) fn family(spec: &crd::Ec2NodeClassSpec) -> AmiFamily {
    let named = spec.ami_family.map(|family| format!("{family:?}"));
    let mut aliases = spec.ami_selector_terms.iter().filter_map(|term| term.alias.as_deref());
    let alias = aliases.find_map(|alias| alias.split_once('@')).map(|(family, _)| family.to_owned());
    named.or(alias).and_then(|name| AmiFamily::from_name(&name)).unwrap_or(AmiFamily::Custom)
}

/// The zones of its subnets, once they are known.
pub(super) fn zones(class: &crd::Ec2NodeClass) -> Option<BTreeSet<String>> {
    let subnets = class.status.as_ref().map(|status| status.subnets.as_slice()).unwrap_or_default();
    let zones: BTreeSet<String> = subnets.iter().map(|subnet| subnet.zone.clone()).collect();
    if zones.is_empty() { None } else { Some(zones) }
}

fn kubelet(written: &Map<String, Value>) -> Kubelet {
    let number =
        |key: &str| written.get(key).and_then(Value::as_u64).and_then(|number| u32::try_from(number).ok());
    let texts = |key: &str| -> BTreeMap<String, String> {
        let entries = written.get(key).and_then(Value::as_object).into_iter().flatten();
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        };
        entries.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect()
    };
    Kubelet {
        max_pods: number("maxPods"),
        pods_per_core: number("podsPerCore"),
        system_reserved: texts("systemReserved"),
        kube_reserved: texts("kubeReserved"),
        eviction_hard: texts("evictionHard"),
        eviction_soft: texts("evictionSoft"),
    }
}

/// The reservations that the selectors found, with what EC2 said they still hold.
fn reservations(name: &str, class: &crd::Ec2NodeClass) -> (Vec<CapacityReservation>, Vec<Note>) {
    let found = found(class);
    let left = Counts::of(class).map(|counts| counts.left).unwrap_or_default();
    let reservations = found.iter().map(|found| CapacityReservation {
        id: found.id.clone(),
        instance_type: found.instance_type.clone(),
        zone: found.availability_zone.clone(),
        kind: found.reservation_type.clone(),
        remaining: left.get(&found.id).copied().unwrap_or_default(),
        interruptible: found.interruptible,
        expiring: found.state == reservations::EXPIRING,
    });
    let unknown = found.iter().filter(|found| !left.contains_key(&found.id));
    let notes = unknown.map(|found| Note {
        place: format!("EC2NodeClass {name}"),
        message: format!("how much {} still holds is not written on it: taken to be used up", found.id),
    });
    (reservations.collect(), notes.collect())
}

/// Leaves each reservation of a class as many places as NodeClaims have not taken since EC2 was asked, so that no two
/// decisions count on the same one.
pub(super) fn take_places(shape: &mut ClassShape, class: &crd::Ec2NodeClass, claims: &[Claim]) {
    let Some(counts) = Counts::of(class) else { return };
    for (held, found) in shape.capacity_reservations.iter_mut().zip(found(class)) {
        let taken = claims.iter().filter(|claim| counts.takes(claim, found)).count();
        held.remaining = held.remaining.saturating_sub(u32::try_from(taken).unwrap_or(u32::MAX));
    }
}
