//! From what was typed to a snapshot: which inputs, which settings, what time it is.

use std::path::PathBuf;
use std::sync::Arc;

use api::case::{Case, CaseError};
use api::lower::{
    DefaultSpread, DefaultSpreadError, LowerError, LowerOptions, Objects, SnapshotOptions, Types, snapshot,
};
use api::read::{Document, ReadError, read_documents};
use catalog::CatalogError;
use jiff::Timestamp;
use miette::Diagnostic;
use model::{MicroUsd, MinValuesPolicy, Note, PreferencePolicy, Settings, Snapshot};
use thiserror::Error;

use crate::input::{self, InputError, Source};

/// Which world to look at, and how to judge it.
#[derive(Debug, clap::Args)]
pub struct WorldArgs {
    /// Files or folders with manifests, dumps or one case file; - for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// What becomes of preferences: node and pod affinity, ScheduleAnyway spread
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    preferences: Preferences,
    /// What becomes of minValues that can't be met
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    min_values: MinValues,
    /// What a node costs an hour beside its instance: licences, monitoring
    #[arg(long, value_name = "USD")]
    fee_per_node: Option<MicroUsd>,
    /// The time to plan for, such as 2026-06-01T12:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// A scheduler configuration with podTopologySpread.defaultConstraints
    #[arg(long, value_name = "FILE")]
    default_spread: Option<PathBuf>,
    /// A catalogue made by `catalog refresh` instead of the embedded one
    #[arg(long, value_name = "FILE")]
    catalogue: Option<PathBuf>,
}

/// `--preferences`.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Preferences {
    /// Kept until they stand in the way
    #[default]
    Respect,
    /// Not looked at
    Ignore,
}

/// `--min-values`.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum MinValues {
    /// No node
    #[default]
    Strict,
    /// A node with as many values as there are
    BestEffort,
}

/// Why there is no world to look at.
#[derive(Debug, Error, Diagnostic)]
pub enum WorldError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Input(#[from] InputError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(#[from] ReadError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Lower(#[from] LowerError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Case(#[from] CaseError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalogue(#[from] CatalogError),

    #[error(transparent)]
    #[diagnostic(transparent)]
    DefaultSpread(#[from] DefaultSpreadError),

    #[error("{place}: a case file is a world of its own")]
    #[diagnostic(
        code(world::mixed),
        help("give one case file and nothing else, or run several with `journeyman test`")
    )]
    Mixed { place: String },
}

impl WorldArgs {
    /// Reads the inputs into a snapshot, with what was noticed on the way.
    pub fn observe(&self) -> Result<(Snapshot, Vec<Note>), WorldError> {
        let mut objects = Objects::default();
        let mut cases = Vec::new();
        let files = input::files(&self.inputs)?;
        for path in &files {
            let source = input::read(path)?;
            // A case names its objects itself; anything else is taken in as it is read, so that a large dump is
            // never in memory twice.
            match self.case(&source)? {
                Some(case) => cases.push(case),
                None => objects.read(&source.name, &source.text)?,
            }
        }
        match cases.as_slice() {
            [] => Ok(snapshot(&objects, &self.options()?)?),
            [case] if files.len() == 1 => Ok(Case::read(case)?.snapshot_and_notes()?),
            [case, ..] => Err(WorldError::Mixed { place: case.place.to_string() }),
        }
    }

    /// The case in a source, if it is one.
    fn case(&self, source: &Source) -> Result<Option<Document>, WorldError> {
        // Cheaper than reading a dump twice: every case has `objects:` at the start of a line, or as a JSON key.
        let may_be = source.text.starts_with("objects:")
            || source.text.contains("\nobjects:")
            || source.text.trim_start().starts_with('{') && source.text.contains("\"objects\"");
        if !may_be {
            return Ok(None);
        }
        let documents = read_documents(&source.name, &source.text)?;
        let cases = documents.iter().filter(|document| document.is_case()).count();
        let mut documents = documents.into_iter();
        match (cases, documents.next()) {
            (0, _) | (_, None) => Ok(None),
            (1, Some(only)) if documents.len() == 0 => Ok(Some(only)),
            (_, Some(first)) => Err(WorldError::Mixed { place: first.place.to_string() }),
        }
    }

    fn options(&self) -> Result<SnapshotOptions, WorldError> {
        let default_spread = match &self.default_spread {
            None => Vec::new(),
            Some(path) => {
                let source = input::read(path)?;
                DefaultSpread::read(&source.name, &source.text)?
            }
        };
        Ok(SnapshotOptions {
            now: self.now.unwrap_or_else(Timestamp::now),
            settings: Settings {
                preferences: match self.preferences {
                    Preferences::Respect => PreferencePolicy::Respect,
                    Preferences::Ignore => PreferencePolicy::Ignore,
                },
                min_values: match self.min_values {
                    MinValues::Strict => MinValuesPolicy::Strict,
                    MinValues::BestEffort => MinValuesPolicy::BestEffort,
                },
                fee_per_node: self.fee_per_node.unwrap_or_default(),
                nominate: false,
            },
            lower: LowerOptions { default_spread, assume_node_class: false },
            types: match &self.catalogue {
                None => Types::Embedded,
                Some(path) => Types::Ec2(Arc::new(catalog::decode(&input::bytes(path)?)?)),
            },
        })
    }
}
