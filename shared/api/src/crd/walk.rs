//! Holds an object against its kind's schema.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::fault::{Path, Report};
use super::{Kind, hints, patterns, schema};

static SCHEMAS: LazyLock<BTreeMap<Kind, Value>> =
    LazyLock::new(|| Kind::ALL.into_iter().map(|kind| (kind, schema::schema(kind))).collect());

static PATTERNS: LazyLock<BTreeMap<&'static str, Regex>> = LazyLock::new(|| {
    let compiled = patterns::ALL.iter().map(|said| said.pattern);
    compiled.filter_map(|pattern| Some((pattern, Regex::new(pattern).ok()?))).collect()
});

/// A kind's schema.
pub(super) fn of(kind: Kind) -> &'static Value {
    &SCHEMAS[&kind]
}

/// Notes all that the schema of `kind` has against an object.
pub(super) fn schema(kind: Kind, value: &Value, report: &mut Report<'_>) {
    Walk { kind, report }.node(&Path::default(), of(kind), value);
}

/// Whether a text fits one of the patterns.
pub(super) fn fits(pattern: &str, text: &str) -> bool {
    PATTERNS.get(pattern).is_some_and(|regex| regex.is_match(text))
}

/// What a value is, for people.
pub(super) fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

struct Walk<'a, 'b> {
    kind: Kind,
    report: &'a mut Report<'b>,
}

impl Walk<'_, '_> {
    fn node(&mut self, path: &Path, schema: &Value, value: &Value) {
        if schema["x-kubernetes-int-or-string"] == true {
            match value {
                Value::String(text) => self.string(path, schema, text),
                Value::Number(number) if number.is_i64() || number.is_u64() => {}
                _ => self.wrong_type(path, "a whole number or a string", value),
            }
            return;
        }
        match (schema["type"].as_str().unwrap_or_default(), value) {
            ("object", Value::Object(map)) => self.object(path, schema, map),
            ("array", Value::Array(items)) => self.array(path, schema, items),
            ("string", Value::String(text)) => self.string(path, schema, text),
            ("integer", Value::Number(number)) => match integer(number) {
                Some(number) => self.integer(path, schema, number),
                None => self.wrong_type(path, "a whole number", value),
            },
            ("boolean", Value::Bool(_)) => {}
            ("object", _) => self.wrong_type(path, "an object", value),
            ("array", _) => self.wrong_type(path, "a list", value),
            ("string", _) => self.wrong_type(path, "a string", value),
            ("integer", _) => self.wrong_type(path, "a whole number", value),
            ("boolean", _) => self.wrong_type(path, "true or false", value),
            _ => {}
        }
    }

    fn object(&mut self, path: &Path, schema: &Value, map: &Map<String, Value>) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            // The API server fills in what has a default before it looks.
            let filled = schema["properties"][name].get("default").is_some();
            if !filled && map.get(name).is_none_or(Value::is_null) {
                self.report.refused(&path.key(name), "is missing", None);
            }
        }
        if let Some(most) = schema["maxProperties"].as_u64().filter(|most| map.len() as u64 > *most) {
            self.report.refused(path, format!("has {} entries, at most {most} are allowed", map.len()), None);
        }
        let properties = schema["properties"].as_object();
        for (name, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            match (properties.and_then(|properties| properties.get(name)), &schema["additionalProperties"]) {
                (Some(property), _) => self.node(&path.key(name), property, value),
                (None, Value::Object(_)) => {
                    self.node(&path.key(name), &schema["additionalProperties"], value);
                }
                // Statuses are ours to write, and metadata is looked at elsewhere.
                (None, _) if path.to_string().starts_with("status") || path.to_string() == "metadata" => {}
                (None, _) if schema["x-kubernetes-preserve-unknown-fields"] == true => {}
                (None, _) => {
                    let known = properties.into_iter().flatten().map(|(known, _)| known.as_str());
                    let help = hints::field(self.kind, &path.to_string(), name, known);
                    self.report.refused(&path.key(name), "is not a field of this kind", help);
                }
            }
        }
    }

    fn array(&mut self, path: &Path, schema: &Value, items: &[Value]) {
        let count = items.len() as u64;
        if let Some(least) = schema["minItems"].as_u64().filter(|least| count < *least) {
            self.report.refused(path, format!("has {count} items, at least {least} is needed"), None);
        }
        if let Some(most) = schema["maxItems"].as_u64().filter(|most| count > *most) {
            self.report.refused(path, format!("has {count} items, at most {most} are allowed"), None);
        }
        for (index, item) in items.iter().enumerate() {
            let path = path.index(index);
            if schema["x-kubernetes-list-type"] == "set" && items[..index].contains(item) {
                self.report.refused(&path, format!("{item} is listed twice"), None);
            }
            self.node(&path, &schema["items"], item);
        }
    }

    fn string(&mut self, path: &Path, schema: &Value, text: &str) {
        let length = text.chars().count() as u64;
        if let Some(least) = schema["minLength"].as_u64().filter(|least| length < *least) {
            let message =
                if least == 1 { "may not be empty".to_owned() } else { format!("is shorter than {least}") };
            self.report.refused(path, message, None);
            return;
        }
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| length > *most) {
            let message = format!("has {length} characters, at most {most} are allowed");
            self.report.refused(path, message, None);
        }
        if let Some(names) = schema["enum"].as_array()
            && !names.iter().any(|name| name == text)
        {
            let names: Vec<&str> = names.iter().filter_map(Value::as_str).collect();
            let message = format!("must be {}, is {text:?}", hints::either(&names));
            self.report.refused(path, message, hints::value(text, &names));
        }
        if let Some(pattern) = schema["pattern"].as_str()
            && !fits(pattern, text)
        {
            let said = patterns::ALL.iter().find(|said| said.pattern == pattern);
            let must = said.map_or("fit the pattern", |said| said.must);
            self.report.refused(path, format!("must {must}, is {text:?}"), hints::pattern(pattern, text));
        }
        if schema["format"] == "date-time" && text.parse::<jiff::Timestamp>().is_err() {
            self.report.refused(
                path,
                format!("must be a time such as 2026-01-31T08:00:00Z, is {text:?}"),
                None,
            );
        }
    }

    fn integer(&mut self, path: &Path, schema: &Value, number: i64) {
        let int32 = schema["format"] == "int32";
        let least = schema["minimum"].as_f64().map(|least| least as i64).or(int32.then_some(i32::MIN.into()));
        let most = schema["maximum"].as_f64().map(|most| most as i64).or(int32.then_some(i32::MAX.into()));
        if let Some(least) = least.filter(|least| number < *least) {
            self.report.refused(path, format!("must be at least {least}, is {number}"), None);
        }
        if let Some(most) = most.filter(|most| number > *most) {
            self.report.refused(path, format!("must be at most {most}, is {number}"), None);
        }
    }

    fn wrong_type(&mut self, path: &Path, right: &str, value: &Value) {
        let help = match value {
            Value::Number(_) | Value::Bool(_) if right.ends_with("string") => {
                Some(format!("write it in quotes: \"{value}\""))
            }
            Value::String(text) if text.parse::<i64>().is_ok() && right == "a whole number" => {
                Some(format!("write it without quotes: {text}"))
            }
            Value::String(text) if right == "true or false" && matches!(text.as_str(), "true" | "false") => {
                Some(format!("write it without quotes: {text}"))
            }
            Value::Object(_) if right == "a list" => Some("put - before each item".to_owned()),
            _ => None,
        };
        self.report.refused(path, format!("must be {right}, is {}", kind_of(value)), help);
    }
}

/// A JSON number as a whole one, as the API server takes it: 1.0 is 1.
fn integer(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        // Beyond 2^53 a float no longer tells neighbours apart.
        (float.fract() == 0.0 && float.abs() < 9.0e15).then_some(float as i64)
    })
}
