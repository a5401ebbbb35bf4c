//! Nodes that are given up may be, and not too many of them at once.

use std::collections::{BTreeMap, BTreeSet};

use super::view::View;
use crate::cluster::Node;
use crate::disruption::DisruptionReason;
use crate::pod::{Phase, Pod};
use crate::resources::Resources;

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut going: BTreeMap<&str, DisruptionReason> = BTreeMap::new();
    for command in &view.plan.disruptions {
        for node in &command.replacements {
            let pods = node.pods.iter().filter_map(|pod| view.pods.get(pod));
            let mut asked = Resources::new();
            pods.for_each(|(pod, _)| asked.add(&pod.spec.requests));
            if asked.iter().any(|(name, amount)| amount > node.allocatable.get(name)) {
                faults.push(format!("node {} is to replace others, but doesn't hold its pods", node.name));
            }
        }
        for name in &command.nodes {
            if going.insert(name, command.reason).is_some() {
                faults.push(format!("Node {name} is given up twice"));
            }
            if view.plan.kept.iter().any(|kept| kept.node == *name) {
                faults.push(format!("Node {name} is given up and kept"));
            }
            match view.nodes.get(name.as_str()) {
                None => faults.push(format!("Node {name} is given up but does not exist")),
                Some(_) if !command.reason.is_voluntary() => {}
                Some(node) => {
                    faults.extend(held(view, node).map(|why| format!("Node {name} is given up: {why}")))
                }
            }
        }
    }
    faults.extend(budgets(view, &going));
    faults.extend(pdbs(view, &going));
    faults
}

/// What forbids a node to go by itself.
fn held(view: &View<'_>, node: &Node) -> Option<String> {
    if node.claim.is_none() || !node.initialized || node.deleting {
        return Some("it is not ours, not initialized or going already".to_owned());
    }
    if node.do_not_disrupt {
        return Some("it is not to be disrupted".to_owned());
    }
    if node.disruption.termination_grace_period.is_some() {
        return None;
    }
    let quiet = here(view, node).find(|pod| pod.do_not_disrupt.as_deref() == Some("true"))?;
    Some(format!("pod {} is not to be disrupted", quiet.name))
}

fn here<'v>(view: &'v View<'_>, node: &'v Node) -> impl Iterator<Item = &'v Pod> {
    let there = |pod: &&Pod| {
        pod.node.as_ref() == Some(&node.name) && pod.phase != Phase::Terminal && !pod.terminating
    };
    view.pods.values().map(|(pod, _)| *pod).filter(there)
}

/// Budgets that always hold for every reason; others bind by time, which is not judged here.
fn budgets(view: &View<'_>, going: &BTreeMap<&str, DisruptionReason>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, pool) in &view.pools {
        let own = || {
            let nodes = view.nodes.values();
            nodes.filter(|node| node.pool() == Some(*name) && node.claim.is_some() && node.initialized)
        };
        let new =
            own().filter(|node| going.get(node.name.as_str()).is_some_and(|reason| reason.is_voluntary()));
        let new = new.count();
        if new == 0 {
            continue;
        }
        let already = own().filter(|node| node.is_going()).count();
        for budget in pool
            .disruption
            .budgets
            .iter()
            .filter(|budget| budget.schedule.is_none() && budget.reasons.is_empty())
        {
            let most = match budget.nodes.strip_suffix('%') {
                Some(percent) => {
                    percent.parse::<usize>().map(|percent| (own().count() * percent).div_ceil(100))
                }
                None => budget.nodes.parse(),
            };
            if most.is_ok_and(|most| new + already > most) {
                let total = new + already;
                faults.push(format!("NodePool {name}: {total} nodes go, its budget is {}", budget.nodes));
            }
        }
    }
    faults
}

/// Of a PodDisruptionBudget's pods no more are on nodes that begin to go than it allows, unless they share one node.
fn pdbs(view: &View<'_>, going: &BTreeMap<&str, DisruptionReason>) -> Vec<String> {
    let mut faults = Vec::new();
    for pdb in &view.snapshot.cluster.pdbs {
        let mut nodes = BTreeSet::new();
        let mut pods = 0;
        for (pod, _) in view.pods.values() {
            let leaves = pod.phase != Phase::Terminal && !pod.terminating && !pod.mirror && !pod.daemon;
            let node = pod
                .node
                .as_deref()
                .filter(|node| going.get(node).is_some_and(|reason| reason.is_voluntary()));
            let free = pdb.frees_unready && pod.disruption.unready;
            if let Some(node) = node.filter(|_| leaves && !free && pdb.selects(pod)) {
                nodes.insert(node);
                pods += 1;
            }
        }
        if nodes.len() > 1 && pods > pdb.allowed {
            let (name, allowed) = (&pdb.name, pdb.allowed);
            faults.push(format!("PodDisruptionBudget {name} allows {allowed} pods to go, {pods} are to"));
        }
    }
    faults
}
