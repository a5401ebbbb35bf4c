//! Pods as far as they can be lowered alone: what needs other objects comes later, once for all that are alike.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use model::{
    HostPort, LabelSelector, ObjectName, Owner, Phase, PodFacts, PodSpec, Requirement, Requirements, Spread,
    TaintEffect, Toleration, TolerationOperator, Weighted, labels,
};

use super::affinity;
use super::objects::name_of;
use super::requests;
use super::requirement::{rule, term, term_faults};
use super::selector::{selector, with_label_keys};

/// A pod's specification with what is still open.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Draft {
    pub(super) spec: PodSpec,
    /// Terms that look into namespaces by label.
    pub(super) open: Vec<OpenTerm>,
}

/// A term of pod affinity whose namespaces are selected by label.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct OpenTerm {
    pub(super) list: affinity::List,
    pub(super) index: usize,
    /// `None` can't be read and selects none.
    pub(super) selector: Option<LabelSelector>,
}

/// A claim that a pod mounts.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct VolumeRef {
    /// The claim's name.
    pub(super) claim: String,
    /// The claim is made for the pod, with this StorageClass, if it isn't there yet.
    pub(super) made_with: Option<Option<String>>,
}

/// A pod of the input.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PodEntry {
    pub(super) name: ObjectName,
    pub(super) uid: String,
    pub(super) created: Timestamp,
    pub(super) node: Option<String>,
    pub(super) phase: Phase,
    pub(super) terminating: bool,
    pub(super) unschedulable: bool,
    /// The node it is promised.
    pub(super) nominated: Option<String>,
    pub(super) owner: Option<Owner>,
    pub(super) daemon: bool,
    pub(super) mirror: bool,
    pub(super) do_not_disrupt: Option<String>,
    pub(super) disruption: PodFacts,
    pub(super) volumes: Vec<VolumeRef>,
    /// Which of the drafts is its own.
    pub(super) draft: usize,
}

impl PodEntry {
    /// The pod, and its specification to be shared.
    pub(super) fn new(pod: core::Pod) -> (Self, Draft) {
        let meta = &pod.metadata;
        let name = name_of(meta);
        let spec = pod.spec.unwrap_or_default();
        let status = pod.status.as_ref();
        let owners = meta.owner_references.as_deref().unwrap_or_default();
        let owned_by = |kind: &str, version: &str| {
            owners.iter().any(|owner| owner.kind == kind && owner.api_version == version)
        };
        let annotation = |key: &str| meta.annotations.as_ref().and_then(|all| all.get(key)).cloned();
        let node = spec.node_name.clone().filter(|node| !node.is_empty());
        let entry = Self {
            uid: meta.uid.clone().unwrap_or_default(),
            created: time(meta.creation_timestamp.as_ref()),
            phase: phase(status, node.is_some()),
            terminating: meta.deletion_timestamp.is_some(),
            unschedulable: node.is_none() && unschedulable(&spec, status),
            nominated: status
                .and_then(|status| status.nominated_node_name.clone())
                .filter(|node| !node.is_empty()),
            owner: controller(owners),
            daemon: owned_by("DaemonSet", "apps/v1"),
            mirror: owned_by("Node", "v1") || annotation("kubernetes.io/config.mirror").is_some(),
            do_not_disrupt: annotation(labels::DO_NOT_DISRUPT),
            disruption: facts(meta, status),
            volumes: volumes(&name.name, &spec),
            draft: 0,
            node,
            name,
        };
        let draft = draft(&entry.name.namespace, meta, &spec, status);
        (entry, draft)
    }
}

/// What bears on whether a pod's node may go. A manifest of a pod that runs says nothing of whether it is Ready.
pub(super) fn facts(meta: &ObjectMeta, status: Option<&core::PodStatus>) -> PodFacts {
    let annotation = |key: &str| meta.annotations.as_ref().and_then(|all| all.get(key));
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    PodFacts {
        deletion_cost: annotation(labels::POD_DELETION_COST)
            .and_then(|cost| cost.parse().ok())
            .unwrap_or_default(),
        started: status.and_then(|status| status.start_time.as_ref()).map(|time| time.0),
        unready: conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "False"),
        event: event(meta, status, conditions),
        surge: annotation(labels::SURGE).is_some_and(|text| text == "true"),
    }
}

/// When a pod came to its node, ended, or was asked to leave, whichever was last.
fn event(
    meta: &ObjectMeta,
    status: Option<&core::PodStatus>,
    conditions: &[core::PodCondition],
) -> Option<Timestamp> {
    let turned = |kind: &str, to: &str| {
        let found = conditions.iter().find(|condition| condition.type_ == kind && condition.status == to)?;
        Some(found.last_transition_time.as_ref()?.0)
    };
    let started = status.and_then(|status| status.start_time.as_ref()).map(|time| time.0);
    let came = turned("PodScheduled", "True").or(started);
    let ended = matches!(phase(status, true), Phase::Terminal).then(|| turned("Ready", "False")).flatten();
    // The timestamp is when it is to be gone.
    let leaving = meta.deletion_timestamp.as_ref().map(|gone| {
        gone.0 - SignedDuration::from_secs(meta.deletion_grace_period_seconds.unwrap_or_default())
    });
    [came, ended, leaving].into_iter().flatten().max()
}

/// A time; the epoch where none is given.
pub(super) fn time(time: Option<&Time>) -> Timestamp {
    time.map_or(Timestamp::UNIX_EPOCH, |time| time.0)
}

fn phase(status: Option<&core::PodStatus>, bound: bool) -> Phase {
    match status.and_then(|status| status.phase.as_deref()) {
        Some("Succeeded" | "Failed") => Phase::Terminal,
        Some("Running") => Phase::Running,
        // A manifest that names its node stands for a pod that runs there.
        None if bound => Phase::Running,
        _ => Phase::Pending,
    }
}

/// Whether kube-scheduler has found no place: by its condition, or for want of one because it is a manifest.
fn unschedulable(spec: &core::PodSpec, status: Option<&core::PodStatus>) -> bool {
    let conditions = status.and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    match conditions.iter().find(|condition| condition.type_ == "PodScheduled") {
        Some(condition) => condition.reason.as_deref() == Some("Unschedulable"),
        None => spec.scheduling_gates.as_ref().is_none_or(Vec::is_empty),
    }
}

/// The controller among the owners, else the first of them.
fn controller(owners: &[OwnerReference]) -> Option<Owner> {
    let owner = owners.iter().find(|owner| owner.controller == Some(true)).or(owners.first())?;
    Some(Owner { kind: owner.kind.clone(), name: owner.name.clone() })
}

/// The claims that a pod mounts.
pub(super) fn volumes(pod: &str, spec: &core::PodSpec) -> Vec<VolumeRef> {
    let volumes = spec.volumes.iter().flatten();
    let claims = volumes.filter_map(|volume| match (&volume.persistent_volume_claim, &volume.ephemeral) {
        (Some(claim), _) => Some(VolumeRef { claim: claim.claim_name.clone(), made_with: None }),
        (None, Some(ephemeral)) => {
            let template = ephemeral.volume_claim_template.as_ref();
            let class = template.and_then(|template| template.spec.storage_class_name.clone());
            Some(VolumeRef { claim: format!("{pod}-{}", volume.name), made_with: Some(class) })
        }
        (None, None) => None,
    });
    claims.collect()
}

/// The specification of pods with this metadata in `namespace`.
pub(super) fn draft(
    namespace: &str,
    meta: &ObjectMeta,
    spec: &core::PodSpec,
    status: Option<&core::PodStatus>,
) -> Draft {
    let own_labels = meta.labels.clone().unwrap_or_default();
    let mut faults = Vec::new();
    let requests = requests::of_pod(spec, status);
    for (name, _) in requests.iter().filter(|(_, amount)| *amount < model::Quantity::ZERO) {
        faults.push(format!("asks a negative amount of {name}"));
    }
    if spec.resource_claims.as_ref().is_some_and(|claims| !claims.is_empty()) {
        faults.push("asks for devices by resourceClaims, which are not supported".to_owned());
    }

    let mut node_selector = Requirements::new();
    for (key, value) in spec.node_selector.iter().flatten() {
        faults.extend(rule(key, "In", std::slice::from_ref(value)));
        node_selector.add(key, Requirement::is_in([value.as_str()]));
    }
    let affinity = spec.affinity.as_ref();
    let node_affinity = affinity.and_then(|affinity| affinity.node_affinity.as_ref());
    let required = required(node_affinity, &mut faults);
    let mut open = Vec::new();
    let terms = affinity::Terms::new(namespace, &own_labels, affinity, &mut open);
    let tolerations = tolerations(spec, &mut faults);
    let spread = spread(spec, &own_labels, &mut faults);
    let spec = PodSpec {
        requests,
        node_selector,
        required,
        preferred: preferred(node_affinity),
        tolerations,
        spread,
        affinity: terms.affinity,
        anti_affinity: terms.anti_affinity,
        preferred_affinity: terms.preferred_affinity,
        preferred_anti_affinity: terms.preferred_anti_affinity,
        host_ports: host_ports(spec),
        priority: spec.priority.unwrap_or_default(),
        faults,
        labels: own_labels,
    };
    Draft { spec, open }
}

/// The terms of required node affinity. An empty one selects no node, so it is no way out.
fn required(affinity: Option<&core::NodeAffinity>, faults: &mut Vec<String>) -> Vec<Requirements> {
    let selector = affinity.and_then(|it| it.required_during_scheduling_ignored_during_execution.as_ref());
    let Some(selector) = selector else { return Vec::new() };
    let mut terms = Vec::new();
    for written in &selector.node_selector_terms {
        let own_faults = term_faults(written);
        let expressions = written.match_expressions.as_deref().unwrap_or_default();
        if own_faults.is_empty() && !expressions.is_empty() {
            terms.push(term(expressions).0);
        }
        faults.extend(own_faults);
    }
    if terms.is_empty() && faults.is_empty() {
        faults.push("required node affinity without a term that says anything selects no node".to_owned());
    }
    terms
}

/// Preferred terms; one that can't be read is no preference.
fn preferred(affinity: Option<&core::NodeAffinity>) -> Vec<Weighted<Requirements>> {
    let terms = affinity.and_then(|it| it.preferred_during_scheduling_ignored_during_execution.as_ref());
    let terms = terms.into_iter().flatten().filter_map(|preferred| {
        let by_field = preferred.preference.match_fields.as_ref().is_some_and(|fields| !fields.is_empty());
        let expressions = preferred.preference.match_expressions.as_deref().unwrap_or_default();
        let (requirements, faults) = term(expressions);
        let said = !by_field && faults.is_empty() && !requirements.is_empty();
        said.then_some(Weighted { weight: preferred.weight, term: requirements })
    });
    terms.collect()
}

/// An effect by its name.
pub(super) fn effect(name: &str) -> Option<TaintEffect> {
    match name {
        "NoSchedule" => Some(TaintEffect::NoSchedule),
        "PreferNoSchedule" => Some(TaintEffect::PreferNoSchedule),
        "NoExecute" => Some(TaintEffect::NoExecute),
        _ => None,
    }
}

/// Tolerations; what can't be read is a fault.
pub(super) fn tolerations(spec: &core::PodSpec, faults: &mut Vec<String>) -> Vec<Toleration> {
    let mut read = Vec::new();
    for toleration in spec.tolerations.iter().flatten() {
        let operator = match toleration.operator.as_deref() {
            None | Some("" | "Equal") => TolerationOperator::Equal,
            Some("Exists") => TolerationOperator::Exists,
            Some("Lt") => TolerationOperator::Lt,
            Some("Gt") => TolerationOperator::Gt,
            Some(other) => {
                faults.push(format!(
                    "{other:?} is not an operator of tolerations; use Equal, Exists, Lt or Gt"
                ));
                continue;
            }
        };
        let written = toleration.effect.as_deref().filter(|effect| !effect.is_empty());
        let known = written.and_then(effect);
        if let (Some(written), None) = (written, known) {
            faults.push(format!(
                "{written:?} is not an effect of taints; use NoSchedule, PreferNoSchedule or NoExecute"
            ));
            continue;
        }
        read.push(Toleration {
            key: toleration.key.clone().filter(|key| !key.is_empty()),
            operator,
            value: toleration.value.clone().unwrap_or_default(),
            effect: known,
        });
    }
    read
}

fn spread(spec: &core::PodSpec, own: &BTreeMap<String, String>, faults: &mut Vec<String>) -> Vec<Spread> {
    let mut constraints = Vec::new();
    for constraint in spec.topology_spread_constraints.iter().flatten() {
        match u32::try_from(constraint.max_skew) {
            Ok(max_skew) if max_skew > 0 => constraints.push(spread_of(constraint, max_skew, own)),
            _ => faults.push(format!(
                "topology spread by {}: maxSkew {} must be at least 1",
                constraint.topology_key, constraint.max_skew
            )),
        }
    }
    constraints
}

/// A spread constraint with the pod's own values of `matchLabelKeys` in its selector.
pub(super) fn spread_of(
    constraint: &core::TopologySpreadConstraint,
    max_skew: u32,
    own: &BTreeMap<String, String>,
) -> Spread {
    let hard = constraint.when_unsatisfiable != "ScheduleAnyway";
    let counted = constraint.label_selector.as_ref().and_then(selector);
    let min_domains = constraint.min_domains.and_then(|least| u32::try_from(least).ok());
    Spread {
        key: constraint.topology_key.clone(),
        max_skew,
        hard,
        min_domains: min_domains.filter(|_| hard),
        selector: with_label_keys(counted, constraint.match_label_keys.as_ref(), None, own),
        honor_affinity: constraint.node_affinity_policy.as_deref() != Some("Ignore"),
        honor_taints: constraint.node_taints_policy.as_deref() == Some("Honor"),
    }
}

/// Ports of containers and sidecars; on the host's network every port is one of the host.
fn host_ports(spec: &core::PodSpec) -> std::collections::BTreeSet<HostPort> {
    let on_host = spec.host_network == Some(true);
    let sidecars = spec.init_containers.iter().flatten().filter(|container| requests::is_sidecar(container));
    let ports = spec.containers.iter().chain(sidecars).flat_map(|container| container.ports.iter().flatten());
    let host = ports.filter_map(|port| {
        let number = port.host_port.filter(|&number| number > 0);
        let number = number.or(if on_host { Some(port.container_port) } else { None })?;
        let text = |text: &Option<String>, default: &str| {
            text.clone().filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned())
        };
        Some(HostPort {
            ip: text(&port.host_ip, "0.0.0.0"),
            port: u16::try_from(number).ok()?,
            protocol: text(&port.protocol, "TCP"),
        })
    });
    host.collect()
}
