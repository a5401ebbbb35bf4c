//! The crate against an API server with recorded answers.

mod effects;
mod kit;
mod lease;
mod lifecycle;
mod requests;
mod watches;
