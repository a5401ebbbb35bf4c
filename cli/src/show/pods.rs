//! Naming many pods in few words.

use std::collections::BTreeMap;

use model::{Cluster, ObjectName, Pod};

/// Workloads named before the rest is only counted.
const NAMED: usize = 6;

/// The cluster's pods by name.
pub struct Pods<'a>(BTreeMap<&'a ObjectName, &'a Pod>);

impl<'a> Pods<'a> {
    /// Those of `cluster`.
    pub fn new(cluster: &'a Cluster) -> Self {
        Self(cluster.pods.iter().map(|pod| (&pod.name, pod)).collect())
    }

    /// The pods in a few words: `34 × inflate, db-0, 2 × ops/agent`.
    pub fn summary(&self, names: &[ObjectName]) -> String {
        let mut workloads: BTreeMap<String, usize> = BTreeMap::new();
        for name in names {
            *workloads.entry(self.workload(name)).or_default() += 1;
        }
        let more: usize = workloads.values().skip(NAMED).sum();
        let mut words: Vec<String> = workloads
            .into_iter()
            .take(NAMED)
            .map(|(workload, count)| if count == 1 { workload } else { format!("{count} × {workload}") })
            .collect();
        if more > 0 {
            words.push(format!("{more} more"));
        }
        words.join(", ")
    }

    /// What a pod belongs to: its controller, a ReplicaSet by the name of its Deployment; itself if it has none.
    fn workload(&self, name: &ObjectName) -> String {
        let pod = self.0.get(name);
        let owner = pod.and_then(|pod| pod.owner.as_ref()).map_or(name.name.as_str(), |owner| &owner.name);
        let hash = pod.and_then(|pod| pod.spec.labels.get("pod-template-hash"));
        let short = hash.and_then(|hash| owner.strip_suffix(hash.as_str())?.strip_suffix('-'));
        let workload = short.unwrap_or(owner);
        if name.namespace == "default" {
            workload.to_owned()
        } else {
            format!("{}/{workload}", name.namespace)
        }
    }
}
