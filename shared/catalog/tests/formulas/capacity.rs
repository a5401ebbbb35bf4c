//! Capacity.

use catalog::class::{AmiFamily, BlockDevice, InstanceStorePolicy, Kubelet};
use catalog::{ClassShape, resolve};
use model::Quantity;

use crate::kit::{EC2, family, interface, max_pods, mebibytes, quantity, resolved};

fn pods(name: &str, class: &ClassShape) -> i64 {
    resolved(name, class).capacity.get("pods").units()
}

#[test]
fn aws_c97_pods_follow_the_addresses_of_the_interfaces() {
    for (name, reserved_enis, expected) in [
        ("t3.large", 0, 35),
        ("t3.large", 1, 24),
        ("t3.large", 3, 0),
        ("t3.large", u16::MAX, 0),
        ("m5.large", 0, 29),
        ("m5.xlarge", 0, 58),
        ("c5n.xlarge", 0, 58),
        ("m6idn.32xlarge", 0, 394),
    ] {
        let class = ClassShape { reserved_enis, ..ClassShape::default() };
        assert_eq!(pods(name, &class), expected, "{name} without {reserved_enis}");
    }
}

#[test]
fn aws_c98_max_pods_and_pods_per_core() {
    let class = |ami_family, max_pods, pods_per_core| ClassShape {
        kubelet: Kubelet { max_pods, pods_per_core, ..Kubelet::default() },
        ..family(ami_family)
    };
    #[rustfmt::skip]
    let table = [
        (class(AmiFamily::Al2023, Some(10), None), 10),
        (class(AmiFamily::Al2023, None, Some(4)), 8),
        (class(AmiFamily::Al2023, None, Some(0)), 29),
        (class(AmiFamily::Al2023, None, Some(100)), 29),
        (class(AmiFamily::Al2023, Some(20), Some(4)), 8),
        (class(AmiFamily::Custom, None, Some(4)), 8),
        (class(AmiFamily::Bottlerocket, None, Some(4)), 29),
        (class(AmiFamily::Windows2022, None, Some(4)), 8),
    ];
    for (class, expected) in table {
        assert_eq!(pods("m5.large", &class), expected, "{class:?}");
    }
}

#[test]
fn aws_c99_windows_takes_110_pods() {
    assert_eq!(pods("m5.large", &family(AmiFamily::Windows2022)), 110);
    assert_eq!(pods("m5.large", &max_pods(AmiFamily::Windows2022, 20)), 20);
}

#[test]
fn aws_c100_efa_only_interfaces_take_pods_from_the_first_card() {
    for (card, expected) in [(0, 345), (1, 394)] {
        let interfaces = vec![interface(0, 0, false), interface(card, 1, true)];
        let class = ClassShape { network_interfaces: Some(interfaces), ..ClassShape::default() };
        assert_eq!(pods("m6idn.32xlarge", &class), expected, "card {card}");
    }
}

#[test]
fn aws_c104_where_files_lie() {
    let device = |name: &str, root_volume, size: &str| BlockDevice {
        device_name: Some(name.to_owned()),
        root_volume,
        size: size.parse().ok(),
    };
    let with = |ami_family, devices: &[BlockDevice]| ClassShape {
        block_devices: devices.to_vec(),
        ..family(ami_family)
    };
    let raid0 = ClassShape {
        instance_store_policy: Some(InstanceStorePolicy::Raid0),
        ..with(AmiFamily::Al2023, &[device("/dev/xvda", true, "50Gi")])
    };
    let (xvda, xvdb) = (device("/dev/xvda", false, "30Gi"), device("/dev/xvdb", false, "40Gi"));
    #[rustfmt::skip]
    let table = [
        ("m5.large", family(AmiFamily::Al2), "20Gi"),
        ("m5.large", family(AmiFamily::Al2023), "20Gi"),
        ("m5.large", family(AmiFamily::Bottlerocket), "20Gi"),
        ("m5.large", family(AmiFamily::Custom), "20Gi"),
        ("m5.large", family(AmiFamily::Windows2022), "50Gi"),
        ("m5.large", with(AmiFamily::Al2023, &[xvda.clone(), xvdb.clone()]), "30Gi"),
        ("m5.large", with(AmiFamily::Bottlerocket, &[xvda.clone(), xvdb.clone()]), "40Gi"),
        ("m5.large", with(AmiFamily::Custom, &[xvdb.clone(), xvda.clone()]), "30Gi"),
        ("m5.large", with(AmiFamily::Custom, &[device("/dev/xvda", false, "")]), "20Gi"),
        ("m5.large", with(AmiFamily::Al2023, &[xvda, device("/dev/x", true, "70Gi")]), "70Gi"),
        ("m5.large", raid0.clone(), "50Gi"),
        ("g4dn.8xlarge", raid0, "900G"),
    ];
    for (name, class, expected) in table {
        let storage = resolved(name, &class).capacity.get("ephemeral-storage");
        assert_eq!(storage, quantity(expected), "{name} {class:?}");
    }
}

#[test]
fn aws_c105_memory_is_never_more_than_reported() {
    for overhead in [0, 75_000, 200_000] {
        let class = ClassShape { vm_memory_overhead_ppm: overhead, ..ClassShape::default() };
        for kind in resolve(&EC2, &class) {
            let reported = EC2.get(&kind.name).unwrap().memory_mib;
            let memory = kind.capacity.get("memory");
            assert!(memory > Quantity::ZERO, "{}", kind.name);
            assert!(mebibytes(memory) <= i64::try_from(reported).unwrap(), "{}", kind.name);
        }
    }
    for (name, expected) in
        [("m5.large", 8192 - 615), ("m6g.large", 8128 - 610), ("c5n.xlarge", 10_752 - 807)]
    {
        let memory = resolved(name, &ClassShape::default()).capacity.get("memory");
        assert_eq!(mebibytes(memory), expected, "{name}");
    }
}

#[test]
fn aws_c106_memory_that_a_node_has_shown_replaces_the_estimate() {
    let mut class = ClassShape::default();
    let estimate = resolved("t3.medium", &class).capacity.get("memory");
    assert_eq!(mebibytes(estimate), 4096 - 308);
    class.discovered_memory.insert("t3.medium".to_owned(), quantity("3840Mi"));
    assert_eq!(resolved("t3.medium", &class).capacity.get("memory"), quantity("3840Mi"));
    assert_eq!(mebibytes(resolved("t3.large", &class).capacity.get("memory")), 8192 - 615);
}

#[test]
fn aws_c108_devices_are_resources() {
    #[rustfmt::skip]
    let table = [
        ("g4dn.8xlarge", "nvidia.com/gpu", 1),
        ("p5.48xlarge", "nvidia.com/gpu", 8),
        ("p5.48xlarge", "vpc.amazonaws.com/efa", 32),
        ("g4dn.8xlarge", "amd.com/gpu", 0),
        ("inf1.xlarge", "aws.amazon.com/neuron", 1),
        ("inf2.24xlarge", "aws.amazon.com/neuron", 6),
        ("inf2.24xlarge", "aws.amazon.com/neuroncore", 12),
        ("trn1.32xlarge", "aws.amazon.com/neuroncore", 32),
        ("m5.large", "nvidia.com/gpu", 0),
        ("m5.large", "vpc.amazonaws.com/pod-eni", 9),
        ("t3.large", "vpc.amazonaws.com/pod-eni", 0),
    ];
    for (name, resource, expected) in table {
        let capacity = resolved(name, &ClassShape::default()).capacity;
        assert_eq!(capacity.get(resource).units(), expected, "{name} {resource}");
    }
}

#[test]
fn aws_c108_listed_interfaces_decide_about_efa() {
    let interfaces = vec![interface(0, 0, false), interface(1, 1, true), interface(2, 1, true)];
    for (network_interfaces, expected) in [(None, 32), (Some(vec![]), 0), (Some(interfaces), 2)] {
        let class = ClassShape { network_interfaces, ..ClassShape::default() };
        assert_eq!(resolved("p5.48xlarge", &class).capacity.get("vpc.amazonaws.com/efa").units(), expected);
    }
}

#[test]
fn aws_c109_addresses_for_windows_pods() {
    const RESOURCE: &str = "vpc.amazonaws.com/PrivateIPv4Address";
    let windows = family(AmiFamily::Windows2022);
    assert_eq!(resolved("m5.large", &windows).capacity.get(RESOURCE).units(), 9);
    assert!(!resolved("m5.large", &ClassShape::default()).capacity.0.contains_key(RESOURCE));
    let mut unlisted = EC2.get("m5.large").unwrap().clone();
    unlisted.windows_ipv4 = None;
    assert_eq!(catalog::capacity::capacity(&unlisted, &windows).get(RESOURCE), Quantity::ZERO);
}
