//! Fills in what a user left out, as the API server does.

use serde_json::{Map, Value};

use super::{Kind, walk};

/// Fills in the defaults of an object, as the API server does before it looks at anything else: a field that
/// is missing or null gets its default, and a null without a default goes.
pub fn apply_defaults(kind: Kind, value: &mut Value) {
    fill(walk::of(kind), value);
}

fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::Object(properties)) = schema.get("properties") {
                properties_of(properties, map);
            }
            if let Some(inner @ Value::Object(_)) = schema.get("additionalProperties") {
                map.retain(|_, value| !value.is_null());
                map.values_mut().for_each(|value| fill(inner, value));
            }
        }
        Value::Array(items) => {
            if let Some(inner) = schema.get("items") {
                items.iter_mut().for_each(|item| fill(inner, item));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn properties_of(properties: &Map<String, Value>, map: &mut Map<String, Value>) {
    for (name, schema) in properties {
        if map.get(name).is_some_and(Value::is_null) {
            map.remove(name);
        }
        if let (None, Some(default)) = (map.get(name), schema.get("default")) {
            map.insert(name.clone(), default.clone());
        }
        if let Some(value) = map.get_mut(name) {
            fill(schema, value);
        }
    }
}
