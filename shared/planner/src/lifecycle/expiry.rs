//! A node's greatest age.

use jiff::{SignedDuration, Timestamp};
use model::{Claim, labels};

pub(super) const REASON: &str = "Expired";

/// The longest by which a node may outlive its greatest age unless an annotation says otherwise.
const MOST_GRACE: SignedDuration = SignedDuration::from_hours(24);

/// When the NodeClaim is too old for good. From its greatest age on it is renewed within budgets, which is disruption's;
/// that has a tenth of that age, at most a day, or until the age that an annotation names.
pub(super) fn end(claim: &Claim) -> Option<Timestamp> {
    let age = claim.expire_after?;
    let latest = claim.annotations.get(labels::EXPIRE_AT_LATEST_AFTER);
    let latest = latest.and_then(|text| text.parse::<SignedDuration>().ok());
    let latest = latest.unwrap_or_else(|| age.saturating_add((age / 10).min(MOST_GRACE)));
    // An age beyond the calendar is never reached.
    claim.created.checked_add(latest.max(age)).ok()
}

/// Whether it is too old. Nothing stands in the way then: no budget, no PodDisruptionBudget, no annotation.
pub(super) fn is_due(claim: &Claim, now: Timestamp) -> bool {
    claim.deleting.is_none() && end(claim).is_some_and(|end| end <= now)
}

pub(super) fn message(claim: &Claim) -> String {
    let age = claim.expire_after.unwrap_or_default();
    format!("it has reached its greatest age, {age:#}")
}
