//! A small world in memory: an API server that knows versions and finalizers, a cloud that knows tokens and lists late,
//! kubelets. Stands for the real ones as far as decisions about NodeClaims can tell.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use jiff::{SignedDuration, Timestamp};
use model::{
    BoundPod, Care, Claim, ClaimChange, ClaimNode, ConditionStatus, Effect, Instance, InstanceState,
    LaunchAnswer, LaunchFailure, LaunchFailureKind, LaunchOrder, LifecycleSnapshot, NodeChange,
    SweepSnapshot, labels,
};

use super::super::{care, sweep, wants};
use super::kit;

/// What becomes of the next launch.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// None is to be had.
    Capacity,
    /// One less than asked for.
    Partial,
    /// Too many requests.
    Throttled,
    /// It happens, but nobody is told.
    Timeout,
    /// The subnet is full.
    Subnet,
    /// Not allowed.
    Rejected,
}

/// What there is.
pub struct World {
    pub now: Timestamp,
    pub claims: BTreeMap<String, Claim>,
    pub nodes: BTreeMap<String, ClaimNode>,
    pub pods: BTreeMap<String, BoundPod>,
    pub machines: BTreeMap<String, Instance>,
    /// Token to what was asked by it and answered.
    pub fleets: BTreeMap<String, (LaunchOrder, LaunchAnswer)>,
    pub faults: VecDeque<Fault>,
    /// Why NodeClaims were asked to go.
    pub reasons: BTreeMap<String, Vec<String>>,
    /// What must never happen, and did.
    pub wrongs: Vec<String>,
    /// How long machines don't show in listings.
    pub lag: SignedDuration,
    ended: BTreeMap<String, Timestamp>,
    served: BTreeMap<String, String>,
    count: u64,
}

/// A run, which may be cut off after any of its steps.
#[derive(Default)]
pub struct Run {
    queue: VecDeque<Op>,
    answers: BTreeMap<String, LaunchAnswer>,
    /// What the last look wanted.
    pub last: Option<Care>,
}

enum Op {
    Effect(Effect),
    /// The second half of a change: the status, bound to the version that the first half made.
    Status(Box<ClaimChange>),
}

impl World {
    pub fn new(lag: i64) -> Self {
        Self {
            now: kit::now(),
            claims: BTreeMap::new(),
            nodes: BTreeMap::new(),
            pods: BTreeMap::new(),
            machines: BTreeMap::new(),
            fleets: BTreeMap::new(),
            faults: VecDeque::new(),
            reasons: BTreeMap::new(),
            wrongs: Vec::new(),
            lag: SignedDuration::from_secs(lag),
            ended: BTreeMap::new(),
            served: BTreeMap::new(),
            count: 0,
        }
    }

    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// A new launch group.
    pub fn provision(&mut self, size: usize) {
        let group = format!("g{}", self.next());
        for index in 0..size {
            let name = format!("{group}-{index}");
            let mut claim =
                Claim { created: self.now, launch_group: Some(group.clone()), ..kit::claim(&name) };
            // Some are written by others, without our finalizer.
            claim.finalizer = size != 1;
            self.claims.insert(name, claim);
        }
    }

    pub fn observe(&self, answers: BTreeMap<String, LaunchAnswer>) -> LifecycleSnapshot {
        let claims: Vec<Claim> = self.claims.values().cloned().collect();
        let of = |node: &&ClaimNode| {
            claims.iter().any(|claim| claim.provider_id.as_ref() == Some(&node.provider_id))
        };
        let (own, others): (Vec<&ClaimNode>, Vec<&ClaimNode>) = self.nodes.values().partition(of);
        let nodes: Vec<ClaimNode> = own.into_iter().cloned().collect();
        let orphans: Vec<ClaimNode> =
            others.into_iter().filter(|node| node.deleting.is_some() && node.finalizer).cloned().collect();
        let wanted = wants(&claims, &nodes, &orphans);
        let told = |id: &String| answers.values().any(|answer| answer.machines.contains(id));
        let shown = |machine: &&Instance| {
            let asked = wanted.provider_ids.contains(&machine.provider_id)
                || machine.launch_group.as_ref().is_some_and(|group| wanted.groups.contains(group));
            told(&machine.provider_id) || asked && self.is_listed(machine)
        };
        let instances = self.machines.values().filter(shown).cloned().collect();
        let pods = self.pods.values().filter(|pod| wanted.pods_on.contains(&pod.node)).cloned().collect();
        let mut snapshot = kit::snapshot(claims);
        snapshot.types.retain(|class, _| wanted.classes.contains(class));
        snapshot.classes.retain(|class, _| wanted.classes.contains(class));
        LifecycleSnapshot { now: self.now, nodes, orphans, pods, instances, launches: answers, ..snapshot }
    }

    fn is_listed(&self, machine: &Instance) -> bool {
        self.now.duration_since(machine.launched) >= self.lag
    }

    /// One step of a run: a look, or one effect of the last one.
    pub fn step(&mut self, run: &mut Run) {
        match run.queue.pop_front() {
            None => {
                let snapshot = self.observe(std::mem::take(&mut run.answers));
                let care = care(&snapshot);
                run.queue = care.effects.iter().cloned().map(Op::Effect).collect();
                run.last = Some(care);
            }
            Some(Op::Status(change)) => self.change_status(&change),
            Some(Op::Effect(effect)) => self.act(effect, run),
        }
    }

    /// Looks and acts until nothing is to be done at once.
    pub fn run_out(&mut self, run: &mut Run) {
        for _ in 0..20 {
            self.step(run);
            while !run.queue.is_empty() {
                self.step(run);
            }
            let care = run.last.as_ref().unwrap();
            if care.again.values().chain(care.again_nodes.values()).all(|wait| !wait.is_zero()) {
                return;
            }
        }
        self.wrongs.push(format!("no end of looks: {:?}", run.last.as_ref().map(kit::lines)));
    }

    pub fn sweep(&mut self) {
        let care = sweep(&SweepSnapshot {
            now: self.now,
            claims: self.claims.values().cloned().collect(),
            nodes: self.nodes.values().cloned().collect(),
            instances: self.machines.values().filter(|machine| self.is_listed(machine)).cloned().collect(),
            complete: true,
            leaving: Vec::new(),
            pools: BTreeMap::new(),
            classes: BTreeMap::new(),
            expiring: BTreeSet::new(),
        });
        for effect in care.effects {
            self.act(effect, &mut Run::default());
        }
    }

    fn act(&mut self, effect: Effect, run: &mut Run) {
        match effect {
            Effect::Launch(order) => {
                let answer = self.launch(&order);
                run.answers.insert(order.group.clone(), answer);
            }
            Effect::ChangeNodeClaim(change) => self.change_claim(*change, run),
            Effect::ChangeNode(change) => self.change_node(*change),
            Effect::DeleteNodeClaim { claim, uid, reason } => {
                if self.claims.get(&claim).is_some_and(|known| uid.is_none_or(|uid| uid == known.uid)) {
                    self.delete_claim(&claim, &reason);
                }
            }
            Effect::DeleteNode { node, .. } => self.delete_node(&node),
            Effect::EvictPod { pod, .. } => {
                let now = self.now;
                if let Some(pod) = self.pods.get_mut(&pod.name) {
                    pod.deleting = Some(now + SignedDuration::from_secs(pod.grace_seconds));
                }
            }
            Effect::DeletePod { pod, grace_seconds, .. } => {
                let now = self.now;
                if let Some(pod) = self.pods.get_mut(&pod.name) {
                    pod.deleting = Some(now + SignedDuration::from_secs(grace_seconds));
                }
            }
            Effect::Terminate { provider_id } => {
                let wanted = |claim: &&Claim| {
                    claim.provider_id.as_ref() == Some(&provider_id) && claim.deleting.is_none()
                };
                if let Some(claim) = self.claims.values().find(wanted) {
                    self.wrongs.push(format!("{provider_id} was ended, and {} has it", claim.name));
                }
                self.end_machine(&provider_id);
            }
            Effect::TagInstance { provider_id, tags } => {
                if let Some(machine) = self.machines.get_mut(&provider_id)
                    && machine.claim.is_none()
                {
                    machine.claim = tags.get(labels::NODECLAIM).cloned();
                }
            }
            Effect::ReleaseNodeClaim { claim, uid } => {
                if self.claims.get(&claim).is_some_and(|known| known.uid == uid && known.deleting.is_some()) {
                    self.claims.remove(&claim);
                }
            }
            Effect::ReleaseNode { node, uid } => {
                if self.nodes.get(&node).is_some_and(|known| known.uid == uid && known.deleting.is_some()) {
                    self.remove_node(&node);
                }
            }
            Effect::CreateNodeClaim(_)
            | Effect::MarkDisrupted(_)
            | Effect::UnmarkDisrupted { .. }
            | Effect::ForgetLaunchTemplates { .. }
            | Effect::ReleaseNodeClass { .. }
            | Effect::NoteRegistrations { .. }
            | Effect::TellNodePool { .. }
            | Effect::Avoid { .. }
            | Effect::NominateNode { .. }
            | Effect::RestartRollout(_)
            | Effect::HintLifecycle { .. }
            | Effect::HintProvision { .. }
            | Effect::PublishEvent { .. } => {}
        }
    }

    fn launch(&mut self, order: &LaunchOrder) -> LaunchAnswer {
        let failed = |kind, spent| {
            let (reason, message) = ("Failed".to_owned(), format!("{kind:?}"));
            let failure = LaunchFailure { kind, offer: None, subnet: Some("s".into()), reason, message };
            LaunchAnswer { token: order.token.clone(), spent, machines: Vec::new(), failures: vec![failure] }
        };
        if let Some((asked, answer)) = self.fleets.get(&order.token) {
            let same = asked == order;
            return if same { answer.clone() } else { failed(LaunchFailureKind::OtherLaunch, false) };
        }
        let fault = self.faults.pop_front();
        let answer = match fault {
            Some(Fault::Throttled) => return failed(LaunchFailureKind::Throttled, false),
            Some(Fault::Rejected) => return failed(LaunchFailureKind::Rejected, false),
            Some(Fault::Capacity) => failed(LaunchFailureKind::Capacity, true),
            Some(Fault::Subnet) => failed(LaunchFailureKind::Subnet, true),
            Some(Fault::Partial | Fault::Timeout) | None => {
                let less = usize::from(matches!(fault, Some(Fault::Partial)));
                let machines = (less..order.claims.len()).map(|_| self.start(&order.group)).collect();
                LaunchAnswer { token: order.token.clone(), spent: true, machines, failures: Vec::new() }
            }
        };
        self.fleets.insert(order.token.clone(), (order.clone(), answer.clone()));
        if matches!(fault, Some(Fault::Timeout)) { failed(LaunchFailureKind::Unknown, false) } else { answer }
    }

    /// Ids are in no order.
    fn start(&mut self, group: &str) -> String {
        let number = format!("{:03}", self.next().wrapping_mul(577) % 1000);
        let machine = Instance {
            launched: self.now,
            state: InstanceState::Pending,
            launch_group: Some(group.to_owned()),
            ..kit::machine(&number)
        };
        let id = machine.provider_id.clone();
        self.machines.insert(id.clone(), machine);
        id
    }

    fn change_claim(&mut self, change: ClaimChange, run: &mut Run) {
        let version = self.next().to_string();
        let Some(claim) = self.claims.get_mut(&change.claim) else { return };
        if change.version.as_ref().is_some_and(|version| *version != claim.version) {
            return;
        }
        claim.finalizer |= change.finalizer && claim.deleting.is_none();
        claim.labels.extend(change.labels.clone());
        claim.labels.retain(|key, _| !change.labels_off.contains(key));
        claim.annotations.extend(change.annotations.clone());
        claim.version.clone_from(&version);
        run.queue.push_front(Op::Status(Box::new(ClaimChange { version: Some(version), ..change })));
    }

    fn change_status(&mut self, change: &ClaimChange) {
        let version = self.next().to_string();
        let Some(claim) = self.claims.get_mut(&change.claim) else { return };
        if change.version.as_ref() == Some(&claim.version) {
            claim.version = version;
            claim.provider_id = change.provider_id.clone().or_else(|| claim.provider_id.clone());
            claim.node = change.node.clone().or_else(|| claim.node.clone());
            claim.conditions.extend(change.conditions.clone());
        }
    }

    fn change_node(&mut self, change: NodeChange) {
        let version = self.next().to_string();
        let Some(node) = self.nodes.get_mut(&change.node) else { return };
        if node.version == change.version {
            node.version = version;
            node.finalizer |= change.finalizer && node.deleting.is_none();
            node.owned |= change.owner.is_some();
            node.labels.extend(change.labels);
            node.labels.retain(|key, _| !change.labels_off.contains(key));
            node.annotations.extend(change.annotations);
            node.taints = change.taints.unwrap_or_else(|| node.taints.clone());
        }
    }

    pub fn delete_claim(&mut self, name: &str, reason: &str) {
        let version = self.next().to_string();
        let Some(claim) = self.claims.get_mut(name) else { return };
        self.reasons.entry(name.to_owned()).or_default().push(reason.to_owned());
        if claim.finalizer {
            if claim.deleting.is_none() {
                claim.deleting = Some(self.now);
                claim.generation += 1;
                claim.version = version;
            }
        } else {
            self.claims.remove(name);
        }
    }

    pub fn delete_node(&mut self, name: &str) {
        let version = self.next().to_string();
        let Some(node) = self.nodes.get_mut(name) else { return };
        if node.finalizer {
            if node.deleting.is_none() {
                node.deleting = Some(self.now);
                node.version = version;
            }
        } else {
            self.remove_node(name);
        }
    }

    fn remove_node(&mut self, name: &str) {
        self.nodes.remove(name);
        self.pods.retain(|_, pod| pod.node != name);
    }

    pub fn end_machine(&mut self, id: &str) {
        if let Some(machine) = self.machines.get_mut(id)
            && !machine.state.is_ending()
        {
            machine.state = InstanceState::ShuttingDown;
            self.ended.insert(id.to_owned(), self.now);
        }
    }

    /// Time passes, second by second, for machines, kubelets and pods.
    pub fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.now += SignedDuration::from_secs(1);
            self.machines_go_on();
            self.nodes_go_on();
        }
    }

    fn machines_go_on(&mut self) {
        let mut joining = Vec::new();
        for (id, machine) in &mut self.machines {
            let age = self.now.duration_since(machine.launched).as_secs();
            match machine.state {
                InstanceState::Pending if age >= 5 => machine.state = InstanceState::Running,
                InstanceState::Running if age >= 20 && !self.served.contains_key(id) => {
                    joining.push((id.clone(), machine.id.clone()));
                }
                InstanceState::ShuttingDown if self.now.duration_since(self.ended[id]).as_secs() >= 20 => {
                    machine.state = InstanceState::Terminated;
                }
                _ => {}
            }
        }
        for (id, number) in joining {
            let name = format!("n-{number}");
            let node = kit::joining(&name, number.trim_start_matches("i-"));
            self.served.insert(id, name.clone());
            self.nodes.insert(name, ClaimNode { created: self.now, ..node });
        }
    }

    fn nodes_go_on(&mut self) {
        let now = self.now;
        for node in self.nodes.values_mut() {
            let machine = self.machines.get(&node.provider_id);
            let running = machine.is_some_and(|machine| machine.state == InstanceState::Running);
            let age = now.duration_since(node.created).as_secs();
            node.ready = match (running, age >= 10) {
                (true, true) => ConditionStatus::True,
                (true, false) => ConditionStatus::False,
                (false, _) => ConditionStatus::Unknown,
            };
            let at_work = node.labels.contains_key(labels::INITIALIZED) && node.taints.is_empty() && running;
            let name = format!("p-{}", node.name);
            if at_work && node.deleting.is_none() && !self.pods.contains_key(&name) {
                let pod = BoundPod { grace_seconds: 5, started: Some(now), ..kit::pod(&name, &node.name) };
                self.pods.insert(name, pod);
            }
        }
        // The cloud's own controller takes Nodes away whose machines have ended.
        let ended = |node: &&ClaimNode| {
            self.machines
                .get(&node.provider_id)
                .is_some_and(|machine| machine.state == InstanceState::Terminated)
        };
        let ended: Vec<String> = self.nodes.values().filter(ended).map(|node| node.name.clone()).collect();
        ended.iter().for_each(|name| self.delete_node(name));
        // A pod stops where its kubelet runs.
        let nodes = &self.nodes;
        let stopped = |pod: &BoundPod| {
            let answers = nodes.get(&pod.node).is_some_and(|node| node.ready == ConditionStatus::True);
            answers && pod.deleting.is_some_and(|gone| gone <= now)
        };
        self.pods.retain(|_, pod| !stopped(pod));
    }
}
