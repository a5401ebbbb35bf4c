//! Which prices a new catalogue is made with.

use std::collections::BTreeMap;

use catalog::Ec2Catalogue;
use cloud::{CloudError, Published};
use model::MicroUsd;

/// What EC2 doesn't tell of its types. Prices that were just asked for count more than those in the deployment's own
/// catalogue, `stored`, and they more than those that came with the program; none is forgotten, and if none can be had
/// now they stay as they were. A Region of which no price is known, as where there is no Price List, goes by those of the
/// program's: about right in proportion, which is what choices are made by, and without any nothing could be bought.
pub(super) fn published(
    embedded: &Ec2Catalogue,
    stored: Option<&Ec2Catalogue>,
    asked: Result<BTreeMap<String, MicroUsd>, CloudError>,
    region: &str,
) -> Published {
    let mut published = Published::of_catalogue(embedded, region);
    if let Some(stored) = stored {
        published.on_demand = Published::of_catalogue(stored, region).on_demand;
    }
    match asked {
        Ok(prices) => published.on_demand.extend(prices),
        Err(error) => tracing::warn!(%error, "on-demand prices stay as they were"),
    }
    if published.on_demand.is_empty() {
        tracing::warn!(region, of = embedded.region, "no on-demand prices: another Region's stand in");
        published.on_demand = Published::of_catalogue(embedded, &embedded.region).on_demand;
    }
    published
}

#[cfg(test)]
mod tests {
    use super::*;

    fn catalogue(prices: &[(&str, u64)]) -> Ec2Catalogue {
        let mut catalogue = catalog::embedded().unwrap();
        catalogue.types.retain(|kind| prices.iter().any(|(name, _)| kind.name == *name));
        for kind in &mut catalogue.types {
            kind.on_demand =
                prices.iter().find(|(name, _)| kind.name == *name).map(|(_, price)| MicroUsd(*price));
        }
        catalogue
    }

    fn prices(of: &[(&str, u64)]) -> BTreeMap<String, MicroUsd> {
        of.iter().map(|(name, price)| ((*name).to_owned(), MicroUsd(*price))).collect()
    }

    #[test]
    fn aws_c123_prices_are_renewed_and_none_is_forgotten() {
        let embedded = catalogue(&[("m5.large", 1), ("m5.xlarge", 2)]);
        let stored = catalogue(&[("m5.large", 10), ("c5.large", 20)]);
        let region = embedded.region.clone();
        let empty = || CloudError::Empty { operation: "GetProducts", region: region.clone() };
        #[rustfmt::skip]
        let table = [
            ("renewed, vanished and new", Some(&stored), Ok(prices(&[("m5.large", 11), ("r5.large", 30)])),
                prices(&[("m5.large", 11), ("c5.large", 20), ("r5.large", 30)])),
            ("not to be had", Some(&stored), Err(empty()), prices(&[("m5.large", 10), ("c5.large", 20)])),
            ("no Price List", Some(&stored), Ok(prices(&[])), prices(&[("m5.large", 10), ("c5.large", 20)])),
            ("the first", None, Ok(prices(&[("m5.large", 11)])), prices(&[("m5.large", 11), ("m5.xlarge", 2)])),
            ("none yet", None, Err(empty()), prices(&[("m5.large", 1), ("m5.xlarge", 2)])),
        ];
        for (what, stored, asked, expected) in table {
            assert_eq!(published(&embedded, stored, asked, &region).on_demand, expected, "{what}");
        }
        let elsewhere = published(&embedded, None, Ok(prices(&[])), "us-gov-west-1");
        assert_eq!(
            elsewhere.on_demand,
            prices(&[("m5.large", 1), ("m5.xlarge", 2)]),
            "another Region's stand in"
        );
        let elsewhere = published(&embedded, None, Ok(prices(&[("m5.large", 9)])), "eu-west-1");
        assert_eq!(elsewhere.on_demand, prices(&[("m5.large", 9)]), "but not beside its own");
    }
}
