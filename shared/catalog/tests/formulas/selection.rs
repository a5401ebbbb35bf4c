//! The embedded catalogue as a whole, and choosing from it.

use std::collections::BTreeSet;

use catalog::select::{cpu, memory_mib};
use catalog::{ClassShape, Selector, Sort, decode, resolve, select};
use model::{CapacityType, MicroUsd, labels};

use crate::kit::{EC2, label, quantity};

const BYTES: &[u8] = include_bytes!("../../data/us-east-1.postcard.zst");

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_embedded_catalogue_is_large_ordered_and_small() {
    assert!(BYTES.len() <= 400 * 1024, "{} bytes", BYTES.len());
    assert!(EC2.types.len() > 1_000, "{} types", EC2.types.len());
    assert!(EC2.types.is_sorted_by(|one, two| one.name < two.name));
    assert_eq!((EC2.region.as_str(), EC2.zones.len(), EC2.spot_illustrative), ("us-east-1", 6, true));
    for kind in &EC2.types {
        assert!(kind.on_demand.is_some_and(|price| price > MicroUsd::ZERO), "{}", kind.name);
        assert!(kind.cpus > 0 && kind.memory_mib > 0 && !kind.zones.is_empty(), "{}", kind.name);
        assert!(catalog::capacity::eni_limited_pods(kind, &ClassShape::default(), 0) > 0, "{}", kind.name);
    }
}

#[test]
fn known_prices_and_made_up_ones() {
    for (name, price) in [("m5.large", 96_000), ("c5.xlarge", 170_000), ("a1.medium", 25_500)] {
        let kind = EC2.get(name).unwrap();
        assert_eq!(kind.on_demand, Some(MicroUsd(price)), "{name}");
        for spot in kind.zones.values().flatten() {
            assert!((price * 3 / 10..=price * 7 / 10 + 1).contains(&spot.0), "{name} {spot}");
        }
    }
}

#[test]
fn broken_bytes_are_refused() {
    let mut damaged = BYTES.to_vec();
    damaged.truncate(BYTES.len() / 2);
    for bytes in [&[][..], b"not a catalogue", &damaged] {
        assert!(decode(bytes).is_err());
    }
}

#[test]
fn what_is_listed_is_what_was_asked_for() {
    let types = resolve(&EC2, &ClassShape::default());
    let none = Selector::default;
    #[rustfmt::skip]
    let table = [
        Selector { cpu: Some(4), arch: set(&["arm64"]), sort: Sort::Price, ..none() },
        Selector { cpu_min: Some(8), cpu_max: Some(16), memory_min: Some(quantity("64Gi")), sort: Sort::Cpu, ..none() },
        Selector { memory: Some(quantity("16Gi")), zones: set(&["us-east-1e"]), sort: Sort::Name, ..none() },
        Selector { gpus_min: Some(4), capacity_types: BTreeSet::from([CapacityType::OnDemand]), sort: Sort::Memory, ..none() },
        Selector { category: set(&["m"]), generation_min: Some(7), price_max: Some(MicroUsd(100_000)), ..none() },
        Selector { family: set(&["m5", "c5"]), memory_max: Some(quantity("8Gi")), sort: Sort::Price, ..none() },
        Selector { gpu_name: set(&["t4"]), ..none() },
    ];
    for selector in table {
        let listed = select(&types, &selector);
        assert!(!listed.is_empty(), "{selector:?}");
        for listing in &listed {
            let kind = listing.kind;
            assert!(selector.cpu.is_none_or(|wanted| cpu(kind) == u64::from(wanted)));
            assert!(selector.cpu_min.is_none_or(|least| cpu(kind) >= u64::from(least)));
            assert!(selector.cpu_max.is_none_or(|most| cpu(kind) <= u64::from(most)));
            let memory = model::Quantity::from_mebibytes(i64::try_from(memory_mib(kind)).unwrap());
            assert!(selector.memory.is_none_or(|wanted| memory == wanted));
            assert!(selector.memory_min.is_none_or(|least| memory >= least));
            assert!(selector.memory_max.is_none_or(|most| memory <= most));
            assert!(selector.price_max.is_none_or(|most| listing.cheapest.price <= most));
            assert!(selector.zones.is_empty() || selector.zones.contains(&listing.cheapest.zone));
            let arch = label(kind, labels::ARCH).unwrap();
            assert!(selector.arch.is_empty() || selector.arch.contains(arch));
            let spot_asked = selector.capacity_types.is_empty() && selector.price_max.is_none();
            assert!(spot_asked || selector.price_max.is_some() || listing.spot.is_none());
        }
        let key = |listing: &catalog::Listing<'_>| match selector.sort {
            Sort::Name => (0, listing.kind.name.clone()),
            Sort::Price => (listing.cheapest.price.0, listing.kind.name.clone()),
            Sort::Cpu => (cpu(listing.kind), listing.kind.name.clone()),
            Sort::Memory => (memory_mib(listing.kind), listing.kind.name.clone()),
        };
        assert!(listed.iter().map(key).is_sorted(), "{selector:?}");
    }
}

#[test]
fn what_is_not_listed_was_not_asked_for() {
    let types = resolve(&EC2, &ClassShape::default());
    let listed = select(&types, &Selector::default());
    let every = listed.len();
    let names: BTreeSet<_> = listed.iter().map(|listing| listing.kind.name.as_str()).collect();
    let missing = types.iter().filter(|kind| !names.contains(kind.name.as_str()));
    assert!(missing.clone().all(|kind| kind.name.starts_with("a1.")), "AL2023 boots on all but those");
    assert_eq!(missing.count(), 6);
    let arm = select(&types, &Selector { arch: set(&["arm64"]), ..Selector::default() }).len();
    let intel = select(&types, &Selector { arch: set(&["amd64"]), ..Selector::default() }).len();
    assert_eq!(arm + intel, every);
    assert!(select(&types, &Selector { cpu: Some(3), ..Selector::default() }).is_empty());
}
