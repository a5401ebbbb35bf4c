//! Every pod that is due is placed once or explained once, and no other is touched.

use std::collections::BTreeMap;

use super::view::{Due, View};
use crate::pod::ObjectName;

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
            (_, 0, 0) => faults.push(format!("pod {name} is neither placed nor explained")),
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
            Some(node) if node.deleting && !pods.is_empty() => {
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
