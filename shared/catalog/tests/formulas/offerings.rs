//! Offerings, and which types can serve which class.

use std::collections::BTreeSet;

use catalog::class::{AmiFamily, PlacementGroup};
use catalog::{ClassShape, Ec2Catalogue, Ec2Type, Incompatibility, UNPRICED, incompatibility, resolve};
use model::{CapacityType, InstanceType, MicroUsd, Offering, labels};

use crate::kit::{EC2, family, interface, reservation, resolved};

/// One type, changed, as a node of `class`.
fn changed(name: &str, class: &ClassShape, change: impl FnOnce(&mut Ec2Type)) -> InstanceType {
    let mut kind = EC2.get(name).unwrap().clone();
    change(&mut kind);
    resolve(&Ec2Catalogue { types: vec![kind], ..EC2.clone() }, class).remove(0)
}

fn available(kind: &InstanceType) -> Vec<&Offering> {
    kind.offerings.iter().filter(|offering| offering.available).collect()
}

#[test]
fn aws_c116_one_offering_a_zone_and_capacity_type() {
    for kind in resolve(&EC2, &ClassShape::default()) {
        let ways: BTreeSet<_> =
            kind.offerings.iter().map(|offering| (&offering.zone, offering.capacity_type)).collect();
        assert_eq!(ways.len(), kind.offerings.len(), "{}", kind.name);
        let fact = EC2.get(&kind.name).unwrap();
        let classes = fact.usage_classes.iter().filter(|class| *class != "capacity-block").count();
        assert_eq!(kind.offerings.len(), fact.zones.len() * classes, "{}", kind.name);
        assert!(kind.offerings.iter().all(|offering| offering.zone_id.is_some()), "{}", kind.name);
    }
}

#[test]
fn zones_are_those_of_the_type_and_of_the_class() {
    let zones = BTreeSet::from(["us-east-1b".to_owned(), "us-east-1c".to_owned(), "eu-west-1a".to_owned()]);
    let class = ClassShape { zones: Some(zones), ..ClassShape::default() };
    let kind = changed("m5.large", &class, |kind| {
        kind.zones.remove("us-east-1c");
    });
    let zones: BTreeSet<_> = kind.offerings.iter().map(|offering| offering.zone.as_str()).collect();
    assert_eq!(zones, BTreeSet::from(["us-east-1b"]));
    assert_eq!(kind.requirements.get(labels::ZONE).unwrap().single(), Some("us-east-1b"));
    assert_eq!(kind.requirements.get(labels::ZONE_ID).unwrap().single(), Some("use1-az1"));
}

#[test]
fn aws_c121_types_without_offerings_are_still_listed() {
    let nowhere = ClassShape { zones: Some(BTreeSet::new()), ..ClassShape::default() };
    let types = resolve(&EC2, &nowhere);
    assert_eq!(types.len(), resolve(&EC2, &ClassShape::default()).len());
    assert!(types.iter().all(|kind| kind.offerings.is_empty()));
}

#[test]
fn aws_c122_a_zone_without_a_spot_price_has_no_spot() {
    let kind = changed("m5.large", &ClassShape::default(), |kind| {
        kind.zones.insert("us-east-1a".to_owned(), None);
    });
    for offering in &kind.offerings {
        let without = offering.zone == "us-east-1a" && offering.capacity_type == CapacityType::Spot;
        assert_eq!(offering.available, !without, "{offering:?}");
        assert_eq!(offering.price == UNPRICED, without, "{offering:?}");
    }
}

#[test]
fn aws_c126_a_type_without_a_price_is_not_for_sale() {
    let kind = changed("m5.large", &ClassShape::default(), |kind| kind.on_demand = None);
    assert!(available(&kind).iter().all(|offering| offering.capacity_type == CapacityType::Spot));
}

#[test]
fn aws_c127_first_graviton_boots_bottlerocket_only() {
    for (ami_family, some) in
        [(AmiFamily::Al2023, false), (AmiFamily::Bottlerocket, true), (AmiFamily::Al2, true)]
    {
        assert_eq!(!available(&resolved("a1.large", &family(ami_family))).is_empty(), some, "{ami_family:?}");
    }
}

#[test]
fn aws_c128_c129_c130_c131_what_a_class_asks_of_a_type() {
    let class = ClassShape::default;
    let interfaces = |list: &[(u16, u16, bool)]| ClassShape {
        network_interfaces: Some(
            list.iter().map(|&(card, device, efa)| interface(card, device, efa)).collect(),
        ),
        ..class()
    };
    let group = |strategy: &str| ClassShape {
        placement_group: Some(PlacementGroup { id: "pg".into(), strategy: strategy.into(), partitions: 0 }),
        ..class()
    };
    use Incompatibility::{ConnectionTracking, NestedVirtualization, NetworkInterfaces};
    #[rustfmt::skip]
    let table = [
        ("m5.large", class(), None),
        ("m5.large", interfaces(&[]), None),
        ("m5.large", interfaces(&[(0, 0, false), (5, 0, false)]), Some(NetworkInterfaces)),
        ("m5.large", interfaces(&[(0, 3, false)]), Some(NetworkInterfaces)),
        ("m5.large", interfaces(&[(0, 0, false), (0, 1, true)]), Some(NetworkInterfaces)),
        ("p5.48xlarge", interfaces(&[(0, 0, false), (5, 1, true)]), None),
        ("t2.large", ClassShape { connection_tracking: true, ..class() }, Some(ConnectionTracking)),
        ("t3.large", ClassShape { connection_tracking: true, ..class() }, None),
        ("t3.large", ClassShape { nested_virtualization: true, ..class() }, Some(NestedVirtualization)),
        ("m5.large", group("cluster"), None),
        ("t3.large", group("cluster"), Some(Incompatibility::PlacementGroup)),
        ("t3.large", group("spread"), None),
    ];
    for (name, class, expected) in table {
        assert_eq!(incompatibility(EC2.get(name).unwrap(), &class), expected, "{name} {class:?}");
        assert_eq!(available(&resolved(name, &class)).is_empty(), expected.is_some(), "{name}");
    }
    let mut kind = EC2.get("t3.large").unwrap().clone();
    kind.nested_virtualization = true;
    assert_eq!(incompatibility(&kind, &ClassShape { nested_virtualization: true, ..class() }), None);
}

#[test]
fn aws_c135_c137_reserved_hours_are_cheapest_while_there_are_any() {
    let held = |id: &str| reservation(id, "m5.large", "us-east-1a");
    let mut spent = held("cr-2");
    spent.remaining = 0;
    let mut ending = held("cr-3");
    ending.expiring = true;
    let elsewhere = reservation("cr-4", "m5.large", "eu-west-1a");
    let class = ClassShape {
        capacity_reservations: vec![held("cr-1"), spent, ending, elsewhere],
        ..ClassShape::default()
    };
    let kind = resolved("m5.large", &class);
    let reserved: Vec<_> =
        kind.offerings.iter().filter(|offering| offering.capacity_type == CapacityType::Reserved).collect();
    assert_eq!(reserved.len(), 3);
    assert!(reserved.iter().all(|offering| offering.price == MicroUsd(10)));
    let available = available(&kind);
    let cheapest = available.iter().min_by_key(|offering| offering.price).unwrap();
    assert_eq!(cheapest.reservation.as_ref().map(|reservation| reservation.id.as_str()), Some("cr-1"));
    let kept = available.iter().filter(|offering| offering.reservation.is_some()).count();
    assert_eq!(kept, 1);
}
