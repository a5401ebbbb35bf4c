//! NodeClaims: what is known of an instance before its Node tells.

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::{DisruptionReason, Mark, Node, NodeFacts, Resources, Taint, TaintEffect, labels};

use super::draft::time;
use super::objects::name_of;
use super::pools;
use super::requests::resources;
use crate::crd;

/// A NodeClaim as far as it bears on its node.
pub(super) struct Claim<'a> {
    pub(super) name: String,
    pub(super) provider_id: Option<&'a str>,
    pub(super) node_name: Option<&'a str>,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) annotations: Option<&'a BTreeMap<String, String>>,
    pub(super) taints: Vec<Taint>,
    pub(super) startup_taints: Vec<Taint>,
    pub(super) capacity: Resources,
    pub(super) allocatable: Resources,
    pub(super) deleting: bool,
    pub(super) created: Timestamp,
    pub(super) last_pod_event: Option<Timestamp>,
    pub(super) facts: NodeFacts,
}

impl<'a> Claim<'a> {
    pub(super) fn new(claim: &'a crd::NodeClaim) -> Self {
        let status = claim.status.as_ref();
        let text = |text: Option<&'a String>| text.map(String::as_str).filter(|text| !text.is_empty());
        let condition = |kind: &str| {
            let conditions = status.map(|status| status.conditions.as_slice()).unwrap_or_default();
            conditions.iter().find(|condition| condition.type_ == kind && condition.status == "True")
        };
        let mut own = claim.metadata.labels.clone().unwrap_or_default();
        // Before the launch only the requirements tell what the node will be.
        let requirements = pools::requirements(&claim.spec.requirements).unwrap_or_default();
        for (key, requirement) in requirements.iter() {
            if let Some(value) = requirement.single().filter(|_| key != labels::USD_PER_HOUR) {
                own.entry(key.to_owned()).or_insert_with(|| value.to_owned());
            }
        }
        let class = pools::node_class(&claim.spec.node_class_ref);
        own.entry(class.label()).or_insert(class.name);
        let requests = claim.spec.resources.as_ref().map(|resources| &resources.requests);
        let mut allocatable = resources(status.map(|status| &status.allocatable));
        if allocatable.0.is_empty() {
            // Not launched yet: it will hold at least what it was asked for.
            allocatable = resources(requests);
        }
        let mut capacity = resources(status.map(|status| &status.capacity));
        if capacity.0.is_empty() {
            capacity = allocatable.clone();
        }
        let facts = NodeFacts {
            claim_uid: claim.metadata.uid.clone(),
            annotations: claim.metadata.annotations.clone().unwrap_or_default(),
            mark: mark(claim, condition("DisruptionReason").map(|condition| condition.reason.as_str())),
            image: text(status.and_then(|status| status.image_id.as_ref())).map(str::to_owned),
            expire_after: crd::duration(&claim.spec.expire_after),
            termination_grace_period: claim.spec.termination_grace_period.as_deref().and_then(crd::duration),
            drifted: condition("Drifted").map(|condition| condition.last_transition_time.0),
            findings: ["Drifted", "Consolidatable"]
                .into_iter()
                .filter_map(|kind| Some((kind.to_owned(), condition(kind)?.reason.clone())))
                .collect(),
            pod_event: status.and_then(|status| status.last_pod_event_time.as_ref()).map(|event| event.0),
            generation: claim.metadata.generation.unwrap_or_default(),
            ..NodeFacts::default()
        };
        let initialized = condition("Initialized").map(|condition| condition.last_transition_time.0);
        Self {
            name: name_of(&claim.metadata).name,
            provider_id: text(status.and_then(|status| status.provider_id.as_ref())),
            node_name: text(status.and_then(|status| status.node_name.as_ref())),
            labels: own,
            annotations: claim.metadata.annotations.as_ref(),
            taints: pools::taints(&claim.spec.taints),
            startup_taints: pools::taints(&claim.spec.startup_taints),
            capacity,
            allocatable,
            deleting: claim.metadata.deletion_timestamp.is_some()
                || condition("InstanceTerminating").is_some(),
            created: time(claim.metadata.creation_timestamp.as_ref()),
            last_pod_event: facts.pod_event.or(initialized),
            facts,
        }
    }
}

/// What a NodeClaim says of its end to come.
fn mark(claim: &crd::NodeClaim, reason: Option<&str>) -> Option<Mark> {
    let annotation = |key: &str| claim.metadata.annotations.as_ref().and_then(|all| all.get(key));
    let replaced_by = annotation(labels::REPLACED_BY);
    let since = annotation(labels::DISRUPTED_SINCE);
    (replaced_by.is_some() || since.is_some() || reason.is_some()).then(|| Mark {
        reason: reason.and_then(DisruptionReason::from_name),
        since: since.and_then(|since| since.parse().ok()),
        replaced_by: replaced_by
            .map(|names| names.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect())
            .unwrap_or_default(),
    })
}

/// A claim whose node has not joined.
pub(super) fn alone(claim: &Claim<'_>) -> Node {
    let mut taints = claim.taints.clone();
    taints.retain(|taint| !passes(taint, &claim.startup_taints));
    Node {
        name: claim.name.clone(),
        claim: Some(claim.name.clone()),
        provider_id: claim.provider_id.map(str::to_owned),
        labels: claim.labels.clone(),
        taints,
        capacity: claim.capacity.clone(),
        allocatable: claim.allocatable.clone(),
        registered: false,
        initialized: false,
        has_node: false,
        deleting: claim.deleting,
        created: claim.created,
        last_pod_event: claim.last_pod_event,
        do_not_disrupt: is_protected(claim.annotations),
        volume_limits: BTreeMap::new(),
        disruption: claim.facts.clone(),
    }
}

/// Whether annotations say not to disrupt: by `true` alone, on nodes.
pub(super) fn is_protected(annotations: Option<&BTreeMap<String, String>>) -> bool {
    annotations.and_then(|all| all.get(labels::DO_NOT_DISRUPT)).is_some_and(|value| value == "true")
}

/// Whether a taint goes away by itself before the node is initialized.
pub(super) fn passes(taint: &Taint, startup: &[Taint]) -> bool {
    const KNOWN: [(&str, TaintEffect); 5] = [
        ("node.kubernetes.io/not-ready", TaintEffect::NoSchedule),
        ("node.kubernetes.io/not-ready", TaintEffect::NoExecute),
        ("node.kubernetes.io/unreachable", TaintEffect::NoSchedule),
        ("node.cloudprovider.kubernetes.io/uninitialized", TaintEffect::NoSchedule),
        ("karpenter.sh/unregistered", TaintEffect::NoExecute),
    ];
    taint.key.starts_with("readiness.k8s.io/")
        || KNOWN.contains(&(taint.key.as_str(), taint.effect))
        || startup.iter().any(|start| start.matches(taint))
}
