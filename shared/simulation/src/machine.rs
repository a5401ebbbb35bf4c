//! NodeClaims become instances, instances nodes, and nodes go.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, Mark, MarkOrder, MicroUsd, Node, NodeClaimDraft, NodeFacts, ObjectName, Phase, Pod,
    Requirements, Resources, Taint, TaintEffect, labels,
};

use crate::bill::Charge;
use crate::filters::{selected, tolerated};
use crate::market;
use crate::report::MoveKind;
use crate::world::{Event, World};

/// The least time a drain takes.
const DRAIN: SignedDuration = SignedDuration::from_secs(5);

/// What the world knows of a NodeClaim beyond what can be seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    /// The intent; none for nodes that were there from the outset.
    pub draft: Option<Arc<NodeClaimDraft>>,
    /// When its drain began.
    pub draining: Option<Timestamp>,
    /// Its instance has been asked to end.
    pub ending: bool,
}

impl World {
    /// Our nodes that are there from the outset are paid for from the start.
    pub(crate) fn adopt_machines(&mut self) {
        let start = self.now();
        let mut charges = Vec::new();
        for node in &self.snapshot.cluster.nodes {
            let Some(claim) = &node.claim else { continue };
            self.machines.insert(claim.clone(), Machine { draft: None, draining: None, ending: false });
            let label = |key: &str| node.labels.get(key).cloned().unwrap_or_default();
            let (instance_type, zone) = (label(labels::INSTANCE_TYPE), label(labels::ZONE));
            let capacity_type = CapacityType::from_name(&label(labels::CAPACITY_TYPE));
            let capacity_type = capacity_type.unwrap_or(CapacityType::OnDemand);
            let kinds = self.snapshot.catalogue.types.values().flat_map(|types| types.iter());
            let price = kinds.filter(|kind| kind.name == instance_type).find_map(|kind| {
                let mut offerings = kind.offerings.iter();
                offerings.find(|offer| offer.zone == zone && offer.capacity_type == capacity_type)
            });
            charges.push(Charge {
                claim: claim.clone(),
                pool: node.pool().unwrap_or_default().to_owned(),
                instance_type,
                zone,
                capacity_type,
                price: price.map_or(MicroUsd::ZERO, |offering| offering.price),
                from: start,
                until: None,
            });
        }
        charges.into_iter().for_each(|charge| self.ledger.open(charge));
    }

    /// Writes a NodeClaim. One that is there already is left alone: same name, same intent.
    pub(crate) fn create_claim(&mut self, draft: &Arc<NodeClaimDraft>) {
        if self.machines.contains_key(&draft.name) {
            self.records.repeated += 1;
            return;
        }
        let machine = Machine { draft: Some(draft.clone()), draining: None, ending: false };
        self.machines.insert(draft.name.clone(), machine);
        self.snapshot.cluster.nodes.push(Node {
            name: draft.name.clone(),
            claim: Some(draft.name.clone()),
            provider_id: None,
            labels: draft.labels.clone(),
            taints: draft.taints.clone(),
            capacity: Resources::new(),
            allocatable: Resources::new(),
            registered: false,
            initialized: false,
            has_node: false,
            deleting: false,
            created: self.now(),
            last_pod_event: None,
            do_not_disrupt: draft.annotations.get(labels::DO_NOT_DISRUPT).is_some_and(|text| text == "true"),
            volume_limits: BTreeMap::new(),
            disruption: NodeFacts {
                annotations: draft.annotations.clone(),
                expire_after: draft.expire_after,
                termination_grace_period: draft.termination_grace_period,
                ..NodeFacts::default()
            },
        });
        let launch = SignedDuration::from_millis(self.boots.between(2000, 5000));
        self.after(launch, Event::Launched(draft.name.clone()));
    }

    pub(crate) fn launched(&mut self, claim: &str) {
        let now = self.now();
        let Some(draft) = self.machines.get(claim).and_then(|machine| machine.draft.clone()) else { return };
        let bought = market::buy(&self.snapshot.catalogue, &draft);
        let bought = bought.map(|(kind, offering)| (kind.clone(), offering.clone()));
        let Some((kind, offering)) = bought else {
            self.records.launch_failures += 1;
            self.forget(claim);
            return;
        };
        self.named += 1;
        let id = format!("aws:///{}/i-{:017x}", offering.zone, self.named);
        let Some(node) = self.node_mut(claim) else { return };
        let mut known = single_values(&draft.requirements);
        known.extend(single_values(&kind.requirements));
        known.extend(offering.labels());
        known.remove(labels::USD_PER_HOUR);
        known.extend(std::mem::take(&mut node.labels));
        node.labels = known;
        node.provider_id = Some(id);
        node.allocatable = kind.allocatable();
        node.capacity = kind.capacity;
        let charge = Charge {
            claim: claim.to_owned(),
            pool: draft.pool.clone(),
            instance_type: kind.name,
            zone: offering.zone,
            capacity_type: offering.capacity_type,
            price: offering.price,
            from: now,
            until: None,
        };
        self.records.moved(now, MoveKind::Launched, &charge, "Provisioned");
        self.ledger.open(charge);
        let registration = SignedDuration::from_millis(self.boots.between(25_000, 60_000));
        self.after(registration, Event::Registered(claim.to_owned()));
    }

    /// The kubelet joins: the node gets its own name, and its daemons come.
    pub(crate) fn registered(&mut self, claim: &str) {
        let number = self.named;
        let Some(node) = self.node_mut(claim).filter(|node| !node.deleting) else { return };
        let place = node.provider_id.as_deref().and_then(|id| id.rsplit("i-").next());
        let place = place.and_then(|id| u64::from_str_radix(id, 16).ok()).unwrap_or(number);
        let name = format!("ip-10-0-{}-{}.ec2.internal", place / 256, place % 256);
        node.name.clone_from(&name);
        node.labels.insert(labels::HOSTNAME.to_owned(), name);
        node.labels.insert(labels::REGISTERED.to_owned(), "true".to_owned());
        node.has_node = true;
        node.registered = true;
        let node = node.clone();
        self.daemons_come(&node);
        let ready = SignedDuration::from_millis(self.boots.between(2000, 6000));
        self.after(ready, Event::Initialized(claim.to_owned()));
    }

    pub(crate) fn initialized(&mut self, claim: &str) {
        let now = self.now();
        let Some(node) = self.node_mut(claim).filter(|node| !node.deleting) else { return };
        node.initialized = true;
        node.labels.insert(labels::INITIALIZED.to_owned(), "true".to_owned());
        node.last_pod_event = Some(now);
        self.stirred = true;
        self.look_again();
    }

    fn daemons_come(&mut self, node: &Node) {
        let reaches = |spec| tolerated(&node.taints, spec) && selected(node, spec);
        let coming: Vec<_> =
            self.snapshot.cluster.daemon_sets.iter().filter(|set| reaches(&set.spec)).cloned().collect();
        for set in coming {
            let name = ObjectName::new(&set.name.namespace, format!("{}-{}", set.name.name, node.name));
            self.insert_pod(Pod {
                uid: name.to_string(),
                name,
                created: self.now(),
                node: Some(node.name.clone()),
                phase: Phase::Running,
                terminating: false,
                unschedulable: false,
                owner: Some(model::Owner { kind: "DaemonSet".to_owned(), name: set.name.name.clone() }),
                daemon: true,
                mirror: false,
                do_not_disrupt: None,
                disruption: Default::default(),
                volumes: Vec::new(),
                spec: set.spec.clone(),
            });
        }
    }

    /// Taints a node that is to go, and notes what replaces it.
    pub(crate) fn mark_disrupted(&mut self, order: &MarkOrder) {
        let Some(node) = self.node_mut(&order.claim).filter(|node| !node.deleting) else { return };
        node.disruption.mark = Some(Mark {
            reason: Some(order.reason),
            since: Some(order.since),
            replaced_by: order.replaced_by.clone(),
        });
        taint(node);
    }

    /// Takes that back.
    pub(crate) fn unmark_disrupted(&mut self, claim: &str) {
        let Some(node) = self.node_mut(claim).filter(|node| !node.deleting) else { return };
        node.disruption.mark = None;
        node.taints.retain(|taint| taint.key != labels::DISRUPTED);
        self.stirred = true;
    }

    /// Marks a NodeClaim for deletion, unless it is gone or going already.
    pub(crate) fn delete_claim(&mut self, claim: &str, reason: &str) {
        let now = self.now();
        let Some(node) = self.node_mut(claim).filter(|node| !node.deleting) else {
            self.records.repeated += 1;
            return;
        };
        node.deleting = true;
        taint(node);
        let name = node.name.clone();
        if let Some(machine) = self.machines.get_mut(claim) {
            machine.draining = Some(now);
        }
        if let Some(charge) = self.ledger.charge(claim).cloned() {
            self.records.moved(now, MoveKind::Removed, &charge, reason);
        }
        for pod in self.own_pods(&name) {
            self.evict(&pod);
        }
        self.after(DRAIN, Event::Drain(claim.to_owned()));
    }

    /// Ends the instance once no pod of its own is left on the node.
    pub(crate) fn drain(&mut self, claim: &str) {
        let Some(node) = self.node_mut(claim) else { return };
        let name = node.name.clone();
        let left = self.snapshot.cluster.pods.iter().any(|pod| {
            pod.node.as_deref() == Some(&name) && !pod.daemon && !pod.mirror && pod.phase != Phase::Terminal
        });
        if left {
            self.after(SignedDuration::from_secs(1), Event::Drain(claim.to_owned()));
            return;
        }
        if let Some(machine) = self.machines.get_mut(claim)
            && !std::mem::replace(&mut machine.ending, true)
        {
            // EC2 charges until the instance is told to end, not until it has.
            self.ledger.close(claim, self.snapshot.now);
            let ends = SignedDuration::from_millis(self.boots.between(20_000, 50_000));
            self.after(ends, Event::Terminated(claim.to_owned()));
        }
    }

    pub(crate) fn terminated(&mut self, claim: &str) {
        self.forget(claim);
        self.look_again();
    }

    /// Takes node, NodeClaim and whatever is still on it out of the world.
    fn forget(&mut self, claim: &str) {
        self.machines.remove(claim);
        let nodes = &mut self.snapshot.cluster.nodes;
        let Some(index) = nodes.iter().position(|node| node.claim.as_deref() == Some(claim)) else { return };
        let node = nodes.swap_remove(index);
        let there = |pod: &&Pod| pod.node.as_deref() == Some(&node.name);
        let left: Vec<ObjectName> =
            self.snapshot.cluster.pods.iter().filter(there).map(|pod| pod.name.clone()).collect();
        for pod in left {
            self.remove_pod(&pod);
        }
    }

    /// Pods on a node that somebody would miss.
    pub(crate) fn own_pods(&self, node: &str) -> Vec<ObjectName> {
        let own = |pod: &&Pod| {
            pod.node.as_deref() == Some(node)
                && !pod.daemon
                && !pod.mirror
                && !pod.terminating
                && pod.phase != Phase::Terminal
        };
        self.snapshot.cluster.pods.iter().filter(own).map(|pod| pod.name.clone()).collect()
    }

    pub(crate) fn node_mut(&mut self, claim: &str) -> Option<&mut Node> {
        self.snapshot.cluster.nodes.iter_mut().find(|node| node.claim.as_deref() == Some(claim))
    }
}

/// Keeps new pods away.
fn taint(node: &mut Node) {
    if !node.taints.iter().any(|taint| taint.key == labels::DISRUPTED) {
        let (key, value) = (labels::DISRUPTED.to_owned(), String::new());
        node.taints.push(Taint { key, value, effect: TaintEffect::NoSchedule });
    }
}

fn single_values(requirements: &Requirements) -> BTreeMap<String, String> {
    let single = |(key, requirement): (&str, &model::Requirement)| {
        requirement.single().map(|value| (key.to_owned(), value.to_owned()))
    };
    requirements.iter().filter_map(single).collect()
}
