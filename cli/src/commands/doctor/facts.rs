//! What was gathered, and what is found in it.

use std::collections::BTreeMap;

use serde_json::Value;

/// Answers of kubectl and the AWS CLI by the name of their file.
#[derive(Debug, Default)]
pub(super) struct Facts(BTreeMap<String, Value>);

/// What became of a check.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum State {
    Fine,
    Wrong,
    /// What it looks at was not gathered.
    Unknown,
}

/// What a check found.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Finding {
    pub(super) check: String,
    pub(super) state: State,
    pub(super) message: String,
    pub(super) help: String,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Fine => "ok",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
        }
    }
}

impl Facts {
    pub(super) fn put(&mut self, name: String, value: Value) {
        self.0.insert(name, value);
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    /// Looks at a file by `judge`, which says what is wrong in it, if anything is.
    pub(super) fn check(
        &self,
        check: &str,
        file: &str,
        help: &str,
        judge: impl Fn(&Value) -> Result<(), String>,
    ) -> Finding {
        let (state, message, help) = match self.get(file) {
            None => (State::Unknown, format!("{file}.json was not gathered"), ""),
            Some(value) => match judge(value) {
                Ok(()) => (State::Fine, String::new(), ""),
                Err(message) => (State::Wrong, message, help),
            },
        };
        Finding { check: check.to_owned(), state, message, help: help.to_owned() }
    }
}

/// The entries of a list.
pub(super) fn entries<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A text inside, or none.
pub(super) fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// All of a list must be there: says which aren't.
pub(super) fn all_of(what: &str, wanted: &[&str], has: impl Fn(&str) -> bool) -> Result<(), String> {
    let missing: Vec<&str> = wanted.iter().copied().filter(|name| !has(name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("{what}: {}", missing.join(", "))) }
}
