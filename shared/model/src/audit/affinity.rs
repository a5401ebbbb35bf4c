//! Pods that must be near others are.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::{Class, Count};
use super::view::{View, What};
use crate::labels;
use crate::pod::AffinityTerm;

/// What there is in one domain for one term and one class.
#[derive(Default)]
struct Domain {
    /// Pods of the class that the plan places here.
    placed: u64,
    /// Pods to be near that are not of the class, or were here before.
    company: u64,
    /// Those of them that were here before.
    before: u64,
}

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let census = view.census();
    let mut faults = Vec::new();
    for (number, class) in view.classes.iter().enumerate() {
        if census[number].iter().all(|(_, count)| count.new == 0) {
            continue;
        }
        for term in &class.spec.affinity {
            faults.extend(judge(view, &census, number, class, term));
        }
    }
    faults
}

fn judge(
    view: &View<'_>,
    census: &[Vec<(usize, Count)>],
    number: usize,
    class: &Class<'_>,
    term: &AffinityTerm,
) -> Vec<String> {
    let (pod, key) = (&class.example.name, &term.key);
    let mut faults = Vec::new();
    let mut domains: BTreeMap<String, Domain> = BTreeMap::new();
    for &(bin, count) in census[number].iter().filter(|(_, count)| count.new > 0) {
        let values = view.domains(&view.bins[bin], key);
        match values.first() {
            Some(value) if values.len() == 1 => {
                domains.entry(value.clone()).or_default().placed += count.new;
            }
            Some(_) => faults.push(format!(
                "pods like {pod} must be near others by {key}, which node {} leaves open",
                view.bins[bin].name
            )),
            None => faults.push(format!(
                "pods like {pod} must be near others by {key}, which node {} does not have",
                view.bins[bin].name
            )),
        }
    }
    for (other, homes) in census.iter().enumerate() {
        if !term.selects(view.classes[other].namespace, &view.classes[other].spec.labels) {
            continue;
        }
        for &(bin, count) in homes {
            let company = if other == number { count.old } else { count.all() };
            let values = view.domains(&view.bins[bin], key);
            if let (1, true, Some(value)) = (values.len(), company > 0, values.first()) {
                let domain = domains.entry(value.clone()).or_default();
                domain.company += company;
                domain.before += count.old;
            }
        }
    }
    let own = term.selects(class.namespace, &class.spec.labels);
    let alone: BTreeSet<&String> = domains
        .iter()
        .filter(|(_, domain)| domain.placed > 0 && domain.company == 0)
        .map(|(value, _)| value)
        .collect();
    let lonely = alone.first().map(|value| value.as_str()).unwrap_or_default();
    if !own && !alone.is_empty() {
        faults.push(format!("pods like {pod} have nobody to be near in {key} {lonely}"));
    }
    if own && alone.len() > 1 {
        faults.push(format!("pods like {pod} must be together by {key}, but are in {} places", alone.len()));
    }
    if own && !alone.is_empty() {
        // Only a pod that finds nobody anywhere it could go may be the first. Pods placed with it may come after it.
        let elsewhere = domains.iter().filter(|(_, domain)| domain.before > 0).map(|(value, _)| value);
        if let Some(value) = elsewhere.into_iter().find(|value| reachable(view, class, key, value)) {
            faults.push(format!(
                "pods like {pod} are alone in {key} {lonely}, but must be near those in {value}"
            ));
        }
    }
    faults
}

/// Whether a pod of the class may be in that domain, as far as its own requirements go.
fn reachable(view: &View<'_>, class: &Class<'_>, key: &str, value: &str) -> bool {
    let wants = &view.wants[class.wants];
    if key != labels::HOSTNAME {
        return wants.allow(key, value);
    }
    view.bins.iter().any(|bin| match &bin.what {
        What::Existing(node) => node.hostname() == value && wants.match_labels(&node.labels),
        What::Planned(_) => bin.name == value && wants.is_empty(),
    })
}
