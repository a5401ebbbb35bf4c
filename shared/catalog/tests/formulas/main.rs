//! The formulas from EC2's facts to labels, capacity, overhead and offerings, on real instance types.
//! A test that holds an entry of the checklist bears its id.

mod capacity;
mod kit;
mod labels;
mod offerings;
mod overhead;
mod selection;
