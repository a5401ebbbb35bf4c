//! Label selectors over pods.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// How an expression compares a label.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum SelectorOperator {
    /// One of the values.
    In,
    /// None of the values, or absent.
    NotIn,
    /// Present.
    Exists,
    /// Absent.
    DoesNotExist,
}

/// One expression of a selector.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct SelectorRequirement {
    /// The label.
    pub key: String,
    /// The comparison.
    pub operator: SelectorOperator,
    /// Its values.
    pub values: BTreeSet<String>,
}

/// A conjunction of expressions; an empty one selects everything. Sets, so that two that differ only in
/// order or repetition are equal.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LabelSelector(pub BTreeSet<SelectorRequirement>);

impl LabelSelector {
    /// A selector of exact labels.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        let mut selector = Self::default();
        for (key, value) in labels {
            selector.require_in(key, [value.clone()]);
        }
        selector
    }

    /// Adds `key In values`.
    pub fn require_in(&mut self, key: &str, values: impl IntoIterator<Item = String>) {
        let values = values.into_iter().collect();
        self.0.insert(SelectorRequirement { key: key.to_owned(), operator: SelectorOperator::In, values });
    }

    /// Whether `labels` are selected.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|expression| {
            let value = labels.get(&expression.key);
            match expression.operator {
                SelectorOperator::In => value.is_some_and(|value| expression.values.contains(value)),
                SelectorOperator::NotIn => value.is_none_or(|value| !expression.values.contains(value)),
                SelectorOperator::Exists => value.is_some(),
                SelectorOperator::DoesNotExist => value.is_none(),
            }
        })
    }
}
