//! Instance types as case files write them.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::apimachinery::pkg::api::resource;
use model::{
    CapacityType, InstanceType, MicroUsd, Offering, Quantity, Requirement, Requirements, Reservation,
    Resources, labels,
};

use super::format::{OfferingEntry, SpotPrices, TypeEntry, Unavailable};

/// The Region of cases that name none.
pub(super) const REGION: &str = "us-east-1";

/// A field and what is wrong with it.
type Fault = (&'static str, String);

/// The type that `written` describes.
pub(super) fn instance_type(written: &TypeEntry, region: &str) -> Result<InstanceType, Fault> {
    if written.name.is_empty() {
        return Err(("", "the instance type has no name".to_owned()));
    }
    let capacity = capacity(written)?;
    let overhead = match &written.overhead {
        Some(given) => amounts(given, ".overhead")?,
        None => default_overhead(&capacity),
    };
    let mut offerings = match &written.offerings {
        Some(entries) => entries.iter().map(offering).collect::<Result<Vec<_>, _>>()?,
        None => short_offerings(written)?,
    };
    for out in &written.unavailable {
        each_meant(&mut offerings, out, ".unavailable", |offering| offering.available = false)?;
    }
    for out in &written.unsteady {
        each_meant(&mut offerings, out, ".unsteady", |offering| offering.unsteady = true)?;
    }
    offerings.sort_by(|one, two| (&one.zone, one.capacity_type).cmp(&(&two.zone, two.capacity_type)));
    let requirements = requirements(written, region, &capacity, &offerings);
    Ok(InstanceType { name: written.name.clone(), requirements, capacity, overhead, offerings })
}

fn amount(given: &resource::Quantity, field: &'static str) -> Result<Quantity, Fault> {
    given.0.parse().map_err(|error: model::QuantityError| (field, error.to_string()))
}

fn amounts(given: &BTreeMap<String, resource::Quantity>, field: &'static str) -> Result<Resources, Fault> {
    given.iter().map(|(name, given)| Ok((name.clone(), amount(given, field)?))).collect()
}

fn capacity(written: &TypeEntry) -> Result<Resources, Fault> {
    let mut capacity = amounts(written.capacity.as_ref().unwrap_or(&written.resources), ".capacity")?;
    for (name, given, field) in [("cpu", &written.cpu, ".cpu"), ("memory", &written.memory, ".memory")] {
        if let Some(given) = given {
            capacity.set(name, amount(given, field)?);
        }
        if !capacity.0.contains_key(name) {
            return Err(("", format!("instance type {} says nothing of {name}", written.name)));
        }
    }
    if let Some(pods) = written.pods {
        capacity.set("pods", Quantity::from_units(i64::from(pods)));
    }
    for (name, usual) in
        [("pods", Quantity::from_units(110)), ("ephemeral-storage", Quantity::from_mebibytes(20 << 10))]
    {
        if !capacity.0.contains_key(name) {
            capacity.set(name, usual);
        }
    }
    Ok(capacity)
}

/// What AL2023 keeps for kubelet, system and eviction.
fn default_overhead(capacity: &Resources) -> Resources {
    let pods = capacity.get("pods").units();
    let cores = capacity.get("cpu").units();
    // Thousandths of a percent of a core, cumulated by tier; each tier comes to whole millicores.
    let tiers = [(1, 60), (1, 10), (2, 5)];
    let mut left = cores;
    let mut millicores = 0;
    for (size, per_core) in tiers {
        let here = left.clamp(0, size);
        millicores += here * per_core;
        left -= here;
    }
    millicores += left.max(0) * 5 / 2;
    let tenth = (capacity.get("ephemeral-storage").units() + 9) / 10;
    [
        ("cpu", Quantity::from_milli(millicores)),
        ("memory", Quantity::from_mebibytes(11 * pods + 255 + 100)),
        ("ephemeral-storage", Quantity::from_units(tenth + (1 << 30))),
    ]
    .into_iter()
    .collect()
}

fn short_offerings(written: &TypeEntry) -> Result<Vec<Offering>, Fault> {
    let mut offerings = Vec::new();
    let mut add = |zone: &str, capacity_type: CapacityType, price: MicroUsd| {
        offerings.push(Offering {
            zone: zone.to_owned(),
            zone_id: None,
            capacity_type,
            price,
            available: true,
            unsteady: false,
            reservation: None,
        });
    };
    for zone in &written.zones {
        if let Some(price) = written.on_demand {
            add(zone, CapacityType::OnDemand, price.0);
        }
        if let Some(SpotPrices::All(price)) = written.spot {
            add(zone, CapacityType::Spot, price.0);
        }
    }
    if let Some(SpotPrices::PerZone(prices)) = &written.spot {
        for (zone, price) in prices {
            if !written.zones.is_empty() && !written.zones.contains(zone) {
                return Err((".spot", format!("{zone} is not one of the type's zones")));
            }
            add(zone, CapacityType::Spot, price.0);
        }
    }
    if offerings.is_empty() {
        let message =
            format!("instance type {} can't be bought: give zones with onDemand or spot", written.name);
        return Err(("", message));
    }
    Ok(offerings)
}

fn capacity_type(name: &str, field: &'static str) -> Result<CapacityType, Fault> {
    CapacityType::from_name(name)
        .ok_or_else(|| (field, format!("{name:?} is not a capacity type; use on-demand, spot or reserved")))
}

fn offering(written: &OfferingEntry) -> Result<Offering, Fault> {
    let reservation = written.reservation.as_ref().map(|given| Reservation {
        id: given.id.clone(),
        kind: given.kind.clone().unwrap_or_else(|| "default".to_owned()),
        remaining: given.remaining,
        interruptible: given.interruptible,
    });
    Ok(Offering {
        zone: written.zone.clone(),
        zone_id: written.zone_id.clone(),
        capacity_type: capacity_type(&written.capacity_type, ".offerings")?,
        price: written.price.0,
        available: written.available.unwrap_or(true),
        unsteady: false,
        reservation,
    })
}

/// Does something to each offering that is meant.
fn each_meant(
    offerings: &mut [Offering],
    meant: &Unavailable,
    field: &'static str,
    change: impl Fn(&mut Offering),
) -> Result<(), Fault> {
    let wanted = meant.capacity_type.as_deref().map(|name| capacity_type(name, field)).transpose()?;
    let mut some = false;
    for offering in offerings {
        let is_meant = meant.zone.as_ref().is_none_or(|zone| *zone == offering.zone)
            && wanted.is_none_or(|wanted| wanted == offering.capacity_type);
        if is_meant {
            change(offering);
            some = true;
        }
    }
    if some { Ok(()) } else { Err((field, "names no offering of this type".to_owned())) }
}

/// Every label that nodes of the type can have; well-known ones that it lacks are asked not to exist.
fn requirements(
    written: &TypeEntry,
    region: &str,
    capacity: &Resources,
    offerings: &[Offering],
) -> Requirements {
    let mut requirements = Requirements::new();
    let mut set = |key: &str, values: BTreeSet<String>| {
        let wanted =
            if values.is_empty() { Requirement::does_not_exist() } else { Requirement::is_in(values) };
        requirements.replace(key, wanted);
    };
    for key in labels::INSTANCE {
        set(key, BTreeSet::new());
    }
    set(labels::WINDOWS_BUILD, BTreeSet::new());
    let one = |value: &str| BTreeSet::from([value.to_owned()]);
    set(labels::INSTANCE_TYPE, one(&written.name));
    set(labels::ARCH, one(written.arch.as_deref().unwrap_or("amd64")));
    set(labels::OS, one(written.os.as_deref().unwrap_or("linux")));
    set(labels::REGION, one(region));
    set("karpenter.k8s.aws/instance-cpu", one(&capacity.get("cpu").units().to_string()));
    set("karpenter.k8s.aws/instance-memory", one(&(capacity.get("memory").units() >> 20).to_string()));
    let gpus = capacity.get("nvidia.com/gpu");
    if !gpus.is_zero() {
        set("karpenter.k8s.aws/instance-gpu-count", one(&gpus.units().to_string()));
        set("karpenter.k8s.aws/instance-gpu-manufacturer", one("nvidia"));
    }
    if let Some((family, size)) = written.name.split_once('.') {
        set("karpenter.k8s.aws/instance-family", one(family));
        set("karpenter.k8s.aws/instance-size", one(size));
        let letters: String = family.chars().take_while(char::is_ascii_lowercase).collect();
        let digits: String =
            family.chars().skip_while(char::is_ascii_lowercase).take_while(char::is_ascii_digit).collect();
        if !letters.is_empty() {
            set("karpenter.k8s.aws/instance-category", one(&letters));
        }
        if !digits.is_empty() {
            set("karpenter.k8s.aws/instance-generation", one(&digits));
        }
    }
    let of_offerings = |value: fn(&Offering) -> Option<String>| offerings.iter().filter_map(value).collect();
    set(labels::ZONE, of_offerings(|offering| Some(offering.zone.clone())));
    set(labels::ZONE_ID, of_offerings(|offering| offering.zone_id.clone()));
    set(labels::CAPACITY_TYPE, of_offerings(|offering| Some(offering.capacity_type.to_string())));
    let reservation = |offering: &Offering| offering.reservation.clone();
    let reservations: Vec<Reservation> = offerings.iter().filter_map(reservation).collect();
    set(labels::RESERVATION_ID, reservations.iter().map(|one| one.id.clone()).collect());
    set(labels::RESERVATION_TYPE, reservations.iter().map(|one| one.kind.clone()).collect());
    let interruptible = reservations.iter().map(|one| one.interruptible.to_string());
    set(labels::RESERVATION_INTERRUPTIBLE, interruptible.collect());
    for (key, value) in &written.labels {
        set(key, one(value));
    }
    requirements
}
