//! `journeyman doctor`: what is wrong with a deployment, and how to mend it. `infra/doctor` gathers what it looks at.

mod account;
mod cluster;
mod facts;

use std::path::PathBuf;
use std::process::ExitCode;

use jiff::Timestamp;
use miette::IntoDiagnostic;
use serde_json::json;

use crate::input;
use crate::output::{Out, Paint};
use crate::show::text::{count, item};
use facts::{Facts, Finding, State};

/// What `doctor` is told.
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {
    /// The folder of JSON files that infra/doctor gathers, with kubectl and the AWS CLI
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
    /// The moment it was gathered at [default: now]
    #[arg(long, value_name = "TIME")]
    now: Option<Timestamp>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints each check with what it found, and fails if one did.
pub fn run(args: &DoctorArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let mut facts = Facts::default();
    for path in input::files(std::slice::from_ref(&args.folder))? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = input::read(&path)?.text;
        // The AWS CLI prints nothing at all for an empty answer.
        let value =
            if text.trim().is_empty() { json!({}) } else { serde_json::from_str(&text).into_diagnostic()? };
        facts.put(name, value);
    }
    let findings = examine(&facts, args.now.unwrap_or_else(Timestamp::now));
    let of = |state: State| findings.iter().filter(|finding| finding.state == state).count();
    if args.json {
        let checks = findings.iter().map(|finding| {
            json!({"check": finding.check, "state": finding.state.word(), "message": finding.message, "help": finding.help})
        });
        out.line(format!("{:#}", json!({"checks": checks.collect::<Vec<_>>()})))?;
    } else {
        for finding in &findings {
            let paint = match finding.state {
                State::Fine => Paint::Good,
                State::Wrong => Paint::Bad,
                State::Unknown => Paint::Dim,
            };
            let word = out.paint(paint, format!("{:<7}", finding.state.word()));
            out.line(format!("{word} {}", finding.check))?;
            if finding.state != State::Fine {
                item(out, 8, &format!("        {}", finding.message))?;
                if !finding.help.is_empty() {
                    item(out, 8, &format!("        help: {}", finding.help))?;
                }
            }
        }
        let (wrong, unknown) = (of(State::Wrong), of(State::Unknown));
        out.line(format!("{}, {} wrong, {unknown} not looked at", count(findings.len(), "check"), wrong))?;
    }
    Ok(if of(State::Wrong) == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// All checks, in the order in which things depend on each other.
fn examine(facts: &Facts, now: Timestamp) -> Vec<Finding> {
    [cluster::examine(facts), account::examine(facts, now)].concat()
}
