//! `journeyman validate`: every fault of manifests, with file, line and field.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use api::case::{Case, CaseError};
use api::crd::Kind;
use api::lower::{InputFault, LowerOptions, Objects, lower};
use api::read::{Document, ReadError, locate, read_documents};
use miette::Diagnostic;
use serde_json::Value;

use crate::input;
use crate::output::{Out, Paint};
use crate::show::text::{count, item};

/// What `validate` is told.
#[derive(Debug, clap::Args)]
pub struct ValidateArgs {
    /// Files or folders with manifests, or - for standard input
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
}

/// What was found so far.
#[derive(Default)]
struct Findings {
    objects: Objects,
    looked_at: usize,
    unreadable: Vec<ReadError>,
    faults: BTreeSet<InputFault>,
}

/// Prints the faults, and fails if there are any.
pub fn run(args: &ValidateArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let mut findings = Findings::default();
    let files = input::files(&args.inputs)?;
    for path in &files {
        let source = input::read(path)?;
        match read_documents(&source.name, &source.text) {
            Ok(documents) => documents.iter().for_each(|document| findings.look_at(document)),
            Err(error) => findings.unreadable.push(error),
        }
    }
    let looked_at = format!("{} in {}", count(findings.looked_at, "object"), count(files.len(), "file"));
    let faults = findings.finish();
    for (what, help) in &faults {
        let help = help.as_ref().map_or_else(String::new, |help| format!(" ({help})"));
        item(out, 4, &format!("{what}{help}"))?;
    }
    if !faults.is_empty() {
        let found = out.paint(Paint::Bad, count(faults.len(), "fault"));
        out.line(format!("{found}, {looked_at}"))?;
        return Ok(ExitCode::from(2));
    }
    let fine = out.paint(Paint::Good, "No faults");
    out.line(format!("{fine}, {looked_at}"))?;
    Ok(ExitCode::SUCCESS)
}

impl Findings {
    fn look_at(&mut self, document: &Document) {
        self.looked_at += 1;
        if document.is_case() {
            match Case::read(document).and_then(|case| case.snapshot()) {
                Err(CaseError::Invalid { faults }) => self.faults.extend(faults),
                Err(CaseError::Objects(error)) => self.faults.extend(error.faults().iter().cloned()),
                Ok(_) => {}
            }
            return;
        }
        let text = |key: &str| document.value.get(key).and_then(Value::as_str).unwrap_or_default();
        // Objects that come from a cluster are let off what only a controller would find; here they are not.
        if let Some(kind) = Kind::of(text("apiVersion"), text("kind")) {
            for fault in api::crd::validate(kind, &document.value) {
                let place = locate(document, &fault.path).unwrap_or_else(|| document.place.clone());
                let message = format!("{}: {}", fault.path, fault.message);
                self.faults.insert(InputFault { place, message, help: fault.help });
            }
        }
        self.objects.add(document);
    }

    /// All faults in words, those of unreadable files first.
    fn finish(mut self) -> Vec<(String, Option<String>)> {
        let options = LowerOptions { assume_node_class: true, ..LowerOptions::default() };
        if let Err(error) = lower(&self.objects, &options) {
            self.faults.extend(error.faults().iter().cloned());
        }
        let unreadable = self
            .unreadable
            .iter()
            .map(|error| (error.to_string(), error.help().map(|help| help.to_string())));
        let faults = self.faults.iter().map(|fault| (fault.to_string(), fault.help.clone()));
        unreadable.chain(faults).collect()
    }
}
