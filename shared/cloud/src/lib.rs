//! The AWS APIs: what is asked of them and how their answers read, and nothing that decides.
//!
//! Empty of AWS unless the feature `aws` is on: the SDK takes minutes to compile.

#[cfg(feature = "aws")]
pub mod bus;
#[cfg(feature = "aws")]
mod client;
#[cfg(feature = "aws")]
pub mod eks;
pub mod error;
#[cfg(feature = "aws")]
mod filters;
pub mod images;
#[cfg(feature = "aws")]
pub mod instances;
pub mod launch;
pub mod messages;
#[cfg(feature = "aws")]
mod network;
pub mod prices;
#[cfg(feature = "aws")]
pub mod profiles;
mod provider_id;
pub mod published;
#[cfg(feature = "aws")]
mod read;
#[cfg(feature = "aws")]
pub mod reservations;
#[cfg(feature = "aws")]
pub mod store;
#[cfg(feature = "aws")]
pub mod types;
pub mod user_data;

#[cfg(feature = "aws")]
pub use client::{Cloud, CredentialSource};
pub use error::CloudError;
pub use provider_id::{instance_id, provider_id};
pub use published::Published;
