//! What a function is told by its environment.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::SignedDuration;
use model::{MicroUsd, MinValuesPolicy, PreferencePolicy, Settings};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// All of it, checked.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Config {
    /// The AWS Region.
    pub region: String,
    /// The clusters looked after, by name.
    pub clusters: BTreeMap<String, ClusterConfig>,
    /// Where pending pods are hinted at; a FIFO queue.
    pub wake_queue: Option<String>,
    /// Where NodeClaims under way are sent to.
    pub lifecycle_queue: Option<String>,
    /// Where EventBridge's messages about instances come, if this process is to fetch them itself.
    pub interruption_queue: Option<String>,
    /// Where the catalogue and the decision records are kept.
    pub bucket: Option<String>,
    /// Where unavailable offerings are kept.
    pub table: Option<String>,
    /// Where domain events go.
    pub event_bus: Option<String>,
    /// There is no way to IAM and to the Price List, which have no VPC endpoints in most Regions: they are not called.
    pub isolated_vpc: bool,
    /// How pods are waited for.
    pub batching: Batching,
}

/// How pods are waited for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Batching {
    /// A batch ends when nothing has come for this long…
    pub idle: SignedDuration,
    /// …but no later than this.
    pub longest: SignedDuration,
    /// How long a watch is kept open after a scan.
    pub linger: SignedDuration,
}

/// One cluster.
#[derive(Clone, Debug, Default, Eq, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClusterConfig {
    /// A kubeconfig in place of EKS's own access, for a local run.
    pub kubeconfig: Option<PathBuf>,
    /// `Respect` or `Ignore`.
    pub preference_policy: PreferencePolicy,
    /// `Strict` or `BestEffort`.
    pub min_values_policy: MinValuesPolicy,
    /// What a node costs beside its instance, in dollars an hour.
    #[serde(deserialize_with = "dollars")]
    pub usd_per_node_hour: MicroUsd,
    /// Whether kube-scheduler is told which nodes pods are planned for. Below 1.35 it doesn't listen.
    pub nominate_planned_pods: bool,
}

/// Why the environment can't be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ConfigError {
    /// A variable that must be there isn't.
    #[error("{name} is not set")]
    #[diagnostic(code(runtime::config), help("{help}"))]
    Missing {
        /// The variable.
        name: &'static str,
        /// What to set it to.
        help: &'static str,
    },
    /// A variable has a value that can't be read.
    #[error("{name}={value}: {message}")]
    #[diagnostic(code(runtime::config), help("{help}"))]
    Invalid {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What is wrong.
        message: String,
        /// What to set it to.
        help: &'static str,
    },
    /// A message names a cluster that isn't ours.
    #[error("cluster {name} is not one of {known}")]
    #[diagnostic(
        code(runtime::cluster),
        help("add it to JOURNEYMAN_CLUSTERS, or remove its schedules and rules")
    )]
    UnknownCluster {
        /// The cluster.
        name: String,
        /// Those that are.
        known: String,
    },
}

const CLUSTERS_HELP: &str = "a cluster's name, or a JSON object from names to settings: {\"prod\": {\"minValuesPolicy\": \"BestEffort\"}}";
const DURATION_HELP: &str = "a duration such as 10s, 1m30s or 0s";

impl Config {
    /// Reads the process's environment.
    pub fn from_env() -> Result<Self, ConfigError> {
        Self::from_vars(|name| std::env::var(name).ok())
    }

    /// Reads variables as `get` has them; an empty one is as good as none.
    pub fn from_vars(get: impl Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let get =
            |name: &str| get(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let region = get("AWS_REGION").or_else(|| get("AWS_DEFAULT_REGION")).ok_or(ConfigError::Missing {
            name: "AWS_REGION",
            help: "the Region of the clusters; Lambda sets it by itself",
        })?;
        let clusters = clusters(
            get("JOURNEYMAN_CLUSTERS")
                .ok_or(ConfigError::Missing { name: "JOURNEYMAN_CLUSTERS", help: CLUSTERS_HELP })?,
        )?;
        let duration = |name: &'static str, default: i64| match get(name) {
            None => Ok(SignedDuration::from_secs(default)),
            Some(value) => value
                .parse::<SignedDuration>()
                .map_err(|cause| cause.to_string())
                .and_then(|read| if read.is_negative() { Err("it is negative".to_owned()) } else { Ok(read) })
                .map_err(|message| ConfigError::Invalid { name, value, message, help: DURATION_HELP }),
        };
        let batching = Batching {
            idle: duration("BATCH_IDLE_DURATION", 1)?,
            longest: duration("BATCH_MAX_DURATION", 10)?,
            linger: duration("JOURNEYMAN_LINGER", 50)?,
        };
        let isolated_vpc = match get("ISOLATED_VPC").as_deref() {
            None | Some("false") => false,
            Some("true") => true,
            Some(value) => {
                return Err(ConfigError::Invalid {
                    name: "ISOLATED_VPC",
                    value: value.to_owned(),
                    message: "neither true nor false".to_owned(),
                    help: "true where no NAT leads out of the VPC: neither IAM nor the Price List is called then",
                });
            }
        };
        Ok(Self {
            region,
            clusters,
            isolated_vpc,
            wake_queue: get("JOURNEYMAN_WAKE_QUEUE_URL"),
            lifecycle_queue: get("JOURNEYMAN_LIFECYCLE_QUEUE_URL"),
            interruption_queue: get("JOURNEYMAN_INTERRUPTION_QUEUE_URL"),
            bucket: get("JOURNEYMAN_BUCKET"),
            table: get("JOURNEYMAN_TABLE"),
            event_bus: get("JOURNEYMAN_EVENT_BUS"),
            batching,
        })
    }

    /// The cluster a message names.
    pub fn cluster(&self, name: &str) -> Result<&ClusterConfig, ConfigError> {
        self.clusters.get(name).ok_or_else(|| ConfigError::UnknownCluster {
            name: name.to_owned(),
            known: self.clusters.keys().cloned().collect::<Vec<_>>().join(", "),
        })
    }
}

impl ClusterConfig {
    /// How its decisions are taken.
    pub fn settings(&self) -> Settings {
        Settings {
            preferences: self.preference_policy,
            min_values: self.min_values_policy,
            fee_per_node: self.usd_per_node_hour,
            nominate: self.nominate_planned_pods,
        }
    }
}

/// An amount as text; nothing is no dollars.
fn dollars<'de, D: Deserializer<'de>>(input: D) -> Result<MicroUsd, D::Error> {
    let text = String::deserialize(input)?;
    if text.is_empty() {
        return Ok(MicroUsd::ZERO);
    }
    text.parse().map_err(|_| D::Error::custom(format!("usdPerNodeHour {text:?} is no amount of dollars")))
}

fn clusters(value: String) -> Result<BTreeMap<String, ClusterConfig>, ConfigError> {
    let name = "JOURNEYMAN_CLUSTERS";
    let invalid = |value: &str, message: String| ConfigError::Invalid {
        name,
        value: value.to_owned(),
        message,
        help: CLUSTERS_HELP,
    };
    if !value.starts_with('{') {
        return Ok(BTreeMap::from([(value, ClusterConfig::default())]));
    }
    let clusters: BTreeMap<String, ClusterConfig> =
        serde_json::from_str(&value).map_err(|cause| invalid(&value, cause.to_string()))?;
    if clusters.is_empty() {
        return Err(invalid(&value, "it names no cluster".to_owned()));
    }
    Ok(clusters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::from_vars(|name| {
            vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn one_name_is_a_cluster_with_defaults() {
        let config = read(&[("AWS_REGION", "eu-west-1"), ("JOURNEYMAN_CLUSTERS", "prod")]).unwrap();
        assert_eq!(config.cluster("prod").unwrap(), &ClusterConfig::default());
        assert_eq!(config.batching.linger, SignedDuration::from_secs(50));
        assert_eq!(config.batching.idle, SignedDuration::from_secs(1));
        assert_eq!(config.batching.longest, SignedDuration::from_secs(10));
        assert!(!config.isolated_vpc);
        assert!(config.cluster("other").unwrap_err().to_string().contains("prod"));
    }

    #[test]
    fn settings_of_a_cluster_are_its_own() {
        let clusters = r#"{"a": {"usdPerNodeHour": "0.02"}, "b": {"minValuesPolicy": "BestEffort"}}"#;
        let config = read(&[("AWS_REGION", "r"), ("JOURNEYMAN_CLUSTERS", clusters)]).unwrap();
        assert_eq!(config.clusters["a"].settings().fee_per_node, MicroUsd(20_000));
        assert_eq!(config.clusters["a"].settings().min_values, MinValuesPolicy::Strict);
        assert_eq!(config.clusters["b"].settings().min_values, MinValuesPolicy::BestEffort);
        assert!(!config.clusters["a"].settings().nominate);
        let clusters = r#"{"a": {"nominatePlannedPods": true}}"#;
        let config = read(&[("AWS_REGION", "r"), ("JOURNEYMAN_CLUSTERS", clusters)]).unwrap();
        assert!(config.clusters["a"].settings().nominate);
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let region = ("AWS_REGION", "r");
        let one = ("JOURNEYMAN_CLUSTERS", "prod");
        for (vars, told) in [
            (vec![one], "AWS_REGION is not set"),
            (vec![region], "JOURNEYMAN_CLUSTERS is not set"),
            (vec![region, ("JOURNEYMAN_CLUSTERS", "  ")], "JOURNEYMAN_CLUSTERS is not set"),
            (vec![region, ("JOURNEYMAN_CLUSTERS", "{")], "EOF"),
            (vec![region, ("JOURNEYMAN_CLUSTERS", "{}")], "names no cluster"),
            (vec![region, ("JOURNEYMAN_CLUSTERS", r#"{"a": {"lingr": 1}}"#)], "unknown field"),
            (vec![region, ("JOURNEYMAN_CLUSTERS", r#"{"a": {"usdPerNodeHour": "x"}}"#)], "usdPerNodeHour"),
            (vec![region, one, ("JOURNEYMAN_LINGER", "soon")], "JOURNEYMAN_LINGER=soon"),
            (vec![region, one, ("ISOLATED_VPC", "yes")], "ISOLATED_VPC=yes"),
            (vec![region, one, ("BATCH_IDLE_DURATION", "-1s")], "negative"),
        ] {
            let error = read(&vars).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
