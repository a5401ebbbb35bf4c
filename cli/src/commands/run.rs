//! `journeyman run`: all functions in one local process, against a kubeconfig and AWS or emulator endpoints.

use std::path::PathBuf;
use std::process::ExitCode;

use miette::IntoDiagnostic;
use runtime::config::Config;

/// What `run` is told. The rest is as the functions have it: `JOURNEYMAN_…` variables.
#[derive(Debug, clap::Args)]
pub struct RunArgs {
    /// The EKS cluster's name
    #[arg(long, env = "JOURNEYMAN_CLUSTERS", value_name = "NAME")]
    cluster: String,
    /// A kubeconfig to reach it by, instead of EKS's own access
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The AWS Region
    #[arg(long, env = "AWS_REGION", value_name = "REGION")]
    region: String,
}

/// Runs until interrupted.
pub fn run(args: &RunArgs) -> miette::Result<ExitCode> {
    let mut config = Config::from_vars(|name| match name {
        "JOURNEYMAN_CLUSTERS" => Some(args.cluster.clone()),
        "AWS_REGION" => Some(args.region.clone()),
        other => std::env::var(other).ok(),
    })?;
    for cluster in config.clusters.values_mut() {
        if let Some(path) = &args.kubeconfig {
            cluster.kubeconfig = Some(path.clone());
        }
    }
    runtime::telemetry::start();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().into_diagnostic()?;
    runtime.block_on(async {
        tokio::select! {
            result = runtime::local::run(config) => result,
            // Everything that matters is in the cluster: stopping anywhere is fine.
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })?;
    Ok(ExitCode::SUCCESS)
}
