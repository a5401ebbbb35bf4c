//! Every rule of the kinds, once by `validate` and once by the schema and CEL that the API server gets.

#![expect(clippy::expect_used, clippy::panic, reason = "a test that can't go on fails")]

mod agreement;
mod crds;
mod hashes;
mod hints;
mod kit;
mod kubelet;
mod nodeclass;
mod nodepool;
mod nodepool_requirements;
