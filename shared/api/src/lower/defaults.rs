//! Default topology spread: constraints for pods that have none of their own, counted over the pods of the same
//! workload.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::TopologySpreadConstraint;
use miette::Diagnostic;
use model::{LabelSelector, Owner, Spread};
use serde::Deserialize;
use thiserror::Error;

use super::draft::spread_of;
use super::objects::Objects;
use super::requirement::is_qualified_name;
use super::selector::selector;
use crate::read::{self, ReadError};

/// One default constraint, without a selector.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DefaultSpread(Spread);

/// Why default constraints can't be used.
#[derive(Debug, Error, Diagnostic)]
pub enum DefaultSpreadError {
    /// The text can't be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(#[from] ReadError),
    /// What it says can't be meant.
    #[error("podTopologySpread.defaultConstraints: {0}")]
    #[diagnostic(
        code(lower::default_spread),
        help(
            "expected podTopologySpread.defaultConstraints with maxSkew, topologyKey and whenUnsatisfiable each"
        )
    )]
    Invalid(String),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Config {
    #[serde(default)]
    pod_topology_spread: PodTopologySpread,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodTopologySpread {
    #[serde(default)]
    default_constraints: Vec<TopologySpreadConstraint>,
}

impl DefaultSpread {
    /// Reads a scheduler configuration: YAML or JSON with `podTopologySpread.defaultConstraints`.
    pub fn read(file: &str, text: &str) -> Result<Vec<Self>, DefaultSpreadError> {
        let mut constraints = Vec::new();
        for document in read::read_documents(file, text)? {
            let (config, unknown) = read::read_as::<Config>(&document.value)
                .map_err(|fault| DefaultSpreadError::Invalid(format!("{}: {}", fault.path, fault.message)))?;
            if let Some(fault) = unknown.into_iter().next() {
                return Err(DefaultSpreadError::Invalid(format!("{}: {}", fault.path, fault.message)));
            }
            constraints.extend(config.pod_topology_spread.default_constraints);
        }
        Self::from_constraints(constraints)
    }

    /// Default constraints as written, if they can be meant.
    pub(crate) fn from_constraints(
        constraints: Vec<TopologySpreadConstraint>,
    ) -> Result<Vec<Self>, DefaultSpreadError> {
        let invalid = |message: String| DefaultSpreadError::Invalid(message);
        let mut known = BTreeSet::new();
        let mut read = Vec::new();
        for constraint in constraints {
            let key = constraint.topology_key.clone();
            let max_skew = u32::try_from(constraint.max_skew).ok().filter(|&skew| skew > 0);
            let max_skew =
                max_skew.ok_or_else(|| invalid(format!("maxSkew of {key:?} must be at least 1")))?;
            if !is_qualified_name(&key) {
                return Err(invalid(format!("topologyKey {key:?} is not a label key")));
            }
            if !matches!(constraint.when_unsatisfiable.as_str(), "DoNotSchedule" | "ScheduleAnyway") {
                let message = format!("whenUnsatisfiable of {key:?} is DoNotSchedule or ScheduleAnyway");
                return Err(invalid(message));
            }
            if constraint.label_selector.is_some() || constraint.match_label_keys.is_some() {
                return Err(invalid(format!("{key:?} must not have a labelSelector or matchLabelKeys")));
            }
            if !known.insert((key.clone(), constraint.when_unsatisfiable.clone())) {
                return Err(invalid(format!("{key:?} is there twice with the same whenUnsatisfiable")));
            }
            read.push(Self(spread_of(&constraint, max_skew, &BTreeMap::new())));
        }
        Ok(read)
    }

    /// The constraint, counting the pods that `selector` selects.
    pub(super) fn with_selector(&self, selector: &LabelSelector) -> Spread {
        Spread { selector: Some(selector.clone()), ..self.0.clone() }
    }
}

/// What a deduced selector depends on.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Key {
    namespace: String,
    owner: Option<Owner>,
    labels: BTreeMap<String, String>,
}

impl Key {
    pub(super) fn new(namespace: &str, owner: Option<&Owner>, labels: &BTreeMap<String, String>) -> Self {
        Self { namespace: namespace.to_owned(), owner: owner.cloned(), labels: labels.clone() }
    }
}

/// The selector of a pod's workload, as kube-scheduler deduces it: labels of Services that select the pod, the
/// last winning, and of its controller. Nothing deduced means no constraint.
pub(super) fn deduce(
    objects: &Objects,
    namespace: &str,
    owner: Option<&Owner>,
    labels: &BTreeMap<String, String>,
) -> Option<LabelSelector> {
    let mut exact = BTreeMap::new();
    for (_, service) in objects.services.iter().filter(|(name, _)| name.namespace == namespace) {
        let Some(selects) = service.spec.as_ref().and_then(|spec| spec.selector.as_ref()) else { continue };
        if selects.iter().all(|(key, value)| labels.get(key) == Some(value)) {
            exact.extend(selects.clone());
        }
    }
    let controller = owner.and_then(|owner| {
        objects.workloads.iter().find(|workload| {
            workload.name.namespace == namespace
                && workload.kind == owner.kind
                && workload.name.name == owner.name
        })
    });
    let mut deduced = LabelSelector::default();
    match controller {
        Some(workload) if workload.kind == "ReplicationController" => {
            let selects =
                workload.selector.iter().filter_map(|selector| selector.match_labels.as_ref()).flatten();
            exact.extend(selects.map(|(key, value)| (key.clone(), value.clone())));
        }
        Some(workload) if matches!(workload.kind, "ReplicaSet" | "StatefulSet" | "Deployment") => {
            deduced = workload.selector.as_ref().and_then(selector).unwrap_or_default();
        }
        _ => {}
    }
    deduced.0.extend(LabelSelector::from_labels(&exact).0);
    if deduced.0.is_empty() { None } else { Some(deduced) }
}
