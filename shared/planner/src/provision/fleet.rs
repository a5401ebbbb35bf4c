//! The nodes there are, and the room left on them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use model::{HostPort, Node, Pod, Requirements, Resources, Snapshot, Taint, Undefined, labels};

use super::classes::{Class, Variant};
use super::daemons;
use super::universe::{Mentions, untolerated};

/// Nodes in the order in which they are filled: initialized first, then by name.
#[derive(Clone)]
pub(crate) struct Fleet<'a> {
    pub nodes: Vec<Seat<'a>>,
    /// Nodes that no pod can tell apart by labels and taints share a look.
    looks: Rc<Vec<Look<'a>>>,
    by_name: Rc<BTreeMap<&'a str, usize>>,
}

/// A node as pods meet it.
#[derive(Clone)]
pub(crate) struct Seat<'a> {
    pub node: &'a Node,
    /// Its place in `Cluster::nodes`.
    pub index: usize,
    /// It stays.
    pub active: bool,
    /// It takes pods.
    pub open: bool,
    pub look: usize,
    pub room: Resources,
    ports: Vec<&'a HostPort>,
    /// CSI driver to the claims attached.
    volumes: BTreeMap<&'a str, BTreeSet<&'a str>>,
}

struct Look<'a> {
    labels: Requirements,
    taints: &'a [Taint],
}

impl<'a> Fleet<'a> {
    pub fn new(snapshot: &'a Snapshot, mentions: &Mentions) -> Self {
        let mut sorted: Vec<(usize, &Node)> = snapshot.cluster.nodes.iter().enumerate().collect();
        sorted.sort_by(|(_, a), (_, b)| b.initialized.cmp(&a.initialized).then_with(|| a.name.cmp(&b.name)));
        let staying = sorted.iter().map(|(_, node)| *node).filter(|node| !node.deleting);
        let kept: BTreeSet<&str> = staying.flat_map(Node::replaced_by).map(String::as_str).collect();
        let mut known = BTreeMap::new();
        let mut looks: Vec<Look> = Vec::new();
        let mut burdens: BTreeMap<(BTreeMap<&str, &str>, &[Taint]), Resources> = BTreeMap::new();
        let mut nodes: Vec<Seat> = Vec::new();
        for (index, node) in sorted {
            let told_apart = |key: &str| mentions.0.contains_key(labels::normalise(key));
            let shown = node.labels.iter().filter(|(key, _)| told_apart(key));
            let shown: BTreeMap<&str, &str> =
                shown.map(|(key, value)| (key.as_str(), value.as_str())).collect();
            let look = *known.entry((shown.clone(), node.taints.as_slice())).or_insert_with(|| {
                let owned: BTreeMap<String, String> =
                    shown.iter().map(|(&key, &value)| (key.to_owned(), value.to_owned())).collect();
                looks.push(Look { labels: Requirements::from_labels(&owned), taints: &node.taints });
                looks.len() - 1
            });
            let expected = burdens
                .entry((shown, node.taints.as_slice()))
                .or_insert_with(|| daemons::expected_on(snapshot, node))
                .clone();
            let mut room = node.allocatable.clone();
            room.subtract(&expected);
            let (active, ports, volumes) = (!node.deleting, Vec::new(), BTreeMap::new());
            // A replacement is kept for the pods of the nodes that wait for it.
            let open = !node.is_going() && node.claim.as_deref().is_none_or(|claim| !kept.contains(claim));
            nodes.push(Seat { node, index, active, open, look, room, ports, volumes });
        }
        let by_name =
            nodes.iter().enumerate().map(|(index, seat)| (seat.node.name.as_str(), index)).collect();
        let mut fleet = Self { nodes, looks: Rc::new(looks), by_name: Rc::new(by_name) };
        fleet.seat_bound(snapshot);
        fleet
    }

    /// Takes off the room what bound pods hold. Daemon pods that are there count against what daemons are expected to
    /// take, so that only the part that is still to come is kept free.
    fn seat_bound(&mut self, snapshot: &'a Snapshot) {
        let mut bound_daemons: BTreeMap<usize, Resources> = BTreeMap::new();
        for pod in snapshot.cluster.pods.iter().filter(|pod| pod.holds_capacity()) {
            let Some(index) = pod.node.as_deref().and_then(|name| self.by_name.get(name).copied()) else {
                continue;
            };
            if pod.daemon {
                bound_daemons.entry(index).or_default().add(&pod.spec.requests);
            } else {
                self.nodes[index].room.subtract(&pod.spec.requests);
            }
            self.nodes[index].take_ports_and_volumes(pod);
        }
        for (index, bound) in bound_daemons {
            let seat = &mut self.nodes[index];
            let expectation = daemons::expected_on(snapshot, seat.node);
            for (resource, amount) in bound.iter() {
                // The room has lost the whole expectation already; only what exceeds it is still to be taken.
                let excess = amount.minus(expectation.get(resource)).max(model::Quantity::ZERO);
                seat.room.set(resource, seat.room.get(resource).minus(excess));
            }
        }
    }

    pub fn index_of(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub fn looks(&self) -> usize {
        self.looks.len()
    }

    /// Whether labels and taints of a look let a class in.
    pub fn welcomes(&self, look: usize, class: &Class, variant: &Variant) -> bool {
        let Look { labels, taints } = &self.looks[look];
        let fits = |wants: &Requirements| labels.compatible(wants, Undefined::Refused).is_ok();
        let any = |wants: &[Requirements]| wants.is_empty() || wants.iter().any(fits);
        untolerated(taints, &class.spec.tolerations, variant.relaxed_taints).is_none()
            && fits(&class.spec.node_selector)
            && any(&class.spec.required)
            && variant.preferred.is_none_or(fits)
            && class.volumes.iter().all(|volume| any(&volume.alternatives))
    }

    /// Whether a look passes a spread constraint's node filter.
    pub fn passes(
        &self,
        look: usize,
        affinity: Option<(&Requirements, &[Requirements])>,
        tolerations: Option<&[model::Toleration]>,
    ) -> bool {
        let Look { labels, taints } = &self.looks[look];
        let fits = |wants: &Requirements| labels.compatible(wants, Undefined::Refused).is_ok();
        affinity.is_none_or(|(selector, required)| {
            fits(selector) && (required.is_empty() || required.iter().any(fits))
        }) && tolerations.is_none_or(|tolerations| untolerated(taints, tolerations, true).is_none())
    }
}

impl<'a> Seat<'a> {
    fn take_ports_and_volumes(&mut self, pod: &'a Pod) {
        self.ports.extend(&pod.spec.host_ports);
        for volume in &pod.volumes {
            if let Some(driver) = &volume.driver {
                self.volumes.entry(driver).or_default().insert(&volume.claim);
            }
        }
    }

    /// Whether `pod`'s ports are free.
    pub fn port_conflict(&self, pod: &Pod) -> bool {
        pod.spec.host_ports.iter().any(|port| self.ports.iter().any(|taken| taken.conflicts(port)))
    }

    /// The driver whose limit `pod`'s volumes would break; a claim that is attached already counts once.
    pub fn volume_excess(&self, pod: &'a Pod) -> Option<(&'a str, u32)> {
        if self.node.volume_limits.is_empty() {
            return None;
        }
        let mut more: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for volume in &pod.volumes {
            if let Some(driver) = &volume.driver {
                more.entry(driver).or_default().insert(&volume.claim);
            }
        }
        more.into_iter().find_map(|(driver, claims)| {
            let limit = *self.node.volume_limits.get(driver)?;
            let total =
                self.volumes.get(driver).map_or(claims.len(), |attached| attached.union(&claims).count());
            (u32::try_from(total).unwrap_or(u32::MAX) > limit).then_some((driver, limit))
        })
    }

    /// Seats `pod` here.
    pub fn take(&mut self, pod: &'a Pod) {
        self.room.subtract(&pod.spec.requests);
        self.take_ports_and_volumes(pod);
    }
}
