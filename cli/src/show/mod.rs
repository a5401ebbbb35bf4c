//! Turning values into text for people.

pub mod disrupt;
pub mod explain;
pub mod plan;
pub mod pods;
pub mod text;
