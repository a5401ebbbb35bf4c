//! Objects of an API server: typed already, without a file, and not to be refused for the sake of one of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use model::{Note, ObjectName, Phase};
use serde::de::DeserializeOwned;

use super::draft::{Draft, PodEntry};
use super::objects::{Entry, Objects, name_of};
use crate::crd;
use crate::read::Place;

/// A pod, read as far as it can be alone.
#[derive(Clone, Debug, PartialEq)]
pub struct PodObject {
    entry: PodEntry,
    draft: Arc<Draft>,
}

impl PodObject {
    /// Reads a pod; what it has in common with others is kept once, in `shared`.
    pub fn new(pod: Pod, shared: &mut SharedSpecs) -> Self {
        let (entry, draft) = PodEntry::new(pod);
        Self { entry, draft: shared.share(draft) }
    }

    /// Namespace and name.
    pub fn name(&self) -> &ObjectName {
        &self.entry.name
    }

    /// The node it is bound to.
    pub fn node(&self) -> Option<&str> {
        self.entry.node.as_deref()
    }

    /// Whether room is to be made for it.
    pub fn is_pending(&self) -> bool {
        let entry = &self.entry;
        entry.unschedulable
            && entry.phase == Phase::Pending
            && !(entry.terminating || entry.daemon || entry.mirror)
    }
}

/// What pods have in common, once each.
#[derive(Debug, Default)]
pub struct SharedSpecs(BTreeSet<Arc<Draft>>);

impl SharedSpecs {
    fn share(&mut self, draft: Draft) -> Arc<Draft> {
        if let Some(known) = self.0.get(&draft) {
            return known.clone();
        }
        let draft = Arc::new(draft);
        self.0.insert(draft.clone());
        draft
    }

    /// Forgets what no pod has any more.
    pub fn sweep(&mut self) {
        self.0.retain(|draft| Arc::strong_count(draft) > 1);
    }

    /// How many different ones there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// An object as an API server has it.
#[derive(Clone, Debug)]
pub enum Object {
    /// A pod.
    Pod(Box<PodObject>),
    /// A Node.
    Node(Box<Node>),
    /// A NodeClaim.
    NodeClaim(Box<crd::NodeClaim>),
    /// A DaemonSet.
    DaemonSet(Box<DaemonSet>),
    /// A PersistentVolumeClaim.
    VolumeClaim(Box<PersistentVolumeClaim>),
    /// A PersistentVolume.
    Volume(Box<PersistentVolume>),
    /// A StorageClass.
    StorageClass(Box<StorageClass>),
    /// What CSI drivers a node has.
    CsiNode(Box<CSINode>),
    /// A LimitRange.
    LimitRange(Box<LimitRange>),
    /// A Namespace.
    Namespace(Box<Namespace>),
    /// A PodDisruptionBudget.
    PodDisruptionBudget(Box<PodDisruptionBudget>),
    /// A Service.
    Service(Box<Service>),
}

impl Objects {
    /// No objects yet, of an API server. What is wrong with one of them becomes a note and leaves that one out:
    /// the others are still to be looked after.
    pub fn live() -> Self {
        let mut objects = Self::default();
        objects.live = true;
        objects
    }

    /// Notes something about an object that can't be read.
    pub fn note(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.add_note(Note { place: place.into(), message: message.into() });
    }

    /// Adds one object.
    pub fn put(&mut self, object: Object) {
        match object {
            Object::Pod(pod) => {
                let PodObject { entry, draft } = *pod;
                let draft = self.intern_shared(draft);
                self.pods.push(PodEntry { draft, ..entry });
            }
            Object::Node(object) => {
                let place = place("Node", object.metadata.name.as_deref());
                self.nodes.push(Entry { object: *object, place });
            }
            Object::NodeClaim(object) => {
                let place = place("NodeClaim", object.metadata.name.as_deref());
                self.claims.push(Entry { object: *object, place });
            }
            Object::DaemonSet(object) => {
                let place = place("DaemonSet", object.metadata.name.as_deref());
                self.daemon_sets.push(Entry { object: *object, place });
            }
            Object::VolumeClaim(object) => {
                self.volume_claims.insert(name_of(&object.metadata), *object);
            }
            Object::Volume(object) => {
                self.volumes.insert(name_of(&object.metadata).name, *object);
            }
            Object::StorageClass(object) => {
                self.storage_classes.insert(name_of(&object.metadata).name, *object);
            }
            Object::CsiNode(object) => {
                self.csi_nodes.insert(name_of(&object.metadata).name, *object);
            }
            Object::LimitRange(object) => {
                let namespace = name_of(&object.metadata).namespace;
                self.limit_ranges.entry(namespace).or_default().push(*object);
            }
            Object::Namespace(object) => {
                let meta = object.metadata;
                self.namespaces.insert(meta.name.unwrap_or_default(), meta.labels.unwrap_or_default());
            }
            Object::PodDisruptionBudget(object) => self.pdbs.push(*object),
            Object::Service(object) => {
                self.services.insert(name_of(&object.metadata), *object);
            }
        }
    }
}

/// An object of ours from an API server, which may know fields that are not known here.
pub fn read_stored<T: DeserializeOwned>(value: &serde_json::Value) -> Result<T, String> {
    crate::read::read_as(value)
        .map(|(object, _)| object)
        .map_err(|fault| format!("{}: {}", fault.path, fault.message))
}

/// What is said of an object that is left out.
pub(super) fn left_out(fault: &super::InputFault) -> Note {
    Note { place: fault.place.file.to_string(), message: format!("left out: {}", fault.message) }
}

fn place(kind: &str, name: Option<&str>) -> Place {
    Place { file: format!("{kind} {}", name.unwrap_or_default()).into(), line: 1, column: 1 }
}
