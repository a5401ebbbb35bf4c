//! Logs: JSON lines on standard output, which Lambda hands to CloudWatch; one span a run.

use tracing_subscriber::EnvFilter;

/// Starts logging, as `RUST_LOG` says, else at `info`. A second start changes nothing.
pub fn start() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    // Failing means that somebody has set a subscriber before: theirs stays.
    let _ = tracing_subscriber::fmt()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false)
        .with_env_filter(filter)
        .try_init();
}
