//! The AWS APIs: what is asked of them and how their answers read, and nothing that decides.
//!
//! Empty of AWS unless the feature `aws` is on: the SDK takes minutes to compile.

pub mod error;
pub mod messages;
pub mod published;
#[cfg(feature = "aws")]
mod read;
#[cfg(feature = "aws")]
pub mod types;
pub mod user_data;

pub use error::CloudError;
pub use published::Published;
