//! What may become of pods whose node goes.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{Cluster, Phase, Pod, PodDisruptionBudget, Taint, TaintEffect, labels};

use crate::peace::{Peace, peace};

/// Whether the pod is still at work.
pub(crate) fn is_active(pod: &Pod) -> bool {
    pod.phase != Phase::Terminal && !pod.terminating
}

/// Whether the pod would have to be placed anew if its node went. A pod of a StatefulSet that is going is coming back
/// under its own name, so its place counts as taken.
pub(crate) fn is_reschedulable(pod: &Pod) -> bool {
    let comes_back = || pod.owner.as_ref().is_some_and(|owner| owner.kind == "StatefulSet");
    pod.phase != Phase::Terminal && !pod.daemon && !pod.mirror && (!pod.terminating || comes_back())
}

/// Whether `karpenter.sh/do-not-disrupt` is in force.
pub(crate) fn is_in_peace(pod: &Pod, now: Timestamp) -> bool {
    pod.do_not_disrupt.is_some()
        && is_active(pod)
        && peace(pod.do_not_disrupt.as_deref(), pod.disruption.started, now) != Peace::None
}

/// Whether a drain asks the pod to leave.
pub(crate) fn is_evictable(pod: &Pod, now: Timestamp) -> bool {
    let disrupted = disrupted();
    is_active(pod)
        && !pod.mirror
        && !pod.spec.tolerations.iter().any(|toleration| toleration.tolerates(&disrupted))
        && !is_in_peace(pod, now)
}

/// The taint of a node that is to go.
pub(crate) fn disrupted() -> Taint {
    Taint { key: labels::DISRUPTED.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule }
}

/// Pods of Deployments, where they ask for a successor before they leave: those that may be such a successor.
pub(crate) struct Successors<'a>(BTreeMap<(&'a str, &'a str), Vec<&'a Pod>>);

impl<'a> Successors<'a> {
    /// Those of a cluster, but for pods on nodes that `leaves` says are going.
    pub fn new(cluster: &'a Cluster, leaves: impl Fn(&str) -> bool) -> Self {
        let mut by_deployment: BTreeMap<_, Vec<&Pod>> = BTreeMap::new();
        let stays = |pod: &&Pod| is_active(pod) && !pod.node.as_deref().is_some_and(&leaves);
        for pod in cluster.pods.iter().filter(|pod| pod.disruption.surge).filter(stays) {
            if let Some(deployment) = pod.deployment() {
                by_deployment.entry((pod.name.namespace.as_str(), deployment)).or_default().push(pod);
            }
        }
        Self(by_deployment)
    }

    /// Whether a pod's successor is there, so that its Deployment takes the pod away: a younger one of another ReplicaSet.
    pub fn replace(&self, pod: &Pod) -> bool {
        let Some(deployment) = pod.deployment().filter(|_| pod.disruption.surge) else { return false };
        let succeeds = |other: &&Pod| other.owner != pod.owner && other.created > pod.created;
        let others = self.0.get(&(pod.name.namespace.as_str(), deployment));
        others.is_some_and(|others| others.iter().any(succeeds))
    }
}

/// PodDisruptionBudgets by namespace.
pub(crate) struct Guards<'a>(BTreeMap<&'a str, Vec<&'a PodDisruptionBudget>>);

impl<'a> Guards<'a> {
    pub fn new(cluster: &'a Cluster) -> Self {
        let mut by_namespace: BTreeMap<&str, Vec<&PodDisruptionBudget>> = BTreeMap::new();
        for pdb in &cluster.pdbs {
            by_namespace.entry(&pdb.name.namespace).or_default().push(pdb);
        }
        by_namespace.values_mut().for_each(|pdbs| pdbs.sort_by(|a, b| a.name.cmp(&b.name)));
        Self(by_namespace)
    }

    /// The budgets that protect a pod, in name order.
    pub fn of(&self, pod: &Pod) -> Vec<&'a PodDisruptionBudget> {
        let own = self.0.get(pod.name.namespace.as_str()).into_iter().flatten();
        own.filter(|pdb| pdb.selects(pod)).copied().collect()
    }

    /// Whether the pod can't be evicted whatever becomes of others: a budget never allows it, or there are two.
    pub fn block(&self, pod: &Pod) -> bool {
        match self.of(pod).as_slice() {
            [] => false,
            [pdb] => pdb.blocks && !(pdb.frees_unready && pod.disruption.unready),
            _ => true,
        }
    }
}
