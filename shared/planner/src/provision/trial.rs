//! The cluster as it would be without some of its nodes: where their pods would go, and what that would cost.
//!
//! What does not depend on which nodes go is made once, since many sets of nodes are tried.

use std::collections::BTreeMap;
use std::rc::Rc;

use model::{CapacityType, MicroUsd, Plan, Snapshot};
use solver::BitSet;

use super::claims::{self, Chosen};
use super::classes::{self, Class};
use super::fleet::Fleet;
use super::packing::Packer;
use super::place::Placer;
use super::topology::Topology;
use super::universe::Universe;
use super::{Waiting, batch, fault, fill, mentions, strict};

/// What all trials stand on.
pub(crate) struct Ground<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) universe: Universe<'a>,
    pub(super) fleet: Fleet<'a>,
    pub(super) classes: Vec<Class<'a>>,
    strict: Vec<BitSet>,
    /// The class of each pod that may have to move, and its turn in it.
    pub(super) class_of: BTreeMap<usize, (usize, usize)>,
    /// Pods that need room whatever goes.
    pending: Vec<usize>,
}

/// Where the pods of nodes that go would be.
#[derive(Default)]
pub(crate) struct Moves {
    /// Pods on nodes that stay, with the node's place in `Cluster::nodes`.
    pub on_nodes: Vec<(usize, usize)>,
    /// New nodes.
    pub bins: Vec<Bin>,
    /// Pods without a place.
    pub homeless: Vec<usize>,
}

/// A new node.
pub(crate) struct Bin {
    chosen: Chosen,
    /// What the cheapest way to buy it costs an hour, with the fee.
    pub price: MicroUsd,
}

impl Bin {
    /// The pods it is for.
    pub fn pods(&self) -> &[usize] {
        &self.chosen.pods
    }
}

/// What a new node may be launched as.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// The most it may cost, with the fee.
    pub ceiling: MicroUsd,
    /// How many types it lists at most.
    pub most_types: usize,
    /// How many types it must list if it is Spot.
    pub least_spot_types: usize,
}

/// Why a new node cannot be had on terms.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Denied {
    /// Nothing that may be launched is cheap enough wherever the fleet launches it, or not as much as `minValues` asks.
    Dear,
    /// So few types are cheap enough.
    FewTypes(usize),
    /// So few are, of those whose Spot capacity was neither short nor taken back within a day.
    FewSteadyTypes(usize),
}

impl<'a> Ground<'a> {
    /// For trials that move any of `movable`.
    pub fn new(snapshot: &'a Snapshot, movable: &[usize]) -> Self {
        let pods = &snapshot.cluster.pods;
        let mut pending = batch(snapshot);
        pending.retain(|&pod| fault(&pods[pod]).is_none());
        let mut all: Vec<usize> = movable.iter().chain(&pending).copied().collect();
        all.sort_unstable();
        all.dedup();
        classes::queue_order(pods, &mut all);
        classes::queue_order(pods, &mut pending);
        let mentions = mentions(snapshot, &all);
        let universe = Universe::new(snapshot, &mentions);
        let mut fleet = Fleet::new(snapshot, &mentions);
        // Where a pod is moved it must be able to run at once.
        fleet.nodes.iter_mut().for_each(|seat| seat.open &= seat.node.initialized && seat.node.has_node);
        let classes = classes::group(snapshot, &all);
        let strict = classes.iter().map(|class| strict(&universe, class)).collect();
        let mut class_of = BTreeMap::new();
        for (index, class) in classes.iter().enumerate() {
            class_of.extend(class.pods.iter().enumerate().map(|(turn, &pod)| (pod, (index, turn))));
        }
        Self { snapshot, universe, fleet, classes, strict, class_of, pending }
    }

    /// Moves `pods`, all those of the nodes that go. Nodes in `closed` stay but take nothing.
    pub fn moves(&self, going: &BitSet, closed: &BitSet, pods: &[usize]) -> Moves {
        let batch: Vec<usize> = self.pending.iter().chain(pods).copied().collect();
        let mut fleet = self.fleet.clone();
        for seat in &mut fleet.nodes {
            seat.active &= !going.contains(seat.index);
            seat.open &= seat.active && !closed.contains(seat.index);
        }
        let mut placer = self.placer(fleet, &batch);
        // Pods that wait have first call on room; nodes that they need are not for this plan to count.
        placer.place(self.waiting(&self.pending));
        let before = placer.placements().count();
        let mut packer = Packer::new(self.snapshot, &self.universe, &self.classes);
        let homeless = fill(self.waiting(pods), &self.classes, &mut placer, &mut packer);
        let homeless = homeless.into_iter().flat_map(|left| left.pods).collect();
        let on_nodes = placer.placements().skip(before);
        let on_nodes = on_nodes.map(|(pod, seat)| (pod, placer.fleet.nodes[seat].index)).collect();
        let priced = |chosen: Chosen| Bin { price: self.price(chosen.column), chosen };
        let bins = packer.into_chosen().into_iter().map(priced).collect();
        Moves { on_nodes, bins, homeless }
    }

    /// What an hour of a way to buy costs, with the fee.
    fn price(&self, column: usize) -> MicroUsd {
        self.universe.price(column).plus(self.snapshot.settings.fee_per_node)
    }

    /// Holds a new node to terms, or says why it cannot be had on them.
    pub fn hold(&self, bin: &mut Bin, terms: Terms) -> Result<(), Denied> {
        let ceiling = terms.ceiling.0.saturating_sub(self.snapshot.settings.fee_per_node.0);
        let universe = &self.universe;
        let below = |steady| {
            claims::below(universe, &bin.chosen.options, MicroUsd(ceiling), terms.most_types, steady)
        };
        let Some(options) = below(false) else { return Err(Denied::Dear) };
        let spot = universe.places[options.first()].capacity_type == CapacityType::Spot;
        // Where it matters that a Spot node finds its capacity and keeps it, what failed lately doesn't count.
        if !spot || terms.least_spot_types <= 1 {
            bin.chosen.options = Rc::new(options);
            return Ok(());
        }
        let types = options.types(universe);
        if types < terms.least_spot_types {
            return Err(Denied::FewTypes(types));
        }
        let steady = below(true);
        let left = steady.as_ref().map_or(0, |steady| steady.types(universe));
        let Some(steady) = steady.filter(|_| left >= terms.least_spot_types) else {
            return Err(Denied::FewSteadyTypes(left));
        };
        // The cheapest may be among those that don't count.
        bin.chosen.column = steady.first();
        bin.price = self.price(bin.chosen.column);
        bin.chosen.options = Rc::new(steady);
        Ok(())
    }

    /// New nodes and their NodeClaims.
    pub fn write(&self, bins: Vec<Bin>) -> Plan {
        let mut plan = Plan::default();
        let chosen = bins.into_iter().map(|bin| bin.chosen).collect();
        claims::write(self.snapshot, &self.universe, chosen, &mut plan);
        plan
    }

    /// Nodes that pods which wait are going to use.
    pub fn awaited(&self) -> Vec<usize> {
        let mut placer = self.placer(self.fleet.clone(), &self.pending);
        placer.place(self.waiting(&self.pending));
        placer.placements().map(|(_, seat)| placer.fleet.nodes[seat].index).collect()
    }

    pub(super) fn placer<'u>(&'u self, fleet: Fleet<'a>, batch: &[usize]) -> Placer<'a, 'u> {
        let mut in_batch = BitSet::new(self.snapshot.cluster.pods.len());
        batch.iter().for_each(|&pod| in_batch.insert(pod));
        let topology =
            Topology::new(self.snapshot, &self.universe, &fleet, &self.classes, &self.strict, &in_batch);
        Placer::new(self.snapshot, &self.universe, &self.classes, fleet, topology)
    }

    pub(super) fn waiting(&self, pods: &[usize]) -> Vec<Waiting> {
        let mut turns: Vec<(usize, usize, usize)> = pods
            .iter()
            .filter_map(|&pod| self.class_of.get(&pod).map(|&(class, turn)| (class, turn, pod)))
            .collect();
        turns.sort_unstable();
        // Classes stand in queue order, and so do the pods of each.
        let of_class =
            |alike: &[(usize, usize, usize)]| (alike[0].0, 0, alike.iter().map(|&(.., pod)| pod).collect());
        turns.chunk_by(|one, other| one.0 == other.0).map(of_class).collect()
    }
}
