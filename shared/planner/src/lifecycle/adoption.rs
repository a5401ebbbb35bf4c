//! A NodeClaim and its machine find each other: what is written then.

use std::collections::BTreeMap;

use model::{CapacityType, Claim, ConditionStatus, Instance, InstanceType, Quantity, Resources, labels};

use super::view::View;
use super::work::Work;
use super::{LAUNCHED, REGISTERED};

pub(super) const RESERVATION: [&str; 3] =
    [labels::RESERVATION_ID, labels::RESERVATION_TYPE, labels::RESERVATION_INTERRUPTIBLE];

/// Writes down that `machine` is the NodeClaim's.
pub(super) fn adopt(view: &View<'_>, work: &mut Work<'_>, machine: &Instance) {
    let claim = work.claim;
    let class = &claim.node_class.name;
    let types = view.snapshot.types.get(class);
    let kind = types.and_then(|types| types.iter().find(|kind| kind.name == machine.instance_type));
    if let Some(kind) = kind {
        work.change.capacity = without_zeros(&kind.capacity);
        work.change.allocatable = without_zeros(&kind.allocatable());
    }
    // What the NodeClaim says of itself stands.
    let mut labels = labels_of(claim, machine, kind);
    labels.retain(|key, _| !claim.labels.contains_key(key));
    work.change.labels = labels;
    let annotations = view.snapshot.classes.get(class).map(|class| &class.annotations);
    for (key, value) in annotations.into_iter().flatten() {
        work.annotate(key, value);
    }
    for (key, value) in surroundings(machine) {
        work.annotate(key, &value);
    }
    work.change.provider_id = Some(machine.provider_id.clone());
    work.change.image = Some(machine.image.clone()).filter(|image| !image.is_empty());
    work.set_true(LAUNCHED);
    if !claim.conditions.contains_key(REGISTERED) {
        // Its Node can't have joined yet; said now, it need not be said by a write of its own.
        work.set(REGISTERED, ConditionStatus::Unknown, "NodeNotFound", super::registration::NOT_FOUND);
    }
}

/// Where a machine is, as far as nodes may drift from it.
pub(super) fn surroundings(machine: &Instance) -> impl Iterator<Item = (&'static str, String)> {
    let groups: Vec<&str> = machine.security_groups.iter().map(String::as_str).collect();
    let groups = (!groups.is_empty()).then(|| (labels::SECURITY_GROUPS, groups.join(",")));
    machine.subnet.clone().map(|subnet| (labels::SUBNET, subnet)).into_iter().chain(groups)
}

fn labels_of(claim: &Claim, machine: &Instance, kind: Option<&InstanceType>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    // A NodeClaim that nobody made from a pool says by its requirements alone what its Node's labels are to be.
    for (key, requirement) in claim.requirements.iter() {
        if let Some(value) =
            requirement.single().filter(|_| !labels::is_well_known(key) && !labels::is_restricted(key))
        {
            all.insert(key.to_owned(), value.to_owned());
        }
    }
    if let Some(kind) = kind {
        for (key, requirement) in kind.requirements.iter() {
            if let Some(value) = requirement.single().filter(|_| !RESERVATION.contains(&key)) {
                all.insert(key.to_owned(), value.to_owned());
            }
        }
        let mut in_zone = kind.offerings.iter().filter(|offering| offering.zone == machine.zone);
        if let Some(id) = in_zone.clone().find_map(|offering| offering.zone_id.clone()) {
            all.insert(labels::ZONE_ID.to_owned(), id);
        }
        if machine.capacity_type == CapacityType::Reserved
            && let Some(offering) = in_zone.find(|offering| {
                let id = offering.reservation.as_ref().map(|reservation| &reservation.id);
                id.is_some() && id == machine.reservation.as_ref()
            })
        {
            let own = offering.labels();
            all.extend(own.into_iter().filter(|(key, _)| RESERVATION.contains(&key.as_str())));
        }
    }
    let asked = claim.requirements.get(labels::TENANCY).and_then(|requirement| requirement.single());
    all.insert(labels::TENANCY.to_owned(), asked.unwrap_or("default").to_owned());
    all.insert(labels::INSTANCE_TYPE.to_owned(), machine.instance_type.clone());
    all.insert(labels::ZONE.to_owned(), machine.zone.clone());
    all.insert(labels::CAPACITY_TYPE.to_owned(), machine.capacity_type.to_string());
    all
}

fn without_zeros(resources: &Resources) -> Resources {
    resources.iter().filter(|(_, amount)| *amount != Quantity::ZERO).collect()
}
