//! The ways to buy machines for a launch: what fits and is on offer, narrowed as a fleet request wants it.

use std::collections::{BTreeMap, BTreeSet};

use model::{CapacityType, InstanceType, MicroUsd, Offer, Offering, Requirements, Resources, labels};

/// A fleet request names at most so many types.
const MAX_TYPES: usize = 60;
/// What to ask for.
#[derive(Debug)]
pub(super) struct Choice {
    pub capacity_type: CapacityType,
    pub reservation_type: Option<String>,
    /// Cheapest first.
    pub offers: Vec<Offer>,
}

/// A type with the ways to buy it that are left.
struct Candidate<'a> {
    kind: &'a InstanceType,
    offerings: Vec<&'a Offering>,
}

impl Candidate<'_> {
    fn price(&self) -> MicroUsd {
        self.offerings.iter().map(|offering| offering.price).min().unwrap_or_default()
    }
}

/// Chooses from `types`, or says why there is nothing to choose from.
pub(super) fn choose(
    types: &[InstanceType],
    requirements: &Requirements,
    requests: &Resources,
    relaxed: bool,
) -> Result<Choice, String> {
    let mut candidates = fitting(types, requirements, requests);
    if candidates.is_empty() {
        return Err("no instance type that holds it is on offer".to_owned());
    }
    let wanted: Vec<(&str, u32)> =
        requirements.iter().filter_map(|(key, requirement)| Some((key, requirement.min_values?))).collect();
    let reservation_type = narrow_to_reserved(&mut candidates);
    if wanted.is_empty() {
        leave_out_exotic(&mut candidates);
        leave_out_dear_spot(&mut candidates);
    }
    let offered: BTreeSet<CapacityType> = candidates
        .iter()
        .flat_map(|candidate| candidate.offerings.iter().map(|offering| offering.capacity_type))
        .collect();
    // Reserved is paid for, Spot is cheap; they stand in this order.
    let capacity_type = offered.first().copied().unwrap_or(CapacityType::OnDemand);
    keep_offerings(&mut candidates, |offering| offering.capacity_type == capacity_type);
    candidates.sort_by(|a, b| a.price().cmp(&b.price()).then_with(|| a.kind.name.cmp(&b.kind.name)));
    truncate(&mut candidates, &wanted);
    if let Some((key, least)) = missing(&candidates, &wanted).filter(|_| !relaxed) {
        return Err(format!("fewer than minValues {least} values of {key} are on offer"));
    }
    let mut offers: Vec<Offer> = Vec::new();
    for candidate in &candidates {
        offers.extend(candidate.offerings.iter().map(|offering| Offer {
            instance_type: candidate.kind.name.clone(),
            zone: offering.zone.clone(),
            capacity_type,
            price: offering.price,
            reservation: offering.reservation.as_ref().map(|reservation| reservation.id.clone()),
        }));
    }
    offers.sort_by(|a, b| {
        let key = |offer: &Offer| (offer.price, offer.instance_type.clone(), offer.zone.clone());
        key(a).cmp(&key(b)).then_with(|| a.reservation.cmp(&b.reservation))
    });
    Ok(Choice { capacity_type, reservation_type, offers })
}

/// Types that agree with the requirements and hold the requests, with the available offerings that agree too.
fn fitting<'a>(
    types: &'a [InstanceType],
    requirements: &Requirements,
    requests: &Resources,
) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for kind in types {
        if requirements.intersects(&kind.requirements).is_err()
            || requests.exceeds(&kind.allocatable()).is_some()
        {
            continue;
        }
        let left = |offering: &&Offering| {
            let reserved = offering.reservation.as_ref();
            offering.available
                && reserved.is_none_or(|reservation| reservation.remaining > 0)
                && requirements.intersects(&offering.requirements()).is_ok()
        };
        let offerings: Vec<&Offering> = kind.offerings.iter().filter(left).collect();
        if !offerings.is_empty() {
            candidates.push(Candidate { kind, offerings });
        }
    }
    candidates
}

fn keep_offerings(candidates: &mut Vec<Candidate<'_>>, keeps: impl Fn(&Offering) -> bool) {
    for candidate in candidates.iter_mut() {
        candidate.offerings.retain(|offering| keeps(offering));
    }
    candidates.retain(|candidate| !candidate.offerings.is_empty());
}

/// The kinds of reservations, in the order in which they are taken at the same price.
const RESERVATION_TYPES: [&str; 3] = ["default", "capacity-block", "interruptible"];

fn reservation_type(offering: &Offering) -> Option<usize> {
    let reservation = offering.reservation.as_ref()?;
    Some(match (reservation.kind.as_str(), reservation.interruptible) {
        ("capacity-block", _) => 1,
        (_, true) => 2,
        _ => 0,
    })
}

/// If anything reserved is left, only that, of one kind: one request can't ask for two. A capacity block is asked for
/// by itself, of others the roomiest in each zone.
fn narrow_to_reserved(candidates: &mut Vec<Candidate<'_>>) -> Option<String> {
    let reserved = || candidates.iter().flat_map(|candidate| &candidate.offerings);
    let (_, chosen) = reserved().filter_map(|o| Some((o.price, reservation_type(o)?))).min()?;
    keep_offerings(candidates, |offering| reservation_type(offering) == Some(chosen));
    let name = RESERVATION_TYPES[chosen];
    if name == "capacity-block" {
        candidates.sort_by(|a, b| a.price().cmp(&b.price()).then_with(|| a.kind.name.cmp(&b.kind.name)));
        candidates.truncate(1);
        for candidate in candidates.iter_mut() {
            candidate.offerings.sort_by_key(|offering| (offering.price, &offering.zone));
            candidate.offerings.truncate(1);
        }
    } else {
        for candidate in candidates.iter_mut() {
            let room = |offering: &Offering| offering.reservation.as_ref().map(|it| it.remaining);
            let mut by_zone: BTreeMap<&str, &Offering> = BTreeMap::new();
            for offering in &candidate.offerings {
                let best = by_zone.entry(&offering.zone).or_insert(offering);
                if room(offering) > room(best) {
                    *best = offering;
                }
            }
            candidate.offerings = by_zone.into_values().collect();
        }
    }
    Some(name.to_owned())
}

/// Whole hosts and machines with devices are left out unless there is nothing else.
fn leave_out_exotic(candidates: &mut Vec<Candidate<'_>>) {
    let exotic = |kind: &InstanceType| kind.name.contains("metal") || kind.has_devices();
    if candidates.iter().any(|candidate| !exotic(candidate.kind)) {
        candidates.retain(|candidate| !exotic(candidate.kind));
    }
}

/// Spot that costs more than the cheapest on-demand offering is no bargain.
fn leave_out_dear_spot(candidates: &mut Vec<Candidate<'_>>) {
    let offerings = candidates.iter().flat_map(|candidate| &candidate.offerings);
    let on_demand = offerings.filter(|offering| offering.capacity_type == CapacityType::OnDemand);
    if let Some(most) = on_demand.map(|offering| offering.price).min() {
        keep_offerings(candidates, |offering| {
            offering.capacity_type != CapacityType::Spot || offering.price <= most
        });
    }
}

/// The values a type gives `key`, offered or not.
fn values<'a>(candidate: &Candidate<'a>, key: &str) -> Vec<&'a str> {
    if key == labels::INSTANCE_TYPE {
        return vec![&candidate.kind.name];
    }
    let values = candidate.kind.requirements.get(key).and_then(|requirement| requirement.values());
    values.into_iter().flatten().map(String::as_str).collect()
}

/// The first key of which there are too few values.
fn missing<'w>(candidates: &[Candidate<'_>], wanted: &[(&'w str, u32)]) -> Option<(&'w str, u32)> {
    wanted.iter().copied().find(|(key, least)| {
        let has: BTreeSet<&str> = candidates.iter().flat_map(|candidate| values(candidate, key)).collect();
        has.len() < *least as usize
    })
}

/// As many as a request can name, cheapest first, those before others that `minValues` needs.
fn truncate(candidates: &mut Vec<Candidate<'_>>, wanted: &[(&str, u32)]) {
    if candidates.len() <= MAX_TYPES {
        return;
    }
    let mut seen: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut needed: BTreeSet<usize> = BTreeSet::new();
    for (index, candidate) in candidates.iter().enumerate() {
        for &(key, least) in wanted {
            let seen = seen.entry(key).or_default();
            if seen.len() < least as usize {
                for value in values(candidate, key) {
                    if seen.insert(value) {
                        needed.insert(index);
                    }
                }
            }
        }
    }
    let mut spare = MAX_TYPES.saturating_sub(needed.len());
    let mut index = 0;
    candidates.retain(|_| {
        let kept = needed.contains(&index) || spare > 0;
        if kept && !needed.contains(&index) {
            spare -= 1;
        }
        index += 1;
        kept
    });
    candidates.truncate(MAX_TYPES);
}
