//! Hashes of what nodes are made from: a node whose NodeClaim carries another than its NodePool or EC2NodeClass has
//! drifted. What selects among things that exist (requirements, selector terms) is left out: that drift is found by
//! looking at what the node is.

use model::Fnv1a;
use serde_json::{Map, Value, json};

use crate::crd::{Ec2NodeClass, NodePool, duration};
use crate::lower::class_family;

/// Fields of an EC2NodeClass that are not hashed as they stand: what selects, what changes nothing of a machine that
/// runs, and what stands in the hash in another form.
const NOT_HASHED: [&str; 7] = [
    "subnetSelectorTerms",
    "securityGroupSelectorTerms",
    "capacityReservationSelectorTerms",
    "amiSelectorTerms",
    "ipPrefixCount",
    "amiFamily",
    "kubelet",
];

/// The hash of a NodePool's template without its requirements.
pub fn pool(pool: &NodePool) -> String {
    let template = &pool.spec.template;
    let spec = &template.spec;
    let seconds = |text: &str| duration(text).map(|duration| duration.as_secs());
    of(&json!({
        "metadata": template.metadata,
        "taints": spec.taints,
        "startupTaints": spec.startup_taints,
        "nodeClassRef": spec.node_class_ref,
        "terminationGracePeriod": spec.termination_grace_period.as_deref().and_then(seconds),
        "expireAfter": seconds(&spec.expire_after),
    }))
}

/// The hash of an EC2NodeClass, of the images' family it comes to, and of the authority by which its machines know the
/// API server. The kubelet's fields count letter by letter, as they are handed on.
pub fn class(class: &Ec2NodeClass, certificate_authority: &str) -> String {
    let mut spec = match serde_json::to_value(&class.spec) {
        Ok(Value::Object(spec)) => spec,
        _ => Map::new(),
    };
    NOT_HASHED.iter().for_each(|field| drop(spec.remove(*field)));
    of(&json!({
        "spec": spec,
        "family": class_family(&class.spec).as_str(),
        "certificateAuthority": certificate_authority,
        "kubelet": class.spec.kubelet.as_ref().map(|kubelet| Value::Object(kubelet.clone()).to_string()),
    }))
}

fn of(value: &Value) -> String {
    let mut hash = Fnv1a::default();
    hash.write(canonical(value).unwrap_or_default().bytes());
    hash.value().to_string()
}

/// One text for all values that mean the same: keys and entries of lists in order, and nothing that says nothing.
fn canonical(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Array(entries) => {
            let mut entries: Vec<String> = entries.iter().filter_map(canonical).collect();
            entries.sort();
            (!entries.is_empty()).then(|| format!("[{}]", entries.join(",")))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| {
                canonical(value).map(|value| format!("{}:{value}", Value::from(key.as_str())))
            };
            let mut fields: Vec<String> = fields.iter().filter_map(field).collect();
            fields.sort();
            (!fields.is_empty()).then(|| format!("{{{}}}", fields.join(",")))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.to_string()),
    }
}
