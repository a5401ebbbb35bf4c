//! What decisions and what came of them are in metrics, by Karpenter's names and labels. Nothing is counted while it is
//! decided.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{
    BoundPod, CapacityType, Care, Claim, Effect, InstanceType, LaunchAnswer, LifecycleSnapshot, Plan,
    Snapshot, labels,
};

use crate::metrics::Metrics;

/// Condition: why a NodeClaim is to go.
const DISRUPTION_REASON: &str = "DisruptionReason";
/// Why pods leave a node that nobody gave up: it was deleted, or its time was up.
const FORCEFUL: &str = "Forceful Termination";

impl Metrics {
    /// What was decided for NodeClaims; `claims` are those that were looked at.
    pub(crate) fn care(&mut self, cluster: &str, care: &Care, claims: &[Claim]) {
        for (what, count) in &care.counts {
            let count = usize::try_from(*count).unwrap_or(usize::MAX);
            self.count("lifecycle_total", &[("cluster", cluster), ("what", what)], count);
        }
        for (claim, reason) in deleted(&care.effects) {
            let known = claims.iter().find(|known| known.name == claim);
            let grace = known.and_then(|claim| claim.termination_grace_period);
            let labels = known.map(|claim| &claim.labels);
            self.disrupted(&disruption(cluster, reason, labels, grace), 0);
        }
    }

    /// NodeClaims that a plan makes, and those that it lets go with the pods that want another place.
    pub(crate) fn plan(&mut self, cluster: &str, snapshot: &Snapshot, plan: &Plan) {
        for effect in &plan.effects {
            if let Effect::CreateNodeClaim(draft) = effect {
                let labels = [("cluster", cluster), ("nodepool", draft.pool.as_str())];
                self.count("karpenter_nodeclaims_created_total", &labels, 1);
            }
        }
        let gone: BTreeMap<&str, &str> = deleted(&plan.effects).collect();
        if gone.is_empty() {
            return;
        }
        let pods = planner::displaced(snapshot);
        for node in &snapshot.cluster.nodes {
            let Some(reason) = node.claim.as_deref().and_then(|claim| gone.get(claim)) else { continue };
            let grace = node.disruption.termination_grace_period;
            let pods = pods.get(node.name.as_str()).copied().unwrap_or_default();
            self.disrupted(&disruption(cluster, reason, Some(&node.labels), grace), pods);
        }
    }

    /// A NodeClaim that goes, with so many pods that want another place, as far as that is known.
    fn disrupted(&mut self, labels: &[(&'static str, String)], pods: usize) {
        let labels: Vec<(&'static str, &str)> =
            labels.iter().map(|(key, value)| (*key, value.as_str())).collect();
        self.count("karpenter_nodeclaims_disrupted_total", &labels, 1);
        self.count("karpenter_pods_disruption_initiated_total", &labels, pods);
    }

    /// Pods that were made to leave their node. `done` says of each effect whether it has changed anything: a pod that was
    /// gone already has not left now.
    pub(crate) fn drained(
        &mut self,
        cluster: &str,
        snapshot: &LifecycleSnapshot,
        effects: &[Effect],
        done: &[bool],
    ) {
        for (effect, _) in effects.iter().zip(done).filter(|(_, done)| **done) {
            let (Effect::EvictPod { uid, .. } | Effect::DeletePod { uid, .. }) = effect else { continue };
            // One that was leaving already is only made to hurry.
            let leaves = |pod: &&BoundPod| pod.uid == *uid && pod.deleting.is_none();
            let Some(pod) = snapshot.pods.iter().find(leaves) else { continue };
            let labels = [("cluster", cluster), ("reason", reason(snapshot, pod))];
            self.count("karpenter_pods_drained_total", &labels, 1);
        }
    }

    /// What launches failed by, each thing that went wrong once. `zone_ids` are by the names of zones.
    pub(crate) fn launches(
        &mut self,
        cluster: &str,
        effects: &[Effect],
        answers: &[(String, LaunchAnswer)],
        zone_ids: &BTreeMap<String, String>,
    ) {
        for (group, answer) in answers {
            let order = effects.iter().find_map(|effect| match effect {
                Effect::Launch(order) if order.group == *group => Some(order),
                _ => None,
            });
            let asked = order.map(|order| order.capacity_type);
            for failure in &answer.failures {
                let offer = failure.offer.as_ref();
                let zone = offer.map_or("", |offer| offer.zone.as_str());
                let capacity_type = offer.map(|offer| offer.capacity_type).or(asked);
                let labels = [
                    ("cluster", cluster),
                    ("reason", failure.reason.as_str()),
                    ("capacity_type", capacity_type.map_or("", CapacityType::as_str)),
                    ("zone", zone),
                    ("zone_id", zone_ids.get(zone).map_or("", String::as_str)),
                ];
                self.count("karpenter_cloudprovider_instance_launch_failures_total", &labels, 1);
            }
        }
    }

    /// How many offerings a class has, and how many more it would have if nothing were avoided. Not a gauge for each
    /// offering as Karpenter has it: CloudWatch takes money for each.
    pub(crate) fn offerings(
        &mut self,
        cluster: &str,
        class: &str,
        all: &BTreeMap<CapacityType, usize>,
        left: &BTreeMap<CapacityType, usize>,
    ) {
        for (capacity_type, all) in all {
            let left = left.get(capacity_type).copied().unwrap_or_default();
            let labels =
                [("cluster", cluster), ("nodeclass", class), ("capacity_type", capacity_type.as_str())];
            self.gauge("instance_type_offerings_available", &labels, left as f64);
            self.gauge("instance_type_offerings_avoided", &labels, all.saturating_sub(left) as f64);
        }
    }
}

/// How many offerings can be had, of each capacity type that there are offerings of.
pub(crate) fn available(types: &[InstanceType]) -> BTreeMap<CapacityType, usize> {
    let mut counts = BTreeMap::new();
    for offering in types.iter().flat_map(|kind| &kind.offerings) {
        *counts.entry(offering.capacity_type).or_default() += usize::from(offering.available);
    }
    counts
}

/// NodeClaims that are asked to go, and why.
fn deleted(effects: &[Effect]) -> impl Iterator<Item = (&str, &str)> {
    effects.iter().filter_map(|effect| match effect {
        Effect::DeleteNodeClaim { claim, reason, .. } => Some((claim.as_str(), reason.as_str())),
        _ => None,
    })
}

fn disruption(
    cluster: &str,
    reason: &str,
    known: Option<&BTreeMap<String, String>>,
    grace: Option<SignedDuration>,
) -> [(&'static str, String); 5] {
    let label = |key: &str| known.and_then(|labels| labels.get(key)).cloned().unwrap_or_default();
    [
        ("cluster", cluster.to_owned()),
        ("reason", snake_case(reason)),
        ("nodepool", label(labels::NODEPOOL)),
        ("capacity_type", label(labels::CAPACITY_TYPE)),
        ("termination_mode", termination_mode(grace).to_owned()),
    ]
}

fn termination_mode(grace: Option<SignedDuration>) -> &'static str {
    match grace {
        None => "graceful",
        Some(grace) if grace <= SignedDuration::ZERO => "forceful",
        Some(_) => "eventual",
    }
}

/// Why the node that a pod is on was given up.
fn reason<'a>(snapshot: &'a LifecycleSnapshot, pod: &BoundPod) -> &'a str {
    let nodes = snapshot.nodes.iter().filter(|node| node.name == pod.node);
    let machines: BTreeSet<&str> = nodes.map(|node| node.provider_id.as_str()).collect();
    let is_on = |claim: &&Claim| claim.provider_id.as_deref().is_some_and(|id| machines.contains(id));
    let claim = snapshot.claims.iter().filter(is_on).find(|claim| claim.is(DISRUPTION_REASON));
    let condition = claim.and_then(|claim| claim.conditions.get(DISRUPTION_REASON));
    condition.map_or(FORCEFUL, |condition| condition.reason.as_str())
}

/// `InsufficientCapacity` as metrics have it: `insufficient_capacity`.
pub(crate) fn snake_case(reason: &str) -> String {
    let mut out = String::new();
    for (place, letter) in reason.char_indices() {
        if letter.is_ascii_uppercase() && place > 0 {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests;
