//! Cases as data: a good object with a few fields changed, and the faults that are expected.

use api::crd::{Kind, Stage, validate, validate_update};
use serde_json::{Value, json};

/// What is expected of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Good,
    /// The API server refuses it.
    Refused,
    /// The API server stores it, the controller refuses it.
    Invalid,
}

pub struct Case {
    pub id: &'static str,
    pub kind: Kind,
    pub old: Option<Value>,
    pub value: Value,
    pub verdict: Verdict,
    /// The paths of all faults.
    pub paths: Vec<&'static str>,
}

/// Fields by JSON pointer; null takes a field away.
pub type Changes<'a> = &'a [(&'a str, Value)];

#[derive(Default)]
pub struct Table(pub Vec<Case>);

impl Table {
    pub fn good(&mut self, id: &'static str, kind: Kind, changes: Changes<'_>) {
        self.add(id, kind, changes, Verdict::Good, &[]);
    }

    pub fn refused(&mut self, id: &'static str, kind: Kind, changes: Changes<'_>, paths: &[&'static str]) {
        self.add(id, kind, changes, Verdict::Refused, paths);
    }

    pub fn invalid(&mut self, id: &'static str, kind: Kind, changes: Changes<'_>, paths: &[&'static str]) {
        self.add(id, kind, changes, Verdict::Invalid, paths);
    }

    /// A change of an object, refused at the paths; with none, accepted.
    pub fn update(
        &mut self,
        id: &'static str,
        kind: Kind,
        before: Changes<'_>,
        after: Changes<'_>,
        paths: &[&'static str],
    ) {
        let verdict = if paths.is_empty() { Verdict::Good } else { Verdict::Refused };
        self.add(id, kind, after, verdict, paths);
        if let Some(case) = self.0.last_mut() {
            case.old = Some(with(kind, before));
        }
    }

    fn add(
        &mut self,
        id: &'static str,
        kind: Kind,
        changes: Changes<'_>,
        verdict: Verdict,
        paths: &[&'static str],
    ) {
        let value = with(kind, changes);
        self.0.push(Case { id, kind, old: None, value, verdict, paths: paths.to_vec() });
    }
}

/// The cases of all tables.
pub fn all() -> Vec<Case> {
    let mut table = Table::default();
    crate::nodepool::cases(&mut table);
    crate::nodepool_requirements::cases(&mut table);
    crate::nodeclass::cases(&mut table);
    crate::nodeclass::machine_cases(&mut table);
    crate::kubelet::cases(&mut table);
    table.0
}

/// Holds `validate` to all cases of one id.
#[track_caller]
pub fn check(id: &str) {
    let cases: Vec<Case> = all().into_iter().filter(|case| case.id == id).collect();
    assert!(!cases.is_empty(), "no case of {id}");
    for case in cases {
        let faults = match &case.old {
            Some(old) => validate_update(case.kind, old, &case.value),
            None => validate(case.kind, &case.value),
        };
        let mut paths: Vec<&str> = faults.iter().map(|fault| fault.path.as_str()).collect();
        paths.dedup();
        assert_eq!(paths, case.paths, "{id}: {faults:#?}\n{:#}", case.value["spec"]);
        let stage = if case.verdict == Verdict::Invalid { Stage::Controller } else { Stage::Admission };
        assert!(faults.iter().all(|fault| fault.stage == stage), "{id}: {faults:#?}");
        assert!(faults.iter().all(|fault| !fault.message.is_empty()), "{id}: {faults:#?}");
    }
}

/// A good object with some fields changed.
pub fn with(kind: Kind, changes: Changes<'_>) -> Value {
    let mut value = match kind {
        Kind::NodePool => json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": { "name": "default" },
            "spec": { "template": { "spec": {
                "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                "requirements": [{ "key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"] }],
            } } },
        }),
        Kind::NodeClaim => json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": { "generateName": "default-" },
            "spec": {
                "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                "requirements": [{ "key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"] }],
            },
        }),
        Kind::Ec2NodeClass => json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": { "name": "default" },
            "spec": {
                "role": "KarpenterNodeRole-demo",
                "amiSelectorTerms": [{ "alias": "al2023@latest" }],
                "subnetSelectorTerms": [{ "tags": { "karpenter.sh/discovery": "demo" } }],
                "securityGroupSelectorTerms": [{ "tags": { "karpenter.sh/discovery": "demo" } }],
            },
        }),
    };
    for (pointer, new) in changes {
        set(&mut value, pointer, new.clone());
    }
    value
}

fn set(root: &mut Value, pointer: &str, new: Value) {
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let mut node = root;
    for step in parent.split('/').skip(1) {
        let step = step.replace("~1", "/");
        node = match node {
            Value::Array(items) => &mut items[step.parse::<usize>().expect("an index")],
            other => &mut other[step],
        };
    }
    let name = name.replace("~1", "/");
    match new {
        Value::Null => drop(node.as_object_mut().expect("an object").remove(&name)),
        new => node[name] = new,
    }
}
