//! Values as they are kept: without secrets and bookkeeping, which are dropped while reading.

use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// The copy of a manifest that `kubectl apply` keeps, environment variables and all.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// A value without environment variables, managed fields and the copy that `kubectl apply` keeps.
pub(super) struct Pruned(pub(super) Value);

impl<'de> Deserialize<'de> for Pruned {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Prune { lists: false }.deserialize(deserializer).map(|value| Pruned(value.unwrap_or(Value::Null)))
    }
}

/// Reads a value; with `lists`, a list is skipped and gives `None`. Only lists: `env` also is a common label.
#[derive(Clone, Copy)]
struct Prune {
    lists: bool,
}

impl<'de> DeserializeSeed<'de> for Prune {
    type Value = Option<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Prune {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(Value::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(Value::from(value)))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Self::Value, E> {
        Ok(Some(Number::from_i128(value).map_or_else(|| Value::String(value.to_string()), Value::Number)))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Self::Value, E> {
        Ok(Some(Number::from_u128(value).map_or_else(|| Value::String(value.to_string()), Value::Number)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Some(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Self::Value, E> {
        Ok(Some(Value::String(value.to_owned())))
    }

    fn visit_string<E>(self, value: String) -> Result<Self::Value, E> {
        Ok(Some(Value::String(value)))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        if self.lists {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(None);
        }
        let mut values = Vec::new();
        while let Some(Pruned(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Some(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            match key.as_str() {
                LAST_APPLIED => {
                    entries.next_value::<IgnoredAny>()?;
                }
                "managedFields" | "env" | "envFrom" => {
                    if let Some(value) = entries.next_value_seed(Prune { lists: true })? {
                        map.insert(key, value);
                    }
                }
                _ => {
                    let Pruned(value) = entries.next_value()?;
                    map.insert(key, value);
                }
            }
        }
        Ok(Some(Value::Object(map)))
    }
}
