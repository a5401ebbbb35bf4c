//! One label's requirement as a set of values: finite, or all but a finite set, within bounds.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

/// What a requirement looks like from outside.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum Operator {
    /// One of the values.
    In,
    /// None of the values; an absent label is fine.
    NotIn,
    /// Any value.
    Exists,
    /// No value.
    DoesNotExist,
    /// An integer above.
    Gt,
    /// An integer below.
    Lt,
    /// An integer at or above.
    Gte,
    /// An integer at or below.
    Lte,
}

impl Operator {
    /// From Kubernetes' name of it.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "In" => Self::In,
            "NotIn" => Self::NotIn,
            "Exists" => Self::Exists,
            "DoesNotExist" => Self::DoesNotExist,
            "Gt" => Self::Gt,
            "Lt" => Self::Lt,
            "Gte" => Self::Gte,
            "Lte" => Self::Lte,
            _ => return None,
        })
    }
}

/// The values one label may have.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Requirement {
    complement: bool,
    values: BTreeSet<String>,
    gte: Option<i64>,
    lte: Option<i64>,
    /// At least so many distinct values must stay on offer.
    pub min_values: Option<u32>,
}

impl Requirement {
    /// One of `values`.
    pub fn is_in<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        Self { complement: false, ..Self::not_in(values) }
    }

    /// None of `values`.
    pub fn not_in<V: Into<String>>(values: impl IntoIterator<Item = V>) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        Self { complement: true, values, gte: None, lte: None, min_values: None }
    }

    /// Any value.
    pub fn exists() -> Self {
        Self::not_in::<String>([])
    }

    /// No value.
    pub fn does_not_exist() -> Self {
        Self::is_in::<String>([])
    }

    /// An integer within inclusive bounds.
    pub fn within(gte: Option<i64>, lte: Option<i64>) -> Self {
        let whole = Self { gte, lte, ..Self::exists() };
        if whole.is_void() { Self::does_not_exist() } else { whole }
    }

    /// From an operator and its values. `None` if a comparison lacks its one integer.
    pub fn new<V: Into<String>>(operator: Operator, values: impl IntoIterator<Item = V>) -> Option<Self> {
        let mut values = values.into_iter().map(Into::into);
        let mut number = || values.next().and_then(|value: String| value.trim().parse::<i64>().ok());
        Some(match operator {
            Operator::In => Self::is_in(values),
            Operator::NotIn => Self::not_in(values),
            Operator::Exists => Self::exists(),
            Operator::DoesNotExist => Self::does_not_exist(),
            Operator::Gt => match number()?.checked_add(1) {
                Some(least) => Self::within(Some(least), None),
                None => Self::does_not_exist(),
            },
            Operator::Lt => match number()?.checked_sub(1) {
                Some(most) => Self::within(None, Some(most)),
                None => Self::does_not_exist(),
            },
            Operator::Gte => Self::within(Some(number()?), None),
            Operator::Lte => Self::within(None, Some(number()?)),
        })
    }

    /// The same with a demand for distinct values.
    pub fn with_min_values(mut self, min_values: Option<u32>) -> Self {
        self.min_values = min_values;
        self
    }

    fn is_void(&self) -> bool {
        matches!((self.gte, self.lte), (Some(gte), Some(lte)) if gte > lte)
    }

    fn in_bounds(&self, value: &str) -> bool {
        if self.gte.is_none() && self.lte.is_none() {
            return true;
        }
        value.parse::<i64>().is_ok_and(|number| {
            self.gte.is_none_or(|gte| gte <= number) && self.lte.is_none_or(|lte| number <= lte)
        })
    }

    /// Whether a label may have `value`.
    pub fn has(&self, value: &str) -> bool {
        self.values.contains(value) != self.complement && self.in_bounds(value)
    }

    /// What both allow.
    pub fn intersection(&self, other: &Self) -> Self {
        let min_values = self.min_values.max(other.min_values);
        let gte = self.gte.max(other.gte);
        let lte = match (self.lte, other.lte) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        let bounds = Self { gte, lte, ..Self::exists() };
        if bounds.is_void() {
            return Self::does_not_exist().with_min_values(min_values);
        }
        let complement = self.complement && other.complement;
        let mut values: BTreeSet<String> = match (self.complement, other.complement) {
            (true, true) => self.values.union(&other.values).cloned().collect(),
            (true, false) => other.values.difference(&self.values).cloned().collect(),
            (false, true) => self.values.difference(&other.values).cloned().collect(),
            (false, false) => self.values.intersection(&other.values).cloned().collect(),
        };
        values.retain(|value| bounds.in_bounds(value));
        let (gte, lte) = if complement { (gte, lte) } else { (None, None) };
        Self { complement, values, gte, lte, min_values }
    }

    /// Whether both allow something, without building it. Two complements always do within agreeing bounds.
    pub fn intersects(&self, other: &Self) -> bool {
        let gte = self.gte.max(other.gte);
        let lte = self.lte.into_iter().chain(other.lte).min();
        if matches!((gte, lte), (Some(gte), Some(lte)) if gte > lte) {
            return false;
        }
        match (self.complement, other.complement) {
            (true, true) => true,
            (false, _) => self.values.iter().any(|value| other.has(value)),
            (true, false) => other.values.iter().any(|value| self.has(value)),
        }
    }

    /// The operator that describes it; bounds read as `Exists`.
    pub fn operator(&self) -> Operator {
        match (self.complement, self.values.is_empty()) {
            (true, false) => Operator::NotIn,
            (true, true) => Operator::Exists,
            (false, false) => Operator::In,
            (false, true) => Operator::DoesNotExist,
        }
    }

    /// Whether an absent label is as good as a present one.
    pub fn allows_absence(&self) -> bool {
        matches!(self.operator(), Operator::NotIn | Operator::DoesNotExist)
    }

    /// The allowed values if they can be counted.
    pub fn values(&self) -> Option<&BTreeSet<String>> {
        (!self.complement).then_some(&self.values)
    }

    /// The one value, if there is just one.
    pub fn single(&self) -> Option<&str> {
        if self.complement || self.values.len() != 1 { None } else { self.values.first().map(String::as_str) }
    }

    /// The excluded values, if it is all but those.
    pub fn excluded(&self) -> Option<&BTreeSet<String>> {
        self.complement.then_some(&self.values)
    }

    /// Inclusive integer bounds.
    pub fn bounds(&self) -> (Option<i64>, Option<i64>) {
        (self.gte, self.lte)
    }

    /// As Kubernetes writes it: operators with their values. Bounds and excluded values both survive.
    pub fn entries(&self) -> Vec<(Operator, Vec<String>)> {
        let bound = |operator, bound: Option<i64>| bound.map(|bound| (operator, vec![bound.to_string()]));
        let mut entries: Vec<_> =
            bound(Operator::Gte, self.gte).into_iter().chain(bound(Operator::Lte, self.lte)).collect();
        if entries.is_empty() || !self.values.is_empty() {
            entries.push((self.operator(), self.values.iter().cloned().collect()));
        }
        entries
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (operator, values)) in self.entries().into_iter().enumerate() {
            if index > 0 {
                f.write_str(" and ")?;
            }
            match operator {
                Operator::In | Operator::NotIn => write!(f, "{operator:?} [{}]", values.join(", "))?,
                Operator::Exists | Operator::DoesNotExist => write!(f, "{operator:?}")?,
                _ => write!(f, "{operator:?} {}", values.join(", "))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Requirement {
        let (operator, values) = text.split_once(' ').unwrap_or((text, ""));
        let values = values.split(',').filter(|value| !value.is_empty()).map(str::to_owned);
        Requirement::new(Operator::from_name(operator).unwrap(), values).unwrap()
    }

    #[test]
    fn every_pair_of_operators_intersects_as_sets_do() {
        #[rustfmt::skip]
        let table = [
            ("In a,b",       "In b,c",     "In [b]"),
            ("In a",         "In b",       "DoesNotExist"),
            ("In a,b",       "NotIn b",    "In [a]"),
            ("NotIn a",      "NotIn b",    "NotIn [a, b]"),
            ("NotIn a",      "In a",       "DoesNotExist"),
            ("Exists",       "In a",       "In [a]"),
            ("Exists",       "NotIn a",    "NotIn [a]"),
            ("Exists",       "Exists",     "Exists"),
            ("DoesNotExist", "Exists",     "DoesNotExist"),
            ("DoesNotExist", "NotIn a",    "DoesNotExist"),
            ("In 1,5,9,x",   "Gt 4",       "In [5, 9]"),
            ("Gt 4",         "Lt 7",       "Gte 5 and Lte 6"),
            ("Gte 4",        "Lte 4",      "Gte 4 and Lte 4"),
            ("Gt 7",         "Lt 4",       "DoesNotExist"),
            ("NotIn 5",      "Gte 3",      "Gte 3 and NotIn [5]"),
            ("Lt 0",         "Exists",     "Lte -1"),
        ];
        for (one, two, both) in table {
            let (left, right) = (parse(one), parse(two));
            assert_eq!(left.intersection(&right).to_string(), both, "{one} with {two}");
            assert_eq!(right.intersection(&left).to_string(), both, "{two} with {one}");
            let some = both != "DoesNotExist";
            assert_eq!(left.intersects(&right), some, "{one} meets {two}");
            assert_eq!(right.intersects(&left), some, "{two} meets {one}");
        }
    }

    #[test]
    fn the_largest_demand_for_values_survives() {
        let one = parse("In a,b").with_min_values(Some(2));
        let two = parse("Exists").with_min_values(Some(3));
        assert_eq!(one.intersection(&two).min_values, Some(3));
        assert_eq!(parse("Gt 7").with_min_values(Some(1)).intersection(&parse("Lt 3")).min_values, Some(1));
    }

    #[test]
    fn comparisons_at_the_end_of_the_range_are_empty() {
        assert_eq!(parse(&format!("Gt {}", i64::MAX)).operator(), Operator::DoesNotExist);
        assert_eq!(parse(&format!("Lt {}", i64::MIN)).operator(), Operator::DoesNotExist);
    }
}
