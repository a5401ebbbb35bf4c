//! `journeyman simulate`: a day on a virtual clock, with the real planner, and what it costs.

mod table;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use api::lower::{LowerError, LowerOptions, Objects, SnapshotOptions, Types, snapshot};
use api::read::ReadError;
use indicatif::{ProgressBar, ProgressStyle};
use miette::{Diagnostic, IntoDiagnostic};
use model::{Note, Settings};
use simulation::{Progress, Report, Scenario, ScenarioError, Schedule, day};
use thiserror::Error;

use crate::input::{self, InputError};
use crate::output::Out;

/// What `simulate` is told.
#[derive(Debug, clap::Args)]
pub struct SimulateArgs {
    /// Manifests to simulate instead of the embedded day; their workloads' templates are what the schedule moves
    #[arg(value_name = "INPUT", requires = "schedule")]
    inputs: Vec<PathBuf>,
    /// When the workloads' pods come and go
    #[arg(long, value_name = "FILE", requires = "inputs")]
    schedule: Option<PathBuf>,
    /// What all delays and ties follow from: equal seeds, equal days
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How long to simulate [default: what the schedule says]
    #[arg(long)]
    hours: Option<u32>,
    /// A table for people, or JSON for programs
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
    /// List every instance that came or went
    #[arg(long)]
    moves: bool,
    /// No progress bar, even on a terminal
    #[arg(long)]
    no_progress: bool,
}

/// How to print a report.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Format {
    /// Tables of at most 100 columns
    #[default]
    Table,
    /// One object
    Json,
}

/// Why there is nothing to simulate.
#[derive(Debug, Error, Diagnostic)]
enum SimulateError {
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
    Scenario(#[from] ScenarioError),

    #[error("{file} is no schedule: {fault}")]
    #[diagnostic(
        code(simulate::schedule),
        help(
            "a schedule has name, start, hours and workloads: a list of {{workload: namespace/name, pods: …}}, where \
             pods is one of curve, steps and jobs"
        )
    )]
    Schedule { file: String, fault: String },
}

/// Simulates and prints what it came to. A plan that the audit objects to is a negative finding.
pub fn run(args: &SimulateArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let (scenario, notes) = scenario(args)?;
    let report = simulate(args, &scenario);
    match args.output {
        Format::Table => table::show(out, &report, &notes, args.moves)?,
        Format::Json => out.line(serde_json::to_string_pretty(&report).into_diagnostic()?)?,
    }
    Ok(if report.audit_faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn scenario(args: &SimulateArgs) -> Result<(Scenario, Vec<Note>), SimulateError> {
    let mut objects = Objects::default();
    let mut schedule = match &args.schedule {
        Some(path) => {
            for path in input::files(&args.inputs)? {
                let source = input::read(&path)?;
                objects.read(&source.name, &source.text)?;
            }
            let source = input::read(path)?;
            read_schedule(&source.name, &source.text)?
        }
        None => {
            for (file, text) in day::MANIFESTS {
                objects.read(file, text)?;
            }
            let (file, text) = day::SCHEDULE;
            read_schedule(file, text)?
        }
    };
    schedule.hours = args.hours.unwrap_or(schedule.hours);
    let options = SnapshotOptions {
        now: schedule.start,
        settings: Settings::default(),
        lower: LowerOptions::default(),
        types: Types::Embedded,
    };
    let (snapshot, notes) = snapshot(&objects, &options)?;
    Ok((Scenario::new(&schedule, snapshot)?, notes))
}

fn read_schedule(file: &str, text: &str) -> Result<Schedule, SimulateError> {
    serde_saphyr::from_str(text)
        .map_err(|fault| SimulateError::Schedule { file: file.to_owned(), fault: fault.to_string() })
}

/// Simulates, with a bar on a terminal.
fn simulate(args: &SimulateArgs, scenario: &Scenario) -> Report {
    if args.no_progress || !std::io::stderr().is_terminal() {
        return simulation::run(scenario, args.seed, &mut |_| {});
    }
    let minutes = |duration: jiff::SignedDuration| u64::try_from(duration.as_mins()).unwrap_or(0);
    let bar = ProgressBar::new(minutes(scenario.length));
    if let Ok(style) = ProgressStyle::with_template("{msg:<44} {bar:40} {percent:>3} %") {
        bar.set_style(style);
    }
    let report = simulation::run(scenario, args.seed, &mut |progress: Progress| {
        bar.set_position(minutes(progress.done));
        let Progress { now, nodes, pods, .. } = progress;
        bar.set_message(format!("{} {nodes} nodes, {pods} pods", now.strftime("%a %H:%M")));
    });
    bar.finish_and_clear();
    report
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_refused_with_its_fault() {
        let good = "name: x\nstart: 2026-06-01T00:00:00Z\nhours: 2\n";
        assert!(read_schedule("s.yaml", good).is_ok());
        let entry = |pods: &str| format!("{good}workloads: [{{workload: a/b, pods: {pods}}}]\n");
        assert!(read_schedule("s.yaml", &entry("{steps: [{at: '07:00', replicas: 1}]}")).is_ok());
        for text in [
            "",
            "name: x",
            "name: [",
            &format!("{good}speed: 3\n"),
            &entry("{wave: []}"),
            &entry("{steps: [{at: noon, replicas: 1}]}"),
            &entry("{steps: [{at: '07:00', replicas: -1}]}"),
            &entry("{jobs: [{at: '07:00', pods: 1, runs: [1m]}]}"),
        ] {
            let fault = read_schedule("s.yaml", text).unwrap_err();
            assert!(fault.to_string().starts_with("s.yaml is no schedule: "), "{text:?}: {fault}");
        }
    }
}
