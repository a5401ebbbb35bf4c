//! Machine images: which there are for a class, and which instance types each suits.

mod alias;
mod choose;
#[cfg(feature = "aws")]
mod find;

pub use alias::{Alias, PUBLIC_PREFIX, Parameter, Variant, parameters};
pub use choose::{Image, choose};
#[cfg(feature = "aws")]
pub use find::ImageContext;
