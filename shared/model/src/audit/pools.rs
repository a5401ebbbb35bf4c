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
        if pool.replicas.is_some() {
            faults.push(format!("node {} is of NodePool {name}, which is static", bin.name));
        }
        if pool.deleting {
            faults.push(format!("node {} is of NodePool {name}, which is being deleted", bin.name));
        }
        if view.market(planned.profile).is_none() {
            faults.push(format!("node {} is of NodePool {name}, whose class has no types", bin.name));
        }
        if bin.new.is_empty() {
            faults.push(format!("node {} has no pods", bin.name));
        }
    }
    faults
}
