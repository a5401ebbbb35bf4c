//! One file a subcommand.
//!
//! Return codes: 0 done, 1 a negative finding, 2 bad input or usage, 70 a bug of ours.

use std::process::ExitCode;

use crate::args::Command;
use crate::output::Out;

pub mod catalog;
pub mod completions;
pub mod cost;
mod crds;
pub mod disrupt;
pub mod doctor;
pub mod explain;
pub mod migrate;
pub mod plan;
#[cfg(feature = "aws")]
pub mod refresh;
pub mod replay;
#[cfg(feature = "aws")]
pub mod run;
mod schema;
pub mod simulate;
pub mod test;
pub mod validate;

/// Runs what was asked for.
pub fn run(command: &Command, out: &mut Out) -> miette::Result<ExitCode> {
    match command {
        Command::Plan(args) => plan::run(args, out),
        Command::Disrupt(args) => disrupt::run(args, out),
        Command::Explain(args) => explain::run(args, out),
        Command::Test(args) => test::run(args, out),
        Command::Validate(args) => validate::run(args, out),
        Command::Catalog(command) => catalog::run(command, out),
        Command::Replay(args) => replay::run(args, out),
        Command::Migrate(args) => migrate::run(args, out),
        Command::Cost(args) => cost::run(args, out),
        Command::Doctor(args) => doctor::run(args, out),
        #[cfg(feature = "aws")]
        Command::Run(args) => run::run(args),
        Command::Crds => crds::run(out),
        Command::Simulate(args) => simulate::run(args, out),
        Command::Schema => schema::run(out),
        Command::Completions(args) => completions::run(args, out),
    }
}
