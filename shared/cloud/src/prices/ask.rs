//! Asking for prices.

use std::collections::BTreeMap;

use aws_sdk_ec2::types::{InstanceType, RiProductDescription};
use aws_sdk_pricing::types::{Filter, FilterType};
use jiff::Timestamp;
use model::MicroUsd;

use super::{Currency, SpotPrices, on_demand, pricing_region};
use crate::client::failed;
use crate::{Cloud, CloudError};

/// What shared and bare machines are filed under.
const KINDS: [(&str, &str); 2] =
    [("Shared", "Compute Instance"), ("Dedicated", "Compute Instance (bare metal)")];

impl Cloud {
    /// On-demand prices of Linux by instance type; none, and nothing is asked, where there is no Price List.
    pub async fn on_demand_prices(&self) -> Result<BTreeMap<String, MicroUsd>, CloudError> {
        if pricing_region(self.region()).is_none() {
            return Ok(BTreeMap::new());
        }
        let currency = Currency::of_region(self.region());
        let mut prices = BTreeMap::new();
        for (tenancy, family) in KINDS {
            let filters = [
                ("regionCode", self.region()),
                ("serviceCode", "AmazonEC2"),
                ("preInstalledSw", "NA"),
                ("operatingSystem", "Linux"),
                ("capacitystatus", "Used"),
                ("marketoption", "OnDemand"),
                ("tenancy", tenancy),
                ("productFamily", family),
            ];
            let operation = "GetProducts";
            let filters: Result<Vec<Filter>, _> = filters
                .into_iter()
                .map(|(field, value)| {
                    Filter::builder().field(field).value(value).r#type(FilterType::TermMatch).build()
                })
                .collect();
            let filters = filters.map_err(|error| CloudError::Request {
                operation,
                code: String::new(),
                message: error.to_string(),
            })?;
            let request = self.pricing.get_products().service_code("AmazonEC2").set_filters(Some(filters));
            let mut pages = request.max_results(100).into_paginator().send();
            while let Some(page) = pages.next().await {
                let page = page.map_err(failed(operation))?;
                prices.extend(on_demand(page.price_list().iter().map(String::as_str), currency)?);
            }
        }
        match prices.is_empty() {
            true => Err(CloudError::Empty { operation: "GetProducts", region: self.region().to_owned() }),
            false => Ok(prices),
        }
    }

    /// The Spot price of each pool as of a moment.
    pub async fn spot_prices(&self, as_of: Timestamp) -> Result<SpotPrices, CloudError> {
        let mut pages = self
            .ec2
            .describe_spot_price_history()
            .product_descriptions(RiProductDescription::LinuxUnix.as_str())
            .product_descriptions(RiProductDescription::LinuxUnixAmazonVpc.as_str())
            .start_time(aws_smithy_types::DateTime::from_secs(as_of.as_second()))
            .into_paginator()
            .page_size(1000)
            .send();
        let mut prices = SpotPrices::default();
        while let Some(page) = pages.next().await {
            for point in page.map_err(failed("DescribeSpotPriceHistory"))?.spot_price_history() {
                let kind = point.instance_type().map(InstanceType::as_str);
                let price = point.spot_price().and_then(|price| price.parse::<MicroUsd>().ok());
                let at = point.timestamp().and_then(|at| Timestamp::from_second(at.secs()).ok());
                let (Some(kind), Some(zone), Some(price)) = (kind, point.availability_zone(), price) else {
                    continue;
                };
                prices.add(kind, zone, at.unwrap_or(Timestamp::UNIX_EPOCH), price);
            }
        }
        Ok(prices)
    }
}
