//! JSON: one value or several in a row, lists flattened item by item, so that a large dump needs little memory.

use serde_json::Value;
use serde_json::value::RawValue;

use super::prune::Pruned;
use super::{Document, Origin, Place, ReadError, place, syntax, yaml};

/// What is larger than this is no YAML in flow style written by hand.
const MAX_FLOW: usize = 1 << 20;

/// Hands each document of `text`, which begins at `start`, to `take`.
pub(super) fn read(start: &Place, text: &str, take: &mut dyn FnMut(Document)) -> Result<(), ReadError> {
    let mut scan = Scan { text, start, offset: 0, place: start.clone() };
    let values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
    for (index, raw) in values.enumerate() {
        let outcome = match raw {
            Ok(raw) => top(&mut scan, raw, take),
            Err(error) => Err(fault(start, text, &error)),
        };
        // A document in YAML's flow style begins like JSON.
        match outcome {
            Err(ReadError::Syntax { .. }) if index == 0 && text.len() <= MAX_FLOW => {
                let mut documents = Vec::new();
                let as_yaml = yaml::read(start, text, &mut |document| documents.push(document));
                if as_yaml.is_err() {
                    return outcome;
                }
                documents.into_iter().for_each(take);
                return Ok(());
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

/// Finds the places of ever later parts of the text, reading it once.
struct Scan<'a> {
    text: &'a str,
    start: &'a Place,
    offset: usize,
    place: Place,
}

impl Scan<'_> {
    /// Where `raw`, a part of the text, begins.
    fn place(&mut self, raw: &RawValue) -> Place {
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        if offset < self.offset {
            return place::at_offset(self.start, self.text, offset);
        }
        let between = self.text.get(self.offset..offset).unwrap_or_default();
        self.place = place::at_offset(&self.place, between, between.len());
        self.offset = offset;
        self.place.clone()
    }
}

fn top(scan: &mut Scan<'_>, raw: &RawValue, take: &mut dyn FnMut(Document)) -> Result<(), ReadError> {
    if raw.get().starts_with('[') {
        return all(scan, raw, take);
    }
    let place = scan.place(raw);
    match head(raw) {
        Ok(Head { kind: Some(kind), items: Some(items) }) if kind.ends_with("List") => all(scan, items, take),
        _ => one(place, raw, take),
    }
}

/// What tells a list from an object.
#[derive(serde::Deserialize)]
struct Head<'a> {
    kind: Option<String>,
    #[serde(borrow)]
    items: Option<&'a RawValue>,
}

fn head(raw: &RawValue) -> Result<Head<'_>, serde_json::Error> {
    serde_json::from_str(raw.get())
}

fn all(scan: &mut Scan<'_>, list: &RawValue, take: &mut dyn FnMut(Document)) -> Result<(), ReadError> {
    let begin = scan.place(list);
    let items: Option<Vec<&RawValue>> =
        serde_json::from_str(list.get()).map_err(|error| fault(&begin, list.get(), &error))?;
    for item in items.into_iter().flatten() {
        let place = scan.place(item);
        one(place, item, take)?;
    }
    Ok(())
}

fn one(place: Place, raw: &RawValue, take: &mut dyn FnMut(Document)) -> Result<(), ReadError> {
    let Pruned(value) = serde_json::from_str(raw.get()).map_err(|error| fault(&place, raw.get(), &error))?;
    if value == Value::Null {
        return Ok(());
    }
    yaml::object(&place, &value)?;
    let origin = Some(Origin::new(raw.get().into(), place.clone(), String::new()));
    take(Document { value, place, origin });
    Ok(())
}

fn fault(start: &Place, text: &str, error: &serde_json::Error) -> ReadError {
    let place = place::shifted(start, error.line(), error.column());
    let before: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let offset = before + error.column().saturating_sub(1);
    let message = error.to_string();
    let message = message.split(" at line ").next().unwrap_or_default();
    let cut_off = error.is_eof().then(|| "the input ends early: was the dump cut off?".to_owned());
    syntax(
        place,
        format!("not JSON: {message}"),
        cut_off,
        text,
        text.is_char_boundary(offset).then_some(offset),
    )
}
