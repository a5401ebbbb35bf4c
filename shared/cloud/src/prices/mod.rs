//! What machines cost: on demand by the Price List, Spot by its history.

#[cfg(feature = "aws")]
mod ask;
mod price_list;
mod spot;

pub use price_list::{Currency, on_demand, pricing_region};
pub use spot::SpotPrices;
