//! Whether a node has what its type should have.

use model::{ConditionStatus, Quantity, Resources};

use super::INITIALIZED;
use super::view::View;
use super::work::Work;

const CONSISTENT: &str = "ConsistentStateFound";

/// A node that has less than nine tenths of what was expected is worth a word, each time it begins.
pub(super) fn tend(view: &View<'_>, work: &mut Work<'_>) {
    let claim = work.claim;
    let Some(node) = view.node_of(claim).filter(|_| claim.is(INITIALIZED)) else { return };
    let short = short(&claim.requests, &claim.capacity, &node.capacity);
    if short.is_empty() {
        work.set_true(CONSISTENT);
        return;
    }
    if claim.condition(CONSISTENT) != ConditionStatus::False {
        for message in &short {
            work.warn("FailedConsistencyCheck", message.clone());
        }
    }
    work.set(CONSISTENT, ConditionStatus::False, "ConsistencyCheckFailed", short.join("; "));
}

fn short(asked: &Resources, expected: &Resources, has: &Resources) -> Vec<String> {
    let asked = asked.iter().filter(|(_, amount)| !amount.is_zero()).map(|(name, _)| name);
    let short = asked.filter_map(|name| {
        let (expected, has) = (expected.get(name), has.get(name));
        let least = Quantity::from_milli(expected.milli() / 10 * 9);
        (!expected.is_zero() && has < least)
            .then(|| format!("expected {} of {name}, found {}", expected.display(name), has.display(name)))
    });
    short.collect()
}
