//! `journeyman crds`: the CustomResourceDefinitions, ready for `kubectl apply -f -`.

use std::process::ExitCode;

use miette::IntoDiagnostic;

use crate::output::Out;

/// Prints them as one YAML stream.
pub fn run(out: &mut Out) -> miette::Result<ExitCode> {
    for crd in api::crd::crds() {
        let text = serde_saphyr::to_string(&crd).into_diagnostic()?;
        out.text(&format!("---\n{text}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
