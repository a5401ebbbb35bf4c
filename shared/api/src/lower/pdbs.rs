//! PodDisruptionBudgets.

use k8s_openapi::api::policy::v1 as policy;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use model::{LabelSelector, Phase, Pod, PodDisruptionBudget};

use super::Lowering;
use super::objects::name_of;
use super::selector::selector;

impl Lowering<'_> {
    /// Lowers PodDisruptionBudgets; pods and workloads must be there.
    pub(super) fn pdbs(&mut self) {
        let objects = self.objects;
        for object in &objects.pdbs {
            let name = name_of(&object.metadata);
            let spec = object.spec.clone().unwrap_or_default();
            let read = spec.selector.as_ref().map(selector);
            let unreadable = matches!(read, Some(None));
            if unreadable {
                self.note(
                    format!("PodDisruptionBudget {name}"),
                    "its selector can't be read: it is taken to protect every pod of its namespace",
                );
            }
            let mut pdb = PodDisruptionBudget {
                name,
                selector: read.map(|read| read.unwrap_or_else(|| LabelSelector::from_labels([]))),
                allowed: 0,
                blocks: unreadable || blocks(&spec),
                frees_unready: spec.unhealthy_pod_eviction_policy.as_deref() == Some("AlwaysAllow"),
            };
            pdb.allowed = match object.status.as_ref() {
                _ if unreadable => 0,
                Some(status) => u32::try_from(status.disruptions_allowed).unwrap_or_default(),
                // A manifest: what its controller would say.
                None => allowed(&spec, self.cluster.pods.iter().filter(|pod| pdb.selects(pod))),
            };
            self.cluster.pdbs.push(pdb);
        }
    }
}

/// Whether it never lets a pod go.
fn blocks(spec: &policy::PodDisruptionBudgetSpec) -> bool {
    let none = match &spec.max_unavailable {
        Some(IntOrString::Int(number)) => *number == 0,
        Some(IntOrString::String(text)) => text == "0%",
        None => false,
    };
    none || matches!(&spec.min_available, Some(IntOrString::String(text)) if text == "100%")
}

/// How many of these pods may go, as the disruption controller counts.
fn allowed<'a>(spec: &policy::PodDisruptionBudgetSpec, pods: impl Iterator<Item = &'a Pod>) -> u32 {
    let (mut expected, mut healthy) = (0, 0);
    for pod in pods.filter(|pod| pod.phase != Phase::Terminal && !pod.terminating) {
        expected += 1;
        healthy += i64::from(pod.node.is_some() && pod.phase == Phase::Running && !pod.disruption.unready);
    }
    let scaled = |value: &IntOrString| match value {
        IntOrString::Int(number) => i64::from(*number),
        IntOrString::String(text) => {
            let percent: i64 = text.strip_suffix('%').and_then(|text| text.parse().ok()).unwrap_or_default();
            (expected * percent + 99) / 100
        }
    };
    let wanted = match (&spec.min_available, &spec.max_unavailable) {
        (Some(least), _) => scaled(least),
        (None, Some(most)) => (expected - scaled(most)).max(0),
        (None, None) => 0,
    };
    u32::try_from((healthy - wanted).max(0)).unwrap_or(u32::MAX)
}
