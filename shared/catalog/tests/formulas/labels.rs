//! Labels.

use catalog::class::{AmiFamily, PlacementGroup};
use catalog::{ClassShape, resolve};
use model::{Operator, Requirement, Requirements, Undefined, labels};

use crate::kit::{EC2, family, label, reservation, resolved};

#[test]
fn aws_c93_every_label_can_be_asked_for_alone_and_together() {
    let types = resolve(&EC2, &ClassShape::default());
    let g4dn = types.iter().find(|kind| kind.name == "g4dn.8xlarge").unwrap();
    let mut all = Requirements::new();
    for (key, requirement) in g4dn.requirements.iter() {
        let Some(value) = requirement.values().and_then(|values| values.first()) else { continue };
        let wants: Requirements =
            [(key.to_owned(), Requirement::is_in([value.as_str()]))].into_iter().collect();
        assert!(g4dn.requirements.compatible(&wants, Undefined::Refused).is_ok(), "{key} {value}");
        all.add_all(&wants);
        let other = [(key.to_owned(), Requirement::is_in(["none-of-them"]))].into_iter().collect();
        assert!(g4dn.requirements.compatible(&other, Undefined::Refused).is_err(), "{key}");
    }
    assert!(g4dn.requirements.compatible(&all, Undefined::Refused).is_ok());
    let known = |key: &&&str| !key.contains("placement-group");
    for key in labels::INSTANCE.iter().filter(known) {
        assert!(g4dn.requirements.get(key).is_some(), "{key} is missing");
    }
}

#[test]
fn aws_c94_labels_of_g4dn_8xlarge() {
    let kind = resolved("g4dn.8xlarge", &ClassShape::default());
    for (name, value) in [
        ("instance-cpu", "32"),
        ("instance-cpu-manufacturer", "intel"),
        ("instance-memory", "131072"),
        ("instance-ebs-bandwidth", "9500"),
        ("instance-network-bandwidth", "50000"),
        ("instance-gpu-name", "t4"),
        ("instance-gpu-manufacturer", "nvidia"),
        ("instance-gpu-count", "1"),
        ("instance-gpu-memory", "16384"),
        ("instance-local-nvme", "900"),
        ("instance-cpu-sustained-clock-speed-mhz", "2500"),
        ("instance-category", "g"),
        ("instance-generation", "4"),
        ("instance-family", "g4dn"),
        ("instance-size", "8xlarge"),
        ("instance-hypervisor", "nitro"),
        ("instance-encryption-in-transit-supported", "true"),
        ("nitro-sandbox", "true"),
    ] {
        assert_eq!(label(&kind, &format!("karpenter.k8s.aws/{name}")), Some(value), "{name}");
    }
    for (key, value) in [
        (labels::INSTANCE_TYPE, "g4dn.8xlarge"),
        (labels::ARCH, "amd64"),
        (labels::OS, "linux"),
        (labels::REGION, "us-east-1"),
    ] {
        assert_eq!(label(&kind, key), Some(value), "{key}");
    }
}

#[test]
fn aws_c95_accelerators_have_names() {
    for (name, accelerator) in [
        ("inf1.xlarge", Some("inferentia")),
        ("inf2.xlarge", Some("inferentia2")),
        ("trn1.32xlarge", Some("trainium")),
        ("m5.large", None),
        ("g4dn.xlarge", None),
    ] {
        let kind = resolved(name, &ClassShape::default());
        assert_eq!(label(&kind, "karpenter.k8s.aws/instance-accelerator-name"), accelerator, "{name}");
        let maker = label(&kind, "karpenter.k8s.aws/instance-accelerator-manufacturer");
        assert_eq!(maker, accelerator.map(|_| "aws"), "{name}");
    }
}

#[test]
fn aws_c96_flex_types_say_so() {
    for (name, flex) in [("m7i-flex.large", "true"), ("m7i.large", "false")] {
        let kind = resolved(name, &ClassShape::default());
        assert_eq!(label(&kind, "karpenter.k8s.aws/instance-capability-flex"), Some(flex), "{name}");
    }
}

#[test]
fn absent_labels_are_asked_not_to_exist() {
    let kind = resolved("m5.large", &ClassShape::default());
    for key in [
        "karpenter.k8s.aws/instance-gpu-name",
        "karpenter.k8s.aws/instance-local-nvme",
        labels::WINDOWS_BUILD,
        labels::RESERVATION_ID,
    ] {
        assert_eq!(
            kind.requirements.get(key).map(Requirement::operator),
            Some(Operator::DoesNotExist),
            "{key}"
        );
    }
    let metal = resolved("m5.metal", &ClassShape::default());
    assert_eq!(label(&metal, "karpenter.k8s.aws/instance-hypervisor"), Some(""));
}

#[test]
fn windows_runs_on_amd64_only() {
    for (ami_family, build) in [
        (AmiFamily::Windows2019, "10.0.17763"),
        (AmiFamily::Windows2022, "10.0.20348"),
        (AmiFamily::Windows2025, "10.0.26100"),
    ] {
        let intel = resolved("m5.large", &family(ami_family));
        assert_eq!(label(&intel, labels::OS), Some("windows"));
        assert_eq!(label(&intel, labels::WINDOWS_BUILD), Some(build));
        let graviton = resolved("m6g.large", &family(ami_family));
        assert_eq!(graviton.requirements.get(labels::OS), Some(&Requirement::does_not_exist()));
    }
}

#[test]
fn aws_c132_a_partition_group_labels_its_partitions() {
    let group =
        |strategy: &str| PlacementGroup { id: "pg-1".into(), strategy: strategy.into(), partitions: 3 };
    for (strategy, partitions) in [("partition", Some(vec!["1", "2", "3"])), ("spread", None)] {
        let class = ClassShape { placement_group: Some(group(strategy)), ..ClassShape::default() };
        let kind = resolved("m5.large", &class);
        assert_eq!(label(&kind, "karpenter.k8s.aws/placement-group-id"), Some("pg-1"));
        let found = kind.requirements.get("karpenter.k8s.aws/placement-group-partition").cloned();
        assert_eq!(found, partitions.map(Requirement::is_in), "{strategy}");
    }
}

#[test]
fn reservations_are_labels_of_their_type_only() {
    let class = ClassShape {
        capacity_reservations: vec![reservation("cr-1", "m5.large", "us-east-1a")],
        ..ClassShape::default()
    };
    let held = resolved("m5.large", &class);
    assert_eq!(label(&held, labels::RESERVATION_ID), Some("cr-1"));
    assert_eq!(label(&held, labels::RESERVATION_TYPE), Some("default"));
    assert_eq!(label(&held, labels::RESERVATION_INTERRUPTIBLE), Some("false"));
    assert!(held.requirements.get(labels::CAPACITY_TYPE).unwrap().has("reserved"));
    let other = resolved("m5.xlarge", &class);
    assert!(!other.requirements.get(labels::CAPACITY_TYPE).unwrap().has("reserved"));
}
