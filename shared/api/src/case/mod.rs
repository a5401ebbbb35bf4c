//! Case files: objects, what to do with them, and what should come of it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use miette::Diagnostic;
use model::{
    Care, InterruptionSnapshot, MinValuesPolicy, Note, Notice, PreferencePolicy, Settings, Snapshot,
};
use serde_json::Value;
use thiserror::Error;

mod check;
mod format;
mod types;

pub use check::Miss;
pub use format::Action;

use crate::lower::{
    self, DefaultSpread, InputFault, LowerError, LowerOptions, Objects, Placed, SnapshotOptions, Types,
};
use crate::read::{self, Document, Place};
use format::{CaseFile, MinValues, Preferences};

/// When a case plays unless it says otherwise.
const DEFAULT_NOW: &str = "2026-06-01T12:00:00Z";

/// One case, ready to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows, as a sentence.
    pub name: String,
    /// What is to be done.
    pub action: Action,
    /// Where it stands.
    pub place: Place,
    file: CaseFile,
    now: Timestamp,
    objects: Objects,
    types: Vec<model::InstanceType>,
    default_spread: Vec<DefaultSpread>,
}

/// Why a case can't be run.
#[derive(Debug, Error, Diagnostic)]
pub enum CaseError {
    /// It is written wrongly.
    #[error("{}", headline(faults))]
    #[diagnostic(code(case::invalid), help("`journeyman schema` prints the format of case files"))]
    Invalid {
        /// Every fault.
        #[related]
        faults: Vec<InputFault>,
    },
    /// Its objects can't be lowered.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Objects(#[from] LowerError),
}

fn headline(faults: &[InputFault]) -> String {
    match faults {
        [fault] => format!("the case file has 1 fault, in {}", fault.place.file),
        faults => format!("the case file has {} faults", faults.len()),
    }
}

impl Case {
    /// Reads a case, with every fault of its own form. Faults of its objects come with [`Case::snapshot`].
    pub fn read(document: &Document) -> Result<Self, CaseError> {
        let at = |path: &str| read::locate(document, path).unwrap_or_else(|| document.place.clone());
        let fault = |path: &str, message: String, help: Option<String>| {
            let message = if path.is_empty() { message } else { format!("{path}: {message}") };
            InputFault { place: at(path), message, help }
        };
        let (file, unknown) = read::read_as::<CaseFile>(&document.value).map_err(|misfit| {
            CaseError::Invalid { faults: vec![fault(&misfit.path, misfit.message, misfit.help)] }
        })?;
        let mut faults: Vec<InputFault> =
            unknown.into_iter().map(|unknown| fault(&unknown.path, unknown.message, unknown.help)).collect();
        let now = file.now.as_deref().unwrap_or(DEFAULT_NOW).parse::<Timestamp>();
        let now = now.unwrap_or_else(|error| {
            faults.push(fault("now", error.to_string(), Some("such as 2026-06-01T12:00:00Z".to_owned())));
            Timestamp::UNIX_EPOCH
        });
        let mut types = Vec::new();
        for (index, written) in file.instance_types.iter().flatten().enumerate() {
            match types::instance_type(written, file.region()) {
                Ok(read) => types.push(read),
                Err((field, message)) => {
                    faults.push(fault(&format!("instanceTypes[{index}]{field}"), message, None));
                }
            }
        }
        types.sort_by(|one, two| one.name.cmp(&two.name));
        for (path, message) in check::faults(&file) {
            faults.push(fault(&path, message, None));
        }
        let default_spread =
            DefaultSpread::from_constraints(file.default_constraints.clone().unwrap_or_default())
                .unwrap_or_else(|error| {
                    faults.push(fault("defaultConstraints", error.to_string(), None));
                    Vec::new()
                });
        let mut objects = Objects::default();
        for mut object in document.children("objects") {
            let placed = object.value.as_object_mut().and_then(|map| map.remove("placed"));
            match placed.map_or(Ok(Placed::Pending), |placed| read_placed(&placed)) {
                Ok(placed) => objects.add_placed(&object, placed),
                Err(message) => faults.push(InputFault { place: object.place.clone(), message, help: None }),
            }
        }
        if !faults.is_empty() {
            faults.sort();
            return Err(CaseError::Invalid { faults });
        }
        let (name, action, place) = (file.name.clone(), file.action, document.place.clone());
        Ok(Self { name, action, place, file, now, objects, types, default_spread })
    }

    /// What the case starts from.
    pub fn snapshot(&self) -> Result<Snapshot, CaseError> {
        self.snapshot_and_notes().map(|(snapshot, _)| snapshot)
    }

    /// The same with what the reader should know about it.
    pub fn snapshot_and_notes(&self) -> Result<(Snapshot, Vec<Note>), CaseError> {
        let types = match &self.file.instance_types {
            Some(_) => Types::Given { region: self.region().to_owned(), types: self.types.clone() },
            None => Types::Embedded,
        };
        let options = SnapshotOptions {
            now: self.now,
            settings: self.settings(),
            lower: LowerOptions { default_spread: self.default_spread.clone(), assume_node_class: true },
            types,
        };
        Ok(lower::snapshot(&self.objects, &options)?)
    }

    /// Where it plays.
    pub fn region(&self) -> &str {
        self.file.region()
    }

    /// When it plays.
    pub fn now(&self) -> Timestamp {
        self.now
    }

    /// What is announced, as AWS says it.
    pub fn events(&self) -> &[Value] {
        &self.file.events
    }

    /// What a case of interruption starts from, where its events say `notices`.
    pub fn interruption(&self, notices: Vec<Notice>) -> Result<InterruptionSnapshot, CaseError> {
        Ok(lower::interruption(&self.objects, self.now, notices)?)
    }

    /// Where what was decided falls short of what a case of interruption expects, `ignored` of whose events are no
    /// concern of ours; none is good.
    pub fn check_care(&self, snapshot: &InterruptionSnapshot, care: &Care, ignored: usize) -> Vec<Miss> {
        check::check_care(&self.file.expect, snapshot, care, ignored)
    }

    fn settings(&self) -> Settings {
        let written = self.file.settings.clone().unwrap_or_default();
        Settings {
            preferences: match written.preferences {
                Preferences::Respect => PreferencePolicy::Respect,
                Preferences::Ignore => PreferencePolicy::Ignore,
            },
            min_values: match written.min_values {
                MinValues::Strict => MinValuesPolicy::Strict,
                MinValues::BestEffort => MinValuesPolicy::BestEffort,
            },
            fee_per_node: written.fee_per_node.map(|fee| fee.0).unwrap_or_default(),
            nominate: false,
        }
    }

    /// Where a plan falls short of what the case expects; none is good.
    pub fn check(&self, plan: &model::Plan) -> Vec<Miss> {
        let claims: BTreeMap<String, String> = match self.snapshot() {
            Ok(snapshot) => {
                let nodes = snapshot.cluster.nodes.into_iter();
                nodes.filter_map(|node| Some((node.name, node.claim?))).collect()
            }
            Err(error) => return vec![Miss(error.to_string())],
        };
        check::check(&self.file.expect, plan, &claims)
    }
}

/// `placed` of a workload: the node of all its pods, or of some by name.
fn read_placed(value: &Value) -> Result<Placed, String> {
    match value {
        Value::String(node) => Ok(Placed::All(node.clone())),
        Value::Object(nodes) => {
            let nodes = nodes.iter().map(|(pod, node)| Some((pod.clone(), node.as_str()?.to_owned())));
            let nodes: Option<BTreeMap<_, _>> = nodes.collect();
            nodes.map(Placed::Some).ok_or_else(|| "placed: expected pod names with their nodes".to_owned())
        }
        other => {
            Err(format!("placed: expected a node, or pods with their nodes, found {}", read::describe(other)))
        }
    }
}

/// The JSON schema of case files.
pub fn schema() -> Value {
    let mut value = schemars::schema_for!(CaseFile).to_value();
    if let Some(map) = value.as_object_mut() {
        map.insert("title".to_owned(), Value::from("Journeyman case file"));
    }
    value
}
