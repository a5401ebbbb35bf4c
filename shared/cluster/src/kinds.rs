//! The kinds that are read, where they are served, and as what they are kept.

use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{
    LimitRange, Namespace, Node, PersistentVolume, PersistentVolumeClaim, PodTemplateSpec, Service,
};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{Metadata, Resource};
use model::{ObjectName, labels};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use api::crd;
use api::lower::{Object, Objects, PodObject, SharedSpecs, read_stored};
use api::read::Document;

use crate::slim::SlimPod;

/// Where a kind is served.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    /// Its name, for people.
    pub(crate) kind: &'static str,
    /// Its path, such as `/api/v1/pods`.
    pub(crate) path: String,
}

impl Served {
    pub(crate) fn crd(kind: crd::Kind) -> Self {
        Self { kind: kind.name(), path: format!("/apis/{}/{}", kind.api_version(), kind.plural()) }
    }

    pub(crate) fn core<T: Resource>() -> Self {
        let group = if T::GROUP.is_empty() { "/api".to_owned() } else { format!("/apis/{}", T::GROUP) };
        Self { kind: T::KIND, path: format!("{group}/{}/{}", T::VERSION, T::URL_PATH_SEGMENT) }
    }
}

/// An object as it is kept.
pub(crate) trait Kept: Sized + Send {
    /// What kept objects have in common.
    type Shared: Default + Send;
    /// How many are asked for at once.
    const PAGE: u32 = 500;

    fn served() -> Served;
    /// Reads an object; an error is said with its name.
    fn read(json: &RawValue, shared: &mut Self::Shared) -> Result<Self, String>;
    fn name(&self) -> ObjectName;
    /// The version it was read at, where that is kept.
    fn version(&self) -> Option<u64> {
        None
    }
    /// Whether nothing that matters is different.
    fn same(&self, other: &Self) -> bool;
    /// Whether it is a pod without a place.
    fn is_pending(&self) -> bool {
        false
    }
    fn sweep(_shared: &mut Self::Shared) {}
    /// Adds it to what is observed.
    fn put(&self, objects: &mut Objects);
}

impl Kept for PodObject {
    type Shared = SharedSpecs;

    fn served() -> Served {
        Served::core::<k8s_openapi::api::core::v1::Pod>()
    }

    fn read(json: &RawValue, shared: &mut SharedSpecs) -> Result<Self, String> {
        let slim: SlimPod = serde_json::from_str(json.get()).map_err(|error| error.to_string())?;
        Ok(Self::new(slim.into(), shared))
    }

    fn name(&self) -> ObjectName {
        self.name().clone()
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn is_pending(&self) -> bool {
        PodObject::is_pending(self)
    }

    fn sweep(shared: &mut SharedSpecs) {
        shared.sweep();
    }

    fn put(&self, objects: &mut Objects) {
        objects.put(Object::Pod(Box::new(self.clone())));
    }
}

/// A NodeClaim, and the version it was read at.
#[derive(Clone, Debug)]
pub(crate) struct KeptClaim {
    pub(crate) claim: crd::NodeClaim,
    version: u64,
}

impl KeptClaim {
    pub(crate) fn from_value(value: &Value) -> Result<Self, String> {
        let mut claim = read_stored::<crd::NodeClaim>(value)?;
        let version = take_version(&mut claim.metadata);
        let launched = claim.status.as_ref().is_some_and(|status| status.provider_id.is_some());
        if launched {
            // A claim lists up to 600 instance types. Once it has a machine, its labels say which it is.
            claim.spec.requirements.retain(|requirement| requirement.values.len() <= 1);
        }
        Ok(Self { claim, version })
    }

    /// Whether there is nothing to do for it, as far as can be told from it alone.
    pub(crate) fn is_at_rest(&self) -> bool {
        let status = self.claim.status.as_ref();
        let is_true = |kind: &str| {
            status.is_some_and(|status| {
                status
                    .conditions
                    .iter()
                    .any(|condition| condition.type_ == kind && condition.status == "True")
            })
        };
        let meta = &self.claim.metadata;
        meta.deletion_timestamp.is_none()
            && ["Launched", "Registered", "Initialized"].into_iter().all(is_true)
            && meta.finalizers.iter().flatten().any(|finalizer| finalizer == labels::FINALIZER)
    }
}

impl Kept for KeptClaim {
    type Shared = ();
    const PAGE: u32 = 250;

    fn served() -> Served {
        Served::crd(crd::Kind::NodeClaim)
    }

    fn read(json: &RawValue, (): &mut ()) -> Result<Self, String> {
        let value: Value = serde_json::from_str(json.get()).map_err(|error| error.to_string())?;
        Self::from_value(&value)
    }

    fn name(&self) -> ObjectName {
        name_of(&self.claim.metadata)
    }

    fn version(&self) -> Option<u64> {
        Some(self.version)
    }

    fn same(&self, other: &Self) -> bool {
        self.claim == other.claim
    }

    fn put(&self, objects: &mut Objects) {
        objects.put(Object::NodeClaim(Box::new(self.claim.clone())));
    }
}

/// A Node without what kubelets report about themselves, and the version it was read at.
#[derive(Clone, Debug)]
pub(crate) struct KeptNode {
    pub(crate) node: Node,
    version: u64,
}

impl KeptNode {
    pub(crate) fn new(mut node: Node) -> Self {
        let version = take_version(&mut node.metadata);
        if let Some(status) = &mut node.status {
            status.images = None;
            status.addresses = None;
            status.config = None;
            status.daemon_endpoints = None;
            status.features = None;
            status.node_info = None;
            status.runtime_handlers = None;
            status.volumes_attached = None;
            status.volumes_in_use = None;
            let conditions = status.conditions.iter_mut().flatten();
            conditions.for_each(|condition| condition.last_heartbeat_time = None);
        }
        Self { node, version }
    }

    /// Whether there is nothing to do for it, as far as can be told from it alone.
    pub(crate) fn is_at_rest(&self) -> bool {
        let meta = &self.node.metadata;
        let label = |key: &str| meta.labels.as_ref().and_then(|labels| labels.get(key)).map(String::as_str);
        let held = meta.finalizers.iter().flatten().any(|finalizer| finalizer == labels::FINALIZER);
        if !held && label(labels::NODEPOOL).is_none() {
            return true;
        }
        let taints = self.node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        let disrupted =
            taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == labels::DISRUPTED));
        meta.deletion_timestamp.is_none() && !disrupted && label(labels::INITIALIZED) == Some("true")
    }
}

impl Kept for KeptNode {
    type Shared = ();

    fn served() -> Served {
        Served::core::<Node>()
    }

    fn read(json: &RawValue, (): &mut ()) -> Result<Self, String> {
        serde_json::from_str(json.get()).map(Self::new).map_err(|error| error.to_string())
    }

    fn name(&self) -> ObjectName {
        name_of(&self.node.metadata)
    }

    fn version(&self) -> Option<u64> {
        Some(self.version)
    }

    fn same(&self, other: &Self) -> bool {
        self.node == other.node
    }

    fn put(&self, objects: &mut Objects) {
        objects.put(Object::Node(Box::new(self.node.clone())));
    }
}

/// A kind that people write, judged like a manifest.
pub(crate) trait Manifest: Send {
    const KIND: crd::Kind;
}

pub(crate) struct NodePools;
pub(crate) struct NodeClasses;

impl Manifest for NodePools {
    const KIND: crd::Kind = crd::Kind::NodePool;
}

impl Manifest for NodeClasses {
    const KIND: crd::Kind = crd::Kind::Ec2NodeClass;
}

/// A manifest as the API server has it.
pub(crate) struct KeptManifest<M> {
    name: ObjectName,
    document: Document,
    kind: std::marker::PhantomData<M>,
}

impl<M: Manifest> Kept for KeptManifest<M> {
    type Shared = ();

    fn served() -> Served {
        Served::crd(M::KIND)
    }

    fn read(json: &RawValue, (): &mut ()) -> Result<Self, String> {
        let mut document = Document::stored(M::KIND.name(), json.get()).map_err(|error| error.to_string())?;
        if let Some(meta) = document.value.get_mut("metadata").and_then(Value::as_object_mut) {
            meta.remove("resourceVersion");
        }
        if let Some(object) = document.value.as_object_mut() {
            // Items of lists may leave them out.
            object.insert("apiVersion".to_owned(), M::KIND.api_version().into());
            object.insert("kind".to_owned(), M::KIND.name().into());
        }
        let name = document.value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let name = ObjectName::new("default", name);
        document.place.file = format!("{} {}", M::KIND, name.name).into();
        Ok(Self { name, document, kind: std::marker::PhantomData })
    }

    fn name(&self) -> ObjectName {
        self.name.clone()
    }

    fn same(&self, other: &Self) -> bool {
        self.document.value == other.document.value
    }

    fn put(&self, objects: &mut Objects) {
        objects.add_own(&self.document, M::KIND);
    }
}

/// A kind of Kubernetes, kept as it is but for its bookkeeping and secrets.
pub(crate) trait Core:
    Resource + Metadata<Ty = ObjectMeta> + DeserializeOwned + Clone + PartialEq + Send
{
    fn slim(&mut self) {}
    fn object(self) -> Object;
}

impl<T: Core> Kept for T {
    type Shared = ();

    fn served() -> Served {
        Served::core::<T>()
    }

    fn read(json: &RawValue, (): &mut ()) -> Result<Self, String> {
        let mut read: T = serde_json::from_str(json.get()).map_err(|error| error.to_string())?;
        take_version(read.metadata_mut());
        read.slim();
        Ok(read)
    }

    fn name(&self) -> ObjectName {
        name_of(self.metadata())
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn put(&self, objects: &mut Objects) {
        objects.put(self.clone().object());
    }
}

impl Core for DaemonSet {
    fn slim(&mut self) {
        if let Some(annotations) = &mut self.metadata.annotations {
            annotations.clear();
        }
        self.status = None;
        if let Some(spec) = &mut self.spec {
            without_secrets(&mut spec.template);
        }
    }

    fn object(self) -> Object {
        Object::DaemonSet(Box::new(self))
    }
}

/// Drops what no decision needs and nobody should see.
fn without_secrets(template: &mut PodTemplateSpec) {
    let Some(spec) = &mut template.spec else { return };
    for container in spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten()) {
        container.env = None;
        container.env_from = None;
        container.args = None;
        container.command = None;
        container.volume_mounts = None;
        container.liveness_probe = None;
        container.readiness_probe = None;
        container.startup_probe = None;
        container.lifecycle = None;
        container.security_context = None;
    }
}

macro_rules! core {
    ($($kind:ty => $object:ident),+ $(,)?) => {
        $(impl Core for $kind {
            fn object(self) -> Object {
                Object::$object(Box::new(self))
            }
        })+
    };
}

core!(
    CSINode => CsiNode,
    LimitRange => LimitRange,
    Namespace => Namespace,
    PersistentVolume => Volume,
    PersistentVolumeClaim => VolumeClaim,
    PodDisruptionBudget => PodDisruptionBudget,
    Service => Service,
    StorageClass => StorageClass,
);

fn name_of(meta: &ObjectMeta) -> ObjectName {
    ObjectName::new(meta.namespace.as_deref().unwrap_or("default"), meta.name.as_deref().unwrap_or_default())
}

/// Takes the version and other bookkeeping off, so that equal objects are equal.
fn take_version(meta: &mut ObjectMeta) -> u64 {
    meta.managed_fields = None;
    let version = meta.resource_version.take();
    version.and_then(|version| version.parse().ok()).unwrap_or_default()
}
