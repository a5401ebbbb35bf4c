//! New nodes come only from pools that can be used.

use super::view::View;
use crate::cluster::PoolStatus;

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for (bin, planned) in view.planned() {
        let name = &planned.node.pool;
        let Some(pool) = planned.pool else {
            faults.push(format!("node {} is of NodePool {name}, which does not exist", bin.name));
            continue;
        };
        if let PoolStatus::NotReady(because) = &pool.status {
            faults.push(format!("node {} is of NodePool {name}, which is not ready: {because}", bin.name));
        }
        match pool.replicas {
            Some(_) if !bin.new.is_empty() => {
                faults.push(format!("node {} is for pods, but NodePool {name} is static", bin.name));
            }
            None if bin.new.is_empty() => faults.push(format!("node {} has no pods", bin.name)),
            _ => {}
        }
        if pool.deleting {
            faults.push(format!("node {} is of NodePool {name}, which is being deleted", bin.name));
        }
        if view.market(planned.profile).is_none() {
            faults.push(format!("node {} is of NodePool {name}, whose class has no types", bin.name));
        }
    }
    faults.extend(numbers(view));
    faults.extend(held(view));
    faults
}

/// A pool whose launches come to nothing gets no node before its time, and then one while none is starting.
fn held(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, pool) in &view.pools {
        let Some((_, until)) = pool.hold() else { continue };
        let new = view.plan.nodes.iter().filter(|node| node.pool == *name).count();
        let most = usize::from(until <= view.snapshot.now);
        if new > most {
            faults.push(format!("NodePool {name} gets {new} nodes, its launches are held until {until}"));
        }
    }
    faults
}

/// A static pool gets no more nodes than it is to have.
fn numbers(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, pool) in &view.pools {
        let Some(replicas) = pool.replicas else { continue };
        let new = view.plan.nodes.iter().filter(|node| node.pool == *name).count();
        let nodes = view.nodes.values();
        let there = nodes.filter(|node| node.claim.is_some() && !node.deleting && node.pool() == Some(*name));
        let all = there.count() + new;
        if new > 0 && all > replicas as usize {
            faults.push(format!("NodePool {name} gets {all} nodes, it is to have {replicas}"));
        }
    }
    faults
}
