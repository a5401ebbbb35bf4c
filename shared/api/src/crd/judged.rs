//! Whether a status is about what is there now.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};

use super::{Ec2NodeClass, NodePool};

impl Ec2NodeClass {
    /// Whether its condition Ready is about its present generation. One that was asked to go is judged no more.
    pub fn is_judged(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
            || is_of_generation(self.condition("Ready"), &self.metadata)
    }

    fn condition(&self, kind: &str) -> Option<&Condition> {
        find(self.status.as_ref().map(|status| status.conditions.as_slice()), kind)
    }
}

impl NodePool {
    /// Whether its condition Ready is about its present generation, and knows what its class, if there is one, has
    /// come to since.
    pub fn is_judged(&self, class: Option<&Ec2NodeClass>) -> bool {
        let class = match class {
            None => "False",
            Some(class) if class.metadata.deletion_timestamp.is_some() => "False",
            Some(class) => class.condition("Ready").map_or("Unknown", |ready| &ready.status),
        };
        is_of_generation(self.condition("Ready"), &self.metadata)
            && self.condition("NodeClassReady").is_some_and(|known| known.status == class)
    }

    /// The condition of a type.
    pub(crate) fn condition(&self, kind: &str) -> Option<&Condition> {
        find(self.status.as_ref().map(|status| status.conditions.as_slice()), kind)
    }
}

fn find<'a>(conditions: Option<&'a [Condition]>, kind: &str) -> Option<&'a Condition> {
    conditions.unwrap_or_default().iter().find(|condition| condition.type_ == kind)
}

fn is_of_generation(ready: Option<&Condition>, metadata: &ObjectMeta) -> bool {
    ready.is_some_and(|ready| ready.observed_generation == metadata.generation)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conditions(generation: i64, status: &[(&str, &str)]) -> serde_json::Value {
        let condition = |(kind, status): &(&str, &str)| {
            json!({"type": kind, "status": status, "reason": "", "message": "", "observedGeneration": generation,
                "lastTransitionTime": "2026-06-01T12:00:00Z"})
        };
        json!({ "conditions": status.iter().map(condition).collect::<Vec<_>>() })
    }

    fn going(mut class: Ec2NodeClass) -> Ec2NodeClass {
        class.metadata.deletion_timestamp = serde_json::from_value(json!("2026-06-01T12:00:00Z")).unwrap();
        class.metadata.generation = Some(2);
        class
    }

    fn class(ready: &str) -> Ec2NodeClass {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "a", "generation": 1},
            "spec": {"amiSelectorTerms": [], "subnetSelectorTerms": [], "securityGroupSelectorTerms": []},
            "status": conditions(1, &[("Ready", ready)]),
        }))
        .unwrap()
    }

    #[test]
    fn a_pool_is_judged_anew_when_its_class_has_changed_its_mind() {
        let class_ready = |status| [("NodeClassReady", status), ("Ready", status)];
        for (generation, known, class, judged) in [
            (2, class_ready("True"), Some(class("True")), true),
            (1, class_ready("True"), Some(class("True")), false),
            (2, class_ready("Unknown"), Some(class("True")), false),
            (2, class_ready("True"), Some(class("False")), false),
            (2, class_ready("True"), None, false),
            (2, class_ready("True"), Some(going(class("True"))), false),
            (2, class_ready("False"), Some(going(class("True"))), true),
            (2, class_ready("False"), None, true),
        ] {
            let pool: NodePool = serde_json::from_value(json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web", "generation": 2},
                "spec": {"template": {"spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"},
                    "requirements": [],
                }}},
                "status": conditions(generation, &known),
            }))
            .unwrap();
            assert!(class.as_ref().is_none_or(Ec2NodeClass::is_judged));
            assert_eq!(pool.is_judged(class.as_ref()), judged, "{generation} {known:?}");
        }
    }
}
