//! `journeyman plan`: which nodes to launch for the pods that have none.

use std::process::ExitCode;

use miette::IntoDiagnostic;

use crate::output::Out;
use crate::show;
use crate::world::WorldArgs;

/// What `plan` is told.
#[derive(Debug, clap::Args)]
pub struct PlanArgs {
    #[command(flatten)]
    world: WorldArgs,
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
