//! Finds all that is wrong with an object.

use serde_json::Value;

use super::fault::{Path, Report, places};
use super::rules::{self, Test};
use super::walk::{self, kind_of};
use super::{Fault, Kind, apply_defaults, checks, hints};

/// All that is wrong with an object of a kind, in the order of the document: what the API server would refuse
/// and what the controller would.
pub fn validate(kind: Kind, value: &Value) -> Vec<Fault> {
    let mut report = Report::new(value);
    if !value.is_object() {
        report.refused(&Path::default(), format!("must be an object, is {}", kind_of(value)), None);
        return report.finish();
    }
    for (name, right) in [("apiVersion", kind.api_version()), ("kind", kind.name())] {
        match value.get(name) {
            Some(Value::String(given)) if given == right => {}
            Some(given) => {
                report.refused(&Path::of(name), format!("must be {right}, is {given}"), None);
            }
            None => report.refused(&Path::of(name), format!("is missing, must be {right}"), None),
        }
    }
    metadata(value, &mut report);
    walk::schema(kind, value, &mut report);
    for (at, rule) in rules::of(kind) {
        for (path, node) in places(value, at) {
            for blamed in broken(&rule.test, &path, node) {
                let key = node.as_str().unwrap_or(blamed.last());
                let help = hints::label(key).or(rule.help.map(str::to_owned));
                report.refused(&blamed, rule.message, help);
            }
        }
    }
    checks::run(kind, value, &mut report);
    report.finish()
}

/// What is wrong with a change of an object, whatever is wrong with the object itself.
pub fn validate_update(kind: Kind, old: &Value, new: &Value) -> Vec<Fault> {
    // The stored object has its defaults; a file's need not.
    let (mut before, mut after) = (old.clone(), new.clone());
    apply_defaults(kind, &mut before);
    apply_defaults(kind, &mut after);
    let mut report = Report::new(new);
    for (at, rule) in rules::of(kind) {
        let Test::Update(holds) = rule.test else { continue };
        for ((path, new), (_, old)) in places(&after, at).into_iter().zip(places(&before, at)) {
            if !holds(new, old) {
                report.refused(&path, rule.message, rule.help.map(str::to_owned));
            }
        }
    }
    report.finish()
}

/// The places that a rule blames.
fn broken(test: &Test, path: &Path, node: &Value) -> Vec<Path> {
    match (test, node) {
        (Test::Update(_), _) => Vec::new(),
        (Test::Whole(holds), _) if holds(node) => Vec::new(),
        (Test::Whole(_), _) => vec![path.clone()],
        (Test::Each(field, holds), Value::Array(items)) => items
            .iter()
            .enumerate()
            .filter(|(_, item)| item.is_object() && !holds(item))
            .map(|(index, _)| match *field {
                "" => path.index(index),
                field => path.index(index).key(field),
            })
            .collect(),
        (Test::NotAll(bad), Value::Array(items)) if !items.is_empty() && items.iter().all(bad) => {
            (0..items.len()).map(|index| path.index(index)).collect()
        }
        (Test::Keys(holds), Value::Object(map)) => {
            map.keys().filter(|key| !holds(key)).map(|key| path.key(key)).collect()
        }
        (Test::Entries(holds), Value::Object(map)) => {
            map.iter().filter(|(key, value)| !holds(key, value)).map(|(key, _)| path.key(key)).collect()
        }
        (Test::Each(..) | Test::NotAll(_) | Test::Keys(_) | Test::Entries(_), _) => Vec::new(),
    }
}

/// A name fit for an object of the cluster, and labels and annotations that are text.
fn metadata(value: &Value, report: &mut Report<'_>) {
    let at = Path::of("metadata");
    let Some(metadata) = value.get("metadata").filter(|metadata| !metadata.is_null()) else {
        report.refused(&at.key("name"), "is missing", Some("give the object a name".to_owned()));
        return;
    };
    if !metadata.is_object() {
        report.refused(&at, format!("must be an object, is {}", kind_of(metadata)), None);
        return;
    }
    match metadata.get("name") {
        Some(Value::String(name)) if checks::subdomain(name) => {}
        Some(Value::String(_)) => report.refused(
            &at.key("name"),
            "must be at most 253 lower-case letters, digits, - and ., with a letter or digit at each end",
            None,
        ),
        Some(Value::Null) | None if metadata.get("generateName").is_some_and(Value::is_string) => {}
        Some(Value::Null) | None => {
            report.refused(&at.key("name"), "is missing", Some("give the object a name".to_owned()));
        }
        Some(name) => {
            report.refused(&at.key("name"), format!("must be a string, is {}", kind_of(name)), None)
        }
    }
    for name in ["labels", "annotations"] {
        for (path, map) in places(metadata, name) {
            let path = Path::of("metadata").key(path.last());
            let Value::Object(map) = map else {
                report.refused(&path, format!("must be an object, is {}", kind_of(map)), None);
                continue;
            };
            for (key, text) in map.iter().filter(|(_, text)| !text.is_string()) {
                let help = Some(format!("write it in quotes: \"{text}\""));
                report.refused(&path.key(key), format!("must be a string, is {}", kind_of(text)), help);
            }
        }
    }
}
