//! The way back: objects to write, from the model.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::api::resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::labels::{FINALIZER, USD_PER_HOUR};
use model::{MicroUsd, NodeClaimDraft, Operator, Requirements, Resources, Taint};

use crate::crd;

/// The NodeClaim to write for a draft. Its owner is for those to add who know the pool's uid.
pub fn node_claim(draft: &NodeClaimDraft) -> crd::NodeClaim {
    let requests = resources(&draft.requests);
    crd::NodeClaim {
        api_version: crd::Kind::NodeClaim.api_version().to_owned(),
        kind: crd::Kind::NodeClaim.name().to_owned(),
        metadata: ObjectMeta {
            name: Some(draft.name.clone()),
            labels: Some(draft.labels.clone()),
            annotations: Some(draft.annotations.clone()).filter(|annotations| !annotations.is_empty()),
            finalizers: Some(vec![FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec: crd::NodeClaimSpec {
            taints: taints(&draft.taints),
            startup_taints: taints(&draft.startup_taints),
            requirements: requirements(&draft.requirements),
            resources: (!requests.is_empty()).then_some(crd::ResourceRequests { requests }),
            node_class_ref: crd::NodeClassReference {
                group: draft.node_class.group.clone(),
                kind: draft.node_class.kind.clone(),
                name: draft.node_class.name.clone(),
            },
            termination_grace_period: draft.termination_grace_period.map(duration),
            expire_after: draft.expire_after.map_or_else(|| "Never".to_owned(), duration),
        },
        status: None,
    }
}

/// Taints as objects have them.
pub fn taints(taints: &[Taint]) -> Vec<core::Taint> {
    let taints = taints.iter().map(|taint| core::Taint {
        key: taint.key.clone(),
        value: Some(taint.value.clone()).filter(|value| !value.is_empty()),
        effect: format!("{:?}", taint.effect),
        time_added: None,
    });
    taints.collect()
}

/// Amounts as objects have them.
pub fn resources(amounts: &Resources) -> BTreeMap<String, resource::Quantity> {
    amounts.iter().map(|(name, amount)| (name.to_owned(), resource::Quantity(amount.display(name)))).collect()
}

/// A duration as the API has it.
pub fn duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs().max(0);
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let text: String =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, unit)| format!("{count}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// Requirements as objects have them; where a label has several, the last carries the demand for values.
fn requirements(requirements: &Requirements) -> Vec<crd::Requirement> {
    let mut written = Vec::new();
    for (key, requirement) in requirements.iter() {
        for (operator, values) in requirement.entries() {
            let values = if key == USD_PER_HOUR { dollars(values) } else { values };
            written.push(crd::Requirement {
                key: key.to_owned(),
                operator: operator_of(operator),
                values,
                min_values: None,
            });
        }
        if let (Some(last), Some(least)) = (written.last_mut(), requirement.min_values) {
            last.min_values = Some(i64::from(least));
        }
    }
    written
}

/// Bounds on prices, in dollars again.
fn dollars(micro: Vec<String>) -> Vec<String> {
    let price = |text: String| text.parse().map_or(text, |micro: u64| MicroUsd(micro).to_string());
    micro.into_iter().map(price).collect()
}

fn operator_of(operator: Operator) -> crd::Operator {
    match operator {
        Operator::In => crd::Operator::In,
        Operator::NotIn => crd::Operator::NotIn,
        Operator::Exists => crd::Operator::Exists,
        Operator::DoesNotExist => crd::Operator::DoesNotExist,
        Operator::Gt => crd::Operator::Gt,
        Operator::Lt => crd::Operator::Lt,
        Operator::Gte => crd::Operator::Gte,
        Operator::Lte => crd::Operator::Lte,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lower::pools;
    use model::Requirement;

    #[test]
    fn durations_are_read_as_they_were_meant() {
        for (seconds, text) in
            [(0, "0s"), (45, "45s"), (90, "1m30s"), (3600, "1h"), (2_592_000, "720h"), (3661, "1h1m1s")]
        {
            let meant = SignedDuration::from_secs(seconds);
            assert_eq!(duration(meant), text);
            assert_eq!(crd::duration(text), Some(meant));
        }
    }

    #[test]
    fn requirements_are_read_as_they_were_meant() {
        let meant: Requirements = [
            ("node.kubernetes.io/instance-type", Requirement::is_in(["a", "b"]).with_min_values(Some(2))),
            (
                "karpenter.k8s.aws/instance-cpu",
                Requirement::within(Some(4), Some(16)).with_min_values(Some(3)),
            ),
            ("karpenter.k8s.aws/instance-generation", Requirement::within(Some(5), None)),
            ("team", Requirement::not_in(["x"])),
            ("gpu", Requirement::does_not_exist()),
            ("spot", Requirement::exists()),
            (USD_PER_HOUR, Requirement::within(Some(1), Some(250_001))),
        ]
        .into_iter()
        .map(|(key, requirement)| (key.to_owned(), requirement))
        .collect();
        assert_eq!(pools::requirements(&requirements(&meant)).as_ref(), Ok(&meant));
    }
}
