//! The CRDs, their validation, and the lowering of Kubernetes objects into the model.

pub mod case;
pub mod crd;
pub mod hash;
pub mod launches;
pub mod lower;
pub mod read;
pub mod record;
pub mod registrations;
pub mod report;
pub mod reservations;
