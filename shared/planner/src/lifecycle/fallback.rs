//! Machines that their reservation has let go of: they run on, and are paid for on demand from then on.

use std::collections::{BTreeMap, BTreeSet};

use model::{CapacityType, Instance, labels};

use super::adoption::RESERVATION;

/// The labels that an object of such a machine gets, and those it loses. Nothing ever becomes reserved by this.
pub(super) fn relabelled(
    has: &BTreeMap<String, String>,
    machine: Option<&Instance>,
) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let reserved = has.get(labels::CAPACITY_TYPE).is_some_and(|way| way == CapacityType::Reserved.as_str());
    match machine {
        Some(machine) if reserved && machine.capacity_type == CapacityType::OnDemand => (
            BTreeMap::from([(labels::CAPACITY_TYPE.to_owned(), CapacityType::OnDemand.to_string())]),
            RESERVATION.iter().filter(|key| has.contains_key(**key)).map(|key| (*key).to_owned()).collect(),
        ),
        _ => (BTreeMap::new(), BTreeSet::new()),
    }
}
