//! Whether a status is about the spec that is there now.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};

use super::{Ec2NodeClass, NodePool};

impl Ec2NodeClass {
    /// Whether its condition Ready is about its present generation.
    pub fn is_judged(&self) -> bool {
        let status = self.status.as_ref();
        is_judged(&self.metadata, status.map(|status| status.conditions.as_slice()))
    }
}

impl NodePool {
    /// Whether its condition Ready is about its present generation.
    pub fn is_judged(&self) -> bool {
        let status = self.status.as_ref();
        is_judged(&self.metadata, status.map(|status| status.conditions.as_slice()))
    }
}

fn is_judged(metadata: &ObjectMeta, conditions: Option<&[Condition]>) -> bool {
    let ready = conditions.unwrap_or_default().iter().find(|condition| condition.type_ == "Ready");
    ready.is_some_and(|ready| ready.observed_generation == metadata.generation)
}
