//! Amounts of several resources at once.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Quantity;

/// Resource name to amount; an absent name is zero.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Resources(pub BTreeMap<String, Quantity>);

impl Resources {
    /// Nothing of anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// The amount of `name`.
    pub fn get(&self, name: &str) -> Quantity {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Replaces the amount of `name`.
    pub fn set(&mut self, name: impl Into<String>, amount: Quantity) {
        self.0.insert(name.into(), amount);
    }

    /// Adds each amount of `other`.
    pub fn add(&mut self, other: &Self) {
        for (name, &amount) in &other.0 {
            let sum = self.get(name).plus(amount);
            self.0.insert(name.clone(), sum);
        }
    }

    /// Takes each amount of `other` away; what falls below zero stays there.
    pub fn subtract(&mut self, other: &Self) {
        for (name, &amount) in &other.0 {
            let difference = self.get(name).minus(amount);
            self.0.insert(name.clone(), difference);
        }
    }

    /// Raises each amount to at least that of `other`.
    pub fn raise_to(&mut self, other: &Self) {
        for (name, &amount) in &other.0 {
            if self.get(name) < amount {
                self.0.insert(name.clone(), amount);
            }
        }
    }

    /// That many times as much of everything.
    pub fn times(&self, count: i64) -> Self {
        Self(self.0.iter().map(|(name, amount)| (name.clone(), amount.times(count))).collect())
    }

    /// The first resource, in name order, of which this asks more than `room` has, with both amounts.
    /// Zero asks never fail, even of a resource that is overdrawn.
    pub fn exceeds(&self, room: &Self) -> Option<(&str, Quantity, Quantity)> {
        self.0
            .iter()
            .filter(|(_, amount)| !amount.is_zero())
            .map(|(name, &amount)| (name.as_str(), amount, room.get(name)))
            .find(|(_, amount, has)| amount > has)
    }

    /// Names and amounts in name order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Quantity)> {
        self.0.iter().map(|(name, &amount)| (name.as_str(), amount))
    }
}

impl<N: Into<String>> FromIterator<(N, Quantity)> for Resources {
    fn from_iter<I: IntoIterator<Item = (N, Quantity)>>(amounts: I) -> Self {
        Self(amounts.into_iter().map(|(name, amount)| (name.into(), amount)).collect())
    }
}

impl fmt::Display for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (name, amount) in self.iter().filter(|(_, amount)| !amount.is_zero()) {
            write!(f, "{}{} {}", if first { "" } else { ", " }, name, amount.display(name))?;
            first = false;
        }
        if first { f.write_str("nothing") } else { Ok(()) }
    }
}
