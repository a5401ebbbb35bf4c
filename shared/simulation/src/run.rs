//! From a scenario and a seed to a report.

use jiff::{SignedDuration, Timestamp};

use crate::report::Report;
use crate::scenario::Scenario;
use crate::world::World;

/// How far a simulation has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Progress {
    /// The virtual time.
    pub now: Timestamp,
    /// How much has passed.
    pub done: SignedDuration,
    /// How much there is.
    pub length: SignedDuration,
    /// Nodes and NodeClaims.
    pub nodes: usize,
    /// Pods, daemons' too.
    pub pods: usize,
}

/// Simulates `scenario` to its end, telling `progress` each virtual minute. Equal scenarios and seeds give equal reports.
pub fn run(scenario: &Scenario, seed: u64, progress: &mut dyn FnMut(Progress)) -> Report {
    let mut world = World::new(scenario, seed);
    let start = world.now();
    let mut told = 0;
    while world.step() {
        let done = world.now().duration_since(start);
        if done.as_mins() > told {
            told = done.as_mins();
            let cluster = &world.snapshot().cluster;
            let (nodes, pods) = (cluster.nodes.len(), cluster.pods.len());
            progress(Progress { now: world.now(), done, length: scenario.length, nodes, pods });
        }
    }
    world.report(&scenario.name, seed, start)
}
