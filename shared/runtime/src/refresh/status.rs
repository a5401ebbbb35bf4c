//! What an EC2NodeClass comes to: the status that the rest reads its subnets, groups and images from.

use api::crd::{Ami, CapacityReservation, Ec2NodeClass, Ec2NodeClassStatus, SecurityGroup, Subnet};
use cloud::images::Alias;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use model::{ConditionStatus, readiness};
use serde_json::{Map, Value};

/// What its selectors found in EC2; an error is told in the condition, and what was found before stays.
pub(crate) struct Found {
    /// Subnets, those with most free addresses first.
    pub subnets: Result<Vec<Subnet>, String>,
    /// Security groups.
    pub groups: Result<Vec<SecurityGroup>, String>,
    /// Images, newest first.
    pub images: Result<Vec<Ami>, NoImages>,
    /// The instance profile.
    pub profile: Result<String, String>,
    /// Capacity reservations, by id.
    pub reservations: Result<Vec<CapacityReservation>, String>,
    /// Whether the placement group is there that is asked for.
    pub group: Result<bool, String>,
}

/// Why there are no images.
pub(crate) enum NoImages {
    /// AWS makes none of that alias for that version of Kubernetes.
    Unsupported(String),
    /// EC2 or SSM could not tell.
    Unknown(String),
}

/// The alias of a class that AWS makes no images of for a version of Kubernetes.
pub(super) fn unsupported_alias(class: &Ec2NodeClass, kubernetes: &str) -> Option<NoImages> {
    let mut aliases = class.spec.ami_selector_terms.iter().filter_map(|term| term.alias.as_deref());
    let alias =
        aliases.find(|text| Alias::read(text).is_some_and(|alias| !alias.is_supported(kubernetes)))?;
    Some(NoImages::Unsupported(format!("AWS makes no images of {alias} for Kubernetes {kubernetes}")))
}

/// A condition before it has a time.
pub(super) struct Verdict {
    kind: &'static str,
    status: ConditionStatus,
    reason: String,
    message: String,
}

impl Verdict {
    pub(super) fn good(kind: &'static str) -> Self {
        Self { kind, status: ConditionStatus::True, reason: kind.to_owned(), message: String::new() }
    }

    pub(super) fn bad(kind: &'static str, status: ConditionStatus, reason: &str, message: String) -> Self {
        Self { kind, status, reason: reason.to_owned(), message }
    }
}

/// The new status. `invalid` are the faults of the spec that a schema can't find.
pub(crate) fn status(
    class: &Ec2NodeClass,
    found: Found,
    invalid: Option<String>,
    now: Timestamp,
) -> Ec2NodeClassStatus {
    let mut status = class.status.clone().unwrap_or_default();
    let mut verdicts = Vec::new();
    let list = |kind, reason, what, result: Result<usize, String>| match result {
        Ok(0) => Verdict::bad(
            kind,
            ConditionStatus::False,
            reason,
            format!("{what} selector terms did not match any {what}"),
        ),
        Ok(_) => Verdict::good(kind),
        Err(message) => unknown(kind, message),
    };
    let images = found.images.map(|images| status.amis = images).map(|()| status.amis.len());
    verdicts.push(match images {
        Err(NoImages::Unsupported(message)) => {
            Verdict::bad("AMIsReady", ConditionStatus::False, "UnsupportedAlias", message)
        }
        Err(NoImages::Unknown(message)) => unknown("AMIsReady", message),
        Ok(count) => list("AMIsReady", "AMINotFound", "AMI", Ok(count)),
    });
    let subnets = found.subnets.map(|subnets| status.subnets = subnets).map(|()| status.subnets.len());
    verdicts.push(list("SubnetsReady", "SubnetsNotFound", "subnet", subnets));
    let groups = found.groups.map(|groups| status.security_groups = groups);
    verdicts.push(list(
        "SecurityGroupsReady",
        "SecurityGroupsNotFound",
        "security group",
        groups.map(|()| status.security_groups.len()),
    ));
    verdicts.push(match found.profile {
        Ok(profile) => {
            status.instance_profile = Some(profile);
            Verdict::good("InstanceProfileReady")
        }
        Err(message) => unknown("InstanceProfileReady", message),
    });
    // None is as good as some: what may draw on reservations may do without.
    verdicts.push(match found.reservations.map(|reservations| status.capacity_reservations = reservations) {
        Ok(()) => Verdict::good("CapacityReservationsReady"),
        Err(message) => unknown("CapacityReservationsReady", message),
    });
    verdicts.push(placement(found.group));
    verdicts.push(validation(&verdicts, invalid));
    verdicts.push(root(&verdicts));
    let generation = class.metadata.generation;
    let old = std::mem::take(&mut status.conditions);
    status.conditions = verdicts.into_iter().map(|verdict| dated(verdict, &old, generation, now)).collect();
    status
}

fn unknown(kind: &'static str, message: String) -> Verdict {
    Verdict::bad(kind, ConditionStatus::Unknown, "ResolutionFailed", message)
}

/// Without its group, or without knowing it, nothing is launched.
fn placement(group: Result<bool, String>) -> Verdict {
    let kind = "PlacementGroupReady";
    let bad = |reason, message| Verdict::bad(kind, ConditionStatus::False, reason, message);
    match group {
        Ok(true) => Verdict::good(kind),
        Ok(false) => bad(
            "PlacementGroupNotFound",
            "placement group selector did not match any placement group".to_owned(),
        ),
        Err(message) => bad("PlacementGroupResolutionFailed", message),
    }
}

/// What is to be written of a status: in a merge, what is no more must be said.
pub(super) fn written(old: Option<&Ec2NodeClassStatus>, new: &Ec2NodeClassStatus) -> Value {
    let fields = |status: &Ec2NodeClassStatus| match serde_json::to_value(status) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    let mut written = fields(new);
    for (field, _) in old.map(fields).into_iter().flatten() {
        written.entry(field).or_insert(Value::Null);
    }
    Value::Object(written)
}

fn validation(dependencies: &[Verdict], invalid: Option<String>) -> Verdict {
    let kind = "ValidationSucceeded";
    if let Some(message) = invalid {
        return Verdict::bad(kind, ConditionStatus::False, "InvalidSpec", message);
    }
    match dependencies.iter().find(|verdict| verdict.status != ConditionStatus::True) {
        None => Verdict::good(kind),
        Some(verdict) => Verdict::bad(
            kind,
            readiness(dependencies.iter().map(|verdict| (verdict.kind, verdict.status, true))).0,
            "DependenciesNotReady",
            format!("{}: {}", verdict.kind, verdict.message),
        ),
    }
}

pub(super) fn root(dependents: &[Verdict]) -> Verdict {
    let (status, reason, message) =
        readiness(dependents.iter().map(|verdict| (verdict.kind, verdict.status, true)));
    Verdict { kind: "Ready", status, reason: reason.to_owned(), message }
}

/// A condition's time moves only with its status.
pub(super) fn dated(
    verdict: Verdict,
    old: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    let before =
        old.iter().find(|known| known.type_ == verdict.kind && known.status == verdict.status.as_str());
    Condition {
        last_transition_time: before.map_or(Time(now), |known| known.last_transition_time.clone()),
        message: verdict.message,
        observed_generation: generation,
        reason: verdict.reason,
        status: verdict.status.as_str().to_owned(),
        type_: verdict.kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class() -> Ec2NodeClass {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
            "metadata": {"name": "default", "generation": 3},
            "spec": {
                "amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "nodes",
                "subnetSelectorTerms": [{"id": "subnet-0a"}], "securityGroupSelectorTerms": [{"id": "sg-0a"}],
            },
        }))
        .unwrap()
    }

    fn found() -> Found {
        Found {
            subnets: Ok(vec![Subnet { id: "subnet-0a".into(), zone: "us-east-1a".into(), zone_id: None }]),
            groups: Ok(vec![SecurityGroup { id: "sg-0a".into(), name: None }]),
            images: Ok(vec![Ami { id: "ami-0a".into(), ..Ami::default() }]),
            profile: Ok("nodes".into()),
            reservations: Ok(vec![]),
            group: Ok(true),
        }
    }

    fn told(status: &Ec2NodeClassStatus) -> Vec<String> {
        let tell = |known: &Condition| format!("{}={} {}", known.type_, known.status, known.reason);
        status.conditions.iter().filter(|known| known.status != "True").map(tell).collect()
    }

    #[test]
    fn a_class_is_ready_when_all_it_needs_is_found() {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        let status = status(&class(), found(), None, now);
        assert_eq!(told(&status), Vec::<String>::new());
        assert_eq!(status.conditions.last().unwrap().type_, "Ready");
        assert_eq!(status.conditions.last().unwrap().observed_generation, Some(3));
        assert_eq!(status.instance_profile.as_deref(), Some("nodes"));
    }

    #[test]
    fn what_is_missing_is_said_and_what_could_not_be_asked_is_kept() {
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        let later: Timestamp = "2026-06-01T13:00:00Z".parse().unwrap();
        let mut class = class();
        class.status = Some(status(&class, found(), None, now));
        let cases: [(Found, Option<String>, &[&str]); 4] = [
            (
                Found { images: Ok(vec![]), ..found() },
                None,
                &[
                    "AMIsReady=False AMINotFound",
                    "ValidationSucceeded=False DependenciesNotReady",
                    "Ready=False UnhealthyDependents",
                ],
            ),
            (
                Found { subnets: Err("throttled".into()), ..found() },
                None,
                &[
                    "SubnetsReady=Unknown ResolutionFailed",
                    "ValidationSucceeded=Unknown DependenciesNotReady",
                    "Ready=Unknown ReconcilingDependents",
                ],
            ),
            (
                found(),
                Some("kubelet: maxPods is negative".into()),
                &["ValidationSucceeded=False InvalidSpec", "Ready=False UnhealthyDependents"],
            ),
            (found(), None, &[]),
        ];
        for (found, invalid, expected) in cases {
            let status = status(&class, found, invalid, later);
            assert_eq!(told(&status), expected);
            assert_eq!(status.subnets.len(), 1, "known subnets stay");
            for known in &status.conditions {
                let moved = known.status != "True";
                assert_eq!(known.last_transition_time.0 == later, moved, "{}", known.type_);
            }
        }
    }

    #[test]
    fn aws_b51_an_alias_has_images_for_some_versions_only() {
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        for (alias, kubernetes, supported) in [
            ("al2@latest", "1.32", true),
            ("al2@latest", "1.33", false),
            ("windows2025@latest", "1.34", false),
            ("windows2025@latest", "1.35", true),
        ] {
            let mut class = class();
            class.status = Some(status(&class, found(), None, now));
            class.spec.ami_selector_terms[0].alias = Some(alias.into());
            let found = match unsupported_alias(&class, kubernetes) {
                None => found(),
                Some(why) => Found { images: Err(why), ..found() },
            };
            let status = status(&class, found, None, now);
            let expected = if supported { None } else { Some("AMIsReady=False UnsupportedAlias") };
            assert_eq!(told(&status).first().map(String::as_str), expected, "{alias} {kubernetes}");
            assert_eq!(status.amis.len(), 1, "nodes that run have not drifted");
        }
    }

    #[test]
    fn aws_b56_a_placement_group_that_is_asked_for_must_be_there() {
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        for (group, expected) in [
            (Ok(true), None),
            (Ok(false), Some("PlacementGroupReady=False PlacementGroupNotFound")),
            (Err("denied".to_owned()), Some("PlacementGroupReady=False PlacementGroupResolutionFailed")),
        ] {
            let status = status(&class(), Found { group, ..found() }, None, now);
            assert_eq!(told(&status).first().map(String::as_str), expected);
        }
    }

    #[test]
    fn aws_b57_reservations_are_listed_and_none_is_fine() {
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        let reservation: CapacityReservation = serde_json::from_value(serde_json::json!({
            "id": "cr-1", "availabilityZone": "us-east-1a", "instanceType": "m5.large", "ownerID": "123456789012",
            "instanceMatchCriteria": "targeted",
        }))
        .unwrap();
        let mut class = class();
        class.status =
            Some(status(&class, Found { reservations: Ok(vec![reservation.clone()]), ..found() }, None, now));
        let known = class.status.clone().unwrap();
        assert_eq!(known.capacity_reservations, std::slice::from_ref(&reservation));
        assert_eq!(told(&known), Vec::<String>::new());
        let unasked = Found { reservations: Err("throttled".into()), ..found() };
        let unasked = status(&class, unasked, None, now);
        assert_eq!(unasked.capacity_reservations, [reservation], "what was known stays");
        assert_eq!(told(&unasked)[0], "CapacityReservationsReady=Unknown ResolutionFailed");
        let none = status(&class, found(), None, now);
        assert_eq!(told(&none), Vec::<String>::new());
        assert_eq!(written(Some(&known), &none)["capacityReservations"], Value::Null, "said in the merge");
        assert!(written(Some(&known), &none).as_object().unwrap().contains_key("capacityReservations"));
    }

    #[test]
    fn aws_b47_aws_b49_aws_b55_what_selects_nothing_is_named_and_nothing_is_left_of_it() {
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        let mut class = class();
        class.status = Some(status(&class, found(), None, now));
        for (found, expected) in [
            (Found { subnets: Ok(vec![]), ..found() }, "SubnetsReady=False SubnetsNotFound"),
            (Found { groups: Ok(vec![]), ..found() }, "SecurityGroupsReady=False SecurityGroupsNotFound"),
            (Found { images: Ok(vec![]), ..found() }, "AMIsReady=False AMINotFound"),
        ] {
            let status = status(&class, found, None, now);
            assert_eq!(told(&status)[0], expected);
            let left = status.amis.len() + status.subnets.len() + status.security_groups.len();
            assert_eq!(left, 2, "{expected}");
        }
    }
}
