//! The state of the simulated world and its queue of events.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{NodePool, ObjectName, Pod, Snapshot};

use crate::bill::{Charge, Ledger};
use crate::chance::Chance;
use crate::machine::Machine;
use crate::observer::Observer;
use crate::report::Records;
use crate::scenario::{Scenario, Workload};
use crate::schedule::Change;
use crate::scheduler;

/// Something that happens by itself.
#[derive(Debug)]
pub(crate) enum Event {
    /// A workload changes.
    Change(usize, Change),
    /// A pod's containers run.
    PodStarted(ObjectName),
    /// A pod has done its work.
    PodFinished(ObjectName),
    /// A pod's grace is over, or nobody needs its record any more.
    PodGone(ObjectName),
    /// EC2 has an instance for a NodeClaim, or has none.
    Launched(String),
    /// Its kubelet has joined.
    Registered(String),
    /// It is ready for work.
    Initialized(String),
    /// Time to see whether a node that is going has been left by its pods.
    Drain(String),
    /// Its instance is gone.
    Terminated(String),
    /// The batch window may be over.
    Provision,
    /// The minute schedule.
    Minute,
    /// An hour is full.
    Hour,
}

/// What the world knows of a pod beyond what can be seen of it.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// The workload that makes it anew if it is evicted.
    pub workload: Option<usize>,
    /// How long it runs, if it ever ends by itself.
    pub runs: Option<SignedDuration>,
}

/// A cluster on a virtual clock.
#[derive(Debug)]
pub struct World {
    /// What can be seen, and so the state itself as far as it can be.
    pub(crate) snapshot: Snapshot,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) made: Vec<u64>,
    queue: BTreeMap<(Timestamp, u64), Event>,
    queued: u64,
    pub(crate) pod_at: BTreeMap<ObjectName, usize>,
    pub(crate) lives: BTreeMap<ObjectName, Life>,
    pub(crate) machines: BTreeMap<String, Machine>,
    pub(crate) named: u64,
    pub(crate) boots: Chance,
    pub(crate) graces: Chance,
    ties: Chance,
    /// Something has changed that a pod without a place may have been waiting for.
    pub(crate) stirred: bool,
    pub(crate) observer: Observer,
    pub(crate) ledger: Ledger,
    pub(crate) records: Records,
    end: Timestamp,
}

impl World {
    /// The world of `scenario` at its start.
    pub fn new(scenario: &Scenario, seed: u64) -> Self {
        let start = scenario.snapshot.now;
        let mut world = Self {
            snapshot: scenario.snapshot.clone(),
            workloads: scenario.workloads.clone(),
            made: vec![0; scenario.workloads.len()],
            queue: BTreeMap::new(),
            queued: 0,
            pod_at: BTreeMap::new(),
            lives: BTreeMap::new(),
            machines: BTreeMap::new(),
            named: 0,
            boots: Chance::new(seed, "boots"),
            graces: Chance::new(seed, "graces"),
            ties: Chance::new(seed, "ties"),
            stirred: true,
            observer: Observer::default(),
            ledger: Ledger::new(start),
            records: Records::default(),
            end: start.checked_add(scenario.length).unwrap_or(Timestamp::MAX),
        };
        for (index, workload) in scenario.workloads.iter().enumerate() {
            let mut chance = Chance::new(seed, &workload.name.to_string());
            for (at, change) in workload.pattern.changes(start, scenario.length, &mut chance) {
                world.at(at, Event::Change(index, change));
            }
        }
        for (index, pod) in scenario.snapshot.cluster.pods.iter().enumerate() {
            world.pod_at.insert(pod.name.clone(), index);
            world.lives.insert(pod.name.clone(), Life { workload: None, runs: None });
            world.records.created += u64::from(!pod.daemon && !pod.mirror);
        }
        world.adopt_machines();
        for hour in 1..=scenario.length.as_hours() {
            world.after(SignedDuration::from_hours(hour), Event::Hour);
        }
        world.after(SignedDuration::from_mins(1), Event::Minute);
        world
    }

    /// What can be seen now.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Lets an operator change NodePools.
    pub fn edit_pools(&mut self, edit: impl FnOnce(&mut [NodePool])) {
        edit(&mut self.snapshot.cluster.pools);
    }

    /// The virtual time.
    pub fn now(&self) -> Timestamp {
        self.snapshot.now
    }

    /// Every instance there was, as it is charged.
    pub fn charges(&self) -> &[Charge] {
        self.ledger.charges()
    }

    /// When the simulation ends.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// Lets the next thing happen. `false` once the end is reached.
    pub fn step(&mut self) -> bool {
        // Before time passes, the scheduler sees what happened, which may bring something to do sooner.
        let next = self.queue.first_key_value().map(|((at, _), _)| *at);
        if next.is_none_or(|at| at > self.now()) {
            self.settle_pods();
        }
        let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= self.end) else {
            return false;
        };
        let ((at, _), event) = entry.remove_entry();
        self.ledger.pass(at, self.records.bound_now);
        self.snapshot.now = at;
        self.happen(event);
        true
    }

    pub(crate) fn at(&mut self, at: Timestamp, event: Event) {
        self.queue.insert((at, self.queued), event);
        self.queued += 1;
    }

    pub(crate) fn after(&mut self, delay: SignedDuration, event: Event) {
        let at = self.now().checked_add(delay).unwrap_or(Timestamp::MAX);
        self.at(at, event);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Change(workload, Change::Scale(replicas)) => self.scale(workload, replicas),
            Event::Change(workload, Change::Jobs(runs)) => {
                runs.into_iter().for_each(|runs| self.create_pod(workload, Some(runs)));
            }
            Event::PodStarted(pod) => self.pod_started(&pod),
            Event::PodFinished(pod) => self.pod_finished(&pod),
            Event::PodGone(pod) => self.pod_gone(&pod),
            Event::Launched(claim) => self.launched(&claim),
            Event::Registered(claim) => self.registered(&claim),
            Event::Initialized(claim) => self.initialized(&claim),
            Event::Drain(claim) => self.drain(&claim),
            Event::Terminated(claim) => self.terminated(&claim),
            Event::Provision => self.batch_closes(),
            Event::Minute => {
                self.minute();
                self.after(SignedDuration::from_mins(1), Event::Minute);
            }
            Event::Hour => self.hour(),
        }
    }

    /// Lets the scheduler bind what can be bound, if anything has changed for it.
    pub(crate) fn settle_pods(&mut self) {
        if !std::mem::take(&mut self.stirred) {
            return;
        }
        let pass = scheduler::pass(&self.snapshot.cluster, &mut self.ties);
        for (pod, node) in pass.bound {
            self.bind(&pod, node);
        }
        let mut news = false;
        for pod in pass.refused {
            if let Some(pod) = self.pod_mut(&pod).filter(|pod| !pod.unschedulable) {
                pod.unschedulable = true;
                news = true;
            }
        }
        if news {
            self.open_batch();
        }
    }

    pub(crate) fn pod_mut(&mut self, name: &ObjectName) -> Option<&mut Pod> {
        let index = *self.pod_at.get(name)?;
        self.snapshot.cluster.pods.get_mut(index)
    }

    fn hour(&mut self) {
        self.settle_pods();
        let hour = self.records.close_hour(&self.snapshot, &self.ledger);
        self.records.hours.push(hour);
    }
}
