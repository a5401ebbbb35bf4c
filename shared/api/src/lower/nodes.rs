//! Nodes and NodeClaims, merged: one entry an instance.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Node as CoreNode;
use model::{ConditionStatus, Mark, Node, NodeFacts, Resources, Taint, TaintEffect, labels};

use super::Lowering;
use super::claims::{self, Claim};
use super::draft::time;
use super::objects::name_of;
use super::pools::taints;
use super::requests::resources;

/// The taint a cordoned node has.
const CORDONED: &str = "node.kubernetes.io/unschedulable";

impl Lowering<'_> {
    /// Lowers nodes and claims. They belong together by provider id, or by the node's name in the claim's status.
    pub(super) fn nodes(&mut self) {
        let objects = self.objects;
        let claims: Vec<Claim<'_>> = objects.claims.iter().map(|entry| Claim::new(&entry.object)).collect();
        let by_id: BTreeMap<&str, &Claim<'_>> =
            claims.iter().filter_map(|claim| Some((claim.provider_id?, claim))).collect();
        let by_node: BTreeMap<&str, &Claim<'_>> =
            claims.iter().filter_map(|claim| Some((claim.node_name?, claim))).collect();
        let mut merged = BTreeSet::new();
        for entry in &objects.nodes {
            let node = &entry.object;
            let name = name_of(&node.metadata).name;
            let provider_id = provider_id(node);
            let claim = provider_id.and_then(|id| by_id.get(id)).or_else(|| {
                by_node
                    .get(name.as_str())
                    .filter(|claim| claim.provider_id.is_none() || provider_id.is_none())
            });
            if let Some(why) = ignored(node, claim.is_some()) {
                self.note(format!("Node {name}"), why);
                continue;
            }
            merged.extend(claim.map(|claim| claim.name.as_str()));
            let limits = self.volume_limits(&name);
            self.cluster.nodes.push(merge(node, claim.copied(), limits));
        }
        for claim in claims.iter().filter(|claim| !merged.contains(claim.name.as_str())) {
            self.cluster.nodes.push(claims::alone(claim));
        }
    }

    /// How many volumes of each driver a node takes. A driver that names no number sets no limit.
    fn volume_limits(&self, node: &str) -> BTreeMap<String, u32> {
        let drivers = self.objects.csi_nodes.get(node).map(|csi| csi.spec.drivers.as_slice());
        let limits = drivers.unwrap_or_default().iter().filter_map(|driver| {
            let count = driver.allocatable.as_ref()?.count?;
            Some((driver.name.clone(), u32::try_from(count).ok()?))
        });
        limits.collect()
    }
}

fn provider_id(node: &CoreNode) -> Option<&str> {
    node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()).filter(|id| !id.is_empty())
}

/// Why a node is not counted: one of a pool that is still being set up, as stored by an API server.
fn ignored(node: &CoreNode, claimed: bool) -> Option<&'static str> {
    let has = |key: &str| node.metadata.labels.as_ref().is_some_and(|labels| labels.contains_key(key));
    let stored = node.metadata.uid.is_some();
    if claimed || !stored || !has(labels::NODEPOOL) {
        None
    } else if provider_id(node).is_none() {
        Some("has a NodePool but no providerID yet: not counted")
    } else if !has(labels::INSTANCE_TYPE) && !has(labels::INITIALIZED) {
        Some("has a NodePool but no instance type yet: not counted")
    } else {
        None
    }
}

fn merge(node: &CoreNode, claim: Option<&Claim<'_>>, volume_limits: BTreeMap<String, u32>) -> Node {
    let meta = &node.metadata;
    let own = meta.labels.clone().unwrap_or_default();
    let is_true = |key: &str| own.get(key).is_some_and(|value| value == "true");
    let registered = claim.is_none() || is_true(labels::REGISTERED);
    let initialized = claim.is_none() || is_true(labels::INITIALIZED);
    let spec = node.spec.as_ref();
    let status = node.status.as_ref();
    let mut capacity = resources(status.and_then(|status| status.capacity.as_ref()));
    let mut allocatable = resources(status.and_then(|status| status.allocatable.as_ref()));
    let mut seen = taints(spec.and_then(|spec| spec.taints.as_deref()).unwrap_or_default());
    if spec.is_some_and(|spec| spec.unschedulable == Some(true))
        && !seen.iter().any(|taint| taint.key == CORDONED)
    {
        seen.push(Taint { key: CORDONED.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule });
    }
    if let Some(claim) = claim {
        if !registered {
            seen = claim.taints.clone();
        }
        if !initialized {
            fill(&mut capacity, &claim.capacity);
            fill(&mut allocatable, &claim.allocatable);
            seen.retain(|taint| !claims::passes(taint, &claim.startup_taints));
        }
    } else if allocatable.0.is_empty() {
        // A manifest of a node may name its capacity only.
        allocatable = capacity.clone();
    }
    let annotations =
        if registered { meta.annotations.as_ref() } else { claim.and_then(|claim| claim.annotations) };
    let name = name_of(meta).name;
    let going = claim.is_some_and(|claim| claim.deleting) || meta.deletion_timestamp.is_some();
    let disruption = facts(node, claim, &seen);
    Node {
        name: if registered { name } else { claim.map_or(name, |claim| claim.name.clone()) },
        claim: claim.map(|claim| claim.name.clone()),
        provider_id: provider_id(node).or(claim.and_then(|claim| claim.provider_id)).map(str::to_owned),
        labels: if registered { own } else { claim.map(|claim| claim.labels.clone()).unwrap_or(own) },
        taints: seen,
        capacity,
        allocatable,
        registered,
        initialized,
        has_node: true,
        deleting: going,
        created: claim.map_or_else(|| time(meta.creation_timestamp.as_ref()), |claim| claim.created),
        last_pod_event: claim.and_then(|claim| claim.last_pod_event),
        do_not_disrupt: claims::is_protected(annotations),
        volume_limits,
        disruption,
    }
}

/// What bears on whether it may go: what the claim says, and how its Node is.
fn facts(node: &CoreNode, claim: Option<&Claim<'_>>, taints: &[Taint]) -> NodeFacts {
    let mut facts = claim.map(|claim| claim.facts.clone()).unwrap_or_default();
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    for condition in conditions {
        let since = time(condition.last_transition_time.as_ref());
        facts
            .conditions
            .insert(condition.type_.clone(), (ConditionStatus::from_name(&condition.status), since));
    }
    // A manifest without conditions is taken for a Node that works.
    facts.not_ready =
        facts.conditions.get("Ready").is_some_and(|(status, _)| *status != ConditionStatus::True);
    if claim.is_some() && facts.mark.is_none() && taints.iter().any(|taint| taint.key == labels::DISRUPTED) {
        facts.mark = Some(Mark { reason: None, since: None, replaced_by: Vec::new() });
    }
    facts
}

/// What the node lacks or has none of yet, as its claim has it.
fn fill(known: &mut Resources, claimed: &Resources) {
    for (name, amount) in claimed.iter() {
        if known.get(name).is_zero() {
            known.set(name, amount);
        }
    }
}
