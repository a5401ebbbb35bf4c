//! The API server: what is seen there and what is done there, and nothing that decides.
//!
//! [`Observer`] keeps what a warm sandbox knows and resumes where it stopped; [`Cluster::act`] carries out effects,
//! each bound to what it was decided from. Neither knows of AWS, but for how its clusters want to be asked.

mod access;
mod client;
mod effects;
mod error;
mod kinds;
mod lease;
mod lifecycle;
mod observer;
mod slim;
mod tokens;
mod traffic;
mod watched;

pub use access::{Access, Plugins};
pub use client::Cluster;
pub use effects::Observed;
pub use error::{Cause, ClusterError, Refused};
pub use lease::{Lease, LeaseSpec, Leased};
pub use lifecycle::{ClaimIndex, LifecycleParts};
pub use observer::{AtRest, Changed, Observer};
pub use tokens::{Credentials, Tokens};
pub use traffic::Traffic;
