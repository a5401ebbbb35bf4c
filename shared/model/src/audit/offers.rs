//! Options can be bought, agree with the pool, and are priced and ordered right.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::fit;
use super::market::Market;
use super::view::{Planned, View};

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (bin, planned) in view.planned() {
        let Some(market) = view.market(planned.profile) else { continue };
        let alike = (planned.profile, Rc::as_ptr(&planned.options).addr());
        let options = seen.entry(alike).or_insert_with(|| options(view, market, planned));
        let chosen = chosen(view, market, planned);
        faults.extend(options.iter().chain(&chosen).map(|fault| format!("node {}: {fault}", bin.name)));
    }
    if view.plan.lower_bound.is_some_and(|bound| bound > view.plan.price()) {
        faults.push("the plan costs less than its own lower bound".to_owned());
    }
    faults
}

fn options(view: &View<'_>, market: &Market<'_>, planned: &Planned<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut once = BTreeSet::new();
    for offer in planned.node.options.iter() {
        let name = format!("{} in {} {}", offer.instance_type, offer.zone, offer.capacity_type);
        let Some(number) = market.find(offer) else {
            faults.push(format!("{name} is not in the catalogue"));
            continue;
        };
        let offering = market.offerings[number].1;
        if !offering.available {
            faults.push(format!("{name} is not available"));
        }
        if offering.price != offer.price {
            faults.push(format!("{name} costs {}, not {}", offering.price, offer.price));
        }
        if !once.insert(number) {
            faults.push(format!("{name} is among the options twice"));
        }
        if !fit::agrees(&view.profiles[planned.profile], market, number) {
            faults.push(format!("{name} is not what NodePool {} or the claim requires", planned.node.pool));
        }
    }
    if planned.node.options.windows(2).any(|pair| pair[0].price > pair[1].price) {
        faults.push("its options are not sorted by price".to_owned());
    }
    faults
}

fn chosen(view: &View<'_>, market: &Market<'_>, planned: &Planned<'_>) -> Vec<String> {
    let node = planned.node;
    let mut faults = Vec::new();
    match node.options.first() {
        None => faults.push("it has no options".to_owned()),
        Some(first) if *first != node.offer => faults.push("its offer is not its first option".to_owned()),
        Some(_) => {}
    }
    let price = node.offer.price.plus(view.snapshot.settings.fee_per_node);
    if node.price != price {
        faults.push(format!("it is priced at {}, offer and fee come to {price}", node.price));
    }
    if let Some(number) = market.find(&node.offer) {
        let kind = market.offerings[number].0;
        if market.allocatable[kind] != node.allocatable {
            faults.push(format!("its allocatable is not that of {}", node.offer.instance_type));
        }
    }
    if !node.pods.is_sorted() {
        faults.push("its pods are not in name order".to_owned());
    }
    faults
}
