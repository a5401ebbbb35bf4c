//! A world that obeys: pods come and go by a schedule on a virtual clock, a simulated kube-scheduler binds them, nodes
//! boot late, and the real planner decides.
//!
//! There is no clock and no chance in here: time is the queue of events, and all that varies follows from a seed.

mod bill;
mod chance;
mod filters;
mod machine;
mod market;
mod observer;
mod pods;
mod report;
mod run;
mod scenario;
mod schedule;
mod scheduler;
mod world;

pub use bill::{Charge, Summary};
pub use report::{Hour, Move, MoveKind, Report, Unplaced, Waits};
pub use run::{Progress, run};
pub use scenario::{Scenario, ScenarioError, Workload};
pub use schedule::{Burst, Entry, Pattern, Point, Schedule};
pub use world::World;

/// The scenario that comes with the program, as files: manifests, and the schedule that moves their workloads.
pub mod day {
    /// What is in the cluster: pools, their class, daemons and workloads, by file name.
    pub const MANIFESTS: [(&str, &str); 4] = [
        ("day/nodepools.yaml", include_str!("../scenarios/day/nodepools.yaml")),
        ("day/ec2nodeclass.yaml", include_str!("../scenarios/day/ec2nodeclass.yaml")),
        ("day/daemonsets.yaml", include_str!("../scenarios/day/daemonsets.yaml")),
        ("day/workloads.yaml", include_str!("../scenarios/day/workloads.yaml")),
    ];
    /// When the workloads' pods come and go.
    pub const SCHEDULE: (&str, &str) = ("day/schedule.yaml", include_str!("../scenarios/day/schedule.yaml"));
}
