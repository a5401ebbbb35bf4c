//! What a NodePool comes to: whether its class is ready.

use std::collections::BTreeMap;

use api::crd::{Ec2NodeClassStatus, NodePool};
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
    let mut conditions: Vec<Condition> =
        verdicts.into_iter().map(|verdict| dated(verdict, old, generation, now)).collect();
    let ours = |known: &&Condition| !conditions.iter().any(|new| new.type_ == known.type_);
    let others: Vec<Condition> = old.iter().filter(ours).cloned().collect();
    conditions.splice(0..0, others);
    (conditions != old).then(|| json!({"conditions": conditions}))
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
            assert_eq!(conditions.last().unwrap().status, found.status, "Ready follows");
            assert_eq!(status(&pool, &classes, None, now), None, "nothing new to write");
        }
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
        let told: Vec<_> = told.filter(|(kind, ..)| kind != "NodeClassReady").collect();
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
