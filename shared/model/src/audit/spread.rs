//! Hard topology spread: no domain that received a pod holds too many more than the emptiest one.
//!
//! Skew is judged when each pod is placed, so the finished plan shows only part of it. What is checked must hold
//! whatever the order was: pods the constraint does not bind may have come last and are left out of the domain
//! judged, and the emptiest domain is taken as full as it can be.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::{Class, Count};
use super::fit::{self, Profile};
use super::taints::repels;
use super::view::{View, What};
use crate::cluster::{Node, NodePool, PoolStatus};
use crate::labels;
use crate::pod::Spread;
use crate::requirement::Requirement;
use crate::resources::Resources;
use crate::taint::Toleration;

/// Pods bound by the very same constraint, with the same say in which nodes count.
type Bound<'v> = (&'v str, &'v Spread, usize, &'v [Toleration]);

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let census = view.census();
    let mut groups: BTreeMap<Bound<'_>, Vec<usize>> = BTreeMap::new();
    for (number, class) in view.classes.iter().enumerate() {
        if census[number].iter().any(|(_, count)| count.new > 0) {
            for spread in class.spec.spread.iter().filter(|spread| spread.hard) {
                let bound = (class.namespace, spread, class.wants, class.spec.tolerations.as_slice());
                groups.entry(bound).or_default().push(number);
            }
        }
    }
    let mut judge = Judge { view, census, reach: BTreeMap::new() };
    let mut faults = Vec::new();
    for ((_, spread, ..), owners) in &groups {
        if spread.key == labels::HOSTNAME {
            faults.extend(judge.hostnames(spread, owners));
        } else {
            faults.extend(judge.zones(spread, owners));
        }
    }
    faults
}

struct Judge<'v, 'a> {
    view: &'v View<'a>,
    census: Vec<Vec<(usize, Count)>>,
    /// Pool, wants and key to the domains open there, each with the types to be had.
    reach: BTreeMap<(&'v str, usize, String), BTreeMap<String, BTreeSet<usize>>>,
}

impl<'v, 'a> Judge<'v, 'a> {
    fn selected(&self, owner: &Class<'_>, spread: &Spread) -> Vec<usize> {
        let classes = self.view.classes.iter().enumerate();
        let counted = classes
            .filter(|(_, class)| class.namespace == owner.namespace && spread.selects(&class.spec.labels));
        counted.map(|(number, _)| number).collect()
    }

    /// Whether the owner's policies let an existing node count.
    fn counts(&self, owner: &Class<'_>, spread: &Spread, node: &Node) -> bool {
        (!spread.honor_affinity || self.view.wants[owner.wants].match_labels(&node.labels))
            && (!spread.honor_taints || repels(&node.taints, &owner.spec.tolerations).is_none())
    }

    /// A node can always be added, so the emptiest one is empty.
    fn hostnames(&self, spread: &Spread, owners: &[usize]) -> Vec<String> {
        let mut count: BTreeMap<usize, u64> = BTreeMap::new();
        let mut bound: BTreeSet<usize> = BTreeSet::new();
        let owner = &self.view.classes[owners[0]];
        for class in self.selected(owner, spread) {
            let ours = owners.contains(&class);
            for &(bin, held) in &self.census[class] {
                *count.entry(bin).or_default() += held.old + if ours { held.new } else { 0 };
            }
        }
        for &(bin, held) in owners.iter().flat_map(|&class| &self.census[class]) {
            if held.new > 0 {
                bound.insert(bin);
            }
        }
        let over = bound.into_iter().filter_map(|bin| Some((bin, *count.get(&bin)?)));
        over.filter(|(_, held)| *held > u64::from(spread.max_skew))
            .map(|(bin, held)| {
                let (pod, most) = (&owner.example.name, spread.max_skew);
                let name = self.view.bins[bin].name;
                format!("node {name} holds {held} pods like {pod}, whose maxSkew by hostname is {most}")
            })
            .collect()
    }

    fn zones(&mut self, spread: &Spread, owners: &[usize]) -> Vec<String> {
        let view = self.view;
        let owner = &view.classes[owners[0]];
        let (pod, key) = (&owner.example.name, &spread.key);
        let mut faults = Vec::new();
        let mut received: BTreeSet<String> = BTreeSet::new();
        for &(bin, held) in owners.iter().flat_map(|&class| &self.census[class]) {
            if held.new > 0 {
                let bin = &view.bins[bin];
                let values = view.domains(bin, key);
                match values.first() {
                    Some(value) if values.len() == 1 => drop(received.insert(value.clone())),
                    Some(_) => faults.push(format!(
                        "pods like {pod} spread over {key}, which node {} leaves open",
                        bin.name
                    )),
                    None => faults.push(format!(
                        "pods like {pod} spread over {key}, which node {} does not have",
                        bin.name
                    )),
                }
            }
        }
        let mut least: BTreeMap<String, u64> = BTreeMap::new();
        let mut most: BTreeMap<String, u64> = BTreeMap::new();
        for class in self.selected(owner, spread) {
            let ours = owners.contains(&class);
            for &(number, held) in &self.census[class] {
                let bin = &view.bins[number];
                let values = view.domains(bin, key);
                let counted = match &bin.what {
                    What::Existing(node) => self.counts(owner, spread, node),
                    What::Planned(_) => true,
                };
                for value in values.iter().filter(|_| counted) {
                    *most.entry(value.clone()).or_default() += held.all();
                    let sure = held.old + if ours { held.new } else { 0 };
                    *least.entry(value.clone()).or_default() += if values.len() == 1 { sure } else { 0 };
                }
            }
        }
        for (bin, node) in view.existing().filter(|(_, node)| node.deleting) {
            let here = bin
                .old
                .iter()
                .filter(|pod| pod.name.namespace == owner.namespace && spread.selects(&pod.spec.labels));
            if let Some(value) = node.domain(key) {
                *most.entry(value.to_owned()).or_default() += here.count() as u64;
            }
        }
        let mut eligible = self.eligible(owner, spread);
        eligible.extend(received.iter().cloned());
        let fill = |value: &String| most.get(value).copied().unwrap_or_default();
        let mut emptiest = eligible.iter().map(fill).min().unwrap_or_default();
        if spread.min_domains.is_some_and(|wanted| self.possible(key).len() < wanted as usize) {
            emptiest = 0;
        }
        for value in &received {
            let held = least.get(value).copied().unwrap_or_default();
            if held.saturating_sub(emptiest) > u64::from(spread.max_skew) {
                let skew = spread.max_skew;
                faults.push(format!(
                    "{key} {value} holds {held} pods like {pod}, another {emptiest}, their maxSkew is {skew}"
                ));
            }
        }
        faults
    }

    /// Domains that certainly count: those of nodes that are, and those a node could be had in for just these pods.
    fn eligible(&mut self, owner: &Class<'_>, spread: &Spread) -> BTreeSet<String> {
        let view = self.view;
        let hard = || owner.spec.spread.iter().filter(|spread| spread.hard);
        let mut domains: BTreeSet<String> = view
            .existing()
            .filter(|(_, node)| node.has_node && node.registered && !node.deleting)
            .filter(|(_, node)| hard().all(|spread| node.domain(&spread.key).is_some()))
            .filter(|(_, node)| self.counts(owner, spread, node))
            .filter_map(|(_, node)| node.domain(&spread.key).map(str::to_owned))
            .filter(|value| view.wants[owner.wants].allow(&spread.key, value))
            .collect();
        let spec = owner.spec;
        let crossing = hard().filter(|spread| spread.key != labels::HOSTNAME).count() > 1;
        let tied = !spec.affinity.is_empty() || !spec.anti_affinity.is_empty() || !spec.host_ports.is_empty();
        let shunned = || {
            let mut terms = view.classes.iter().flat_map(|class| &class.spec.anti_affinity);
            terms.any(|term| term.selects(owner.namespace, &spec.labels))
        };
        if crossing || tied || !owner.example.volumes.is_empty() || shunned() {
            return domains;
        }
        let mut asks = spec.requests.clone();
        view.snapshot.cluster.daemon_sets.iter().for_each(|daemon| asks.add(&daemon.spec.requests));
        for pool in view.pools.values().copied().filter(|pool| is_open(pool, &spec.tolerations)) {
            self.add_reach(pool, owner.wants, &spread.key, &asks, &mut domains);
        }
        domains
    }

    /// Adds the domains that `pool` can have a node in that holds `asks`.
    fn add_reach(
        &mut self,
        pool: &'v NodePool,
        wants: usize,
        key: &str,
        asks: &Resources,
        domains: &mut BTreeSet<String>,
    ) {
        let view = self.view;
        let Some(market) = view.markets.get(pool.node_class.name.as_str()) else { return };
        let reach = self.reach.entry((&pool.name, wants, key.to_owned())).or_insert_with(|| {
            let profile = Profile::of_pool(pool);
            let mut reach: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
            for (number, (kind, offering)) in market.offerings.iter().enumerate() {
                let open = offering.available && offering.reservation.is_none();
                if open
                    && fit::agrees(&profile, market, number)
                    && fit::suits(&profile, market, number, &view.wants[wants], true)
                {
                    let values = fit::known(&profile, market, number, key).values();
                    if let (1, Some(value)) = (values.len(), values.first()) {
                        reach.entry(value.clone()).or_default().insert(*kind);
                    }
                }
            }
            reach
        });
        for (value, kinds) in reach {
            if kinds.iter().any(|&kind| asks.exceeds(&market.allocatable[kind]).is_none()) {
                domains.insert(value.clone());
            }
        }
    }

    /// Every value that `key` might ever have.
    fn possible(&self, key: &str) -> BTreeSet<String> {
        let view = self.view;
        let mut values: BTreeSet<String> =
            view.nodes.values().filter_map(|node| node.domain(key)).map(str::to_owned).collect();
        let of = |has: Option<&Requirement>| has.and_then(|has| has.values()).cloned().unwrap_or_default();
        for pool in view.pools.values() {
            values.extend(of(pool.node_requirements().get(key)));
        }
        for (_, market) in view.markets.iter() {
            values.extend(market.types.iter().flat_map(|kind| of(kind.requirements.get(key))));
            for (_, offering) in &market.offerings {
                values.extend(offering.labels().remove(key));
            }
        }
        values
    }
}

/// Whether nothing but the pods themselves decides whether a pool adds a node.
fn is_open(pool: &NodePool, tolerations: &[Toleration]) -> bool {
    let tolerated =
        pool.taints.iter().all(|taint| tolerations.iter().any(|toleration| toleration.tolerates(taint)));
    pool.status == PoolStatus::Ready
        && pool.replicas.is_none()
        && !pool.deleting
        && pool.limits.0.is_empty()
        && pool.price_limit.is_none()
        && pool.hold().is_none()
        && pool.requirements.iter().all(|(_, requirement)| requirement.min_values.is_none())
        && tolerated
}
