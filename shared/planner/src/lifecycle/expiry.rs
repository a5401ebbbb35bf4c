//! A node's greatest age.

use jiff::Timestamp;
use model::Claim;

pub(super) const REASON: &str = "Expired";

/// When the NodeClaim is too old.
pub(super) fn end(claim: &Claim) -> Option<Timestamp> {
    // An age beyond the calendar is never reached.
    claim.created.checked_add(claim.expire_after?).ok()
}

/// Whether it is too old. Nothing stands in the way then: no budget, no PodDisruptionBudget, no annotation.
pub(super) fn is_due(claim: &Claim, now: Timestamp) -> bool {
    claim.deleting.is_none() && end(claim).is_some_and(|end| end <= now)
}

pub(super) fn message(claim: &Claim) -> String {
    let age = claim.expire_after.unwrap_or_default();
    format!("it has reached its greatest age, {age:#}")
}
