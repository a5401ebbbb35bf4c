//! `journeyman disrupt`: which nodes would go, and what keeps the others.

use std::process::ExitCode;

use miette::{Diagnostic, IntoDiagnostic};
use thiserror::Error;

use crate::output::Out;
use crate::show;
use crate::world::WorldArgs;

/// What `disrupt` is told.
#[derive(Debug, clap::Args)]
pub struct DisruptArgs {
    #[command(flatten)]
    world: WorldArgs,
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
    /// A table for people, or JSON or YAML for programs
    #[arg(long, short, value_enum, default_value_t)]
    output: Format,
}

/// How to print what goes and what stays.
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

/// This command changes nothing.
#[derive(Debug, Error, Diagnostic)]
#[error("disrupt only shows what would be done")]
#[diagnostic(
    code(disrupt::dry_run_only),
    help(
        "add --dry-run; what gives nodes up is the function `disruption`, which runs each minute where it is deployed"
    )
)]
struct DryRunOnly;

/// Decides and prints the decision.
pub fn run(args: &DisruptArgs, out: &mut Out) -> miette::Result<ExitCode> {
    if !args.dry_run {
        return Err(DryRunOnly.into());
    }
    let (snapshot, notes) = args.world.observe()?;
    let mut plan = planner::decide(&snapshot, planner::DISRUPT);
    plan.notes.splice(0..0, notes);
    match args.output {
        Format::Table => show::disrupt::show(out, &plan)?,
        Format::Json => {
            out.line(serde_json::to_string_pretty(&api::report::disrupt_json(&plan)).into_diagnostic()?)?;
        }
        Format::Yaml => {
            out.text(&serde_saphyr::to_string(&api::report::disrupt_json(&plan)).into_diagnostic()?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
