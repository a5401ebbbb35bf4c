//! Claims, volumes and storage classes: where what a pod mounts can be attached, or why it can't be mounted.

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::storage::v1::StorageClass;
use model::{ObjectName, Requirement, Requirements, Volume, VolumeFault, labels};

use super::Lowering;
use super::draft::VolumeRef;
use super::objects::Objects;
use super::requirement::term;

/// The annotation that makes a StorageClass the one for claims that name none.
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
/// The annotation of a claim whose binding is complete.
const BOUND: &str = "pv.kubernetes.io/bind-completed";

impl Lowering<'_> {
    /// What a pod in `namespace` mounts, resolved.
    pub(super) fn volumes(&mut self, namespace: &str, refs: &[VolumeRef]) -> Vec<Volume> {
        refs.iter().map(|claim| self.volume(namespace, claim)).collect()
    }

    fn volume(&mut self, namespace: &str, volume: &VolumeRef) -> Volume {
        let objects = self.objects;
        let name = ObjectName::new(namespace, &volume.claim);
        let mut resolved =
            Volume { claim: name.to_string(), driver: None, alternatives: Vec::new(), fault: None };
        match (objects.volume_claims.get(&name), &volume.made_with) {
            (Some(claim), _) => match existing(objects, &name, claim) {
                Ok((driver, alternatives)) => {
                    resolved.driver = driver;
                    resolved.alternatives = alternatives;
                }
                Err(detail) => resolved.fault = Some(VolumeFault { detail }),
            },
            (None, None) => {
                let detail = format!("PersistentVolumeClaim {name} does not exist");
                resolved.fault = Some(VolumeFault { detail });
            }
            (None, Some(class)) => match class_of(objects, class.as_deref()) {
                Some(class) if !binds_at_once(class) => {
                    resolved.driver = driver_name(&class.provisioner);
                    resolved.alternatives = allowed(class);
                }
                Some(class) => {
                    resolved.driver = driver_name(&class.provisioner);
                    let class = class.metadata.name.clone().unwrap_or_default();
                    self.note(
                        format!("StorageClass {class}"),
                        "binds at once: where the volumes of pods to come will be is not known",
                    );
                }
                None => {
                    let class = class.clone().unwrap_or_else(|| "(default)".to_owned());
                    self.note(
                        format!("StorageClass {class}"),
                        "was not given: volumes of pods to come are taken to be usable anywhere",
                    );
                }
            },
        }
        resolved
    }
}

type Resolved = (Option<String>, Vec<Requirements>);

/// Driver and places of an existing claim, or what is wrong with it.
fn existing(objects: &Objects, name: &ObjectName, claim: &PersistentVolumeClaim) -> Result<Resolved, String> {
    let place = format!("PersistentVolumeClaim {name}");
    if claim.metadata.deletion_timestamp.is_some() {
        return Err(format!("{place} is being deleted"));
    }
    let status = claim.status.as_ref();
    if status.and_then(|status| status.phase.as_deref()) == Some("Lost") {
        return Err(format!("{place} has lost its volume"));
    }
    let spec = claim.spec.as_ref();
    let volume = spec.and_then(|spec| spec.volume_name.as_deref()).filter(|volume| !volume.is_empty());
    match volume {
        Some(volume) => {
            let known = objects
                .volumes
                .get(volume)
                .ok_or_else(|| format!("PersistentVolume {volume} of {place} does not exist"))?;
            if known.metadata.deletion_timestamp.is_some() {
                return Err(format!("PersistentVolume {volume} of {place} is being deleted"));
            }
            if claim.metadata.annotations.as_ref().is_none_or(|all| !all.contains_key(BOUND)) {
                return Err(format!(
                    "{place} is not bound to PersistentVolume {volume} yet (no annotation {BOUND})"
                ));
            }
            Ok((volume_driver(known), places(known)))
        }
        None => {
            let named = spec.and_then(|spec| spec.storage_class_name.as_deref());
            let Some(class) = class_of(objects, named) else {
                return Err(match named {
                    Some(named) if !named.is_empty() => {
                        format!("StorageClass {named} of {place} does not exist")
                    }
                    _ => format!("{place} is bound to no volume and has no StorageClass to make one"),
                });
            };
            if binds_at_once(class) {
                let class = class.metadata.name.as_deref().unwrap_or_default();
                return Err(format!(
                    "{place} is not bound yet, and its StorageClass {class} does not wait for the pod"
                ));
            }
            Ok((driver_name(&class.provisioner), allowed(class)))
        }
    }
}

/// The class by name, or the newest default one where none is named.
fn class_of<'a>(objects: &'a Objects, name: Option<&str>) -> Option<&'a StorageClass> {
    let is_default = |class: &&StorageClass| {
        class
            .metadata
            .annotations
            .as_ref()
            .and_then(|all| all.get(DEFAULT_CLASS))
            .is_some_and(|it| it == "true")
    };
    match name {
        Some(name) => objects.storage_classes.get(name),
        None => objects.storage_classes.values().filter(is_default).max_by_key(|class| {
            let created = class.metadata.creation_timestamp.as_ref().map(|created| created.0);
            // Of equally old ones the first by name counts.
            (created, std::cmp::Reverse(class.metadata.name.clone()))
        }),
    }
}

fn binds_at_once(class: &StorageClass) -> bool {
    class.volume_binding_mode.as_deref() != Some("WaitForFirstConsumer")
}

/// Where a class lets volumes be made: one of these.
fn allowed(class: &StorageClass) -> Vec<Requirements> {
    let terms = class.allowed_topologies.iter().flatten().map(|term| {
        let mut requirements = Requirements::new();
        for expression in term.match_label_expressions.iter().flatten() {
            let values = expression.values.iter().map(String::as_str);
            requirements.add(&expression.key, Requirement::is_in(values));
        }
        requirements
    });
    terms.collect()
}

/// Where a volume can be attached: one of these. The hostname of a local volume is left out: its node may be
/// gone, and a new one never has its name.
fn places(volume: &PersistentVolume) -> Vec<Requirements> {
    let Some(spec) = &volume.spec else { return Vec::new() };
    let local = spec.local.is_some() || spec.host_path.is_some();
    let selector = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
    let terms = selector.into_iter().flat_map(|selector| &selector.node_selector_terms).map(|written| {
        let (mut requirements, _) = term(written.match_expressions.as_deref().unwrap_or_default());
        if local {
            requirements.remove(labels::HOSTNAME);
        }
        requirements
    });
    terms.collect()
}

fn volume_driver(volume: &PersistentVolume) -> Option<String> {
    let spec = volume.spec.as_ref()?;
    match (&spec.csi, &spec.aws_elastic_block_store) {
        (Some(csi), _) => Some(csi.driver.clone()),
        (None, Some(_)) => Some("ebs.csi.aws.com".to_owned()),
        (None, None) => None,
    }
}

/// The CSI driver behind a provisioner.
fn driver_name(provisioner: &str) -> Option<String> {
    match provisioner {
        "kubernetes.io/aws-ebs" => Some("ebs.csi.aws.com".to_owned()),
        "" | "kubernetes.io/no-provisioner" => None,
        other => Some(other.to_owned()),
    }
}
