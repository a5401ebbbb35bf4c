//! From a packed bin to a NodeClaim: the ways to buy it, its labels and its name.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use model::{
    CapacityType, Effect, Fnv1a, InstanceType, MicroUsd, MinValuesPolicy, NodeClaimDraft, Offer, Plan,
    PlannedNode, Requirement, Requirements, Resources, Snapshot, labels,
};

use solver::BitSet;

use super::packing::Packer;
use super::universe::{Template, Universe};

/// So many bytes of a NodeClaim at most say which pods it is for; pods beyond go where kube-scheduler likes.
const LONGEST_PLAN: usize = 16_384;
/// A NodeClaim names at most so many types, unless `minValues` asks for more: as many as one fleet request can hold.
const MAX_TYPES: usize = 60;

/// How many capacity types there are.
const CAPACITY_TYPES: usize = 3;

/// At most so many NodeClaims are launched by one request: if it fails, not everything does.
const MAX_GROUP: usize = 100;

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
    /// What is taken of each of the pool's limits, whichever is launched.
    usages: Vec<i64>,
}

/// Whether a label is decided by the offering, not by the instance type.
fn decided_by_offering(key: &str) -> bool {
    matches!(key, labels::ZONE | labels::ZONE_ID | labels::CAPACITY_TYPE | labels::USD_PER_HOUR)
}

/// The value a type gives `key`.
fn type_value(instance_type: &InstanceType, key: &str) -> Option<String> {
    if key == labels::INSTANCE_TYPE {
        return Some(instance_type.name.clone());
    }
    instance_type.requirements.get(key).and_then(Requirement::single).map(str::to_owned)
}

/// The columns of `holders` that the claim may name beside `chosen`; none if that breaks a strict `minValues`.
///
/// A claim lists types, zones and capacity types apart, so every combination of what it lists must be one that
/// holds the pods, or the fleet could pick a wrong one. None takes more of the pool's limits than the chosen one,
/// unless `minValues` needs it and the limits have room for whichever is launched.
pub(crate) fn options(
    packer: &Packer,
    template: usize,
    chosen: usize,
    holders: Vec<usize>,
) -> Option<Options> {
    let universe = packer.universe();
    let reserved = universe.offering(chosen).capacity_type == CapacityType::Reserved;
    let source =
        |column: usize| universe.offering(column).reservation.as_ref().map(|known| known.id.as_str());
    let same_source = |column: usize| {
        let other = universe.offering(column);
        source(column) == source(chosen) && (other.capacity_type == CapacityType::Reserved) == reserved
    };
    // The chosen column is the cheapest, unless supplies or limits forbade it; what is cheaper than it is not had.
    let price = universe.price(chosen);
    let others = holders.into_iter().filter(|&column| column != chosen);
    let others = others.filter(|&column| universe.price(column) >= price && same_source(column));
    let own = packer.usages(chosen);
    let no_more = |column: &usize| packer.usages(*column).iter().zip(&own).all(|(more, own)| more <= own);
    let (mut near, mut beyond): (Vec<usize>, Vec<usize>) =
        std::iter::once(chosen).chain(others).partition(no_more);
    let by_price = |column: &usize| (universe.price(*column), *column != chosen, *column);
    near.sort_by_key(by_price);
    let wanted = min_values(&universe.templates[template]);
    let choose = |columns: &[usize], narrow: bool, most: usize| {
        let mut columns = close(universe, columns, narrow)?;
        let kept = prefix(universe, template, &columns, &wanted, most);
        columns.retain(|&column| kept[universe.columns[column].type_index]);
        columns.sort_by_key(by_price);
        let relaxed = wanted.iter().any(|(key, min)| distinct(universe, &columns, key) < *min as usize);
        let usages = packer.most(&columns);
        Some(Options { columns, relaxed, usages })
    };
    let mut first = None;
    for narrow in [false, true] {
        match choose(&near, narrow, MAX_TYPES) {
            Some(options) if !options.relaxed => return Some(options),
            options => first = first.or(options),
        }
    }
    beyond.retain(|&column| packer.affords(column, &packer.usages(column)));
    if !beyond.is_empty() {
        beyond.sort_by_key(by_price);
        // No more of them than are needed: the limits are charged with the largest.
        let all = [near, beyond].concat();
        let mut wide = [false, true].into_iter().filter_map(|narrow| choose(&all, narrow, 0));
        if let Some(options) = wide.find(|options| !options.relaxed) {
            return Some(options);
        }
    }
    first.filter(|_| packer.settings().min_values == MinValuesPolicy::BestEffort)
}

/// A subset in which types × zones × capacity types are all among `columns`: over all its places, if the first column's
/// type allows that, or with `narrow` at the first column's place only.
fn close(universe: &Universe, columns: &[usize], narrow: bool) -> Option<Vec<usize>> {
    let first = columns[0];
    let mut allowed = universe.none();
    columns.iter().for_each(|&column| allowed.insert(column));
    let at_first = |column: &usize| !narrow || universe.places[*column] == universe.places[first];
    let (mut zones, mut capacity_types) = (BitSet::new(universe.places.len()), BitSet::new(CAPACITY_TYPES));
    for place in columns.iter().filter(|column| at_first(column)).map(|&column| universe.places[column]) {
        zones.insert(place.zone);
        capacity_types.insert(place.capacity_type as usize);
    }
    let missing = |column: usize| {
        let place = universe.places[column];
        zones.contains(place.zone)
            && capacity_types.contains(place.capacity_type as usize)
            && !allowed.contains(column)
    };
    // Whether a type is whole, by the first of its columns.
    let mut known: Vec<Option<bool>> = vec![None; universe.columns.len()];
    let mut whole = |column: usize| {
        let siblings = universe.siblings[column].clone();
        *known[siblings.start].get_or_insert_with(|| !siblings.into_iter().any(missing))
    };
    if !narrow && !whole(first) {
        return None;
    }
    Some(columns.iter().copied().filter(|column| at_first(column) && whole(*column)).collect())
}

/// What of `options` can cost no more than `ceiling`, wherever the fleet launches it: the capacity type of the cheapest
/// only, and of it the `most` cheapest types; with `steady`, none that is unsteady in any zone. None if nothing is left, or
/// less than `minValues` asks.
pub(crate) fn below(
    universe: &Universe,
    options: &Options,
    ceiling: MicroUsd,
    most: usize,
    steady: bool,
) -> Option<Options> {
    let first = *options.columns.first()?;
    let capacity_type = universe.places[first].capacity_type;
    let of_kind = |column: &usize| universe.places[*column].capacity_type == capacity_type;
    let mut columns: Vec<usize> = options.columns.iter().copied().filter(of_kind).collect();
    if steady {
        let shaky = columns.iter().filter(|&&column| universe.offering(column).unsteady);
        let shaky: BTreeSet<usize> = shaky.map(|&column| universe.columns[column].type_index).collect();
        columns.retain(|&column| !shaky.contains(&universe.columns[column].type_index));
    }
    let first = *columns.first()?;
    let dear: BTreeSet<usize> = columns
        .iter()
        .filter(|&&column| universe.price(column) > ceiling)
        .map(|&column| universe.columns[column].type_index)
        .collect();
    let cheap = |column: &usize| !dear.contains(&universe.columns[*column].type_index);
    let mut kept: Vec<usize> = if cheap(&first) {
        columns.iter().copied().filter(cheap).collect()
    } else {
        // Its own type is dearer in another zone: all stay in the zone where it is cheap.
        let near = |column: &usize| universe.places[*column] == universe.places[first];
        columns.iter().copied().filter(near).filter(|&column| universe.price(column) <= ceiling).collect()
    };
    let wanted = min_values(&universe.templates[universe.columns[first].template]);
    let mut types = BTreeSet::new();
    for &column in &kept {
        if types.len() < most {
            types.insert(universe.columns[column].type_index);
        }
    }
    let met =
        |columns: &[usize]| wanted.iter().all(|(key, min)| distinct(universe, columns, key) >= *min as usize);
    let within = |column: &usize| types.contains(&universe.columns[*column].type_index);
    let few: Vec<usize> = kept.iter().copied().filter(within).collect();
    if met(&few) {
        kept = few;
    }
    (!kept.is_empty() && met(&kept)).then(|| Options {
        columns: kept,
        relaxed: false,
        usages: options.usages.clone(),
    })
}

impl Options {
    /// The cheapest.
    pub fn first(&self) -> usize {
        self.columns[0]
    }

    /// What is taken of each of the pool's limits, whichever is launched.
    pub fn usages(&self) -> &[i64] {
        &self.usages
    }

    /// How many types there are to choose from.
    pub fn types(&self, universe: &Universe) -> usize {
        let types = self.columns.iter().map(|&column| universe.columns[column].type_index);
        types.collect::<BTreeSet<_>>().len()
    }
}

/// The keys of which a claim must keep several values, with how many.
pub(crate) fn min_values(template: &Template) -> Vec<(String, u32)> {
    let wanted =
        template.requirements.iter().filter_map(|(key, requirement)| Some((key, requirement.min_values?)));
    wanted.map(|(key, min)| (key.to_owned(), min)).collect()
}

/// The value that a node of `column` has for `key`.
pub(crate) fn value(universe: &Universe, column: usize, key: &str) -> Option<String> {
    if decided_by_offering(key) {
        return universe.offering(column).labels().remove(key);
    }
    type_value(universe.instance_type(column), key)
}

fn distinct(universe: &Universe, columns: &[usize], key: &str) -> usize {
    columns.iter().filter_map(|&column| value(universe, column, key)).collect::<BTreeSet<_>>().len()
}

/// The first types that are enough, `most` of them unless `wanted` needs more, as marks on the template's list.
fn prefix(
    universe: &Universe,
    template: usize,
    columns: &[usize],
    wanted: &[(String, u32)],
    most: usize,
) -> Vec<bool> {
    let mut kept = vec![false; universe.templates[template].types.len()];
    let mut count = 0;
    let mut seen: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for &column in columns {
        let enough = count >= most
            && wanted
                .iter()
                .all(|(key, min)| seen.get(key.as_str()).map_or(0, BTreeSet::len) >= *min as usize);
        if enough {
            break;
        }
        let kept = &mut kept[universe.columns[column].type_index];
        count += usize::from(!std::mem::replace(kept, true));
        for (key, _) in wanted {
            seen.entry(key).or_default().extend(value(universe, column, key));
        }
    }
    kept
}

/// Writes nodes and their claims into the plan, in the order of their names.
pub(crate) fn write(snapshot: &Snapshot, universe: &Universe, chosen: Vec<Chosen>, plan: &mut Plan) {
    // Bins that are alike share what they list, and are launched together.
    let mut shared = BTreeMap::new();
    let mut kinds: BTreeMap<(String, bool, Arc<Requirements>), usize> = BTreeMap::new();
    // A pod may need another node than the one that was once made for it: that one keeps its name.
    let mut names: BTreeSet<String> =
        snapshot.cluster.nodes.iter().filter_map(|node| node.claim.clone()).collect();
    let mut made = Vec::new();
    for bin in &chosen {
        let template = &universe.templates[universe.columns[bin.column].template];
        let (offers, requirements, alike) = shared
            .entry((Rc::as_ptr(&bin.options), bin.pinned.clone()))
            .or_insert_with(|| {
                let offers = offers(universe, &bin.options);
                let requirements = Arc::new(requirements(universe, template, &offers, bin));
                let count = kinds.len();
                let kind = (template.pool.name.clone(), bin.options.relaxed, requirements.clone());
                (Arc::new(offers), requirements, *kinds.entry(kind).or_insert(count))
            })
            .clone();
        let mut pods: Vec<_> = bin.pods.iter().map(|&pod| snapshot.cluster.pods[pod].name.clone()).collect();
        pods.sort();
        // A node for no pod in particular is one of its pool's number, whatever is on offer.
        let for_all: &[Offer] = if pods.is_empty() { &[] } else { &offers };
        let name = name(&template.pool.name, &pods, for_all, &mut names);
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
        let mut draft = draft(template, name, requirements, requests, bin.options.relaxed);
        if snapshot.settings.nominate && !node.pods.is_empty() {
            draft.annotations.insert(labels::PLANNED_PODS.to_owned(), planned(&node.pods));
        }
        made.push((node, draft, alike));
    }
    made.sort_by(|(a, ..), (b, ..)| a.name.cmp(&b.name));
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (place, (.., alike)) in made.iter().enumerate() {
        groups.entry(*alike).or_default().push(place);
    }
    for places in groups.values().flat_map(|places| places.chunks(MAX_GROUP)) {
        let group = group(snapshot, places.iter().map(|&place| made[place].1.name.as_str()));
        for &place in places {
            made[place].1.annotations.insert(labels::LAUNCH_GROUP.to_owned(), group.clone());
        }
    }
    for (node, draft, _) in made {
        plan.nodes.push(node);
        plan.effects.push(Effect::CreateNodeClaim(Arc::new(draft)));
    }
}

/// The pods that a node is for, as its NodeClaim tells whoever nominates it for them.
fn planned(pods: &[model::ObjectName]) -> String {
    let mut text = String::new();
    for pod in pods {
        let comma = if text.is_empty() { "" } else { "," };
        let next = format!("{comma}{}/{}", pod.namespace, pod.name);
        if text.len() + next.len() > LONGEST_PLAN {
            break;
        }
        text += &next;
    }
    text
}

/// The name of a launch group: of its NodeClaims, and of the moment, since names come back and launches must not.
fn group<'a>(snapshot: &Snapshot, names: impl Iterator<Item = &'a str>) -> String {
    let mut hash = Words::default();
    hash.write(&snapshot.now.to_string());
    names.for_each(|name| hash.write(name));
    hash.text(12)
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
    annotations.insert(labels::MIN_VALUES_RELAXED.to_owned(), relaxed.to_string());
    if let Some(hash) = pool.hashes.get(labels::HASH_VERSION) {
        annotations.insert(labels::NODEPOOL_HASH.to_owned(), hash.clone());
        annotations.insert(labels::NODEPOOL_HASH_VERSION.to_owned(), labels::HASH_VERSION.to_owned());
    }
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
    let mut hash = Words::default();
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
        let name = format!("{pool}-{}", hash.text(8));
        if taken.insert(name.clone()) {
            return name;
        }
        hash.write(&name);
    }
}

/// A name made from words.
#[derive(Default)]
struct Words(Fnv1a);

impl Words {
    fn write(&mut self, word: &str) {
        self.0.write(word.bytes().chain([0xff]));
    }

    /// So many characters, at most twelve, of an alphabet that no one misreads.
    fn text(&self, length: u32) -> String {
        const ALPHABET: &[u8; 32] = b"bcdfghjklmnpqrstvwxz0123456789ay";
        let mixed = self.0.value() ^ (self.0.value() >> 29);
        (0..length).map(|place| char::from(ALPHABET[(mixed >> (place * 5)) as usize & 31])).collect()
    }
}

#[cfg(test)]
mod tests;
