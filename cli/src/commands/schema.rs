//! `journeyman schema`: the JSON schema of case files, for editors.

use std::process::ExitCode;

use miette::IntoDiagnostic;

use crate::output::Out;

/// Prints it.
pub fn run(out: &mut Out) -> miette::Result<ExitCode> {
    let text = serde_json::to_string_pretty(&api::case::schema()).into_diagnostic()?;
    out.line(text)?;
    Ok(ExitCode::SUCCESS)
}
