//! Terms of pod affinity and anti-affinity.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Affinity, PodAffinityTerm, WeightedPodAffinityTerm};
use model::{AffinityTerm, LabelSelector, Namespaces, PodSpec, Weighted};

use super::draft::{Draft, OpenTerm};
use super::selector::{selector, with_label_keys};

/// Which of a pod's lists of terms.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum List {
    Affinity,
    AntiAffinity,
    PreferredAffinity,
    PreferredAntiAffinity,
}

/// All terms of a pod.
pub(super) struct Terms {
    pub(super) affinity: Vec<AffinityTerm>,
    pub(super) anti_affinity: Vec<AffinityTerm>,
    pub(super) preferred_affinity: Vec<Weighted<AffinityTerm>>,
    pub(super) preferred_anti_affinity: Vec<Weighted<AffinityTerm>>,
}

impl Terms {
    /// The terms of a pod with these labels in `namespace`. Those that select namespaces by label go to `open`.
    pub(super) fn new(
        namespace: &str,
        labels: &BTreeMap<String, String>,
        affinity: Option<&Affinity>,
        open: &mut Vec<OpenTerm>,
    ) -> Self {
        let near = affinity.and_then(|affinity| affinity.pod_affinity.as_ref());
        let away = affinity.and_then(|affinity| affinity.pod_anti_affinity.as_ref());
        let mut required = |list: List, terms: Option<&Vec<PodAffinityTerm>>| -> Vec<AffinityTerm> {
            let terms = terms.into_iter().flatten().enumerate();
            terms.map(|(index, term)| one(namespace, labels, term, list, index, open)).collect()
        };
        let affinity = required(
            List::Affinity,
            near.and_then(|near| near.required_during_scheduling_ignored_during_execution.as_ref()),
        );
        let anti_affinity = required(
            List::AntiAffinity,
            away.and_then(|away| away.required_during_scheduling_ignored_during_execution.as_ref()),
        );
        let mut preferred =
            |list: List, terms: Option<&Vec<WeightedPodAffinityTerm>>| -> Vec<Weighted<AffinityTerm>> {
                let terms = terms.into_iter().flatten().enumerate();
                let terms = terms.map(|(index, weighted)| Weighted {
                    weight: weighted.weight,
                    term: one(namespace, labels, &weighted.pod_affinity_term, list, index, open),
                });
                terms.collect()
            };
        let preferred_affinity = preferred(
            List::PreferredAffinity,
            near.and_then(|near| near.preferred_during_scheduling_ignored_during_execution.as_ref()),
        );
        let preferred_anti_affinity = preferred(
            List::PreferredAntiAffinity,
            away.and_then(|away| away.preferred_during_scheduling_ignored_during_execution.as_ref()),
        );
        Self { affinity, anti_affinity, preferred_affinity, preferred_anti_affinity }
    }
}

fn one(
    namespace: &str,
    labels: &BTreeMap<String, String>,
    term: &PodAffinityTerm,
    list: List,
    index: usize,
    open: &mut Vec<OpenTerm>,
) -> AffinityTerm {
    let listed = term.namespaces.iter().flatten().cloned();
    let namespaces = match &term.namespace_selector {
        Some(by_label) => {
            open.push(OpenTerm { list, index, selector: selector(by_label) });
            listed.collect()
        }
        None if term.namespaces.as_ref().is_none_or(Vec::is_empty) => [namespace.to_owned()].into(),
        None => listed.collect(),
    };
    let meant = term.label_selector.as_ref().and_then(selector);
    let (matching, mismatching) = (term.match_label_keys.as_ref(), term.mismatch_label_keys.as_ref());
    AffinityTerm {
        key: term.topology_key.clone(),
        selector: with_label_keys(meant, matching, mismatching, labels),
        namespaces: Namespaces::Only(namespaces),
    }
}

/// The specification, with namespaces that were selected by label looked up in `known`.
pub(super) fn close(draft: &Draft, known: &BTreeMap<String, BTreeMap<String, String>>) -> PodSpec {
    let mut spec = draft.spec.clone();
    for OpenTerm { list, index, selector } in &draft.open {
        let namespaces = match list {
            List::Affinity => spec.affinity.get_mut(*index).map(|term| &mut term.namespaces),
            List::AntiAffinity => spec.anti_affinity.get_mut(*index).map(|term| &mut term.namespaces),
            List::PreferredAffinity => {
                spec.preferred_affinity.get_mut(*index).map(|weighted| &mut weighted.term.namespaces)
            }
            List::PreferredAntiAffinity => {
                spec.preferred_anti_affinity.get_mut(*index).map(|weighted| &mut weighted.term.namespaces)
            }
        };
        if let Some(namespaces) = namespaces {
            select(namespaces, selector.as_ref(), known);
        }
    }
    spec
}

fn select(
    namespaces: &mut Namespaces,
    selector: Option<&LabelSelector>,
    known: &BTreeMap<String, BTreeMap<String, String>>,
) {
    let Some(selector) = selector else { return };
    if selector.0.is_empty() {
        *namespaces = Namespaces::All;
    } else if let Namespaces::Only(names) = namespaces {
        names.extend(
            known
                .iter()
                .filter(|(name, labels)| matches(selector, name, labels))
                .map(|(name, _)| name.clone()),
        );
    }
}

/// Whether a namespace is selected; each has its name as a label, written or not.
fn matches(selector: &LabelSelector, name: &str, labels: &BTreeMap<String, String>) -> bool {
    const NAME: &str = "kubernetes.io/metadata.name";
    if labels.contains_key(NAME) {
        return selector.matches(labels);
    }
    let mut labels = labels.clone();
    labels.insert(NAME.to_owned(), name.to_owned());
    selector.matches(&labels)
}
