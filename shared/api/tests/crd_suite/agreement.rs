//! Holds the printed schema, read by a checker of its own, and its CEL, run by an interpreter, against `validate`.

use std::collections::BTreeMap;

use api::crd::{Kind, Stage, apply_defaults, crd, validate, validate_update};
use cel::{Context, Program};
use regex_lite::Regex;
use serde_json::{Map, Value};

use crate::kit::{Case, Verdict, all};

fn schema(kind: Kind) -> Value {
    crd(kind).pointer("/spec/versions/0/schema/openAPIV3Schema").expect("a schema").clone()
}

/// A case as the API server sees it: its first complaint, if any.
fn server(schema: &Value, case: &Case) -> Result<(), String> {
    let mut value = case.value.clone();
    apply_defaults(case.kind, &mut value);
    let mut old = case.old.clone();
    if let Some(old) = &mut old {
        apply_defaults(case.kind, old);
    }
    fits(schema, &value, "")?;
    rules(schema, &value, old.as_ref(), "")
}

#[test]
fn the_api_server_and_validate_agree() {
    let cases = all();
    assert!(cases.len() > 500, "{}", cases.len());
    let schemas: BTreeMap<Kind, Value> = Kind::ALL.into_iter().map(|kind| (kind, schema(kind))).collect();
    for case in &cases {
        let ours = match &case.old {
            Some(old) => validate_update(case.kind, old, &case.value),
            None => validate(case.kind, &case.value),
        };
        let refused = ours.iter().any(|fault| fault.stage == Stage::Admission);
        let theirs = server(&schemas[&case.kind], case);
        assert_eq!(theirs.is_err(), refused, "{}: {theirs:?} against {ours:#?}\n{:#}", case.id, case.value);
    }
}

/// Each rule of the printed CRDs refuses some case that all others let pass: none is dead, none is shadowed.
#[test]
fn each_rule_is_needed() {
    let mut idle = Vec::new();
    for kind in Kind::ALL {
        let full = schema(kind);
        let mut refused = Vec::new();
        for mut case in all().into_iter().filter(|case| case.kind == kind && case.verdict == Verdict::Refused)
        {
            apply_defaults(kind, &mut case.value);
            if let Some(old) = &mut case.old {
                apply_defaults(kind, old);
            }
            if fits(&full, &case.value, "").is_ok() {
                refused.push(case);
            }
        }
        let mut places = Vec::new();
        collect(&full, String::new(), &mut places);
        assert!(!places.is_empty());
        for (place, index) in places {
            let mut less = full.clone();
            let list = less.pointer_mut(&place).and_then(Value::as_array_mut).expect("rules");
            let gone = list.remove(index);
            if !refused.iter().any(|case| rules(&less, &case.value, case.old.as_ref(), "").is_ok()) {
                idle.push(format!("{kind}{place}: {gone}"));
            }
        }
    }
    assert!(idle.is_empty(), "no case needs {idle:#?}");
}

fn collect(schema: &Value, at: String, places: &mut Vec<(String, usize)>) {
    let count = schema["x-kubernetes-validations"].as_array().map_or(0, Vec::len);
    places.extend((0..count).map(|index| (format!("{at}/x-kubernetes-validations"), index)));
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        collect(inner, format!("{at}/properties/{name}"), places);
    }
    if schema["items"].is_object() {
        collect(&schema["items"], format!("{at}/items"), places);
    }
}

/// A reading of structural schemas of its own.
fn fits(schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let no = |why: &str| Err(format!("{at}: {why}"));
    let number = |word: &str| schema[word].as_f64();
    let count = |word: &str| schema[word].as_u64().map(|n| n as usize);
    if schema["x-kubernetes-int-or-string"] == true {
        if !(value.is_i64() || value.is_string()) {
            return no("neither a whole number nor a string");
        }
    } else {
        let right = match schema["type"].as_str() {
            Some("object") => value.is_object(),
            Some("array") => value.is_array(),
            Some("string") => value.is_string(),
            Some("integer") => value.is_i64(),
            Some("boolean") => value.is_boolean(),
            other => return no(&format!("type {other:?}")),
        };
        if !right {
            return no("wrong type");
        }
    }
    match value {
        Value::String(text) => {
            let length = text.chars().count();
            if count("minLength").is_some_and(|n| length < n)
                || count("maxLength").is_some_and(|n| length > n)
            {
                return no("length");
            }
            if let Some(pattern) = schema["pattern"].as_str()
                && !Regex::new(pattern).expect("a pattern").is_match(text)
            {
                return no("pattern");
            }
            if schema["enum"].as_array().is_some_and(|names| !names.contains(value)) {
                return no("enum");
            }
        }
        Value::Number(n) => {
            let n = n.as_f64().unwrap_or_default();
            if number("minimum").is_some_and(|least| n < least)
                || number("maximum").is_some_and(|most| n > most)
            {
                return no("bounds");
            }
        }
        Value::Array(items) => {
            let n = items.len();
            if count("minItems").is_some_and(|least| n < least)
                || count("maxItems").is_some_and(|most| n > most)
            {
                return no("count");
            }
            for (index, item) in items.iter().enumerate() {
                if schema["x-kubernetes-list-type"] == "set" && items[..index].contains(item) {
                    return no("twice");
                }
                fits(&schema["items"], item, &format!("{at}[{index}]"))?;
            }
        }
        Value::Object(map) => object(schema, map, at)?,
        Value::Null | Value::Bool(_) => {}
    }
    Ok(())
}

fn object(schema: &Value, map: &Map<String, Value>, at: &str) -> Result<(), String> {
    if schema["maxProperties"].as_u64().is_some_and(|most| map.len() as u64 > most) {
        return Err(format!("{at}: count"));
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !map.contains_key(name) {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true || at == ".metadata";
    for (name, value) in map {
        let inner = schema["properties"].get(name).or_else(|| schema.get("additionalProperties"));
        match inner {
            Some(inner) => fits(inner, value, &format!("{at}.{name}"))?,
            None if open => {}
            None => return Err(format!("{at}: {name} is unknown")),
        }
    }
    Ok(())
}

/// Runs the CEL of a schema on a value, and on the value before it where a rule asks for that.
fn rules(schema: &Value, value: &Value, old: Option<&Value>, at: &str) -> Result<(), String> {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let text = rule["rule"].as_str().expect("a rule");
        let change = text.contains("oldSelf");
        let mut context = Context::default();
        context.add_variable_from_value("self", cel_value(value));
        match (change, old) {
            (true, None) => continue,
            (true, Some(old)) => context.add_variable_from_value("oldSelf", cel_value(old)),
            (false, _) => {}
        }
        let program = Program::compile(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        match program.execute(&context) {
            Ok(cel::Value::Bool(true)) => {}
            Ok(cel::Value::Bool(false)) => return Err(format!("{at}: {}", rule["message"])),
            // The API server takes a rule that fails, as int() of a number too large, for one not met.
            Err(_) if text.contains("int(") => return Err(format!("{at}: {}", rule["message"])),
            other => panic!("{text} gives {other:?} on {value}"),
        }
    }
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                let Some(below) = schema["properties"].get(name) else { continue };
                rules(below, inner, old.and_then(|old| old.get(name)), &format!("{at}.{name}"))?;
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                rules(&schema["items"], item, None, &format!("{at}[{index}]"))?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn cel_value(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(on) => cel::Value::Bool(*on),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => cel::Value::Int(whole),
            None => cel::Value::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => text.clone().into(),
        Value::Array(items) => items.iter().map(cel_value).collect::<Vec<_>>().into(),
        Value::Object(map) => {
            let entries: Vec<(String, cel::Value)> =
                map.iter().map(|(key, value)| (key.clone(), cel_value(value))).collect();
            cel::Value::Map(entries.into_iter().collect::<CelMap>().into())
        }
    }
}

#[expect(clippy::disallowed_types, reason = "the interpreter's maps are made from this type alone")]
type CelMap = std::collections::HashMap<String, cel::Value>;
