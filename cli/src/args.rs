//! What was typed.

use clap::{Parser, Subcommand};

#[cfg(feature = "aws")]
use crate::commands::run;
use crate::commands::{
    catalog, completions, cost, disrupt, doctor, explain, migrate, plan, replay, simulate, test, validate,
};
use crate::output::Color;

/// Karpenter's job for Amazon EKS, from files: which nodes do these pods need, what do they cost, and why
/// does this pod have none?
#[derive(Debug, Parser)]
#[command(name = "journeyman", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to colour
    #[arg(long, global = true, value_enum, default_value_t, value_name = "WHEN")]
    pub color: Color,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say which nodes to launch for the pods that have none
    Plan(plan::PlanArgs),
    /// Say which nodes would go, why, and what keeps each of the others
    Disrupt(disrupt::DisruptArgs),
    /// Say why a pod has no node, or why it goes where it goes
    Explain(explain::ExplainArgs),
    /// Run case files: unit tests for one's own NodePools
    Test(test::TestArgs),
    /// Report every fault of manifests, with its line
    Validate(validate::ValidateArgs),
    /// Look up EC2 instance types
    #[command(subcommand)]
    Catalog(catalog::CatalogCommand),
    /// Simulate a day on a virtual clock, with the real planner, and what it costs
    Simulate(simulate::SimulateArgs),
    /// Take a recorded decision again, and say whether it comes out the same
    Replay(replay::ReplayArgs),
    /// Turn node groups, Auto Scaling groups or Karpenter's Helm values into what is used here
    Migrate(migrate::MigrateArgs),
    /// Say what the functions cost a month
    Cost(cost::CostArgs),
    /// Check a deployment, by what AWS and the cluster say of it, and say how to mend it
    Doctor(doctor::DoctorArgs),
    /// Run all functions in this process, against a kubeconfig and AWS
    #[cfg(feature = "aws")]
    Run(run::RunArgs),
    /// Print the CustomResourceDefinitions as YAML
    Crds,
    /// Print the JSON schema of case files
    Schema,
    /// Print shell completions
    Completions(completions::CompletionsArgs),
}
