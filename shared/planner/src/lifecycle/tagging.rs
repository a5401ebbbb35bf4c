//! Once a node has joined: its machine carries its name, and kube-scheduler knows which pods were planned for it.

use std::collections::BTreeMap;

use model::{Claim, Effect, PlannedPod, UnboundPod, labels};

use super::view::{Machine, View};
use super::work::Work;
use super::{INITIALIZED, REGISTERED};

const MARKS: [&str; 2] = [labels::TAGGED, labels::CLUSTER_NAME_TAGGED];

/// Whether the machine's tags are still to be written, or to be seen written.
pub(super) fn is_due(claim: &Claim) -> bool {
    let marked = |mark: &str| claim.annotations.get(mark).is_some_and(|value| value == "true");
    claim.deleting.is_none()
        && claim.is(REGISTERED)
        && claim.node.is_some()
        && !MARKS.iter().all(|mark| marked(mark))
}

/// Names the machine and nominates its node.
pub(super) fn tend(view: &View<'_>, work: &mut Work<'_>) {
    let claim = work.claim;
    nominate(view, work);
    let (Some(id), Some(node)) = (&claim.provider_id, &claim.node) else { return };
    if !is_due(claim) {
        return;
    }
    if let Machine::Alive(Some(machine)) = view.machine(claim, id) {
        if machine.claim.is_some() {
            MARKS.iter().for_each(|mark| work.annotate(mark, "true"));
            return;
        }
        let tags = BTreeMap::from([
            ("Name".to_owned(), node.clone()),
            (labels::NODECLAIM.to_owned(), claim.name.clone()),
        ]);
        work.effect(Effect::TagInstance { provider_id: id.clone(), tags });
    }
    work.look_by_age(claim.created);
}

/// Whether pods may be waiting for a NodeClaim's node to become one that takes them.
pub(super) fn is_awaited(claim: &Claim) -> bool {
    claim.deleting.is_none()
        && claim.is(REGISTERED)
        && !claim.is(INITIALIZED)
        && claim.annotations.contains_key(labels::PLANNED_PODS)
}

/// The pods that NodeClaims were planned for, as far as they still wait and nobody has chosen a node for them.
pub fn planned(claims: &[Claim], unbound: &[UnboundPod]) -> BTreeMap<String, Vec<PlannedPod>> {
    let unbound: BTreeMap<(&str, &str), &UnboundPod> = unbound
        .iter()
        .filter(|pod| pod.nominated.is_none())
        .map(|pod| ((pod.name.namespace.as_str(), pod.name.name.as_str()), pod))
        .collect();
    let mut planned = BTreeMap::new();
    for claim in claims.iter().filter(|claim| is_awaited(claim)) {
        let names = claim.annotations.get(labels::PLANNED_PODS).map(String::as_str).unwrap_or_default();
        let waiting = names.split(',').filter_map(|name| unbound.get(&name.split_once('/')?));
        let waiting: Vec<PlannedPod> =
            waiting.map(|pod| PlannedPod { name: pod.name.clone(), uid: pod.uid.clone() }).collect();
        if !waiting.is_empty() {
            planned.insert(claim.name.clone(), waiting);
        }
    }
    planned
}

/// Tells kube-scheduler, while pods wait for the node to become one that takes them.
fn nominate(view: &View<'_>, work: &mut Work<'_>) {
    let claim = work.claim;
    let Some(node) = claim.node.as_ref().filter(|_| claim.is(REGISTERED)) else { return };
    if claim.is(INITIALIZED) {
        return;
    }
    for pod in view.snapshot.planned.get(&claim.name).into_iter().flatten() {
        let (pod, uid) = (pod.name.clone(), pod.uid.clone());
        work.effect(Effect::NominateNode { pod, uid, node: node.clone() });
    }
}
