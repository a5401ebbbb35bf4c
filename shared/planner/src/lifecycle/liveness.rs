//! How long a NodeClaim may take to get a machine, and its machine to join.

use jiff::{SignedDuration, Timestamp};
use model::{Claim, ConditionStatus, StartStage};

use super::work::Work;
use super::{LAUNCHED, REGISTERED};

const LAUNCH_LIMIT: SignedDuration = SignedDuration::from_mins(5);
const REGISTRATION_LIMIT: SignedDuration = SignedDuration::from_mins(15);

/// When a NodeClaim is given up, as its conditions stand, and why.
fn end(claim: &Claim) -> Option<(Timestamp, &'static str, &'static str)> {
    if claim.is(REGISTERED) {
        return None;
    }
    // A condition holds since the NodeClaim's creation when it is written first.
    let since = |kind: &str| claim.conditions.get(kind).map_or(claim.created, |condition| condition.since);
    let registration = (since(REGISTERED) + REGISTRATION_LIMIT, "RegistrationTimeout", REGISTERED);
    let launch = (since(LAUNCHED) + LAUNCH_LIMIT, "LaunchTimeout", LAUNCHED);
    Some(if claim.provider_id.is_none() && launch.0 <= registration.0 { launch } else { registration })
}

/// Whether its time is up.
pub(super) fn is_overdue(claim: &Claim, now: Timestamp) -> bool {
    end(claim).is_some_and(|(end, ..)| end <= now)
}

/// Gives up a NodeClaim whose time is up.
pub(super) fn tend(work: &mut Work<'_>) {
    let Some((end, reason, kind)) = end(work.claim) else { return };
    // What was found out in this very look counts.
    let now_known = work.change.provider_id.is_some()
        || work
            .change
            .conditions
            .get(kind)
            .is_some_and(|condition| condition.status == ConditionStatus::True);
    if now_known || work.is_deleted() {
        return;
    }
    if end > work.now() {
        work.look_at(end);
        return;
    }
    let known = work.claim.conditions.get(kind);
    let why = known.filter(|known| !known.reason.is_empty()).map_or_else(
        || format!("{kind} has not come true in time"),
        |known| format!("{kind} has not come true in time: {} {}", known.reason, known.message),
    );
    let launched = work.claim.is(LAUNCHED);
    let cause = work.claim.conditions.get(LAUNCHED).filter(|known| !launched && !known.reason.is_empty());
    let cause = cause.map_or(("RegistrationFailed", why.as_str()), |it| (&it.reason, &it.message));
    let stage = if launched { StartStage::Registration } else { StartStage::Launch };
    work.came_out(stage, Some(cause));
    work.delete(reason, why.trim_end());
}
