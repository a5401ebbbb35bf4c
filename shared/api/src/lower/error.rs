//! Why objects can't be lowered.

use miette::Diagnostic;
use thiserror::Error;

use crate::read::Place;

/// One thing wrong in the input.
#[derive(Clone, Debug, Eq, Error, Diagnostic, Ord, PartialEq, PartialOrd)]
#[error("{place}: {message}")]
#[diagnostic(code(lower::fault))]
pub struct InputFault {
    /// Where.
    pub place: Place,
    /// What.
    pub message: String,
    /// What would help.
    #[help]
    pub help: Option<String>,
}

/// Why objects can't be lowered.
#[derive(Debug, Error, Diagnostic)]
pub enum LowerError {
    /// There is nothing to lower.
    #[error("the input holds no Kubernetes object")]
    #[diagnostic(code(lower::no_objects), help("give manifests, or dumps made by `kubectl get … -o yaml`"))]
    NoObjects,
    /// The embedded catalogue can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Catalogue(#[from] catalog::CatalogError),
    /// Faults in the objects, in the order of their places.
    #[error("{}", count(faults))]
    #[diagnostic(code(lower::invalid))]
    Invalid {
        /// Every fault.
        #[related]
        faults: Vec<InputFault>,
    },
}

impl LowerError {
    /// Fails if there are faults: each once, in the order of their places.
    pub(super) fn check(mut faults: Vec<InputFault>) -> Result<(), Self> {
        faults.sort();
        faults.dedup();
        if faults.is_empty() { Ok(()) } else { Err(Self::Invalid { faults }) }
    }

    /// Every fault that has a place.
    pub fn faults(&self) -> &[InputFault] {
        match self {
            Self::NoObjects | Self::Catalogue(_) => &[],
            Self::Invalid { faults } => faults,
        }
    }
}

fn count(faults: &[InputFault]) -> String {
    match faults {
        [fault] => format!("1 fault in the input, in {}", fault.place.file),
        faults => format!("{} faults in the input", faults.len()),
    }
}
