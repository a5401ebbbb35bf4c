//! What a NodePool comes to: whether its class is ready.

use std::collections::BTreeMap;

use api::crd::{Ec2NodeClassStatus, NodePool};
use api::launches::ALLOWED;
use api::registrations::HEALTHY;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use model::ConditionStatus;
use serde_json::{Value, json};

use super::status::{Verdict, dated, root};

/// The conditions to write, unless they are there already. `classes` are those there are, with their new statuses;
/// `invalid` are the faults of the spec that a schema can't find.
pub(super) fn status(
    pool: &NodePool,
    classes: &BTreeMap<String, Ec2NodeClassStatus>,
    invalid: Option<String>,
    now: Timestamp,
) -> Option<Value> {
    let class = &pool.spec.template.spec.node_class_ref.name;
    let kind = "NodeClassReady";
    let ready = match classes.get(class) {
        None => Verdict::bad(
            kind,
            ConditionStatus::False,
            "NodeClassNotFound",
            format!("EC2NodeClass {class} does not exist"),
        ),
        Some(status) => match status.conditions.iter().find(|known| known.type_ == "Ready") {
            Some(known) if known.status == "True" => Verdict::good(kind),
            Some(known) if known.status == "False" => {
                Verdict::bad(kind, ConditionStatus::False, &known.reason, known.message.clone())
            }
            _ => Verdict::bad(
                kind,
                ConditionStatus::Unknown,
                "NodeClassReadinessUnknown",
                format!("EC2NodeClass {class} is not judged yet"),
            ),
        },
    };
    let valid = match invalid {
        None => Verdict::good("ValidationSucceeded"),
        Some(message) => {
            Verdict::bad("ValidationSucceeded", ConditionStatus::False, "NodePoolValidationFailed", message)
        }
    };
    let mut verdicts = vec![valid, ready];
    verdicts.push(root(&verdicts));
    let old = pool.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let generation = pool.metadata.generation;
    let class_generation = classes.get(class).and_then(generation_of);
    let known = pool.status.as_ref().and_then(|status| status.node_class_observed_generation);
    let counted = old.iter().find(|known| known.type_ == HEALTHY);
    // How nodes of another template or class have joined says nothing of those to come.
    let anew = counted.is_none_or(|counted| counted.observed_generation != generation)
        || class_generation.is_some_and(|now| known != Some(now));
    if anew {
        let reason = "AwaitingReconciliation";
        let message = "object is awaiting reconciliation".to_owned();
        verdicts.push(Verdict::bad(HEALTHY, ConditionStatus::Unknown, reason, message));
    }
    let mut conditions: Vec<Condition> =
        verdicts.into_iter().map(|verdict| dated(verdict, old, generation, now)).collect();
    let ours = |known: &&Condition| {
        conditions.iter().any(|new| new.type_ == known.type_) || (anew && known.type_ == ALLOWED)
    };
    let others: Vec<Condition> = old.iter().filter(|known| !ours(known)).cloned().collect();
    conditions.splice(0..0, others);
    let mut written = json!({ "conditions": conditions });
    if let Some(class_generation) = class_generation {
        written["nodeClassObservedGeneration"] = class_generation.into();
    }
    // Whoever else writes conditions may have another order.
    let changed =
        old.len() != conditions.len() || conditions.iter().any(|condition| !old.contains(condition));
    (anew || changed).then_some(written)
}

/// The generation that a class's status is about.
fn generation_of(status: &Ec2NodeClassStatus) -> Option<i64> {
    status.conditions.iter().find(|known| known.type_ == "Ready")?.observed_generation
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool() -> NodePool {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web", "generation": 2},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
        }))
        .unwrap()
    }

    fn class(ready: &str) -> BTreeMap<String, Ec2NodeClassStatus> {
        let status = json!({"conditions": [{"type": "Ready", "status": ready, "reason": "UnhealthyDependents",
            "message": "AMIsReady=False", "lastTransitionTime": "2026-06-01T12:00:00Z"}]});
        BTreeMap::from([("default".to_owned(), serde_json::from_value(status).unwrap())])
    }

    #[test]
    fn a_pool_is_ready_when_its_class_is_and_is_written_once() {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        for (classes, told) in [
            (class("True"), "NodeClassReady=True NodeClassReady"),
            (class("False"), "NodeClassReady=False UnhealthyDependents"),
            (class("Unknown"), "NodeClassReady=Unknown NodeClassReadinessUnknown"),
            (BTreeMap::new(), "NodeClassReady=False NodeClassNotFound"),
        ] {
            let mut pool = pool();
            let written = status(&pool, &classes, None, now).unwrap();
            pool.status = Some(serde_json::from_value(written).unwrap());
            let conditions = &pool.status.as_ref().unwrap().conditions;
            let found = conditions.iter().find(|known| known.type_ == "NodeClassReady").unwrap();
            assert_eq!(format!("NodeClassReady={} {}", found.status, found.reason), told);
            let of = |kind: &str| conditions.iter().find(|known| known.type_ == kind).unwrap();
            assert_eq!(of("Ready").status, found.status, "Ready follows");
            assert_eq!(of(HEALTHY).reason, "AwaitingReconciliation");
            assert_eq!(status(&pool, &classes, None, now), None, "nothing new to write");
        }
    }

    #[test]
    fn reg_08_registrations_are_counted_anew_for_another_template_or_class() {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        let of = |generation: i64| {
            let mut classes = class("True");
            classes.get_mut("default").unwrap().conditions[0].observed_generation = Some(generation);
            classes
        };
        let mut fine = pool();
        fine.status = Some(serde_json::from_value(status(&fine, &of(1), None, now).unwrap()).unwrap());
        for known in &mut fine.status.as_mut().unwrap().conditions {
            if known.type_ == HEALTHY {
                known.status = "True".to_owned();
            }
        }
        let held = Verdict::bad(ALLOWED, ConditionStatus::False, "Slow", String::new());
        fine.status.as_mut().unwrap().conditions.push(dated(held, &[], None, now));
        let healthy = |pool: &NodePool, class_generation| {
            let written = status(pool, &of(class_generation), None, now)?;
            let written: api::crd::NodePoolStatus = serde_json::from_value(written).unwrap();
            assert_eq!(written.node_class_observed_generation, Some(class_generation));
            assert!(written.conditions.iter().all(|known| known.type_ != ALLOWED), "launches start anew");
            Some(written.conditions.into_iter().find(|known| known.type_ == HEALTHY).unwrap().status)
        };
        assert_eq!(healthy(&fine, 1), None);
        assert_eq!(healthy(&fine, 2).as_deref(), Some("Unknown"), "another class");
        fine.metadata.generation = Some(3);
        assert_eq!(healthy(&fine, 1).as_deref(), Some("Unknown"), "another template");
    }

    #[test]
    fn a_pool_that_is_not_valid_is_not_ready() {
        let now = "2026-06-01T12:00:00Z".parse().unwrap();
        let mut pool = pool();
        let written = status(&pool, &class("True"), Some("spec: odd".to_owned()), now).unwrap();
        pool.status = Some(serde_json::from_value(written).unwrap());
        let told = pool
            .status
            .unwrap()
            .conditions
            .into_iter()
            .map(|known| (known.type_, known.status, known.message));
        let told: Vec<_> = told.filter(|(kind, ..)| kind != "NodeClassReady" && kind != HEALTHY).collect();
        let text = |text: &str| text.to_owned();
        assert_eq!(
            told,
            [
                (text("ValidationSucceeded"), text("False"), text("spec: odd")),
                (text("Ready"), text("False"), text("ValidationSucceeded=False")),
            ]
        );
    }
}
