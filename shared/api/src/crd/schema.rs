//! The CustomResourceDefinitions, made from the types and the rules.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::rules;
use super::{
    Ec2NodeClassSpec, Ec2NodeClassStatus, Kind, NodeClaimSpec, NodeClaimStatus, NodePoolSpec, NodePoolStatus,
};

/// The CustomResourceDefinitions of all kinds, in the order of their names.
pub fn crds() -> Vec<Value> {
    Kind::ALL.into_iter().map(crd).collect()
}

/// One kind's CustomResourceDefinition.
pub fn crd(kind: Kind) -> Value {
    let mut names = json!({
        "categories": ["karpenter"],
        "kind": kind.name(),
        "listKind": format!("{kind}List"),
        "plural": kind.plural(),
        "singular": kind.name().to_lowercase(),
    });
    let mut subresources = json!({ "status": {} });
    match kind {
        Kind::Ec2NodeClass => names["shortNames"] = json!(["ec2nc", "ec2ncs"]),
        Kind::NodePool => {
            subresources["scale"] =
                json!({ "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.nodes" });
        }
        Kind::NodeClaim => {}
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", kind.plural(), kind.group()) },
        "spec": {
            "group": kind.group(),
            "names": names,
            "scope": "Cluster",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "additionalPrinterColumns": columns(kind),
                "schema": { "openAPIV3Schema": schema(kind) },
                "subresources": subresources,
            }],
        },
    })
}

/// The structural schema of one kind, its rules included.
pub(super) fn schema(kind: Kind) -> Value {
    let (spec, status, description) = match kind {
        Kind::Ec2NodeClass => (
            of::<Ec2NodeClassSpec>(),
            of::<Ec2NodeClassStatus>(),
            "The AWS side of a node's configuration: where it starts, from which image, with what attached.",
        ),
        Kind::NodeClaim => (
            of::<NodeClaimSpec>(),
            of::<NodeClaimStatus>(),
            "One node: what it must be, and how far it has come.",
        ),
        Kind::NodePool => (
            of::<NodePoolSpec>(),
            of::<NodePoolStatus>(),
            "A kind of nodes: the template they are made from, and the rules for making and disrupting them.",
        ),
    };
    let mut root = json!({
        "type": "object",
        "description": description,
        "required": ["spec"],
        "properties": {
            "apiVersion": { "type": "string", "description": "The group and version of this object's schema." },
            "kind": { "type": "string", "description": "The kind of this object." },
            "metadata": { "type": "object" },
            "spec": spec,
            "status": status,
        },
    });
    for (place, rule) in rules::of(kind) {
        let Some(node) = at(&mut root, place) else { continue };
        let entry = json!({ "rule": rule.cel, "message": rule.message });
        match node.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut) {
            Some(list) => list.push(entry),
            None => node["x-kubernetes-validations"] = json!([entry]),
        }
    }
    root
}

/// The schema node for a path such as `spec.blockDeviceMappings[].ebs`.
fn at<'a>(root: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut node = root;
    for step in path.split('.') {
        let (name, item) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        node = node.get_mut("properties")?.get_mut(name)?;
        if item {
            node = node.get_mut("items")?;
        }
    }
    Some(node)
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    tidy(&mut value);
    value
}

/// Turns what the derive says into what the API server takes: no nulls, no titles, no closed objects, no
/// alternatives but the one of int-or-string.
fn tidy(node: &mut Value) {
    let Some(map) = node.as_object_mut() else { return };
    for name in ["$schema", "title", "definitions"] {
        map.remove(name);
    }
    if map.get("x-kubernetes-int-or-string").is_none() {
        for name in ["anyOf", "allOf"] {
            if let Some(Value::Array(options)) = map.remove(name) {
                absorb(map, options);
            }
        }
    }
    if let Some(Value::Array(options)) = map.remove("oneOf") {
        let names: Vec<Value> = options.iter().flat_map(constants).collect();
        map.insert("type".to_owned(), json!("string"));
        map.insert("enum".to_owned(), Value::Array(names));
    }
    if let Some(Value::Array(types)) = map.get("type") {
        let first = types.iter().find(|t| *t != "null").cloned();
        map.insert("type".to_owned(), first.unwrap_or_default());
    }
    if let Some(Value::Array(names)) = map.get_mut("required") {
        names.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    }
    if let Some(Value::Array(names)) = map.get_mut("enum") {
        names.retain(|name| !name.is_null());
    }
    if map.get("additionalProperties") == Some(&Value::Bool(false)) {
        map.remove("additionalProperties");
    }
    if map.get("default").is_some_and(empty) {
        map.remove("default");
    }
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = map.get_mut(name) {
            tidy(inner);
        }
    }
}

/// Merges the one alternative that is not null; what the node says itself goes first.
fn absorb(map: &mut Map<String, Value>, options: Vec<Value>) {
    let real = options.into_iter().find(|option| option.get("type") != Some(&json!("null")));
    if let Some(Value::Object(inner)) = real {
        for (name, value) in inner {
            map.entry(name).or_insert(value);
        }
    }
}

fn constants(option: &Value) -> Vec<Value> {
    match (option.get("const"), option.get("enum")) {
        (Some(one), _) => vec![one.clone()],
        (None, Some(Value::Array(many))) => many.clone(),
        _ => Vec::new(),
    }
}

fn empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(on) => !on,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Number(_) | Value::String(_) => false,
    }
}

fn columns(kind: Kind) -> Value {
    let ready = r#".status.conditions[?(@.type=="Ready")].status"#;
    let column = |name: &str, path: &str| json!({ "name": name, "type": "string", "jsonPath": path });
    let wide = |name: &str, path: &str, of: &str| json!({ "name": name, "type": of, "jsonPath": path, "priority": 1 });
    let age = json!({ "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" });
    match kind {
        Kind::Ec2NodeClass => {
            json!([column("Ready", ready), age, wide("Role", ".spec.role", "string")])
        }
        Kind::NodeClaim => json!([
            column("Type", r".metadata.labels.node\.kubernetes\.io/instance-type"),
            column("Capacity", r".metadata.labels.karpenter\.sh/capacity-type"),
            column("Zone", r".metadata.labels.topology\.kubernetes\.io/zone"),
            column("Node", ".status.nodeName"),
            column("Ready", ready),
            age,
            wide("ImageID", ".status.imageID", "string"),
            wide("ID", ".status.providerID", "string"),
            wide("NodePool", r".metadata.labels.karpenter\.sh/nodepool", "string"),
            wide("NodeClass", ".spec.nodeClassRef.name", "string"),
            wide("Drifted", r#".status.conditions[?(@.type=="Drifted")].status"#, "string"),
        ]),
        Kind::NodePool => json!([
            column("NodeClass", ".spec.template.spec.nodeClassRef.name"),
            column("Nodes", ".status.nodes"),
            column("Ready", ready),
            age,
            wide("Weight", ".spec.weight", "integer"),
            wide("CPU", ".status.resources.cpu", "string"),
            wide("Memory", ".status.resources.memory", "string"),
        ]),
    }
}
