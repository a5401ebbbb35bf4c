//! What is written on NodePools and EC2NodeClasses themselves: the hash that their NodeClaims are compared by, and that a
//! class is held.

use std::collections::BTreeMap;

use api::crd::{Ec2NodeClass, NodePool};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::labels;
use serde_json::{Map, Value, json};

const POOL: [&str; 2] = [labels::NODEPOOL_HASH, labels::NODEPOOL_HASH_VERSION];
const CLASS: [&str; 2] = [labels::NODECLASS_HASH, labels::NODECLASS_HASH_VERSION];

/// What a NodePool's metadata lacks.
pub(super) fn of_pool(pool: &NodePool) -> Option<Value> {
    let annotations = hashed(&pool.metadata, POOL, api::hash::pool(pool));
    (!annotations.is_empty()).then(|| json!({ "annotations": annotations }))
}

/// What an EC2NodeClass's metadata lacks, beside its hash the annotations of what it draws on; in a merge, null takes one
/// away. One that is going can't be held any more.
pub(super) fn of_class(
    class: &Ec2NodeClass,
    certificate_authority: &str,
    drawn: BTreeMap<&str, Option<String>>,
) -> Option<Value> {
    if class.metadata.deletion_timestamp.is_some() {
        return None;
    }
    let mut lacks = Map::new();
    let hash = hashed(&class.metadata, CLASS, api::hash::class(class, certificate_authority));
    let mut annotations: BTreeMap<&str, Option<&String>> =
        hash.iter().map(|(key, value)| (key.as_str(), Some(value))).collect();
    let written = class.metadata.annotations.as_ref();
    for (key, wanted) in &drawn {
        if written.and_then(|written| written.get(*key)) != wanted.as_ref() {
            annotations.insert(key, wanted.as_ref());
        }
    }
    if !annotations.is_empty() {
        lacks.insert("annotations".to_owned(), json!(annotations));
    }
    if !is_held(class) {
        let mut finalizers = class.metadata.finalizers.clone().unwrap_or_default();
        finalizers.push(labels::CLASS_FINALIZER.to_owned());
        lacks.insert("finalizers".to_owned(), json!(finalizers));
    }
    (!lacks.is_empty()).then_some(Value::Object(lacks))
}

/// Whether an EC2NodeClass vanishes only once it is let go.
pub(super) fn is_held(class: &Ec2NodeClass) -> bool {
    let finalizers = class.metadata.finalizers.as_deref().unwrap_or_default();
    finalizers.iter().any(|finalizer| finalizer == labels::CLASS_FINALIZER)
}

/// Whether an EC2NodeClass was marked since it was made; what its hash is only the next refresh knows for sure.
pub(super) fn is_marked(class: &Ec2NodeClass) -> bool {
    class.metadata.deletion_timestamp.is_some() || (is_held(class) && class_hash(class).is_some())
}

/// The hash that is written on an EC2NodeClass, if it was made our way.
pub(crate) fn class_hash(class: &Ec2NodeClass) -> Option<&String> {
    let annotations = class.metadata.annotations.as_ref()?;
    annotations
        .get(CLASS[0])
        .filter(|_| annotations.get(CLASS[1]).is_some_and(|at| at == labels::HASH_VERSION))
}

/// The annotations of an EC2NodeClass that its NodeClaims get when they have a machine.
pub(crate) fn of_claims(class: &Ec2NodeClass) -> BTreeMap<String, String> {
    let hash = class_hash(class).cloned();
    hash.map(|hash| pairs(CLASS, hash)).unwrap_or_default()
}

fn pairs([key, version]: [&str; 2], hash: String) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), hash), (version.to_owned(), labels::HASH_VERSION.to_owned())])
}

fn hashed(metadata: &ObjectMeta, keys: [&str; 2], hash: String) -> BTreeMap<String, String> {
    let written = metadata.annotations.as_ref();
    let mut wanted = pairs(keys, hash);
    wanted.retain(|key, value| written.and_then(|written| written.get(key)) != Some(value));
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(metadata: Value) -> Ec2NodeClass {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": metadata,
            "spec": {"amiSelectorTerms": [], "subnetSelectorTerms": [], "securityGroupSelectorTerms": []},
        }))
        .unwrap()
    }

    #[test]
    fn aws_a32_a_class_gets_its_hash_and_its_hold_in_one_write_and_once() {
        let bare = class(json!({"name": "default"}));
        let hash = api::hash::class(&bare, "authority");
        let annotations =
            json!({labels::NODECLASS_HASH: hash, labels::NODECLASS_HASH_VERSION: labels::HASH_VERSION});
        let ours = json!([labels::CLASS_FINALIZER]);
        let theirs = json!({labels::NODECLASS_HASH: "1", labels::NODECLASS_HASH_VERSION: "v6"});
        for (what, metadata, lacks, marked) in [
            ("bare", json!({}), json!({"annotations": annotations, "finalizers": ours}), false),
            (
                "Karpenter's",
                json!({"annotations": theirs, "finalizers": ours}),
                json!({"annotations": annotations}),
                false,
            ),
            (
                "somebody else's hold",
                json!({"annotations": annotations, "finalizers": ["a/b"]}),
                json!({"finalizers": ["a/b", labels::CLASS_FINALIZER]}),
                false,
            ),
            ("done", json!({"annotations": annotations, "finalizers": ours}), Value::Null, true),
            ("going", json!({"deletionTimestamp": "2026-06-01T12:00:00Z"}), Value::Null, true),
        ] {
            let class = class(metadata);
            assert_eq!(of_class(&class, "authority", BTreeMap::new()).unwrap_or_default(), lacks, "{what}");
            assert_eq!(is_marked(&class), marked, "{what}");
        }
        let done = class(json!({"annotations": annotations, "finalizers": ours}));
        assert!(of_class(&done, "another", BTreeMap::new()).is_some(), "another authority, another hash");
        let mut drawing = done.clone();
        drawing.metadata.annotations.get_or_insert_default().extend(
            [("a/kept", "1"), ("a/new", "1"), ("a/gone", "1")].map(|(key, value)| (key.into(), value.into())),
        );
        let drawn = [("a/kept", Some("1")), ("a/new", Some("2")), ("a/gone", None), ("a/never", None)];
        let drawn = drawn.map(|(key, value)| (key, value.map(str::to_owned))).into();
        assert_eq!(
            of_class(&drawing, "authority", drawn),
            Some(json!({"annotations": {"a/new": "2", "a/gone": null}})),
        );
        assert_eq!(json!(of_claims(&done)), annotations);
        assert_eq!(
            of_claims(&class(json!({"annotations": theirs}))),
            BTreeMap::new(),
            "not comparable with ours"
        );
    }

    #[test]
    fn a_pool_gets_its_hash_once() {
        let mut pool: NodePool = serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": {"name": "web", "annotations": {labels::NODEPOOL_HASH_VERSION: "v3", "a": "b"}},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
        }))
        .unwrap();
        let wanted = json!({labels::NODEPOOL_HASH: api::hash::pool(&pool),
            labels::NODEPOOL_HASH_VERSION: labels::HASH_VERSION});
        assert_eq!(of_pool(&pool), Some(json!({ "annotations": wanted })));
        pool.metadata.annotations = serde_json::from_value(wanted).unwrap();
        assert_eq!(of_pool(&pool), None);
        pool.spec.template.spec.expire_after = "1h".into();
        assert!(of_pool(&pool).is_some(), "another template, another hash");
    }
}
