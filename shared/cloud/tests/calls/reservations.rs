//! Capacity reservations and placement groups that a class selects.

use api::crd::{CapacityReservationSelectorTerm, PlacementGroupSelector};
use cloud::reservations::HeldReservation;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::aws::{Answer, Aws, refusal, wait, xml};

const NOW: &str = "2026-12-01T12:00:00Z";

/// As EC2 describes one, with other fields than ours among them.
fn reservation(id: &str, free: i32, more: &str) -> String {
    format!(
        "<item><capacityReservationId>{id}</capacityReservationId><ownerId>123456789012</ownerId>\
         <capacityReservationArn>arn:aws:ec2:us-east-1:123456789012:capacity-reservation/{id}</capacityReservationArn>\
         <availabilityZoneId>use1-az1</availabilityZoneId><instanceType>m5.large</instanceType>\
         <instancePlatform>Linux/UNIX</instancePlatform><availabilityZone>us-east-1a</availabilityZone>\
         <tenancy>default</tenancy><totalInstanceCount>5</totalInstanceCount>\
         <availableInstanceCount>{free}</availableInstanceCount><ebsOptimized>false</ebsOptimized><state>active</state>\
         <endDateType>unlimited</endDateType><instanceMatchCriteria>targeted</instanceMatchCriteria>{more}</item>"
    )
}

fn told(of: &[String], next: &str) -> (&'static str, Answer) {
    let set = format!("<capacityReservationSet>{}</capacityReservationSet>{next}", of.concat());
    ("DescribeCapacityReservations", xml("DescribeCapacityReservations", &set))
}

fn terms(of: Value) -> Vec<CapacityReservationSelectorTerm> {
    serde_json::from_value(of).unwrap()
}

fn found(aws: &Aws, of: Value) -> Vec<HeldReservation> {
    let now: Timestamp = NOW.parse().unwrap();
    wait(aws.cloud().capacity_reservations(&terms(of), now)).unwrap()
}

fn ids(found: &[HeldReservation]) -> Vec<(&str, u32)> {
    found.iter().map(|held| (held.reservation.id.as_str(), held.remaining)).collect()
}

#[test]
fn terms_are_asked_for_each_in_its_way() {
    let aws = Aws::answering([
        told(&[reservation("cr-3", 2, ""), reservation("cr-2", 1, "")], ""),
        told(&[reservation("cr-2", 1, "")], "<nextToken>more</nextToken>"),
        told(&[reservation("cr-1", 0, "")], ""),
        told(&[], ""),
    ]);
    let found = found(
        &aws,
        json!([
            {"id": "cr-2"},
            {"tags": {"team": "web", "any": "*"}, "ownerID": "123456789012"},
            {"id": "cr-3"},
            {"instanceMatchCriteria": "targeted"},
        ]),
    );
    assert_eq!(ids(&found), [("cr-1", 0), ("cr-2", 1), ("cr-3", 2)], "each once, by id");
    insta::assert_snapshot!(aws.asked().join("\n\n"));
}

#[test]
fn aws_b57_all_that_is_known_of_a_reservation_is_told() {
    let at = |time: &str| format!("<endDate>2026-12-01T{time}Z</endDate>");
    let block = |ends: &str| format!("<reservationType>capacity-block</reservationType>{}", at(ends));
    let aws = Aws::answering([told(
        &[
            reservation("cr-1", 3, ""),
            reservation("cr-2", 1, &block("12:41:00")),
            reservation("cr-3", 1, &block("12:40:00")),
            reservation("cr-4", 1, &format!("<interruptible>true</interruptible>{}", at("12:10:00"))),
        ],
        "",
    )]);
    let found = found(&aws, json!([{"tags": {"team": "web"}}]));
    let written: Vec<Value> =
        found.iter().map(|held| serde_json::to_value(&held.reservation).unwrap()).collect();
    insta::assert_snapshot!(serde_json::to_string_pretty(&written).unwrap());
}

#[test]
fn aws_b58_what_has_ended_is_not_listed() {
    let ended = |at: &str| format!("<endDate>2026-12-01T{at}Z</endDate>");
    let aws = Aws::answering([told(
        &[
            reservation("cr-1", 3, &ended("12:00:00")),
            reservation("cr-2", 3, &ended("11:00:00")),
            reservation("cr-3", 3, &ended("12:00:01")),
        ],
        "",
    )]);
    assert_eq!(ids(&found(&aws, json!([{"tags": {"team": "web"}}]))), [("cr-3", 3)]);
}

#[test]
fn an_id_that_is_not_there_is_in_nobody_s_way() {
    let unknown = || {
        let code = "InvalidCapacityReservationId.NotFound";
        (
            "DescribeCapacityReservations",
            refusal(400, code, "The capacity reservation ID 'cr-1' was not found"),
        )
    };
    let aws = Aws::answering([unknown(), unknown(), told(&[reservation("cr-2", 1, "")], "")]);
    assert_eq!(ids(&found(&aws, json!([{"id": "cr-1"}, {"id": "cr-2"}]))), [("cr-2", 1)]);
    let asked = aws.asked();
    assert!(
        asked[0].contains("CapacityReservationId.2=cr-2") && !asked[0].contains("MaxResults"),
        "{asked:?}"
    );
    let aws = Aws::answering([unknown()]);
    assert_eq!(found(&aws, json!([{"id": "cr-1"}])), []);
    aws.asked();
    let aws = Aws::answering([(
        "DescribeCapacityReservations",
        refusal(403, "UnauthorizedOperation", "You are not authorized"),
    )]);
    let now: Timestamp = NOW.parse().unwrap();
    let error = wait(aws.cloud().capacity_reservations(&terms(json!([{"id": "cr-1"}])), now)).unwrap_err();
    assert!(error.is_denied(), "{error}");
}

#[test]
fn aws_b56_a_placement_group_is_found_by_its_name_or_its_id() {
    let group = |state: &str| {
        let group = format!(
            "<item><groupName>hpc</groupName><groupId>pg-0a</groupId><strategy>partition</strategy>\
             <partitionCount>3</partitionCount><state>{state}</state></item>"
        );
        let set = format!("<placementGroupSet>{group}</placementGroupSet>");
        ("DescribePlacementGroups", xml("DescribePlacementGroups", &set))
    };
    let none = ("DescribePlacementGroups", xml("DescribePlacementGroups", "<placementGroupSet/>"));
    let unknown = ("DescribePlacementGroups", refusal(400, "InvalidPlacementGroup.Unknown", "unknown"));
    let by = |selector: Value| serde_json::from_value::<PlacementGroupSelector>(selector).unwrap();
    for (selector, answer, asks, finds) in [
        (by(json!({"name": "hpc"})), group("available"), "GroupName.1=hpc", Some(("pg-0a", "partition", 3))),
        (by(json!({"id": "pg-0a"})), group("available"), "GroupId.1=pg-0a", Some(("pg-0a", "partition", 3))),
        (by(json!({"name": "hpc"})), none, "GroupName.1=hpc", None),
        (by(json!({"name": "hpc"})), unknown, "GroupName.1=hpc", None),
    ] {
        let aws = Aws::answering([answer]);
        let found = wait(aws.cloud().placement_group(&selector)).unwrap();
        let told = found.as_ref().map(|it| (it.id.as_str(), it.strategy.as_str(), it.partitions));
        assert_eq!(told, finds, "{selector:?}");
        let asked = aws.asked();
        assert!(asked[0].contains(asks) && asked[0].contains("Filter.1.Value.1=available"), "{}", asked[0]);
    }
}
