//! Nodes hold what their pods and daemons ask.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::daemons::{self, Daemons};
use super::view::{Bin, View};
use crate::Quantity;
use crate::resources::Resources;

fn asked(view: &View<'_>, bin: &Bin<'_>) -> Resources {
    let mut sum = Resources::new();
    for (&class, count) in bin.contents.iter().filter(|(_, count)| count.new > 0) {
        let many = i64::try_from(count.new).unwrap_or(i64::MAX);
        sum.add(&view.classes[class].spec.requests.times(many));
    }
    sum
}

pub(super) fn check_planned(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut daemons = Daemons::new(view);
    let mut sound: BTreeSet<(usize, usize, Resources)> = BTreeSet::new();
    for (bin, planned) in view.planned() {
        let Some(market) = view.market(planned.profile) else { continue };
        let pods = asked(view, bin);
        if let Some(chosen) = market.find(&planned.node.offer) {
            let group = daemons.of_offering(planned, chosen);
            let mut least = pods.clone();
            least.add(daemons.requests(group));
            if let Some((name, needs, has)) = least.exceeds(&planned.node.requests) {
                let (needs, has) = (needs.display(name), has.display(name));
                faults.push(format!(
                    "node {}: its requests say {has} of {name}, its pods and daemons ask {needs}",
                    bin.name
                ));
            }
        }
        let alike = (planned.profile, Rc::as_ptr(&planned.options).addr(), pods);
        if sound.contains(&alike) {
            continue;
        }
        let mut met: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut full = None;
        for &option in planned.options.iter() {
            let kind = market.offerings[option].0;
            let group = daemons.of_offering(planned, option);
            if full.is_some() || !met.insert((kind, group)) {
                continue;
            }
            let mut sum = alike.2.clone();
            sum.add(daemons.requests(group));
            if let Some((name, needs, has)) = sum.exceeds(&market.allocatable[kind]) {
                let (needs, has) = (needs.display(name), has.display(name));
                let kind = &market.types[kind].name;
                full = Some(format!(
                    "node {}: pods and daemons ask {needs} of {name}, {kind} has {has}",
                    bin.name
                ));
            }
        }
        match full {
            Some(fault) => faults.push(fault),
            None => {
                sound.insert(alike);
            }
        }
    }
    faults
}

pub(super) fn check_existing(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    for (bin, node) in view.existing().filter(|(bin, _)| !bin.new.is_empty()) {
        let mut room = node.allocatable.clone();
        let mut expected = Resources::new();
        for pod in &bin.old {
            room.subtract(&pod.spec.requests);
        }
        for daemon in daemons::of_node(view, node) {
            expected.add(&daemon.spec.requests);
        }
        for pod in bin.old.iter().filter(|pod| pod.daemon) {
            expected.subtract(&pod.spec.requests);
        }
        expected.0.retain(|_, amount| *amount > Quantity::ZERO);
        room.subtract(&expected);
        if let Some((name, needs, has)) = asked(view, bin).exceeds(&room) {
            let (needs, has) = (needs.display(name), has.display(name));
            faults.push(format!("node {}: new pods ask {needs} of {name}, {has} is free", bin.name));
        }
    }
    faults
}
