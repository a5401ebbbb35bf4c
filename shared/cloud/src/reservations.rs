//! Capacity reservations and placement groups.

use std::collections::BTreeMap;

use api::crd::{self, CapacityReservationSelectorTerm, PlacementGroupSelector};
use api::reservations;
use aws_sdk_ec2::types::{CapacityReservationState, CapacityReservationType, Filter, PlacementGroupState};
use catalog::class::PlacementGroup;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use crate::client::{each_known, failed};
use crate::filters::{filter, tag_filters};
use crate::{Cloud, CloudError};

/// A capacity reservation, and how many more machines it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldReservation {
    /// As the status of a class has it.
    pub reservation: crd::CapacityReservation,
    /// How many more machines it holds.
    pub remaining: u32,
}

impl Cloud {
    /// The active capacity reservations that any term selects, by id.
    pub async fn capacity_reservations(
        &self,
        terms: &[CapacityReservationSelectorTerm],
        now: Timestamp,
    ) -> Result<Vec<HeldReservation>, CloudError> {
        let ids: Vec<String> = terms.iter().filter_map(|term| term.id.clone()).collect();
        let mut found = BTreeMap::new();
        if !ids.is_empty() {
            let ask = async |ids: &[String]| self.describe_reservations(ids, Vec::new(), now).await;
            found.extend(each_known(&ids, ask).await?.0.into_iter().flatten());
        }
        for term in terms.iter().filter(|term| term.id.is_none()) {
            let mut filters = tag_filters(&term.tags);
            filters.extend(term.owner_id.as_ref().map(|owner| filter("owner-id", [owner.as_str()])));
            filters.extend(term.instance_match_criteria.map(|criteria| {
                let criteria = match criteria {
                    crd::InstanceMatchCriteria::Open => "open",
                    crd::InstanceMatchCriteria::Targeted => "targeted",
                };
                filter("instance-match-criteria", [criteria])
            }));
            found.extend(self.describe_reservations(&[], filters, now).await?);
        }
        Ok(found.into_values().collect())
    }

    async fn describe_reservations(
        &self,
        ids: &[String],
        mut filters: Vec<Filter>,
        now: Timestamp,
    ) -> Result<BTreeMap<String, HeldReservation>, CloudError> {
        filters.push(filter("state", [CapacityReservationState::Active.as_str()]));
        let request = self.ec2.describe_capacity_reservations().set_filters(Some(filters));
        // Whoever asks by ids may not say how many a page is to have.
        let request = match ids {
            [] => request.max_results(1000),
            ids => request.set_capacity_reservation_ids(Some(ids.to_vec())),
        };
        let mut found = BTreeMap::new();
        let mut pages = request.into_paginator().send();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("DescribeCapacityReservations"))?;
            let held = page.capacity_reservations().iter().filter_map(|reservation| held(reservation, now));
            found.extend(held.map(|held| (held.reservation.id.clone(), held)));
        }
        Ok(found)
    }

    /// The placement group that a class names; none if there is none, or it is not ready.
    pub async fn placement_group(
        &self,
        selector: &PlacementGroupSelector,
    ) -> Result<Option<PlacementGroup>, CloudError> {
        let state = filter("state", [PlacementGroupState::Available.as_str()]);
        let request = self.ec2.describe_placement_groups().filters(state);
        let request = match (&selector.id, &selector.name) {
            (Some(id), _) => request.group_ids(id),
            (None, Some(name)) => request.group_names(name),
            (None, None) => return Ok(None),
        };
        let answer = match request.send().await.map_err(failed("DescribePlacementGroups")) {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?,
        };
        let group = answer.placement_groups().iter().find_map(|group| {
            Some(PlacementGroup {
                id: group.group_id()?.to_owned(),
                strategy: group.strategy()?.as_str().to_owned(),
                partitions: group.partition_count().and_then(|count| count.try_into().ok()).unwrap_or(0),
            })
        });
        Ok(group)
    }
}

/// A reservation that hasn't ended.
fn held(found: &aws_sdk_ec2::types::CapacityReservation, now: Timestamp) -> Option<HeldReservation> {
    let ends = found.end_date().and_then(|at| Timestamp::from_second(at.secs()).ok());
    let block = found.reservation_type() == Some(&CapacityReservationType::CapacityBlock);
    let kind = if block { reservations::BLOCK } else { reservations::ORDINARY };
    let state = reservations::state(kind, ends, now)?;
    let reservation = crd::CapacityReservation {
        availability_zone: found.availability_zone()?.to_owned(),
        end_time: ends.map(Time),
        id: found.capacity_reservation_id()?.to_owned(),
        instance_match_criteria: found.instance_match_criteria()?.as_str().to_owned(),
        instance_type: found.instance_type()?.to_owned(),
        interruptible: found.interruptible().unwrap_or(false),
        owner_id: found.owner_id().unwrap_or_default().to_owned(),
        reservation_type: kind.to_owned(),
        state: state.to_owned(),
    };
    let remaining = found.available_instance_count().and_then(|count| count.try_into().ok()).unwrap_or(0);
    Some(HeldReservation { reservation, remaining })
}
