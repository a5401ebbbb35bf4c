//! What is simulated: a cluster at its start, and workloads that move.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use miette::Diagnostic;
use model::{ObjectName, Pod, Snapshot};
use thiserror::Error;

use crate::schedule::{Pattern, Schedule};

/// A cluster at its start, and what moves in it.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it shows.
    pub name: String,
    /// How long it lasts.
    pub length: SignedDuration,
    /// The cluster at the start: pools, daemons, and nodes and pods that are there from the outset.
    pub snapshot: Snapshot,
    /// The workloads whose pods come and go.
    pub workloads: Vec<Workload>,
}

/// A workload whose pods come and go.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Namespace and name.
    pub name: ObjectName,
    /// What its pods are like.
    pub template: Pod,
    /// When they come and go.
    pub pattern: Pattern,
}

/// Why manifests and a schedule are no scenario.
#[derive(Clone, Debug, Diagnostic, Eq, Error, PartialEq)]
pub enum ScenarioError {
    /// The schedule names a workload that isn't there.
    #[error("the schedule moves {0}, but no pod of a workload of that name is among the manifests")]
    #[diagnostic(
        code(scenario::no_workload),
        help(
            "give a Deployment, StatefulSet or Job of that name with at least one replica: its template is used"
        )
    )]
    NoWorkload(ObjectName),
    /// The schedule names a workload twice.
    #[error("the schedule names {0} twice")]
    #[diagnostic(code(scenario::named_twice), help("give each workload one pattern"))]
    NamedTwice(ObjectName),
    /// A pattern makes no sense.
    #[error("the schedule of {0} makes no sense: {1}")]
    #[diagnostic(
        code(scenario::bad_pattern),
        help("points run through the day in order; `runs` is [least, most], as in [4m, 12m]")
    )]
    BadPattern(ObjectName, String),
    /// Nothing would happen.
    #[error("a simulation of {0} hours is not possible")]
    #[diagnostic(code(scenario::bad_length), help("give 1 to 744 hours"))]
    BadLength(u32),
}

impl Scenario {
    /// The scenario in which `schedule` moves the workloads of `snapshot`, whose pending pods are their templates.
    pub fn new(schedule: &Schedule, mut snapshot: Snapshot) -> Result<Self, ScenarioError> {
        if !(1..=744).contains(&schedule.hours) {
            return Err(ScenarioError::BadLength(schedule.hours));
        }
        let mut templates: BTreeMap<ObjectName, Pod> = BTreeMap::new();
        for pod in &snapshot.cluster.pods {
            if let Some(owner) = pod.owner.as_ref().filter(|_| pod.node.is_none()) {
                let name = ObjectName::new(&pod.name.namespace, &owner.name);
                templates.entry(name).or_insert_with(|| pod.clone());
            }
        }
        let mut workloads = Vec::new();
        let mut moved = BTreeSet::new();
        for entry in &schedule.workloads {
            let name = &entry.workload;
            if !moved.insert(name.clone()) {
                return Err(ScenarioError::NamedTwice(name.clone()));
            }
            if let Some(fault) = entry.pattern.fault() {
                return Err(ScenarioError::BadPattern(name.clone(), fault.to_string()));
            }
            let template = templates.get(name).ok_or_else(|| ScenarioError::NoWorkload(name.clone()))?;
            workloads.push(Workload {
                name: name.clone(),
                template: template.clone(),
                pattern: entry.pattern.clone(),
            });
        }
        snapshot.cluster.pods.retain(|pod| {
            let owner = pod.owner.as_ref().map(|owner| ObjectName::new(&pod.name.namespace, &owner.name));
            pod.node.is_some() || owner.is_none_or(|owner| !moved.contains(&owner))
        });
        snapshot.now = schedule.start;
        Ok(Self {
            name: schedule.name.clone(),
            length: SignedDuration::from_hours(i64::from(schedule.hours)),
            snapshot,
            workloads,
        })
    }
}
