//! Spot prices, put together from pages that come in any order.

use std::collections::BTreeMap;

use catalog::Ec2Catalogue;
use jiff::Timestamp;
use model::MicroUsd;

/// The last price seen of each pool: an instance type in a zone.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpotPrices {
    pools: BTreeMap<(String, String), (Timestamp, MicroUsd)>,
}

impl SpotPrices {
    /// Counts a price. A newer one of the same pool stands, whichever comes first; of equally old ones the higher.
    pub fn add(&mut self, instance_type: &str, zone: &str, at: Timestamp, price: MicroUsd) {
        let seen = self.pools.entry((instance_type.to_owned(), zone.to_owned())).or_insert((at, price));
        *seen = (*seen).max((at, price));
    }

    /// Counts all of `other`: what it doesn't know stays.
    pub fn merge(&mut self, other: &Self) {
        for ((instance_type, zone), (at, price)) in &other.pools {
            self.add(instance_type, zone, *at, *price);
        }
    }

    /// The price of a pool.
    pub fn get(&self, instance_type: &str, zone: &str) -> Option<MicroUsd> {
        self.pools.get(&(instance_type.to_owned(), zone.to_owned())).map(|(_, price)| *price)
    }

    /// How many pools have a price.
    pub fn len(&self) -> usize {
        self.pools.len()
    }

    /// Whether there is no price at all.
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// Writes the prices into a catalogue. A pool without one keeps what it has: a history that is read half is no
    /// reason to forget.
    pub fn fill(&self, catalogue: &mut Ec2Catalogue) {
        for kind in &mut catalogue.types {
            for (zone, spot) in &mut kind.zones {
                *spot = self.get(&kind.name, zone).or(*spot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// I05: a later page adds zones, it does not replace them.
    #[test]
    fn pages_do_not_overwrite_each_other() {
        let mut prices = SpotPrices::default();
        prices.add("m.large", "a", at(1), MicroUsd(30_000));
        prices.add("m.large", "b", at(1), MicroUsd(31_000));
        let mut second = SpotPrices::default();
        second.add("m.large", "c", at(1), MicroUsd(29_000));
        prices.merge(&second);
        let read = ["a", "b", "c", "d"].map(|zone| prices.get("m.large", zone).map(|price| price.0));
        assert_eq!(read, [Some(30_000), Some(31_000), Some(29_000), None]);
        assert_eq!((prices.len(), prices.is_empty()), (3, false));
    }

    #[test]
    fn the_newest_stands_in_whatever_order() {
        let points = [(5, 50), (9, 20), (7, 90), (9, 25)];
        for turned in 0..points.len() {
            let mut prices = SpotPrices::default();
            for (second, price) in points.iter().cycle().skip(turned).take(points.len()) {
                prices.add("m.large", "a", at(*second), MicroUsd(*price));
            }
            assert_eq!(prices.get("m.large", "a"), Some(MicroUsd(25)), "from point {turned}");
        }
    }

    #[test]
    fn a_pool_without_news_keeps_its_price() {
        let mut catalogue = catalog::embedded().unwrap();
        let (kind, zone) = ("m5.large", "us-east-1a");
        let before = catalogue.get(kind).unwrap().zones.clone();
        let mut prices = SpotPrices::default();
        prices.add(kind, zone, at(1), MicroUsd(7));
        prices.fill(&mut catalogue);
        for (name, price) in &catalogue.get(kind).unwrap().zones {
            assert_eq!(*price, if name == zone { Some(MicroUsd(7)) } else { before[name] }, "{name}");
        }
    }
}
