//! Pods that must be apart are, in both directions: those that ask it and those that others ask it of.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::Count;
use super::view::View;
use crate::labels;
use crate::pod::AffinityTerm;

/// Owners, those they keep away, and pods that are both, in one domain.
#[derive(Default)]
struct Domain {
    owners: Count,
    targets: Count,
    both: Count,
    undecided: bool,
}

impl Domain {
    /// Whether the plan brings a pair together that must be apart. Pairs that met before are not its fault.
    fn is_broken(&self) -> bool {
        let pairs = self.owners.all() * self.targets.all() - self.both.all();
        let before = self.owners.old * self.targets.old - self.both.old;
        pairs > before
    }
}

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let census = view.census();
    let terms: BTreeSet<&AffinityTerm> =
        view.classes.iter().flat_map(|class| &class.spec.anti_affinity).collect();
    let mut faults = Vec::new();
    for term in terms {
        let mut domains: BTreeMap<String, Domain> = BTreeMap::new();
        let mut owner = None;
        for (class, homes) in view.classes.iter().zip(&census) {
            let owns = class.spec.anti_affinity.contains(term);
            let meant = term.selects(class.namespace, &class.spec.labels);
            if owns {
                owner.get_or_insert(class.example);
            }
            for &(bin, count) in homes.iter().filter(|_| owns || meant) {
                let bin = &view.bins[bin];
                let values = view.domains(bin, &term.key);
                for value in values.iter() {
                    let domain = domains.entry(value.clone()).or_default();
                    domain.undecided |= values.len() > 1;
                    if owns {
                        domain.owners.add(count);
                    }
                    if meant {
                        domain.targets.add(count);
                    }
                    if owns && meant {
                        domain.both.add(count);
                    }
                }
            }
        }
        let owner = owner.map(|pod| pod.name.to_string()).unwrap_or_default();
        for (value, domain) in domains.iter().filter(|(_, domain)| domain.is_broken()) {
            let may = if domain.undecided && term.key != labels::HOSTNAME { "may be" } else { "are" };
            let key = &term.key;
            faults
                .push(format!("pods like {owner} and those they keep away {may} together in {key} {value}"));
        }
    }
    faults
}
