//! What an EC2NodeClass comes to: the status that the rest reads its subnets, groups and images from.

use api::crd::{Ami, Ec2NodeClass, Ec2NodeClassStatus, SecurityGroup, Subnet};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use model::{ConditionStatus, readiness};

/// What its selectors found in EC2; an error is told in the condition, and what was found before stays.
pub(crate) struct Found {
    /// Subnets, those with most free addresses first.
    pub subnets: Result<Vec<Subnet>, String>,
    /// Security groups.
    pub groups: Result<Vec<SecurityGroup>, String>,
    /// Images, newest first.
    pub images: Result<Vec<Ami>, String>,
    /// The instance profile.
    pub profile: Result<String, String>,
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
    let mut list = |kind, reason, what, result: Result<usize, String>| {
        verdicts.push(match result {
            Ok(0) => Verdict::bad(
                kind,
                ConditionStatus::False,
                reason,
                format!("{what} selector terms did not match any {what}"),
            ),
            Ok(_) => Verdict::good(kind),
            Err(message) => Verdict::bad(kind, ConditionStatus::Unknown, "ResolutionFailed", message),
        });
    };
    let images = found.images.map(|images| status.amis = images).map(|()| status.amis.len());
    list("AMIsReady", "AMINotFound", "AMI", images);
    let subnets = found.subnets.map(|subnets| status.subnets = subnets).map(|()| status.subnets.len());
    list("SubnetsReady", "SubnetsNotFound", "subnet", subnets);
    let groups = found.groups.map(|groups| status.security_groups = groups);
    list(
        "SecurityGroupsReady",
        "SecurityGroupsNotFound",
        "security group",
        groups.map(|()| status.security_groups.len()),
    );
    verdicts.push(match found.profile {
        Ok(profile) => {
            status.instance_profile = Some(profile);
            Verdict::good("InstanceProfileReady")
        }
        Err(message) => {
            Verdict::bad("InstanceProfileReady", ConditionStatus::Unknown, "ResolutionFailed", message)
        }
    });
    verdicts.push(validation(&verdicts, invalid));
    verdicts.push(root(&verdicts));
    let generation = class.metadata.generation;
    let old = std::mem::take(&mut status.conditions);
    status.conditions = verdicts.into_iter().map(|verdict| dated(verdict, &old, generation, now)).collect();
    status
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
