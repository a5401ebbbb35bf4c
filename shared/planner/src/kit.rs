//! What unit tests of several modules are made of.

use model::{ObjectName, Phase, Pod};

/// An ordinary pod that waits for a node and asks for nothing.
pub(crate) fn pod(name: &str) -> Pod {
    Pod {
        name: ObjectName::new("default", name),
        uid: name.into(),
        created: "2026-06-01T11:59:00Z".parse().unwrap(),
        node: None,
        phase: Phase::Pending,
        terminating: false,
        unschedulable: true,
        owner: None,
        daemon: false,
        mirror: false,
        do_not_disrupt: None,
        disruption: Default::default(),
        volumes: Vec::new(),
        spec: Default::default(),
    }
}
