//! What has lost its other half: machines without a NodeClaim, NodeClaims without a machine; and whatever a lost hint left
//! behind.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use model::{Care, Claim, ClaimNode, Effect, EventKind, Instance, ObjectRef, SweepSnapshot, labels};

use super::view::is_ready;
use super::{INITIALIZED, REGISTERED, classes, expiry, launch_group, stamping, tagging};

/// A machine without a NodeClaim is left alone for so long after its launch: the NodeClaim's record may be on its way.
const GRACE: SignedDuration = SignedDuration::from_secs(30);

/// Decides about leftovers of a whole cluster. If the lists are not whole, nothing is taken for lost.
pub fn sweep(snapshot: &SweepSnapshot) -> Care {
    let mut care = Care::default();
    let mut claims: Vec<&Claim> = snapshot.claims.iter().collect();
    claims.sort_by(|a, b| a.name.cmp(&b.name));
    let mut nodes: BTreeMap<&str, Vec<&ClaimNode>> = BTreeMap::new();
    for node in &snapshot.nodes {
        nodes.entry(&node.provider_id).or_default().push(node);
    }
    nodes.values_mut().for_each(|nodes| nodes.sort_by(|a, b| a.name.cmp(&b.name)));
    let machines: BTreeMap<&str, &Instance> =
        snapshot.instances.iter().map(|machine| (machine.provider_id.as_str(), machine)).collect();
    if snapshot.complete {
        terminate_unclaimed(snapshot, &claims, &nodes, &mut care);
    }
    if snapshot.complete {
        classes::tend(snapshot.now, &snapshot.leaving, &claims, &mut care.effects);
    }
    let mut deleted = false;
    let mut restless = Vec::new();
    for claim in &claims {
        let own = claim.provider_id.as_deref().and_then(|id| nodes.get(id)).map(Vec::as_slice);
        let own = own.unwrap_or_default();
        match ends(snapshot, claim, own, &machines) {
            Some((reason, message)) => {
                deleted = true;
                delete(claim, reason, message, &mut care);
                restless.push(claim.name.clone());
            }
            None => {
                let machine = claim.provider_id.as_deref().and_then(|id| machines.get(id)).copied();
                let change =
                    stamping::of_claim(snapshot, claim, machine).map(Box::new).map(Effect::ChangeNodeClaim);
                care.effects.extend(change);
                let changes = own.iter().filter_map(|node| stamping::of_node(claim, node, machine));
                care.effects.extend(changes.map(Box::new).map(Effect::ChangeNode));
                if is_restless(claim, own) {
                    restless.push(claim.name.clone());
                }
            }
        }
    }
    let claimed: BTreeSet<&str> = claims.iter().filter_map(|claim| claim.provider_id.as_deref()).collect();
    let orphans: Vec<String> = nodes
        .iter()
        .filter(|(id, _)| !claimed.contains(*id))
        .flat_map(|(_, nodes)| nodes.iter())
        .filter(|node| node.deleting.is_some() && node.finalizer)
        .map(|node| node.name.clone())
        .collect();
    if !restless.is_empty() || !orphans.is_empty() {
        let after = SignedDuration::ZERO;
        care.effects.push(Effect::HintLifecycle { claims: restless, nodes: orphans, after });
    }
    if deleted {
        care.effects.push(Effect::HintProvision { reason: "nodes are going".to_owned() });
    }
    care
}

/// Ends machines that no NodeClaim knows of. Those of a launch group that still has NodeClaims without a machine are
/// not lost: they are dealt out.
fn terminate_unclaimed(
    snapshot: &SweepSnapshot,
    claims: &[&Claim],
    nodes: &BTreeMap<&str, Vec<&ClaimNode>>,
    care: &mut Care,
) {
    let claimed: BTreeSet<&str> = claims.iter().filter_map(|claim| claim.provider_id.as_deref()).collect();
    let open: BTreeSet<&str> =
        claims.iter().filter(|claim| claim.provider_id.is_none()).map(|claim| launch_group(claim)).collect();
    let lost = |machine: &&Instance| {
        !machine.state.is_ending()
            && !claimed.contains(machine.provider_id.as_str())
            && !machine.launch_group.as_deref().is_some_and(|group| open.contains(group))
            && snapshot.now.duration_since(machine.launched) >= GRACE
    };
    let mut lost: Vec<&Instance> = snapshot.instances.iter().filter(lost).collect();
    lost.sort_by(|a, b| a.id.cmp(&b.id));
    for machine in lost {
        care.effects.push(Effect::Terminate { provider_id: machine.provider_id.clone() });
        *care.counts.entry("instances-without-nodeclaim".to_owned()).or_default() += 1;
        for node in nodes.get(machine.provider_id.as_str()).into_iter().flatten() {
            if node.deleting.is_none() {
                care.effects.push(Effect::DeleteNode { node: node.name.clone(), uid: node.uid.clone() });
            }
        }
    }
}

/// Why a NodeClaim is to go that nobody has asked to.
fn ends(
    snapshot: &SweepSnapshot,
    claim: &Claim,
    nodes: &[&ClaimNode],
    machines: &BTreeMap<&str, &Instance>,
) -> Option<(&'static str, String)> {
    if claim.deleting.is_some() {
        return None;
    }
    if expiry::is_due(claim, snapshot.now) {
        return Some((expiry::REASON, expiry::message(claim)));
    }
    let reserved = claim.labels.get(labels::RESERVATION_ID);
    if let Some(reservation) = reserved.filter(|id| snapshot.expiring.contains(*id)) {
        let message = format!("its capacity reservation {reservation} is about to end");
        return Some(("CapacityReservationExpiring", message));
    }
    let id = claim.provider_id.as_deref()?;
    match machines.get(id) {
        Some(machine) if machine.state.is_ending() => {
            Some(("InstanceTerminated", format!("{id} was ended by somebody else")))
        }
        Some(_) => None,
        // A kubelet that still answers knows better than a listing.
        None => (snapshot.complete && claim.is(REGISTERED) && !nodes.iter().any(|node| is_ready(node)))
            .then(|| ("GarbageCollected", format!("there is no {id} any more"))),
    }
}

fn delete(claim: &Claim, reason: &str, message: String, care: &mut Care) {
    care.effects.push(Effect::PublishEvent {
        about: ObjectRef::NodeClaim(claim.name.clone()),
        kind: EventKind::Warning,
        reason: reason.to_owned(),
        message,
    });
    care.effects.push(Effect::DeleteNodeClaim {
        claim: claim.name.clone(),
        uid: Some(claim.uid.clone()),
        reason: reason.to_owned(),
    });
}

/// Whether a NodeClaim has something before it.
fn is_restless(claim: &Claim, nodes: &[&ClaimNode]) -> bool {
    claim.deleting.is_some()
        || !claim.is(INITIALIZED)
        || tagging::is_due(claim)
        || nodes.iter().any(|node| node.deleting.is_some())
}
