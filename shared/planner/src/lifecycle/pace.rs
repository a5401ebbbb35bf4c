//! How long until the next look.

use jiff::{SignedDuration, Timestamp};

/// The shortest wait.
const SHORTEST: SignedDuration = SignedDuration::from_secs(2);
/// The longest.
const LONGEST: SignedDuration = SignedDuration::from_secs(30);
/// The wait grows with what has already been waited: one part in so many. From two seconds to half a minute takes four
/// minutes, and about thirty looks.
const PARTS: i32 = 8;

/// How long to wait when something has been awaited since `since`.
pub(super) fn wait(since: Timestamp, now: Timestamp) -> SignedDuration {
    (now.duration_since(since) / PARTS).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_with_age() {
        let start: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        for (age, expected) in [(-5, 2), (0, 2), (16, 2), (40, 5), (240, 30), (86_400, 30)] {
            let waited = wait(start, start + SignedDuration::from_secs(age));
            assert_eq!(waited.as_secs(), expected, "after {age} s");
        }
    }
}
