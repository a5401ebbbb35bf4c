//! The kubelet's fields, which the API server stores as they come and the controller checks.

use api::crd::Kind::Ec2NodeClass;
use api::crd::{apply_defaults, validate};
use serde_json::{Value, json};

use crate::kit::{Table, check, with};

const AT: &str = "/spec/kubelet";

fn of(family: &str, kubelet: Value) -> Vec<(&'static str, Value)> {
    let terms = json!([{ "id": "ami-1a" }]);
    vec![("/spec/amiSelectorTerms", terms), ("/spec/amiFamily", json!(family)), (AT, kubelet)]
}

pub fn cases(t: &mut Table) {
    let good = |t: &mut Table, id, kubelet: Value| t.good(id, Ec2NodeClass, &[(AT, kubelet)]);
    good(t, "aws-36", json!({}));
    good(
        t,
        "aws-36",
        json!({ "maxPods": 110, "kubeReserved": { "cpu": "100m" }, "clusterDNS": ["10.0.0.10"] }),
    );
    good(
        t,
        "aws-36",
        json!({ "logging": { "format": "json" }, "syncFrequency": "1m30s", "featureGates": { "A": true } }),
    );
    good(t, "aws-38", json!({ "evictionHard": { "memory.available": "5%", "nodefs.inodesFree": "1Gi" } }));
    let soft = json!({ "memory.available": "10%" });
    let grace = json!({ "memory.available": "1m30s" });
    good(t, "aws-39", json!({ "evictionSoft": soft, "evictionSoftGracePeriod": grace }));
    good(t, "aws-40", json!({ "imageGCHighThresholdPercent": 85, "imageGCLowThresholdPercent": 80 }));
    good(t, "aws-40", json!({ "imageGCLowThresholdPercent": 80 }));
    good(
        t,
        "aws-41",
        json!({ "systemReserved": { "cpu": "1", "memory": "1Gi", "ephemeral-storage": "1Gi", "pid": "100" } }),
    );
    for (id, kubelet, paths) in [
        ("aws-36", json!({ "maxPod": 110 }), &["spec.kubelet.maxPod"][..]),
        ("aws-36", json!({ "maxPods": true }), &["spec.kubelet.maxPods"]),
        ("aws-36", json!({ "cpuCFSQuota": "yes" }), &["spec.kubelet.cpuCFSQuota"]),
        ("aws-36", json!({ "kubeReserved": { "cpu": 1 } }), &["spec.kubelet.kubeReserved"]),
        ("aws-36", json!({ "clusterDNS": "10.0.0.10" }), &["spec.kubelet.clusterDNS"]),
        ("aws-36", json!({ "syncFrequency": "soon" }), &["spec.kubelet.syncFrequency"]),
        ("aws-37", json!({ "registerWithTaints": [] }), &["spec.kubelet.registerWithTaints"]),
        (
            "aws-38",
            json!({ "evictionHard": { "foo.available": "5%" } }),
            &["spec.kubelet.evictionHard[foo.available]"],
        ),
        (
            "aws-38",
            json!({ "evictionHard": { "memory.available": "110%" } }),
            &["spec.kubelet.evictionHard[memory.available]"],
        ),
        (
            "aws-38",
            json!({ "evictionHard": { "memory.available": "-1Gi" } }),
            &["spec.kubelet.evictionHard[memory.available]"],
        ),
        (
            "aws-38",
            json!({ "evictionHard": { "memory.available": "-5%" } }),
            &["spec.kubelet.evictionHard[memory.available]"],
        ),
        (
            "aws-38",
            json!({ "evictionHard": { "memory.available": "some" } }),
            &["spec.kubelet.evictionHard[memory.available]"],
        ),
        ("aws-39", json!({ "evictionSoft": soft }), &["spec.kubelet.evictionSoft[memory.available]"]),
        (
            "aws-39",
            json!({ "evictionSoftGracePeriod": grace }),
            &["spec.kubelet.evictionSoftGracePeriod[memory.available]"],
        ),
        (
            "aws-39",
            json!({ "evictionSoft": soft, "evictionSoftGracePeriod": { "memory.available": "-1m" } }),
            &["spec.kubelet.evictionSoftGracePeriod[memory.available]"],
        ),
        (
            "aws-40",
            json!({ "imageGCHighThresholdPercent": 80, "imageGCLowThresholdPercent": 80 }),
            &["spec.kubelet.imageGCHighThresholdPercent"],
        ),
        (
            "aws-40",
            json!({ "imageGCHighThresholdPercent": 101 }),
            &["spec.kubelet.imageGCHighThresholdPercent"],
        ),
        ("aws-40", json!({ "imageGCLowThresholdPercent": -1 }), &["spec.kubelet.imageGCLowThresholdPercent"]),
        (
            "aws-41",
            json!({ "kubeReserved": { "hugepages-2Mi": "1Gi" } }),
            &["spec.kubelet.kubeReserved.hugepages-2Mi"],
        ),
        ("aws-41", json!({ "kubeReserved": { "cpu": "-5m" } }), &["spec.kubelet.kubeReserved.cpu"]),
        ("aws-41", json!({ "podsPerCore": -1 }), &["spec.kubelet.podsPerCore"]),
        ("aws-41", json!({ "maxPods": -1 }), &["spec.kubelet.maxPods"]),
        ("aws-42", json!({ "maxPods": -1, "nope": 1 }), &["spec.kubelet.maxPods", "spec.kubelet.nope"]),
        ("aws-46", json!({ "maxPods": "110" }), &["spec.kubelet.maxPods"]),
        ("aws-46", json!({ "maxPods": "vcpus * 8" }), &["spec.kubelet.maxPods"]),
        (
            "aws-46",
            json!({ "kubeReserved": { "memory": "max_pods * 11" } }),
            &["spec.kubelet.kubeReserved.memory"],
        ),
    ] {
        t.invalid(id, Ec2NodeClass, &[(AT, kubelet)], paths);
    }
    let topology = || json!({ "topologyManagerPolicy": "restricted" });
    for family in ["AL2023", "Custom"] {
        t.good("aws-43", Ec2NodeClass, &of(family, topology()));
        t.good("aws-45", Ec2NodeClass, &of(family, json!({ "clusterDNS": ["10.0.0.10", "10.0.0.11"] })));
    }
    for family in ["AL2", "Bottlerocket", "Windows2022"] {
        t.invalid("aws-43", Ec2NodeClass, &of(family, topology()), &["spec.kubelet.topologyManagerPolicy"]);
        let two = json!({ "clusterDNS": ["10.0.0.10", "10.0.0.11"] });
        t.invalid("aws-45", Ec2NodeClass, &of(family, two), &["spec.kubelet.clusterDNS"]);
        t.good("aws-45", Ec2NodeClass, &of(family, json!({ "clusterDNS": ["10.0.0.10"] })));
    }
    // The alias tells the family too.
    let alias = json!([{ "alias": "al2@latest" }]);
    let changes = [("/spec/amiSelectorTerms", alias), (AT, topology())];
    t.invalid("aws-43", Ec2NodeClass, &changes, &["spec.kubelet.topologyManagerPolicy"]);
    for family in ["AL2", "AL2023", "Windows2022"] {
        t.good("aws-44", Ec2NodeClass, &of(family, json!({ "podsPerCore": 4 })));
    }
    t.invalid(
        "aws-44",
        Ec2NodeClass,
        &of("Bottlerocket", json!({ "podsPerCore": 4 })),
        &["spec.kubelet.podsPerCore"],
    );
}

#[test]
fn aws_a36_unknown_fields_are_kept_and_told() {
    check("aws-36");
    let kubelet = json!({ "nope": { "deep": [1, { "a": null }] } });
    let mut class = with(Ec2NodeClass, &[(AT, kubelet.clone())]);
    apply_defaults(Ec2NodeClass, &mut class);
    assert_eq!(class["spec"]["kubelet"], kubelet);
}

#[test]
fn aws_a37_register_with_taints_is_reserved() {
    check("aws-37");
}

#[test]
fn aws_a38_eviction_thresholds() {
    check("aws-38");
}

#[test]
fn aws_a39_soft_evictions_have_grace() {
    check("aws-39");
}

#[test]
fn aws_a40_image_thresholds() {
    check("aws-40");
}

#[test]
fn aws_a41_reservations() {
    check("aws-41");
}

#[test]
fn aws_a42_all_violations_at_once() {
    check("aws-42");
    let kubelet = json!({ "evictionHard": { "foo": "5%", "memory.available": "x" }, "podsPerCore": -1 });
    assert_eq!(validate(Ec2NodeClass, &with(Ec2NodeClass, &[(AT, kubelet)])).len(), 3);
}

#[test]
fn aws_a43_fields_of_al2023_alone() {
    check("aws-43");
}

#[test]
fn aws_a44_pods_per_core_on_bottlerocket() {
    check("aws-44");
}

#[test]
fn aws_a45_two_dns_addresses() {
    check("aws-45");
}

#[test]
fn aws_a46_expressions_are_disabled() {
    check("aws-46");
}
