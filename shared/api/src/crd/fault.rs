//! What is wrong with an object, and where.

use std::collections::BTreeSet;
use std::fmt;

use miette::Diagnostic;
use serde_json::Value;
use thiserror::Error;

/// Who refuses the object.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum Stage {
    /// The API server: the object can't be stored.
    Admission,
    /// The controller: the object is stored, and its condition ValidationSucceeded says False.
    Controller,
}

/// One thing wrong with an object.
#[derive(Clone, Debug, Eq, PartialEq, Error, Diagnostic)]
#[error("{path}: {message}")]
#[diagnostic(code(api::invalid))]
pub struct Fault {
    /// Where, for people: `spec.template.spec.requirements[0].key`, `spec.limits[example.com/gpu]`.
    pub path: String,
    /// Where, as a JSON pointer. Of a missing field it names the field, so its parent is what is there.
    pub pointer: String,
    /// Who refuses the object.
    pub stage: Stage,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[help]
    pub help: Option<String>,
}

/// One step down a value.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// The way to a place in a value.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Path(Vec<Step>);

impl Path {
    /// The path of names with dots between: `spec.template`.
    pub fn of(names: &str) -> Path {
        Path(
            names.split('.').filter(|name| !name.is_empty()).map(|name| Step::Key(name.to_owned())).collect(),
        )
    }

    /// The path one key further.
    pub fn key(&self, name: &str) -> Path {
        let mut path = self.clone();
        path.0.push(Step::Key(name.to_owned()));
        path
    }

    /// The path one item further.
    pub fn index(&self, index: usize) -> Path {
        let mut path = self.clone();
        path.0.push(Step::Index(index));
        path
    }

    /// The last key, if it is one.
    pub fn last(&self) -> &str {
        match self.0.last() {
            Some(Step::Key(name)) => name,
            _ => "",
        }
    }

    fn pointer(&self) -> String {
        let step = |step: &Step| match step {
            Step::Key(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Step::Index(index) => format!("/{index}"),
        };
        self.0.iter().map(step).collect()
    }

    /// Where the place stands among all places of the document: what is missing stands before what is there.
    fn order(&self, root: &Value) -> Vec<usize> {
        let mut node = Some(root);
        let mut order = Vec::with_capacity(self.0.len());
        for step in &self.0 {
            order.push(match step {
                Step::Index(index) => index + 1,
                Step::Key(name) => node
                    .and_then(Value::as_object)
                    .and_then(|map| map.keys().position(|key| key == name))
                    .map_or(0, |position| position + 1),
            });
            node = match step {
                Step::Index(index) => node.and_then(|node| node.get(index)),
                Step::Key(name) => node.and_then(|node| node.get(name)),
            };
        }
        order
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(name) if name.is_empty() || name.contains(['.', '/', '[']) => {
                    write!(f, "[{name}]")?
                }
                Step::Key(name) if at == 0 => f.write_str(name)?,
                Step::Key(name) => write!(f, ".{name}")?,
            }
        }
        Ok(())
    }
}

/// Collects faults and puts them in the order of the document.
pub(super) struct Report<'a> {
    root: &'a Value,
    faults: Vec<(Vec<usize>, Fault)>,
}

impl<'a> Report<'a> {
    pub fn new(root: &'a Value) -> Self {
        Report { root, faults: Vec::new() }
    }

    /// Notes a fault that the API server finds too.
    pub fn refused(&mut self, path: &Path, message: impl Into<String>, help: Option<String>) {
        self.add(Stage::Admission, path, message.into(), help);
    }

    /// Notes a fault that only a controller finds.
    pub fn invalid(&mut self, path: &Path, message: impl Into<String>, help: Option<&str>) {
        self.add(Stage::Controller, path, message.into(), help.map(str::to_owned));
    }

    fn add(&mut self, stage: Stage, path: &Path, message: String, help: Option<String>) {
        let fault = Fault { path: path.to_string(), pointer: path.pointer(), stage, message, help };
        if !self.faults.iter().any(|(_, other)| *other == fault) {
            self.faults.push((path.order(self.root), fault));
        }
    }

    /// The faults in order. Of a place that the API server refuses, what the controller would add goes: it
    /// never gets to see it.
    pub fn finish(mut self) -> Vec<Fault> {
        let refused: BTreeSet<String> = self
            .faults
            .iter()
            .filter(|(_, fault)| fault.stage == Stage::Admission)
            .map(|(_, fault)| fault.pointer.clone())
            .collect();
        self.faults.retain(|(_, f)| f.stage == Stage::Admission || !refused.contains(&f.pointer));
        self.faults.sort_by(|(a, _), (b, _)| a.cmp(b));
        self.faults.into_iter().map(|(_, fault)| fault).collect()
    }
}

/// The values at a place such as `spec.requirements[].key`, each with the way there. Null is nothing.
pub(super) fn places<'v>(root: &'v Value, at: &str) -> Vec<(Path, &'v Value)> {
    let mut found = vec![(Path::default(), root)];
    for step in at.split('.').filter(|step| !step.is_empty()) {
        let (name, each) = step.strip_suffix("[]").map_or((step, false), |name| (name, true));
        found = found
            .into_iter()
            .filter_map(|(path, node)| Some((path.key(name), node.get(name).filter(|v| !v.is_null())?)))
            .flat_map(|(path, node)| match (each, node) {
                (false, _) => vec![(path, node)],
                (true, Value::Array(items)) => {
                    items.iter().enumerate().map(|(index, item)| (path.index(index), item)).collect()
                }
                (true, _) => Vec::new(),
            })
            .collect();
    }
    found
}
