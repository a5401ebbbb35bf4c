//! Messages the functions send each other and the schedules send them. A message is a hint: it names what to look at.

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

/// How often everything is looked at.
pub(crate) const MINUTE: SignedDuration = SignedDuration::from_secs(60);

/// Look at a cluster: for pending pods, for nodes to give up, for what can be bought.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wake {
    /// The cluster.
    pub cluster: String,
    /// Why, for the reader of logs.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}

/// Look after NodeClaims.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tend {
    /// The cluster.
    pub cluster: String,
    /// The NodeClaims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
    /// Nodes that no NodeClaim is left for. Without either, everything: what is not at rest, and what has been lost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// When this chain of looks ends: the next minute's look at everything begins chains of its own, so without an end
    /// a NodeClaim would be looked at ever more often.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Tend {
    /// Looks at some NodeClaims until the next minute's look at everything.
    pub fn soon(cluster: &str, claims: Vec<String>, nodes: Vec<String>) -> Self {
        let until = Timestamp::now() + MINUTE;
        Self { cluster: cluster.to_owned(), claims, nodes, until: Some(until) }
    }

    /// A look at everything.
    pub fn everything(cluster: &str) -> Self {
        Self { cluster: cluster.to_owned(), claims: Vec::new(), nodes: Vec::new(), until: None }
    }

    /// Whether it names nothing, and so means all.
    pub fn is_everything(&self) -> bool {
        self.claims.is_empty() && self.nodes.is_empty()
    }
}

/// A message that can't be read: it will never be, so it is counted and not kept.
#[derive(Debug, thiserror::Error)]
#[error("not a message of ours: {cause}")]
pub struct Foreign {
    cause: serde_json::Error,
}

/// Reads a message's body.
pub fn read<T: for<'a> Deserialize<'a>>(body: &str) -> Result<T, Foreign> {
    serde_json::from_str(body).map_err(|cause| Foreign { cause })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_needs_to_name_the_cluster_only() {
        assert_eq!(
            read::<Wake>(r#"{"cluster": "prod"}"#).unwrap(),
            Wake { cluster: "prod".into(), reason: String::new() }
        );
        assert_eq!(
            read::<Tend>(r#"{"cluster": "prod", "claims": ["a"], "later": 1}"#).unwrap(),
            Tend { cluster: "prod".into(), claims: vec!["a".into()], nodes: vec![], until: None }
        );
        for body in ["", "{}", "[]", "prod", r#"{"cluster": 1}"#] {
            read::<Wake>(body).unwrap_err();
        }
    }
}
