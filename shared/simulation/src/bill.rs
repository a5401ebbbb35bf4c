//! What the instances cost.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{CapacityType, MicroUsd};
use serde::{Serialize, Serializer};

/// EC2 charges by the second, but never for less than a minute.
const LEAST: i128 = 60_000;
const HOUR: i128 = 3_600_000;

/// One instance on the bill.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Charge {
    /// Its NodeClaim.
    pub claim: String,
    /// Its pool.
    pub pool: String,
    /// Its type.
    pub instance_type: String,
    /// Its zone.
    pub zone: String,
    /// How it is paid for.
    pub capacity_type: CapacityType,
    /// What an hour of it costs.
    pub price: MicroUsd,
    /// When it was launched.
    pub from: Timestamp,
    /// When it was told to end; none while it lives.
    pub until: Option<Timestamp>,
}

impl Charge {
    /// How long it lived by `now`.
    pub fn life(&self, now: Timestamp) -> SignedDuration {
        self.until.unwrap_or(now).duration_since(self.from)
    }

    /// What it has cost by `now`.
    pub fn cost(&self, now: Timestamp) -> MicroUsd {
        per_hour(self.price, self.life(now).as_millis().max(LEAST))
    }
}

/// A price an hour for so many milliseconds, rounded up.
pub(crate) fn per_hour(price: MicroUsd, milliseconds: i128) -> MicroUsd {
    let cost = (i128::from(price.0) * milliseconds.max(0) + HOUR - 1) / HOUR;
    MicroUsd(u64::try_from(cost).unwrap_or(u64::MAX))
}

/// One line of the bill: instances that are alike.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// The pool.
    pub pool: String,
    /// The EC2 instance type.
    pub instance_type: String,
    /// How they are paid for.
    pub capacity_type: CapacityType,
    /// How many there were.
    pub instances: usize,
    /// How long they lived together.
    #[serde(rename = "hours", serialize_with = "hours")]
    pub life: SignedDuration,
    /// What they cost.
    #[serde(rename = "usd", serialize_with = "usd")]
    pub cost: MicroUsd,
}

/// Dollars, as programs read them.
pub(crate) fn usd<S: Serializer>(cost: &MicroUsd, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(cost.usd())
}

/// Hours, as programs read them.
pub(crate) fn hours<S: Serializer>(life: &SignedDuration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(life.as_secs_f64() / 3600.0)
}

/// All charges, and what runs up meanwhile.
#[derive(Clone, Debug)]
pub(crate) struct Ledger {
    charges: Vec<Charge>,
    open: BTreeMap<String, usize>,
    last: Timestamp,
    rate: MicroUsd,
    /// The highest rate there was.
    pub peak: MicroUsd,
    /// The most instances there were at once.
    pub peak_instances: usize,
    /// Rate times milliseconds.
    accrued: i128,
    /// Pods times milliseconds.
    pod_time: i128,
}

impl Ledger {
    pub fn new(start: Timestamp) -> Self {
        Self {
            charges: Vec::new(),
            open: BTreeMap::new(),
            last: start,
            rate: MicroUsd::ZERO,
            peak: MicroUsd::ZERO,
            peak_instances: 0,
            accrued: 0,
            pod_time: 0,
        }
    }

    /// Lets time pass until `now`, with so many pods on nodes.
    pub fn pass(&mut self, now: Timestamp, pods: u64) {
        let passed = now.duration_since(self.last).as_millis();
        self.accrued += i128::from(self.rate.0) * passed;
        self.pod_time += i128::from(pods) * passed;
        self.last = now;
    }

    pub fn open(&mut self, charge: Charge) {
        self.rate = self.rate.plus(charge.price);
        self.open.insert(charge.claim.clone(), self.charges.len());
        self.charges.push(charge);
        self.peak = self.peak.max(self.rate);
        self.peak_instances = self.peak_instances.max(self.open.len());
    }

    pub fn close(&mut self, claim: &str, now: Timestamp) {
        if let Some(index) = self.open.remove(claim) {
            self.charges[index].until = Some(now);
            self.rate = MicroUsd(self.rate.0.saturating_sub(self.charges[index].price.0));
        }
    }

    /// The charge that runs up for a NodeClaim.
    pub fn charge(&self, claim: &str) -> Option<&Charge> {
        self.open.get(claim).map(|&index| &self.charges[index])
    }

    /// What all instances there are cost an hour.
    pub fn rate(&self) -> MicroUsd {
        self.rate
    }

    /// What has run up so far, not counting short lives rounded up.
    pub fn accrued(&self) -> MicroUsd {
        MicroUsd(u64::try_from(self.accrued / HOUR).unwrap_or(u64::MAX))
    }

    /// How long pods were on nodes, all added up.
    pub fn pod_time(&self) -> SignedDuration {
        SignedDuration::from_millis(i64::try_from(self.pod_time).unwrap_or(i64::MAX))
    }

    /// Every charge there was.
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// The bill by `now`, dearest line first.
    pub fn bill(&self, now: Timestamp) -> Vec<Summary> {
        let mut lines: BTreeMap<(&str, &str, CapacityType), Summary> = BTreeMap::new();
        for charge in &self.charges {
            let key = (charge.pool.as_str(), charge.instance_type.as_str(), charge.capacity_type);
            let line = lines.entry(key).or_insert_with(|| Summary {
                pool: charge.pool.clone(),
                instance_type: charge.instance_type.clone(),
                capacity_type: charge.capacity_type,
                instances: 0,
                life: SignedDuration::ZERO,
                cost: MicroUsd::ZERO,
            });
            line.instances += 1;
            line.life = line.life.saturating_add(charge.life(now));
            line.cost = line.cost.plus(charge.cost(now));
        }
        let mut lines: Vec<Summary> = lines.into_values().collect();
        lines.sort_by_key(|line| std::cmp::Reverse(line.cost));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_costs_its_share_and_the_first_minute_is_charged_whole() {
        let from: Timestamp = "2026-06-01T00:00:00Z".parse().unwrap();
        for (price, seconds, cost) in [
            (3_600_000, 60, 60_000),
            (3_600_000, 61, 61_000),
            (3_600_000, 5, 60_000),
            (1, 61, 1),
            (0, 3600, 0),
        ] {
            let charge = Charge {
                claim: "c".into(),
                pool: "p".into(),
                instance_type: "t".into(),
                zone: "a".into(),
                capacity_type: CapacityType::Spot,
                price: MicroUsd(price),
                from,
                until: Some(from + SignedDuration::from_secs(seconds)),
            };
            assert_eq!(charge.cost(Timestamp::MAX), MicroUsd(cost), "{seconds} s at {price}");
        }
    }
}
