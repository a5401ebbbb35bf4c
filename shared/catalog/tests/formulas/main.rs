//! The formulas from EC2's facts to labels, capacity, overhead and offerings, on real instance types.
//! A test that holds an entry of the checklist bears its id.
// `cfg(test)` tells clippy that the helpers too may unwrap.

#[cfg(test)]
mod capacity;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod labels;
#[cfg(test)]
mod offerings;
#[cfg(test)]
mod overhead;
#[cfg(test)]
mod selection;
