//! DaemonSets: what each node they select must carry.

use model::{DaemonSet, labels};

use super::draft::{PodEntry, draft};
use super::objects::name_of;
use super::{Lowering, affinity, limits, requirement};

impl Lowering<'_> {
    /// Lowers the DaemonSets. A pod of theirs that runs tells best what admission makes of the template, but for
    /// the node it is bound to.
    pub(super) fn daemon_sets(&mut self) {
        let objects = self.objects;
        for entry in &objects.daemon_sets {
            let name = name_of(&entry.object.metadata);
            let Some(template) = entry.object.spec.as_ref().map(|spec| &spec.template) else { continue };
            let mut pod = template.spec.clone().unwrap_or_default();
            limits::apply(objects.limit_ranges.get(&name.namespace), &mut pod);
            let meta = template.metadata.clone().unwrap_or_default();
            let written = draft(&name.namespace, &meta, &pod, None);
            let mut spec = affinity::close(&written, &objects.namespaces);
            let owned = |pod: &&PodEntry| {
                let owner = pod.owner.as_ref();
                pod.name.namespace == name.namespace
                    && owner.is_some_and(|owner| owner.kind == "DaemonSet" && owner.name == name.name)
            };
            let newest = objects.pods.iter().filter(owned).max_by_key(|pod| (pod.created, &pod.name));
            if let Some(draft) = newest.and_then(|pod| objects.drafts.get(pod.draft)) {
                let mut real = affinity::close(draft, &objects.namespaces);
                real.required = spec.required;
                real.faults = spec.faults;
                spec = real;
            }
            // Daemons may select nodes that have joined: every node to come will have.
            let joined = [labels::REGISTERED, labels::INITIALIZED].map(requirement::set_by_the_system);
            spec.faults.retain(|fault| !joined.contains(fault));
            for fault in &spec.faults {
                let message = format!("its pods are left out of nodes to come: {fault}");
                self.notes.insert(model::Note { place: format!("DaemonSet {name}"), message });
            }
            if spec.faults.is_empty() {
                let spec = self.share(spec);
                self.cluster.daemon_sets.push(DaemonSet { name, spec });
            }
        }
    }
}
