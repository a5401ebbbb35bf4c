//! The snapshot, looked up by what belongs together.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use model::{
    Attachment, BoundPod, Claim, ClaimNode, ConditionStatus, Deployment, Instance, InstanceState,
    LifecycleSnapshot, ObjectName,
};

use super::REGISTERED;

/// A machine younger than this may be missing from listings though it is there.
const LISTED_WITHIN: SignedDuration = SignedDuration::from_secs(60);

/// A snapshot with its lists in order.
pub(super) struct View<'a> {
    pub snapshot: &'a LifecycleSnapshot,
    /// NodeClaims in name order.
    pub claims: Vec<&'a Claim>,
    /// Nodes without a NodeClaim in name order.
    pub orphans: Vec<&'a ClaimNode>,
    nodes: BTreeMap<&'a str, Vec<&'a ClaimNode>>,
    pods: BTreeMap<&'a str, Vec<&'a BoundPod>>,
    attachments: BTreeMap<&'a str, Vec<&'a Attachment>>,
    machines: BTreeMap<&'a str, &'a Instance>,
    keepers: BTreeMap<&'a str, &'a Claim>,
}

/// What is known of the machine of a NodeClaim.
pub(super) enum Machine<'a> {
    /// Nobody has looked.
    Unknown,
    /// It is there, or too young to be told.
    Alive(Option<&'a Instance>),
    /// It is on its way out.
    Ending,
    /// It has ended.
    Ended,
    /// It is not to be found.
    Absent,
}

impl Machine<'_> {
    /// Whether nothing is left of it.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Ended | Self::Absent)
    }
}

/// Whether a Node is ready.
pub(super) fn is_ready(node: &ClaimNode) -> bool {
    node.ready == ConditionStatus::True
}

impl<'a> View<'a> {
    pub fn new(snapshot: &'a LifecycleSnapshot) -> Self {
        let mut claims: Vec<&Claim> = snapshot.claims.iter().collect();
        claims.sort_by(|a, b| a.name.cmp(&b.name));
        claims.dedup_by(|a, b| a.name == b.name);
        let mut keepers: BTreeMap<&str, &Claim> = BTreeMap::new();
        for &claim in &claims {
            if let Some(id) = &claim.provider_id {
                let keeper = keepers.entry(id).or_insert(claim);
                let rank = |claim: &Claim| (claim.is(REGISTERED), claim.deleting.is_none());
                if rank(claim) > rank(keeper) {
                    *keeper = claim;
                }
            }
        }
        let mut orphans: Vec<&ClaimNode> = snapshot.orphans.iter().collect();
        orphans.sort_by(|a, b| a.name.cmp(&b.name));
        let mut view = Self {
            snapshot,
            claims,
            orphans,
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            attachments: BTreeMap::new(),
            machines: BTreeMap::new(),
            keepers,
        };
        for node in &snapshot.nodes {
            view.nodes.entry(&node.provider_id).or_default().push(node);
        }
        view.nodes.values_mut().for_each(|nodes| nodes.sort_by(|a, b| a.name.cmp(&b.name)));
        for pod in &snapshot.pods {
            view.pods.entry(&pod.node).or_default().push(pod);
        }
        view.pods.values_mut().for_each(|pods| pods.sort_by(|a, b| a.name.cmp(&b.name)));
        for attachment in &snapshot.attachments {
            view.attachments.entry(&attachment.node).or_default().push(attachment);
        }
        for attachments in view.attachments.values_mut() {
            attachments.sort_by(|a, b| a.volume.cmp(&b.volume));
        }
        for machine in &snapshot.instances {
            view.machines.insert(&machine.provider_id, machine);
        }
        view
    }

    pub fn now(&self) -> Timestamp {
        self.snapshot.now
    }

    /// Nodes with a provider id.
    pub fn nodes_of(&self, provider_id: &str) -> impl Iterator<Item = &'a ClaimNode> + use<'a> {
        self.nodes.get(provider_id).cloned().unwrap_or_default().into_iter()
    }

    /// The one Node with a provider id, if there is just one.
    pub fn node_of(&self, claim: &Claim) -> Option<&'a ClaimNode> {
        let mut nodes = self.nodes_of(claim.provider_id.as_deref()?);
        nodes.next().filter(|_| nodes.next().is_none())
    }

    /// Pods on a Node in name order.
    pub fn pods_on(&self, node: &str) -> &[&'a BoundPod] {
        self.pods.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    /// A Deployment of a pod that asks for a successor before it leaves, if it is there.
    pub fn deployment(&self, name: &ObjectName) -> Option<&'a Deployment> {
        self.snapshot.deployments.iter().find(|deployment| deployment.name == *name)
    }

    /// Volumes attached to a Node in name order.
    pub fn attached_to(&self, node: &str) -> &[&'a Attachment] {
        self.attachments.get(node).map(Vec::as_slice).unwrap_or_default()
    }

    /// The NodeClaim that a machine is of, should several name it: one that is registered, else one that is to stay, else the
    /// first by name.
    pub fn keeper(&self, provider_id: &str) -> Option<&'a String> {
        self.keepers.get(provider_id).map(|claim| &claim.name)
    }

    /// The machine of a NodeClaim.
    pub fn machine(&self, claim: &Claim, provider_id: &str) -> Machine<'a> {
        let settled = claim.is(REGISTERED) || self.now().duration_since(claim.created) >= LISTED_WITHIN;
        self.machine_by_id(provider_id, settled)
    }

    /// The machine with an id; whether it is old enough to be listed.
    pub fn machine_by_id(&self, provider_id: &str, settled: bool) -> Machine<'a> {
        match self.machines.get(provider_id) {
            Some(machine) => match machine.state {
                InstanceState::Pending | InstanceState::Running | InstanceState::Stopped => {
                    Machine::Alive(Some(machine))
                }
                InstanceState::ShuttingDown => Machine::Ending,
                InstanceState::Terminated => Machine::Ended,
            },
            None if !self.snapshot.instances_known => Machine::Unknown,
            None if settled => Machine::Absent,
            None => Machine::Alive(None),
        }
    }

    /// Machines of a launch group, in the order of their ids.
    pub fn machines_of(&self, group: &str) -> Vec<&'a Instance> {
        let answered: BTreeSet<&str> = self
            .snapshot
            .launches
            .get(group)
            .into_iter()
            .flat_map(|answer| answer.machines.iter().map(String::as_str))
            .collect();
        let ours = |machine: &&Instance| {
            machine.launch_group.as_deref() == Some(group) || answered.contains(machine.provider_id.as_str())
        };
        let mut machines: Vec<&Instance> = self.machines.values().copied().filter(ours).collect();
        machines.sort_by(|a, b| a.id.cmp(&b.id));
        machines
    }

    /// Whether some NodeClaim names a machine.
    pub fn is_claimed(&self, provider_id: &str) -> bool {
        self.keepers.contains_key(provider_id)
    }
}
