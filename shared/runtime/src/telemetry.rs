//! Logs: JSON lines on standard output, which Lambda hands to CloudWatch; one span a run.

use std::env;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Starts logging, as `RUST_LOG` says (`info`, or `info,kube=debug`), else at `info`. A second start changes nothing.
pub fn start() {
    let asked = env::var("RUST_LOG").ok().map(|asked| (asked.parse::<Targets>(), asked));
    let usual = || Targets::new().with_default(LevelFilter::INFO);
    let (filter, fault) = match asked {
        Some((Ok(filter), _)) => (filter, None),
        Some((Err(error), asked)) => (usual(), Some((error, asked))),
        None => (usual(), None),
    };
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_target(false);
    // Failing means that somebody has set a subscriber before: theirs stays.
    let _ = tracing_subscriber::registry().with(lines).with(filter).try_init();
    if let Some((error, asked)) = fault {
        tracing::warn!(%error, "RUST_LOG is {asked:?}, which says nothing of levels: logging at info");
    }
}
