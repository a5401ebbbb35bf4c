//! What is asked of EC2 for a launch, shape by shape. No call is made.

#[cfg(test)]
mod fleets;
#[cfg(test)]
mod kit;
#[cfg(test)]
mod templates;
