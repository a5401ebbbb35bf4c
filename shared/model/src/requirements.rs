//! Requirements on several labels, one set of values a key.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::labels;
use crate::requirement::Requirement;

/// Label key to allowed values. Adding to a key narrows it.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Requirements(BTreeMap<String, Requirement>);

/// Which labels may be asked for although nobody has defined them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Undefined {
    /// None: a node that exists has the labels it has.
    Refused,
    /// The well-known ones: a node to come gets them from its instance type.
    WellKnownAllowed,
}

/// The first key, in order, on which two sets of requirements disagree.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Conflict {
    /// The label.
    pub key: String,
    /// What one side has, if it has anything.
    pub has: Option<Requirement>,
    /// What the other side wants.
    pub wants: Requirement,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.has {
            Some(has) => write!(f, "{} {} is wanted, {} is what there is", self.key, self.wants, has),
            None => write!(f, "{} {} is wanted, and no such label is set", self.key, self.wants),
        }
    }
}

impl Requirements {
    /// No requirement at all.
    pub fn new() -> Self {
        Self::default()
    }

    /// One single-valued requirement a label.
    pub fn from_labels<'a>(labels: impl IntoIterator<Item = (&'a String, &'a String)>) -> Self {
        let mut requirements = Self::new();
        for (key, value) in labels {
            requirements.add(key, Requirement::is_in([value.as_str()]));
        }
        requirements
    }

    /// Narrows `key`, under its present-day name.
    pub fn add(&mut self, key: &str, requirement: Requirement) {
        let key = labels::normalise(key);
        let narrowed = match self.0.get(key) {
            Some(present) => present.intersection(&requirement),
            None => requirement,
        };
        self.0.insert(key.to_owned(), narrowed);
    }

    /// Narrows by all of `other`.
    pub fn add_all(&mut self, other: &Self) {
        for (key, requirement) in &other.0 {
            self.add(key, requirement.clone());
        }
    }

    /// Replaces what `key` had.
    pub fn replace(&mut self, key: &str, requirement: Requirement) {
        self.0.insert(labels::normalise(key).to_owned(), requirement);
    }

    /// Takes `key` out.
    pub fn remove(&mut self, key: &str) -> Option<Requirement> {
        self.0.remove(key)
    }

    /// What is asked of `key`.
    pub fn get(&self, key: &str) -> Option<&Requirement> {
        self.0.get(key)
    }

    /// Keys and requirements in key order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Requirement)> {
        self.0.iter().map(|(key, requirement)| (key.as_str(), requirement))
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether, for the keys in both, some value is left. Two sides that both accept an absent label agree.
    pub fn intersects(&self, other: &Self) -> Result<(), Box<Conflict>> {
        let (few, many) = if self.0.len() <= other.0.len() { (self, other) } else { (other, self) };
        for key in few.0.keys().filter(|key| many.0.contains_key(*key)) {
            let (Some(has), Some(wants)) = (self.0.get(key), other.0.get(key)) else { continue };
            let absent = has.allows_absence() && wants.allows_absence();
            if !absent && !has.intersects(wants) {
                return Err(Box::new(Conflict {
                    key: key.clone(),
                    has: Some(has.clone()),
                    wants: wants.clone(),
                }));
            }
        }
        Ok(())
    }

    /// Whether something with these requirements can serve `wants`.
    pub fn compatible(&self, wants: &Self, undefined: Undefined) -> Result<(), Box<Conflict>> {
        for (key, requirement) in &wants.0 {
            let excused = undefined == Undefined::WellKnownAllowed && labels::is_well_known(key);
            if !excused && !self.0.contains_key(key) && !requirement.allows_absence() {
                return Err(Box::new(Conflict { key: key.clone(), has: None, wants: requirement.clone() }));
            }
        }
        self.intersects(wants)
    }

    /// Whether plain labels satisfy all of this: kube-scheduler's view of a node.
    pub fn match_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|(key, requirement)| match labels.get(key) {
            Some(value) => requirement.has(value),
            None => requirement.allows_absence(),
        })
    }
}

impl FromIterator<(String, Requirement)> for Requirements {
    fn from_iter<I: IntoIterator<Item = (String, Requirement)>>(pairs: I) -> Self {
        let mut requirements = Self::new();
        for (key, requirement) in pairs {
            requirements.add(&key, requirement);
        }
        requirements
    }
}

impl fmt::Display for Requirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (key, requirement)) in self.0.iter().enumerate() {
            write!(f, "{}{key} {requirement}", if index > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(key: &str, requirement: Requirement) -> Requirements {
        [(key.to_owned(), requirement)].into_iter().collect()
    }

    #[test]
    fn an_undefined_label_is_refused_unless_well_known() {
        let none = Requirements::new();
        #[rustfmt::skip]
        let table = [
            ("team", Requirement::is_in(["a"]),          false, false),
            ("team", Requirement::exists(),              false, false),
            ("team", Requirement::not_in(["a"]),         true,  true),
            ("team", Requirement::does_not_exist(),      true,  true),
            (labels::ZONE, Requirement::is_in(["a"]),    false, true),
        ];
        for (key, requirement, on_node, on_new) in table {
            let wants = one(key, requirement);
            assert_eq!(none.compatible(&wants, Undefined::Refused).is_ok(), on_node, "{wants}");
            assert_eq!(none.compatible(&wants, Undefined::WellKnownAllowed).is_ok(), on_new, "{wants}");
        }
    }

    #[test]
    fn two_sides_that_accept_absence_agree() {
        let has = one("team", Requirement::does_not_exist());
        assert!(has.compatible(&one("team", Requirement::not_in(["a"])), Undefined::Refused).is_ok());
        assert!(has.compatible(&one("team", Requirement::is_in(["a"])), Undefined::Refused).is_err());
    }

    #[test]
    fn old_names_of_labels_are_read_as_the_new() {
        let old = one("failure-domain.beta.kubernetes.io/zone", Requirement::is_in(["a"]));
        assert_eq!(old.get(labels::ZONE).and_then(Requirement::single), Some("a"));
    }
}
