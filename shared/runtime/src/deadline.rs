//! The moment by which a run must be done.

use std::time::{Duration, Instant, SystemTime};

use jiff::SignedDuration;

/// A moment on the clock that never jumps.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Deadline(Instant);

impl Deadline {
    /// At a moment of the wall clock, as Lambda gives it.
    pub fn at(moment: SystemTime) -> Self {
        Self(Instant::now() + moment.duration_since(SystemTime::now()).unwrap_or_default())
    }

    /// A while from now; a negative one is over.
    pub fn after(span: SignedDuration) -> Self {
        Self(Instant::now() + Duration::try_from(span).unwrap_or_default())
    }

    /// What is left.
    pub fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// Whether nothing is left.
    pub fn is_over(self) -> bool {
        self.left().is_zero()
    }

    /// The same for timers.
    pub fn instant(self) -> tokio::time::Instant {
        self.0.into()
    }
}
