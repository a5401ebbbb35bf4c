//! Every planned node has its NodeClaim, and the claim says what the plan says.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::view::{Planned, View};
use crate::effect::{Effect, NodeClaimDraft};
use crate::labels;

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = names(view);
    let mut seen: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (bin, planned) in view.planned() {
        let Some(draft) = planned.draft else {
            faults.push(format!("node {} has no NodeClaim", bin.name));
            continue;
        };
        let alike = (Arc::as_ptr(&draft.requirements).addr(), Rc::as_ptr(&planned.options).addr());
        let choice = seen.entry(alike).or_insert_with(|| choice(draft, planned));
        let template = template(draft, planned);
        faults.extend(choice.iter().chain(&template).map(|fault| format!("NodeClaim {}: {fault}", bin.name)));
        if let Some(label) = &view.profiles[planned.profile].contradiction {
            faults.push(format!("NodeClaim {}: pool, pins and claim disagree on {label}", bin.name));
        }
    }
    faults
}

/// One claim a node and one node a claim, under names nobody has.
fn names(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut drafts: BTreeSet<&str> = BTreeSet::new();
    let mut nodes: BTreeSet<&str> = BTreeSet::new();
    let taken: BTreeSet<&str> = view
        .nodes
        .values()
        .flat_map(|node| [Some(node.name.as_str()), node.claim.as_deref()])
        .flatten()
        .collect();
    for effect in &view.plan.effects {
        match effect {
            Effect::CreateNodeClaim(draft) if !drafts.insert(&draft.name) => {
                faults.push(format!("NodeClaim {} is created twice", draft.name));
            }
            Effect::DeleteNodeClaim { claim, .. } => {
                let owner = view.nodes.values().find(|node| node.claim.as_deref() == Some(claim));
                match owner {
                    None => faults.push(format!("NodeClaim {claim} is deleted but does not exist")),
                    Some(node) if view.plan.existing.get(&node.name).is_some_and(|pods| !pods.is_empty()) => {
                        faults.push(format!("NodeClaim {claim} is deleted and given pods"));
                    }
                    Some(_) => {}
                }
            }
            _ => {}
        }
    }
    for node in &view.plan.nodes {
        if !nodes.insert(&node.name) {
            faults.push(format!("node {} is planned twice", node.name));
        }
        if taken.contains(node.name.as_str()) {
            faults.push(format!("node {} has the name of one that exists", node.name));
        }
    }
    let replacements = view.plan.disruptions.iter().flat_map(|command| &command.replacements);
    nodes.extend(replacements.map(|node| node.name.as_str()));
    for name in drafts.difference(&nodes) {
        faults.push(format!("NodeClaim {name} is created for no node of the plan"));
    }
    faults
}

/// The claim leaves the same choice of types, zones and capacity types as the options.
fn choice(draft: &NodeClaimDraft, planned: &Planned<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let options = &planned.node.options;
    let types: BTreeSet<&str> = options.iter().map(|offer| offer.instance_type.as_str()).collect();
    let listed = draft.requirements.get(labels::INSTANCE_TYPE).and_then(|listed| listed.values());
    let listed: BTreeSet<&str> = listed.into_iter().flatten().map(String::as_str).collect();
    if let Some(kind) = types.symmetric_difference(&listed).next() {
        faults.push(format!("its instance types are not those of the options ({kind})"));
    }
    let zones = options.iter().map(|offer| offer.zone.as_str()).collect();
    let ways = options.iter().map(|offer| offer.capacity_type.as_str()).collect();
    let pairs: [(&str, BTreeSet<&str>); 2] = [(labels::ZONE, zones), (labels::CAPACITY_TYPE, ways)];
    for (key, offered) in pairs {
        let Some(requirement) = draft.requirements.get(key) else { continue };
        if let Some(value) = offered.iter().find(|value| !requirement.has(value)) {
            faults.push(format!("{key} {value} is among the options but not allowed"));
        }
        let allowed = requirement.values().into_iter().flatten();
        if let (true, Some(value)) =
            (key == labels::CAPACITY_TYPE, allowed.map(String::as_str).find(|value| !offered.contains(value)))
        {
            faults.push(format!("{key} {value} is allowed but not among the options"));
        }
    }
    for (key, value) in &planned.node.pinned {
        let decided = draft.requirements.get(key).and_then(|requirement| requirement.single());
        let labelled = draft.labels.get(key).map(String::as_str);
        if key != labels::HOSTNAME && decided != Some(value) && labelled != Some(value) {
            faults.push(format!("{key} is pinned to {value}, which the claim does not require"));
        }
    }
    faults
}

/// The claim carries its pool's template.
fn template(draft: &NodeClaimDraft, planned: &Planned<'_>) -> Vec<String> {
    let Some(pool) = planned.pool else { return Vec::new() };
    let mut faults = Vec::new();
    if draft.pool != pool.name {
        faults.push(format!("it is of NodePool {}, the node of {}", draft.pool, pool.name));
    }
    let lost = pool.labels.iter().find(|(key, value)| draft.labels.get(*key) != Some(value));
    if let Some((key, value)) = lost {
        faults.push(format!("label {key}: {value} of NodePool {} is lost", pool.name));
    }
    let lost = pool.annotations.iter().find(|(key, value)| draft.annotations.get(*key) != Some(value));
    if let Some((key, _)) = lost {
        faults.push(format!("annotation {key} of NodePool {} is lost", pool.name));
    }
    if draft.labels.get(labels::NODEPOOL) != Some(&pool.name) {
        faults.push(format!("label {} is not {}", labels::NODEPOOL, pool.name));
    }
    let same = [
        ("taints", draft.taints == pool.taints),
        ("startup taints", draft.startup_taints == pool.startup_taints),
        ("class", draft.node_class == pool.node_class),
        ("expireAfter", draft.expire_after == pool.expire_after),
        ("terminationGracePeriod", draft.termination_grace_period == pool.termination_grace_period),
        ("requests", draft.requests == planned.node.requests),
    ];
    faults.extend(
        same.iter().filter(|(_, same)| !same).map(|(what, _)| format!("its {what} are not as planned")),
    );
    faults
}
