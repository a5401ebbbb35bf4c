//! Looks for nodes to take out, as sets.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use model::{BudgetReason, Effect, KeepCode, Kept, NodeClaimDraft, Snapshot};
use solver::BitSet;

use super::judge::{self, Balance, Command, No};
use super::{Consolidation, Sweep, Weights};
use crate::disruption::candidate::{Candidate, Limits, Scene, first_homeless, kept};
use crate::provision::{Bin, Ground, Moves, Values};

/// A node counts as wasteful when a full one of its kind costs this much more than what it could hold, in thousandths.
const WASTE: f64 = 1.08;

/// How many of the most wasteful nodes are tried together, when the rest is to be kept.
const WINDOWS: [usize; 4] = [24, 12, 6, 3];

/// So often a set is tried again without those that spoilt it.
const RETRIES: usize = 4;

/// Said of a node whose pods no single new one can hold, beside what others have room for.
const NO_ROOM: &str = "neither other nodes nor any single new one have room for all its pods";

struct Search<'a, 's> {
    snapshot: &'a Snapshot,
    ground: Ground<'a>,
    values: Values,
    candidates: Vec<Candidate>,
    limits: Limits,
    weights: &'s Weights,
    balance: Balance<'a>,
    /// Nodes that stay but take no pods.
    closed: BitSet,
    spent: u64,
    /// What was last said against each candidate that was looked at.
    said: BTreeMap<usize, No>,
}

/// What a candidate is worth.
#[derive(Clone, Copy)]
struct Worth {
    /// Of its pods.
    pods: f64,
    /// Of the best filling.
    full: f64,
}

pub(super) fn sweep(scene: &Scene, mut candidates: Vec<Candidate>, weights: &Weights) -> Sweep {
    if candidates.is_empty() {
        return Sweep::default();
    }
    let snapshot = scene.snapshot;
    let limits = scene.limits(Some(BudgetReason::Underutilized));
    let nodes = &snapshot.cluster.nodes;
    candidates.sort_by(|a, b| nodes[a.node].name.cmp(&nodes[b.node].name));
    let movable: Vec<usize> =
        candidates.iter().flat_map(|candidate| candidate.pods.iter().copied()).collect();
    let ground = Ground::new(snapshot, &movable);
    let awaited: BTreeSet<usize> = ground.awaited().into_iter().collect();
    let nominated = |candidate: &Candidate| {
        let node = &nodes[candidate.node];
        kept(node, KeepCode::Nominated, "pods without a node are going to use it")
    };
    let (awaited, candidates): (Vec<_>, Vec<_>) =
        candidates.into_iter().partition(|candidate| awaited.contains(&candidate.node));
    let mut stay: Vec<Kept> = awaited.iter().map(nominated).collect();
    if candidates.is_empty() {
        return Sweep { kept: stay, ..Sweep::default() };
    }
    let mut values = ground.values(&movable);
    let worths: Vec<Worth> = candidates
        .iter()
        .map(|candidate| Worth {
            pods: ground.worth(&values, &candidate.pods),
            full: ground.full(&mut values, candidate.node, &candidate.pods),
        })
        .collect();
    let closed = closed(snapshot);
    let mut search = Search {
        snapshot,
        ground,
        values,
        candidates,
        limits,
        weights,
        balance: Balance::new(scene),
        closed,
        spent: 0,
        said: BTreeMap::new(),
    };
    let mut sweep = search.run(&worths);
    stay.extend(search.stay(&sweep));
    sweep.kept = stay;
    sweep
}

/// Nodes that pods came to or left a short while ago are left alone, as their pools ask.
fn closed(snapshot: &Snapshot) -> BitSet {
    let pools: BTreeMap<&str, _> = snapshot
        .cluster
        .pools
        .iter()
        .filter_map(|pool| Some((pool.name.as_str(), pool.disruption.consolidate_after?)))
        .collect();
    let mut closed = BitSet::new(snapshot.cluster.nodes.len());
    for (index, node) in snapshot.cluster.nodes.iter().enumerate() {
        let patience = node.pool().filter(|_| node.claim.is_some()).and_then(|pool| pools.get(pool));
        let since = snapshot.now.duration_since(node.last_pod_event.unwrap_or(node.created));
        if patience.is_some_and(|&patience| since < patience) {
            closed.insert(index);
        }
    }
    closed
}

/// Where among `count` the looks of one minute begin: those of the minutes to come are spread evenly over all of them.
fn share(now: Timestamp, count: usize) -> usize {
    /// Of the golden ratio: its multiples keep the farthest apart.
    const FRACTION: f64 = 0.618_033_988_749_895;
    let minute = now.as_second().div_euclid(60) as f64;
    ((minute * FRACTION).fract().abs() * count as f64) as usize
}

impl Search<'_, '_> {
    fn run(&mut self, worths: &[Worth]) -> Sweep {
        let waste = |place: usize| self.candidates[place].price.0 as f64 - worths[place].pods;
        let rate = |place: usize| waste(place) / (1.0 + self.candidates[place].cost);
        let going = self.wasteful(worths);
        let mut order: Vec<usize> = going.iter().copied().filter(|&place| waste(place) > 0.0).collect();
        order.sort_by(|&a, &b| rate(b).total_cmp(&rate(a)).then(a.cmp(&b)));
        let mut closed = self.closed.clone();
        going.iter().for_each(|&place| closed.insert(self.candidates[place].node));
        let set = self.within_limits(&order);
        if let Some(consolidations) = self.attempt_sparingly(set, &closed) {
            return Sweep { consolidations, ..Sweep::default() };
        }
        self.windows(worths)
    }

    /// Smaller sets, the most wasteful first, with all other nodes to go to. The last quarter of the work goes to other
    /// nodes each minute, so that in time all are tried, however many there are.
    fn windows(&mut self, worths: &[Worth]) -> Sweep {
        let waste = |place: usize| self.candidates[place].price.0 as f64 - worths[place].pods;
        let mut order: Vec<usize> = (0..self.candidates.len()).collect();
        order.sort_by(|&a, &b| waste(b).total_cmp(&waste(a)).then(a.cmp(&b)));
        let closed = self.closed.clone();
        for size in WINDOWS.into_iter().filter(|size| *size <= order.len()) {
            let set = self.within_limits(&order[..size]);
            if let Some(consolidations) = self.attempt_sparingly(set, &closed) {
                return Sweep { consolidations, ..Sweep::default() };
            }
        }
        let most = self.weights.work.max(self.spent + self.weights.work / 2);
        let mut turn = Some(most - self.weights.work / 4);
        let mut left = VecDeque::from(order);
        loop {
            if turn.take_if(|turn| self.spent > *turn).is_some() {
                left.rotate_left(share(self.snapshot.now, left.len()));
            }
            let Some(place) = left.pop_front() else { break };
            if self.spent > most {
                return Sweep { cut_short: true, ..Sweep::default() };
            }
            let candidate = &self.candidates[place];
            self.spent += 1 + (self.snapshot.cluster.nodes.len() / 100) as u64;
            let instead =
                self.ground.cheapest_instead(&mut self.values, candidate.node, &candidate.pods, &closed);
            let worth_while = match instead {
                Some(instead) => judge::worth_while(candidate, instead, self.weights),
                None => Err((KeepCode::NoRoom, NO_ROOM.to_owned())),
            };
            if let Err(no) = worth_while {
                self.said.insert(place, no);
                continue;
            }
            let set = self.within_limits(&[place]);
            if let Some(consolidations) = self.attempt(set, &closed) {
                return Sweep { consolidations, ..Sweep::default() };
            }
        }
        Sweep::default()
    }

    /// Nodes that are not among the cheapest ways to hold all pods.
    fn wasteful(&self, worths: &[Worth]) -> Vec<usize> {
        let total: f64 = worths.iter().map(|worth| worth.pods).sum();
        let ratio = |place: usize| self.candidates[place].price.0 as f64 / worths[place].full.max(1.0);
        let mut order: Vec<usize> = (0..worths.len()).collect();
        order.sort_by(|&a, &b| ratio(a).total_cmp(&ratio(b)).then(a.cmp(&b)));
        let mut held = 0.0;
        let mut going = Vec::new();
        for place in order {
            if ratio(place) <= WASTE && held < total {
                held += worths[place].full;
            } else {
                going.push(place);
            }
        }
        going
    }

    /// As many of `order` as may go together.
    fn within_limits(&mut self, order: &[usize]) -> Vec<usize> {
        let mut limits = self.limits.clone();
        let mut set = Vec::new();
        for &place in order {
            let candidate = &self.candidates[place];
            match limits.take(&self.snapshot.cluster.nodes[candidate.node], candidate) {
                Ok(()) => set.push(place),
                Err(no) => drop(self.said.insert(place, no)),
            }
        }
        set
    }

    /// Why each candidate stays that `sweep` doesn't take.
    fn stay(&mut self, sweep: &Sweep) -> Vec<Kept> {
        let going: BTreeSet<&str> =
            sweep.consolidations.iter().flat_map(|one| &one.nodes).map(String::as_str).collect();
        let (code, otherwise) = if going.is_empty() {
            (
                KeepCode::NotLookedAt,
                "there are more nodes than one look can try; each of the next tries others",
            )
        } else {
            (KeepCode::Outdone, "others that waste more go first, then it is looked at again")
        };
        let mut stay = Vec::new();
        for (place, candidate) in self.candidates.iter().enumerate() {
            let node = &self.snapshot.cluster.nodes[candidate.node];
            if !going.contains(node.name.as_str()) {
                let no = self.said.remove(&place);
                let (code, message) = no.unwrap_or_else(|| (code, otherwise.to_owned()));
                stay.push(kept(node, code, message));
            }
        }
        stay
    }

    /// What comes of taking `set` out. A node that would be replaced by one as dear as itself is spared, and takes pods of
    /// the others, unless that saves less than it moves.
    fn attempt_sparingly(&mut self, set: Vec<usize>, closed: &BitSet) -> Option<Vec<Consolidation>> {
        let first = self.attempt(set.clone(), closed)?;
        let spared = self.as_cheap_as_new(&set, &first);
        if spared.is_empty() {
            return Some(first);
        }
        let no = || (KeepCode::NoSaving, "new nodes for its pods would cost as much".to_owned());
        self.said.extend(spared.iter().map(|&place| (place, no())));
        let mut open = closed.clone();
        spared.iter().for_each(|&place| open.remove(self.candidates[place].node));
        let rest = set.into_iter().filter(|place| !spared.contains(place)).collect();
        let second = self.attempt(rest, &open).unwrap_or_default();
        let worth = |all: &[Consolidation]| {
            let saved: u64 = all.iter().map(|one| one.saved.0).sum();
            let moved: usize = all.iter().map(|one| one.pods_moved).sum();
            saved as f64 - moved as f64 * self.weights.price_of_a_move.0 as f64
        };
        Some(if worth(&second) >= worth(&first) { second } else { first })
    }

    /// Of nodes that go, those that cost no more than a new one of the same command, one for each: those nearest to it in
    /// price, then those with most pods.
    fn as_cheap_as_new(&self, set: &[usize], found: &[Consolidation]) -> BTreeSet<usize> {
        let name = |place: usize| self.snapshot.cluster.nodes[self.candidates[place].node].name.as_str();
        let by_name: BTreeMap<&str, usize> = set.iter().map(|&place| (name(place), place)).collect();
        let mut spared = BTreeSet::new();
        for one in found {
            let members = one.nodes.iter().filter_map(|node| by_name.get(node.as_str()).copied());
            let mut members: Vec<usize> = members.collect();
            members.sort_by(|&a, &b| {
                let (one, other) = (&self.candidates[a], &self.candidates[b]);
                other.price.cmp(&one.price).then(other.cost.total_cmp(&one.cost)).then(a.cmp(&b))
            });
            for (node, _) in &one.replacements {
                let as_cheap = |place: &usize| self.candidates[*place].price <= node.price;
                if let Some(at) = members.iter().position(as_cheap) {
                    spared.insert(members.remove(at));
                }
            }
        }
        spared
    }

    /// What comes of taking `set` out, if enough of it is worth doing.
    fn attempt(&mut self, mut set: Vec<usize>, closed: &BitSet) -> Option<Vec<Consolidation>> {
        for _ in 0..RETRIES {
            if set.is_empty() {
                return None;
            }
            let mut going = BitSet::new(self.snapshot.cluster.nodes.len());
            let mut pods = Vec::new();
            for &place in &set {
                going.insert(self.candidates[place].node);
                pods.extend_from_slice(&self.candidates[place].pods);
            }
            self.spent += (pods.len() + self.snapshot.cluster.nodes.len()) as u64;
            let mut moves = self.ground.moves(&going, closed, &pods);
            if !moves.homeless.is_empty() {
                let homeless: BTreeSet<usize> = moves.homeless.iter().copied().collect();
                set.retain(|&place| {
                    let pod = first_homeless(self.snapshot, &self.candidates[place].pods, &homeless);
                    let Some(pod) = pod else { return true };
                    self.said.insert(place, (KeepCode::NoRoom, format!("pod {pod} has no other place")));
                    false
                });
                continue;
            }
            let mut commands = judge::commands(&self.candidates, &set, &moves);
            let mut out = BTreeSet::new();
            for command in &mut commands {
                let (ground, bins) = (&self.ground, &mut moves.bins);
                let verdict = self.approves(command).and_then(|()| {
                    judge::hold(self.snapshot, ground, &self.candidates, command, bins, self.weights)?;
                    let after = command.bins.iter().map(|&bin| bins[bin].price).sum();
                    // What may be launched can be dearer than what was first thought of.
                    if after == command.after {
                        return Ok(());
                    }
                    command.after = after;
                    self.approves(command)
                });
                if let Err(no) = verdict {
                    self.said.extend(command.members.iter().map(|&member| (member, no.clone())));
                    out.extend(command.members.iter().copied());
                }
            }
            if out.is_empty() {
                return Some(self.write(&commands, moves));
            }
            set.retain(|place| !out.contains(place));
        }
        None
    }

    fn approves(&self, command: &Command) -> Result<(), No> {
        judge::saves_enough(self.snapshot, &self.candidates, command, self.weights)?;
        self.balance.approves(self.snapshot, &self.candidates, command)
    }

    fn write(&self, commands: &[Command], moves: Moves) -> Vec<Consolidation> {
        let cluster = &self.snapshot.cluster;
        let mut bins: Vec<Option<Bin>> = moves.bins.into_iter().map(Some).collect();
        let mut to: BTreeMap<usize, usize> = moves.on_nodes.into_iter().collect();
        let of_command = |command: &Command| {
            let own = command.bins.iter().filter_map(|&bin| bins[bin].take()).collect();
            let plan = self.ground.write(own);
            let drafts = plan.effects.into_iter().filter_map(|effect| match effect {
                Effect::CreateNodeClaim(draft) => Some(draft),
                _ => None,
            });
            let drafts: Vec<Arc<NodeClaimDraft>> = drafts.collect();
            let mut existing: BTreeMap<String, Vec<_>> = BTreeMap::new();
            let mut pods_moved = 0;
            for pod in command.members.iter().flat_map(|&member| &self.candidates[member].pods) {
                pods_moved += 1;
                if let Some(node) = to.remove(pod) {
                    let name = cluster.nodes[node].name.clone();
                    existing.entry(name).or_default().push(cluster.pods[*pod].name.clone());
                }
            }
            existing.values_mut().for_each(|names| names.sort());
            let names =
                command.members.iter().map(|&member| &cluster.nodes[self.candidates[member].node].name);
            let mut nodes: Vec<String> = names.cloned().collect();
            nodes.sort();
            let replacements = plan.nodes.into_iter().zip(drafts).collect();
            Consolidation { nodes, replacements, existing, pods_moved, saved: command.saved() }
        };
        let mut written: Vec<Consolidation> = commands.iter().map(of_command).collect();
        written.sort_by(|a, b| b.saved.cmp(&a.saved).then_with(|| a.nodes.cmp(&b.nodes)));
        written
    }
}
