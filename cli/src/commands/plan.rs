//! `journeyman plan`: which nodes to launch for the pods that have none.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use api::record::{Decision, Record, VERSION};
use miette::{IntoDiagnostic, WrapErr};
use model::{Plan, Snapshot};

use crate::output::Out;
use crate::show;
use crate::world::WorldArgs;

/// What `plan` is told.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// Write a decision record, for `journeyman replay`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// A table for people, or JSON or YAML for programs
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// How to print a plan.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Format {
    /// Tables of at most 100 columns
    #[default]
    Table,
    /// One object; its fields are stable
    Json,
    /// The same as YAML
    Yaml,
}

/// Plans and prints the plan. Pods without a node are part of a good plan.
pub fn run(args: &PlanArgs, out: &mut Out) -> miette::Result<ExitCode> {
    let (snapshot, notes) = args.world.observe()?;
    let mut plan = planner::decide(&snapshot, planner::PROVISION);
    if let Some(path) = &args.record {
        record(path, &snapshot, &plan)?;
    }
    plan.notes.splice(0..0, notes);
    match args.output {
        Format::Table => show::plan::show(out, &plan, &snapshot)?,
        Format::Json => {
            let report = api::report::plan_json(&plan, &snapshot);
            out.line(serde_json::to_string_pretty(&report).into_diagnostic()?)?;
        }
        Format::Yaml => {
            let report = api::report::plan_json(&plan, &snapshot);
            out.text(&serde_saphyr::to_string(&report).into_diagnostic()?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn record(path: &Path, snapshot: &Snapshot, plan: &Plan) -> miette::Result<()> {
    let steps = planner::PROVISION.iter().map(|step| step.name().to_owned()).collect();
    let decision =
        Decision::Plan { steps, snapshot: Box::new(snapshot.clone()), plan: Box::new(plan.clone()) };
    let record = Record {
        version: VERSION,
        cluster: String::new(),
        function: "plan".to_owned(),
        at: snapshot.now,
        decision,
        objections: Vec::new(),
        outcomes: Vec::new(),
    };
    let written = record.to_json()?;
    std::fs::write(path, written).into_diagnostic().wrap_err_with(|| format!("writing {}", path.display()))
}
