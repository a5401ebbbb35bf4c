//! Nodes have the labels their pods ask for: node selector and one required node affinity term.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::view::{View, What};

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    // What was found in order, so that nodes that are alike cost nothing.
    let mut sound: BTreeSet<(usize, usize, usize)> = BTreeSet::new();
    for bin in &view.bins {
        for (&number, _) in bin.contents.iter().filter(|(_, count)| count.new > 0) {
            let class = &view.classes[number];
            let wants = &view.wants[class.wants];
            if wants.is_empty() {
                continue;
            }
            let pod = &class.example.name;
            match &bin.what {
                What::Existing(node) => {
                    if !wants.match_labels(&node.labels) {
                        faults
                            .push(format!("pods like {pod} ask labels that node {} does not have", bin.name));
                    }
                }
                What::Planned(planned) => {
                    let alike = (planned.profile, Rc::as_ptr(&planned.options).addr(), class.wants);
                    if sound.contains(&alike) {
                        continue;
                    }
                    let wrong = planned
                        .options
                        .iter()
                        .find(|&&option| !view.suits(planned.profile, option, class.wants, false));
                    match wrong
                        .and_then(|&option| Some(view.market(planned.profile)?.offerings.get(option)?.1))
                    {
                        Some(offering) => faults.push(format!(
                            "pods like {pod} ask labels that node {} need not have, as in {} {}",
                            bin.name, offering.zone, offering.capacity_type
                        )),
                        None => {
                            sound.insert(alike);
                        }
                    }
                }
            }
        }
    }
    faults
}
