//! Everything that could be launched, as columns with an index of their labels.
//!
//! A *template* is a pool with one value for each label of its own that pods tell apart. A *column* is a template, an
//! instance type and an offering that agree. For each label key that anybody mentions, a bitset a value says which
//! columns have it, so that a requirement is an OR over values and a pod is an AND over requirements.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use model::{
    CapacityType, InstanceType, MicroUsd, NodePool, Offering, PodSpec, PoolStatus, Requirement, Requirements,
    Resources, Snapshot, Taint, TaintEffect, Toleration, labels,
};
use solver::BitSet;

use super::daemons::{self, Burden};
use super::packing::trials;

/// Beyond this many combinations of label values a pool is no longer split, and keeps its first ones.
const MAX_SPLITS: usize = 256;

/// Stands for a label that is left out. No label has it as its value unless a pool says so, and then it is not open.
const ABSENT: &str = "";

/// A pool, with one value for each of its own labels that pods tell apart.
pub(crate) struct Template<'a> {
    pub pool: &'a NodePool,
    pub requirements: Requirements,
    pub types: &'a [InstanceType],
    /// The values chosen for labels that the pool leaves open.
    pub split: BTreeMap<String, String>,
}

/// A type of a template with the daemons it would carry.
pub(crate) struct Kind {
    pub template: usize,
    pub type_index: usize,
    pub burden: usize,
    /// What is left for pods.
    pub room: Resources,
}

/// A template, a type and an offering that agree.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub template: usize,
    pub type_index: usize,
    pub offering: usize,
    pub kind: usize,
}

/// Where and how a column is bought.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(crate) struct Place {
    /// A number for the zone.
    pub zone: usize,
    pub capacity_type: CapacityType,
}

struct KeyIndex {
    values: BTreeMap<String, BitSet>,
    absent: BitSet,
}

/// Everything that could be launched.
pub(crate) struct Universe<'a> {
    pub templates: Vec<Template<'a>>,
    pub columns: Vec<Column>,
    pub kinds: Vec<Kind>,
    pub burdens: Vec<Burden>,
    /// The columns of each template.
    pub of_template: Vec<Vec<usize>>,
    /// Where and how each column is bought.
    pub places: Vec<Place>,
    /// For each column, the columns of its template and type.
    pub siblings: Vec<Range<usize>>,
    /// Where the columns of each kind end.
    ends: Vec<usize>,
    /// For each resource, the room of each kind.
    rooms: BTreeMap<String, Vec<i64>>,
    index: BTreeMap<String, KeyIndex>,
}

/// Label keys that pods, daemons and volumes mention, with the values they name.
#[derive(Default)]
pub(crate) struct Mentions(pub BTreeMap<String, BTreeSet<String>>);

impl Mentions {
    pub fn add_key(&mut self, key: &str) {
        self.0.entry(labels::normalise(key).to_owned()).or_default();
    }

    pub fn add(&mut self, requirements: &Requirements) {
        for (key, requirement) in requirements.iter() {
            let values = self.0.entry(key.to_owned()).or_default();
            values.extend(requirement.values().or(requirement.excluded()).into_iter().flatten().cloned());
        }
    }

    pub fn add_spec(&mut self, spec: &PodSpec) {
        self.add(&spec.node_selector);
        spec.required.iter().for_each(|term| self.add(term));
        spec.preferred.iter().for_each(|term| self.add(&term.term));
        spec.spread.iter().for_each(|spread| self.add_key(&spread.key));
        let weighted =
            spec.preferred_affinity.iter().chain(&spec.preferred_anti_affinity).map(|term| &term.term);
        for term in spec.affinity.iter().chain(&spec.anti_affinity).chain(weighted) {
            self.add_key(&term.key);
        }
    }
}

/// The pools that may get nodes, heaviest first, then by larger name.
pub(crate) fn usable_pools(snapshot: &Snapshot) -> Vec<&NodePool> {
    let mut pools: Vec<_> = snapshot
        .cluster
        .pools
        .iter()
        .filter(|pool| pool.status == PoolStatus::Ready && pool.replicas.is_none() && !pool.deleting)
        .filter(|pool| trials(snapshot, pool) != Some(0))
        .collect();
    pools.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name)));
    pools
}

impl<'a> Universe<'a> {
    /// Builds it for the labels in `mentions`.
    pub fn new(snapshot: &'a Snapshot, mentions: &Mentions) -> Self {
        let mut templates = Vec::new();
        for pool in usable_pools(snapshot) {
            let Some(types) = snapshot.catalogue.types.get(&pool.node_class.name) else { continue };
            templates.extend(split(pool, types, mentions));
        }
        let mut columns = Vec::new();
        for (template_index, template) in templates.iter().enumerate() {
            for (type_index, instance_type) in template.types.iter().enumerate() {
                if !agree(&template.requirements, &instance_type.requirements) {
                    continue;
                }
                for (offering_index, offering) in instance_type.offerings.iter().enumerate() {
                    if offering.available && sells(&template.requirements, offering) {
                        let (template, offering) = (template_index, offering_index);
                        columns.push(Column { template, type_index, offering, kind: 0 });
                    }
                }
            }
        }
        let (kinds, burdens) = (Vec::new(), Vec::new());
        let (of_template, places, siblings, ends, rooms, index) = Default::default();
        let mut universe =
            Self { templates, columns, kinds, burdens, of_template, places, siblings, ends, rooms, index };
        for key in mentions.0.keys() {
            let index = universe.index_key(key);
            universe.index.insert(key.clone(), index);
        }
        universe.add_kinds(snapshot);
        universe
    }

    /// Columns of one type that carry the same daemons are one kind.
    fn add_kinds(&mut self, snapshot: &Snapshot) {
        let (burdens, of_column) = daemons::burdens(snapshot, self);
        self.burdens = burdens;
        let mut known: BTreeMap<(usize, usize, usize), usize> = BTreeMap::new();
        for (index, burden) in of_column.into_iter().enumerate() {
            let column = self.columns[index];
            let key = (column.template, column.type_index, burden);
            let kind = *known.entry(key).or_insert_with(|| {
                let mut room = self.templates[column.template].types[column.type_index].allocatable();
                room.subtract(&self.burdens[burden].requests);
                self.kinds.push(Kind {
                    template: column.template,
                    type_index: column.type_index,
                    burden,
                    room,
                });
                self.kinds.len() - 1
            });
            self.columns[index].kind = kind;
        }
        // The packer wants the columns of a kind side by side; labels are indexed by column, so they are made anew.
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|&index| (self.columns[index].kind, index));
        if order.iter().enumerate().any(|(place, &index)| place != index) {
            self.columns = order.iter().map(|&index| self.columns[index]).collect();
            for key in self.index.keys().cloned().collect::<Vec<_>>() {
                let index = self.index_key(&key);
                self.index.insert(key, index);
            }
        }
        self.of_template = vec![Vec::new(); self.templates.len()];
        for (index, column) in self.columns.iter().enumerate() {
            self.of_template[column.template].push(index);
        }
        let mut zones: BTreeMap<&str, usize> = BTreeMap::new();
        for index in 0..self.columns.len() {
            let offering = self.offering(index);
            let next = zones.len();
            let zone = *zones.entry(&offering.zone).or_insert(next);
            self.places.push(Place { zone, capacity_type: offering.capacity_type });
        }
        for group in self.columns.chunk_by(|one, other| one.kind == other.kind) {
            self.ends.push(self.ends.last().copied().unwrap_or(0) + group.len());
        }
        let of_type = |column: &Column| (column.template, column.type_index);
        for group in self.columns.chunk_by(|one, other| of_type(one) == of_type(other)) {
            let start = self.siblings.len();
            self.siblings.extend(std::iter::repeat_n(start..start + group.len(), group.len()));
        }
        for (place, kind) in self.kinds.iter().enumerate() {
            for (resource, amount) in kind.room.iter() {
                if !self.rooms.contains_key(resource) {
                    self.rooms.insert(resource.to_owned(), vec![0; self.kinds.len()]);
                }
                if let Some(rooms) = self.rooms.get_mut(resource) {
                    rooms[place] = amount.milli();
                }
            }
        }
    }

    pub fn instance_type(&self, column: usize) -> &'a InstanceType {
        let Column { template, type_index, .. } = self.columns[column];
        &self.templates[template].types[type_index]
    }

    pub fn offering(&self, column: usize) -> &'a Offering {
        &self.instance_type(column).offerings[self.columns[column].offering]
    }

    pub fn pool(&self, column: usize) -> &'a NodePool {
        self.templates[self.columns[column].template].pool
    }

    pub fn price(&self, column: usize) -> MicroUsd {
        self.offering(column).price
    }

    pub fn none(&self) -> BitSet {
        BitSet::new(self.columns.len())
    }

    pub fn all(&self) -> BitSet {
        BitSet::full(self.columns.len())
    }

    fn index_key(&self, key: &str) -> KeyIndex {
        let mut absent = self.none();
        let mut known: BTreeMap<Cow<str>, BitSet> = BTreeMap::new();
        let by_offering = offering_keys().any(|known| known == key);
        let of_type = |column: &Column| (column.template, column.type_index);
        let mut position = 0;
        for group in self.columns.chunk_by(|one, other| of_type(one) == of_type(other)) {
            let template = &self.templates[group[0].template];
            let instance_type = &template.types[group[0].type_index];
            let values = if by_offering { Vec::new() } else { type_values(template, instance_type, key) };
            for column in group {
                let own = by_offering.then(|| offering_value(&instance_type.offerings[column.offering], key));
                let mut some = false;
                for value in own.flatten().iter().chain(&values) {
                    some = true;
                    match known.get_mut(value) {
                        Some(columns) => columns.insert(position),
                        None => {
                            let mut columns = self.none();
                            columns.insert(position);
                            known.insert(value.clone(), columns);
                        }
                    }
                }
                if !some {
                    absent.insert(position);
                }
                position += 1;
            }
        }
        let values = known.into_iter().map(|(value, columns)| (value.into_owned(), columns)).collect();
        KeyIndex { values, absent }
    }

    /// Columns that satisfy one requirement.
    pub fn satisfying(&self, key: &str, requirement: &Requirement) -> BitSet {
        let mut columns = self.none();
        match self.index.get(key) {
            Some(index) => {
                for (value, bits) in &index.values {
                    if requirement.has(value) {
                        columns.or_assign(bits);
                    }
                }
                if requirement.allows_absence() {
                    columns.or_assign(&index.absent);
                }
            }
            None => {
                let index = self.index_key(key);
                for (_, bits) in index.values.iter().filter(|(value, _)| requirement.has(value)) {
                    columns.or_assign(bits);
                }
                if requirement.allows_absence() {
                    columns.or_assign(&index.absent);
                }
            }
        }
        columns
    }

    /// Columns that satisfy all of `requirements`.
    pub fn allowed(&self, requirements: &Requirements) -> BitSet {
        let mut columns = self.all();
        for (key, requirement) in requirements.iter() {
            columns.and_assign(&self.satisfying(key, requirement));
        }
        columns
    }

    /// Columns that satisfy one of `alternatives`; no alternatives mean no demand.
    pub fn any_allowed(&self, alternatives: &[Requirements]) -> BitSet {
        if alternatives.is_empty() {
            return self.all();
        }
        let mut columns = self.none();
        for requirements in alternatives {
            columns.or_assign(&self.allowed(requirements));
        }
        columns
    }

    /// Columns whose taints are tolerated; `PreferNoSchedule` counts unless `relaxed`.
    pub fn tolerated(&self, tolerations: &[Toleration], relaxed: bool) -> BitSet {
        let good: Vec<bool> = self
            .templates
            .iter()
            .map(|template| untolerated(&template.pool.taints, tolerations, relaxed).is_none())
            .collect();
        if good.iter().all(|good| *good) {
            return self.all();
        }
        self.columns_where(|column| good[column.template])
    }

    /// Columns whose kind has room for `requests`.
    pub fn fitting(&self, requests: &Resources) -> BitSet {
        let mut fits = vec![true; self.kinds.len()];
        for (resource, amount) in requests.iter().filter(|(_, amount)| !amount.is_zero()) {
            match self.rooms.get(resource) {
                Some(rooms) => {
                    fits.iter_mut().zip(rooms).for_each(|(fits, &room)| *fits &= amount.milli() <= room)
                }
                None => fits.fill(false),
            }
        }
        let mut columns = self.none();
        let mut start = 0;
        for (fits, end) in fits.into_iter().zip(&self.ends) {
            if fits {
                columns.insert_range(start, *end);
            }
            start = *end;
        }
        columns
    }

    pub fn columns_where(&self, holds: impl Fn(&Column) -> bool) -> BitSet {
        let mut columns = self.none();
        for (index, column) in self.columns.iter().enumerate() {
            if holds(column) {
                columns.insert(index);
            }
        }
        columns
    }

    /// The values of `key` among all columns.
    pub fn values(&self, key: &str) -> impl Iterator<Item = (&str, &BitSet)> {
        let values = self.index.get(key).map(|index| &index.values);
        values.into_iter().flatten().map(|(value, columns)| (value.as_str(), columns))
    }
}

/// The first taint that keeps a pod away.
pub(crate) fn untolerated<'t>(
    taints: &'t [Taint],
    tolerations: &[Toleration],
    relaxed: bool,
) -> Option<&'t Taint> {
    taints
        .iter()
        .filter(|taint| !(relaxed && taint.effect == TaintEffect::PreferNoSchedule))
        .find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

/// Whether an offering's labels agree with what a pool asks.
pub(crate) fn sells(requirements: &Requirements, offering: &Offering) -> bool {
    offering_keys().all(|key| {
        let Some(requirement) = requirements.get(key) else { return true };
        match offering_value(offering, key) {
            Some(value) => requirement.has(&value),
            None => requirement.allows_absence(),
        }
    })
}

/// Whether a pool and a type have a value in common for each label of both.
fn agree(asked: &Requirements, offered: &Requirements) -> bool {
    asked.iter().all(|(key, asked)| {
        offered.get(key).is_none_or(|offered| {
            asked.allows_absence() && offered.allows_absence() || asked.intersects(offered)
        })
    })
}

/// What an offering gives one of [`offering_keys`]; the same as in its labels.
fn offering_value<'o>(offering: &'o Offering, key: &str) -> Option<Cow<'o, str>> {
    let reservation = offering.reservation.as_ref();
    match key {
        labels::ZONE => Some(offering.zone.as_str().into()),
        labels::ZONE_ID => offering.zone_id.as_deref().map(Cow::from),
        labels::CAPACITY_TYPE => Some(offering.capacity_type.as_str().into()),
        labels::USD_PER_HOUR => Some(offering.price.0.to_string().into()),
        labels::RESERVATION_ID => reservation.map(|reservation| reservation.id.as_str().into()),
        labels::RESERVATION_TYPE => reservation.map(|reservation| reservation.kind.as_str().into()),
        labels::RESERVATION_INTERRUPTIBLE => {
            reservation.map(|reservation| reservation.interruptible.to_string().into())
        }
        _ => None,
    }
}

fn offering_keys() -> impl Iterator<Item = &'static str> {
    [
        labels::ZONE,
        labels::ZONE_ID,
        labels::CAPACITY_TYPE,
        labels::USD_PER_HOUR,
        labels::RESERVATION_ID,
        labels::RESERVATION_TYPE,
        labels::RESERVATION_INTERRUPTIBLE,
    ]
    .into_iter()
}

/// What a type of a template gives a key that no offering decides.
fn type_values<'v>(template: &'v Template, instance_type: &'v InstanceType, key: &str) -> Vec<Cow<'v, str>> {
    if let Some(value) = template.split.get(key) {
        return Some(value.as_str()).filter(|value| *value != ABSENT).map(Cow::from).into_iter().collect();
    }
    if matches!(key, labels::REGISTERED | labels::INITIALIZED) {
        return vec!["true".into()];
    }
    match (template.requirements.get(key), instance_type.requirements.get(key)) {
        (Some(asked), Some(offered)) => {
            let both = asked.intersection(offered);
            both.values().into_iter().flatten().map(|value| value.clone().into()).collect()
        }
        (Some(one), None) | (None, Some(one)) => {
            one.values().into_iter().flatten().map(|value| value.as_str().into()).collect()
        }
        (None, None) => Vec::new(),
    }
}

/// One template for each combination of values that pods could tell apart.
fn split<'a>(pool: &'a NodePool, types: &'a [InstanceType], mentions: &Mentions) -> Vec<Template<'a>> {
    let requirements = pool.node_requirements();
    let mut splits = vec![BTreeMap::new()];
    for (key, named) in &mentions.0 {
        let values = open_values(&requirements, types, key, named);
        if values.is_empty() || splits.len() * values.len() > MAX_SPLITS {
            continue;
        }
        splits = splits
            .iter()
            .flat_map(|chosen: &BTreeMap<String, String>| {
                values.iter().map(move |value| {
                    let mut chosen = chosen.clone();
                    chosen.insert(key.clone(), value.clone());
                    chosen
                })
            })
            .collect();
    }
    let narrowed = |split: &BTreeMap<String, String>| {
        let mut requirements = requirements.clone();
        for (key, value) in split.iter().filter(|(_, value)| *value != ABSENT) {
            requirements.add(key, Requirement::is_in([value.as_str()]));
        }
        requirements
    };
    splits.into_iter().map(|split| Template { pool, requirements: narrowed(&split), types, split }).collect()
}

/// The values a pool leaves open for `key`, if it leaves it open and the offering does not decide it.
fn open_values(
    requirements: &Requirements,
    types: &[InstanceType],
    key: &str,
    named: &BTreeSet<String>,
) -> Vec<String> {
    if offering_keys().any(|known| known == key) || key == labels::HOSTNAME {
        return Vec::new();
    }
    let mut by_type = BTreeSet::new();
    let mut varies_within_a_type = false;
    let mut known_to_types = false;
    for instance_type in types {
        let Some(offered) = instance_type.requirements.get(key) else { continue };
        known_to_types = true;
        if let Some(values) = offered.values() {
            varies_within_a_type |= values.len() > 1;
            by_type.extend(values.iter());
        }
    }
    if known_to_types {
        if !varies_within_a_type {
            return Vec::new();
        }
        let asked = requirements.get(key);
        let open = |value: &&&String| asked.is_none_or(|asked| asked.has(value));
        return by_type.iter().filter(open).map(|value| (*value).clone()).collect();
    }
    let Some(asked) = requirements.get(key) else { return Vec::new() };
    match asked.values() {
        Some(values) if values.len() < 2 => Vec::new(),
        Some(values) => values.iter().cloned().collect(),
        // Any value will do: those that pods name, one that none does, and none at all if the pool allows that.
        None => {
            let mut values: Vec<String> = named.iter().filter(|value| asked.has(value)).cloned().collect();
            let least = asked.bounds().0.unwrap_or(0);
            let unnamed = (least..).take(named.len() + asked.excluded().map_or(0, BTreeSet::len) + 1);
            values.extend(
                unnamed
                    .map(|number| number.to_string())
                    .find(|value| asked.has(value) && !named.contains(value)),
            );
            values.extend(asked.allows_absence().then(|| ABSENT.to_owned()));
            values
        }
    }
}
