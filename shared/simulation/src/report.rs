//! What a simulation came to.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{CapacityType, Code, MicroUsd, Phase, Snapshot};
use serde::{Serialize, Serializer};

use crate::bill::{Charge, Ledger, Summary, hours, per_hour, usd};
use crate::world::World;

/// What a simulation came to. Everything in it is simulated.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The scenario.
    pub scenario: String,
    /// The seed that all delays and ties follow from.
    pub seed: u64,
    /// Always true: nothing here was measured on a cluster.
    pub simulated: bool,
    /// Spot prices were made up for illustration.
    pub illustrative_spot_prices: bool,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// How each hour ended.
    pub hours: Vec<Hour>,
    /// Every instance that came or went.
    pub moves: Vec<Move>,
    /// The bill, dearest line first.
    pub bill: Vec<Summary>,
    /// What all instances cost together.
    #[serde(rename = "usd", serialize_with = "usd")]
    pub cost: MicroUsd,
    /// The most that an hour cost at any moment.
    #[serde(rename = "peakUsdPerHour", serialize_with = "usd")]
    pub peak_price: MicroUsd,
    /// What it would have cost to keep what the dearest moment had, all the time.
    #[serde(rename = "alwaysOnPeakUsd", serialize_with = "usd")]
    pub always_on_peak: MicroUsd,
    /// The most instances at any moment.
    pub peak_instances: usize,
    /// Pods of workloads made; each is in exactly one of the next five.
    pub pods_created: u64,
    /// Pods that did their work.
    pub pods_finished: u64,
    /// Pods that their workload no longer wanted.
    pub pods_scaled_down: u64,
    /// Pods that had to leave a node and were made anew.
    pub pods_evicted: u64,
    /// Pods on nodes at the end.
    pub pods_running: u64,
    /// Pods without a node at the end.
    pub pods_pending: u64,
    /// How long all pods were on nodes together.
    #[serde(rename = "podHours", serialize_with = "hours")]
    pub pod_time: SignedDuration,
    /// What an hour of a pod cost on average; none if there were no pods.
    #[serde(rename = "usdPerPodHour", serialize_with = "maybe_usd")]
    pub cost_per_pod_hour: Option<MicroUsd>,
    /// How long pods waited for a node.
    pub waits: Waits,
    /// Why pods have no node at the end.
    pub unplaced: Vec<Unplaced>,
    /// How often the planner was asked.
    pub decisions: u64,
    /// When it last had something to do.
    pub last_effect: Option<Timestamp>,
    /// NodeClaims for which nothing could be had.
    pub launch_failures: u64,
    /// Effects that were already in force.
    pub repeated_effects: u64,
    /// What the audit found wrong with plans, and when; there should be nothing.
    pub audit_faults: Vec<(Timestamp, String)>,
}

/// How an hour ended, and what happened in it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hour {
    /// Its end.
    pub until: Timestamp,
    /// Nodes ready for work.
    pub nodes: usize,
    /// NodeClaims on their way.
    pub coming: usize,
    /// Nodes on their way out.
    pub going: usize,
    /// Pods on nodes, daemons not counted.
    pub running: usize,
    /// Pods without a node.
    pub pending: usize,
    /// Instances launched in it.
    pub launched: usize,
    /// Nodes given up in it.
    pub removed: usize,
    /// What instances cost an hour at its end.
    #[serde(serialize_with = "usd")]
    pub usd_per_hour: MicroUsd,
    /// What instances cost during it.
    #[serde(rename = "usd", serialize_with = "usd")]
    pub cost: MicroUsd,
}

/// What became of an instance.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum MoveKind {
    /// It came.
    Launched,
    /// Its node is given up.
    Removed,
}

/// An instance that came or went.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Move {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: MoveKind,
    /// Its NodeClaim.
    pub claim: String,
    /// Its pool.
    pub pool: String,
    /// Its type.
    pub instance_type: String,
    /// Its zone.
    pub zone: String,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// What an hour of it costs.
    #[serde(rename = "usdPerHour", serialize_with = "usd")]
    pub price: MicroUsd,
    /// Why.
    pub reason: String,
}

/// How long pods waited for a node, in milliseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Waits {
    /// How many pods got a node.
    pub pods: usize,
    /// Half of them waited no longer.
    pub p50_ms: i128,
    /// Nineteen in twenty waited no longer.
    pub p95_ms: i128,
    /// None waited longer.
    pub max_ms: i128,
}

/// Pods without a node at the end, by reason.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unplaced {
    /// The reason's code; none if they came too late to be looked at.
    pub code: Option<Code>,
    /// How many.
    pub pods: usize,
    /// A sentence about one of them.
    pub message: String,
}

/// What is written down while time passes.
#[derive(Debug, Default)]
pub(crate) struct Records {
    pub created: u64,
    pub finished: u64,
    pub scaled_down: u64,
    pub evicted: u64,
    pub bound_now: u64,
    pub waits: Vec<SignedDuration>,
    pub decisions: u64,
    pub events: u64,
    pub repeated: u64,
    pub launch_failures: u64,
    pub last_effect: Option<Timestamp>,
    pub audit_faults: Vec<(Timestamp, String)>,
    pub hours: Vec<Hour>,
    pub moves: Vec<Move>,
    told_moves: usize,
    told_cost: MicroUsd,
}

impl Records {
    pub fn moved(&mut self, at: Timestamp, kind: MoveKind, charge: &Charge, reason: &str) {
        self.moves.push(Move {
            at,
            kind,
            claim: charge.claim.clone(),
            pool: charge.pool.clone(),
            instance_type: charge.instance_type.clone(),
            zone: charge.zone.clone(),
            capacity_type: charge.capacity_type,
            price: charge.price,
            reason: reason.to_owned(),
        });
    }

    /// The hour that ends now.
    pub fn close_hour(&mut self, snapshot: &Snapshot, ledger: &Ledger) -> Hour {
        let since = self.moves.get(self.told_moves..).unwrap_or_default();
        let count = |kind| since.iter().filter(|step| step.kind == kind).count();
        let (launched, removed) = (count(MoveKind::Launched), count(MoveKind::Removed));
        self.told_moves = self.moves.len();
        let accrued = ledger.accrued();
        let cost = MicroUsd(accrued.0.saturating_sub(self.told_cost.0));
        self.told_cost = accrued;
        let nodes = &snapshot.cluster.nodes;
        let (running, pending) = pods(snapshot);
        Hour {
            until: snapshot.now,
            nodes: nodes.iter().filter(|node| node.initialized && !node.deleting).count(),
            coming: nodes.iter().filter(|node| !node.initialized && !node.deleting).count(),
            going: nodes.iter().filter(|node| node.deleting).count(),
            running,
            pending,
            launched,
            removed,
            usd_per_hour: ledger.rate(),
            cost,
        }
    }
}

/// Pods that are on nodes and pods that are not, without daemons and what is done or going.
fn pods(snapshot: &Snapshot) -> (usize, usize) {
    let own = snapshot
        .cluster
        .pods
        .iter()
        .filter(|pod| !pod.daemon && !pod.mirror && !pod.terminating && pod.phase != Phase::Terminal);
    own.fold((0, 0), |(bound, waiting), pod| match pod.node {
        Some(_) => (bound + 1, waiting),
        None => (bound, waiting + 1),
    })
}

fn waits(mut waits: Vec<SignedDuration>) -> Waits {
    waits.sort();
    let rank = |percent: usize| {
        let rank = (waits.len() * percent).div_ceil(100).saturating_sub(1);
        waits.get(rank).map_or(0, |wait| wait.as_millis())
    };
    Waits { pods: waits.len(), p50_ms: rank(50), p95_ms: rank(95), max_ms: rank(100) }
}

fn maybe_usd<S: Serializer>(cost: &Option<MicroUsd>, serializer: S) -> Result<S::Ok, S::Error> {
    match cost {
        Some(cost) => usd(cost, serializer),
        None => serializer.serialize_none(),
    }
}

impl World {
    /// What it all came to by now.
    pub fn report(&self, scenario: &str, seed: u64, start: Timestamp) -> Report {
        let now = self.now();
        let bill = self.ledger.bill(now);
        let cost: MicroUsd = bill.iter().map(|line| line.cost).sum();
        let pod_time = self.ledger.pod_time();
        let pod_hours = pod_time.as_millis();
        let per_pod_hour = (pod_hours > 0).then(|| i128::from(cost.0) * 3_600_000 / pod_hours);
        let (running, pending) = pods(&self.snapshot);
        let records = &self.records;
        Report {
            scenario: scenario.to_owned(),
            seed,
            simulated: true,
            illustrative_spot_prices: self.snapshot.catalogue.illustrative_spot,
            start,
            end: now,
            hours: records.hours.clone(),
            moves: records.moves.clone(),
            bill,
            cost,
            peak_price: self.ledger.peak,
            always_on_peak: per_hour(self.ledger.peak, now.duration_since(start).as_millis()),
            peak_instances: self.ledger.peak_instances,
            pods_created: records.created,
            pods_finished: records.finished,
            pods_scaled_down: records.scaled_down,
            pods_evicted: records.evicted,
            pods_running: running as u64,
            pods_pending: pending as u64,
            pod_time,
            cost_per_pod_hour: per_pod_hour.map(|cost| MicroUsd(u64::try_from(cost).unwrap_or(u64::MAX))),
            waits: waits(records.waits.clone()),
            unplaced: self.unplaced(),
            decisions: records.decisions,
            last_effect: records.last_effect,
            launch_failures: records.launch_failures,
            repeated_effects: records.repeated,
            audit_faults: records.audit_faults.clone(),
        }
    }

    fn unplaced(&self) -> Vec<Unplaced> {
        let mut by_code: BTreeMap<Option<Code>, Unplaced> = BTreeMap::new();
        let waiting = self.snapshot.cluster.pods.iter().filter(|pod| {
            pod.node.is_none()
                && !pod.daemon
                && !pod.mirror
                && !pod.terminating
                && pod.phase == Phase::Pending
        });
        for pod in waiting {
            let reason = self.observer.refusals.get(&pod.name);
            let code = reason.map(|reason| reason.code());
            let entry = by_code.entry(code).or_insert_with(|| Unplaced {
                code,
                pods: 0,
                message: match reason {
                    Some(reason) => format!("{}: {reason}", pod.name),
                    None => format!("{}: its node was still on its way", pod.name),
                },
            });
            entry.pods += 1;
        }
        by_code.into_values().collect()
    }
}
