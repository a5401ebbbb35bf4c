//! Every pod that is due is placed once or explained once, and no other is touched.

use std::collections::{BTreeMap, BTreeSet};

use super::view::{Due, View};
use crate::pod::ObjectName;

/// Every pod that must have a new place is placed or explained at all.
pub(super) fn check_complete(view: &View<'_>) -> Vec<String> {
    let plan = view.plan;
    let placed = plan.nodes.iter().map(|node| &node.pods).chain(plan.existing.values()).flatten();
    let told = plan.unschedulable.iter().map(|unschedulable| &unschedulable.pod);
    let named: BTreeSet<&ObjectName> = placed.chain(told).collect();
    let forgotten = view.pods.iter().filter(|(name, (_, due))| *due == Due::Must && !named.contains(**name));
    forgotten.map(|(name, _)| format!("pod {name} is neither placed nor explained")).collect()
}

/// None is placed or explained twice, or without need.
pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut places: BTreeMap<&ObjectName, u32> = BTreeMap::new();
    let mut explained: BTreeMap<&ObjectName, u32> = BTreeMap::new();
    for pod in view.plan.nodes.iter().flat_map(|node| &node.pods) {
        *places.entry(pod).or_default() += 1;
    }
    for pod in view.plan.existing.values().flatten() {
        *places.entry(pod).or_default() += 1;
    }
    for unschedulable in &view.plan.unschedulable {
        *explained.entry(&unschedulable.pod).or_default() += 1;
    }
    for (&name, &(_, due)) in &view.pods {
        let placed = places.remove(name).unwrap_or_default();
        let told = explained.remove(name).unwrap_or_default();
        match (due, placed, told) {
            (Due::Must, 1, 0) | (Due::Must, 0, 1) | (Due::May, 0 | 1, 0) | (Due::May, 0, 1) => {}
            (Due::Stays, 0, 0) => {}
            (Due::Stays, ..) => {
                faults.push(format!("pod {name} is placed or explained, but needs no new place"));
            }
            // `check_complete` asks that.
            (_, 0, 0) => {}
            (_, _, 0) => faults.push(format!("pod {name} is placed {placed} times")),
            (_, 0, _) => faults.push(format!("pod {name} is explained {told} times")),
            _ => faults.push(format!("pod {name} is both placed and explained")),
        }
    }
    for name in places.keys().chain(explained.keys()) {
        faults.push(format!("pod {name} is in the plan but not in the cluster"));
    }
    for (name, pods) in &view.plan.existing {
        match view.nodes.get(name.as_str()) {
            None => faults.push(format!("node {name} is given pods but does not exist")),
            Some(node) if node.is_going() && !pods.is_empty() => {
                faults.push(format!("node {name} is given pods but is going away"));
            }
            Some(_) => {}
        }
    }
    for bin in &view.bins {
        for pod in &bin.new {
            if let Some(fault) = pod.spec.faults.first() {
                faults.push(format!("pod {} is placed on {} though invalid: {fault}", pod.name, bin.name));
            }
        }
    }
    faults
}
