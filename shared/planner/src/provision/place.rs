//! Walks the queue: nodes that exist first, then a topology domain for each pod that needs a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use model::{MicroUsd, Snapshot};
use solver::BitSet;

use super::classes::Class;
use super::explain::Hint;
use super::fleet::Fleet;
use super::topology::{Check, Domain, Rule, Stand, Topology};
use super::universe::Universe;

/// Pods that will share nodes freely: same class, same preferences held, same domains.
pub(crate) struct Demand {
    pub class: usize,
    pub variant: usize,
    /// Topology key and chosen domain.
    pub pins: Vec<(usize, Domain)>,
    pub columns: Rc<BitSet>,
    /// The same before the packer took any away.
    pub reach: Rc<BitSet>,
    pub pods: Vec<usize>,
}

/// What one walk through the queue came to.
#[derive(Default)]
pub(crate) struct Placed {
    pub demands: Vec<Demand>,
    pub failed: Vec<(usize, Vec<usize>, Hint)>,
}

/// A pod, and what it has in common with others.
#[derive(Clone, Copy)]
struct Alike {
    class: usize,
    variant: usize,
    pod: usize,
}

/// A domain that a class can reach on new nodes.
struct Choice {
    domain: Domain,
    weight: u32,
    /// Only reservations sell there, so that it may hold fewer than come.
    scarce: bool,
    price: MicroUsd,
    columns: Rc<BitSet>,
}

type Pins = Vec<(usize, Domain)>;

/// Topology labels and the values chosen for them, with the variant that they were chosen for. By name, since places in
/// lists change from attempt to attempt.
pub(crate) type Course = (usize, Vec<(String, String)>);

pub(crate) struct Placer<'a, 'u> {
    snapshot: &'a Snapshot,
    universe: &'u Universe<'a>,
    classes: &'u [Class<'a>],
    pub fleet: Fleet<'a>,
    pub topology: Topology<'a>,
    on_nodes: Vec<(usize, usize)>,
    /// What was tried for pods in vain, as limits or stocks were used up there.
    pub barred: BTreeMap<usize, BTreeSet<Course>>,
    /// For a class and variant, the nodes that may still take a pod of it.
    candidates: BTreeMap<(usize, usize), Vec<usize>>,
    reach: BTreeMap<(usize, usize), Rc<BitSet>>,
    /// For a class, a variant, a key and the pins before it.
    choices: BTreeMap<(usize, usize, usize, Pins), Vec<Choice>>,
}

impl<'a, 'u> Placer<'a, 'u> {
    pub fn new(
        snapshot: &'a Snapshot,
        universe: &'u Universe<'a>,
        classes: &'u [Class<'a>],
        fleet: Fleet<'a>,
        topology: Topology<'a>,
    ) -> Self {
        let (barred, candidates, reach, choices) = Default::default();
        Self {
            snapshot,
            universe,
            classes,
            fleet,
            topology,
            on_nodes: Vec::new(),
            barred,
            candidates,
            reach,
            choices,
        }
    }

    /// Pods that found a node, with its place in the fleet.
    pub fn placements(&self) -> impl Iterator<Item = (usize, usize)> {
        self.on_nodes.iter().copied()
    }

    /// Takes `(class, first variant, pods)` in queue order. A pod that finds nothing is tried again as long as others
    /// find something, since it may want to be near one of them.
    pub fn place(&mut self, mut waiting: Vec<(usize, usize, Vec<usize>)>) -> Placed {
        let mut demands: BTreeMap<(usize, usize, Pins), Demand> = BTreeMap::new();
        let mut order = Vec::new();
        let mut failed = Vec::new();
        let mut progress = true;
        while progress && !waiting.is_empty() {
            progress = false;
            failed.clear();
            for (class, first, pods) in std::mem::take(&mut waiting) {
                let mut settled = 0;
                let mut hint = None;
                for &pod in &pods {
                    match self.place_one(class, first, pod) {
                        Ok(None) => {}
                        Ok(Some((variant, pins, columns))) => {
                            let key = (class, variant, pins);
                            let demand = demands.entry(key.clone()).or_insert_with(|| {
                                order.push(key.clone());
                                Demand {
                                    class,
                                    variant,
                                    pins: key.2,
                                    reach: columns.clone(),
                                    columns,
                                    pods: Vec::new(),
                                }
                            });
                            demand.pods.push(pod);
                        }
                        Err(why) => {
                            // Nothing has changed for the rest of its class.
                            hint = Some(why);
                            break;
                        }
                    }
                    settled += 1;
                }
                progress |= settled > 0;
                if let Some(hint) = hint {
                    failed.push((class, pods[settled..].to_vec(), hint));
                    waiting.push((class, first, pods[settled..].to_vec()));
                }
            }
        }
        let demands = order.into_iter().filter_map(|key| demands.remove(&key)).collect();
        Placed { demands, failed }
    }

    /// `None` if a node that exists takes it; else the variant, the pins and the columns of its new node.
    fn place_one(
        &mut self,
        class: usize,
        first: usize,
        pod: usize,
    ) -> Result<Option<(usize, Pins, Rc<BitSet>)>, Hint> {
        let mut last = None;
        for variant in first..self.classes[class].variants.len() {
            let checks = self.topology.checks[class][variant].clone();
            let stands: Vec<Stand> = checks.iter().map(|check| self.topology.stand(check)).collect();
            if self.place_on_node(class, variant, pod, &checks, &stands) {
                return Ok(None);
            }
            match self.pin(class, variant, pod, &checks, &stands) {
                Ok((pins, columns)) => {
                    self.topology.record_pinned(class, &pins, false);
                    return Ok(Some((variant, pins, columns)));
                }
                Err(hint) => last = Some(hint),
            }
        }
        Err(last.unwrap_or(Hint::Columns))
    }

    fn place_on_node(
        &mut self,
        class: usize,
        variant: usize,
        pod: usize,
        checks: &[Check],
        stands: &[Stand],
    ) -> bool {
        let pods = &self.snapshot.cluster.pods;
        let candidates = self.candidates.entry((class, variant)).or_insert_with(|| {
            let mut welcome = vec![None; self.fleet.looks()];
            let (alike, held) = (&self.classes[class], &self.classes[class].variants[variant]);
            let fleet = &self.fleet;
            let may = |&node: &usize| {
                let look = fleet.nodes[node].look;
                fleet.nodes[node].open
                    && *welcome[look].get_or_insert_with(|| fleet.welcomes(look, alike, held))
            };
            (0..fleet.nodes.len()).filter(may).collect()
        });
        let requests = &pods[pod].spec.requests;
        let mut full = 0;
        let found = candidates.iter().copied().find(|&node| {
            let seat = &self.fleet.nodes[node];
            if requests.exceeds(&seat.room).is_some() {
                full += 1;
                return false;
            }
            let admitted = checks.iter().zip(stands).all(|(check, &stand)| {
                self.topology.admits(check, stand, self.topology.node_domain(check.key, node))
            });
            admitted && !seat.port_conflict(&pods[pod]) && seat.volume_excess(&pods[pod]).is_none()
        });
        // Room only shrinks, so a node that is too full stays so for the whole class.
        if full > 32 {
            candidates.retain(|&node| requests.exceeds(&self.fleet.nodes[node].room).is_none());
        }
        let Some(node) = found else { return false };
        self.fleet.nodes[node].take(&pods[pod]);
        self.topology.record_on_node(class, node, self.fleet.nodes[node].look);
        self.on_nodes.push((pod, node));
        true
    }

    /// Columns that one variant of a class leaves, neighbours aside.
    pub fn reach(&mut self, class: usize, variant: usize) -> Rc<BitSet> {
        let (universe, alike) = (self.universe, &self.classes[class]);
        let reach = self.reach.entry((class, variant)).or_insert_with(|| {
            let (spec, held) = (alike.spec, &alike.variants[variant]);
            let mut columns = universe.tolerated(&spec.tolerations, held.relaxed_taints);
            columns.and_assign(&universe.allowed(&spec.node_selector));
            columns.and_assign(&universe.any_allowed(&spec.required));
            if let Some(preferred) = held.preferred {
                columns.and_assign(&universe.allowed(preferred));
            }
            for volume in alike.volumes {
                columns.and_assign(&universe.any_allowed(&volume.alternatives));
            }
            columns.and_assign(&universe.fitting(&spec.requests));
            if !spec.host_ports.is_empty() {
                let free: Vec<bool> = universe
                    .burdens
                    .iter()
                    .map(|burden| {
                        !burden
                            .ports
                            .iter()
                            .any(|taken| spec.host_ports.iter().any(|port| port.conflicts(taken)))
                    })
                    .collect();
                columns
                    .and_assign(&universe.columns_where(|column| free[universe.kinds[column.kind].burden]));
            }
            Rc::new(columns)
        });
        reach.clone()
    }

    /// Decides every topology key that matters for a new node.
    fn pin(
        &mut self,
        class: usize,
        variant: usize,
        pod: usize,
        checks: &[Check],
        stands: &[Stand],
    ) -> Result<(Pins, Rc<BitSet>), Hint> {
        let reach = self.reach(class, variant);
        if reach.is_empty() {
            return Err(Hint::Columns);
        }
        let keys = self.topology.keys_to_pin(class, variant);
        let mut pins = Vec::new();
        let alike = Alike { class, variant, pod };
        let columns = self.pin_rest(alike, (checks, stands), &keys, &mut pins, reach)?;
        Ok((pins, columns))
    }

    fn pin_rest(
        &mut self,
        alike: Alike,
        rules: (&[Check], &[Stand]),
        keys: &[usize],
        pins: &mut Pins,
        columns: Rc<BitSet>,
    ) -> Result<Rc<BitSet>, Hint> {
        let Some((&key, later)) = keys.split_first() else {
            let barred = self.barred.get(&alike.pod);
            let in_vain = barred.is_some_and(|barred| barred.contains(&self.course(alike.variant, pins)));
            return if in_vain { Err(Hint::Packing { columns }) } else { Ok(columns) };
        };
        let (checks, stands) = rules;
        let memo = (alike.class, alike.variant, key, pins.clone());
        if !self.choices.contains_key(&memo) {
            let choices = self.choices(key, &columns);
            self.choices.insert(memo.clone(), choices);
        }
        let on_key: Vec<(&Check, Stand)> =
            checks.iter().zip(stands.iter().copied()).filter(|(check, _)| check.key == key).collect();
        let mut admitted = Vec::new();
        let mut hint = None;
        let choices = self.choices.get(&memo).map_or(&[][..], Vec::as_slice);
        for choice in choices {
            match on_key
                .iter()
                .find(|(check, stand)| !self.topology.admits(check, *stand, Some(choice.domain)))
            {
                Some((check, _)) => {
                    hint.get_or_insert(Hint::Topology { group: check.group, key, rule: check.rule.name() });
                }
                None => {
                    let crowd: u32 = on_key
                        .iter()
                        .filter(|(check, _)| matches!(check.rule, Rule::Spread { .. }))
                        .map(|(check, _)| self.topology.count(check.group, choice.domain))
                        .sum();
                    let worth = (std::cmp::Reverse(choice.weight), choice.scarce, choice.price);
                    let rank = (crowd, worth, choice.domain);
                    admitted.push((rank, choice.columns.clone()));
                }
            }
        }
        // A node without the key will do for rules that only keep pods apart.
        if choices.is_empty() && on_key.iter().all(|(check, stand)| self.topology.admits(check, *stand, None))
        {
            return self.pin_rest(alike, rules, later, pins, columns);
        }
        if choices.is_empty() {
            hint = on_key.first().map(|(check, _)| Hint::Topology {
                group: check.group,
                key,
                rule: check.rule.name(),
            });
        }
        admitted.sort_by_key(|(rank, _)| *rank);
        let mut last = hint.unwrap_or(Hint::Columns);
        for ((.., domain), columns) in admitted {
            pins.push((key, domain));
            match self.pin_rest(alike, rules, later, pins, columns) {
                Ok(columns) => return Ok(columns),
                Err(hint) => last = hint,
            }
            pins.pop();
        }
        Err(last)
    }

    /// The pins by name.
    pub fn course(&self, variant: usize, pins: &[(usize, Domain)]) -> Course {
        let named = pins.iter().map(|&(key, domain)| {
            let key = &self.topology.keys[key];
            (key.name.to_owned(), key.values[domain].clone())
        });
        (variant, named.collect())
    }

    fn choices(&self, key: usize, columns: &BitSet) -> Vec<Choice> {
        let mut choices = Vec::new();
        for (value, of_value) in self.universe.values(self.topology.keys[key].name) {
            let mut reached = of_value.clone();
            reached.and_assign(columns);
            let Some(domain) = self.topology.domain(key, value) else { continue };
            let rank =
                |column| (std::cmp::Reverse(self.universe.pool(column).weight), self.universe.price(column));
            if let Some((weight, price)) = reached.iter().map(rank).min() {
                let scarce =
                    reached.iter().all(|column| self.universe.offering(column).reservation.is_some());
                choices.push(Choice { domain, weight: weight.0, scarce, price, columns: Rc::new(reached) });
            }
        }
        choices
    }
}
