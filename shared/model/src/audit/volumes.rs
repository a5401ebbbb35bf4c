//! Volumes can be mounted where their pods are.

use std::collections::{BTreeMap, BTreeSet};

use super::fit::Wants;
use super::view::{Bin, View, What};
use crate::cluster::Node;
use crate::pod::{Pod, Volume};

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for bin in &view.bins {
        for pod in &bin.new {
            for volume in &pod.volumes {
                if let Some(fault) = &volume.fault {
                    faults.push(format!("pod {} is placed though {}", pod.name, fault.detail));
                } else if !reachable(view, bin, volume) {
                    let claim = &volume.claim;
                    faults.push(format!("pod {}: volume {claim} can't be used on {}", pod.name, bin.name));
                }
            }
        }
    }
    for (bin, node) in view.existing() {
        faults.extend(attachments(bin, node));
    }
    faults
}

fn reachable(view: &View<'_>, bin: &Bin<'_>, volume: &Volume) -> bool {
    let wants = Wants { always: None, one_of: &volume.alternatives };
    match &bin.what {
        What::Existing(node) => wants.match_labels(&node.labels),
        What::Planned(planned) => match view.wants_of(wants.always, wants.one_of) {
            Some(wants) => {
                planned.options.iter().all(|&option| view.suits(planned.profile, option, wants, false))
            }
            None => true,
        },
    }
}

/// One claim counts once a node.
fn attachments(bin: &Bin<'_>, node: &Node) -> Vec<String> {
    if node.volume_limits.is_empty() || bin.new.iter().all(|pod| pod.volumes.is_empty()) {
        return Vec::new();
    }
    let claims = |pods: &[&Pod], driver: &str| -> BTreeSet<String> {
        let volumes = pods.iter().flat_map(|pod| &pod.volumes);
        let counted = volumes.filter(|volume| volume.driver.as_deref() == Some(driver));
        counted.map(|volume| volume.claim.clone()).collect()
    };
    let limits: &BTreeMap<String, u32> = &node.volume_limits;
    limits
        .iter()
        .filter_map(|(driver, &limit)| {
            let before = claims(&bin.old, driver);
            let after = before.union(&claims(&bin.new, driver)).count();
            let over = after > before.len() && after > limit as usize;
            over.then(|| format!("node {}: {after} volumes of {driver}, its limit is {limit}", bin.name))
        })
        .collect()
}
