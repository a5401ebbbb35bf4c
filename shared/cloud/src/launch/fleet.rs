//! The one CreateFleet request of a launch.

use std::collections::{BTreeMap, BTreeSet};

use model::{CapacityType, Offer};
use serde::{Deserialize, Serialize};

use super::machines::Machine;
use super::request::LaunchRequest;
use super::subnets::best_by_zone;
use super::tags;
use super::template::Market;

/// EC2 takes no longer client token.
const LONGEST_TOKEN: usize = 64;

/// An `instant` fleet: EC2 answers with the machines, or with why there are none.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetSpec {
    /// Asking twice by the same token is asking once.
    pub client_token: String,
    /// How many machines.
    pub machines: u32,
    /// How they are paid for.
    pub target: TargetCapacity,
    /// Which of the overrides is taken first, where EC2 lets it be said.
    pub on_demand: Option<OnDemandStrategy>,
    /// An opaque text for EC2.
    pub context: Option<String>,
    /// What to choose from.
    pub templates: Vec<FleetTemplate>,
    /// Tags of the instances, volumes and the fleet.
    pub tags: BTreeMap<String, String>,
}

/// One launch template and what it may be started as.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetTemplate {
    /// The template's name.
    pub name: String,
    /// Types and places, cheapest first.
    pub overrides: Vec<FleetOverride>,
}

/// One type in one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FleetOverride {
    /// What is bought; its price is the priority, where there are priorities.
    pub offer: Offer,
    /// The subnet.
    pub subnet: String,
}

/// How machines are paid for, in CreateFleet's words.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TargetCapacity {
    /// By the hour, or from an ordinary reservation.
    OnDemand,
    /// Spare capacity, by price and by how much of it there is.
    Spot,
    /// From a block of capacity bought for a time.
    CapacityBlock,
    /// From a reservation that may be taken back.
    ReservedCapacity,
}

/// Which override an on-demand machine is started from.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnDemandStrategy {
    /// The cheapest by EC2's own prices.
    LowestPrice,
    /// The first by our priorities: EC2's prices know nothing of what is already paid for.
    Prioritized,
}

/// One override for each type in each zone that has an open subnet. Templates without any are left out.
pub(super) fn fleet(request: &LaunchRequest<'_>, templates: &[(String, &Machine)]) -> FleetSpec {
    let order = request.order;
    let subnets = best_by_zone(request.subnets, request.closed_subnets);
    let templates = templates.iter().filter_map(|(name, machine)| {
        let mut seen = BTreeSet::new();
        let offers = machine.offers.iter().filter(|offer| seen.insert((&offer.instance_type, &offer.zone)));
        let overrides: Vec<FleetOverride> = offers
            .filter_map(|offer| {
                let subnet = subnets.get(offer.zone.as_str())?.id.clone();
                Some(FleetOverride { offer: offer.clone(), subnet })
            })
            .collect();
        (!overrides.is_empty()).then(|| FleetTemplate { name: name.clone(), overrides })
    });
    let (target, on_demand) = match (order.capacity_type, request.market()) {
        (CapacityType::Spot, _) => (TargetCapacity::Spot, None),
        (CapacityType::OnDemand, _) => (TargetCapacity::OnDemand, Some(OnDemandStrategy::LowestPrice)),
        (CapacityType::Reserved, None) => (TargetCapacity::OnDemand, Some(OnDemandStrategy::Prioritized)),
        (CapacityType::Reserved, Some(Market::CapacityBlock)) => (TargetCapacity::CapacityBlock, None),
        (CapacityType::Reserved, Some(Market::InterruptibleCapacityReservation)) => {
            (TargetCapacity::ReservedCapacity, None)
        }
    };
    let spec = &request.class.spec;
    let tags = tags::class_tags(request.cluster, order.pool.as_deref(), &order.node_class.name, &spec.tags);
    FleetSpec {
        client_token: token(&order.token),
        machines: u32::try_from(order.claims.len()).unwrap_or(u32::MAX),
        target,
        on_demand,
        context: spec.context.clone().filter(|_| !order.min_values_relaxed),
        templates: templates.collect(),
        tags: tags::launch_tags(tags, &order.group),
    }
}

/// The token as EC2 takes it: a longer one by its hash.
fn token(token: &str) -> String {
    if token.len() <= LONGEST_TOKEN { token.to_owned() } else { super::hash::text(token) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_tokens_are_hashed_and_stay_apart() {
        let long = "x".repeat(65);
        assert_eq!(token("default-abc-1"), "default-abc-1");
        assert_eq!(token(&long[..64]), long[..64]);
        assert_eq!(token(&long).len(), 32);
        assert_ne!(token(&long), token(&format!("{long}x")));
    }
}
