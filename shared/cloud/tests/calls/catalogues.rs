//! Types and prices, page by page.

use cloud::Published;
use jiff::Timestamp;
use model::MicroUsd;
use serde_json::json;

use crate::aws::{Answer, Aws, json as answer, refusal, wait, xml};

fn spot_page(points: &[(&str, &str, &str)], next: &str) -> Answer {
    let points: String = points
        .iter()
        .map(|(zone, at, price)| {
            format!(
                "<item><instanceType>m5.large</instanceType><availabilityZone>{zone}</availabilityZone>\
                 <timestamp>{at}</timestamp><spotPrice>{price}</spotPrice></item>"
            )
        })
        .collect();
    xml(
        "DescribeSpotPriceHistory",
        &format!("<spotPriceHistorySet>{points}</spotPriceHistorySet><nextToken>{next}</nextToken>"),
    )
}

/// I05: pages never overwrite each other, and the newest of a pool stands wherever it is.
#[test]
fn spot_pages_add_up() {
    let pages = || {
        vec![
            spot_page(
                &[("a", "2026-12-01T10:00:00Z", "0.030"), ("b", "2026-12-01T10:00:00Z", "0.031000")],
                "more",
            ),
            spot_page(&[("c", "2026-12-01T09:00:00Z", "0.029"), ("a", "2026-12-01T08:00:00Z", "0.9")], ""),
        ]
    };
    let calls = |pages: Vec<Answer>| pages.into_iter().map(|page| ("DescribeSpotPriceHistory", page));
    let aws = Aws::answering(calls(pages()));
    let prices = wait(aws.cloud().spot_prices(Timestamp::UNIX_EPOCH)).unwrap();
    let read = ["a", "b", "c"].map(|zone| prices.get("m5.large", zone).map(|price| price.0));
    assert_eq!(read, [Some(30_000), Some(31_000), Some(29_000)]);
    assert!(aws.asked()[1].contains("NextToken=more"));
    let half = [pages()[0].clone(), refusal(400, "RequestLimitExceeded", "no")];
    let error =
        wait(Aws::answering(calls(half.into())).cloud().spot_prices(Timestamp::UNIX_EPOCH)).unwrap_err();
    assert!(error.is_throttled(), "half a history is none: the old prices stay");
}

fn product(kind: &str, price: &str) -> String {
    json!({
        "product": {"attributes": {"instanceType": kind}},
        "terms": {"OnDemand": {"t": {"priceDimensions": {"d": {"unit": "Hrs", "pricePerUnit": {"USD": price}}}}}},
    })
    .to_string()
}

#[test]
fn shared_and_bare_machines_are_asked_for_apart() {
    let aws = Aws::answering([
        ("GetProducts", answer(json!({"PriceList": [product("m5.large", "0.096")], "NextToken": "more"}))),
        ("GetProducts", answer(json!({"PriceList": [product("c5.large", "0.085")]}))),
        ("GetProducts", answer(json!({"PriceList": [product("m5.metal", "4.608")]}))),
    ]);
    let prices = wait(aws.cloud().on_demand_prices()).unwrap();
    let read: Vec<_> = prices.iter().map(|(name, price)| (name.as_str(), price.0)).collect();
    assert_eq!(read, [("c5.large", 85_000), ("m5.large", 96_000), ("m5.metal", 4_608_000)]);
    let asked = aws.asked();
    assert!(
        asked[0].contains(r#""Value":"Shared""#)
            && asked[2].contains(r#""Value":"Compute Instance (bare metal)""#)
    );
    let none = || ("GetProducts", answer(json!({"PriceList": []})));
    let error = wait(Aws::answering([none(), none()]).cloud().on_demand_prices()).unwrap_err();
    assert_eq!(error.to_string(), "GetProducts returned nothing for us-east-1");
}

#[test]
fn aws_c124_other_partitions_have_no_price_list() {
    for region in ["us-gov-west-1", "us-iso-east-1", "eusc-de-east-1"] {
        let aws = Aws::answering([]);
        assert!(wait(aws.cloud_in(region).on_demand_prices()).unwrap().is_empty(), "{region}");
        assert_eq!(aws.asked(), Vec::<String>::new(), "{region}");
    }
}

/// A type runs nodes by its architectures, whatever else it runs; it needs an offering and a price.
#[test]
fn types_are_sorted_out_here() {
    let kind = |name: &str, architectures: &[&str]| {
        let listed: String = architectures.iter().map(|name| format!("<item>{name}</item>")).collect();
        format!(
            "<item><instanceType>{name}</instanceType><processorInfo><supportedArchitectures>{listed}\
             </supportedArchitectures></processorInfo></item>"
        )
    };
    let types = [
        kind("t2.small", &["i386", "x86_64"]),
        kind("m7g.large", &["arm64"]),
        kind("mac2.metal", &["arm64_mac"]),
        kind("m9.unoffered", &["x86_64"]),
        kind("m9.unpriced", &["x86_64"]),
    ];
    let offered: String = ["t2.small", "m7g.large", "mac2.metal", "m9.unpriced"]
        .iter()
        .map(|name| {
            format!("<item><instanceType>{name}</instanceType><location>us-east-1a</location></item>")
        })
        .collect();
    let zones = "<item><zoneName>us-east-1a</zoneName><zoneId>use1-az1</zoneId><zoneType>availability-zone</zoneType></item>\
                 <item><zoneName>us-east-1-bos-1a</zoneName><zoneId>x</zoneId><zoneType>local-zone</zoneType></item>";
    let aws = Aws::answering([
        (
            "DescribeInstanceTypeOfferings",
            xml(
                "DescribeInstanceTypeOfferings",
                &format!("<instanceTypeOfferingSet>{offered}</instanceTypeOfferingSet>"),
            ),
        ),
        (
            "DescribeAvailabilityZones",
            xml(
                "DescribeAvailabilityZones",
                &format!("<availabilityZoneInfo>{zones}</availabilityZoneInfo>"),
            ),
        ),
        (
            "DescribeInstanceTypes",
            xml("DescribeInstanceTypes", &format!("<instanceTypeSet>{}</instanceTypeSet>", types.concat())),
        ),
    ]);
    let mut published = Published { region: "us-east-1".into(), ..Published::default() };
    for name in ["t2.small", "m7g.large", "mac2.metal", "m9.unoffered"] {
        published.on_demand.insert(name.into(), MicroUsd(1));
    }
    let catalogue = wait(aws.cloud().instance_types(&published, Timestamp::UNIX_EPOCH)).unwrap();
    let names: Vec<_> = catalogue.types.iter().map(|kind| kind.name.as_str()).collect();
    assert_eq!(names, ["m7g.large", "t2.small"]);
    assert_eq!(catalogue.zones.len(), 1, "local zones are not for nodes that did not ask");
    aws.asked();
}
