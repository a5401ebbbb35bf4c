//! Requirements on node labels: pools', pods' and volumes'; price rules in whole millionths of a dollar.

use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use model::labels::{self, USD_PER_HOUR};
use model::{CapacityType, MicroUsd, Operator, Requirement, Requirements};

/// A requirement as written, or what is wrong with it.
pub(super) fn requirement(key: &str, operator: &str, values: &[String]) -> Result<Requirement, String> {
    let operator = Operator::from_name(operator).ok_or_else(|| {
        format!("{key}: {operator:?} is not an operator; use In, NotIn, Exists, DoesNotExist, Gt or Lt")
    })?;
    let comparison = matches!(operator, Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte);
    if comparison && labels::normalise(key) == USD_PER_HOUR {
        return price(operator, values);
    }
    if comparison {
        let number = match values {
            [value] => value.trim().parse::<i64>().ok().filter(|number| *number >= 0),
            _ => None,
        };
        if number.is_none() {
            return Err(format!("{key}: {operator:?} needs exactly one whole number that is not negative"));
        }
    }
    Requirement::new(operator, values.iter().map(String::as_str))
        .ok_or_else(|| format!("{key}: {operator:?} needs exactly one whole number"))
}

/// A bound on the price of a node, in dollars an hour: rounded so that it never allows more than it says.
fn price(operator: Operator, values: &[String]) -> Result<Requirement, String> {
    let [text] = values else { return Err(format!("{USD_PER_HOUR}: {operator:?} needs exactly one price")) };
    let ceiling = text.parse::<MicroUsd>().map_err(|error| format!("{USD_PER_HOUR}: {error}"))?;
    let ceiling = i64::try_from(ceiling.0).map_err(|_| format!("{USD_PER_HOUR}: {text} is too much"))?;
    let finer = text.trim().split_once('.').is_some_and(|(_, fraction)| {
        fraction.get(6..).is_some_and(|rest| rest.bytes().any(|digit| digit != b'0'))
    });
    let floor = ceiling - i64::from(finer);
    Ok(match operator {
        Operator::Lt => Requirement::within(None, Some(ceiling - 1)),
        Operator::Lte => Requirement::within(None, Some(floor)),
        Operator::Gt => Requirement::within(Some(floor + 1), None),
        _ => Requirement::within(Some(ceiling), None),
    })
}

/// The expressions of a node selector term, and what is wrong with them. Expressions with a fault are left out.
pub(super) fn term(expressions: &[NodeSelectorRequirement]) -> (Requirements, Vec<String>) {
    let (mut requirements, mut faults) = (Requirements::new(), Vec::new());
    for expression in expressions {
        let values = expression.values.as_deref().unwrap_or_default();
        match requirement(&expression.key, &expression.operator, values) {
            Ok(requirement) => requirements.add(&expression.key, requirement),
            Err(fault) => faults.push(fault),
        }
    }
    (requirements, faults)
}

/// What is wrong with a term that a pod requires of its node.
pub(super) fn term_faults(term: &NodeSelectorTerm) -> Vec<String> {
    let mut faults = Vec::new();
    if term.match_fields.as_ref().is_some_and(|fields| !fields.is_empty()) {
        faults.push("node affinity by matchFields names a node: no new node can have that name".to_owned());
    }
    for expression in term.match_expressions.iter().flatten() {
        let values = expression.values.as_deref().unwrap_or_default();
        faults.extend(rule(&expression.key, &expression.operator, values));
    }
    faults
}

/// What is wrong with selecting a label that is ours to set.
pub(super) fn set_by_the_system(key: &str) -> String {
    format!("label {key} is not for pods to select: it is set by the system")
}

/// What is wrong with one thing that a pod requires of its node's labels.
pub(super) fn rule(key: &str, operator: &str, values: &[String]) -> Option<String> {
    let key = labels::normalise(key);
    if labels::is_restricted(key) {
        return Some(set_by_the_system(key));
    }
    if !is_qualified_name(key) {
        return Some(format!("{key:?} is not a label key"));
    }
    if key == USD_PER_HOUR && !matches!(operator, "Lt" | "Lte" | "Gt" | "Gte") {
        return Some(format!("{USD_PER_HOUR} is a price: compare it by Lt or Gt, not by {operator}"));
    }
    if key != USD_PER_HOUR
        && let Some(value) = values.iter().find(|value| !is_label_value(value))
    {
        return Some(format!("{value:?} is not a value that label {key} can have"));
    }
    if operator == "In" && values.is_empty() {
        return Some(format!("{key}: In needs at least one value"));
    }
    let known = |value: &String| CapacityType::from_name(value).is_some();
    if key == labels::CAPACITY_TYPE && operator == "In" && !values.iter().any(known) {
        return Some(format!("{key} is on-demand, spot or reserved, not {}", values.join(" or ")));
    }
    requirement(key, operator, values).err()
}

/// Whether `text` can be a label's key.
pub(super) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    let domain = |prefix: &str| {
        !prefix.is_empty()
            && prefix.len() <= 253
            && prefix.split('.').all(|part| {
                bounded(part, |byte| byte == b'-') && !part.bytes().any(|byte| byte.is_ascii_uppercase())
            })
    };
    prefix.is_none_or(domain) && name.len() <= 63 && bounded(name, |byte| matches!(byte, b'-' | b'_' | b'.'))
}

/// Whether `text` can be a label's value.
pub(super) fn is_label_value(text: &str) -> bool {
    text.is_empty() || (text.len() <= 63 && bounded(text, |byte| matches!(byte, b'-' | b'_' | b'.')))
}

/// Letters and digits, with others only inside.
fn bounded(text: &str, inside: impl Fn(u8) -> bool) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    edge(text.bytes().next())
        && edge(text.bytes().next_back())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || inside(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_rules_never_allow_more_than_they_say() {
        #[rustfmt::skip]
        let table = [
            ("Lte", "0.25",      None,            Some(250_000)),
            ("Lt",  "0.25",      None,            Some(249_999)),
            ("Lte", "0.2500001", None,            Some(250_000)),
            ("Lt",  "0.2500001", None,            Some(250_000)),
            ("Gt",  "0.25",      Some(250_001),   None),
            ("Gte", "1",         Some(1_000_000), None),
            ("Gte", "0.2500001", Some(250_001),   None),
            ("Gt",  "0.2500001", Some(250_001),   None),
        ];
        for (operator, text, gte, lte) in table {
            let read = requirement(USD_PER_HOUR, operator, &[text.to_owned()]).unwrap();
            assert_eq!(read.bounds(), (gte, lte), "{operator} {text}");
        }
        for text in ["", "-1", "1e3", "cheap"] {
            assert!(requirement(USD_PER_HOUR, "Lt", &[text.to_owned()]).is_err(), "{text:?}");
        }
    }

    #[test]
    fn names_and_values_follow_kubernetes() {
        for (text, good) in [
            ("a", true),
            ("a.b/c", true),
            ("a/b/c", false),
            ("/c", false),
            ("A.b/c", false),
            ("-a", false),
            ("", false),
        ] {
            assert_eq!(is_qualified_name(text), good, "{text:?}");
        }
        for (text, good) in [("", true), ("a_b-c.d", true), ("-a", false), ("a b", false)] {
            assert_eq!(is_label_value(text), good, "{text:?}");
        }
        assert!(!is_label_value(&"a".repeat(64)));
    }
}
