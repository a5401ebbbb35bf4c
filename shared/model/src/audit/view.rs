//! Plan and snapshot side by side, indexed for the checks.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use super::contents::{Class, Classes, Count};
use super::fit::{self, Profile, Wants};
use super::market::Market;
use crate::cluster::{Node, NodePool};
use crate::disruption::PodDisruptionBudget;
use crate::effect::{Effect, NodeClaimDraft};
use crate::labels;
use crate::plan::{Plan, PlannedNode};
use crate::pod::{ObjectName, Phase, Pod, PodSpec};
use crate::requirement::Requirement;
use crate::requirements::Requirements;
use crate::snapshot::Snapshot;

/// A node of the plan: one to have or one that is.
pub(super) struct Bin<'a> {
    pub name: &'a str,
    pub what: What<'a>,
    /// Pods the plan places here.
    pub new: Vec<&'a Pod>,
    /// Pods that are here and stay.
    pub old: Vec<&'a Pod>,
    /// The same by class; pods on their way out are left out.
    pub contents: BTreeMap<usize, Count>,
}

/// Which of the two a [`Bin`] is.
pub(super) enum What<'a> {
    Planned(Planned<'a>),
    Existing(&'a Node),
}

/// What belongs to a planned node.
pub(super) struct Planned<'a> {
    pub node: &'a PlannedNode,
    pub pool: Option<&'a NodePool>,
    pub draft: Option<&'a NodeClaimDraft>,
    pub profile: usize,
    /// Its options as numbers in the market of its class; those unknown there are left out.
    pub options: Rc<Vec<usize>>,
}

/// Profile, wants and how sure, to an answer an offering.
type Suits = BTreeMap<(usize, usize, bool), Vec<Option<bool>>>;
/// Profile, address of the options and key, to the values it can have.
type Values = BTreeMap<(usize, usize, String), Rc<BTreeSet<String>>>;

/// All the checks look at.
pub(super) struct View<'a> {
    pub plan: &'a Plan,
    pub snapshot: &'a Snapshot,
    pub pools: BTreeMap<&'a str, &'a NodePool>,
    pub nodes: BTreeMap<&'a str, &'a Node>,
    /// Pods by name, and whether each must be placed or explained.
    pub pods: BTreeMap<&'a ObjectName, (&'a Pod, Due)>,
    pub markets: BTreeMap<&'a str, Market<'a>>,
    pub profiles: Vec<Profile>,
    pub classes: Vec<Class<'a>>,
    pub wants: Vec<Wants<'a>>,
    known_wants: BTreeMap<Wants<'a>, usize>,
    /// Planned nodes, then existing ones.
    pub bins: Vec<Bin<'a>>,
    suits: RefCell<Suits>,
    values: RefCell<Values>,
}

/// What the plan owes a pod.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Due {
    /// A place or an explanation.
    Must,
    /// A place if the plan likes: it is protected where it is.
    May,
    /// Nothing: it stays as it is.
    Stays,
}

fn due(pod: &Pod, nodes: &BTreeMap<&str, &Node>, pdbs: &[PodDisruptionBudget]) -> Due {
    // The next pod of a StatefulSet only starts when this one is gone: room for it may be made early.
    let comes_back = pod.owner.as_ref().is_some_and(|owner| owner.kind == "StatefulSet");
    let moves = pod.node.as_deref().and_then(|node| nodes.get(node)).is_some_and(|node| node.deleting);
    let held = || pdbs.iter().any(|pdb| pdb.selects(pod));
    if pod.is_pending() {
        Due::Must
    } else if !moves
        || pod.daemon
        || pod.mirror
        || (pod.terminating && !comes_back)
        || pod.phase == Phase::Terminal
    {
        Due::Stays
    } else if pod.do_not_disrupt.is_some() || pod.terminating || pod.disruption.surge || held() {
        Due::May
    } else {
        Due::Must
    }
}

/// Numbers what is asked of labels, by value.
#[derive(Default)]
struct Interner<'a> {
    list: Vec<Wants<'a>>,
    known: BTreeMap<Wants<'a>, usize>,
}

impl<'a> Interner<'a> {
    fn number(&mut self, wants: Wants<'a>) -> usize {
        let list = &mut self.list;
        *self.known.entry(wants).or_insert_with(|| {
            list.push(wants);
            list.len() - 1
        })
    }

    fn of_spec(&mut self, spec: &'a PodSpec) -> usize {
        self.number(Wants { always: Some(&spec.node_selector), one_of: &spec.required })
    }
}

impl<'a> View<'a> {
    pub fn new(plan: &'a Plan, snapshot: &'a Snapshot) -> Self {
        let cluster = &snapshot.cluster;
        let pools: BTreeMap<_, _> = cluster.pools.iter().map(|pool| (pool.name.as_str(), pool)).collect();
        let nodes: BTreeMap<_, _> = cluster.nodes.iter().map(|node| (node.name.as_str(), node)).collect();
        let pods: BTreeMap<_, _> =
            cluster.pods.iter().map(|pod| (&pod.name, (pod, due(pod, &nodes, &cluster.pdbs)))).collect();
        let types = &snapshot.catalogue.types;
        let markets: BTreeMap<_, _> =
            types.iter().map(|(class, types)| (class.as_str(), Market::new(types))).collect();
        let mut interner = Interner::default();
        for (pod, _) in pods.values() {
            interner.of_spec(&pod.spec);
        }
        for volume in cluster.pods.iter().flat_map(|pod| &pod.volumes) {
            interner.number(Wants { always: None, one_of: &volume.alternatives });
        }
        for daemon in &cluster.daemon_sets {
            interner.of_spec(&daemon.spec);
        }
        let mut view = Self {
            plan,
            snapshot,
            pools,
            nodes,
            pods,
            markets,
            profiles: Vec::new(),
            classes: Vec::new(),
            wants: Vec::new(),
            known_wants: BTreeMap::new(),
            bins: Vec::new(),
            suits: RefCell::default(),
            values: RefCell::default(),
        };
        view.add_planned();
        view.add_existing();
        view.count(&mut interner);
        view.wants = interner.list;
        view.known_wants = interner.known;
        view
    }

    fn placed(&self, names: &'a [ObjectName]) -> Vec<&'a Pod> {
        names.iter().filter_map(|name| self.pods.get(name)).map(|(pod, _)| *pod).collect()
    }

    fn add_planned(&mut self) {
        let mut drafts = BTreeMap::new();
        for effect in &self.plan.effects {
            if let Effect::CreateNodeClaim(draft) = effect {
                drafts.entry(draft.name.as_str()).or_insert(draft.as_ref());
            }
        }
        let mut numbers: BTreeMap<(usize, &str), Rc<Vec<usize>>> = BTreeMap::new();
        let mut profiles: BTreeMap<Profile, usize> = BTreeMap::new();
        for node in &self.plan.nodes {
            let pool = self.pools.get(node.pool.as_str()).copied();
            let draft = drafts.get(node.name.as_str()).copied();
            let class = pool.map_or("", |pool| pool.node_class.name.as_str());
            let options = numbers.entry((Arc::as_ptr(&node.options).addr(), class)).or_insert_with(|| {
                let market = self.markets.get(class);
                let find = |offer| market.and_then(|market| market.find(offer));
                Rc::new(node.options.iter().filter_map(find).collect())
            });
            let profile = Profile::new(pool, node, draft);
            let next = profiles.len();
            let profile = *profiles.entry(profile).or_insert(next);
            let planned = Planned { node, pool, draft, profile, options: Rc::clone(options) };
            self.bins.push(Bin {
                name: &node.name,
                what: What::Planned(planned),
                new: self.placed(&node.pods),
                old: Vec::new(),
                contents: BTreeMap::new(),
            });
        }
        let mut numbered: Vec<_> = profiles.into_iter().collect();
        numbered.sort_by_key(|(_, number)| *number);
        self.profiles = numbered.into_iter().map(|(profile, _)| profile).collect();
    }

    fn add_existing(&mut self) {
        let mut places: BTreeSet<&ObjectName> = self.plan.nodes.iter().flat_map(|node| &node.pods).collect();
        places.extend(self.plan.existing.values().flatten());
        let mut old: BTreeMap<&str, Vec<&'a Pod>> = BTreeMap::new();
        for &(pod, due) in self.pods.values() {
            let gone = due == Due::Must || (due == Due::May && places.contains(&pod.name));
            if let (true, false, Some(node)) = (pod.holds_capacity(), gone, pod.node.as_deref()) {
                old.entry(node).or_default().push(pod);
            }
        }
        let empty = Vec::new();
        for (&name, &node) in &self.nodes {
            let new = self.plan.existing.get(name).unwrap_or(&empty);
            let new = new.iter().filter_map(|name| self.pods.get(name)).map(|(pod, _)| *pod).collect();
            let old = old.remove(name).unwrap_or_default();
            let contents = BTreeMap::new();
            self.bins.push(Bin { name, what: What::Existing(node), new, old, contents });
        }
    }

    fn count(&mut self, interner: &mut Interner<'a>) {
        let mut classes = Classes::default();
        for bin in &mut self.bins {
            for (pods, new) in [(&bin.new, true), (&bin.old, false)] {
                for pod in pods {
                    let class = classes.of(pod, |spec| interner.of_spec(spec));
                    let count = Count {
                        new: u64::from(new),
                        old: u64::from(!new && !pod.terminating && !bin.what.leaving()),
                    };
                    if count != Count::default() {
                        bin.contents.entry(class).or_default().add(count);
                    }
                }
            }
        }
        self.classes = classes.list;
    }

    /// The number of what is asked of labels, if anything in the snapshot asks just that.
    pub fn wants_of(&self, always: Option<&Requirements>, one_of: &[Requirements]) -> Option<usize> {
        self.known_wants.get(&Wants { always, one_of }).copied()
    }

    /// Each class's nodes with how many they hold.
    pub fn census(&self) -> Vec<Vec<(usize, Count)>> {
        let mut census = vec![Vec::new(); self.classes.len()];
        for (number, bin) in self.bins.iter().enumerate() {
            for (&class, &count) in &bin.contents {
                census[class].push((number, count));
            }
        }
        census
    }

    /// Planned nodes only.
    pub fn planned(&self) -> impl Iterator<Item = (&Bin<'a>, &Planned<'a>)> {
        self.bins.iter().filter_map(|bin| match &bin.what {
            What::Planned(planned) => Some((bin, planned)),
            What::Existing(_) => None,
        })
    }

    /// Existing nodes only.
    pub fn existing(&self) -> impl Iterator<Item = (&Bin<'a>, &'a Node)> {
        self.bins.iter().filter_map(|bin| match bin.what {
            What::Planned(_) => None,
            What::Existing(node) => Some((bin, node)),
        })
    }

    /// The market of a profile's class.
    pub fn market(&self, profile: usize) -> Option<&Market<'a>> {
        self.markets.get(self.profiles[profile].class.as_str())
    }

    /// [`fit::suits`], remembered.
    pub fn suits(&self, profile: usize, offering: usize, wants: usize, sure: bool) -> bool {
        let asked = &self.wants[wants];
        let Some(market) = self.market(profile) else { return asked.is_empty() };
        if asked.is_empty() {
            return true;
        }
        let mut memo = self.suits.borrow_mut();
        let answers =
            memo.entry((profile, wants, sure)).or_insert_with(|| vec![None; market.offerings.len()]);
        *answers[offering]
            .get_or_insert_with(|| fit::suits(&self.profiles[profile], market, offering, asked, sure))
    }

    /// The values `key` can have on a node: one if it is decided, none if it has no such label.
    pub fn domains(&self, bin: &Bin<'a>, key: &str) -> Rc<BTreeSet<String>> {
        let planned = match &bin.what {
            What::Existing(node) => {
                return Rc::new(node.domain(key).map(str::to_owned).into_iter().collect());
            }
            What::Planned(planned) => planned,
        };
        if key == labels::HOSTNAME {
            return Rc::new(BTreeSet::from([planned.node.name.clone()]));
        }
        let entry = (planned.profile, Rc::as_ptr(&planned.options).addr(), key.to_owned());
        let mut memo = self.values.borrow_mut();
        Rc::clone(memo.entry(entry).or_insert_with(|| Rc::new(self.values(planned, key))))
    }

    fn values(&self, planned: &Planned<'a>, key: &str) -> BTreeSet<String> {
        let profile = &self.profiles[planned.profile];
        if let Some(value) = profile.needs.get(key).and_then(Requirement::single) {
            return BTreeSet::from([value.to_owned()]);
        }
        let Some(market) = self.market(planned.profile) else { return BTreeSet::new() };
        let each = planned.options.iter();
        each.flat_map(|&offering| fit::known(profile, market, offering, key).values()).collect()
    }
}

impl What<'_> {
    /// Whether it is an existing node that goes away.
    pub fn leaving(&self) -> bool {
        matches!(self, Self::Existing(node) if node.deleting)
    }
}
