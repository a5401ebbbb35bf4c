//! The objects of an input, sorted by kind, each read as soon as it is met.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{
    LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{Note, ObjectName};
use serde::de::DeserializeOwned;

use super::draft::{Draft, PodEntry};
use super::error::InputFault;
use super::workloads::Workload;
use crate::crd;
use crate::read::{self, Document, Place, ReadError, closest};

/// An object and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Entry<T> {
    pub(super) object: T,
    pub(super) place: Place,
}

/// Where the pods of a workload run already.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum Placed {
    /// Nowhere: they are pending.
    #[default]
    Pending,
    /// All on one node.
    All(String),
    /// Some, by pod name.
    Some(BTreeMap<String, String>),
}

/// The objects of an input. Environment variables of pods are never kept.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    pub(super) pools: Vec<Entry<crd::NodePool>>,
    pub(super) classes: Vec<Entry<crd::Ec2NodeClass>>,
    pub(super) claims: Vec<Entry<crd::NodeClaim>>,
    pub(super) nodes: Vec<Entry<Node>>,
    pub(super) pods: Vec<PodEntry>,
    pub(super) daemon_sets: Vec<Entry<DaemonSet>>,
    pub(super) workloads: Vec<Workload>,
    pub(super) volume_claims: BTreeMap<ObjectName, PersistentVolumeClaim>,
    pub(super) volumes: BTreeMap<String, PersistentVolume>,
    pub(super) storage_classes: BTreeMap<String, StorageClass>,
    pub(super) csi_nodes: BTreeMap<String, CSINode>,
    pub(super) limit_ranges: BTreeMap<String, Vec<LimitRange>>,
    pub(super) namespaces: BTreeMap<String, BTreeMap<String, String>>,
    pub(super) services: BTreeMap<ObjectName, Service>,
    pub(super) pdbs: Vec<PodDisruptionBudget>,
    pub(super) drafts: Vec<Arc<Draft>>,
    pub(super) faults: Vec<InputFault>,
    /// What is wrong with a stored pool or class, by kind and name: it can't be used, the rest can.
    pub(super) unusable: BTreeMap<(crd::Kind, String), String>,
    /// They come from an API server: one that can't be read is left out.
    pub(super) live: bool,
    draft_ids: BTreeMap<Arc<Draft>, usize>,
    seen: BTreeMap<(String, ObjectName), Place>,
    notes: BTreeSet<Note>,
    unused: BTreeMap<String, usize>,
}

impl Objects {
    /// The objects of `documents`.
    pub fn from_documents(documents: impl IntoIterator<Item = Document>) -> Self {
        let mut objects = Self::default();
        documents.into_iter().for_each(|document| objects.add(&document));
        objects
    }

    /// Adds all objects of a text. A large dump is read item by item.
    pub fn read(&mut self, file: &str, text: &str) -> Result<(), ReadError> {
        read::read_each(file, text, &mut |document| self.add(&document))
    }

    /// Whether no object was met, of whatever kind.
    pub fn is_empty(&self) -> bool {
        !self.live && self.seen.is_empty() && self.unused.is_empty()
    }

    /// An EC2NodeClass met so far.
    pub fn node_class(&self, name: &str) -> Option<&crd::Ec2NodeClass> {
        let mut classes = self.classes.iter().map(|entry| &entry.object);
        classes.find(|class| class.metadata.name.as_deref() == Some(name))
    }

    /// Whether some EC2NodeClass or NodePool has changed since its status was written.
    pub fn has_unjudged(&self) -> bool {
        let pool = |entry: &Entry<crd::NodePool>| {
            let pool = &entry.object;
            pool.is_judged(self.node_class(&pool.spec.template.spec.node_class_ref.name))
        };
        !self.classes.iter().all(|entry| entry.object.is_judged()) || !self.pools.iter().all(pool)
    }

    /// What is wrong with the objects met so far.
    pub fn faults(&self) -> &[InputFault] {
        &self.faults
    }

    /// What the reader should know about the objects met so far.
    pub(super) fn notes(&self) -> BTreeSet<Note> {
        let mut notes = self.notes.clone();
        for (kind, count) in &self.unused {
            let message = format!("{count} of this kind not used: it does not bear on where pods can run");
            notes.insert(Note { place: kind.clone(), message });
        }
        notes
    }

    pub(super) fn add_note(&mut self, note: Note) {
        self.notes.insert(note);
    }

    /// Adds one object.
    pub fn add(&mut self, document: &Document) {
        self.add_placed(document, Placed::Pending);
    }

    /// Adds one object; if it is a workload, its pods run where `placed` says.
    pub fn add_placed(&mut self, document: &Document, placed: Placed) {
        let field = |name: &str| document.value.get(name).and_then(serde_json::Value::as_str);
        let (Some(version), Some(kind)) = (field("apiVersion"), field("kind")) else {
            let missing = if field("kind").is_some() { "apiVersion" } else { "kind" };
            self.fault(document, "", format!("the object has no {missing}"), None);
            return;
        };
        let group = version.split_once('/').map_or("", |(group, _)| group);
        match (group, kind) {
            ("", "Pod") => self.pod(document),
            ("", "Node") => {
                if let Some(mut entry) = self.entry::<Node>(document) {
                    if let Some(status) = &mut entry.object.status {
                        status.images = None;
                    }
                    self.nodes.push(entry);
                }
            }
            ("", "Namespace") => {
                if let Some(entry) = self.entry::<Namespace>(document) {
                    let meta = entry.object.metadata;
                    self.namespaces.insert(meta.name.unwrap_or_default(), meta.labels.unwrap_or_default());
                }
            }
            ("", "LimitRange") => {
                if let Some(entry) = self.entry::<LimitRange>(document) {
                    let name = name_of(&entry.object.metadata);
                    self.limit_ranges.entry(name.namespace).or_default().push(entry.object);
                }
            }
            ("", "PersistentVolumeClaim") => {
                if let Some(Entry { object, .. }) = self.entry::<PersistentVolumeClaim>(document) {
                    self.volume_claims.insert(name_of(&object.metadata), object);
                }
            }
            ("", "PersistentVolume") => {
                if let Some(Entry { object, .. }) = self.entry::<PersistentVolume>(document) {
                    self.volumes.insert(name_of(&object.metadata).name, object);
                }
            }
            ("", "Service") => {
                if let Some(Entry { object, .. }) = self.entry::<Service>(document) {
                    self.services.insert(name_of(&object.metadata), object);
                }
            }
            ("policy", "PodDisruptionBudget") => {
                if let Some(Entry { object, .. }) = self.entry::<PodDisruptionBudget>(document) {
                    self.pdbs.push(object);
                }
            }
            ("storage.k8s.io", "StorageClass") => {
                if let Some(Entry { object, .. }) = self.entry::<StorageClass>(document) {
                    self.storage_classes.insert(name_of(&object.metadata).name, object);
                }
            }
            ("storage.k8s.io", "CSINode") => {
                if let Some(Entry { object, .. }) = self.entry::<CSINode>(document) {
                    self.csi_nodes.insert(name_of(&object.metadata).name, object);
                }
            }
            ("apps", "DaemonSet") => {
                if let Some(entry) = self.entry(document) {
                    self.daemon_sets.push(entry);
                }
            }
            ("apps", "Deployment") => self.workload::<Deployment>(document, placed),
            ("apps", "ReplicaSet") => self.workload::<ReplicaSet>(document, placed),
            ("apps", "StatefulSet") => self.workload::<StatefulSet>(document, placed),
            ("", "ReplicationController") => self.workload::<ReplicationController>(document, placed),
            ("batch", "Job") => self.workload::<Job>(document, placed),
            ("batch", "CronJob") => {
                let place = format!("CronJob {}", document_name(document));
                let message = "its pods count once its Jobs are there".to_owned();
                self.notes.insert(Note { place, message });
                *self.unused.entry(String::new()).or_default() += 1;
                self.unused.remove("");
                self.seen.insert((kind.to_owned(), document_name(document)), document.place.clone());
            }
            ("karpenter.sh" | "karpenter.k8s.aws", kind) => self.own(document, version, kind),
            _ => *self.unused.entry(kind.to_owned()).or_default() += 1,
        }
    }

    fn own(&mut self, document: &Document, version: &str, kind: &str) {
        match crd::Kind::of(version, kind) {
            Some(kind) => self.add_own(document, kind),
            None => {
                let known = crd::Kind::ALL.into_iter().find(|known| known.name() == kind);
                match known {
                    Some(known) => {
                        let message = format!("{version} is not a version of {kind} that is read");
                        let help = Some(format!("convert it to {}", known.api_version()));
                        self.fault(document, "apiVersion", message, help);
                    }
                    None => match closest(kind, crd::Kind::ALL.map(crd::Kind::name)) {
                        Some(meant) => {
                            let message = format!("there is no kind {kind} in {version}");
                            self.fault(document, "kind", message, Some(format!("did you mean {meant}?")));
                        }
                        None => *self.unused.entry(kind.to_owned()).or_default() += 1,
                    },
                }
            }
        }
    }

    /// Adds one object of a kind of our own.
    pub fn add_own(&mut self, document: &Document, kind: crd::Kind) {
        match kind {
            crd::Kind::NodePool => {
                if self.validate(document, kind)
                    && let Some(entry) = self.entry(document)
                {
                    self.pools.push(entry);
                }
            }
            crd::Kind::Ec2NodeClass => {
                if self.validate(document, kind)
                    && let Some(entry) = self.entry(document)
                {
                    self.classes.push(entry);
                }
            }
            crd::Kind::NodeClaim => {
                if let Some(entry) = self.entry(document) {
                    self.claims.push(entry);
                }
            }
        }
    }

    /// Whether a pool or class can be read. What only its controller would find wrong in a stored object makes
    /// that object unusable, not the input.
    fn validate(&mut self, document: &Document, kind: crd::Kind) -> bool {
        let stored = is_stored(document);
        let mut good = true;
        for fault in crd::validate(kind, &document.value) {
            if stored && fault.stage == crd::Stage::Controller {
                let name = document_name(document).name;
                self.unusable.entry((kind, name)).or_insert_with(|| fault.to_string());
                continue;
            }
            good = false;
            self.fault(document, &fault.path, format!("{}: {}", fault.path, fault.message), fault.help);
        }
        good
    }

    fn pod(&mut self, document: &Document) {
        if let Some(Entry { object, .. }) = self.entry::<Pod>(document) {
            let (entry, draft) = PodEntry::new(object);
            let draft = self.intern(draft);
            self.pods.push(PodEntry { draft, ..entry });
        }
    }

    fn intern(&mut self, draft: Draft) -> usize {
        match self.draft_ids.get(&draft) {
            Some(&id) => id,
            None => self.intern_shared(Arc::new(draft)),
        }
    }

    pub(super) fn intern_shared(&mut self, draft: Arc<Draft>) -> usize {
        if let Some(&id) = self.draft_ids.get(&draft) {
            return id;
        }
        let id = self.drafts.len();
        self.drafts.push(draft.clone());
        self.draft_ids.insert(draft, id);
        id
    }

    fn workload<T>(&mut self, document: &Document, placed: Placed)
    where
        T: DeserializeOwned + Named + Into<Workload>,
    {
        if let Some(Entry { object, .. }) = self.entry::<T>(document) {
            let mut workload: Workload = object.into();
            workload.placed = placed;
            workload.template_without_secrets();
            self.workloads.push(workload);
        }
    }

    /// The document as a `T`, unless it has faults or is there already.
    fn entry<T: DeserializeOwned + Named>(&mut self, document: &Document) -> Option<Entry<T>> {
        let (object, unknown) = match read::read_as::<T>(&document.value) {
            Ok(read) => read,
            Err(fault) => {
                let message = if fault.path.is_empty() {
                    fault.message
                } else {
                    format!("{}: {}", fault.path, fault.message)
                };
                self.fault(document, &fault.path, message, fault.help);
                return None;
            }
        };
        let name = name_of(object.meta());
        let kind = document.value.get("kind").and_then(serde_json::Value::as_str).unwrap_or_default();
        if name.name.is_empty() {
            self.fault(document, "metadata", format!("the {kind} has no name"), None);
            return None;
        }
        let key = (kind.to_owned(), name.clone());
        if let Some(first) = self.seen.get(&key) {
            let message = format!("{kind} {name} was given before, at {first}");
            self.fault(document, "metadata.name", message, None);
            return None;
        }
        self.seen.insert(key, document.place.clone());
        for fault in unknown {
            // A newer API server has fields that are not known here; a manifest has slips of the pen.
            if is_stored(document) {
                let message = format!("field {} is not known and not used", fault.path);
                self.notes.insert(Note { place: kind.to_owned(), message });
            } else {
                let message = format!("{}: {}", fault.path, fault.message);
                self.fault(document, &fault.path, message, fault.help);
            }
        }
        Some(Entry { object, place: document.place.clone() })
    }

    fn fault(&mut self, document: &Document, path: &str, message: String, help: Option<String>) {
        let place = read::locate(document, path).unwrap_or_else(|| document.place.clone());
        self.faults.push(InputFault { place, message, help });
    }
}

/// Whether the object comes from an API server rather than from somebody's hand.
fn is_stored(document: &Document) -> bool {
    document.value.pointer("/metadata/uid").is_some()
}

fn document_name(document: &Document) -> ObjectName {
    let text = |pointer: &str| document.value.pointer(pointer).and_then(serde_json::Value::as_str);
    ObjectName::new(
        text("/metadata/namespace").unwrap_or("default"),
        text("/metadata/name").unwrap_or_default(),
    )
}

/// Namespace, `default` if it has none, and name.
pub(super) fn name_of(meta: &ObjectMeta) -> ObjectName {
    let namespace = meta.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or("default");
    ObjectName::new(namespace, meta.name.as_deref().unwrap_or_default())
}

/// What has metadata.
pub(super) trait Named {
    fn meta(&self) -> &ObjectMeta;
}

macro_rules! named {
    ($($kind:ty),+ $(,)?) => {
        $(impl Named for $kind {
            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }
        })+
    };
}

named!(
    CSINode,
    DaemonSet,
    Deployment,
    Job,
    LimitRange,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    Service,
    StatefulSet,
    StorageClass,
    crd::Ec2NodeClass,
    crd::NodeClaim,
    crd::NodePool,
);
