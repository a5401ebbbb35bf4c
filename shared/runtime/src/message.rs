//! Messages the functions send each other and the schedules send them. A message is a hint: it names what to look at.

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tend {
    /// The cluster.
    pub cluster: String,
    /// The NodeClaims; none means every one that is not at rest, and instances and NodeClaims that have lost each other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<String>,
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
            Tend { cluster: "prod".into(), claims: vec!["a".into()] }
        );
        for body in ["", "{}", "[]", "prod", r#"{"cluster": 1}"#] {
            read::<Wake>(body).unwrap_err();
        }
    }
}
