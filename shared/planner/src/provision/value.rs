//! What pods and nodes are worth: the price of room, taken from what new nodes cost.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use model::{MicroUsd, Resources};
use solver::BitSet;

use super::packing::Packer;
use super::place::Demand;
use super::trial::Ground;

/// Of many kinds of pods a sample is enough to see what a node could hold.
const MOST_KINDS: usize = 256;

/// The prices of room.
pub(crate) struct Values {
    /// For each class, what a pod of it is worth an hour, in micro-dollars.
    of_class: Vec<f64>,
    /// Classes to fill nodes with, and how many pods of each there are.
    kinds: Vec<(usize, u32)>,
    resources: Vec<String>,
    /// What a pod of each kind asks of each resource.
    requests: Vec<Vec<i64>>,
    /// For each class, the columns that take it.
    reach: Vec<Rc<BitSet>>,
    /// For a look and a room, what the best filling is worth.
    full: BTreeMap<(usize, Vec<i64>), f64>,
    /// The room left on each node of the fleet.
    rooms: Vec<Vec<i64>>,
    /// Whether a node of a look takes pods of a class, where it was asked.
    welcome: BTreeMap<(usize, usize), bool>,
}

impl Ground<'_> {
    /// Prices room by the pods that may move.
    pub fn values(&self, movable: &[usize]) -> Values {
        let mut placer = self.placer(self.fleet.clone(), &[]);
        let waiting = self.waiting(movable);
        let demand = |(class, variant, pods): (usize, usize, Vec<usize>)| {
            let columns = placer.reach(class, variant);
            Demand { class, variant, pins: Vec::new(), reach: Rc::clone(&columns), columns, pods }
        };
        let demands: Vec<Demand> = waiting.into_iter().map(demand).collect();
        let packer = Packer::new(self.snapshot, &self.universe, &self.classes);
        let nothing = Rc::new(self.universe.none());
        let mut reach = vec![nothing; self.classes.len()];
        demands.iter().for_each(|demand| reach[demand.class] = Rc::clone(&demand.columns));
        let mut of_class = vec![0.0; self.classes.len()];
        for (demand, worth) in demands.iter().zip(packer.worths(&demands, &placer)) {
            of_class[demand.class] = worth;
        }
        let every = demands.len().div_ceil(MOST_KINDS).max(1);
        let count = |pods: usize| u32::try_from(pods.saturating_mul(every)).unwrap_or(u32::MAX);
        let kinds: Vec<(usize, u32)> =
            demands.iter().step_by(every).map(|demand| (demand.class, count(demand.pods.len()))).collect();
        let asks = |class: usize| &self.classes[class].spec.requests;
        let resources: BTreeSet<&str> = kinds
            .iter()
            .flat_map(|&(class, _)| asks(class).iter())
            .filter(|(_, amount)| !amount.is_zero())
            .map(|(resource, _)| resource)
            .collect();
        let resources: Vec<String> = resources.into_iter().map(str::to_owned).collect();
        let requests = kinds.iter().map(|&(class, _)| amounts(asks(class), &resources)).collect();
        let rooms = self.fleet.nodes.iter().map(|seat| amounts(&seat.room, &resources)).collect();
        let (full, welcome) = Default::default();
        Values { of_class, kinds, resources, requests, reach, full, rooms, welcome }
    }

    /// The cheapest node, with its fee, that holds all of `pods` but those that nodes which stay have room for; nothing if
    /// they have for all, none if no single node does. Rules between pods are not looked at, so it may be too good to be true.
    pub fn cheapest_instead(
        &self,
        values: &mut Values,
        node: usize,
        pods: &[usize],
        closed: &BitSet,
    ) -> Option<MicroUsd> {
        let mut taken: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        let mut rest = Resources::new();
        let mut columns = self.universe.all();
        for pod in pods {
            let Some(&(class, _)) = self.class_of.get(pod) else { continue };
            let spec = self.classes[class].spec;
            let asks = amounts(&spec.requests, &values.resources);
            let mut home = None;
            for (place, seat) in self.fleet.nodes.iter().enumerate() {
                let room = taken.get(&place).unwrap_or(&values.rooms[place]);
                if asks.iter().zip(room).any(|(asks, has)| *asks > 0 && asks > has)
                    || !seat.open
                    || seat.index == node
                    || closed.contains(seat.index)
                {
                    continue;
                }
                let welcome = values.welcome.entry((seat.look, class)).or_insert_with(|| {
                    let class = &self.classes[class];
                    class.variants.last().is_some_and(|held| self.fleet.welcomes(seat.look, class, held))
                });
                if *welcome {
                    home = Some(place);
                    break;
                }
            }
            match home {
                Some(place) => {
                    let room = taken.entry(place).or_insert_with(|| values.rooms[place].clone());
                    room.iter_mut().zip(&asks).for_each(|(has, asks)| *has -= asks);
                }
                None => {
                    rest.add(&spec.requests);
                    columns.and_assign(&values.reach[class]);
                }
            }
        }
        if rest.iter().next().is_none() {
            return Some(MicroUsd::ZERO);
        }
        columns.and_assign(&self.universe.fitting(&rest));
        let fee = self.snapshot.settings.fee_per_node;
        columns.iter().map(|column| self.universe.price(column).plus(fee)).min()
    }

    /// What `pods` are worth together.
    pub fn worth(&self, values: &Values, pods: &[usize]) -> f64 {
        pods.iter().filter_map(|pod| self.class_of.get(pod)).map(|&(class, _)| values.of_class[class]).sum()
    }

    /// What the best filling of a node is worth, once `pods` have left it.
    pub fn full(&self, values: &mut Values, node: usize, pods: &[usize]) -> f64 {
        let Some(seat) = self.fleet.nodes.iter().find(|seat| seat.index == node) else { return 0.0 };
        let mut room = seat.room.clone();
        pods.iter().for_each(|&pod| room.add(&self.snapshot.cluster.pods[pod].spec.requests));
        let key = (seat.look, amounts(&room, &values.resources));
        if let Some(&known) = values.full.get(&key) {
            return known;
        }
        let welcome: Vec<usize> = (0..values.kinds.len())
            .filter(|&kind| {
                let class = &self.classes[values.kinds[kind].0];
                class.variants.last().is_some_and(|held| self.fleet.welcomes(seat.look, class, held))
            })
            .collect();
        let full = fill(values, &welcome, key.1.clone());
        values.full.insert(key, full);
        full
    }
}

fn amounts(of: &Resources, resources: &[String]) -> Vec<i64> {
    resources.iter().map(|resource| of.get(resource).milli()).collect()
}

/// Fills a room by worth against what is still free, and sums up the worth.
fn fill(values: &Values, welcome: &[usize], mut room: Vec<i64>) -> f64 {
    let mut left: Vec<u32> = values.kinds.iter().map(|(_, count)| *count).collect();
    let mut sum = 0.0;
    loop {
        let rate = |&kind: &usize| {
            let requests = &values.requests[kind];
            let fits =
                left[kind] > 0 && requests.iter().zip(&room).all(|(asks, has)| *asks == 0 || asks <= has);
            let share = |(asks, has): (&i64, &i64)| if *has > 0 { *asks as f64 / *has as f64 } else { 0.0 };
            let share: f64 = requests.iter().zip(&room).map(share).sum();
            fits.then(|| (values.of_class[values.kinds[kind].0] / share.max(1e-12), kind))
        };
        let best = welcome.iter().filter_map(rate).max_by(|(one, _), (other, _)| one.total_cmp(other));
        let Some((_, kind)) = best else { return sum };
        let requests = &values.requests[kind];
        let most = requests.iter().zip(&room).filter(|(asks, _)| **asks > 0).map(|(asks, has)| has / asks);
        let most = u32::try_from(most.min().unwrap_or(1)).unwrap_or(u32::MAX).min(left[kind]);
        // Not all at once: what fits best changes as the room shrinks.
        let taken = (most / 3).max(1);
        left[kind] -= taken;
        room.iter_mut().zip(requests).for_each(|(has, asks)| *has -= asks * i64::from(taken));
        sum += values.of_class[values.kinds[kind].0] * f64::from(taken);
    }
}
