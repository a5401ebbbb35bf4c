//! `journeyman test`: case files, one line each, and what differs for those that miss.

use std::path::PathBuf;
use std::process::ExitCode;

use api::case::{Action, Case, Miss};
use api::read::{Document, read_documents};
use cloud::messages::{MAX_AGE, Scope};
use miette::Diagnostic;
use thiserror::Error;

use crate::input;
use crate::output::{Out, Paint};
use crate::show::text::{item, paragraph};

/// What `test` is told.
#[derive(Debug, clap::Args)]
pub struct TestArgs {
    /// Case files or folders of them
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
}

/// What is not a case.
#[derive(Debug, Error, Diagnostic)]
#[error("{place}: this is not a case file")]
#[diagnostic(
    code(test::not_a_case),
    help("a case has name, objects and expect; `journeyman schema` prints its format")
)]
struct NotACase {
    place: String,
}

/// Runs every case: 1 if one misses, 2 if one can't be run.
pub fn run(args: &TestArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let (mut passed, mut failed, mut unreadable) = (0_usize, 0_usize, 0_usize);
    for path in input::files(&args.inputs)? {
        let name = path.display().to_string();
        match outcomes(&path) {
            Ok(cases) => {
                for (case, misses) in cases {
                    if misses.is_empty() {
                        passed += 1;
                        let word = out.paint(Paint::Good, "pass");
                        item(out, 5, &format!("{word} {name}: {case}"))?;
                        continue;
                    }
                    failed += 1;
                    let word = out.paint(Paint::Bad, "MISS");
                    item(out, 5, &format!("{word} {name}: {case}"))?;
                    for Miss(text) in misses {
                        for line in text.lines() {
                            paragraph(out, 5, line)?;
                        }
                    }
                }
            }
            Err(report) => {
                unreadable += 1;
                let word = out.paint(Paint::Bad, "FAIL");
                item(out, 5, &format!("{word} {name}: {report}"))?;
                for related in report.related().into_iter().flatten() {
                    paragraph(out, 5, &with_help(related))?;
                }
                if let Some(help) = report.help() {
                    paragraph(out, 5, &format!("help: {help}"))?;
                }
            }
        }
    }
    let unread = if unreadable > 0 { format!(", {unreadable} unreadable") } else { String::new() };
    let summary = out.paint(Paint::Bold, format!("{passed} passed, {failed} failed{unread}"));
    out.line(summary)?;
    Ok(match (unreadable, failed) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(1),
        _ => ExitCode::from(2),
    })
}

fn with_help(fault: &dyn Diagnostic) -> String {
    fault.help().map_or_else(|| fault.to_string(), |help| format!("{fault} ({help})"))
}

/// The cases of a file with what each misses.
fn outcomes(path: &std::path::Path) -> miette::Result<Vec<(String, Vec<Miss>)>> {
    let source = input::read(path)?;
    let documents = read_documents(&source.name, &source.text)?;
    documents.iter().map(outcome).collect()
}

fn outcome(document: &Document) -> miette::Result<(String, Vec<Miss>)> {
    if !document.is_case() {
        return Err(NotACase { place: document.place.to_string() }.into());
    }
    let case = Case::read(document)?;
    let steps = match case.action {
        Action::Provision => planner::PROVISION,
        Action::Disrupt => planner::DISRUPT,
        Action::Interrupt => return interrupted(case),
    };
    let snapshot = case.snapshot()?;
    let plan = planner::decide(&snapshot, steps);
    let mut misses = case.check(&plan);
    // A plan that meets the case but breaks a rule is no good plan.
    let faults = planner::objections(&plan, &snapshot, steps);
    misses.extend(faults.into_iter().map(|fault| Miss(format!("audit: {fault}"))));
    Ok((case.name, misses))
}

/// What comes of a case's events.
fn interrupted(case: Case) -> miette::Result<(String, Vec<Miss>)> {
    let scope =
        Scope { account: None, region: Some(case.region().to_owned()), now: case.now(), max_age: MAX_AGE };
    let mut notices = Vec::new();
    let mut ignored = 0;
    for event in case.events() {
        match scope.notices(event) {
            Ok(said) => notices.extend(said),
            Err(_) => ignored += 1,
        }
    }
    let snapshot = case.interruption(notices)?;
    let care = planner::interrupt(&snapshot);
    let misses = case.check_care(&snapshot, &care, ignored);
    Ok((case.name, misses))
}
