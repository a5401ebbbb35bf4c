//! `journeyman replay`: takes a recorded decision again, and says whether it comes out the same.

use std::path::PathBuf;
use std::process::ExitCode;

use api::record::{Decision, Record, RecordError};
use miette::{Diagnostic, IntoDiagnostic};
use serde::Serialize;
use thiserror::Error;

use crate::input::{self, InputError};
use crate::output::Out;
use crate::show;

/// What `replay` is told.
#[derive(Debug, clap::Args)]
pub struct ReplayArgs {
    /// A decision record, as it lies in the deployment's bucket or as `plan --record` writes it
    #[arg(value_name = "RECORD")]
    record: PathBuf,
}

/// Why a record can't be taken again.
#[derive(Debug, Error, Diagnostic)]
enum ReplayError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Input(#[from] InputError),

    #[error("{place}: damaged")]
    #[diagnostic(code(replay::damaged), help("fetch the record again; it is Zstandard-compressed JSON"))]
    Compression {
        place: String,
        #[source]
        cause: std::io::Error,
    },

    #[error("{place}: can't be replayed")]
    #[diagnostic(code(replay::record))]
    Record {
        place: String,
        #[source]
        #[diagnostic_source]
        cause: RecordError,
    },

    #[error("{place}: knows no step {step:?}")]
    #[diagnostic(code(replay::step), help("use the release of journeyman that wrote it"))]
    Step { place: String, step: String },
}

/// Decides again from what was seen then.
pub fn run(args: &ReplayArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let place = args.record.display().to_string();
    let record = read(args)?;
    out.line(format!("{} of {} at {}", record.function, shown(&record.cluster), record.at))?;
    for objection in &record.objections {
        out.line(format!("not carried out: {objection}"))?;
    }
    let same = match &record.decision {
        Decision::Plan { steps, snapshot, plan } => {
            let steps = steps.iter().map(|step| {
                planner::Step::from_name(step)
                    .ok_or_else(|| ReplayError::Step { place: place.clone(), step: step.clone() })
            });
            let again = planner::decide(snapshot, &steps.collect::<Result<Vec<_>, _>>()?);
            show::plan::show(out, &again, snapshot)?;
            compare(out, plan.as_ref(), &again)?
        }
        Decision::Care { snapshot, care } => {
            let again = planner::care(snapshot);
            for effect in &again.effects {
                out.line(serde_json::to_string(effect).into_diagnostic()?)?;
            }
            compare(out, care.as_ref(), &again)?
        }
    };
    Ok(if same { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn read(args: &ReplayArgs) -> Result<Record, ReplayError> {
    const ZSTANDARD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
    let place = args.record.display().to_string();
    let mut bytes = input::bytes(&args.record)?;
    if bytes.starts_with(&ZSTANDARD) {
        let mut text = Vec::new();
        let damaged = |cause: std::io::Error| ReplayError::Compression { place: place.clone(), cause };
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(bytes.as_slice())
            .map_err(|cause| damaged(std::io::Error::other(cause)))?;
        std::io::Read::read_to_end(&mut decoder, &mut text).map_err(damaged)?;
        bytes = text;
    }
    Record::from_json(&bytes).map_err(|cause| ReplayError::Record { place, cause })
}

/// Whether both are the same to the byte; else where they first part.
fn compare<T: Serialize>(out: &mut Out, then: &T, now: &T) -> miette::Result<bool> {
    let (then, now) = (
        serde_json::to_string_pretty(then).into_diagnostic()?,
        serde_json::to_string_pretty(now).into_diagnostic()?,
    );
    if then == now {
        out.line("the same decision, byte for byte")?;
        return Ok(true);
    }
    out.line("another decision; they first part here:")?;
    let mut lines = then.lines().zip(now.lines());
    let (before, after) = lines
        .find(|(before, after)| before != after)
        .unwrap_or(("(the record ends)", "(the new decision ends)"));
    out.line(format!("  then: {}", before.trim()))?;
    out.line(format!("  now:  {}", after.trim()))?;
    Ok(false)
}

/// A plan made from files is of no cluster in particular.
fn shown(cluster: &str) -> &str {
    if cluster.is_empty() { "files" } else { cluster }
}
