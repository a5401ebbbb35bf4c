//! What is asked of AWS, and how its answers read. No call leaves the process: plans are compared as values, and with
//! the feature `aws` the SDK talks to answers written down here.

#[cfg(feature = "aws")]
#[cfg(test)]
mod aws;
#[cfg(feature = "aws")]
#[cfg(test)]
mod catalogues;
#[cfg(test)]
mod fleets;
#[cfg(test)]
mod kit;
#[cfg(feature = "aws")]
#[cfg(test)]
mod launches;
#[cfg(feature = "aws")]
#[cfg(test)]
mod lookups;
#[cfg(feature = "aws")]
#[cfg(test)]
mod reservations;
#[cfg(feature = "aws")]
#[cfg(test)]
mod stores;
#[cfg(test)]
mod templates;
