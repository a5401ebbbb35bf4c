//! `minValues`: enough distinct values stay on offer, or the claim says that they don't.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use super::fit;
use super::view::{Planned, View};
use crate::snapshot::MinValuesPolicy;

const RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut seen: BTreeMap<(usize, usize), Vec<String>> = BTreeMap::new();
    for (bin, planned) in view.planned() {
        let alike = (planned.profile, Rc::as_ptr(&planned.options).addr());
        let short = seen.entry(alike).or_insert_with(|| shortfalls(view, planned));
        let said = planned.draft.and_then(|draft| draft.annotations.get(RELAXED));
        let excused = view.snapshot.settings.min_values == MinValuesPolicy::BestEffort
            && said.is_some_and(|said| said == "true");
        if !excused {
            faults.extend(short.iter().map(|fault| format!("node {}: {fault}", bin.name)));
        }
    }
    faults
}

fn shortfalls(view: &View<'_>, planned: &Planned<'_>) -> Vec<String> {
    let (Some(pool), Some(market)) = (planned.pool, view.market(planned.profile)) else { return Vec::new() };
    let profile = &view.profiles[planned.profile];
    let wanted = pool.requirements.iter().filter_map(|(key, has)| Some((key, has.min_values?)));
    wanted
        .filter_map(|(key, least)| {
            let mut values = BTreeSet::new();
            for &offering in planned.options.iter() {
                let kind = &market.types[market.offerings[offering].0];
                // Karpenter counts what the type can have, offered or not.
                values.extend(
                    kind.requirements.get(key).and_then(|has| has.values()).into_iter().flatten().cloned(),
                );
                values.extend(fit::known(profile, market, offering, key).values());
            }
            let short = values.len() < least as usize;
            short.then(|| format!("{} values of {key} are left, minValues is {least}", values.len()))
        })
        .collect()
}
