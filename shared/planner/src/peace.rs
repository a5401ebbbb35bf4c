//! Pods that ask not to be disturbed.

use jiff::{SignedDuration, Timestamp};

/// When a pod's `karpenter.sh/do-not-disrupt` ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Peace {
    /// It doesn't hold.
    None,
    /// It holds until then.
    Until(Timestamp),
    /// It holds for good.
    ForGood,
}

/// What the annotation says: `true`, or a duration from the pod's start. What is neither counts for nothing, and a pod
/// that hasn't started is left in peace.
pub(crate) fn peace(text: Option<&str>, start: Option<Timestamp>, now: Timestamp) -> Peace {
    match text {
        None => Peace::None,
        Some("true") => Peace::ForGood,
        Some(text) => match text.parse::<SignedDuration>() {
            Ok(duration) if duration.is_positive() => match start.map(|start| start.checked_add(duration)) {
                Some(Ok(end)) if end > now => Peace::Until(end),
                Some(Ok(_)) => Peace::None,
                Some(Err(_)) | None => Peace::ForGood,
            },
            _ => Peace::None,
        },
    }
}

/// When the peace of a duration ends or ended.
pub(crate) fn end(text: Option<&str>, start: Option<Timestamp>) -> Option<Timestamp> {
    match peace(text, start, Timestamp::MIN) {
        Peace::Until(end) => Some(end),
        Peace::None | Peace::ForGood => None,
    }
}
