//! `journeyman migrate`: managed node groups and Auto Scaling groups become NodePools, Karpenter's Helm values our variables.

mod groups;
mod helm;
mod pool;
mod scaling;

use std::path::PathBuf;
use std::process::ExitCode;

use api::read::read_documents;
use miette::Diagnostic;
use serde_json::Value;

use crate::input;
use crate::output::Out;
use pool::Migrated;

/// What `migrate` is told.
#[derive(Debug, clap::Args)]
pub struct MigrateArgs {
    /// What `aws eks describe-nodegroup`, `aws autoscaling describe-auto-scaling-groups` or `helm get values` print, or - for
    /// standard input
    #[arg(required = true, value_name = "FILE")]
    inputs: Vec<PathBuf>,
    /// The cluster's name, where a file doesn't say it
    #[arg(long, value_name = "NAME")]
    cluster: Option<String>,
}

/// Why a file can't be moved over.
#[derive(Debug, thiserror::Error, Diagnostic)]
enum MigrateError {
    #[error("{name} is neither a node group, nor Auto Scaling groups, nor Helm values of Karpenter")]
    #[diagnostic(
        code(migrate::unknown),
        help(
            "give what `aws eks describe-nodegroup`, `aws autoscaling describe-auto-scaling-groups` or `helm get values` prints"
        )
    )]
    Unknown { name: String },
    #[error("{name} doesn't say which cluster the group belongs to")]
    #[diagnostic(code(migrate::cluster), help("name it: --cluster NAME"))]
    NoCluster { name: String },
}

/// Prints manifests or variables; what can't be carried over stands above each as comments.
pub fn run(args: &MigrateArgs, out: &mut Out) -> miette::Result<ExitCode> {
    for path in input::files(&args.inputs)? {
        let source = input::read(&path)?;
        for document in read_documents(&source.name, &source.text)? {
            out.text(&migrate(&source.name, &document.value, args.cluster.as_deref())?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn migrate(name: &str, value: &Value, cluster: Option<&str>) -> Result<String, MigrateError> {
    let list = |key: &str| value.get(key).and_then(Value::as_array).map(Vec::as_slice);
    if let Some(group) = value.get("nodegroup") {
        return Ok(groups::migrate(group, cluster).to_string());
    }
    if let Some(groups) = list("AutoScalingGroups") {
        let migrated: Option<Vec<Migrated>> =
            groups.iter().map(|group| scaling::migrate(group, cluster)).collect();
        let migrated = migrated.ok_or_else(|| MigrateError::NoCluster { name: name.to_owned() })?;
        return Ok(migrated.iter().map(ToString::to_string).collect());
    }
    if helm::is_values(value) {
        return helm::migrate(value, cluster)
            .ok_or_else(|| MigrateError::NoCluster { name: name.to_owned() });
    }
    Err(MigrateError::Unknown { name: name.to_owned() })
}
