//! Who is where: counts of pods per topology domain, and the rules that look at them.
//!
//! A *group* is a selector over pods seen through one topology key. Spread constraints, affinity and anti-affinity
//! of any number of pods share a group if they look at the same pods through the same key.

use std::collections::BTreeMap;
use std::rc::Rc;

use model::{AffinityTerm, LabelSelector, Namespaces, Requirements, Snapshot, Spread, Toleration, labels};
use solver::BitSet;

use super::classes::{Class, Variant, project, selected_keys};
use super::fleet::Fleet;
use super::universe::Universe;

/// A domain of a key: a place in its list of values, or of `Fleet::nodes` for hostnames.
pub(crate) type Domain = usize;

/// A topology key and the values it has anywhere.
pub(crate) struct Key<'a> {
    pub name: &'a str,
    pub hostname: bool,
    pub values: Vec<String>,
    ids: BTreeMap<String, Domain>,
    of_node: Vec<Option<Domain>>,
}

#[derive(Clone, Eq, Ord, PartialEq, PartialOrd)]
struct GroupId<'a> {
    key: usize,
    namespaces: Namespaces,
    selector: Option<&'a LabelSelector>,
    affinity: Option<(&'a Requirements, &'a [Requirements])>,
    tolerations: Option<&'a [Toleration]>,
}

pub(crate) struct Group<'a> {
    id: GroupId<'a>,
    /// Selected pods a domain.
    counts: Vec<u32>,
    /// Pods a domain that want no selected pod near them.
    owners: Vec<u32>,
    /// Whether a selected pod is on a new node, which is no domain yet.
    on_new: bool,
    /// Looks of nodes that pass the constraint's node filter; none means all.
    filter: Option<Vec<bool>>,
}

/// A rule that one variant of a class must keep on one key.
#[derive(Clone)]
pub(crate) struct Check {
    pub group: usize,
    pub key: usize,
    pub rule: Rule,
}

#[derive(Clone)]
pub(crate) enum Rule {
    /// Counts stay within `max_skew` of the least.
    Spread { max_skew: u32, counts_itself: bool, eligible: Vec<Domain>, min_domains: u32 },
    /// A selected pod is near.
    Near { selects_itself: bool },
    /// No selected pod is near.
    Apart,
    /// No pod is near that wants none like this one.
    Unwanted,
}

impl Rule {
    /// The same, without what it is measured by.
    pub fn name(&self) -> RuleName {
        match self {
            Self::Spread { max_skew, .. } => RuleName::Spread(*max_skew),
            Self::Near { .. } => RuleName::Near,
            Self::Apart | Self::Unwanted => RuleName::Apart,
        }
    }
}

/// Which kind of rule stood in the way.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum RuleName {
    Spread(u32),
    Near,
    Apart,
}

/// What a rule comes to at the moment.
#[derive(Clone, Copy)]
pub(crate) enum Stand {
    AtMost(u32),
    Counted,
    Anywhere,
    NoneSelected,
    NoOwner,
}

pub(crate) struct Topology<'a> {
    pub keys: Vec<Key<'a>>,
    pub groups: Vec<Group<'a>>,
    /// For each class, the groups that select it.
    pub members: Vec<Vec<usize>>,
    /// For each class and variant, what it must keep.
    pub checks: Vec<Vec<Rc<Vec<Check>>>>,
    /// For each class, the groups of its required anti-affinity.
    owned: Vec<Vec<usize>>,
}

struct Builder<'a, 'b> {
    universe: &'b Universe<'a>,
    fleet: &'b Fleet<'a>,
    keys: Vec<Key<'a>>,
    groups: Vec<Group<'a>>,
    known: BTreeMap<GroupId<'a>, usize>,
}

impl<'a> Builder<'a, '_> {
    fn key(&mut self, name: &'a str) -> usize {
        if let Some(index) = self.keys.iter().position(|key| key.name == name) {
            return index;
        }
        let hostname = name == labels::HOSTNAME;
        let mut ids = BTreeMap::new();
        let mut values = Vec::new();
        if hostname {
            values = self.fleet.nodes.iter().map(|seat| seat.node.hostname().to_owned()).collect();
        } else {
            let on_nodes = self.fleet.nodes.iter().filter_map(|seat| seat.node.domain(name));
            let mut all: Vec<&str> =
                self.universe.values(name).map(|(value, _)| value).chain(on_nodes).collect();
            all.sort_unstable();
            all.dedup();
            for value in all {
                ids.insert(value.to_owned(), values.len());
                values.push(value.to_owned());
            }
        }
        let domain = |(index, seat): (usize, &super::fleet::Seat)| {
            if hostname {
                Some(index)
            } else {
                seat.node.domain(name).and_then(|value| ids.get(value).copied())
            }
        };
        let of_node = self.fleet.nodes.iter().enumerate().map(domain).collect();
        self.keys.push(Key { name, hostname, values, ids, of_node });
        self.keys.len() - 1
    }

    fn group(&mut self, id: GroupId<'a>) -> usize {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let domains = self.keys[id.key].values.len();
        let filter = (id.affinity.is_some() || id.tolerations.is_some()).then(|| {
            (0..self.fleet.looks()).map(|look| self.fleet.passes(look, id.affinity, id.tolerations)).collect()
        });
        let (counts, owners) = (vec![0; domains], vec![0; domains]);
        self.groups.push(Group { id: id.clone(), counts, owners, on_new: false, filter });
        self.known.insert(id, self.groups.len() - 1);
        self.groups.len() - 1
    }

    fn term_group(&mut self, term: &'a AffinityTerm) -> usize {
        let key = self.key(&term.key);
        let (namespaces, selector) = (term.namespaces.clone(), term.selector.as_ref());
        self.group(GroupId { key, namespaces, selector, affinity: None, tolerations: None })
    }

    fn spread_group(&mut self, class: &Class<'a>, spread: &'a Spread) -> usize {
        let key = self.key(&spread.key);
        let namespaces = Namespaces::Only([class.namespace.to_owned()].into());
        let (selector, required) = (&class.spec.node_selector, class.spec.required.as_slice());
        let constrained = !selector.is_empty() || !required.is_empty();
        let affinity = (spread.honor_affinity && constrained).then_some((selector, required));
        let tolerations = spread.honor_taints.then_some(class.spec.tolerations.as_slice());
        self.group(GroupId { key, namespaces, selector: spread.selector.as_ref(), affinity, tolerations })
    }

    fn checks(&mut self, class: &Class<'a>, variant: &Variant<'a>, strict: &BitSet) -> Vec<Check> {
        let mut checks = Vec::new();
        for spread in &variant.spread {
            let group = self.spread_group(class, spread);
            let key = self.groups[group].id.key;
            let eligible = if self.keys[key].hostname { Vec::new() } else { self.eligible(group, strict) };
            let counts_itself = spread.selects(&class.spec.labels);
            let (max_skew, min_domains) = (spread.max_skew, spread.min_domains.unwrap_or(0));
            checks.push(Check {
                group,
                key,
                rule: Rule::Spread { max_skew, counts_itself, eligible, min_domains },
            });
        }
        for term in &variant.affinity {
            let group = self.term_group(term);
            let selects_itself = term.selects(class.namespace, &class.spec.labels);
            checks.push(Check { group, key: self.groups[group].id.key, rule: Rule::Near { selects_itself } });
        }
        for term in &variant.anti_affinity {
            let group = self.term_group(term);
            checks.push(Check { group, key: self.groups[group].id.key, rule: Rule::Apart });
        }
        checks
    }

    /// The domains a spread constraint is measured over: those of nodes that stay and pass its filter, and those that
    /// this very pod could have launched. A domain only other pods can reach is not one that can be filled.
    fn eligible(&self, group: usize, strict: &BitSet) -> Vec<Domain> {
        let Group { id, filter, .. } = &self.groups[group];
        let key = &self.keys[id.key];
        let mut eligible = vec![false; key.values.len()];
        for (index, seat) in self.fleet.nodes.iter().enumerate() {
            let passes = filter.as_ref().is_none_or(|filter| filter[seat.look]);
            if let Some(domain) = key.of_node[index].filter(|_| seat.active && seat.node.has_node && passes) {
                eligible[domain] = true;
            }
        }
        for (value, columns) in self.universe.values(key.name) {
            if let Some(&domain) = key.ids.get(value).filter(|_| columns.intersects(strict)) {
                eligible[domain] = true;
            }
        }
        (0..eligible.len()).filter(|&domain| eligible[domain]).collect()
    }
}

impl<'a> Topology<'a> {
    /// `strict` is, for each class, the columns that its hard requirements leave, volumes aside.
    pub fn new(
        snapshot: &'a Snapshot,
        universe: &Universe<'a>,
        fleet: &Fleet<'a>,
        classes: &[Class<'a>],
        strict: &[BitSet],
        in_batch: &BitSet,
    ) -> Self {
        let mut builder =
            Builder { universe, fleet, keys: Vec::new(), groups: Vec::new(), known: BTreeMap::new() };
        let mut checks = Vec::new();
        let mut owned = Vec::new();
        for (class, strict) in classes.iter().zip(strict) {
            let of_variant = |variant| Rc::new(builder.checks(class, variant, strict));
            checks.push(class.variants.iter().map(of_variant).collect::<Vec<_>>());
            owned.push(
                class.spec.anti_affinity.iter().map(|term| builder.term_group(term)).collect::<Vec<_>>(),
            );
        }
        let mut bound_owners = Vec::new();
        for (index, pod) in snapshot.cluster.pods.iter().enumerate() {
            if pod.spec.anti_affinity.is_empty() || !pod.holds_capacity() || in_batch.contains(index) {
                continue;
            }
            let Some(node) = pod.node.as_deref().and_then(|node| fleet.index_of(node)) else { continue };
            for term in &pod.spec.anti_affinity {
                bound_owners.push((builder.term_group(term), node));
            }
        }
        let Builder { keys, groups, .. } = builder;
        let mut topology = Self { keys, groups, members: Vec::new(), checks, owned };
        for (group, node) in bound_owners {
            let key = topology.groups[group].id.key;
            if let Some(domain) = topology.keys[key].of_node[node] {
                topology.groups[group].owners[domain] += 1;
            }
        }
        topology.count_bound(snapshot, fleet, in_batch);
        topology.find_members(classes);
        topology
    }

    fn count_bound(&mut self, snapshot: &'a Snapshot, fleet: &Fleet, in_batch: &BitSet) {
        if self.groups.is_empty() {
            return;
        }
        let keys = selected_keys(snapshot);
        let mut alike: BTreeMap<_, (&model::PodSpec, Vec<usize>)> = BTreeMap::new();
        for (index, pod) in snapshot.cluster.pods.iter().enumerate() {
            if !pod.holds_capacity() || pod.terminating || in_batch.contains(index) {
                continue;
            }
            let Some(node) = pod.node.as_deref().and_then(|node| fleet.index_of(node)) else { continue };
            let entry = alike.entry((pod.name.namespace.as_str(), project(&pod.spec, &keys)));
            entry.or_insert_with(|| (&pod.spec, Vec::new())).1.push(node);
        }
        for ((namespace, _), (spec, nodes)) in alike {
            for group in &mut self.groups {
                if !group.id.selects(namespace, &spec.labels) {
                    continue;
                }
                for &node in &nodes {
                    let passes = group.filter.as_ref().is_none_or(|filter| filter[fleet.nodes[node].look]);
                    if let Some(domain) = self.keys[group.id.key].of_node[node].filter(|_| passes) {
                        group.counts[domain] += 1;
                    }
                }
            }
        }
    }

    fn find_members(&mut self, classes: &[Class]) {
        let wanted_away: Vec<bool> = {
            let mut wanted = vec![false; self.groups.len()];
            self.owned.iter().flatten().for_each(|&group| wanted[group] = true);
            for (index, group) in self.groups.iter().enumerate() {
                wanted[index] |= group.owners.iter().any(|&owners| owners > 0);
            }
            wanted
        };
        for (index, class) in classes.iter().enumerate() {
            let selects = |group: &usize| self.groups[*group].id.selects(class.namespace, &class.spec.labels);
            let members: Vec<usize> = (0..self.groups.len()).filter(selects).collect();
            for variant in &mut self.checks[index] {
                for &group in members.iter().filter(|&&group| wanted_away[group]) {
                    Rc::make_mut(variant).push(Check {
                        group,
                        key: self.groups[group].id.key,
                        rule: Rule::Unwanted,
                    });
                }
            }
            self.members.push(members);
        }
    }

    /// Whether where a pod of the class goes matters to others, through a key other than hostname.
    pub fn counts_for_others(&self, class: usize) -> bool {
        let matters = |&group: &usize| !self.keys[self.groups[group].id.key].hostname;
        self.members[class].iter().any(matters) || self.owned[class].iter().any(matters)
    }

    /// Keys other than hostname on which a new node for the class must be decided.
    pub fn keys_to_pin(&self, class: usize, variant: usize) -> Vec<usize> {
        let mut keys: Vec<usize> = self.checks[class][variant]
            .iter()
            .map(|check| check.key)
            .chain(self.members[class].iter().map(|&group| self.groups[group].id.key))
            .filter(|&key| !self.keys[key].hostname)
            .collect();
        keys.sort_by_key(|&key| self.keys[key].name);
        keys.dedup();
        keys
    }

    /// What a check comes to now.
    pub fn stand(&self, check: &Check) -> Stand {
        let group = &self.groups[check.group];
        match &check.rule {
            Rule::Spread { max_skew, counts_itself, eligible, min_domains } => {
                let least = eligible.iter().map(|&domain| group.counts[domain]).min();
                let few = u32::try_from(eligible.len()).unwrap_or(u32::MAX) < *min_domains;
                let least = if few || self.keys[check.key].hostname { 0 } else { least.unwrap_or(0) };
                // count + itself − least ≤ maxSkew, written as the most a domain may hold already.
                Stand::AtMost((least + max_skew).saturating_sub(u32::from(*counts_itself)))
            }
            Rule::Near { selects_itself } => {
                let nobody = !group.on_new && group.counts.iter().all(|&count| count == 0);
                if *selects_itself && nobody { Stand::Anywhere } else { Stand::Counted }
            }
            Rule::Apart => Stand::NoneSelected,
            Rule::Unwanted => Stand::NoOwner,
        }
    }

    /// Whether a domain will do; a node without the key is no domain.
    pub fn admits(&self, check: &Check, stand: Stand, domain: Option<Domain>) -> bool {
        let group = &self.groups[check.group];
        match (stand, domain) {
            (Stand::AtMost(most), Some(domain)) => group.counts[domain] <= most,
            (Stand::Counted, Some(domain)) => group.counts[domain] > 0,
            (Stand::Anywhere, domain) => domain.is_some(),
            (Stand::NoneSelected, Some(domain)) => group.counts[domain] == 0,
            (Stand::NoOwner, Some(domain)) => group.owners[domain] == 0,
            (Stand::NoneSelected | Stand::NoOwner, None) => true,
            (Stand::AtMost(_) | Stand::Counted, None) => false,
        }
    }

    pub fn node_domain(&self, key: usize, node: usize) -> Option<Domain> {
        self.keys[key].of_node[node]
    }

    pub fn domain(&self, key: usize, value: &str) -> Option<Domain> {
        self.keys[key].ids.get(value).copied()
    }

    pub fn count(&self, group: usize, domain: Domain) -> u32 {
        self.groups[group].counts[domain]
    }

    /// Counts per value of a group, for messages.
    pub fn counts(&self, group: usize) -> Vec<(String, u32)> {
        let values = &self.keys[self.groups[group].id.key].values;
        values.iter().cloned().zip(self.groups[group].counts.iter().copied()).collect()
    }

    pub fn selected_anywhere(&self, group: usize) -> bool {
        self.groups[group].on_new || self.groups[group].counts.iter().any(|&count| count > 0)
    }

    /// Remembers that a pod of `class` is on a new node, for rules over hostnames.
    pub fn record_on_new(&mut self, class: usize) {
        for &group in &self.members[class] {
            let group = &mut self.groups[group];
            group.on_new |= self.keys[group.id.key].hostname;
        }
    }

    /// Puts a pod of `class` on a node that exists.
    pub fn record_on_node(&mut self, class: usize, node: usize, look: usize) {
        for index in 0..self.members[class].len() {
            let group = &mut self.groups[self.members[class][index]];
            let passes = group.filter.as_ref().is_none_or(|filter| filter[look]);
            if let Some(domain) = self.keys[group.id.key].of_node[node].filter(|_| passes) {
                group.counts[domain] += 1;
            }
        }
        for index in 0..self.owned[class].len() {
            let group = &mut self.groups[self.owned[class][index]];
            if let Some(domain) = self.keys[group.id.key].of_node[node] {
                group.owners[domain] += 1;
            }
        }
    }

    /// Puts a pod of `class` on a node to come, or with `back` takes it away again: it counts where its domain is decided.
    pub fn record_pinned(&mut self, class: usize, pins: &[(usize, Domain)], back: bool) {
        let step = |count: &mut u32| *count = if back { count.saturating_sub(1) } else { *count + 1 };
        for &(key, domain) in pins {
            for index in 0..self.members[class].len() {
                let group = &mut self.groups[self.members[class][index]];
                if group.id.key == key {
                    step(&mut group.counts[domain]);
                }
            }
            for index in 0..self.owned[class].len() {
                let group = &mut self.groups[self.owned[class][index]];
                if group.id.key == key {
                    step(&mut group.owners[domain]);
                }
            }
        }
    }
}

impl GroupId<'_> {
    fn selects(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.namespaces.contains(namespace) && self.selector.is_some_and(|selector| selector.matches(labels))
    }
}
