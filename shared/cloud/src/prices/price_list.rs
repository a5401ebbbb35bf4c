//! The Price List's products, as `GetProducts` gives them: each a JSON document in a string.

use std::collections::BTreeMap;

use model::MicroUsd;
use serde::Deserialize;

use crate::CloudError;

/// What a partition's prices are in. Yuan are kept as if they were dollars: within a partition only their order and
/// their proportions count.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Currency {
    /// US dollars.
    Usd,
    /// Yuan.
    Cny,
}

impl Currency {
    /// Of a Region.
    pub fn of_region(region: &str) -> Self {
        if region.starts_with("cn-") { Self::Cny } else { Self::Usd }
    }
}

/// The Region that answers for the prices of another; none where the Price List can't be asked: it is served in AWS's
/// public partition and in China's, and credentials don't reach beyond theirs.
pub fn pricing_region(region: &str) -> Option<&'static str> {
    let mut parts = region.split('-');
    let (area, place) = (parts.next()?, parts.next()?);
    if place.starts_with("gov") || place.starts_with("iso") {
        return None;
    }
    match area {
        "ap" => Some("ap-south-1"),
        "cn" => Some("cn-northwest-1"),
        "eu" => Some("eu-central-1"),
        "af" | "ca" | "il" | "me" | "mx" | "sa" | "us" => Some("us-east-1"),
        _ => None,
    }
}

#[derive(Deserialize)]
struct Document {
    product: Product,
    terms: Terms,
}

#[derive(Deserialize)]
struct Product {
    attributes: Attributes,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Attributes {
    instance_type: Option<String>,
}

#[derive(Deserialize)]
struct Terms {
    #[serde(rename = "OnDemand", default)]
    on_demand: BTreeMap<String, Term>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    #[serde(default)]
    price_dimensions: BTreeMap<String, Dimension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    #[serde(default)]
    unit: String,
    #[serde(default)]
    price_per_unit: PricePerUnit,
}

#[derive(Default, Deserialize)]
struct PricePerUnit {
    #[serde(rename = "USD")]
    usd: Option<String>,
    #[serde(rename = "CNY")]
    cny: Option<String>,
}

/// Instance types and the price of an hour on demand. A price of zero, or in another currency, is none; of several
/// the highest counts, because we would sooner overrate a price.
pub fn on_demand<'a>(
    documents: impl IntoIterator<Item = &'a str>,
    currency: Currency,
) -> Result<BTreeMap<String, MicroUsd>, CloudError> {
    let mut prices = BTreeMap::new();
    for document in documents {
        let Document { product, terms } = serde_json::from_str(document).map_err(CloudError::PriceList)?;
        let Some(name) = product.attributes.instance_type else { continue };
        let hourly = terms.on_demand.values().flat_map(|term| term.price_dimensions.values());
        let hourly = hourly.filter(|dimension| dimension.unit.is_empty() || dimension.unit == "Hrs");
        let price = hourly.filter_map(|Dimension { price_per_unit, .. }| {
            let text = match currency {
                Currency::Usd => price_per_unit.usd.as_ref(),
                Currency::Cny => price_per_unit.cny.as_ref(),
            };
            text?.parse::<MicroUsd>().ok()
        });
        if let Some(price) = price.max().filter(|price| *price > MicroUsd::ZERO) {
            let kept = prices.entry(name).or_insert(price);
            *kept = (*kept).max(price);
        }
    }
    Ok(prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(name: &str, currency: &str, price: &str) -> String {
        format!(
            r#"{{"product": {{"productFamily": "Compute Instance", "sku": "S", "attributes": {{
                "instanceType": "{name}", "tenancy": "Shared", "operatingSystem": "Linux", "regionCode": "r"}}}},
            "serviceCode": "AmazonEC2", "version": "1", "publicationDate": "2026-11-01T00:00:00Z",
            "terms": {{"OnDemand": {{"S.T": {{"sku": "S", "effectiveDate": "2026-11-01T00:00:00Z", "offerTermCode": "T",
                "termAttributes": {{}}, "priceDimensions": {{"S.T.R": {{"unit": "Hrs", "endRange": "Inf", "beginRange": "0",
                    "description": "an hour", "appliesTo": [], "rateCode": "S.T.R",
                    "pricePerUnit": {{"{currency}": "{price}"}}}}}}}}}},
                "Reserved": {{"S.U": {{"priceDimensions": {{"S.U.R": {{"unit": "Quantity", "pricePerUnit": {{"USD": "999"}}}}}}}}}}}}}}"#
        )
    }

    #[test]
    fn prices_are_of_the_partition_s_currency() {
        let us = document("m5.large", "USD", "0.0960000000");
        let cn = document("m5.large", "CNY", "0.6850000000");
        let read = |text: &str, currency| on_demand([text], currency).unwrap().get("m5.large").copied();
        assert_eq!(read(&us, Currency::Usd), Some(MicroUsd(96_000)));
        assert_eq!(read(&cn, Currency::Cny), Some(MicroUsd(685_000)));
        assert_eq!(read(&us, Currency::Cny), None);
        assert_eq!(read(&document("m5.large", "USD", "0.0000000000"), Currency::Usd), None);
        assert_eq!(Currency::of_region("cn-north-1"), Currency::Cny);
        assert_eq!(Currency::of_region("us-gov-west-1"), Currency::Usd);
    }

    #[test]
    fn the_highest_counts_and_other_texts_are_refused() {
        let texts = [document("m5.large", "USD", "0.096"), document("m5.large", "USD", "0.05")];
        let texts = texts.iter().map(String::as_str);
        assert_eq!(on_demand(texts, Currency::Usd).unwrap()["m5.large"], MicroUsd(96_000));
        assert!(matches!(on_demand(["{}"], Currency::Usd), Err(CloudError::PriceList(_))));
        assert!(matches!(on_demand(["no"], Currency::Usd), Err(CloudError::PriceList(_))));
    }

    #[test]
    fn aws_c124_few_regions_answer_for_all_and_none_for_other_partitions() {
        for (region, answers) in [
            ("us-west-2", Some("us-east-1")),
            ("sa-east-1", Some("us-east-1")),
            ("ap-northeast-1", Some("ap-south-1")),
            ("cn-north-1", Some("cn-northwest-1")),
            ("eu-west-1", Some("eu-central-1")),
            ("us-gov-west-1", None),
            ("us-iso-east-1", None),
            ("us-isob-east-1", None),
            ("eu-isoe-west-1", None),
            ("eusc-de-east-1", None),
            ("nowhere", None),
        ] {
            assert_eq!(pricing_region(region), answers, "{region}");
        }
    }
}
