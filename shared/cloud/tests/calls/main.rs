//! What is asked of AWS, and how its answers read. No call leaves the process: plans are compared as values, and with
//! the feature `aws` the SDK talks to answers written down here.

#[cfg(all(test, feature = "aws"))]
mod aws;
#[cfg(all(test, feature = "aws"))]
mod catalogues;
#[cfg(test)]
mod fleets;
#[cfg(test)]
mod kit;
#[cfg(all(test, feature = "aws"))]
mod launches;
#[cfg(all(test, feature = "aws"))]
mod lookups;
#[cfg(all(test, feature = "aws"))]
mod stores;
#[cfg(test)]
mod templates;
