//! From a packed bin to a NodeClaim: the ways to buy it, its labels and its name.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use model::{
    CapacityType, Effect, InstanceType, MinValuesPolicy, NodeClaimDraft, Offer, Plan, PlannedNode,
    Requirement, Requirements, Resources, Snapshot, labels,
};

use super::packing::{Packer, usage};
use super::universe::{Template, Universe};

/// A NodeClaim names at most so many types, unless `minValues` asks for more: as many as one fleet request can hold.
const MAX_TYPES: usize = 60;

const MIN_VALUES_RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";

/// A bin with its pods.
pub(crate) struct Chosen {
    pub column: usize,
    pub options: Rc<Options>,
    pub pods: Vec<usize>,
    /// Labels that topology decisions rely on.
    pub pinned: BTreeMap<String, String>,
}

/// The ways to buy one bin.
pub(crate) struct Options {
    /// Cheapest first; the first is the one the plan is priced by.
    columns: Vec<usize>,
    /// Fewer values than `minValues` asks are on offer.
    relaxed: bool,
}

/// Whether a label is decided by the offering, not by the instance type.
pub(crate) fn decided_by_offering(key: &str) -> bool {
    matches!(key, labels::ZONE | labels::ZONE_ID | labels::CAPACITY_TYPE | labels::USD_PER_HOUR)
}

/// The value a type gives `key`.
pub(crate) fn type_value(instance_type: &InstanceType, key: &str) -> Option<String> {
    if key == labels::INSTANCE_TYPE {
        return Some(instance_type.name.clone());
    }
    instance_type.requirements.get(key).and_then(Requirement::single).map(str::to_owned)
}

/// The columns of `ranked` that the claim may name beside `chosen`; none if that breaks a strict `minValues`.
///
/// A claim lists types, zones and capacity types apart, so every combination of what it lists must be one that
/// holds the pods, or the fleet could pick a wrong one. None may take more of a pool's limits than the chosen one,
/// by which they were counted.
pub(crate) fn options(
    packer: &Packer,
    template: usize,
    chosen: usize,
    ranked: Vec<usize>,
) -> Option<Options> {
    let universe = packer.universe();
    let offering = universe.offering(chosen);
    let reserved = offering.capacity_type == CapacityType::Reserved;
    let no_more = |column: usize| {
        let allowances = packer.allowances.get(universe.pool(chosen).name.as_str());
        allowances.into_iter().flatten().all(|allowance| {
            let amount = |column| usage(universe, column, &allowance.resource, model::MicroUsd::ZERO);
            amount(column) <= amount(chosen)
        })
    };
    let same_source = |column: usize| {
        let other = universe.offering(column);
        let same =
            |reservation: &Option<model::Reservation>| reservation.as_ref().map(|known| known.id.clone());
        same(&other.reservation) == same(&offering.reservation)
            && (other.capacity_type == CapacityType::Reserved) == reserved
    };
    let mut columns = vec![chosen];
    let others = ranked.into_iter().filter(|&column| column != chosen);
    columns.extend(others.filter(|&column| same_source(column) && no_more(column)));
    // The chosen column is the cheapest, unless supplies or limits forbade it; what is cheaper than it is not had.
    columns.retain(|&column| universe.price(column) >= universe.price(chosen));
    columns.sort_by_key(|&column| (universe.price(column), column != chosen, column));
    let wanted = min_values(&universe.templates[template]);
    let mut closures = close(universe, template, &columns).into_iter().map(|mut columns| {
        let kept = prefix(universe, &columns, &wanted);
        columns.retain(|&column| kept.contains(&universe.columns[column].type_index));
        let relaxed = wanted.iter().any(|(key, min)| distinct(universe, &columns, key) < *min as usize);
        Options { columns, relaxed }
    });
    let first = closures.next()?;
    if !first.relaxed {
        return Some(first);
    }
    let strict = packer.settings().min_values == MinValuesPolicy::Strict;
    closures.find(|options| !options.relaxed).or((!strict).then_some(first))
}

/// Subsets in which types × zones × capacity types are all among `columns`: over all its places if the first column's type
/// allows that, and at the first column's place only.
fn close(universe: &Universe, template: usize, columns: &[usize]) -> Vec<Vec<usize>> {
    let allowed: BTreeSet<usize> = columns.iter().copied().collect();
    let first = columns[0];
    let place = |column: usize| {
        let offering = universe.offering(column);
        (offering.zone.as_str(), offering.capacity_type)
    };
    let types: BTreeSet<usize> = columns.iter().map(|&column| universe.columns[column].type_index).collect();
    let mut of_type: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for &index in &universe.of_template[template] {
        let type_index = universe.columns[index].type_index;
        if types.contains(&type_index) {
            of_type.entry(type_index).or_default().push(index);
        }
    }
    let mut closures = Vec::new();
    for narrow in [false, true] {
        let inside: Vec<usize> =
            columns.iter().copied().filter(|&column| !narrow || place(column) == place(first)).collect();
        let zones: BTreeSet<&str> = inside.iter().map(|&column| place(column).0).collect();
        let capacity_types: BTreeSet<CapacityType> = inside.iter().map(|&column| place(column).1).collect();
        let whole = |type_index: usize| {
            of_type.get(&type_index).into_iter().flatten().all(|&column| {
                let (zone, capacity_type) = place(column);
                allowed.contains(&column) || !zones.contains(zone) || !capacity_types.contains(&capacity_type)
            })
        };
        if narrow || whole(universe.columns[first].type_index) {
            closures.push(
                inside.into_iter().filter(|&column| whole(universe.columns[column].type_index)).collect(),
            );
        }
    }
    closures
}

fn min_values(template: &Template) -> Vec<(String, u32)> {
    let wanted =
        template.requirements.iter().filter_map(|(key, requirement)| Some((key, requirement.min_values?)));
    wanted.map(|(key, min)| (key.to_owned(), min)).collect()
}

fn value(universe: &Universe, column: usize, key: &str) -> Option<String> {
    if decided_by_offering(key) {
        return universe.offering(column).labels().remove(key);
    }
    type_value(universe.instance_type(column), key)
}

fn distinct(universe: &Universe, columns: &[usize], key: &str) -> usize {
    columns.iter().filter_map(|&column| value(universe, column, key)).collect::<BTreeSet<_>>().len()
}

/// The cheapest types that are enough, as places in the template's list.
fn prefix(universe: &Universe, columns: &[usize], wanted: &[(String, u32)]) -> BTreeSet<usize> {
    let mut kept = BTreeSet::new();
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for &column in columns {
        let type_index = universe.columns[column].type_index;
        let enough = kept.len() >= MAX_TYPES
            && wanted
                .iter()
                .all(|(key, min)| seen.get(key.as_str()).map_or(0, BTreeSet::len) >= *min as usize);
        if enough && !kept.contains(&type_index) {
            continue;
        }
        kept.insert(type_index);
        for (key, _) in wanted {
            seen.entry(key).or_default().extend(value(universe, column, key));
        }
    }
    kept
}

/// Writes nodes and their claims into the plan, in the order of their names.
pub(crate) fn write(snapshot: &Snapshot, universe: &Universe, chosen: Vec<Chosen>, plan: &mut Plan) {
    // Bins that are alike share what they list.
    let mut shared = BTreeMap::new();
    let mut names = BTreeSet::new();
    let mut made = Vec::new();
    for bin in &chosen {
        let template = &universe.templates[universe.columns[bin.column].template];
        let (offers, requirements) = shared
            .entry((Rc::as_ptr(&bin.options), bin.pinned.clone()))
            .or_insert_with(|| {
                let offers = offers(universe, &bin.options);
                let requirements = Arc::new(requirements(universe, template, &offers, bin));
                (Arc::new(offers), requirements)
            })
            .clone();
        let mut pods: Vec<_> = bin.pods.iter().map(|&pod| snapshot.cluster.pods[pod].name.clone()).collect();
        pods.sort();
        let name = name(&template.pool.name, &pods, &offers, &mut names);
        let kind = &universe.kinds[universe.columns[bin.column].kind];
        let mut requests: Resources = universe.burdens[kind.burden].requests.clone();
        bin.pods.iter().for_each(|&pod| requests.add(&snapshot.cluster.pods[pod].spec.requests));
        let offer = offer(universe, bin.column);
        let node = PlannedNode {
            name: name.clone(),
            pool: template.pool.name.clone(),
            price: offer.price.plus(snapshot.settings.fee_per_node),
            offer,
            pods,
            requests: requests.clone(),
            allocatable: universe.instance_type(bin.column).allocatable(),
            options: offers,
            pinned: bin.pinned.clone(),
        };
        let draft = draft(template, name, requirements, requests, bin.options.relaxed);
        made.push((node, Effect::CreateNodeClaim(Arc::new(draft))));
    }
    made.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    for (node, effect) in made {
        plan.nodes.push(node);
        plan.effects.push(effect);
    }
}

fn draft(
    template: &Template,
    name: String,
    requirements: Arc<Requirements>,
    requests: Resources,
    relaxed: bool,
) -> NodeClaimDraft {
    let pool = template.pool;
    let mut labels = pool.labels.clone();
    labels.insert(labels::NODEPOOL.to_owned(), pool.name.clone());
    labels.insert(pool.node_class.label(), pool.node_class.name.clone());
    for (key, requirement) in template.requirements.iter() {
        let ours = labels::is_well_known(key) || labels::is_restricted(key);
        // An open set that no pod tells apart: its first value, so that the label is there and always the same.
        if let Some(value) = requirement.values().and_then(BTreeSet::first).filter(|_| !ours) {
            labels.entry(key.to_owned()).or_insert_with(|| value.clone());
        }
    }
    let mut annotations = pool.annotations.clone();
    annotations.insert(MIN_VALUES_RELAXED.to_owned(), relaxed.to_string());
    NodeClaimDraft {
        name,
        pool: pool.name.clone(),
        labels,
        annotations,
        taints: pool.taints.clone(),
        startup_taints: pool.startup_taints.clone(),
        node_class: pool.node_class.clone(),
        requirements,
        requests,
        expire_after: pool.expire_after,
        termination_grace_period: pool.termination_grace_period,
    }
}

fn offers(universe: &Universe, options: &Options) -> Vec<Offer> {
    options.columns.iter().map(|&column| offer(universe, column)).collect()
}

fn offer(universe: &Universe, column: usize) -> Offer {
    let offering = universe.offering(column);
    Offer {
        instance_type: universe.instance_type(column).name.clone(),
        zone: offering.zone.clone(),
        capacity_type: offering.capacity_type,
        price: offering.price,
        reservation: offering.reservation.as_ref().map(|reservation| reservation.id.clone()),
    }
}

/// What the pool asks, narrowed to the options and to what topology decided.
fn requirements(universe: &Universe, template: &Template, offers: &[Offer], bin: &Chosen) -> Requirements {
    let mut requirements = template.requirements.clone();
    let mut narrow = |key: &str, values: BTreeSet<&str>| {
        let min_values = requirements.get(key).and_then(|requirement| requirement.min_values);
        let reached = min_values.map(|min| min.min(u32::try_from(values.len()).unwrap_or(u32::MAX)));
        requirements.replace(key, Requirement::is_in(values).with_min_values(reached));
    };
    narrow(labels::INSTANCE_TYPE, offers.iter().map(|offer| offer.instance_type.as_str()).collect());
    narrow(labels::ZONE, offers.iter().map(|offer| offer.zone.as_str()).collect());
    narrow(labels::CAPACITY_TYPE, offers.iter().map(|offer| offer.capacity_type.as_str()).collect());
    let reservations: BTreeSet<&str> =
        offers.iter().filter_map(|offer| offer.reservation.as_deref()).collect();
    if !reservations.is_empty() {
        narrow(labels::RESERVATION_ID, reservations);
    }
    if bin.options.relaxed {
        for (key, min) in min_values(template) {
            let reached = u32::try_from(distinct(universe, &bin.options.columns, &key)).unwrap_or(u32::MAX);
            if let Some(requirement) = requirements.remove(&key) {
                requirements.replace(&key, requirement.with_min_values(Some(min.min(reached))));
            }
        }
    }
    for (key, value) in &bin.pinned {
        requirements.add(key, Requirement::is_in([value.as_str()]));
    }
    requirements
}

/// Pool and a hash of what the node is for: the same intent has the same name.
fn name(pool: &str, pods: &[model::ObjectName], offers: &[Offer], taken: &mut BTreeSet<String>) -> String {
    let mut hash = Fnv::default();
    hash.write(pool);
    for pod in pods {
        hash.write(&pod.namespace);
        hash.write(&pod.name);
    }
    for offer in offers {
        hash.write(&offer.instance_type);
        hash.write(&offer.zone);
        hash.write(offer.capacity_type.as_str());
    }
    loop {
        let name = format!("{pool}-{}", hash.text());
        if taken.insert(name.clone()) {
            return name;
        }
        hash.write(&name);
    }
}

/// FNV-1a, 64 bits: stable over builds and machines, which the standard library's hashers are not.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Eight characters of an alphabet that no one misreads.
    fn text(&self) -> String {
        const ALPHABET: &[u8; 32] = b"bcdfghjklmnpqrstvwxz0123456789ay";
        let mixed = self.0 ^ (self.0 >> 29);
        (0..8).map(|place| char::from(ALPHABET[(mixed >> (place * 5)) as usize & 31])).collect()
    }
}
