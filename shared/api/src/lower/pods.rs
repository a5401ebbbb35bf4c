//! Pods of the input.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use model::{ObjectName, Owner, Pod, PodSpec};

use super::draft::PodEntry;
use super::{Lowering, affinity, defaults};

impl Lowering<'_> {
    /// Lowers the pods that are there.
    pub(super) fn pods(&mut self) {
        let objects = self.objects;
        let closed: Vec<Arc<PodSpec>> = objects
            .drafts
            .iter()
            .map(|draft| self.share(affinity::close(draft, &objects.namespaces)))
            .collect();
        let working = |node: &&model::Node| node.initialized && !node.deleting;
        let working: BTreeSet<String> =
            self.cluster.nodes.iter().filter(working).map(|node| node.name.clone()).collect();
        for entry in &objects.pods {
            let spec =
                self.with_default_spread(&entry.name, entry.owner.as_ref(), closed[entry.draft].clone());
            let volumes = self.volumes(&entry.name.namespace, &entry.volumes);
            let mut pod = pod(entry, spec, volumes);
            // Until its node takes pods it may come to nothing, and once the node is gone it has.
            let promised = entry.nominated.as_ref().is_some_and(|node| working.contains(node));
            pod.unschedulable &= !promised;
            self.cluster.pods.push(pod);
        }
    }

    /// Lets nodes know when a pod last came or went, as far as pods tell. DaemonSets' say nothing of how a node is used.
    pub(super) fn pod_events(&mut self) {
        let mut last: BTreeMap<&str, Timestamp> = BTreeMap::new();
        for pod in self.cluster.pods.iter().filter(|pod| !pod.daemon) {
            if let (Some(node), Some(event)) = (pod.node.as_deref(), pod.disruption.event) {
                let last = last.entry(node).or_insert(event);
                *last = event.max(*last);
            }
        }
        for node in self.cluster.nodes.iter_mut().filter(|node| node.claim.is_some()) {
            node.last_pod_event = node.last_pod_event.max(last.get(node.name.as_str()).copied());
        }
    }

    /// The specification with the default spread constraints, if it has none of its own.
    pub(super) fn with_default_spread(
        &mut self,
        name: &ObjectName,
        owner: Option<&Owner>,
        spec: Arc<PodSpec>,
    ) -> Arc<PodSpec> {
        if self.options.default_spread.is_empty() || !spec.spread.is_empty() {
            return spec;
        }
        let key = defaults::Key::new(&name.namespace, owner, &spec.labels);
        let objects = self.objects;
        let deduced = self
            .deduced
            .entry(key)
            .or_insert_with(|| defaults::deduce(objects, &name.namespace, owner, &spec.labels));
        let Some(selector) = deduced.clone() else { return spec };
        let mut spread = (*spec).clone();
        spread.spread = self
            .options
            .default_spread
            .iter()
            .map(|constraint| constraint.with_selector(&selector))
            .collect();
        self.share(spread)
    }
}

fn pod(entry: &PodEntry, spec: Arc<PodSpec>, volumes: Vec<model::Volume>) -> Pod {
    Pod {
        name: entry.name.clone(),
        uid: entry.uid.clone(),
        created: entry.created,
        node: entry.node.clone(),
        phase: entry.phase,
        terminating: entry.terminating,
        unschedulable: entry.unschedulable,
        owner: entry.owner.clone(),
        daemon: entry.daemon,
        mirror: entry.mirror,
        do_not_disrupt: entry.do_not_disrupt.clone(),
        disruption: entry.disruption.clone(),
        volumes,
        spec,
    }
}
