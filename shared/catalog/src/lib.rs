//! EC2 instance types: the embedded catalogue of facts, and the formulas that make of a fact, for one EC2NodeClass,
//! what the solver chooses from. Reads no file and no network; does not know the Kubernetes API.

pub mod capacity;
pub mod class;
mod describe;
mod embedded;
pub mod overhead;
pub mod raw;
mod resolve;
pub mod select;

pub use class::ClassShape;
#[cfg(feature = "encode")]
pub use embedded::encode;
pub use embedded::{CatalogError, decode, embedded};
pub use raw::{Ec2Catalogue, Ec2Type};
pub use resolve::{Incompatibility, UNPRICED, incompatibility, resolve};
pub use select::{Listing, Selector, Sort, select};
