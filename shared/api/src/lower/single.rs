//! One object at a time: what a machine's life is decided from.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use model::{
    Attachment, BoundPod, Claim, ClaimNode, Condition, ConditionStatus, ObjectName, Rollout, Surge, Taint,
    TaintEffect, deployment_of, labels,
};

use super::draft::{time, tolerations};
use super::objects::name_of;
use super::pools;
use super::requests::resources;
use crate::crd;

/// A NodeClaim with all that is written in it, or what can't be read.
pub fn claim(written: &crd::NodeClaim) -> Result<Claim, String> {
    let meta = &written.metadata;
    let spec = &written.spec;
    let status = written.status.clone().unwrap_or_default();
    let own_labels = meta.labels.clone().unwrap_or_default();
    let annotations = meta.annotations.clone().unwrap_or_default();
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    Ok(Claim {
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        version: meta.resource_version.clone().unwrap_or_default(),
        generation: meta.generation.unwrap_or_default(),
        pool: own_labels.get(labels::NODEPOOL).cloned(),
        node_class: pools::node_class(&spec.node_class_ref),
        launch_group: annotations.get(labels::LAUNCH_GROUP).cloned(),
        labels: own_labels,
        annotations,
        taints: pools::taints(&spec.taints),
        startup_taints: pools::taints(&spec.startup_taints),
        requirements: pools::requirements(&spec.requirements)?,
        requests: resources(spec.resources.as_ref().map(|resources| &resources.requests)),
        termination_grace_period: spec.termination_grace_period.as_deref().and_then(crd::duration),
        expire_after: crd::duration(&spec.expire_after),
        created: time(meta.creation_timestamp.as_ref()),
        deleting: meta.deletion_timestamp.as_ref().map(|time| time.0),
        finalizer: is_held(meta),
        provider_id: text(status.provider_id),
        image: text(status.image_id),
        node: text(status.node_name),
        capacity: resources(Some(&status.capacity)),
        allocatable: resources(Some(&status.allocatable)),
        conditions: conditions(&status.conditions),
    })
}

/// A Node that has a machine.
pub fn claim_node(node: &core::Node) -> Option<ClaimNode> {
    let meta = &node.metadata;
    let spec = node.spec.as_ref()?;
    let status = node.status.as_ref();
    let ready = status
        .and_then(|status| status.conditions.as_ref())
        .and_then(|conditions| conditions.iter().find(|condition| condition.type_ == "Ready"));
    Some(ClaimNode {
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        version: meta.resource_version.clone().unwrap_or_default(),
        provider_id: spec.provider_id.clone().filter(|id| !id.is_empty())?,
        labels: meta.labels.clone().unwrap_or_default(),
        annotations: meta.annotations.clone().unwrap_or_default(),
        taints: pools::taints(spec.taints.as_deref().unwrap_or_default()),
        ready: ready.map_or(ConditionStatus::Unknown, |ready| ConditionStatus::from_name(&ready.status)),
        allocatable: resources(status.and_then(|status| status.allocatable.as_ref())),
        capacity: resources(status.and_then(|status| status.capacity.as_ref())),
        finalizer: is_held(meta),
        owned: meta.owner_references.iter().flatten().any(|owner| owner.kind == "NodeClaim"),
        created: time(meta.creation_timestamp.as_ref()),
        deleting: meta.deletion_timestamp.as_ref().map(|time| time.0),
    })
}

/// A pod on a node; `volume` knows the persistent volume of a claim.
pub fn bound_pod(pod: &core::Pod, volume: impl Fn(&ObjectName) -> Option<String>) -> Option<BoundPod> {
    let meta = &pod.metadata;
    let name = name_of(meta);
    let spec = pod.spec.as_ref()?;
    let status = pod.status.as_ref();
    let owned_by = |kind: &str, version: &str| {
        meta.owner_references.iter().flatten().any(|owner| owner.kind == kind && owner.api_version == version)
    };
    let annotation = |key: &str| meta.annotations.as_ref().and_then(|all| all.get(key)).cloned();
    let deployment = || {
        let owned =
            |owner: &&meta::OwnerReference| owner.kind == "ReplicaSet" && owner.controller == Some(true);
        let replica_set = meta.owner_references.iter().flatten().find(owned)?;
        deployment_of(&replica_set.name, meta.labels.as_ref()?).map(str::to_owned)
    };
    let disrupted =
        Taint { key: labels::DISRUPTED.to_owned(), value: String::new(), effect: TaintEffect::NoSchedule };
    let tolerated = tolerations(spec, &mut Vec::new());
    let claims = super::draft::volumes(&name.name, spec);
    let claims = claims.into_iter().map(|mounted| ObjectName::new(&name.namespace, mounted.claim));
    Some(BoundPod {
        uid: meta.uid.clone().unwrap_or_default(),
        node: spec.node_name.clone().filter(|node| !node.is_empty())?,
        daemon: owned_by("DaemonSet", "apps/v1"),
        mirror: owned_by("Node", "v1") || annotation("kubernetes.io/config.mirror").is_some(),
        critical: matches!(
            spec.priority_class_name.as_deref(),
            Some("system-cluster-critical" | "system-node-critical")
        ),
        tolerates_disruption: tolerated.iter().any(|toleration| toleration.tolerates(&disrupted)),
        do_not_disrupt: annotation(labels::DO_NOT_DISRUPT),
        finished: matches!(status.and_then(|status| status.phase.as_deref()), Some("Succeeded" | "Failed")),
        started: status.and_then(|status| status.start_time.as_ref()).map(|time| time.0),
        deleting: meta.deletion_timestamp.as_ref().map(|time| time.0),
        // What the API server fills in.
        grace_seconds: spec.termination_grace_period_seconds.unwrap_or(30),
        volumes: claims.filter_map(|claim| volume(&claim)).collect(),
        surge: annotation(labels::SURGE).map(|text| Surge {
            text,
            deployment: deployment(),
            restarted: annotation(labels::RESTARTED_AT),
        }),
        name,
    })
}

/// How a Deployment brings new pods in the place of old ones. What it leaves open is as the API server would fill it in.
pub fn rollout(deployment: &apps::Deployment) -> Rollout {
    let meta = &deployment.metadata;
    let spec = deployment.spec.clone().unwrap_or_default();
    let replicas = spec.replicas.unwrap_or(1).into();
    let strategy = spec.strategy.unwrap_or_default();
    let rolling = strategy.rolling_update.unwrap_or_default();
    let annotations = spec.template.metadata.and_then(|meta| meta.annotations).unwrap_or_default();
    Rollout {
        uid: meta.uid.clone().unwrap_or_default(),
        replicas,
        rolling: strategy.type_.is_none_or(|kind| kind == "RollingUpdate"),
        max_surge: part(rolling.max_surge.as_ref(), replicas, 99),
        max_unavailable: part(rolling.max_unavailable.as_ref(), replicas, 0),
        progress_deadline_seconds: spec.progress_deadline_seconds.unwrap_or(600).into(),
        paused: spec.paused.unwrap_or_default(),
        deleting: meta.deletion_timestamp.is_some(),
        restarted: annotations.get(labels::RESTARTED_AT).cloned(),
    }
}

/// A number of pods: as such, or as a share of all with `more` hundredths of a pod on top. A quarter where none is given.
fn part(written: Option<&IntOrString>, all: i64, more: i64) -> i64 {
    let percent = match written {
        Some(IntOrString::Int(number)) => return (*number).into(),
        Some(IntOrString::String(text)) => {
            text.strip_suffix('%').and_then(|text| text.parse::<i32>().ok()).unwrap_or_default()
        }
        None => 25,
    };
    (all * i64::from(percent) + more) / 100
}

/// The claims that a pod mounts, as `bound_pod` will ask for them.
pub fn mounted_claims(pod: &core::Pod) -> Vec<ObjectName> {
    let name = name_of(&pod.metadata);
    let mounted = pod.spec.as_ref().map(|spec| super::draft::volumes(&name.name, spec));
    let mounted = mounted.unwrap_or_default().into_iter();
    mounted.map(|mounted| ObjectName::new(&name.namespace, mounted.claim)).collect()
}

/// A persistent volume attached to a node.
pub fn attachment(written: &VolumeAttachment) -> Option<Attachment> {
    Some(Attachment {
        name: written.metadata.name.clone().unwrap_or_default(),
        node: written.spec.node_name.clone(),
        volume: written.spec.source.persistent_volume_name.clone()?,
    })
}

/// Conditions by type.
fn conditions(written: &[meta::Condition]) -> BTreeMap<String, Condition> {
    let conditions = written.iter().map(|written| {
        let condition = Condition {
            status: ConditionStatus::from_name(&written.status),
            reason: written.reason.clone(),
            message: written.message.clone(),
            since: written.last_transition_time.0,
            generation: written.observed_generation.unwrap_or_default(),
        };
        (written.type_.clone(), condition)
    });
    conditions.collect()
}

fn is_held(meta: &meta::ObjectMeta) -> bool {
    meta.finalizers.iter().flatten().any(|finalizer| finalizer == labels::FINALIZER)
}
