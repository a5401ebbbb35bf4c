//! Prices as integers.

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Millionths of a US dollar for one hour; `96_000` is $0.096/h.
///
/// An integer, so that totals do not depend on the order of their terms and two plans compare exactly.
/// A quote finer than a millionth is rounded up: we would sooner overrate a price than underrate it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MicroUsd(pub u64);

/// Why a text is not a price.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{0:?} is not a price: expected US dollars per hour as a decimal such as 0.25")]
pub struct MoneyError(pub String);

impl MicroUsd {
    /// Free of charge.
    pub const ZERO: Self = Self(0);

    /// As a float, for reports only.
    pub fn usd(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The sum, held at the end of the range.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// That many times as much.
    pub const fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Sum for MicroUsd {
    fn sum<I: Iterator<Item = Self>>(terms: I) -> Self {
        terms.fold(Self::ZERO, Self::plus)
    }
}

/// Dollars with at least four decimals and no trailing zeros beyond them: `0.0960`, `0.031235`.
impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let decimals = format!("{:06}", self.0 % 1_000_000);
        let kept = decimals.trim_end_matches('0').len().max(4);
        write!(f, "{}.{}", self.0 / 1_000_000, &decimals[..kept])
    }
}

impl FromStr for MicroUsd {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let bad = || MoneyError(text.to_owned());
        let trimmed = text.trim();
        let (whole, fraction) = trimmed.split_once('.').unwrap_or((trimmed, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || !digits(whole) || !digits(fraction) {
            return Err(bad());
        }
        let dollars: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| bad())? };
        let kept = &fraction[..fraction.len().min(6)];
        let finer = fraction[kept.len()..].bytes().any(|byte| byte != b'0');
        let micro: u64 = format!("{kept:0<6}").parse().map_err(|_| bad())?;
        dollars
            .checked_mul(1_000_000)
            .and_then(|dollars| dollars.checked_add(micro + u64::from(finer)))
            .map(Self)
            .ok_or_else(bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_read_and_write() {
        for (text, micro, shown) in [
            ("0.096", 96_000, "0.0960"),
            ("0.0312345", 31_235, "0.031235"),
            ("25", 25_000_000, "25.0000"),
            (".5", 500_000, "0.5000"),
            ("0.0000001", 1, "0.000001"),
        ] {
            assert_eq!(text.parse(), Ok(MicroUsd(micro)), "{text}");
            assert_eq!(MicroUsd(micro).to_string(), shown);
        }
        for text in ["", ".", "-1", "1e3", "a", "1.2.3", "99999999999999999999"] {
            assert!(text.parse::<MicroUsd>().is_err(), "{text:?}");
        }
    }
}
