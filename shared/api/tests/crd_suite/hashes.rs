//! What of a NodePool and an EC2NodeClass its nodes drift by.

use std::collections::BTreeSet;

use api::crd::{Ec2NodeClass, NodePool};
use api::hash;
use serde_json::{Value, json};

/// `base` with fields replaced, at dotted places; null takes one away.
fn with(base: &Value, changes: &[(&str, Value)]) -> Value {
    let mut object = base.clone();
    for (place, value) in changes {
        let mut at = &mut object;
        for step in place.split('.') {
            at = match step.parse::<usize>() {
                Ok(index) => &mut at[index],
                Err(_) => &mut at[step],
            };
        }
        *at = value.clone();
    }
    object
}

fn pool_base() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"},
        "spec": {"template": {"metadata": {}, "spec": {
            "nodeClassRef": {"group": "karpenter.test.sh", "kind": "TestNodeClass", "name": "default"},
            "requirements": [], "expireAfter": "720h",
        }}},
    })
}

fn pool(changes: &[(&str, Value)]) -> String {
    hash::pool(&serde_json::from_value::<NodePool>(with(&pool_base(), changes)).expect("a NodePool"))
}

fn class_base() -> Value {
    json!({
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
        "spec": {
            "amiFamily": "AL2023", "role": "role-1", "userData": "userdata-test-1", "context": "fake-context",
            "amiSelectorTerms": [{"alias": "al2023@latest"}], "subnetSelectorTerms": [{"id": "subnet-0a"}],
            "securityGroupSelectorTerms": [{"id": "sg-0a"}],
            "tags": {"keyTag-1": "valueTag-1", "keyTag-2": "valueTag-2"},
            "detailedMonitoring": false, "associatePublicIPAddress": false,
            "metadataOptions": {"httpEndpoint": "disabled", "httpProtocolIPv6": "disabled",
                "httpPutResponseHopLimit": 1, "httpTokens": "optional"},
            "blockDeviceMappings": [
                {"deviceName": "map-device-1", "ebs": {"deleteOnTermination": false, "encrypted": false, "iops": 0,
                    "kmsKeyID": "fakeKMSKeyID", "snapshotID": "fakeSnapshot", "throughput": 0, "volumeSize": "2G",
                    "volumeType": "standard"}},
                {"deviceName": "map-device-2"},
            ],
        },
    })
}

fn class_by(changes: &[(&str, Value)], authority: &str) -> String {
    hash::class(
        &serde_json::from_value::<Ec2NodeClass>(with(&class_base(), changes)).expect("a class"),
        authority,
    )
}

fn class(changes: &[(&str, Value)]) -> String {
    class_by(changes, "test-ca-bundle")
}

/// That none of them equals another.
#[track_caller]
fn differ(hashes: &[String]) {
    assert_eq!(hashes.iter().collect::<BTreeSet<_>>().len(), hashes.len(), "{hashes:?}");
}

/// That each is what it was when it was written down.
#[track_caller]
fn stay(told: &[(&str, String, &str)]) {
    let moved: Vec<_> = told.iter().filter(|(_, now, then)| now != then).collect();
    assert!(moved.is_empty(), "{moved:#?}");
    differ(&told.iter().map(|(_, now, _)| now.clone()).collect::<Vec<_>>());
}

const TEMPLATE: &str = "spec.template.spec";

fn taint(key: &str) -> Value {
    json!({"key": key, "effect": "NoSchedule"})
}

/// The changes of which Karpenter's tests have vectors, and what they come to here. Whoever changes one of these numbers
/// changes `model::labels::HASH_VERSION` too.
#[test]
fn drfc_10_hashes_stay_as_they_are() {
    let at = |field: &str| format!("{TEMPLATE}.{field}");
    let mut told = Vec::new();
    for (what, place, value, expected) in [
        ("as it is", "spec.weight".to_owned(), Value::Null, "3758572200056764715"),
        ("a label", "spec.template.metadata.labels".to_owned(), json!({"a": "b"}), "4831255393788912258"),
        (
            "an annotation",
            "spec.template.metadata.annotations".to_owned(),
            json!({"a": "b"}),
            "14420105240114254109",
        ),
        ("a taint", at("taints"), json!([taint("k")]), "13439459779727486031"),
        ("a startup taint", at("startupTaints"), json!([taint("k")]), "15101053860003108594"),
        ("never expires", at("expireAfter"), json!("Never"), "10024782468291051794"),
        ("expires soon", at("expireAfter"), json!("30m"), "7038469097080724390"),
        ("an end to drains", at("terminationGracePeriod"), json!("1h"), "1761166445789961407"),
    ] {
        told.push((what, pool(&[(&place, value)]), expected));
    }
    stay(&told);
}

#[test]
fn drfc_01_what_nodes_are_made_from_changes_the_hash() {
    let of = |place: &str, value: Value| pool(&[(place, value)]);
    let at = |field: &str, value: Value| pool(&[(&format!("{TEMPLATE}.{field}"), value)]);
    differ(&[
        pool(&[]),
        of("spec.template.metadata.labels", json!({"a": "b"})),
        of("spec.template.metadata.labels", json!({"a": ""})),
        of("spec.template.metadata.annotations", json!({"a": "b"})),
        at("taints", json!([taint("k")])),
        at("taints", json!([taint("k"), taint("l")])),
        at("startupTaints", json!([taint("k")])),
        at("nodeClassRef.name", json!("other")),
        at("expireAfter", json!("Never")),
        at("expireAfter", json!("0s")),
        at("expireAfter", json!("719h")),
        at("terminationGracePeriod", json!("1h")),
    ]);
}

#[test]
fn drfc_02_what_selects_and_what_disrupts_does_not_change_the_hash() {
    let requirement = json!([{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]);
    for (place, value) in [
        ("spec.template.spec.requirements", requirement),
        ("spec.disruption", json!({"consolidateAfter": "1h"})),
        ("spec.limits", json!({"cpu": "100"})),
        ("spec.weight", json!(7)),
        ("spec.replicas", json!(3)),
        ("metadata.labels", json!({"a": "b"})),
        ("status", json!({"nodes": 4})),
        // The same otherwise said.
        ("spec.template.metadata", Value::Null),
        ("spec.template.metadata.labels", json!({})),
        ("spec.template.spec.taints", json!([])),
        ("spec.template.spec.expireAfter", json!("43200m")),
    ] {
        assert_eq!(pool(&[(place, value)]), pool(&[]), "{place}");
    }
    let taints = |keys: [&str; 2]| pool(&[("spec.template.spec.taints", json!(keys.map(taint)))]);
    assert_eq!(taints(["a", "b"]), taints(["b", "a"]), "the order of taints");
}

#[test]
fn aws_a27_hashes_of_classes_stay_as_they_are() {
    let mut told = Vec::new();
    for (what, place, value, expected) in [
        ("as it is", "metadata.labels", Value::Null, "15684529356622905988"),
        ("a tag", "spec.tags.keyTag-test-3", json!("valueTag-test-3"), "2883296736650850448"),
        ("user data", "spec.userData", json!("userdata-test-2"), "16555485615044802203"),
        ("context", "spec.context", json!("context-2"), "17934339010646512315"),
        ("monitoring", "spec.detailedMonitoring", json!(true), "6291154485864350577"),
        ("store", "spec.instanceStorePolicy", json!("RAID0"), "1942733325318618120"),
        ("address", "spec.associatePublicIPAddress", json!(true), "3929893357355330895"),
        ("endpoint", "spec.metadataOptions.httpEndpoint", json!("enabled"), "17817080824666931595"),
        ("ipv6", "spec.metadataOptions.httpProtocolIPv6", json!("enabled"), "9951318709601279909"),
        ("hops", "spec.metadataOptions.httpPutResponseHopLimit", json!(10), "8668087507780072594"),
        ("tokens", "spec.metadataOptions.httpTokens", json!("required"), "15165752329552573801"),
        ("size", "spec.blockDeviceMappings.0.ebs.volumeSize", json!("10G"), "385914403274081823"),
        ("tcp", "spec.connectionTracking", json!({"tcpEstablishedTimeout": 300}), "6705258124619642218"),
        ("udp stream", "spec.connectionTracking", json!({"udpStreamTimeout": 120}), "13350951656298317340"),
        ("udp", "spec.connectionTracking", json!({"udpTimeout": 45}), "10752053316252499416"),
        ("nested", "spec.cpuOptions", json!({"nestedVirtualization": "enabled"}), "15859021621049255329"),
    ] {
        told.push((what, class(&[(place, value)]), expected));
    }
    let profile = [("spec.role", Value::Null), ("spec.instanceProfile", json!("test-instance-profile"))];
    told.push(("profile", class(&profile), "17537035069473106678"));
    stay(&told);
}

#[test]
fn aws_a28_selectors_and_order_change_nothing() {
    let devices = class_base()["spec"]["blockDeviceMappings"].clone();
    for (place, value) in [
        ("spec.subnetSelectorTerms", json!([{"id": "subnet-0b"}])),
        ("spec.securityGroupSelectorTerms", json!([{"tags": {"a": "b"}}])),
        ("spec.amiSelectorTerms", json!([{"id": "ami-0a"}])),
        ("spec.capacityReservationSelectorTerms", json!([{"id": "cr-0a"}])),
        ("spec.ipPrefixCount", json!(4)),
        ("spec.tags", json!({"keyTag-2": "valueTag-2", "keyTag-1": "valueTag-1"})),
        ("spec.blockDeviceMappings", json!([devices[1], devices[0]])),
        ("metadata.annotations", json!({"a": "b"})),
    ] {
        assert_eq!(class(&[(place, value)]), class(&[]), "{place}");
    }
}

#[test]
fn aws_a29_aws_a30_aws_a31_kubelet_family_and_authority_count() {
    let kubelet = |kubelet: Value| class(&[("spec.kubelet", kubelet)]);
    differ(&[
        class(&[]),
        kubelet(json!({"maxPods": 10})),
        kubelet(json!({"maxPods": 11})),
        kubelet(json!({"clusterDNS": ["10.0.0.1", "10.0.0.2"]})),
        kubelet(json!({"clusterDNS": ["10.0.0.2", "10.0.0.1"]})),
        kubelet(json!({"systemReserved": {"cpu": "100m"}})),
        kubelet(json!({"systemReserved": {"cpu": "0.1"}})),
        class(&[("spec.amiFamily", json!("Custom"))]),
        class(&[
            ("spec.amiFamily", Value::Null),
            ("spec.amiSelectorTerms.0.alias", json!("bottlerocket@latest")),
        ]),
        class_by(&[], "another"),
        class_by(&[], ""),
    ]);
    assert_eq!(class(&[("spec.amiFamily", Value::Null)]), class(&[]), "the alias tells the same family");
}
