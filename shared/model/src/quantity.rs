//! Kubernetes quantities as integers, so that sums do not depend on the order of their terms.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An amount of a resource in thousandths of its unit: `1500` is 1.5 cores, or 1.5 bytes.
///
/// Finer amounts are rounded up, as Kubernetes does. The largest amount is about 8 PiB, far above
/// what one cluster of this kind holds; more is an error, not a wrap.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Quantity(i64);

/// Why a text is not a quantity.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum QuantityError {
    /// There is nothing to read.
    #[error("a quantity must not be empty")]
    Empty,
    /// The number before the suffix is not a decimal.
    #[error(
        "{0:?} is not a quantity: expected a decimal number with an optional suffix such as 500m, 2, 4Gi or 1e3"
    )]
    Number(String),
    /// The suffix is unknown to Kubernetes.
    #[error(
        "{0:?} is not a quantity: unknown suffix {1:?} (use n, u, m, k, M, G, T, P, E, Ki, Mi, Gi, Ti, Pi, Ei or an exponent)"
    )]
    Suffix(String, String),
    /// More than can be counted.
    #[error("{0:?} is larger than any node")]
    TooLarge(String),
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// From thousandths of a unit.
    pub const fn from_milli(milli: i64) -> Self {
        Self(milli)
    }

    /// From whole units, at most about 9.2e15 of them.
    pub const fn from_units(units: i64) -> Self {
        Self(units.saturating_mul(1000))
    }

    /// From binary mebibytes.
    pub const fn from_mebibytes(mebibytes: i64) -> Self {
        Self::from_units(mebibytes.saturating_mul(1024 * 1024))
    }

    /// In thousandths of a unit.
    pub const fn milli(self) -> i64 {
        self.0
    }

    /// In whole units, rounded up.
    pub const fn units(self) -> i64 {
        if self.0 > 0 { (self.0 - 1) / 1000 + 1 } else { self.0 / 1000 }
    }

    /// Whether it is nothing.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum, held at the ends of the range.
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// The difference, held at the ends of the range.
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// That many times as much.
    pub const fn times(self, count: i64) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// As written for `resource`: bytes in binary units where they come out even, all else in decimal.
    pub fn display(self, resource: &str) -> String {
        let bytes = matches!(resource, "memory" | "ephemeral-storage" | "storage")
            || resource.starts_with("hugepages-");
        if bytes && self.0 != 0 && self.0 % 1000 == 0 {
            let units = self.0 / 1000;
            for (suffix, size) in [("Ti", 1_i64 << 40), ("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)] {
                if units % size == 0 {
                    return format!("{}{suffix}", units / size);
                }
            }
        }
        self.to_string()
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 1000 == 0 { write!(f, "{}", self.0 / 1000) } else { write!(f, "{}m", self.0) }
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Err(QuantityError::Empty);
        }
        let bad = || QuantityError::Number(text.to_owned());
        let (negative, unsigned) = match trimmed.as_bytes()[0] {
            b'-' => (true, &trimmed[1..]),
            b'+' => (false, &trimmed[1..]),
            _ => (false, trimmed),
        };
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(bad());
        }
        let (binary, exponent): (i128, i32) = match suffix {
            "" => (1, 0),
            "n" => (1, -9),
            "u" => (1, -6),
            "m" => (1, -3),
            "k" => (1, 3),
            "M" => (1, 6),
            "G" => (1, 9),
            "T" => (1, 12),
            "P" => (1, 15),
            "E" => (1, 18),
            "Ki" => (1 << 10, 0),
            "Mi" => (1 << 20, 0),
            "Gi" => (1 << 30, 0),
            "Ti" => (1 << 40, 0),
            "Pi" => (1 << 50, 0),
            "Ei" => (1 << 60, 0),
            _ => match suffix.strip_prefix(['e', 'E']).map(str::parse::<i32>) {
                Some(Ok(exponent)) if (-40..=40).contains(&exponent) => (1, exponent),
                _ => return Err(QuantityError::Suffix(text.to_owned(), suffix.to_owned())),
            },
        };
        let too_large = || QuantityError::TooLarge(text.to_owned());
        let fraction = fraction.trim_end_matches('0');
        let whole = whole.trim_start_matches('0');
        if whole.len() > 19 || fraction.len() > 18 {
            return Err(too_large());
        }
        let digits = format!("{whole}{fraction}");
        let mantissa: i128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| bad())? };
        let scale = exponent + 3 - i32::try_from(fraction.len()).map_err(|_| too_large())?;
        let scaled = mantissa.checked_mul(binary).ok_or_else(too_large)?;
        let power = 10_i128.checked_pow(scale.unsigned_abs());
        let milli = match (scale >= 0, power) {
            (_, _) if scaled == 0 => 0,
            (true, Some(power)) => scaled.checked_mul(power).ok_or_else(too_large)?,
            (true, None) => return Err(too_large()),
            (false, Some(power)) => (scaled - 1) / power + 1,
            (false, None) => 1,
        };
        let milli = i64::try_from(milli).map_err(|_| too_large())?;
        Ok(Self(if negative { -milli } else { milli }))
    }
}

impl Serialize for Quantity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kubernetes_writes() {
        #[rustfmt::skip]
        let table = [
            ("0", 0), ("1", 1000), ("100m", 100), ("1.5", 1500), (".5", 500), ("2.", 2000), ("-1", -1000),
            ("1Ki", 1024 * 1000), ("1.5Gi", 1_610_612_736_000), ("1k", 1_000_000), ("1e3", 1_000_000), ("1E3", 1_000_000),
            ("100n", 1), ("1u", 1), ("0.0001", 1), ("5e-1", 500), ("+3", 3000), ("0e30", 0),
        ];
        for (text, milli) in table {
            assert_eq!(text.parse::<Quantity>().map(Quantity::milli), Ok(milli), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest_by_name() {
        for text in [
            "",
            " ",
            "abc",
            "1.2.3",
            "1Gb",
            "1 Gi",
            "--1",
            "1e",
            "1e99",
            "9999E",
            "99999999999999999999",
            "m",
            ".",
        ] {
            assert!(text.parse::<Quantity>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn writes_in_the_units_of_the_resource() {
        let table = [
            ("memory", "1536Mi", "1536Mi"),
            ("memory", "1Gi", "1Gi"),
            ("cpu", "1500m", "1500m"),
            ("cpu", "2", "2"),
        ];
        for (resource, text, shown) in table {
            assert_eq!(
                text.parse::<Quantity>().map(|quantity| quantity.display(resource)).as_deref(),
                Ok(shown)
            );
        }
    }
}
