//! Taints and what tolerates them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a taint does to pods that don't tolerate it.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum TaintEffect {
    /// They are not placed.
    NoSchedule,
    /// They are placed elsewhere if that can be.
    PreferNoSchedule,
    /// They are not placed, and those there are evicted.
    NoExecute,
}

/// A mark on a node that keeps pods away.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Taint {
    /// Its key.
    pub key: String,
    /// Its value, often empty.
    pub value: String,
    /// Its effect.
    pub effect: TaintEffect,
}

/// How a toleration compares values.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub enum TolerationOperator {
    /// The value is the same.
    Equal,
    /// Any value.
    Exists,
    /// The taint's integer is below the toleration's.
    Lt,
    /// The taint's integer is above the toleration's.
    Gt,
}

/// A pod's leave to be on nodes with a taint.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
pub struct Toleration {
    /// The taint's key; none tolerates every key (with `Exists`).
    pub key: Option<String>,
    /// How values compare.
    pub operator: TolerationOperator,
    /// The value to compare with.
    pub value: String,
    /// The effect tolerated; none tolerates every effect.
    pub effect: Option<TaintEffect>,
}

impl Toleration {
    /// Whether a pod with this may be where `taint` is.
    pub fn tolerates(&self, taint: &Taint) -> bool {
        if self.effect.is_some_and(|effect| effect != taint.effect) {
            return false;
        }
        match self.key.as_deref() {
            Some(key) if !key.is_empty() && key != taint.key => return false,
            None | Some("") if self.operator != TolerationOperator::Exists => return false,
            _ => {}
        }
        let numbers = || Some((taint.value.parse::<i64>().ok()?, self.value.parse::<i64>().ok()?));
        match self.operator {
            TolerationOperator::Exists => true,
            TolerationOperator::Equal => self.value == taint.value,
            TolerationOperator::Lt => numbers().is_some_and(|(taint, own)| taint < own),
            TolerationOperator::Gt => numbers().is_some_and(|(taint, own)| taint > own),
        }
    }
}

impl Taint {
    /// Whether both are the same mark: values are ignored, as everywhere taints are matched or merged.
    pub fn matches(&self, other: &Self) -> bool {
        self.key == other.key && self.effect == other.effect
    }

    /// The first of `taints` that nothing in `tolerations` tolerates. `PreferNoSchedule` counts too: it is
    /// a preference until it is relaxed.
    pub fn first_untolerated<'a>(taints: &'a [Self], tolerations: &[Toleration]) -> Option<&'a Self> {
        taints.iter().find(|taint| !tolerations.iter().any(|toleration| toleration.tolerates(taint)))
    }
}

impl fmt::Display for Taint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let equals = if self.value.is_empty() { "" } else { "=" };
        write!(f, "{}{equals}{}:{:?}", self.key, self.value, self.effect)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_follow_kubernetes() {
        use TaintEffect::{NoExecute, NoSchedule};
        use TolerationOperator::{Equal, Exists, Gt, Lt};
        let taint = |value: &str| Taint { key: "k".into(), value: value.into(), effect: NoSchedule };
        #[rustfmt::skip]
        let table = [
            (Some("k"), Equal,  "v", None,             taint("v"), true),
            (Some("k"), Equal,  "w", None,             taint("v"), false),
            (Some("k"), Exists, "",  None,             taint("v"), true),
            (Some("j"), Exists, "",  None,             taint("v"), false),
            (None,      Exists, "",  None,             taint("v"), true),
            (None,      Equal,  "v", None,             taint("v"), false),
            (Some("k"), Exists, "",  Some(NoExecute),  taint("v"), false),
            (Some("k"), Exists, "",  Some(NoSchedule), taint("v"), true),
            (Some("k"), Lt,     "5", None,             taint("3"), true),
            (Some("k"), Gt,     "5", None,             taint("3"), false),
            (Some("k"), Gt,     "5", None,             taint("x"), false),
        ];
        for (row, (key, operator, value, effect, taint, tolerated)) in table.into_iter().enumerate() {
            let toleration = Toleration { key: key.map(Into::into), operator, value: value.into(), effect };
            assert_eq!(toleration.tolerates(&taint), tolerated, "row {row}");
        }
    }
}
