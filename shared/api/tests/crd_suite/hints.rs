//! Unknown fields, wrong types and what the user is told to do; the order of faults.

use api::crd::Kind::{Ec2NodeClass, NodeClaim, NodePool};
use api::crd::{Fault, Kind, validate};
use serde_json::{Value, json};

use crate::kit::with;

#[track_caller]
fn only(kind: Kind, pointer: &str, value: Value) -> Fault {
    let mut faults = validate(kind, &with(kind, &[(pointer, value)]));
    assert_eq!(faults.len(), 1, "{faults:#?}");
    faults.remove(0)
}

#[test]
fn unknown_fields_are_named_with_what_was_meant() {
    for (kind, pointer, help) in [
        (NodePool, "/spec/template/spec/requirments", Some("did you mean requirements?")),
        (NodePool, "/spec/template/spec/expireafter", Some("did you mean expireAfter?")),
        (NodePool, "/spec/disruption/consolidate", Some("did you mean consolidateAfter?")),
        (NodePool, "/spec/limit", Some("did you mean limits?")),
        (NodePool, "/spec/disruption/expireAfter", Some("it stands in spec.template.spec since v1")),
        (
            NodePool,
            "/spec/template/spec/nodeClassRef/apiVersion",
            Some("it is group, without the version, since v1"),
        ),
        (NodePool, "/spec/qqqqqqqq", None),
        (NodePool, "/spce", Some("did you mean spec?")),
        (NodeClaim, "/spec/resource", Some("did you mean resources?")),
        (Ec2NodeClass, "/spec/subnetSelector", Some("it is subnetSelectorTerms, a list, since v1")),
        (Ec2NodeClass, "/spec/userdata", Some("did you mean userData?")),
    ] {
        let fault = only(kind, pointer, json!({}));
        assert_eq!((fault.pointer.as_str(), fault.help.as_deref()), (pointer, help));
        assert_eq!(fault.message, "is not a field of this kind");
    }
    // Statuses are ours to write, and those of a newer version are no fault.
    assert_eq!(validate(NodePool, &with(NodePool, &[("/status", json!({ "newer": 1 }))])), []);
    assert_eq!(validate(NodePool, &with(NodePool, &[("/metadata/newer", json!(1))])), []);
}

#[test]
fn wrong_types_and_values_come_with_help() {
    for (kind, pointer, value, message, help) in [
        (
            NodePool,
            "/spec/weight",
            json!("10"),
            "must be a whole number, is a string",
            "write it without quotes: 10",
        ),
        (
            NodePool,
            "/spec/disruption",
            json!({ "consolidationPolicy": "WhenUnderutilized" }),
            "must be one of WhenEmpty, WhenEmptyOrUnderutilized and Balanced, is \"WhenUnderutilized\"",
            "it is WhenEmptyOrUnderutilized since v1",
        ),
        (
            NodePool,
            "/spec/template/metadata",
            json!({ "labels": { "gpu": true } }),
            "must be a string, is a boolean",
            "write it in quotes: \"true\"",
        ),
        (
            NodePool,
            "/spec/template/spec/expireAfter",
            json!("30d"),
            "must be a duration in h, m and s, such as 1h30m, or Never, is \"30d\"",
            "write days as hours: 720h",
        ),
        (
            NodePool,
            "/spec/limits",
            json!({ "memory": "100GB" }),
            "must be a quantity, such as 500m, 4 or 16Gi, is \"100GB\"",
            "the unit is G or Gi",
        ),
        (
            Ec2NodeClass,
            "/spec/subnetSelectorTerms",
            json!({ "tags": {} }),
            "must be a list, is an object",
            "put - before each item",
        ),
        (
            Ec2NodeClass,
            "/spec/kubelet",
            json!({ "kubeReserved": { "cpu": 1 } }),
            "must be a map of strings, is an object",
            "write it in quotes: cpu: \"1\"",
        ),
        (
            NodePool,
            "/spec/template/spec/requirements/0/key",
            json!("karpenter.k8s.aws/instance-cpus"),
            "the domain karpenter.k8s.aws is restricted to the labels that EC2 instance types have",
            "did you mean karpenter.k8s.aws/instance-cpu?",
        ),
        (
            NodePool,
            "/spec/template/spec/nodeClassRef/group",
            json!("karpenter.k8s.aws/v1"),
            "must be an API group without a version, such as karpenter.k8s.aws, is \"karpenter.k8s.aws/v1\"",
            "leave out the version: karpenter.k8s.aws",
        ),
    ] {
        let fault = only(kind, pointer, value);
        assert_eq!((fault.message.as_str(), fault.help.as_deref()), (message, Some(help)));
    }
}

#[test]
fn objects_say_what_they_are() {
    for (pointer, value, path) in [
        ("/kind", json!("NodePol"), "kind"),
        ("/kind", Value::Null, "kind"),
        ("/apiVersion", json!("karpenter.sh/v1beta1"), "apiVersion"),
        ("/metadata", Value::Null, "metadata.name"),
        ("/metadata/name", json!("A_b"), "metadata.name"),
        ("/metadata/name", json!(5), "metadata.name"),
        ("/metadata/labels", json!({ "a": 1 }), "metadata.labels.a"),
        ("/metadata/annotations", json!([]), "metadata.annotations"),
        ("/spec", Value::Null, "spec"),
        ("/spec", json!([]), "spec"),
    ] {
        assert_eq!(only(NodePool, pointer, value).path, path);
    }
    for value in [json!(null), json!([]), json!("a")] {
        assert_eq!(validate(NodePool, &value).len(), 1);
    }
    assert_eq!(Kind::of("karpenter.sh/v1", "NodePool"), Some(NodePool));
    assert_eq!(Kind::of("karpenter.sh/v1beta1", "NodePool"), None);
}

#[test]
fn faults_follow_the_document() {
    let pool = with(
        NodePool,
        &[
            (
                "/spec/disruption",
                json!({ "budgets": [{ "nodes": "x" }, { "nodes": "1", "duration": "1h" }] }),
            ),
            ("/spec/limits", json!({ "cpu": "lots" })),
            (
                "/spec/template/spec/requirements",
                json!([{ "operator": "In" }, { "key": "a", "operator": "Is" }]),
            ),
            ("/spec/weight", json!(1000)),
        ],
    );
    let faults = validate(NodePool, &pool);
    let paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.disruption.budgets[0].nodes",
            "spec.disruption.budgets[1]",
            "spec.limits.cpu",
            "spec.template.spec.requirements[0].key",
            "spec.template.spec.requirements[0].values",
            "spec.template.spec.requirements[1].operator",
            "spec.weight",
        ]
    );
    assert_eq!(faults[2].pointer, "/spec/limits/cpu");
    assert_eq!(faults[2].to_string(), format!("spec.limits.cpu: {}", faults[2].message));
}

/// Whatever stands anywhere in an object, there is an answer.
#[test]
fn nothing_makes_it_panic() {
    let odd = [
        json!(null),
        json!(1),
        json!(-1.5),
        json!(u64::MAX),
        json!("\u{e9}\n"),
        json!([[]]),
        json!({ "": {} }),
    ];
    for kind in Kind::ALL {
        let base = with(kind, &[]);
        let mut pointers = Vec::new();
        walk(&base, String::new(), &mut pointers);
        assert!(pointers.len() > 10);
        for pointer in &pointers {
            for value in &odd {
                let mut object = base.clone();
                if let Some(node) = object.pointer_mut(pointer) {
                    *node = value.clone();
                }
                let faults = validate(kind, &object);
                assert!(faults.iter().all(|fault| !fault.message.is_empty()));
                api::crd::validate_update(kind, &base, &object);
                api::crd::apply_defaults(kind, &mut object);
            }
        }
    }
}

fn walk(value: &Value, at: String, pointers: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                walk(inner, format!("{at}/{}", key.replace('/', "~1")), pointers);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                walk(inner, format!("{at}/{index}"), pointers);
            }
        }
        _ => {}
    }
    pointers.push(at);
}
