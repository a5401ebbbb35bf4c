//! Overhead.

use std::collections::BTreeMap;

use catalog::ClassShape;
use catalog::class::{AmiFamily, Kubelet};
use catalog::overhead::{eviction_threshold, kube_reserved, overhead};

use crate::kit::{EC2, family, max_pods, mebibytes, quantity, resolved};

fn texts(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn with(change: impl FnOnce(&mut Kubelet)) -> ClassShape {
    let mut class = ClassShape::default();
    change(&mut class.kubelet);
    class
}

#[test]
fn kubelet_memory_is_eleven_mebibytes_a_pod_and_255() {
    #[rustfmt::skip]
    let table = [
        ("t3.large", family(AmiFamily::Al2023), 640),
        ("t3.large", family(AmiFamily::Al2), 640),
        ("t3.large", family(AmiFamily::Custom), 640),
        ("t3.large", max_pods(AmiFamily::Al2023, 10), 640),
        ("t3.large", ClassShape { reserved_enis: 1, ..family(AmiFamily::Al2023) }, 640),
        ("t3.large", max_pods(AmiFamily::Bottlerocket, 10), 365),
        ("t3.large", ClassShape { reserved_enis: 1, ..family(AmiFamily::Bottlerocket) }, 519),
        ("t3.large", family(AmiFamily::Windows2022), 1465),
        ("m5.xlarge", family(AmiFamily::Al2023), 893),
    ];
    for (name, class, expected) in table {
        let reserved = kube_reserved(EC2.get(name).unwrap(), &class);
        assert_eq!(mebibytes(reserved.get("memory")), expected, "{name} {class:?}");
    }
}

/// The kubelet's own reserve grows with `maxPods`, so a node has less room than the addresses suggest.
#[test]
fn case_i02_max_pods_above_the_addresses_reserves_for_those_pods() {
    let class = max_pods(AmiFamily::Al2023, 110);
    let kind = resolved("c5n.xlarge", &class);
    assert_eq!(kind.capacity.get("pods").units(), 110);
    assert_eq!(mebibytes(kind.allocatable().get("memory")), 10_752 - 807 - (255 + 11 * 110) - 100);
    assert!(kind.allocatable().get("memory") < quantity("8600Mi"));
}

#[test]
fn kubelet_processor_time_comes_in_tiers() {
    for (name, millicores) in
        [("t2.small", 60), ("m5.large", 70), ("m5.xlarge", 80), ("m5.2xlarge", 90), ("m5.24xlarge", 310)]
    {
        let reserved = kube_reserved(EC2.get(name).unwrap(), &ClassShape::default());
        assert_eq!(reserved.get("cpu").milli(), millicores, "{name}");
    }
}

#[test]
fn aws_c101_reserves_are_replaced_key_by_key() {
    let class = with(|kubelet| {
        kubelet.kube_reserved = texts(&[("cpu", "2"), ("pid", "100")]);
        kubelet.system_reserved = texts(&[("memory", "20Gi"), ("cpu", "1500m")]);
    });
    let kind = EC2.get("m5.24xlarge").unwrap();
    let kube = kube_reserved(kind, &class);
    let default = kube_reserved(kind, &ClassShape::default());
    assert_eq!((kube.get("cpu"), kube.get("pid")), (quantity("2"), quantity("100")));
    assert_eq!(kube.get("memory"), default.get("memory"));
    assert_eq!(kube.get("ephemeral-storage"), quantity("1Gi"));
    let all = overhead(kind, &class);
    assert_eq!(all.get("cpu"), quantity("3500m"));
    let memory = default.get("memory").plus(quantity("20Gi")).plus(quantity("100Mi"));
    assert_eq!(all.get("memory"), memory);
}

#[test]
fn aws_c102_hard_eviction_of_memory() {
    let soft = texts(&[("memory.available", "50%")]);
    #[rustfmt::skip]
    let table = [
        (None, quantity("100Mi")),
        (Some("500Mi"), quantity("500Mi")),
        (Some("10%"), model::Quantity::from_units((7577 * (1 << 20) + 9) / 10)),
        (Some("2.5%"), model::Quantity::from_units((7577 * (1 << 20) + 39) / 40)),
        (Some("100%"), quantity("0")),
        (Some("0%"), quantity("0")),
        (Some("much"), quantity("100Mi")),
    ];
    for (hard, expected) in table {
        for eviction_soft in [BTreeMap::new(), soft.clone()] {
            let class = with(|kubelet| {
                kubelet.eviction_hard = texts(hard.map(|hard| ("memory.available", hard)).as_slice());
                kubelet.eviction_soft = eviction_soft;
            });
            let threshold = eviction_threshold(EC2.get("m5.large").unwrap(), &class);
            assert_eq!(threshold.get("memory"), expected, "{hard:?}");
        }
    }
}

#[test]
fn aws_c103_hard_eviction_of_storage() {
    for (hard, expected) in [(None, "2Gi"), (Some("5Gi"), "5Gi"), (Some("25%"), "5Gi"), (Some("100%"), "0")] {
        let class = with(|kubelet| {
            kubelet.eviction_hard = texts(hard.map(|hard| ("nodefs.available", hard)).as_slice());
        });
        let threshold = eviction_threshold(EC2.get("m5.large").unwrap(), &class);
        assert_eq!(threshold.get("ephemeral-storage"), quantity(expected), "{hard:?}");
    }
}
