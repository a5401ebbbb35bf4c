//! Decision records: what was seen and what was decided, so that the decision can be taken again and looked into.

use jiff::Timestamp;
use model::{Care, LifecycleSnapshot, Plan, Snapshot};
use serde::{Deserialize, Serialize};

/// What this crate writes; a record of another version is refused.
pub const VERSION: u32 = 1;

/// One decision with all it was taken from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// The format.
    pub version: u32,
    /// The cluster.
    pub cluster: String,
    /// The function that decided.
    pub function: String,
    /// When.
    pub at: Timestamp,
    /// The decision.
    pub decision: Decision,
    /// What the judge said against it, if anything: then it was not carried out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objections: Vec<String>,
    /// What came of its effects, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
}

/// A decision's input and output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Decision {
    /// About pods and nodes.
    Plan {
        /// The planner's steps, by name.
        steps: Vec<String>,
        /// What was seen.
        snapshot: Box<Snapshot>,
        /// What was decided.
        plan: Box<Plan>,
    },
    /// About NodeClaims under way.
    Care {
        /// What was seen.
        snapshot: Box<LifecycleSnapshot>,
        /// What was decided.
        care: Box<Care>,
    },
}

/// What came of one effect.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Outcome {
    /// It was done, or had been.
    Done,
    /// It was refused, and why.
    Refused(String),
    /// The run ended before it.
    Skipped,
}

/// Why a record can't be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RecordError {
    /// It is no record.
    #[error("not a decision record")]
    #[diagnostic(code(api::record), help("records are the files under records/ in the deployment's bucket"))]
    Unreadable(#[source] serde_json::Error),
    /// It is of another format.
    #[error("a record of format {found}; this program reads format {VERSION}")]
    #[diagnostic(code(api::record_version), help("use the release of journeyman that wrote it"))]
    Version {
        /// The record's format.
        found: u32,
    },
}

impl Record {
    /// As JSON.
    pub fn to_json(&self) -> Result<Vec<u8>, RecordError> {
        serde_json::to_vec(self).map_err(RecordError::Unreadable)
    }

    /// From JSON.
    pub fn from_json(text: &[u8]) -> Result<Self, RecordError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let head: Head = serde_json::from_slice(text).map_err(RecordError::Unreadable)?;
        if head.version != VERSION {
            return Err(RecordError::Version { found: head.version });
        }
        serde_json::from_slice(text).map_err(RecordError::Unreadable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_reads_as_it_was_written() {
        let record = Record {
            version: VERSION,
            cluster: "prod".into(),
            function: "lifecycle".into(),
            at: "2026-06-01T12:00:00Z".parse().unwrap(),
            decision: Decision::Plan {
                steps: vec!["provision".into()],
                snapshot: Box::new(Snapshot {
                    now: "2026-06-01T12:00:00Z".parse().unwrap(),
                    settings: Default::default(),
                    cluster: Default::default(),
                    catalogue: Default::default(),
                }),
                plan: Box::default(),
            },
            objections: vec![],
            outcomes: vec![Outcome::Done, Outcome::Refused("it has changed".into()), Outcome::Skipped],
        };
        assert_eq!(Record::from_json(&record.to_json().unwrap()).unwrap(), record);
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for (text, told) in
            [("", "not a decision"), ("{}", "not a decision"), (r#"{"version": 9}"#, "format 9")]
        {
            assert!(Record::from_json(text.as_bytes()).unwrap_err().to_string().contains(told), "{text}");
        }
    }
}
