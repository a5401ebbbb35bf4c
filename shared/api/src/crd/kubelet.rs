//! The rules of `spec.kubelet`, which the API server stores as it comes.

use serde_json::{Map, Value};

use super::fault::{Path, Report};
use super::hints;
use super::kubelet_fields::{FIELDS, Form};
use super::rules::FAMILIES;
use super::walk::kind_of;

/// The fields that are understood for every family.
const MANAGED: [&str; 12] = [
    "clusterDNS",
    "maxPods",
    "podsPerCore",
    "systemReserved",
    "kubeReserved",
    "evictionHard",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "evictionMaxPodGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "cpuCFSQuota",
];

const SIGNALS: [&str; 6] = [
    "memory.available",
    "nodefs.available",
    "nodefs.inodesFree",
    "imagefs.available",
    "imagefs.inodesFree",
    "pid.available",
];

const RESERVABLE: [&str; 4] = ["cpu", "memory", "ephemeral-storage", "pid"];

/// Notes all that is wrong with the kubelet's fields.
pub(super) fn check(value: &Value, report: &mut Report<'_>) {
    let Some(Value::Object(kubelet)) = value.pointer("/spec/kubelet") else { return };
    let mut check = Check { at: Path::of("spec.kubelet"), report };
    check.fields(kubelet);
    check.evictions(kubelet);
    check.reserved(kubelet);
    check.numbers(kubelet);
    if let Some(family) = family(value) {
        check.family(family, kubelet);
    }
}

/// The family of the images: as given, or as the alias has it.
fn family(value: &Value) -> Option<&str> {
    if let Some(given) = value.pointer("/spec/amiFamily").and_then(Value::as_str) {
        return Some(given);
    }
    let terms = value.pointer("/spec/amiSelectorTerms")?.as_array()?;
    let alias = terms.iter().find_map(|term| term.get("alias")?.as_str())?;
    let name = alias.split('@').next()?;
    FAMILIES.iter().find(|(_, of)| *of == name).map(|(family, _)| *family)
}

struct Check<'a, 'b> {
    at: Path,
    report: &'a mut Report<'b>,
}

impl Check<'_, '_> {
    fn fields(&mut self, kubelet: &Map<String, Value>) {
        for (name, value) in kubelet.iter().filter(|(_, value)| !value.is_null()) {
            let path = self.at.key(name);
            if matches!(name.as_str(), "kind" | "apiVersion") {
                continue;
            }
            let Some((_, form)) = FIELDS.iter().find(|(field, _)| field == name) else {
                let help = hints::did_you_mean(name, FIELDS.iter().map(|(field, _)| *field));
                self.report.invalid(&path, "is not a field of KubeletConfiguration", help.as_deref());
                continue;
            };
            if name == "registerWithTaints" {
                let help = "set taints in the NodePool's spec.template.spec";
                self.report.invalid(&path, "is reserved for Karpenter", Some(help));
            } else if name == "maxPods" && value.is_string() {
                self.expression(&path);
            } else {
                self.form(&path, *form, value);
            }
        }
    }

    /// Expressions are an alpha feature of Karpenter, off by default.
    fn expression(&mut self, path: &Path) {
        self.report.invalid(
            path,
            "is an expression, and expressions are disabled",
            Some("write a number without quotes"),
        );
    }

    fn form(&mut self, path: &Path, form: Form, value: &Value) {
        let (right, good) = match form {
            Form::Bool => ("true or false", value.is_boolean()),
            Form::Int => ("a whole number", value.is_i64() || value.is_u64()),
            Form::Float => ("a number", value.is_number()),
            Form::Text => ("a string", value.is_string()),
            Form::Duration => {
                ("a duration such as 1m30s, in quotes", value.as_str().is_some_and(go_duration))
            }
            Form::Object => ("an object", value.is_object()),
            Form::List => ("a list", value.is_array()),
            Form::Texts => ("a list of strings", all(value.as_array(), Value::is_string)),
            Form::Ints => ("a list of whole numbers", all(value.as_array(), Value::is_i64)),
            Form::TextMap => ("a map of strings", entries(value, Value::is_string)),
            Form::BoolMap => ("a map of true and false", entries(value, Value::is_boolean)),
        };
        if good {
            return;
        }
        let quoted = match value {
            Value::Object(map) if form == Form::TextMap => {
                let bad = map.iter().find(|(_, value)| value.is_number());
                bad.map(|(key, value)| format!("write it in quotes: {key}: \"{value}\""))
            }
            _ => None,
        };
        self.report.invalid(path, format!("must be {right}, is {}", kind_of(value)), quoted.as_deref());
    }

    fn evictions(&mut self, kubelet: &Map<String, Value>) {
        for field in ["evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim"] {
            for (signal, value) in texts(kubelet, field) {
                let path = self.at.key(field).key(signal);
                if !SIGNALS.contains(&signal) {
                    let help = hints::did_you_mean(signal, SIGNALS.into_iter())
                        .unwrap_or_else(|| format!("the signals are {}", SIGNALS.join(", ")));
                    self.report.invalid(&path, "is not a signal of memory, disk or processes", Some(&help));
                } else if field == "evictionSoftGracePeriod" {
                    if !go_duration(value) || value.starts_with('-') {
                        self.report.invalid(&path, format!("must be a duration, is {value:?}"), None);
                    }
                } else if !threshold(value) {
                    let message = format!("must be a percentage up to 100%, or a quantity, is {value:?}");
                    self.report.invalid(&path, message, None);
                }
            }
        }
        let has = |field: &str, signal: &str| texts(kubelet, field).any(|(other, _)| other == signal);
        for (soft, grace) in
            [("evictionSoft", "evictionSoftGracePeriod"), ("evictionSoftGracePeriod", "evictionSoft")]
        {
            for (signal, _) in texts(kubelet, soft).filter(|(signal, _)| !has(grace, signal)) {
                let message = format!("needs the same signal in {grace}");
                self.report.invalid(&self.at.key(soft).key(signal), message, None);
            }
        }
    }

    fn reserved(&mut self, kubelet: &Map<String, Value>) {
        for field in ["kubeReserved", "systemReserved"] {
            for (resource, value) in texts(kubelet, field) {
                let path = self.at.key(field).key(resource);
                if !RESERVABLE.contains(&resource) {
                    let help = format!("what can be reserved: {}", RESERVABLE.join(", "));
                    self.report.invalid(&path, "can't be reserved", Some(&help));
                }
                if value.starts_with('-') {
                    self.report.invalid(&path, "can't be below zero", None);
                } else if !quantity(value) {
                    self.expression(&path);
                }
            }
        }
    }

    fn numbers(&mut self, kubelet: &Map<String, Value>) {
        let number = |name: &str| kubelet.get(name).and_then(Value::as_i64);
        for name in ["podsPerCore", "evictionMaxPodGracePeriod", "maxPods"] {
            if number(name).is_some_and(|number| !(0..=i64::from(i32::MAX)).contains(&number)) {
                let message = format!("must be from 0 to {}", i32::MAX);
                self.report.invalid(&self.at.key(name), message, None);
            }
        }
        let (high, low) = ("imageGCHighThresholdPercent", "imageGCLowThresholdPercent");
        for name in [high, low] {
            if number(name).is_some_and(|number| !(0..=100).contains(&number)) {
                self.report.invalid(&self.at.key(name), "must be from 0 to 100", None);
            }
        }
        if let (Some(above), Some(below)) = (number(high), number(low))
            && above <= below
        {
            self.report.invalid(&self.at.key(high), format!("must be above {low}"), None);
        }
    }

    fn family(&mut self, family: &str, kubelet: &Map<String, Value>) {
        if matches!(family, "AL2023" | "Custom") {
            return;
        }
        for name in kubelet.keys().filter(|name| FIELDS.iter().any(|(field, _)| field == name)) {
            let bottlerocket = family == "Bottlerocket" && name == "podsPerCore";
            if name != "registerWithTaints" && (!MANAGED.contains(&name.as_str()) || bottlerocket) {
                let message = format!("is not supported by the family {family}");
                self.report.invalid(&self.at.key(name), message, Some("AL2023 takes every field"));
            }
        }
        if kubelet.get("clusterDNS").and_then(Value::as_array).is_some_and(|list| list.len() > 1) {
            let message = format!("the family {family} takes one address only");
            self.report.invalid(&self.at.key("clusterDNS"), message, None);
        }
    }
}

/// The entries of a map of strings; what isn't one is told elsewhere.
fn texts<'a>(kubelet: &'a Map<String, Value>, field: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let map = kubelet.get(field).and_then(Value::as_object).into_iter().flatten();
    map.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

fn all(items: Option<&Vec<Value>>, good: fn(&Value) -> bool) -> bool {
    items.is_some_and(|items| items.iter().all(good))
}

fn entries(value: &Value, good: fn(&Value) -> bool) -> bool {
    value.as_object().is_some_and(|map| map.values().all(good))
}

fn threshold(text: &str) -> bool {
    match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().is_ok_and(|percent| (0.0..=100.0).contains(&percent)),
        None => !text.starts_with('-') && quantity(text),
    }
}

fn quantity(text: &str) -> bool {
    super::walk::fits(super::patterns::QUANTITY, text)
}

/// A duration as Go writes it: numbers, perhaps with fractions, each with its unit.
fn go_duration(text: &str) -> bool {
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(|b| b.is_ascii_digit() || *b == b'.').count();
        let (number, tail) = rest.split_at(digits);
        let Some(unit) = ["ns", "us", "µs", "ms", "h", "m", "s"].into_iter().find(|u| tail.starts_with(u))
        else {
            return text == "0";
        };
        if number.parse::<f64>().is_err() {
            return false;
        }
        rest = &tail[unit.len()..];
    }
    !text.is_empty()
}
