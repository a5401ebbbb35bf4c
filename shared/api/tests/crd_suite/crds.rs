//! The printed CustomResourceDefinitions: names, columns, and schemas of the form that the API server takes.

use std::collections::BTreeSet;

use api::crd::{Kind, crd, crds};
use serde_json::{Value, json};

/// What a structural schema may say.
const WORDS: [&str; 23] = [
    "additionalProperties",
    "anyOf",
    "default",
    "description",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-validations",
];

fn schema(kind: Kind) -> Value {
    crd(kind).pointer("/spec/versions/0/schema/openAPIV3Schema").expect("a schema").clone()
}

#[test]
fn names_scope_and_subresources() {
    let all = crds();
    let names: Vec<&str> = all.iter().filter_map(|crd| crd["metadata"]["name"].as_str()).collect();
    assert_eq!(
        names,
        ["ec2nodeclasses.karpenter.k8s.aws", "nodeclaims.karpenter.sh", "nodepools.karpenter.sh"]
    );
    for crd in &all {
        assert_eq!(crd["spec"]["scope"], "Cluster");
        assert_eq!(crd["spec"]["names"]["categories"], json!(["karpenter"]));
        assert_eq!(crd["spec"]["versions"].as_array().map(Vec::len), Some(1));
        assert!(crd["spec"]["versions"][0]["subresources"]["status"].is_object());
    }
    assert_eq!(all[0]["spec"]["names"]["shortNames"], json!(["ec2nc", "ec2ncs"]));
    let scale = &all[2]["spec"]["versions"][0]["subresources"]["scale"];
    assert_eq!(
        scale,
        &json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.nodes" })
    );
}

#[test]
fn printer_columns() {
    for (kind, names) in [
        (Kind::NodePool, &["NodeClass", "Nodes", "Ready", "Age", "Weight", "CPU", "Memory"][..]),
        (
            Kind::NodeClaim,
            &[
                "Type",
                "Capacity",
                "Zone",
                "Node",
                "Ready",
                "Age",
                "ImageID",
                "ID",
                "NodePool",
                "NodeClass",
                "Drifted",
            ],
        ),
        (Kind::Ec2NodeClass, &["Ready", "Age", "Role"]),
    ] {
        let crd = crd(kind);
        let columns = crd["spec"]["versions"][0]["additionalPrinterColumns"].as_array().expect("columns");
        assert_eq!(columns.iter().filter_map(|c| c["name"].as_str()).collect::<Vec<_>>(), names);
    }
}

#[test]
fn schemas_are_structural() {
    for kind in Kind::ALL {
        let schema = schema(kind);
        for part in ["spec", "status"] {
            structural(&schema["properties"][part], &format!("{kind}.{part}"));
        }
    }
}

fn structural(node: &Value, at: &str) {
    let map = node.as_object().unwrap_or_else(|| panic!("{at} is {node}"));
    if map.get("x-kubernetes-preserve-unknown-fields").is_some() {
        assert_eq!(at, "EC2NodeClass.spec.kubelet", "only the kubelet is open");
        return;
    }
    for word in map.keys() {
        assert!(WORDS.contains(&word.as_str()), "{at} says {word}");
    }
    let open = map.get("x-kubernetes-int-or-string").is_some();
    assert!(open || map.get("type").is_some_and(Value::is_string), "{at} has no type");
    assert!(open || map.get("anyOf").is_none(), "{at} has alternatives");
    for name in map.get("required").and_then(Value::as_array).into_iter().flatten() {
        assert!(map["properties"].get(name.as_str().unwrap_or_default()).is_some(), "{at} requires {name}");
    }
    for (name, inner) in map.get("properties").and_then(Value::as_object).into_iter().flatten() {
        assert!(inner["description"].is_string(), "{at}.{name} is not described");
        structural(inner, &format!("{at}.{name}"));
    }
    match map.get("type").and_then(Value::as_str) {
        Some("array") => structural(&node["items"], &format!("{at}[]")),
        Some("object") if map.get("properties").is_none() => {
            structural(&node["additionalProperties"], &format!("{at}{{}}"));
        }
        _ => {}
    }
    for rule in map.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        assert!(rule["rule"].is_string() && rule["message"].is_string(), "{at}: {rule}");
    }
}

#[test]
fn fields_of_the_api() {
    for (kind, pointer, fields) in [
        (Kind::NodePool, "/spec", "disruption limits replicas template weight"),
        (Kind::NodePool, "/spec/template", "metadata spec"),
        (
            Kind::NodePool,
            "/spec/template/spec",
            "expireAfter nodeClassRef requirements startupTaints taints terminationGracePeriod",
        ),
        (Kind::NodePool, "/spec/disruption", "budgets consolidateAfter consolidationPolicy"),
        (Kind::NodePool, "/status", "conditions nodeClassObservedGeneration nodes resources"),
        (
            Kind::NodeClaim,
            "/spec",
            "expireAfter nodeClassRef requirements resources startupTaints taints terminationGracePeriod",
        ),
        (
            Kind::NodeClaim,
            "/status",
            "allocatable capacity conditions imageID lastPodEventTime nodeName providerID",
        ),
        (
            Kind::Ec2NodeClass,
            "/spec",
            "amiFamily amiSelectorTerms associatePublicIPAddress blockDeviceMappings \
             capacityReservationSelectorTerms connectionTracking context cpuOptions detailedMonitoring \
             instanceProfile instanceStorePolicy ipPrefixCount kubelet metadataOptions networkInterfaces \
             placementGroupSelector role securityGroupSelectorTerms subnetSelectorTerms tags userData",
        ),
        (
            Kind::Ec2NodeClass,
            "/status",
            "amis capacityReservations conditions instanceProfile securityGroups subnets",
        ),
    ] {
        let schema = schema(kind);
        let place = schema.pointer(&pointer.replace('/', "/properties/")).expect("a place");
        let names: BTreeSet<&str> =
            place["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, fields.split_whitespace().collect(), "{kind}{pointer}");
    }
}

#[test]
fn required_fields_defaults_and_bounds() {
    let pool = schema(Kind::NodePool);
    for (pointer, value) in [
        ("/properties/spec/required", json!(["template"])),
        (
            "/properties/spec/properties/template/properties/spec/required",
            json!(["nodeClassRef", "requirements"]),
        ),
        (
            "/properties/spec/properties/template/properties/spec/properties/expireAfter/default",
            json!("720h"),
        ),
        ("/properties/spec/properties/template/properties/spec/properties/requirements/maxItems", json!(100)),
        ("/properties/spec/properties/weight/maximum", json!(100)),
        ("/properties/spec/properties/weight/format", json!("int32")),
        ("/properties/spec/properties/disruption/properties/budgets/maxItems", json!(50)),
        ("/properties/status/properties/nodes/default", json!(0)),
    ] {
        assert_eq!(pool.pointer(pointer), Some(&value), "{pointer}");
    }
}

#[test]
fn printing_twice_gives_the_same() {
    assert_eq!(serde_json::to_string(&crds()).expect("json"), serde_json::to_string(&crds()).expect("json"));
}
