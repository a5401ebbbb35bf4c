//! Room for pending pods: on what there is or is coming first, then on new nodes at least cost as a whole.
//!
//! `place` walks the queue and settles everything that depends on neighbours: which pods fit nodes that exist, and which
//! topology domain each of the others goes to. What is left are counts of pods with a set of columns each, which
//! `packing` hands to the solver, a weight of pools at a time.

mod claims;
mod classes;
mod daemons;
mod explain;
mod fixed;
mod fleet;
mod packing;
mod place;
mod raise;
mod topology;
mod trial;
mod universe;
mod value;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    Effect, EventKind, Funnel, Node, ObjectName, ObjectRef, Plan, Pod, Reason, Snapshot, Unschedulable,
    labels,
};
use solver::BitSet;

use crate::pods::{Guards, Successors, is_in_peace, is_reschedulable};

use classes::Class;
use explain::{Explainer, Hint};
pub(crate) use fixed::{missing, nodes_of, room_for_nodes};
use fleet::Fleet;
use packing::Packer;
pub(crate) use packing::node_price;
use place::{Course, Placer};
use topology::Topology;
pub(crate) use trial::{Bin, Denied, Ground, Moves, Terms};
use universe::{Mentions, Universe};
pub(crate) use value::Values;

/// After so many attempts pods that are refused get no further chance, and whoever was placed by them is placed anew.
const MAX_ATTEMPTS: usize = 32;

/// Pods without a place, why, and what each rule left of each pool's types.
type Failure = (Vec<usize>, Arc<Reason>, Arc<Vec<Funnel>>);

/// Plans room for pending pods.
pub(crate) fn plan(snapshot: &Snapshot, plan: &mut Plan) {
    let (settled, mut failures) = settle(snapshot);
    (plan.nodes, plan.existing, plan.effects) = (settled.nodes, settled.existing, settled.effects);
    plan.lower_bound = settled.lower_bound;
    raise::word(snapshot, &mut failures);
    report(snapshot, failures, plan);
    fixed::plan(snapshot, plan);
}

/// Pending pods that nodes which exist or are coming have room for, by node.
pub(crate) fn on_existing(snapshot: &Snapshot) -> BTreeMap<String, Vec<ObjectName>> {
    if batch(snapshot).is_empty() {
        return BTreeMap::new();
    }
    settle(snapshot).0.existing
}

/// Where the pods of nodes that are going would be, with those that wait for a node, and which have no place.
pub(crate) fn rehouse(snapshot: &Snapshot) -> (Plan, Vec<usize>) {
    let (settled, failures) = settle(snapshot);
    (settled, failures.into_iter().flat_map(|(pods, ..)| pods).collect())
}

/// Nodes to have and places on those there are, and who has neither.
fn settle(snapshot: &Snapshot) -> (Plan, Vec<Failure>) {
    let pods = &snapshot.cluster.pods;
    let mut batch = batch(snapshot);
    classes::queue_order(pods, &mut batch);
    let mut in_batch = BitSet::new(pods.len());
    batch.iter().for_each(|&pod| in_batch.insert(pod));
    let mut failures = Vec::new();
    batch.retain(|&index| match fault(&pods[index]) {
        Some(reason) => {
            failures.push((vec![index], Arc::new(reason), Arc::default()));
            false
        }
        None => true,
    });
    // Others were placed by where a refused pod was to go: near it, or evenly with it. They are placed anew without it, or
    // with it asking for less.
    let mut relaxed: BTreeMap<usize, Concession> = BTreeMap::new();
    let mut attempt = 1;
    loop {
        if batch.is_empty() {
            return (Plan::default(), failures);
        }
        let mut tried = Plan::default();
        let mut refused = attempt_to_place(snapshot, &batch, &in_batch, &relaxed, &mut tried);
        if attempt >= MAX_ATTEMPTS {
            refused.iter_mut().for_each(|left| left.retry = None);
        }
        let mut again = false;
        let mut out = BTreeSet::new();
        for left in refused.iter().filter(|left| left.counted) {
            again = true;
            match &left.retry {
                Some(Retry::Variant(variant)) => {
                    left.pods.iter().for_each(|&pod| relaxed.entry(pod).or_default().variant = *variant);
                }
                Some(Retry::Elsewhere(course)) => left.pods.iter().for_each(|&pod| {
                    relaxed.entry(pod).or_default().barred.insert(course.clone());
                }),
                None => out.extend(left.pods.iter().copied()),
            }
        }
        let settled = refused.into_iter().filter(|left| !again || (left.counted && left.retry.is_none()));
        failures.extend(settled.map(|left| (left.pods, left.reason, left.funnels)));
        if !again {
            return (tried, failures);
        }
        batch.retain(|pod| !out.contains(pod));
        attempt += 1;
    }
}

/// Pods of one class that found no place.
struct Refused {
    pods: Vec<usize>,
    reason: Arc<Reason>,
    funnels: Arc<Vec<Funnel>>,
    /// Where they were to go counted for others, or they may find room elsewhere.
    counted: bool,
    /// What to try instead.
    retry: Option<Retry>,
}

/// What a pod that found no place is to try in the next attempt.
enum Retry {
    /// Ask for less.
    Variant(usize),
    /// Go to other topology domains.
    Elsewhere(Course),
}

/// How a pod is placed otherwise than by its rules alone.
#[derive(Clone, Default, Eq, Ord, PartialEq, PartialOrd)]
struct Concession {
    /// The variant to begin with.
    variant: usize,
    /// What was tried in vain.
    barred: BTreeSet<Course>,
}

/// `relaxed` says of pods what they concede.
fn attempt_to_place(
    snapshot: &Snapshot,
    batch: &[usize],
    in_batch: &BitSet,
    relaxed: &BTreeMap<usize, Concession>,
    plan: &mut Plan,
) -> Vec<Refused> {
    let pods = &snapshot.cluster.pods;
    let mentions = mentions(snapshot, batch);
    let universe = Universe::new(snapshot, &mentions);
    let fleet = Fleet::new(snapshot, &mentions);
    let classes = classes::group(snapshot, batch);
    let strict: Vec<BitSet> = classes.iter().map(|class| strict(&universe, class)).collect();
    let topology = Topology::new(snapshot, &universe, &fleet, &classes, &strict, in_batch);

    let mut placer = Placer::new(snapshot, &universe, &classes, fleet, topology);
    let tried = relaxed.iter().filter(|(_, conceded)| !conceded.barred.is_empty());
    placer.barred = tried.map(|(&pod, conceded)| (pod, conceded.barred.clone())).collect();
    let mut packer = Packer::new(snapshot, &universe, &classes);
    let none = Concession::default();
    let mut waiting: Vec<Waiting> = Vec::new();
    for (class, members) in classes.iter().enumerate() {
        let mut alike: BTreeMap<&Concession, Vec<usize>> = BTreeMap::new();
        for &pod in &members.pods {
            alike.entry(relaxed.get(&pod).unwrap_or(&none)).or_default().push(pod);
        }
        waiting.extend(alike.into_iter().map(|(conceded, pods)| (class, conceded.variant, pods)));
    }
    let refused = fill(waiting, &classes, &mut placer, &mut packer);

    for (pod, node) in placer.placements() {
        let node = placer.fleet.nodes[node].node.name.clone();
        plan.existing.entry(node).or_default().push(pods[pod].name.clone());
    }
    plan.existing.values_mut().for_each(|names| names.sort());
    packer.finish(plan);

    let explainer = Explainer::new(snapshot, &universe, &classes, &placer, &packer);
    let mut explained = BTreeMap::new();
    let explain = |Homeless { class, pods, hint, counted, retry }: Homeless| {
        let (reason, funnels) =
            explained.entry((class, hint.clone())).or_insert_with(|| explainer.explain(class, hint)).clone();
        Refused { pods, reason, funnels, counted, retry }
    };
    refused.into_iter().map(explain).collect()
}

/// A class, the variant to begin with, and pods of it.
type Waiting = (usize, usize, Vec<usize>);

/// Pods of one class that found no place, before anybody asks why.
struct Homeless {
    class: usize,
    pods: Vec<usize>,
    hint: Hint,
    /// As in [`Refused`].
    counted: bool,
    retry: Option<Retry>,
}

/// Places and packs until nothing more finds room.
fn fill(
    mut waiting: Vec<Waiting>,
    classes: &[Class],
    placer: &mut Placer,
    packer: &mut Packer,
) -> Vec<Homeless> {
    let mut homeless = Vec::new();
    while !waiting.is_empty() {
        let placed = placer.place(std::mem::take(&mut waiting));
        let failed = placed.failed.into_iter();
        homeless.extend(failed.map(|(class, pods, hint)| Homeless {
            class,
            pods,
            hint,
            counted: false,
            retry: None,
        }));
        for left in packer.pack(placed.demands, placer) {
            // What the packer could not house may ask for less, if it still has a preference to give up.
            let next = Some(left.variant + 1).filter(|&next| next < classes[left.class].variants.len());
            let counted = placer.topology.counts_for_others(left.class);
            let (counted, retry) = match (left.in_vain, next) {
                (_, Some(next)) if !counted => {
                    waiting.push((left.class, next, left.pods));
                    continue;
                }
                (Some(course), _) => (true, Some(Retry::Elsewhere(course))),
                (None, next) => (counted, next.map(Retry::Variant)),
            };
            homeless.push(Homeless { class: left.class, pods: left.pods, hint: left.reason, counted, retry });
        }
    }
    homeless
}

/// What each rule leaves of each pool's types for one pod, whether it finds a place or not.
pub(crate) fn funnels(snapshot: &Snapshot, pod: usize) -> Arc<Vec<Funnel>> {
    let batch = [pod];
    let mentions = mentions(snapshot, &batch);
    let universe = Universe::new(snapshot, &mentions);
    let fleet = Fleet::new(snapshot, &mentions);
    let classes = classes::group(snapshot, &batch);
    let strict: Vec<BitSet> = classes.iter().map(|class| strict(&universe, class)).collect();
    let topology = Topology::new(
        snapshot,
        &universe,
        &fleet,
        &classes,
        &strict,
        &BitSet::new(snapshot.cluster.pods.len()),
    );
    let placer = Placer::new(snapshot, &universe, &classes, fleet, topology);
    let packer = Packer::new(snapshot, &universe, &classes);
    Explainer::new(snapshot, &universe, &classes, &placer, &packer).explain(0, Hint::Columns).1
}

/// A pod that nothing but its node's deadline moves gets room so long before it: as long as a node may take to come.
const LEAD: SignedDuration = SignedDuration::from_mins(10);

/// Pending pods, and those that must leave nodes that are going. One that may not move gets no room yet, one whose successor
/// is there gets none at all: a node bought for it would stay empty.
fn batch(snapshot: &Snapshot) -> Vec<usize> {
    let going: BTreeMap<&str, &Node> = snapshot
        .cluster
        .nodes
        .iter()
        .filter(|node| node.deleting)
        .map(|node| (node.name.as_str(), node))
        .collect();
    let guards = Guards::new(&snapshot.cluster);
    let successors = Successors::new(&snapshot.cluster, |node| going.contains_key(node));
    let leaves = |pod: &Pod| {
        let Some(node) = pod.node.as_deref().and_then(|node| going.get(node)) else { return false };
        is_reschedulable(pod)
            && !successors.replace(pod)
            && ((!is_in_peace(pod, snapshot.now) && !guards.block(pod)) || ends_soon(node, snapshot.now))
    };
    let pods = snapshot.cluster.pods.iter().enumerate();
    pods.filter(|(_, pod)| pod.is_pending() || leaves(pod)).map(|(index, _)| index).collect()
}

/// Whether the node's drain is soon over, whatever pods say.
fn ends_soon(node: &Node, now: Timestamp) -> bool {
    let text = node.disruption.annotations.get(labels::TERMINATION_TIMESTAMP);
    let deadline = text.and_then(|text| text.parse::<Timestamp>().ok());
    deadline.is_some_and(|deadline| deadline.duration_since(now) <= LEAD)
}

/// What keeps a pod from being considered at all.
fn fault(pod: &Pod) -> Option<Reason> {
    if let Some(detail) = pod.spec.faults.first() {
        return Some(Reason::InvalidPod { detail: detail.clone() });
    }
    let fault = pod.volumes.iter().find_map(|volume| volume.fault.as_ref())?;
    Some(Reason::VolumeMissing { detail: fault.detail.clone() })
}

/// Only what the batch and bound pods' anti-affinity look at needs an index.
fn mentions(snapshot: &Snapshot, batch: &[usize]) -> Mentions {
    let mut mentions = Mentions::default();
    let mut seen = BTreeSet::new();
    for &index in batch {
        let pod = &snapshot.cluster.pods[index];
        if seen.insert(Arc::as_ptr(&pod.spec)) {
            mentions.add_spec(&pod.spec);
        }
        pod.volumes
            .iter()
            .flat_map(|volume| &volume.alternatives)
            .for_each(|where_it_is| mentions.add(where_it_is));
    }
    for pod in &snapshot.cluster.pods {
        pod.spec.anti_affinity.iter().for_each(|term| mentions.add_key(&term.key));
    }
    snapshot.cluster.daemon_sets.iter().for_each(|daemon_set| mentions.add_spec(&daemon_set.spec));
    mentions
}

/// The columns a class's hard requirements leave, volumes aside.
fn strict(universe: &Universe, class: &Class) -> BitSet {
    let mut columns = universe.tolerated(&class.spec.tolerations, true);
    columns.and_assign(&universe.allowed(&class.spec.node_selector));
    columns.and_assign(&universe.any_allowed(&class.spec.required));
    columns.and_assign(&universe.fitting(&class.spec.requests));
    columns
}

fn report(snapshot: &Snapshot, failures: Vec<Failure>, plan: &mut Plan) {
    for (pods, reason, funnels) in failures {
        for pod in pods {
            let pod = snapshot.cluster.pods[pod].name.clone();
            plan.unschedulable.push(Unschedulable { pod, reason: reason.clone(), funnels: funnels.clone() });
        }
    }
    plan.unschedulable.sort_by(|a, b| a.pod.cmp(&b.pod));
    let event = |name: &model::ObjectName, kind, reason: &str, message: String| {
        let (about, reason) = (ObjectRef::Pod(name.clone()), reason.to_owned());
        Effect::PublishEvent { about, kind, reason, message }
    };
    for node in &plan.nodes {
        let message = format!("Pod should schedule on: nodeclaim/{}", node.name);
        plan.effects
            .extend(node.pods.iter().map(|pod| event(pod, EventKind::Normal, "Nominated", message.clone())));
    }
    for (node, pods) in &plan.existing {
        let message = format!("Pod should schedule on: node/{node}");
        plan.effects
            .extend(pods.iter().map(|pod| event(pod, EventKind::Normal, "Nominated", message.clone())));
    }
    for left in &plan.unschedulable {
        let message = format!("{}: {}", left.reason.code(), left.reason);
        plan.effects.push(event(&left.pod, EventKind::Warning, "FailedScheduling", message));
    }
}
