//! What the tests share.

use std::sync::LazyLock;

use catalog::class::{AmiFamily, CapacityReservation, Kubelet, NetworkInterface};
use catalog::{ClassShape, Ec2Catalogue, embedded, resolve};
use model::{InstanceType, Quantity, Requirement};

pub static EC2: LazyLock<Ec2Catalogue> = LazyLock::new(|| embedded().unwrap());

/// One type as a node of `class`.
#[track_caller]
pub fn resolved(name: &str, class: &ClassShape) -> InstanceType {
    let kind = EC2.get(name).unwrap_or_else(|| panic!("no type {name}"));
    let alone = Ec2Catalogue { types: vec![kind.clone()], ..EC2.clone() };
    resolve(&alone, class).remove(0)
}

pub fn family(ami_family: AmiFamily) -> ClassShape {
    ClassShape { ami_family, ..ClassShape::default() }
}

pub fn max_pods(ami_family: AmiFamily, pods: u32) -> ClassShape {
    let kubelet = Kubelet { max_pods: Some(pods), ..Kubelet::default() };
    ClassShape { kubelet, ..family(ami_family) }
}

pub fn interface(card: u16, device: u16, efa_only: bool) -> NetworkInterface {
    NetworkInterface { card, device, efa_only }
}

pub fn reservation(id: &str, instance_type: &str, zone: &str) -> CapacityReservation {
    CapacityReservation {
        id: id.to_owned(),
        instance_type: instance_type.to_owned(),
        zone: zone.to_owned(),
        kind: "default".to_owned(),
        remaining: 3,
        interruptible: false,
        expiring: false,
    }
}

pub fn quantity(text: &str) -> Quantity {
    text.parse().unwrap()
}

pub fn mebibytes(quantity: Quantity) -> i64 {
    quantity.units() / (1 << 20)
}

/// The one value of a label, if the type has it.
pub fn label<'a>(kind: &'a InstanceType, key: &str) -> Option<&'a str> {
    kind.requirements.get(key).and_then(Requirement::single)
}
