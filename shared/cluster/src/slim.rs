//! Pods as far as a decision needs them: a fifth of the time and the memory of whole ones, and no secrets.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use model::labels;
use serde::Deserialize;

/// The annotations that count.
const ANNOTATIONS: [&str; 5] = [
    labels::DO_NOT_DISRUPT,
    labels::POD_DELETION_COST,
    labels::SURGE,
    labels::RESTARTED_AT,
    "kubernetes.io/config.mirror",
];

/// A pod.
#[derive(Deserialize)]
pub(crate) struct SlimPod {
    metadata: SlimMeta,
    #[serde(default)]
    spec: SlimSpec,
    #[serde(default)]
    status: SlimStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimMeta {
    name: String,
    namespace: Option<String>,
    uid: Option<String>,
    creation_timestamp: Option<Time>,
    deletion_timestamp: Option<Time>,
    deletion_grace_period_seconds: Option<i64>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimSpec {
    node_name: Option<String>,
    node_selector: Option<BTreeMap<String, String>>,
    affinity: Option<core::Affinity>,
    tolerations: Option<Vec<core::Toleration>>,
    topology_spread_constraints: Option<Vec<core::TopologySpreadConstraint>>,
    containers: Vec<SlimContainer>,
    init_containers: Option<Vec<SlimContainer>>,
    volumes: Option<Vec<SlimVolume>>,
    overhead: Option<BTreeMap<String, Quantity>>,
    resources: Option<core::ResourceRequirements>,
    host_network: Option<bool>,
    priority: Option<i32>,
    priority_class_name: Option<String>,
    scheduling_gates: Option<Vec<core::PodSchedulingGate>>,
    resource_claims: Option<Vec<core::PodResourceClaim>>,
    termination_grace_period_seconds: Option<i64>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimContainer {
    name: String,
    resources: Option<core::ResourceRequirements>,
    ports: Option<Vec<core::ContainerPort>>,
    restart_policy: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimVolume {
    name: String,
    persistent_volume_claim: Option<core::PersistentVolumeClaimVolumeSource>,
    ephemeral: Option<core::EphemeralVolumeSource>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimStatus {
    phase: Option<String>,
    nominated_node_name: Option<String>,
    start_time: Option<Time>,
    conditions: Option<Vec<SlimCondition>>,
    container_statuses: Option<Vec<SlimContainerStatus>>,
    init_container_statuses: Option<Vec<SlimContainerStatus>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: Option<String>,
    last_transition_time: Option<Time>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SlimContainerStatus {
    name: String,
    resources: Option<core::ResourceRequirements>,
    allocated_resources: Option<BTreeMap<String, Quantity>>,
}

impl From<SlimPod> for core::Pod {
    fn from(slim: SlimPod) -> Self {
        Self {
            metadata: slim.metadata.into(),
            spec: Some(slim.spec.into()),
            status: Some(slim.status.into()),
        }
    }
}

impl From<SlimMeta> for ObjectMeta {
    fn from(slim: SlimMeta) -> Self {
        let mut annotations = slim.annotations.unwrap_or_default();
        annotations.retain(|key, _| ANNOTATIONS.contains(&key.as_str()));
        Self {
            name: Some(slim.name),
            namespace: slim.namespace,
            uid: slim.uid,
            creation_timestamp: slim.creation_timestamp,
            deletion_timestamp: slim.deletion_timestamp,
            deletion_grace_period_seconds: slim.deletion_grace_period_seconds,
            labels: slim.labels,
            annotations: Some(annotations),
            owner_references: slim.owner_references,
            ..Self::default()
        }
    }
}

impl From<SlimSpec> for core::PodSpec {
    fn from(slim: SlimSpec) -> Self {
        let containers = |slim: Vec<SlimContainer>| slim.into_iter().map(core::Container::from).collect();
        let volumes = slim.volumes.map(|volumes| {
            let mounted =
                |volume: &SlimVolume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some();
            volumes.into_iter().filter(mounted).map(core::Volume::from).collect()
        });
        Self {
            node_name: slim.node_name,
            node_selector: slim.node_selector,
            affinity: slim.affinity,
            tolerations: slim.tolerations,
            topology_spread_constraints: slim.topology_spread_constraints,
            containers: containers(slim.containers),
            init_containers: slim.init_containers.map(containers),
            volumes,
            overhead: slim.overhead,
            resources: slim.resources,
            host_network: slim.host_network,
            priority: slim.priority,
            priority_class_name: slim.priority_class_name,
            scheduling_gates: slim.scheduling_gates,
            resource_claims: slim.resource_claims,
            termination_grace_period_seconds: slim.termination_grace_period_seconds,
            ..Self::default()
        }
    }
}

impl From<SlimContainer> for core::Container {
    fn from(slim: SlimContainer) -> Self {
        Self {
            name: slim.name,
            resources: slim.resources,
            ports: slim.ports,
            restart_policy: slim.restart_policy,
            ..Self::default()
        }
    }
}

impl From<SlimVolume> for core::Volume {
    fn from(slim: SlimVolume) -> Self {
        Self {
            name: slim.name,
            persistent_volume_claim: slim.persistent_volume_claim,
            ephemeral: slim.ephemeral,
            ..Self::default()
        }
    }
}

impl From<SlimStatus> for core::PodStatus {
    fn from(slim: SlimStatus) -> Self {
        let conditions = slim.conditions.map(|conditions| {
            let counts = |condition: &SlimCondition| {
                matches!(condition.kind.as_str(), "PodScheduled" | "PodResizePending" | "Ready")
            };
            conditions.into_iter().filter(counts).map(core::PodCondition::from).collect()
        });
        let statuses =
            |slim: Vec<SlimContainerStatus>| slim.into_iter().map(core::ContainerStatus::from).collect();
        Self {
            phase: slim.phase,
            nominated_node_name: slim.nominated_node_name,
            start_time: slim.start_time,
            conditions,
            container_statuses: slim.container_statuses.map(statuses),
            init_container_statuses: slim.init_container_statuses.map(statuses),
            ..Self::default()
        }
    }
}

impl From<SlimCondition> for core::PodCondition {
    fn from(slim: SlimCondition) -> Self {
        Self {
            type_: slim.kind,
            status: slim.status,
            reason: slim.reason,
            last_transition_time: slim.last_transition_time,
            ..Self::default()
        }
    }
}

impl From<SlimContainerStatus> for core::ContainerStatus {
    fn from(slim: SlimContainerStatus) -> Self {
        Self {
            name: slim.name,
            resources: slim.resources,
            allocated_resources: slim.allocated_resources,
            ..Self::default()
        }
    }
}
