//! What an EC2NodeClass draws on beside its status: how many machines its capacity reservations still hold, and its
//! placement group. Karpenter's status has no field for either, so they are annotations, and what decides has no need to
//! ask EC2.

use std::collections::BTreeMap;

use catalog::class::PlacementGroup;
use jiff::{SignedDuration, Timestamp};
use model::{CapacityType, Claim, labels};
use serde::{Deserialize, Serialize};

use crate::crd::{CapacityReservation, Ec2NodeClass};

/// The kind of a reservation that was bought for a time.
pub const BLOCK: &str = "capacity-block";
/// The kind of any other.
pub const ORDINARY: &str = "default";
/// The state of one that machines may be launched in.
pub const ACTIVE: &str = "active";
/// The state of one that they may not be launched in any more.
pub const EXPIRING: &str = "expiring";

/// So long before a block ends nothing is launched in it any more: EC2 takes its machines back from half an hour before.
const NOTICE: SignedDuration = SignedDuration::from_mins(40);

/// How many machines reservations held, as EC2 told at a time.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    /// EC2 was asked no earlier than this: what was launched before is counted.
    pub as_of: Timestamp,
    /// How many more each held, by id.
    pub left: BTreeMap<String, u32>,
}

impl Counts {
    /// As they are written on a class.
    pub fn of(class: &Ec2NodeClass) -> Option<Self> {
        read(class, labels::CAPACITY_RESERVATIONS)
    }

    /// Whether a NodeClaim may take one of a reservation's places that were free then: it draws on it, or may once it is
    /// launched, and EC2 can't have counted it yet. One that was launched while EC2 was asked, or is known by its launch
    /// only later, counts twice until EC2 is asked again: sooner a place too few than one too many.
    pub fn takes(&self, claim: &Claim, reservation: &CapacityReservation) -> bool {
        let Some(launched) = claim.conditions.get("Launched").filter(|_| claim.provider_id.is_some()) else {
            let admits = |key: &str, value: &str| {
                claim.requirements.get(key).is_none_or(|requirement| requirement.has(value))
            };
            return admits(labels::CAPACITY_TYPE, CapacityType::Reserved.as_str())
                && admits(labels::RESERVATION_ID, &reservation.id)
                && admits(labels::INSTANCE_TYPE, &reservation.instance_type)
                && admits(labels::ZONE, &reservation.availability_zone);
        };
        launched.since >= self.as_of && claim.labels.get(labels::RESERVATION_ID) == Some(&reservation.id)
    }
}

/// The placement group as it is written on a class.
pub(crate) fn placement_group(class: &Ec2NodeClass) -> Option<PlacementGroup> {
    class.spec.placement_group_selector.as_ref()?;
    read(class, labels::PLACEMENT_GROUP)
}

/// What is not written, or not by us, is as good as not known.
fn read<T: for<'de> Deserialize<'de>>(class: &Ec2NodeClass, key: &str) -> Option<T> {
    serde_json::from_str(class.metadata.annotations.as_ref()?.get(key)?).ok()
}

/// The reservations in a class's status.
pub(crate) fn found(class: &Ec2NodeClass) -> &[CapacityReservation] {
    class.status.as_ref().map(|status| status.capacity_reservations.as_slice()).unwrap_or_default()
}

/// The state of a reservation; none once it has ended.
pub fn state(kind: &str, ends: Option<Timestamp>, now: Timestamp) -> Option<&'static str> {
    match ends {
        Some(ends) if ends <= now => None,
        Some(ends) if kind == BLOCK && ends.duration_since(now) <= NOTICE => Some(EXPIRING),
        _ => Some(ACTIVE),
    }
}

/// Whether time alone has made something else of a class's reservations than its status says. One that was asked to go
/// is judged no more.
pub fn is_outdated(class: &Ec2NodeClass, now: Timestamp) -> bool {
    if class.metadata.deletion_timestamp.is_some() {
        return false;
    }
    found(class).iter().any(|known| {
        let ends = known.end_time.as_ref().map(|ends| ends.0);
        state(&known.reservation_type, ends, now) != Some(known.state.as_str())
    })
}

/// The blocks among a class's reservations that are about to end, by id: EC2 takes their machines back.
pub fn expiring(class: &Ec2NodeClass, now: Timestamp) -> impl Iterator<Item = &String> {
    let ends = move |known: &&CapacityReservation| {
        let ends = known.end_time.as_ref().map(|ends| ends.0);
        known.reservation_type == BLOCK && state(BLOCK, ends, now) != Some(ACTIVE)
    };
    found(class).iter().filter(ends).map(|known| &known.id)
}

#[cfg(test)]
mod tests {
    use model::{Condition, ConditionStatus, Requirement, Requirements};
    use serde_json::json;

    use super::*;

    fn reservation() -> CapacityReservation {
        serde_json::from_value(json!({
            "id": "cr-1", "availabilityZone": "us-east-1a", "instanceType": "m5.large", "ownerID": "123456789012",
            "instanceMatchCriteria": "targeted",
        }))
        .unwrap()
    }

    fn claim() -> Claim {
        let written = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": {"name": "a"},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            },
        });
        crate::lower::claim(&serde_json::from_value(written).unwrap()).unwrap()
    }

    fn asks(of: &[(&str, &[&str])]) -> Claim {
        let mut requirements = Requirements::new();
        for (key, values) in of {
            requirements.add(key, Requirement::is_in(values.iter().copied()));
        }
        Claim { requirements, ..claim() }
    }

    fn launched(since: &str, reservation: Option<&str>) -> Claim {
        let condition = Condition {
            status: ConditionStatus::True,
            reason: "Launched".into(),
            message: String::new(),
            since: since.parse().unwrap(),
            generation: 1,
        };
        Claim {
            provider_id: Some("aws:///us-east-1a/i-1".into()),
            conditions: [("Launched".to_owned(), condition)].into(),
            labels: reservation
                .map(|id| (labels::RESERVATION_ID.to_owned(), id.to_owned()))
                .into_iter()
                .collect(),
            ..claim()
        }
    }

    #[test]
    fn a_place_is_taken_by_what_may_draw_on_it_and_is_not_counted_yet() {
        let counts = Counts { as_of: "2026-06-01T12:00:00Z".parse().unwrap(), left: BTreeMap::new() };
        #[rustfmt::skip]
        let table = [
            ("anything will do", claim(), true),
            ("by its id", asks(&[(labels::RESERVATION_ID, &["cr-1"]), (labels::CAPACITY_TYPE, &["reserved"])]), true),
            ("another's id", asks(&[(labels::RESERVATION_ID, &["cr-2"])]), false),
            ("not reserved", asks(&[(labels::CAPACITY_TYPE, &["on-demand", "spot"])]), false),
            ("reserved or not", asks(&[(labels::CAPACITY_TYPE, &["on-demand", "reserved"])]), true),
            ("another type", asks(&[(labels::INSTANCE_TYPE, &["m5.xlarge"])]), false),
            ("another zone", asks(&[(labels::ZONE, &["us-east-1b"])]), false),
            ("launched in it before", launched("2026-06-01T11:59:59Z", Some("cr-1")), false),
            ("launched in it meanwhile", launched("2026-06-01T12:00:00Z", Some("cr-1")), true),
            ("launched in another", launched("2026-06-01T12:01:00Z", Some("cr-2")), false),
            ("fell back to on-demand", launched("2026-06-01T12:01:00Z", None), false),
        ];
        for (what, claim, takes) in table {
            assert_eq!(counts.takes(&claim, &reservation()), takes, "{what}");
        }
    }

    #[test]
    fn aws_b57_aws_b58_blocks_expire_before_they_end_and_what_has_ended_is_none() {
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        let after = |minutes| Some(now + SignedDuration::from_mins(minutes));
        for (kind, ends, expected) in [
            (ORDINARY, None, Some(ACTIVE)),
            (ORDINARY, after(1), Some(ACTIVE)),
            (ORDINARY, after(0), None),
            (BLOCK, after(41), Some(ACTIVE)),
            (BLOCK, after(40), Some(EXPIRING)),
            (BLOCK, after(-1), None),
        ] {
            assert_eq!(state(kind, ends, now), expected, "{kind} {ends:?}");
            let mut reservation = reservation();
            reservation.reservation_type = kind.to_owned();
            reservation.end_time = ends.map(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time);
            let mut class = class(json!({}));
            class.status.get_or_insert_default().capacity_reservations.push(reservation);
            assert_eq!(is_outdated(&class, now), expected != Some(ACTIVE), "{kind} {ends:?}");
            // Machines outlive an ordinary reservation; a block takes them with it.
            let leaves = kind == BLOCK && expected != Some(ACTIVE);
            assert_eq!(expiring(&class, now).count(), usize::from(leaves), "{kind} {ends:?}");
        }
    }

    fn class(annotations: serde_json::Value) -> Ec2NodeClass {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
            "metadata": {"name": "default", "annotations": annotations},
            "spec": {"amiSelectorTerms": [], "subnetSelectorTerms": [], "securityGroupSelectorTerms": []},
        }))
        .unwrap()
    }

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        let text = r#"{"asOf":"2026-06-01T12:00:00Z","left":{"cr-1":3}}"#;
        let counts = Counts::of(&class(json!({labels::CAPACITY_RESERVATIONS: text}))).unwrap();
        assert_eq!(counts.left["cr-1"], 3);
        assert_eq!(serde_json::to_string(&counts).unwrap(), text);
        for odd in ["", "3", r#"{"left":{}}"#, r#"{"asOf":"2026-06-01T12:00:00Z","left":{"cr-1":-1}}"#] {
            assert_eq!(Counts::of(&class(json!({labels::CAPACITY_RESERVATIONS: odd}))), None, "{odd}");
        }
        let text = r#"{"id":"pg-1","strategy":"partition","partitions":3}"#;
        let mut grouped = class(json!({labels::PLACEMENT_GROUP: text}));
        assert_eq!(placement_group(&grouped), None, "what nobody asks for any more");
        grouped.spec.placement_group_selector = Some(serde_json::from_value(json!({"name": "hpc"})).unwrap());
        let group = placement_group(&grouped).unwrap();
        assert_eq!((group.id.as_str(), group.strategy.as_str(), group.partitions), ("pg-1", "partition", 3));
    }
}
