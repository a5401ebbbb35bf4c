//! kube-scheduler's filters: where may this pod be, given who is where now? Written from Kubernetes' rules, not from
//! the planner's code: where both err, they should err apart.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    AffinityTerm, Cluster, HostPort, Node, Pod, PodSpec, Requirements, Resources, Spread, Taint, TaintEffect,
};

/// The nodes there are, and who is on them.
pub(crate) struct Board<'a> {
    /// Nodes in name order: those that take no pods now still are domains, with the pods that are on them.
    pub seats: Vec<Seat<'a>>,
    seat_of: BTreeMap<&'a str, usize>,
}

/// A node and who is on it.
pub(crate) struct Seat<'a> {
    pub node: &'a Node,
    pub used: Resources,
    pub pods: Vec<&'a Pod>,
}

impl<'a> Board<'a> {
    pub fn new(cluster: &'a Cluster) -> Self {
        let mut nodes: Vec<&Node> = cluster.nodes.iter().filter(|node| node.has_node).collect();
        nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let seat_of = nodes.iter().enumerate().map(|(seat, node)| (node.name.as_str(), seat)).collect();
        let seat = |node| Seat { node, used: Resources::new(), pods: Vec::new() };
        let mut board = Self { seats: nodes.into_iter().map(seat).collect(), seat_of };
        for pod in cluster.pods.iter().filter(|pod| pod.holds_capacity()) {
            if let Some(seat) = pod.node.as_deref().and_then(|name| board.seat_of.get(name).copied()) {
                board.sit(seat, pod);
            }
        }
        board
    }

    /// Takes a pod in.
    pub fn sit(&mut self, seat: usize, pod: &'a Pod) {
        self.seats[seat].used.add(&pod.spec.requests);
        self.seats[seat].pods.push(pod);
    }

    /// The seats where `pod` may be.
    pub fn feasible(&self, pod: &Pod) -> Vec<usize> {
        if !pod.spec.faults.is_empty() || pod.volumes.iter().any(|volume| volume.fault.is_some()) {
            return Vec::new();
        }
        let near = Neighbours::new(self, pod);
        let fits = |seat: &usize| {
            let seat = &self.seats[*seat];
            seat.node.initialized
                && !seat.node.deleting
                && tolerated(&seat.node.taints, &pod.spec)
                && selected(seat.node, &pod.spec)
                && volumes_reach(seat.node, pod)
                && room(seat, &pod.spec)
                && ports_free(seat, &pod.spec)
                && near.allow(seat.node)
        };
        (0..self.seats.len()).filter(fits).collect()
    }
}

/// Whether nothing but preferences keeps the pod away.
pub(crate) fn tolerated(taints: &[Taint], spec: &PodSpec) -> bool {
    let mut hard = taints.iter().filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
    hard.all(|taint| spec.tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

/// Whether the pod's selector and one of its required affinity terms match the node's labels.
pub(crate) fn selected(node: &Node, spec: &PodSpec) -> bool {
    let matches = |wants: &Requirements| wants.match_labels(&node.labels);
    matches(&spec.node_selector) && (spec.required.is_empty() || spec.required.iter().any(matches))
}

fn volumes_reach(node: &Node, pod: &Pod) -> bool {
    pod.volumes.iter().all(|volume| {
        volume.alternatives.is_empty()
            || volume.alternatives.iter().any(|place| place.match_labels(&node.labels))
    })
}

fn room(seat: &Seat<'_>, spec: &PodSpec) -> bool {
    let mut asked = seat.used.clone();
    asked.add(&spec.requests);
    // Only what the pod itself asks for can be in its way.
    spec.requests
        .iter()
        .all(|(name, amount)| amount.is_zero() || asked.get(name) <= seat.node.allocatable.get(name))
}

fn ports_free(seat: &Seat<'_>, spec: &PodSpec) -> bool {
    let taken = |port: &HostPort| {
        seat.pods.iter().any(|pod| pod.spec.host_ports.iter().any(|other| other.conflicts(port)))
    };
    !spec.host_ports.iter().any(taken)
}

/// What the pods that are there mean for one that comes: computed once a pod, asked once a node.
struct Neighbours {
    /// Domains, by key, that hold a pod to be away from, in either direction.
    forbidden: BTreeMap<String, BTreeSet<String>>,
    /// For each affinity term its key and the domains that hold a pod to be near; none if any domain will do.
    wanted: Vec<(String, Option<BTreeSet<String>>)>,
    /// For each hard spread constraint its key and how full each domain is.
    spreads: Vec<(String, Counts)>,
}

struct Counts {
    in_domain: BTreeMap<String, u32>,
    least: u32,
    max_skew: u32,
    counts_itself: bool,
}

impl Neighbours {
    fn new(board: &Board<'_>, pod: &Pod) -> Self {
        Self {
            forbidden: forbidden(board, pod),
            wanted: wanted(board, pod),
            spreads: pod
                .spec
                .spread
                .iter()
                .filter(|spread| spread.hard)
                .map(|spread| (spread.key.clone(), count(board, pod, spread)))
                .collect(),
        }
    }

    fn allow(&self, node: &Node) -> bool {
        let away = self
            .forbidden
            .iter()
            .all(|(key, domains)| node.domain(key).is_none_or(|domain| !domains.contains(domain)));
        let near = self.wanted.iter().all(|(key, domains)| {
            node.domain(key)
                .is_some_and(|domain| domains.as_ref().is_none_or(|domains| domains.contains(domain)))
        });
        let spread = self.spreads.iter().all(|(key, counts)| {
            node.domain(key).is_some_and(|domain| {
                let there = counts.in_domain.get(domain).copied().unwrap_or(0);
                there + u32::from(counts.counts_itself) <= counts.least.saturating_add(counts.max_skew)
            })
        });
        away && near && spread
    }
}

fn forbidden(board: &Board<'_>, pod: &Pod) -> BTreeMap<String, BTreeSet<String>> {
    let mut forbidden: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for seat in &board.seats {
        for other in &seat.pods {
            let ours = pod
                .spec
                .anti_affinity
                .iter()
                .filter(|term| term.selects(&other.name.namespace, &other.spec.labels));
            let theirs = other
                .spec
                .anti_affinity
                .iter()
                .filter(|term| term.selects(&pod.name.namespace, &pod.spec.labels));
            for term in ours.chain(theirs) {
                if let Some(domain) = seat.node.domain(&term.key) {
                    forbidden.entry(term.key.clone()).or_default().insert(domain.to_owned());
                }
            }
        }
    }
    forbidden
}

fn wanted(board: &Board<'_>, pod: &Pod) -> Vec<(String, Option<BTreeSet<String>>)> {
    let terms = &pod.spec.affinity;
    let domains_of = |term: &AffinityTerm| {
        let matches = |seat: &&Seat<'_>| {
            // kube-scheduler counts a pod towards affinity only if it matches every term.
            seat.pods
                .iter()
                .any(|other| terms.iter().all(|term| term.selects(&other.name.namespace, &other.spec.labels)))
        };
        let seats = board.seats.iter().filter(matches);
        seats.filter_map(|seat| seat.node.domain(&term.key)).map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let found: Vec<(String, BTreeSet<String>)> =
        terms.iter().map(|term| (term.key.clone(), domains_of(term))).collect();
    // The first of a kind that wants to be together may start anywhere.
    let first = found.iter().all(|(_, domains)| domains.is_empty())
        && terms.iter().all(|term| term.selects(&pod.name.namespace, &pod.spec.labels));
    found.into_iter().map(|(key, domains)| (key, (!first).then_some(domains))).collect()
}

fn count(board: &Board<'_>, pod: &Pod, spread: &Spread) -> Counts {
    let keys: Vec<&str> =
        pod.spec.spread.iter().filter(|other| other.hard).map(|other| other.key.as_str()).collect();
    let mut in_domain: BTreeMap<String, u32> = BTreeMap::new();
    for seat in &board.seats {
        let eligible = keys.iter().all(|key| seat.node.domain(key).is_some())
            && (!spread.honor_affinity || selected(seat.node, &pod.spec))
            && (!spread.honor_taints || tolerated(&seat.node.taints, &pod.spec));
        if let Some(domain) = seat.node.domain(&spread.key).filter(|_| eligible) {
            let counted = seat.pods.iter().filter(|other| {
                !other.terminating
                    && other.name.namespace == pod.name.namespace
                    && spread.selects(&other.spec.labels)
            });
            let counted = u32::try_from(counted.count()).unwrap_or(u32::MAX);
            *in_domain.entry(domain.to_owned()).or_default() += counted;
        }
    }
    let domains = u32::try_from(in_domain.len()).unwrap_or(u32::MAX);
    let too_few = spread.min_domains.is_some_and(|least| domains < least);
    let least = if too_few { 0 } else { in_domain.values().copied().min().unwrap_or(0) };
    Counts { in_domain, least, max_skew: spread.max_skew, counts_itself: spread.selects(&pod.spec.labels) }
}

#[cfg(test)]
mod tests;
