//! Label selectors.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use model::{LabelSelector, SelectorOperator, selector::SelectorRequirement};

/// A selector as the model has it; `None` for one that can't be read, which selects nothing.
pub(super) fn selector(from: &meta::LabelSelector) -> Option<LabelSelector> {
    let mut selector = LabelSelector::from_labels(from.match_labels.iter().flatten());
    for expression in from.match_expressions.iter().flatten() {
        let values: std::collections::BTreeSet<String> =
            expression.values.iter().flatten().cloned().collect();
        let operator = match expression.operator.as_str() {
            "In" if !values.is_empty() => SelectorOperator::In,
            "NotIn" if !values.is_empty() => SelectorOperator::NotIn,
            "Exists" if values.is_empty() => SelectorOperator::Exists,
            "DoesNotExist" if values.is_empty() => SelectorOperator::DoesNotExist,
            _ => return None,
        };
        selector.0.insert(SelectorRequirement { key: expression.key.clone(), operator, values });
    }
    Some(selector)
}

/// Adds `key In [own value]` for each of `matching` and `key NotIn [own value]` for each of `mismatching` that
/// the pod has.
pub(super) fn with_label_keys(
    selector: Option<LabelSelector>,
    matching: Option<&Vec<String>>,
    mismatching: Option<&Vec<String>>,
    labels: &BTreeMap<String, String>,
) -> Option<LabelSelector> {
    let mut selector = selector?;
    let keys = |keys: Option<&Vec<String>>, operator: SelectorOperator| {
        let known =
            keys.into_iter().flatten().filter_map(|key| Some((key.clone(), labels.get(key)?.clone())));
        let known: Vec<_> = known.collect();
        known.into_iter().map(move |(key, value)| SelectorRequirement {
            key,
            operator,
            values: [value].into(),
        })
    };
    selector.0.extend(keys(matching, SelectorOperator::In));
    selector.0.extend(keys(mismatching, SelectorOperator::NotIn));
    Some(selector)
}
