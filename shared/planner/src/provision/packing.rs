//! From demands to the solver's problem and back, one weight of pools at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use model::{MicroUsd, MinValuesPolicy, Node, NodePool, Quantity, Snapshot, labels};
use solver::{BitSet, Budget, CapGroup, Company, Demand as Want, Facet, Kind, Problem};

use super::claims::{self, Chosen};
use super::classes::Class;
use super::explain::Hint;
use super::place::{Course, Demand, Placer};
use super::topology::Rule;
use super::universe::Universe;

/// Pods that found no node, and what to try next.
pub(crate) struct Left {
    pub class: usize,
    pub variant: usize,
    pub pods: Vec<usize>,
    pub reason: Hint,
    /// What was tried, if other topology domains may still have room.
    pub in_vain: Option<Course>,
}

/// What one pool may still add, per limited resource.
pub(crate) struct Allowance {
    pub resource: String,
    pub limit: i64,
    pub used: i64,
}

impl Allowance {
    pub fn left(&self) -> i64 {
        self.limit.saturating_sub(self.used)
    }
}

/// The pseudo-resource that counts nodes.
pub(crate) const NODES: &str = "nodes";
/// The pseudo-resource that counts nodes of a pool whose launches come to nothing.
pub(crate) const TRIED: &str = "tried";

pub(crate) struct Packer<'a, 'u> {
    snapshot: &'a Snapshot,
    universe: &'u Universe<'a>,
    classes: &'u [Class<'a>],
    /// For each pool with limits, what is left of them.
    pub allowances: BTreeMap<&'a str, Vec<Allowance>>,
    /// Reservation id to instances left.
    pub reservations: BTreeMap<&'a str, u64>,
    chosen: Vec<Chosen>,
    bound: u64,
}

/// What a node of `column` takes of a pool's limit.
pub(crate) fn usage(universe: &Universe, column: usize, resource: &str, fee: MicroUsd) -> i64 {
    let capacity = &universe.instance_type(column).capacity;
    taken(resource, || universe.price(column).plus(fee), || capacity.get(resource))
}

/// What a node takes of a limit: itself, its price with its fee, or its capacity of that resource.
pub(super) fn taken(
    resource: &str,
    price: impl FnOnce() -> MicroUsd,
    capacity: impl FnOnce() -> Quantity,
) -> i64 {
    match resource {
        NODES | TRIED => Quantity::from_units(1).milli(),
        labels::USD_PER_HOUR => money(price()),
        _ => capacity().milli(),
    }
}

fn money(price: MicroUsd) -> i64 {
    i64::try_from(price.0).unwrap_or(i64::MAX)
}

impl<'a, 'u> Packer<'a, 'u> {
    pub fn universe(&self) -> &'u Universe<'a> {
        self.universe
    }

    pub fn settings(&self) -> &'a model::Settings {
        &self.snapshot.settings
    }

    pub fn new(snapshot: &'a Snapshot, universe: &'u Universe<'a>, classes: &'u [Class<'a>]) -> Self {
        let limited =
            snapshot.cluster.pools.iter().filter(|pool| {
                !pool.limits.0.is_empty() || pool.price_limit.is_some() || pool.hold().is_some()
            });
        let allowances = limited.map(|pool| (pool.name.as_str(), allowances(snapshot, pool))).collect();
        let mut reservations = BTreeMap::new();
        for column in 0..universe.columns.len() {
            if let Some(reservation) = &universe.offering(column).reservation {
                let left =
                    reservations.entry(reservation.id.as_str()).or_insert(u64::from(reservation.remaining));
                *left = (*left).min(u64::from(reservation.remaining));
            }
        }
        Self { snapshot, universe, classes, allowances, reservations, chosen: Vec::new(), bound: 0 }
    }

    /// What a pod of each demand is worth at least, an hour in micro-dollars: no way of buying nodes of the heaviest pools
    /// that take it makes it cheaper. Nothing for those that no node takes.
    pub fn worths(&self, demands: &[Demand], placer: &Placer) -> Vec<f64> {
        let mut worths = vec![0.0; demands.len()];
        let mut open: Vec<usize> = (0..demands.len()).collect();
        for weight in self.weights().into_iter().rev() {
            let columns = self.of_weight(weight);
            let (members, later) =
                open.into_iter().partition(|&member| demands[member].columns.intersects(&columns));
            open = later;
            let tier = Tier { columns: columns.iter().collect(), members };
            if tier.members.is_empty() {
                continue;
            }
            let mut problem = self.problem(&tier, demands, placer);
            problem.demands.iter_mut().for_each(|demand| demand.company = None);
            for (&member, worth) in tier.members.iter().zip(solver::worths(&problem)) {
                worths[member] = worth;
            }
        }
        worths
    }

    fn weights(&self) -> BTreeSet<u32> {
        self.universe.templates.iter().map(|template| template.pool.weight).collect()
    }

    fn of_weight(&self, weight: u32) -> BitSet {
        self.universe.columns_where(|column| self.universe.templates[column.template].pool.weight == weight)
    }

    /// Packs the demands, heaviest pools first, and gives back what found no room. Pods that are given back no longer
    /// count where they were to go.
    pub fn pack(&mut self, mut demands: Vec<Demand>, placer: &mut Placer) -> Vec<Left> {
        for weight in self.weights().into_iter().rev() {
            // Each time round takes a template away from some demand or gives some a node, so this ends.
            loop {
                demands.retain(|demand| !demand.pods.is_empty());
                if !self.pack_tier(weight, &mut demands, placer) {
                    break;
                }
            }
        }
        demands.retain(|demand| !demand.pods.is_empty());
        let mut left = Vec::new();
        for demand in demands {
            for _ in &demand.pods {
                placer.topology.record_pinned(demand.class, &demand.pins, true);
            }
            let reason = Hint::Packing { columns: demand.reach.clone() };
            let (class, variant, pods) = (demand.class, demand.variant, demand.pods);
            let near = placer.topology.checks[class][variant].iter().find(|check| {
                placer.topology.keys[check.key].hostname && matches!(check.rule, Rule::Near { .. })
            });
            let reason = match near {
                Some(check) => Hint::Topology { group: check.group, key: check.key, rule: check.rule.name() },
                None => reason,
            };
            let reach = placer.reach(class, variant);
            let elsewhere = !demand.pins.is_empty()
                && reach.iter().any(|column| !demand.reach.contains(column) && self.to_be_had(column));
            let in_vain = elsewhere.then(|| placer.course(variant, &demand.pins));
            left.push(Left { class, variant, pods, reason, in_vain });
        }
        left
    }

    /// Whether it is worth trying again: a template was taken away from a demand because its claim could not list enough,
    /// or there is less left of limits than the solver counted on.
    fn pack_tier(&mut self, weight: u32, demands: &mut [Demand], placer: &mut Placer) -> bool {
        let tier = self.of_weight(weight);
        let mut used = self.universe.none();
        let mut members = Vec::new();
        for (index, demand) in demands.iter().enumerate() {
            if demand.columns.intersects(&tier) {
                members.push(index);
                used.or_assign(&demand.columns);
            }
        }
        if members.is_empty() {
            return false;
        }
        used.and_assign(&tier);
        let tier = Tier { columns: used.iter().collect(), members };
        let problem = self.problem(&tier, demands, placer);
        let solution = solver::solve(&problem);
        // The bound is for all that the solver placed: if some of it is turned down below, it proves nothing.
        let mut bound = solution.bound;
        let mut turned_down: Vec<(usize, usize)> = Vec::new();
        let mut bought = false;
        let mut short = false;
        let mut taken = vec![0; tier.members.len()];
        let mut known: BTreeMap<(usize, BitSet), Option<Rc<claims::Options>>> = BTreeMap::new();
        for bin in &solution.bins {
            let template = self.universe.columns[tier.columns[bin.column]].template;
            let holders = solver::holders(&problem, &bin.contents, template_family(&problem, bin.column));
            let column = tier.columns[bin.column];
            // Bins that differ in their pods alone have the same options.
            let key = (bin.column, holders);
            let look = |packer: &Self| {
                let holders = key.1.iter().map(|column| tier.columns[column]).collect();
                claims::options(packer, template, column, holders).map(Rc::new)
            };
            let mut options = known.get(&key).cloned().unwrap_or_else(|| look(self));
            for _ in 0..bin.copies {
                if !self.to_be_had(column) {
                    // Others took more of the limits than the solver thought: what is left is packed anew.
                    short = true;
                    break;
                }
                if options.as_ref().is_some_and(|options| !self.affords(column, options.usages())) {
                    options = look(self);
                }
                let Some(options) = options.clone() else {
                    turned_down.extend(bin.contents.iter().map(|&(want, _)| (tier.members[want], template)));
                    break;
                };
                let mut pods = Vec::new();
                for &(want, count) in &bin.contents {
                    let from = taken[want];
                    taken[want] += count as usize;
                    pods.extend_from_slice(&demands[tier.members[want]].pods[from..taken[want]]);
                }
                let pinned = bin
                    .contents
                    .iter()
                    .flat_map(|&(want, _)| demands[tier.members[want]].pins.iter().copied());
                let pinned = pinned
                    .map(|(key, domain)| {
                        let key = &placer.topology.keys[key];
                        (key.name.to_owned(), key.values[domain].clone())
                    })
                    .collect();
                for &(want, _) in &bin.contents {
                    placer.topology.record_on_new(demands[tier.members[want]].class);
                }
                self.spend(column, options.usages());
                bought = true;
                self.chosen.push(Chosen { column, options, pods, pinned });
            }
            known.insert(key, options);
        }
        if short || !turned_down.is_empty() {
            bound = 0;
        }
        self.bound = self.bound.saturating_add(bound);
        for (want, &member) in tier.members.iter().enumerate() {
            demands[member].pods.drain(..taken[want]);
        }
        for &(member, template) in &turned_down {
            let columns = Rc::make_mut(&mut demands[member].columns);
            self.universe.of_template[template].iter().for_each(|&column| columns.remove(column));
        }
        !turned_down.is_empty() || (short && bought)
    }

    /// What a node of `column` takes of each limit of its pool.
    pub fn usages(&self, column: usize) -> Vec<i64> {
        let fee = self.snapshot.settings.fee_per_node;
        let allowances = self.allowances.get(self.universe.pool(column).name.as_str());
        let allowances = allowances.into_iter().flatten();
        allowances.map(|allowance| usage(self.universe, column, &allowance.resource, fee)).collect()
    }

    /// The most that any of `columns`, all of one pool, takes of each limit.
    pub fn most(&self, columns: &[usize]) -> Vec<i64> {
        let all = columns.iter().map(|&column| self.usages(column));
        let larger =
            |one: Vec<i64>, other: Vec<i64>| one.into_iter().zip(other).map(|(a, b)| a.max(b)).collect();
        all.reduce(larger).unwrap_or_default()
    }

    /// Whether the limits of the pool of `column` have `usages` left.
    pub fn affords(&self, column: usize, usages: &[i64]) -> bool {
        let allowances = self.allowances.get(self.universe.pool(column).name.as_str());
        let mut both = allowances.into_iter().flatten().zip(usages);
        both.all(|(allowance, &amount)| amount <= 0 || amount <= allowance.left())
    }

    /// Whether limits and stocks have something left for one more node of the column.
    pub fn to_be_had(&self, column: usize) -> bool {
        let reservation = self.universe.offering(column).reservation.as_ref();
        let left = reservation.and_then(|reservation| self.reservations.get(reservation.id.as_str()));
        self.affords(column, &self.usages(column)) && left.is_none_or(|left| *left > 0)
    }

    /// Takes a node of `column` from its stock, and `usages` from the limits of its pool.
    pub fn spend(&mut self, column: usize, usages: &[i64]) {
        if let Some(allowances) = self.allowances.get_mut(self.universe.pool(column).name.as_str()) {
            for (allowance, amount) in allowances.iter_mut().zip(usages) {
                allowance.used = allowance.used.saturating_add(*amount);
            }
        }
        if let Some(reservation) = &self.universe.offering(column).reservation
            && let Some(left) = self.reservations.get_mut(reservation.id.as_str())
        {
            *left = left.saturating_sub(1);
        }
    }

    fn problem(&self, tier: &Tier, demands: &[Demand], placer: &Placer) -> Problem {
        let resources: BTreeSet<&str> = tier
            .members
            .iter()
            .flat_map(|&member| self.classes[demands[member].class].spec.requests.iter())
            .filter(|(_, amount)| !amount.is_zero())
            .map(|(resource, _)| resource)
            .collect();
        let resources: Vec<&str> = resources.into_iter().collect();
        let amounts = |of: &model::Resources| {
            resources.iter().map(|resource| of.get(resource).milli()).collect::<Vec<_>>()
        };

        let mut wants: Vec<Want> = Vec::new();
        for (priority, &member) in tier.members.iter().enumerate() {
            let demand = &demands[member];
            let mut columns = BitSet::new(tier.columns.len());
            if tier.columns.len() == self.universe.columns.len() {
                columns.or_assign(&demand.columns);
            } else {
                let places = tier.columns.iter().enumerate();
                places
                    .filter(|(_, column)| demand.columns.contains(**column))
                    .for_each(|(place, _)| columns.insert(place));
            }
            let count = u32::try_from(demand.pods.len()).unwrap_or(u32::MAX);
            let requests = amounts(&self.classes[demand.class].spec.requests);
            wants.push(Want { count, requests, columns, company: None, priority });
        }
        let (mut columns, mut kinds, budgets, supplies) = self.columns(tier);
        for (kind, &source) in kinds.iter_mut().zip(&tier_kinds(self.universe, &tier.columns)) {
            kind.capacity = amounts(&self.universe.kinds[source].room);
            kind.capacity.iter_mut().for_each(|amount| *amount = (*amount).max(0));
            kind.family = self.universe.kinds[source].template;
        }
        columns.iter_mut().for_each(|column| {
            column.cost = column.cost.saturating_add(self.snapshot.settings.fee_per_node.0)
        });
        let facets = self.facets(&tier.columns);
        let (groups, conflicts) = neighbours(self.classes, tier, demands, placer, &mut wants);
        Problem { demands: wants, kinds, columns, groups, conflicts, supplies, budgets, facets }
    }

    /// The solver's columns with what they take of budgets and supplies.
    fn columns(&self, tier: &Tier) -> (Vec<solver::Column>, Vec<Kind>, Vec<Budget>, Vec<u64>) {
        let mut budgets = Vec::new();
        let mut of_pool: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
        for (pool, allowances) in &self.allowances {
            for allowance in allowances {
                of_pool.entry(pool).or_default().push((budgets.len(), &allowance.resource));
                budgets.push(Budget { left: allowance.left() });
            }
        }
        let order: BTreeMap<&str, usize> =
            self.reservations.keys().enumerate().map(|(index, id)| (*id, index)).collect();
        let supplies = self.reservations.values().copied().collect();
        let sources = tier_kinds(self.universe, &tier.columns);
        let places: BTreeMap<usize, usize> =
            sources.iter().enumerate().map(|(place, &kind)| (kind, place)).collect();
        let fee = self.snapshot.settings.fee_per_node;
        let columns = tier
            .columns
            .iter()
            .map(|&column| {
                let limited = of_pool.get(self.universe.pool(column).name.as_str());
                let usage = limited
                    .into_iter()
                    .flatten()
                    .map(|&(budget, resource)| (budget, usage(self.universe, column, resource, fee)))
                    .collect();
                let reservation = self.universe.offering(column).reservation.as_ref();
                let supply = reservation.and_then(|reservation| order.get(reservation.id.as_str()).copied());
                let kind = places.get(&self.universe.columns[column].kind).copied().unwrap_or(0);
                solver::Column { kind, cost: self.universe.price(column).0, supply, usage }
            })
            .collect();
        let kinds = sources.iter().map(|_| Kind { capacity: Vec::new(), family: 0 }).collect();
        (columns, kinds, budgets, supplies)
    }

    /// `minValues` over each label.
    fn facets(&self, columns: &[usize]) -> Vec<Facet> {
        if self.snapshot.settings.min_values == MinValuesPolicy::BestEffort {
            return Vec::new();
        }
        let mut facets = Vec::new();
        let families: BTreeSet<usize> =
            columns.iter().map(|&column| self.universe.columns[column].template).collect();
        for family in families {
            for (key, min) in claims::min_values(&self.universe.templates[family]) {
                if min < 2 {
                    continue;
                }
                let mut known: BTreeMap<String, u32> = BTreeMap::new();
                let mut number = |column: usize| {
                    let value = claims::value(self.universe, column, &key).unwrap_or_default();
                    let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
                    *known.entry(value).or_insert(next)
                };
                let own = |column: usize| self.universe.columns[column].template == family;
                let values = columns.iter().map(|&column| if own(column) { number(column) } else { 0 });
                facets.push(Facet { family, min, values: values.collect() });
            }
        }
        facets
    }

    /// The bins so far.
    pub fn into_chosen(self) -> Vec<Chosen> {
        self.chosen
    }

    /// Writes nodes, their claims and the bound into the plan.
    pub fn finish(&mut self, plan: &mut model::Plan) {
        let chosen = std::mem::take(&mut self.chosen);
        if !chosen.is_empty() {
            plan.lower_bound = Some(MicroUsd(self.bound));
        }
        claims::write(self.snapshot, self.universe, chosen, plan);
    }
}

struct Tier {
    /// Columns of the universe that take part, in order.
    columns: Vec<usize>,
    /// Places in the list of demands.
    members: Vec<usize>,
}

fn template_family(problem: &Problem, column: usize) -> usize {
    problem.kinds[problem.columns[column].kind].family
}

/// The kinds behind columns that are in order of their kinds.
fn tier_kinds(universe: &Universe, columns: &[usize]) -> Vec<usize> {
    let mut kinds: Vec<usize> = columns.iter().map(|&column| universe.columns[column].kind).collect();
    kinds.dedup();
    kinds
}

/// The pool's limits with what its nodes take of them, and a hold of its launches.
fn allowances(snapshot: &Snapshot, pool: &NodePool) -> Vec<Allowance> {
    let mut allowances = limits(snapshot, pool);
    if let Some(room) = trials(snapshot, pool) {
        let limit = if room == 0 { 0 } else { Quantity::from_units(1).milli() };
        allowances.push(Allowance { resource: TRIED.to_owned(), limit, used: 0 });
    }
    allowances
}

/// The pool's limits with what its nodes take of them.
pub(super) fn limits(snapshot: &Snapshot, pool: &NodePool) -> Vec<Allowance> {
    let own =
        || snapshot.cluster.nodes.iter().filter(|node| !node.deleting && node.pool() == Some(&pool.name));
    let fee = snapshot.settings.fee_per_node;
    let priced = pool.price_limit.map(|limit| (labels::USD_PER_HOUR, money(limit)));
    let limits = pool.limits.iter().map(|(resource, limit)| (resource, limit.milli())).chain(priced);
    let allowance = |(resource, limit): (&str, i64)| {
        let of_node = |node: &Node| {
            let price = || node_price(snapshot, pool, node).plus(fee);
            taken(resource, price, || node.capacity.get(resource))
        };
        let used = own().map(of_node).fold(0, i64::saturating_add);
        Allowance { resource: resource.to_owned(), limit, used }
    };
    limits.map(allowance).collect()
}

/// How many more nodes of a pool may be made now if its launches are held; a pool that has no such trouble has no such
/// number. While one is on its way no other is tried.
pub(crate) fn trials(snapshot: &Snapshot, pool: &NodePool) -> Option<usize> {
    let (_, until) = pool.hold()?;
    let starting = |node: &&Node| {
        let overdue = node.disruption.annotations.contains_key(labels::OVERDUE);
        node.is_of(pool) && !(node.initialized || node.deleting || overdue)
    };
    let free = until <= snapshot.now && !snapshot.cluster.nodes.iter().any(|node| starting(&node));
    Some(usize::from(free))
}

/// What a node that exists costs; zero if its type or offering is unknown.
pub(crate) fn node_price(snapshot: &Snapshot, pool: &NodePool, node: &Node) -> MicroUsd {
    let label = |key: &str| node.labels.get(key).map(String::as_str);
    let types = snapshot.catalogue.types.get(&pool.node_class.name);
    types
        .into_iter()
        .flat_map(|types| types.iter())
        .filter(|instance_type| label(labels::INSTANCE_TYPE) == Some(&instance_type.name))
        .flat_map(|instance_type| &instance_type.offerings)
        .find(|offering| {
            label(labels::ZONE) == Some(&offering.zone)
                && label(labels::CAPACITY_TYPE) == Some(offering.capacity_type.as_str())
        })
        .map(|offering| offering.price)
        .unwrap_or_default()
}

/// Rules between pods on one node: hostname topology and host ports.
fn neighbours(
    classes: &[Class],
    tier: &Tier,
    demands: &[Demand],
    placer: &Placer,
    wants: &mut [Want],
) -> (Vec<CapGroup>, Vec<(usize, usize)>) {
    let topology = &placer.topology;
    let count = tier.members.len();
    let class_of = |want: usize| demands[tier.members[want]].class;
    let mut selected: BTreeMap<usize, BitSet> = BTreeMap::new();
    for want in 0..count {
        for &group in &topology.members[class_of(want)] {
            selected.entry(group).or_insert_with(|| BitSet::new(count)).insert(want);
        }
    }
    let nobody = BitSet::new(count);
    let mut caps: BTreeMap<(usize, u32), CapGroup> = BTreeMap::new();
    let mut conflicts = BTreeSet::new();
    for want in 0..count {
        let demand = &demands[tier.members[want]];
        for check in topology.checks[demand.class][demand.variant].iter() {
            if !topology.keys[check.key].hostname {
                continue;
            }
            let members = selected.get(&check.group).unwrap_or(&nobody);
            match &check.rule {
                Rule::Spread { max_skew, .. } => {
                    let cap = caps.entry((check.group, *max_skew)).or_insert_with(|| {
                        let (members, owners) = (members.clone(), BitSet::new(count));
                        CapGroup { limit: *max_skew, members, owners }
                    });
                    cap.owners.insert(want);
                }
                Rule::Near { selects_itself } => {
                    let bootstrap = *selects_itself && !topology.selected_anywhere(check.group);
                    let with = members.clone();
                    let company =
                        wants[want].company.get_or_insert_with(|| Company { with: with.clone(), bootstrap });
                    company.with.and_assign(&with);
                    company.bootstrap &= bootstrap;
                }
                Rule::Apart => {
                    conflicts.extend(members.iter().map(|member| (want.min(member), want.max(member))))
                }
                Rule::Unwanted => {}
            }
        }
    }
    let ported: Vec<usize> =
        (0..count).filter(|&want| !classes[class_of(want)].spec.host_ports.is_empty()).collect();
    for (place, &one) in ported.iter().enumerate() {
        for &two in &ported[place..] {
            let (left, right) =
                (&classes[class_of(one)].spec.host_ports, &classes[class_of(two)].spec.host_ports);
            if left.iter().any(|port| right.iter().any(|other| port.conflicts(other))) {
                conflicts.insert((one, two));
            }
        }
    }
    (caps.into_values().collect(), conflicts.into_iter().collect())
}
