//! CreateFleet requests: what is asked for, how it is paid for, and where.

use cloud::launch::LaunchError;
use model::{CapacityType, LaunchFailureKind};
use serde_json::json;

use crate::kit::{Launch, changes, launch};

/// 185.
#[test]
fn spot_goes_by_price_and_capacity() {
    let spot = launch().offers(CapacityType::Spot, &[("c7g.large", "us-east-1a", 30_000)]);
    insta::assert_snapshot!(changes(&spot));
}

#[test]
fn reservations_are_drawn_on_by_name() {
    let of = |kind: &str| {
        let mut launch = launch().offers(
            CapacityType::Reserved,
            &[("c7g.large", "us-east-1a", 8), ("c7g.large", "us-east-1b", 8)],
        );
        launch.order.reservation_type = Some(kind.into());
        launch.order.offers[0].reservation = Some("cr-1".into());
        launch.order.offers[1].reservation = Some("cr-2".into());
        launch
    };
    insta::assert_snapshot!(changes(&of("default")));
    let differs = |kind: &str| {
        let (plain, other) = (changes(&of("default")), changes(&of(kind)));
        let news: Vec<&str> =
            other.lines().filter(|line| !plain.lines().any(|known| known == *line)).collect();
        news.join("\n")
    };
    insta::assert_snapshot!(differs("capacity-block"));
    insta::assert_snapshot!(differs("interruptible"));
}

fn places(launch: &Launch) -> Vec<String> {
    let fleet = launch.plan().fleet;
    let overrides = fleet.templates.iter().flat_map(|template| &template.overrides);
    overrides.map(|one| format!("{} {}", one.offer.instance_type, one.subnet)).collect()
}

/// L01, 183: an empty subnet closes itself, not its zone.
#[test]
fn a_full_subnet_closes_only_itself() {
    let mut full = launch();
    assert_eq!(places(&full), ["c7g.large subnet-a2", "m7g.large subnet-a2", "c7g.large subnet-b1"]);
    full.closed.insert("subnet-a2".into());
    assert_eq!(places(&full), ["c7g.large subnet-a1", "m7g.large subnet-a1", "c7g.large subnet-b1"]);
    full.closed.insert("subnet-a1".into());
    assert_eq!(places(&full), ["c7g.large subnet-b1"]);
    full.closed.insert("subnet-b1".into());
    let error = full.try_plan().unwrap_err();
    assert!(matches!(&error, LaunchError::NoSubnets { zones, .. } if zones == "us-east-1a, us-east-1b"));
    assert_eq!(error.failure().kind, LaunchFailureKind::Capacity);
}

/// Offers without a subnet in their zone are left out, doubles too.
#[test]
fn an_override_is_a_type_in_a_zone() {
    let offers = [
        ("c7g.large", "us-east-1b", 70_000),
        ("c7g.large", "us-east-1f", 70_000),
        ("c7g.large", "us-east-1b", 71_000),
    ];
    let launch = launch().offers(CapacityType::OnDemand, &offers);
    assert_eq!(places(&launch), ["c7g.large subnet-b1"]);
}

/// 187: the context is the class's, and left out where minValues were relaxed.
#[test]
fn the_context_is_passed_on_unless_flexibility_is_lost() {
    let mut launch = launch().spec(json!({"context": "for-ec2"}));
    assert_eq!(changes(&launch), "fleet.context: \"for-ec2\"\n");
    launch.order.min_values_relaxed = true;
    assert_eq!(changes(&launch), "");
}

/// A machine of no pool, many machines, another attempt.
#[test]
fn counts_groups_and_tokens_are_the_order_s() {
    let mut launch = launch();
    launch.order.pool = None;
    launch.order.claims.push("alone".into());
    launch.order.token = "general-x7k2p-2".into();
    insta::assert_snapshot!(changes(&launch));
}
