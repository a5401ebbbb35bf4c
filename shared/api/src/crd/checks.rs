//! The rules that only a controller checks: those that CEL can't say, or that Karpenter leaves to run time.

use std::collections::BTreeSet;

use model::labels::{CAPACITY_TYPE, USD_PER_HOUR};
use serde_json::Value;

use super::fault::{Path, Report, places};
use super::rules::decimal;
use super::{Kind, duration, kubelet, schedule};

/// Notes all that a controller has against an object.
pub(super) fn run(kind: Kind, value: &Value, report: &mut Report<'_>) {
    match kind {
        Kind::NodePool => {
            labels(value, report);
            node(value, "spec.template.spec", report);
            disruption(value, report);
            limits(value, report);
        }
        Kind::NodeClaim => node(value, "spec", report),
        Kind::Ec2NodeClass => kubelet::check(value, report),
    }
}

/// Whether a text is a DNS subdomain: the name of an object, the domain of a key.
pub(super) fn subdomain(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    text.len() <= 253
        && text.split('.').all(|label| {
            let inner = label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            inner && edge(label.bytes().next()) && edge(label.bytes().last())
        })
}

/// Whether a text that fits the pattern of keys is also within the lengths that Kubernetes allows.
fn fits(key: &str) -> bool {
    match key.split_once('/') {
        Some((domain, name)) => domain.len() <= 253 && name.len() <= 63,
        None => key.len() <= 63,
    }
}

const TOO_LONG: &str = "is too long: a key's name may have 63 characters, its domain 253";

fn labels(value: &Value, report: &mut Report<'_>) {
    for (path, map) in places(value, "spec.template.metadata.labels") {
        for key in map.as_object().into_iter().flatten().map(|(key, _)| key) {
            let path = path.key(key);
            let (domain, name) = key.split_once('/').map_or((None, key.as_str()), |(d, n)| (Some(d), n));
            if !domain.is_none_or(subdomain) || !word(name) {
                report.invalid(
                    &path,
                    "is not a label key: letters, digits, -, _ and ., perhaps after a lower-case domain and /",
                    None,
                );
            } else if !fits(key) {
                report.invalid(&path, TOO_LONG, None);
            }
            if key == USD_PER_HOUR {
                let help = "put it in spec.template.spec.requirements or spec.limits";
                report.invalid(&path, "is a price rule, not a label", Some(help));
            }
        }
    }
}

fn word(text: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|b| b.is_ascii_alphanumeric());
    edge(text.bytes().next())
        && edge(text.bytes().last())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

fn node(value: &Value, at: &str, report: &mut Report<'_>) {
    for (path, requirement) in places(value, &format!("{at}.requirements[]")) {
        requirement_at(&path, requirement, report);
    }
    let mut seen = BTreeSet::new();
    for (path, taint) in
        ["taints", "startupTaints"].iter().flat_map(|list| places(value, &format!("{at}.{list}[]")))
    {
        let field = |name| taint.get(name).and_then(Value::as_str);
        if field("key").is_some_and(|key| !fits(key)) {
            report.invalid(&path.key("key"), TOO_LONG, None);
        }
        if field("value").is_some_and(|value| !fits(value)) {
            report.invalid(&path.key("value"), TOO_LONG, None);
        }
        if let (Some(key), Some(effect)) = (field("key"), field("effect"))
            && !seen.insert((key, effect))
        {
            let message = format!("{key} with the effect {effect} stands twice in taints and startupTaints");
            report.invalid(&path, message, Some("keep one of the two"));
        }
    }
    for field in ["terminationGracePeriod", "expireAfter"] {
        too_long(value, &format!("{at}.{field}"), report);
    }
}

fn requirement_at(path: &Path, requirement: &Value, report: &mut Report<'_>) {
    let Some(key) = requirement.get("key").and_then(Value::as_str) else { return };
    if !fits(key) {
        report.invalid(&path.key("key"), TOO_LONG, None);
    }
    if key == CAPACITY_TYPE && requirement.get("operator").is_some_and(|operator| operator == "In") {
        let values = requirement.get("values").and_then(Value::as_array);
        let values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
        let known: BTreeSet<&str> =
            values.iter().copied().filter(|v| matches!(*v, "on-demand" | "spot" | "reserved")).collect();
        let least = requirement.get("minValues").and_then(Value::as_u64);
        if !values.is_empty() && known.is_empty() {
            report.invalid(
                &path.key("values"),
                format!("none of {} is a capacity type", values.join(", ")),
                Some("the capacity types are on-demand, spot and reserved"),
            );
        } else if least.is_some_and(|least| values.len() as u64 >= least && (known.len() as u64) < least) {
            report.invalid(
                &path.key("minValues"),
                format!("asks for more capacity types than the {} listed", known.len()),
                Some("the capacity types are on-demand, spot and reserved"),
            );
        }
    }
}

fn disruption(value: &Value, report: &mut Report<'_>) {
    too_long(value, "spec.disruption.consolidateAfter", report);
    for (path, budget) in places(value, "spec.disruption.budgets[]") {
        let line = budget.get("schedule").and_then(Value::as_str);
        // A line of other than five fields or an unknown macro doesn't fit the schema's pattern.
        if let Some(line) = line.filter(|line| line.split_whitespace().count() >= 5)
            && let Err(why) = schedule::check(line)
        {
            let help = "the fields are minute, hour, day of the month, month, day of the week";
            report.invalid(&path.key("schedule"), why, Some(help));
        }
    }
    too_long(value, "spec.disruption.budgets[].duration", report);
}

/// Durations beyond what the API's own type holds, 292 years.
fn too_long(value: &Value, at: &str, report: &mut Report<'_>) {
    let field = at.rsplit('.').next().unwrap_or_default();
    let parent = at.strip_suffix(field).unwrap_or_default().trim_end_matches('.');
    for (path, node) in places(value, parent) {
        let Some(text) = node.get(field).and_then(Value::as_str) else { continue };
        let shaped = text.bytes().next().is_some_and(|b| b.is_ascii_digit())
            && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'h' | b'm' | b's'))
            && text.bytes().last().is_some_and(|b| !b.is_ascii_digit());
        if shaped && duration(text).is_none_or(|span| span.as_secs() > i64::MAX / 1_000_000_000) {
            report.invalid(&path.key(field), "is longer than 292 years", Some("write Never for no limit"));
        }
    }
}

fn limits(value: &Value, report: &mut Report<'_>) {
    for (path, limits) in places(value, "spec.limits") {
        for (name, limit) in limits.as_object().into_iter().flatten() {
            let negative = match limit {
                Value::String(text) => text.starts_with('-'),
                other => other.as_i64().is_some_and(|number| number < 0),
            };
            if negative {
                report.invalid(&path.key(name), "a limit can't be below zero", None);
            } else if name == USD_PER_HOUR && limit.as_str().is_some_and(|text| !decimal(text)) {
                report.invalid(
                    &path.key(name),
                    "must be a decimal number of US dollars an hour",
                    Some("for example: journeyman.dev/usd-per-hour: \"25.50\""),
                );
            }
        }
    }
}
