//! Lowers Kubernetes objects into the model. What it can't read is a fault with its place, what it doesn't use a
//! note; it never guesses.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use catalog::ClassShape;
use model::{Claim, Cluster, Note, PodSpec};

mod affinity;
mod claims;
mod class;
mod daemons;
mod defaults;
mod draft;
mod error;
mod interruption;
mod limits;
mod live;
mod nodes;
mod objects;
mod pdbs;
mod pods;
mod pools;
mod raise;
mod requests;
mod requirement;
mod selector;
mod single;
mod snapshot;
mod volumes;
mod workloads;

pub use class::class_shape;
pub(crate) use class::family as class_family;
pub use defaults::{DefaultSpread, DefaultSpreadError};
pub use error::{InputFault, LowerError};
pub use interruption::interruption;
pub use live::{Object, PodObject, SharedSpecs, read_stored};
pub use objects::{Objects, Placed};
pub use raise::{duration, node_claim, resources, taints};
pub use single::{attachment, bound_pod, claim, claim_node, mounted_claims, rollout};
pub use snapshot::{SnapshotOptions, Types, snapshot};

/// How objects are lowered.
#[derive(Clone, Debug, Default)]
pub struct LowerOptions {
    /// Spread constraints for pods that have none of their own.
    pub default_spread: Vec<DefaultSpread>,
    /// Where no EC2NodeClass is given at all, take every reference to mean one with default settings.
    pub assume_node_class: bool,
}

/// What objects come to.
#[derive(Clone, Debug, Default)]
pub struct Lowered {
    /// The cluster.
    pub cluster: Cluster,
    /// What instance types depend on, by EC2NodeClass.
    pub classes: BTreeMap<String, ClassShape>,
    /// What the reader should know.
    pub notes: Vec<Note>,
}

/// The cluster that `objects` describe, or every fault in them.
pub fn lower(objects: &Objects, options: &LowerOptions) -> Result<Lowered, LowerError> {
    if objects.is_empty() && objects.faults.is_empty() {
        return Err(LowerError::NoObjects);
    }
    let mut lowering = Lowering::new(objects, options);
    lowering.pools();
    lowering.nodes();
    lowering.pods();
    lowering.pod_events();
    lowering.workloads();
    lowering.daemon_sets();
    lowering.pdbs();
    lowering.finish()
}

/// The state of one lowering.
struct Lowering<'a> {
    objects: &'a Objects,
    options: &'a LowerOptions,
    cluster: Cluster,
    notes: BTreeSet<Note>,
    faults: Vec<InputFault>,
    specs: BTreeSet<Arc<PodSpec>>,
    /// Selectors of default spread constraints by namespace, controller and labels.
    deduced: BTreeMap<defaults::Key, Option<model::LabelSelector>>,
}

impl<'a> Lowering<'a> {
    fn new(objects: &'a Objects, options: &'a LowerOptions) -> Self {
        Self {
            objects,
            options,
            cluster: Cluster::default(),
            notes: objects.notes(),
            faults: objects.faults.clone(),
            specs: BTreeSet::new(),
            deduced: BTreeMap::new(),
        }
    }

    fn note(&mut self, place: impl Into<String>, message: impl Into<String>) {
        self.notes.insert(Note { place: place.into(), message: message.into() });
    }

    /// The shared copy of `spec`.
    fn share(&mut self, spec: PodSpec) -> Arc<PodSpec> {
        if let Some(known) = self.specs.get(&spec) {
            return known.clone();
        }
        let spec = Arc::new(spec);
        self.specs.insert(spec.clone());
        spec
    }

    /// The shape of each class; where none is given and one is assumed, that of every pool's.
    fn classes(&mut self) -> BTreeMap<String, ClassShape> {
        let mut shapes = BTreeMap::new();
        let claims: OnceCell<Vec<Claim>> = OnceCell::new();
        for entry in &self.objects.classes {
            let name = objects::name_of(&entry.object.metadata).name;
            let (mut shape, notes) = class::shape(&name, &entry.object);
            if !shape.capacity_reservations.is_empty() {
                let read =
                    || self.objects.claims.iter().filter_map(|entry| claim(&entry.object).ok()).collect();
                class::take_places(&mut shape, &entry.object, claims.get_or_init(read));
            }
            self.notes.extend(notes);
            self.cluster.classes.insert(name.clone(), class::facts(&entry.object));
            shapes.insert(name, shape);
        }
        if shapes.is_empty() && self.options.assume_node_class {
            let pools = self.cluster.pools.iter();
            shapes = pools.map(|pool| (pool.node_class.name.clone(), ClassShape::default())).collect();
        }
        shapes
    }

    fn finish(mut self) -> Result<Lowered, LowerError> {
        if self.objects.live {
            self.notes.extend(self.faults.drain(..).map(|fault| live::left_out(&fault)));
        }
        LowerError::check(std::mem::take(&mut self.faults))?;
        let missing: BTreeSet<&str> = {
            let known: BTreeSet<&str> = self.cluster.nodes.iter().map(|node| node.name.as_str()).collect();
            let bound = self.cluster.pods.iter().filter(|pod| pod.holds_capacity());
            bound.filter_map(|pod| pod.node.as_deref()).filter(|node| !known.contains(node)).collect()
        };
        let missing: Vec<String> = missing.into_iter().map(str::to_owned).collect();
        for node in missing {
            self.note(format!("Node {node}"), "pods run here, but the Node itself was not given");
        }
        let classes = self.classes();
        Ok(Lowered { cluster: self.cluster, classes, notes: self.notes.into_iter().collect() })
    }
}
