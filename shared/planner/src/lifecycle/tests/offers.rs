//! Which ways to buy are asked for.

use model::{
    CapacityType, InstanceType, MicroUsd, Requirement, Requirements, Reservation, Resources, labels,
};

use super::super::offers::{Choice, choose};
use super::kit::*;

fn wants(pairs: Vec<(&str, Requirement)>) -> Requirements {
    pairs.into_iter().map(|(key, requirement)| (key.to_owned(), requirement)).collect()
}

fn chosen(types: &[InstanceType], requirements: &Requirements) -> Choice {
    choose(types, requirements, &resources(&[("cpu", 1)]), false).unwrap()
}

fn offers(choice: &Choice) -> Vec<String> {
    choice
        .offers
        .iter()
        .map(|offer| format!("{} {} {}", offer.instance_type, offer.zone, offer.price.0))
        .collect()
}

fn reserved(kind: &str, interruptible: bool, id: &str, zone: &str, remaining: u32) -> model::Offering {
    let reservation = Reservation { id: id.into(), kind: kind.into(), remaining, interruptible };
    model::Offering { reservation: Some(reservation), ..offering(zone, CapacityType::Reserved, 1) }
}

#[test]
fn the_capacity_type_is_the_first_that_is_allowed_and_on_offer() {
    use CapacityType::{OnDemand, Reserved, Spot};
    let plain = vec![kind("m", 4, 10)];
    let mut with_reserved = plain.clone();
    with_reserved[0].offerings.push(reserved("default", false, "cr-1", "a", 2));
    let mut spent = plain.clone();
    spent[0].offerings.push(reserved("default", false, "cr-1", "a", 0));
    let mut no_spot = plain.clone();
    no_spot[0].offerings.iter_mut().for_each(|it| it.available = it.capacity_type != Spot);
    let only = |kinds: &[&str]| wants(vec![(labels::CAPACITY_TYPE, Requirement::is_in(kinds.to_vec()))]);
    let any = Requirements::new();
    let table = [
        (&plain, &any, Spot),
        (&with_reserved, &any, Reserved),
        (&with_reserved, &only(&["spot", "on-demand"]), Spot),
        (&spent, &any, Spot),
        (&no_spot, &any, OnDemand),
        (&plain, &only(&["on-demand"]), OnDemand),
    ];
    for (row, (types, requirements, expected)) in table.into_iter().enumerate() {
        let choice = chosen(types, requirements);
        assert_eq!(choice.capacity_type, expected, "row {row}");
        assert!(choice.offers.iter().all(|offer| offer.capacity_type == expected));
    }
}

#[test]
fn offers_agree_with_requirements_prices_and_requests() {
    let types = [kind("m", 4, 10), kind("l", 8, 20)];
    let table = [
        (wants(vec![]), 1, "m a 5, m b 5, l a 10, l b 10"),
        (wants(vec![]), 5, "l a 10, l b 10"),
        (wants(vec![(labels::ZONE, Requirement::is_in(["b"]))]), 1, "m b 5, l b 10"),
        (wants(vec![(labels::INSTANCE_TYPE, Requirement::not_in(["m"]))]), 1, "l a 10, l b 10"),
        (wants(vec![(labels::USD_PER_HOUR, Requirement::within(None, Some(9)))]), 1, "m a 5, m b 5"),
        (wants(vec![("team", Requirement::is_in(["blue"]))]), 1, "m a 5, m b 5, l a 10, l b 10"),
        (wants(vec![(labels::ARCH, Requirement::is_in(["arm64"]))]), 1, ""),
        (wants(vec![]), 9, ""),
    ];
    for (row, (requirements, cpu, expected)) in table.into_iter().enumerate() {
        let choice = choose(&types, &requirements, &resources(&[("cpu", cpu)]), false);
        let found = choice.map(|choice| offers(&choice).join(", ")).unwrap_or_default();
        assert_eq!(found, expected, "row {row}");
    }
}

#[test]
fn dear_spot_and_exotic_machines_are_left_out() {
    let mut types = vec![kind("m", 4, 10), kind("big.metal", 4, 2), kind("gpu", 4, 2), kind("l", 8, 30)];
    types[2].capacity.set("nvidia.com/gpu", model::Quantity::from_units(1));
    // Spot of `l` costs 15, on demand `m` costs 10.
    assert_eq!(offers(&chosen(&types, &Requirements::new())), ["m a 5", "m b 5"]);
    let odd = &types[1..3];
    assert_eq!(offers(&chosen(odd, &Requirements::new())).len(), 4, "there is nothing else");
    let spot = wants(vec![(labels::CAPACITY_TYPE, Requirement::is_in(["spot"]))]);
    assert_eq!(offers(&chosen(&types, &spot)).len(), 4, "on demand is not allowed, so Spot is not dear");
    let two = Requirement::exists().with_min_values(Some(2));
    let flexible = wants(vec![(labels::INSTANCE_TYPE, two)]);
    assert_eq!(offers(&chosen(&types, &flexible)).len(), 8, "minValues asks for variety");
    let mut all_dear = vec![kind("m", 4, 10)];
    for offering in &mut all_dear[0].offerings {
        if offering.capacity_type == CapacityType::Spot {
            offering.price = MicroUsd(11);
        }
    }
    assert_eq!(chosen(&all_dear, &Requirements::new()).capacity_type, CapacityType::OnDemand);
}

#[test]
fn reservations_are_of_one_kind() {
    let mut types = vec![kind("m", 4, 10), kind("l", 8, 20)];
    types[0].offerings.push(reserved("default", false, "cr-1", "a", 1));
    types[0].offerings.push(reserved("default", false, "cr-2", "a", 5));
    types[0].offerings.push(reserved("default", true, "cr-3", "b", 5));
    types[1].offerings.push(reserved("capacity-block", false, "cr-4", "a", 5));
    let choice = chosen(&types, &Requirements::new());
    assert_eq!(choice.reservation_type.as_deref(), Some("default"));
    let ids: Vec<_> = choice.offers.iter().filter_map(|offer| offer.reservation.as_deref()).collect();
    assert_eq!(ids, ["cr-2"], "the roomiest of the zone");

    let mut blocks = vec![kind("m", 4, 10), kind("l", 8, 20)];
    blocks[0].offerings.push(reserved("capacity-block", false, "cr-1", "b", 1));
    blocks[0].offerings.push(reserved("capacity-block", false, "cr-2", "a", 1));
    blocks[1].offerings.push(reserved("capacity-block", false, "cr-3", "a", 1));
    let choice = chosen(&blocks, &Requirements::new());
    assert_eq!(choice.reservation_type.as_deref(), Some("capacity-block"));
    assert_eq!(choice.offers.len(), 1);
}

#[test]
fn at_most_sixty_types_are_named_and_min_values_kept() {
    let mut types: Vec<InstanceType> = (0..80).map(|i| kind(&format!("t{i:02}"), 4, 100 + i)).collect();
    for (i, kind) in types.iter_mut().enumerate() {
        let family = if i < 70 { "cheap".to_owned() } else { format!("dear{i}") };
        kind.requirements.add("family", Requirement::is_in([family]));
    }
    let names = |requirements: &Requirements, relaxed| -> Result<Vec<String>, String> {
        let choice = choose(&types, requirements, &Resources::new(), relaxed)?;
        let mut names: Vec<String> = choice.offers.into_iter().map(|offer| offer.instance_type).collect();
        names.sort();
        names.dedup();
        Ok(names)
    };
    let plain = names(&Requirements::new(), false).unwrap();
    assert_eq!((plain.len(), plain[59].as_str()), (60, "t59"), "the cheapest");
    let families = |least| {
        let requirement = Requirement::exists().with_min_values(Some(least));
        wants(vec![("family", requirement)])
    };
    let varied = names(&families(4), false).unwrap();
    assert_eq!(varied.len(), 60);
    assert!(["t00", "t70", "t71", "t72"].iter().all(|name| varied.contains(&(*name).to_owned())));
    assert!(names(&families(12), false).unwrap_err().contains("minValues 12"));
    assert_eq!(names(&families(12), true).unwrap().len(), 60, "relaxed: as many as there are");
}
