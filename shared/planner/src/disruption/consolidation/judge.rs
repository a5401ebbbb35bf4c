//! Whether what a trial came to is worth doing, command by command.

use std::collections::BTreeMap;

use model::{CapacityType, ConsolidationPolicy, KeepCode, MicroUsd, NodePool, Snapshot, labels};

use super::Weights;
use crate::disruption::candidate::{Candidate, Scene};
use crate::provision::{Bin, Denied, Ground, Moves, Terms};

/// Karpenter's least ratio of the share of a pool's price that is saved to the share of its disruption.
const LEAST_SCORE: f64 = 0.5;
/// Seconds.
const HOUR: f64 = 3600.0;

/// Why something is not worth doing: the rule, and what that means here.
pub(super) type No = (KeepCode, String);

/// Nodes that share replacements, and those replacements.
pub(super) struct Command {
    /// Places in the list of candidates.
    pub members: Vec<usize>,
    /// Places in `Moves::bins`.
    pub bins: Vec<usize>,
    pub before: MicroUsd,
    pub after: MicroUsd,
    /// What moving the pods costs.
    pub cost: f64,
}

impl Command {
    pub fn saved(&self) -> MicroUsd {
        MicroUsd(self.before.0.saturating_sub(self.after.0))
    }

    /// Its nodes, from the view of one of them.
    fn who(&self) -> String {
        match self.members.len() {
            0 | 1 => "it".to_owned(),
            2 => "it and another".to_owned(),
            many => format!("it and {} others", many - 1),
        }
    }
}

/// Splits what goes into commands: nodes whose pods meet on a new node go together, all others by themselves.
pub(super) fn commands(candidates: &[Candidate], going: &[usize], moves: &Moves) -> Vec<Command> {
    let mut owner: BTreeMap<usize, usize> = BTreeMap::new();
    for (place, &member) in going.iter().enumerate() {
        owner.extend(candidates[member].pods.iter().map(|&pod| (pod, place)));
    }
    let mut root: Vec<usize> = (0..going.len()).collect();
    let mut homes = Vec::new();
    for bin in &moves.bins {
        let mut places = bin.pods().iter().filter_map(|pod| owner.get(pod).copied());
        let first = places.next().unwrap_or(0);
        let first = find(&mut root, first);
        for place in places {
            let other = find(&mut root, place);
            root[other] = first;
        }
        homes.push(first);
    }
    let mut by_root: BTreeMap<usize, Command> = BTreeMap::new();
    for (place, &member) in going.iter().enumerate() {
        let command = by_root.entry(find(&mut root, place)).or_insert_with(|| Command {
            members: Vec::new(),
            bins: Vec::new(),
            before: MicroUsd::ZERO,
            after: MicroUsd::ZERO,
            cost: 0.0,
        });
        command.members.push(member);
        command.before = command.before.plus(candidates[member].price);
        command.cost += candidates[member].cost;
    }
    for (index, bin) in moves.bins.iter().enumerate() {
        let home = find(&mut root, homes[index]);
        if let Some(command) = by_root.get_mut(&home) {
            command.bins.push(index);
            command.after = command.after.plus(bin.price);
        }
    }
    by_root.into_values().collect()
}

/// For how many hours pods are likely to stay as they are: what has run for ten minutes may well end within the next ten, and
/// a pod that has just been moved is not worth moving again.
fn lasts<'a>(snapshot: &Snapshot, pods: impl Iterator<Item = &'a usize>, weights: &Weights) -> f64 {
    let longest = weights.horizon.as_secs_f64();
    let mut count = 0;
    let mut sum = 0.0;
    for &pod in pods {
        let age = snapshot.now.duration_since(snapshot.cluster.pods[pod].created);
        sum += age.as_secs_f64().clamp(0.0, longest);
        count += 1;
    }
    if count == 0 { longest / HOUR } else { sum / f64::from(count) / HOUR }
}

fn find(root: &mut [usize], mut place: usize) -> usize {
    while root[place] != place {
        root[place] = root[root[place]];
        place = root[place];
    }
    place
}

/// Whether a command saves enough for what it costs.
pub(super) fn saves_enough(
    snapshot: &Snapshot,
    candidates: &[Candidate],
    command: &Command,
    weights: &Weights,
) -> Result<(), No> {
    let pods = command.members.iter().flat_map(|&member| &candidates[member].pods);
    let lasts = lasts(snapshot, pods, weights);
    let Some(short) = shortfall(command.before, command.after, command.cost, lasts, weights) else {
        return Ok(());
    };
    let (who, before, after, saved) = (command.who(), command.before, command.after, command.saved());
    let message = match short {
        Short::Price => format!("new nodes would cost ${after} an hour, {who} ${before}"),
        Short::Share => format!("${saved} an hour saved on the ${before} of {who} is too little"),
        Short::Moves => {
            let pods = command.members.iter().map(|&member| candidates[member].pods.len()).sum::<usize>();
            format!("${saved} an hour saved does not pay for {pods} pods of {who} that would move so soon")
        }
    };
    Err((KeepCode::NoSaving, message))
}

/// Whether `after` is little enough to give up a node for.
pub(super) fn worth_while(candidate: &Candidate, after: MicroUsd, weights: &Weights) -> Result<(), No> {
    let price = candidate.price;
    let short = shortfall(price, after, 0.0, weights.horizon.as_secs_f64() / HOUR, weights);
    short.map_or(Ok(()), |_| {
        Err((
            KeepCode::NoSaving,
            format!("it costs ${price} an hour, what it takes instead ${after} or more"),
        ))
    })
}

/// What a saving is too small for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Short {
    /// There is none.
    Price,
    /// It is too small a share of the price.
    Share,
    /// It doesn't pay for the pods that move and the time in which both old and new nodes are there.
    Moves,
}

/// `lasts` is in hours: what is saved meanwhile counts.
fn shortfall(before: MicroUsd, after: MicroUsd, cost: f64, lasts: f64, weights: &Weights) -> Option<Short> {
    let saved = before.0.saturating_sub(after.0);
    let least = if after == MicroUsd::ZERO { 0 } else { before.0 / 1000 * weights.least_saving };
    let for_pods = weights.price_of_a_move.0 as f64 * cost;
    let twice = after.0 as f64 * weights.overlap.as_secs_f64() / HOUR;
    if saved == 0 {
        Some(Short::Price)
    } else if saved < least {
        Some(Short::Share)
    } else {
        ((saved as f64) * lasts < for_pods + twice).then_some(Short::Moves)
    }
}

/// What a pool with the policy Balanced has in all: its price, and what moving everything would cost.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    price: MicroUsd,
    cost: f64,
}

/// Pools that want a saving in proportion to the disruption.
pub(super) struct Balance<'a>(BTreeMap<&'a str, Whole>);

impl<'a> Balance<'a> {
    pub fn new(scene: &Scene<'a>) -> Self {
        let mut wholes: BTreeMap<&str, Whole> = BTreeMap::new();
        for node in scene.snapshot.cluster.nodes.iter().filter(|node| node.claim.is_some()) {
            let pool = scene.pool(node);
            let Some(pool) = pool.filter(|pool| pool.disruption.policy == ConsolidationPolicy::Balanced)
            else {
                continue;
            };
            let whole = wholes.entry(pool.name.as_str()).or_default();
            whole.price = whole.price.plus(scene.price(node, pool));
            whole.cost += 1.0 + scene.cost(&scene.movable(node).collect::<Vec<_>>());
        }
        Self(wholes)
    }

    /// Whether each such pool saves a share of its price that is at least half the share of its pods that move. Of a
    /// command over several pools each saves by its part of the price.
    pub fn approves(
        &self,
        snapshot: &Snapshot,
        candidates: &[Candidate],
        command: &Command,
    ) -> Result<(), No> {
        let objector = self.0.iter().find(|(pool, whole)| {
            let own = command.members.iter().map(|&member| &candidates[member]);
            let own = own.filter(|own| snapshot.cluster.nodes[own.node].pool() == Some(*pool));
            let (price, cost) = own.fold((0.0, 0.0), |(price, cost), candidate| {
                (price + candidate.price.0 as f64, cost + 1.0 + candidate.cost)
            });
            if price == 0.0 {
                return false;
            }
            let saved = command.saved().0 as f64 * price / command.before.0.max(1) as f64;
            saved / (whole.price.0.max(1) as f64) < LEAST_SCORE * cost / whole.cost.max(1.0)
        });
        objector.map_or(Ok(()), |(pool, _)| {
            let message = format!(
                "${} an hour saved is too little of what NodePool {pool} costs for how many of its pods would move",
                command.saved()
            );
            Err((KeepCode::NoSaving, message))
        })
    }
}

/// Holds a command's new nodes to prices that together stay below what goes, or says why they cannot be had so.
pub(super) fn hold(
    snapshot: &Snapshot,
    ground: &Ground,
    candidates: &[Candidate],
    command: &Command,
    bins: &mut [Bin],
    weights: &Weights,
) -> Result<(), No> {
    let spot = command.members.iter().all(|&member| is_spot(snapshot, &candidates[member]));
    let one = spot && command.members.len() == 1 && command.bins.len() == 1;
    // Of a pool that says so itself, as many as it says.
    let own = command.members.first().and_then(|&member| pool_of(snapshot, &candidates[member]));
    let spot_types = own.and_then(|pool| pool.spot_flexibility).unwrap_or(weights.spot_types);
    let (most_types, least_spot_types) = if one { (spot_types, spot_types) } else { (usize::MAX, 1) };
    command.bins.iter().try_for_each(|&bin| {
        // Each may take its share of what is saved, so that even the dearest launch of all saves something.
        let share = u128::from(bins[bin].price.0) * u128::from(command.before.0.saturating_sub(1));
        let ceiling = share / u128::from(command.after.0.max(1));
        let ceiling = MicroUsd(u64::try_from(ceiling).unwrap_or(u64::MAX));
        let terms = Terms { ceiling, most_types, least_spot_types };
        ground.hold(&mut bins[bin], terms).map_err(|denied| match denied {
            Denied::Dear => {
                (KeepCode::NoSaving, format!("no new node is sure to cost less than {}", command.who()))
            }
            Denied::FewTypes(types) => {
                let message =
                    format!("{types} types are cheaper Spot, {least_spot_types} are asked of a replacement");
                (KeepCode::SpotFlexibility, message)
            }
            Denied::FewSteadyTypes(types) => {
                let message = format!(
                    "{types} types are cheaper Spot that was neither short nor taken back within a day, \
                     {least_spot_types} are asked of a replacement"
                );
                (KeepCode::SpotFlexibility, message)
            }
        })
    })
}

fn pool_of<'a>(snapshot: &'a Snapshot, candidate: &Candidate) -> Option<&'a NodePool> {
    let name = snapshot.cluster.nodes[candidate.node].pool()?;
    snapshot.cluster.pools.iter().find(|pool| pool.name == name)
}

fn is_spot(snapshot: &Snapshot, candidate: &Candidate) -> bool {
    let node = &snapshot.cluster.nodes[candidate.node];
    node.labels.get(labels::CAPACITY_TYPE).map(String::as_str) == Some(CapacityType::Spot.as_str())
}
