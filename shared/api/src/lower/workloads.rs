//! Workloads: the pods that their controllers are still to make.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{PodTemplateSpec, ReplicationController};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};
use model::{ObjectName, Owner, Phase, Pod};

use super::draft::{PodEntry, VolumeRef, draft, facts, time, volumes};
use super::objects::{Objects, Placed, name_of};
use super::selector::selector;
use super::{Lowering, affinity, limits};

/// What makes pods, of whatever kind.
#[derive(Clone, Debug)]
pub(super) struct Workload {
    pub(super) kind: &'static str,
    pub(super) name: ObjectName,
    pub(super) selector: Option<LabelSelector>,
    pub(super) placed: Placed,
    owner: Option<Owner>,
    created: Timestamp,
    /// How many pods there are to be.
    replicas: u32,
    /// The first one's number.
    start: u32,
    template: PodTemplateSpec,
    /// Claims made for each pod: name and StorageClass.
    claims: Vec<(String, Option<String>)>,
}

impl Workload {
    fn new(kind: &'static str, meta: &ObjectMeta, replicas: i32, template: Option<PodTemplateSpec>) -> Self {
        let owners = meta.owner_references.as_deref().unwrap_or_default();
        Self {
            kind,
            name: name_of(meta),
            selector: None,
            placed: Placed::Pending,
            owner: owners.first().map(|owner| Owner { kind: owner.kind.clone(), name: owner.name.clone() }),
            created: time(meta.creation_timestamp.as_ref()),
            replicas: if meta.deletion_timestamp.is_some() {
                0
            } else {
                u32::try_from(replicas).unwrap_or_default()
            },
            start: 0,
            template: template.unwrap_or_default(),
            claims: Vec::new(),
        }
    }

    /// Drops environment variables.
    pub(super) fn template_without_secrets(&mut self) {
        let Some(spec) = &mut self.template.spec else { return };
        for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
            container.env = None;
            container.env_from = None;
        }
    }

    fn owns(&self, owner: &Owner) -> bool {
        self.kind == owner.kind && self.name.name == owner.name
    }
}

impl From<Deployment> for Workload {
    fn from(from: Deployment) -> Self {
        let spec = from.spec.unwrap_or_default();
        let workload =
            Self::new("Deployment", &from.metadata, spec.replicas.unwrap_or(1), Some(spec.template));
        Self { selector: Some(spec.selector), ..workload }
    }
}

impl From<ReplicaSet> for Workload {
    fn from(from: ReplicaSet) -> Self {
        let spec = from.spec.unwrap_or_default();
        let workload = Self::new("ReplicaSet", &from.metadata, spec.replicas.unwrap_or(1), spec.template);
        Self { selector: Some(spec.selector), ..workload }
    }
}

impl From<StatefulSet> for Workload {
    fn from(from: StatefulSet) -> Self {
        let spec = from.spec.unwrap_or_default();
        let workload =
            Self::new("StatefulSet", &from.metadata, spec.replicas.unwrap_or(1), Some(spec.template));
        let start =
            spec.ordinals.and_then(|ordinals| ordinals.start).and_then(|start| u32::try_from(start).ok());
        let claims = spec.volume_claim_templates.into_iter().flatten().map(|claim| {
            let class = claim.spec.and_then(|spec| spec.storage_class_name);
            (claim.metadata.name.unwrap_or_default(), class)
        });
        Self {
            selector: Some(spec.selector),
            start: start.unwrap_or_default(),
            claims: claims.collect(),
            ..workload
        }
    }
}

impl From<ReplicationController> for Workload {
    fn from(from: ReplicationController) -> Self {
        let spec = from.spec.unwrap_or_default();
        let selector =
            spec.selector.map(|labels| LabelSelector { match_labels: Some(labels), ..Default::default() });
        let replicas = spec.replicas.unwrap_or(1);
        let workload = Self::new("ReplicationController", &from.metadata, replicas, spec.template);
        Self { selector, ..workload }
    }
}

impl From<Job> for Workload {
    fn from(from: Job) -> Self {
        let spec = from.spec.unwrap_or_default();
        let succeeded = from.status.and_then(|status| status.succeeded).unwrap_or_default();
        let left = spec.completions.map_or(i32::MAX, |completions| completions.saturating_sub(succeeded));
        let at_once = if spec.suspend == Some(true) { 0 } else { spec.parallelism.unwrap_or(1).min(left) };
        Self::new("Job", &from.metadata, at_once, Some(spec.template))
    }
}

/// The pods there are, by what they belong to.
struct Census<'a> {
    owned: BTreeMap<(&'a str, &'a Owner), Vec<&'a PodEntry>>,
    /// Pods whose owner was not given, by namespace.
    loose: BTreeMap<&'a str, Vec<&'a PodEntry>>,
    names: BTreeSet<&'a ObjectName>,
}

impl<'a> Census<'a> {
    fn new(objects: &'a Objects) -> Self {
        let known: BTreeSet<(&str, &str, &str)> = objects
            .workloads
            .iter()
            .map(|workload| (workload.name.namespace.as_str(), workload.kind, workload.name.name.as_str()))
            .collect();
        let mut census = Self { owned: BTreeMap::new(), loose: BTreeMap::new(), names: BTreeSet::new() };
        for pod in &objects.pods {
            census.names.insert(&pod.name);
            if pod.phase == Phase::Terminal || pod.terminating {
                continue;
            }
            let namespace = pod.name.namespace.as_str();
            match &pod.owner {
                Some(owner) if known.contains(&(namespace, owner.kind.as_str(), owner.name.as_str())) => {
                    census.owned.entry((namespace, owner)).or_default().push(pod);
                }
                _ => census.loose.entry(namespace).or_default().push(pod),
            }
        }
        census
    }

    /// How many pods of `workload` there are: its own, those of its ReplicaSets, and those it selects whose
    /// owner is not known.
    fn count(&self, objects: &Objects, workload: &Workload) -> usize {
        let namespace = workload.name.namespace.as_str();
        let own = Owner { kind: workload.kind.to_owned(), name: workload.name.name.clone() };
        let owned = |owner: &Owner| self.owned.get(&(namespace, owner)).map_or(0, Vec::len);
        let through_sets: usize = objects
            .workloads
            .iter()
            .filter(|set| set.name.namespace == namespace && set.owner.as_ref() == Some(&own))
            .map(|set| owned(&Owner { kind: set.kind.to_owned(), name: set.name.name.clone() }))
            .sum();
        let selects = workload.selector.as_ref().and_then(selector).filter(|selector| !selector.0.is_empty());
        let selected = self.loose.get(namespace).into_iter().flatten().filter(|pod| {
            let labels = objects.drafts.get(pod.draft).map(|draft| &draft.spec.labels);
            selects.as_ref().zip(labels).is_some_and(|(selector, labels)| selector.matches(labels))
        });
        owned(&own) + through_sets + selected.count()
    }
}

impl Lowering<'_> {
    /// Adds a pending pod for each that a workload lacks.
    pub(super) fn workloads(&mut self) {
        let objects = self.objects;
        let census = Census::new(objects);
        for workload in &objects.workloads {
            // A Deployment speaks for its ReplicaSets.
            let spoken_for = workload.owner.as_ref().is_some_and(|owner| {
                objects
                    .workloads
                    .iter()
                    .any(|other| other.owns(owner) && other.name.namespace == workload.name.namespace)
            });
            if !spoken_for {
                let there = census.count(objects, workload);
                self.expand(workload, u32::try_from(there).unwrap_or(u32::MAX), &census.names);
            }
        }
    }

    fn expand(&mut self, workload: &Workload, there: u32, taken: &BTreeSet<&ObjectName>) {
        let missing = workload.replicas.saturating_sub(there);
        if missing == 0 {
            return;
        }
        let objects = self.objects;
        let namespace = &workload.name.namespace;
        let mut template = workload.template.spec.clone().unwrap_or_default();
        limits::apply(objects.limit_ranges.get(namespace), &mut template);
        let meta = workload.template.metadata.clone().unwrap_or_default();
        let written = draft(namespace, &meta, &template, None);
        let spec = self.share(affinity::close(&written, &objects.namespaces));
        let owner = Owner { kind: workload.kind.to_owned(), name: workload.name.name.clone() };
        let spec = self.with_default_spread(&workload.name, Some(&owner), spec);
        let do_not_disrupt = meta.annotations.as_ref().and_then(|all| all.get(model::labels::DO_NOT_DISRUPT));
        let gated = template.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
        let ordinal = workload.kind == "StatefulSet";
        let mut number = if ordinal { workload.start } else { there };
        let mut made = 0;
        while made < missing {
            let name = ObjectName::new(namespace, format!("{}-{number}", workload.name.name));
            number = number.saturating_add(1);
            if taken.contains(&name) {
                continue;
            }
            made += 1;
            let mut mounts = volumes(&name.name, &template);
            mounts.extend(workload.claims.iter().map(|(claim, class)| VolumeRef {
                claim: format!("{claim}-{}", name.name),
                made_with: Some(class.clone()),
            }));
            let node = match &workload.placed {
                Placed::Pending => template.node_name.clone().filter(|node| !node.is_empty()),
                Placed::All(node) => Some(node.clone()),
                Placed::Some(nodes) => nodes.get(&name.name).cloned(),
            };
            let resolved = self.volumes(namespace, &mounts);
            self.cluster.pods.push(Pod {
                uid: String::new(),
                created: workload.created,
                phase: if node.is_some() { Phase::Running } else { Phase::Pending },
                terminating: false,
                unschedulable: node.is_none() && !gated,
                owner: Some(owner.clone()),
                daemon: false,
                mirror: false,
                do_not_disrupt: do_not_disrupt.cloned(),
                disruption: facts(&meta, None),
                volumes: resolved,
                spec: Arc::clone(&spec),
                node,
                name,
            });
        }
    }
}
