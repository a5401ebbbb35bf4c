//! What all ways in share: configuration, telemetry, observe, decide, audit, act, records.

pub mod config;
pub mod message;
