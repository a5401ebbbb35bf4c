//! What a class draws on beside its status: capacity reservations and a placement group, and what is written of them.

use std::collections::BTreeMap;

use api::crd::Ec2NodeClass;
use api::reservations::Counts;
use catalog::class::PlacementGroup;
use cloud::reservations::HeldReservation;
use jiff::Timestamp;
use model::{Claim, labels};
use serde::Serialize;

use crate::world::World;

/// What a class's selectors of reservations and of a placement group found, or why that is not known.
pub(super) struct Drawn {
    /// By id.
    pub reservations: Result<Vec<HeldReservation>, String>,
    /// None if there is none, or none is asked for.
    pub group: Result<Option<PlacementGroup>, String>,
}

impl World {
    pub(super) async fn drawn(&self, class: &Ec2NodeClass, now: Timestamp) -> Drawn {
        let terms = &class.spec.capacity_reservation_selector_terms;
        let reservations = self.cloud.capacity_reservations(terms, now).await;
        let group = match &class.spec.placement_group_selector {
            Some(selector) => self.cloud.placement_group(selector).await,
            None => Ok(None),
        };
        Drawn {
            reservations: reservations.map_err(|error| error.to_string()),
            group: group.map_err(|error| error.to_string()),
        }
    }
}

impl Drawn {
    /// The annotations that a class is to have of it, and those it is to lose; what is not known stays. Counts that are
    /// as they were are dated anew only if a NodeClaim is still held against them: a cluster at rest is not written to.
    pub(super) fn annotations(
        &self,
        class: &Ec2NodeClass,
        claims: &[Claim],
        asked: Timestamp,
    ) -> BTreeMap<&'static str, Option<String>> {
        let mut out = BTreeMap::new();
        if let Ok(group) = &self.group {
            out.insert(labels::PLACEMENT_GROUP, group.as_ref().and_then(text));
        }
        if let Ok(held) = &self.reservations {
            let left = held.iter().map(|held| (held.reservation.id.clone(), held.remaining)).collect();
            let new = Counts { as_of: asked, left };
            let launched_since = |known: &Counts| {
                let mut launched = claims.iter().filter(|claim| claim.provider_id.is_some());
                launched.any(|claim| held.iter().any(|held| known.takes(claim, &held.reservation)))
            };
            let stands =
                Counts::of(class).is_some_and(|known| known.left == new.left && !launched_since(&known));
            if held.is_empty() {
                out.insert(labels::CAPACITY_RESERVATIONS, None);
            } else if !stands {
                out.insert(labels::CAPACITY_RESERVATIONS, text(&new));
            }
        }
        out
    }
}

fn text(value: &impl Serialize) -> Option<String> {
    serde_json::to_string(value).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const BEFORE: &str = "2026-06-01T11:00:00Z";
    const NOW: &str = "2026-06-01T12:00:00Z";

    fn class(annotations: &[(&str, &str)]) -> Ec2NodeClass {
        let annotations: BTreeMap<&str, &str> = annotations.iter().copied().collect();
        serde_json::from_value(json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
            "metadata": {"name": "default", "annotations": annotations},
            "spec": {"amiSelectorTerms": [], "subnetSelectorTerms": [], "securityGroupSelectorTerms": []},
        }))
        .unwrap()
    }

    fn held(id: &str, remaining: u32) -> HeldReservation {
        let reservation = json!({
            "id": id, "availabilityZone": "us-east-1a", "instanceType": "m5.large", "ownerID": "123456789012",
            "instanceMatchCriteria": "targeted",
        });
        HeldReservation { reservation: serde_json::from_value(reservation).unwrap(), remaining }
    }

    fn claim(launched: Option<&str>) -> Claim {
        let status = launched.map(|since| {
            let condition = json!({"type": "Launched", "status": "True", "reason": "Launched", "message": "",
                "lastTransitionTime": since, "observedGeneration": 1});
            json!({"providerID": "aws:///us-east-1a/i-1", "conditions": [condition]})
        });
        let written = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
            "metadata": {"name": "a", "labels": {labels::RESERVATION_ID: "cr-1"}},
            "spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            },
            "status": status.unwrap_or(json!({})),
        });
        api::lower::claim(&serde_json::from_value(written).unwrap()).unwrap()
    }

    #[test]
    fn counts_are_written_when_they_change_or_are_held_against_a_launch() {
        let counts = |at: &str, left: u32| format!(r#"{{"asOf":"{at}","left":{{"cr-1":{left}}}}}"#);
        let known = counts(BEFORE, 2);
        let written = |text: &str| Some(Some(text.to_owned()));
        let dated = counts(NOW, 2);
        #[rustfmt::skip]
        let table = [
            ("the first", vec![], Ok(vec![held("cr-1", 2)]), None, written(&dated)),
            ("as before", vec![known.as_str()], Ok(vec![held("cr-1", 2)]), None, None),
            ("fewer", vec![&known], Ok(vec![held("cr-1", 1)]), None, written(&counts(NOW, 1))),
            ("one launched meanwhile", vec![&known], Ok(vec![held("cr-1", 2)]), Some(claim(Some(NOW))), written(&dated)),
            ("one launched long ago", vec![&known], Ok(vec![held("cr-1", 2)]), Some(claim(Some("2026-06-01T10:00:00Z"))), None),
            ("one that isn't yet", vec![&known], Ok(vec![held("cr-1", 2)]), Some(claim(None)), None),
            ("none any more", vec![&known], Ok(vec![]), None, Some(None)),
            ("not to be asked", vec![&known], Err("throttled".to_owned()), None, None),
            ("not ours", vec!["many"], Ok(vec![held("cr-1", 2)]), None, written(&dated)),
        ];
        for (what, known, reservations, claim, expected) in table {
            let class =
                class(&known.iter().map(|text| (labels::CAPACITY_RESERVATIONS, *text)).collect::<Vec<_>>());
            let drawn = Drawn { reservations, group: Err("not asked".into()) };
            let claims: Vec<Claim> = claim.into_iter().collect();
            let mut annotations = drawn.annotations(&class, &claims, NOW.parse().unwrap());
            assert_eq!(annotations.remove(labels::CAPACITY_RESERVATIONS), expected, "{what}");
            assert_eq!(annotations, BTreeMap::new(), "{what}");
        }
    }

    #[test]
    fn a_placement_group_is_written_while_there_is_one() {
        let group = || PlacementGroup { id: "pg-1".into(), strategy: "partition".into(), partitions: 3 };
        let text = r#"{"id":"pg-1","strategy":"partition","partitions":3}"#;
        for (group, expected) in [
            (Ok(Some(group())), Some(Some(text.to_owned()))),
            (Ok(None), Some(None)),
            (Err("denied".to_owned()), None),
        ] {
            let drawn = Drawn { reservations: Err("not asked".into()), group };
            let annotations = drawn.annotations(&class(&[]), &[], NOW.parse().unwrap());
            assert_eq!(annotations.get(labels::PLACEMENT_GROUP).cloned(), expected);
        }
    }
}
