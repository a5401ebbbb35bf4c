//! The crate against an API server with recorded answers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking, too")]

mod effects;
mod events;
mod findings;
mod kit;
mod lease;
mod lifecycle;
mod requests;
mod rights;
mod rollouts;
mod watches;
