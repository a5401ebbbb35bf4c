//! What the tests share: manifests in, lowered objects out.

use api::lower::{LowerOptions, Lowered, Objects, lower};
use model::{Pod, PodSpec};

/// A pool and its class, which most inputs need.
pub const POOL: &str = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: nodes
  subnetSelectorTerms: [{tags: {team: a}}]
  securityGroupSelectorTerms: [{tags: {team: a}}]
";

/// The objects of `text`.
#[track_caller]
pub fn objects(text: &str) -> Objects {
    let mut objects = Objects::default();
    objects.read("input.yaml", text).expect("readable");
    objects
}

/// `text`, lowered.
#[track_caller]
pub fn lowered(text: &str) -> Lowered {
    lower(&objects(text), &LowerOptions::default())
        .unwrap_or_else(|error| panic!("{error}: {:?}", error.faults()))
}

/// The faults of `text`, a line each.
#[track_caller]
pub fn faults(text: &str) -> Vec<String> {
    match lower(&objects(text), &LowerOptions::default()) {
        Ok(_) => Vec::new(),
        Err(error) if error.faults().is_empty() => vec![error.to_string()],
        Err(error) => error
            .faults()
            .iter()
            .map(|fault| match &fault.help {
                Some(help) => format!("{fault} ({help})"),
                None => fault.to_string(),
            })
            .collect(),
    }
}

/// A pod `default/p` with these lines in its spec, beside its one container.
pub fn pod(spec: &str) -> String {
    object("Pod", "v1", "p", &format!("  containers: [{{name: c, image: i}}]\n{spec}"))
}

/// An object with these lines in its spec.
pub fn object(kind: &str, version: &str, name: &str, spec: &str) -> String {
    format!("---\napiVersion: {version}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}\n")
}

/// The only pod of `text`.
#[track_caller]
pub fn only(text: &str) -> Pod {
    let pods = lowered(text).cluster.pods;
    assert_eq!(pods.len(), 1, "{text}");
    pods.into_iter().next().expect("one")
}

/// The specification of a pod with these lines in its spec.
#[track_caller]
pub fn spec(lines: &str) -> PodSpec {
    (*only(&pod(lines)).spec).clone()
}
