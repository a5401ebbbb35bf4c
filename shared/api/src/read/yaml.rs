//! YAML: several documents a file, lists flattened.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Options, Spanned};

use super::prune::Pruned;
use super::{Document, Origin, Place, ReadError, describe, place, syntax};

/// Limits that no manifest meets, and an alias bomb does.
pub(super) fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: 64,
            max_nodes: 20_000_000,
            max_events: 40_000_000,
            max_aliases: 10_000,
            max_anchors: 10_000,
        },
        with_snippet: false,
    }
}

/// Hands each document of `text`, which begins at `start`, to `take`.
pub(super) fn read(start: &Place, text: &str, take: &mut dyn FnMut(Document)) -> Result<(), ReadError> {
    for (line, chunk) in chunks(text) {
        let begin = Place { line: start.line + line, ..start.clone() };
        if chunk.lines().all(|line| matches!(line.trim_start().as_bytes().first(), None | Some(b'#' | b'%')))
        {
            continue;
        }
        let root: Spanned<Root> = serde_saphyr::from_str_with_options(chunk, options())
            .map_err(|error| fault(&begin, chunk, &error))?;
        deliver(&begin, chunk, root, take)?;
    }
    Ok(())
}

/// The documents of a stream with the number of lines before each. A line that begins with `---` always
/// begins a document, whatever it stands in.
fn chunks(text: &str) -> Vec<(usize, &str)> {
    let marker = |line: &str| {
        line.strip_prefix("---")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
    };
    let mut chunks = Vec::new();
    let (mut from, mut from_line, mut offset) = (0, 0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if marker(line) && offset > from {
            chunks.push((from_line, &text[from..offset]));
            (from, from_line) = (offset, number);
        }
        offset += line.len();
    }
    chunks.push((from_line, &text[from..]));
    chunks
}

fn deliver(
    start: &Place,
    text: &str,
    root: Spanned<Root>,
    take: &mut dyn FnMut(Document),
) -> Result<(), ReadError> {
    let at = |location: Location| {
        let number = |number: u64| usize::try_from(number).unwrap_or(1).max(1);
        place::shifted(start, number(location.line()), number(location.column()))
    };
    let text: Arc<str> = text.into();
    let origin = |within: String| Some(Origin::new(text.clone(), start.clone(), within));
    let here = at(root.referenced);
    let (fields, items) = match root.value {
        Root::Other(Value::Null) => return Ok(()),
        Root::Other(Value::Array(items)) => {
            let whole = Document { value: Value::Array(items), place: here, origin: origin(String::new()) };
            for (index, value) in whole.value.as_array().into_iter().flatten().enumerate() {
                object(&whole.place, value)?;
                take(whole.child(&format!("[{index}]"), value.clone()));
            }
            return Ok(());
        }
        Root::Other(value) => {
            return Err(ReadError::NotAnObject { place: here, found: describe(&value) });
        }
        Root::Object { fields, items } => (fields, items),
    };
    let is_list = |fields: &Map<String, Value>| {
        fields.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
    };
    match items {
        Some(items) if is_list(&fields) => {
            for (index, item) in items.into_iter().enumerate() {
                let place = at(item.referenced);
                object(&place, &item.value.0)?;
                let within = format!("items[{index}]");
                take(Document { value: item.value.0, place, origin: origin(within) });
            }
        }
        items => {
            let mut fields = fields;
            if let Some(items) = items {
                let items = items.into_iter().map(|item| item.value.0).collect();
                fields.insert("items".to_owned(), Value::Array(items));
            }
            take(Document { value: Value::Object(fields), place: here, origin: origin(String::new()) });
        }
    }
    Ok(())
}

/// Fails unless `value` is a mapping.
pub(super) fn object(place: &Place, value: &Value) -> Result<(), ReadError> {
    match value {
        Value::Object(_) => Ok(()),
        other => Err(ReadError::NotAnObject { place: place.clone(), found: describe(other) }),
    }
}

fn fault(start: &Place, text: &str, error: &serde_saphyr::Error) -> ReadError {
    let location = error.location();
    let number = |number: u64| usize::try_from(number).unwrap_or(1).max(1);
    let place = location.map_or_else(
        || start.clone(),
        |location| place::shifted(start, number(location.line()), number(location.column())),
    );
    let offset = location.and_then(|location| location.span().byte_offset());
    let offset = offset.and_then(|offset| usize::try_from(offset).ok());
    let message = error.without_snippet().to_string();
    // The location stands at the front of our own message.
    let message = message.split(" at line ").next().unwrap_or_default().replace('\n', " ");
    let help = if text.contains('\t') && message.contains("tab") {
        Some("YAML is indented by spaces, never by tabs".to_owned())
    } else {
        None
    };
    syntax(place, format!("not YAML: {message}"), help, text, offset)
}

/// The root of a document; the items of a list keep their places.
enum Root {
    Object { fields: Map<String, Value>, items: Option<Vec<Spanned<Pruned>>> },
    Other(Value),
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RootVisitor)
    }
}

struct RootVisitor;

impl<'de> Visitor<'de> for RootVisitor {
    type Value = Root;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Root, E> {
        Ok(Root::Other(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Root, E> {
        Ok(Root::Other(Value::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Root, E> {
        Ok(Root::Other(Value::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Root, E> {
        Ok(Root::Other(Value::from(value)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Root, E> {
        Ok(Root::Other(Value::from(value)))
    }

    fn visit_unit<E>(self) -> Result<Root, E> {
        Ok(Root::Other(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Root, E> {
        Ok(Root::Other(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Root, D::Error> {
        Root::deserialize(deserializer)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut items: A) -> Result<Root, A::Error> {
        let mut values = Vec::new();
        while let Some(Pruned(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Root::Other(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Root, A::Error> {
        let mut fields = Map::new();
        let mut items = None;
        while let Some(key) = entries.next_key::<String>()? {
            if key == "items" {
                items = entries.next_value::<Option<Vec<Spanned<Pruned>>>>()?;
            } else {
                let Pruned(value) = entries.next_value()?;
                fields.insert(key, value);
            }
        }
        Ok(Root::Object { fields, items })
    }
}
