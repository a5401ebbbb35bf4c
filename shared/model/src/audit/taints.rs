//! Pods tolerate the taints of the nodes they are placed on.

use super::view::{View, What};
use crate::taint::{Taint, TaintEffect, Toleration};

/// The first taint that keeps a pod out; `PreferNoSchedule` only asks.
pub(super) fn repels<'a>(taints: &'a [Taint], tolerations: &[Toleration]) -> Option<&'a Taint> {
    taints
        .iter()
        .filter(|taint| taint.effect != TaintEffect::PreferNoSchedule)
        .find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
}

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for bin in &view.bins {
        let taints = match &bin.what {
            What::Planned(planned) => planned.pool.map(|pool| pool.taints.as_slice()).unwrap_or_default(),
            What::Existing(node) => &node.taints,
        };
        if taints.is_empty() {
            continue;
        }
        for (&class, _) in bin.contents.iter().filter(|(_, count)| count.new > 0) {
            let class = &view.classes[class];
            if let Some(taint) = repels(taints, &class.spec.tolerations) {
                let pod = &class.example.name;
                faults.push(format!("pods like {pod} are on {} but do not tolerate {taint}", bin.name));
            }
        }
    }
    faults
}
