//! Pods of the input.

use std::sync::Arc;

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
        for entry in &objects.pods {
            let spec =
                self.with_default_spread(&entry.name, entry.owner.as_ref(), closed[entry.draft].clone());
            let volumes = self.volumes(&entry.name.namespace, &entry.volumes);
            let pod = pod(entry, spec, volumes);
            self.cluster.pods.push(pod);
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
