//! The rules that the API server checks by CEL, each with its twin in Rust.

mod ec2nodeclass;
mod nodepool;
mod requirements;

use serde_json::Value;

pub(super) use ec2nodeclass::FAMILIES;
pub(super) use requirements::decimal;

use super::Kind;

/// A rule of the schema: its CEL for the API server, its twin for everyone else.
pub(super) struct Rule {
    /// The kinds that it is about, and where in their schemas it stands: `spec.blockDeviceMappings[].ebs`.
    pub at: &'static [(Kind, &'static str)],
    /// The rule, true of good objects.
    pub cel: &'static str,
    /// What the API server says otherwise.
    pub message: &'static str,
    /// What to do about it.
    pub help: Option<&'static str>,
    /// The rule again.
    pub test: Test,
}

/// A rule's twin. It is also asked about values of the wrong type, and has nothing against them: the types
/// are the schema's business.
pub(super) enum Test {
    /// About the value as a whole.
    Whole(fn(&Value) -> bool),
    /// About each item of a list, blaming the named field of it.
    Each(&'static str, fn(&Value) -> bool),
    /// About each key of a map.
    Keys(fn(&str) -> bool),
    /// About each key and value of a map.
    Entries(fn(&str, &Value) -> bool),
    /// About a list of which not every item may be as told; an empty list is another rule's business.
    NotAll(fn(&Value) -> bool),
    /// About a change, from the second to the first.
    Update(fn(&Value, &Value) -> bool),
}

/// The rules of one kind, each with its place.
pub(super) fn of(kind: Kind) -> impl Iterator<Item = (&'static str, &'static Rule)> {
    let all = nodepool::RULES.iter().chain(requirements::RULES).chain(ec2nodeclass::RULES);
    all.flat_map(|rule| rule.at.iter().map(move |(kind, at)| (*kind, *at, rule)))
        .filter_map(move |(of, at, rule)| (of == kind).then_some((at, rule)))
}

/// Whether a field is there; null is as good as nothing.
fn has(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|field| !field.is_null())
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
