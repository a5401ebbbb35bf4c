//! Reads the instance types of a Region from EC2.

use std::collections::BTreeMap;

use aws_sdk_ec2::Client;
use aws_sdk_ec2::types::LocationType;
use catalog::Ec2Catalogue;
use catalog::raw::Zone;
use jiff::Timestamp;

use crate::client::failed;
use crate::filters::filter;
use crate::{Cloud, CloudError, Published, read};

/// What nodes run on; macOS and 32-bit machines are something else.
const ARCHITECTURES: [&str; 2] = ["x86_64", "arm64"];

/// Where Spot prices come from.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Spot {
    /// The last price of each pool, by DescribeSpotPriceHistory.
    #[default]
    History,
    /// Made up from the on-demand price, and marked so: for endpoints that know none.
    Illustrative,
}

/// What to read, and from where.
#[derive(Clone, Debug)]
pub struct RefreshOptions {
    /// The Region.
    pub region: String,
    /// Another endpoint than EC2's own.
    pub endpoint_url: Option<String>,
    /// What EC2 does not say.
    pub published: Published,
    /// The moment to note in the catalogue, and the latest for Spot prices.
    pub as_of: Timestamp,
    /// Where Spot prices come from.
    pub spot: Spot,
}

/// Reads all types that are offered in the Region, that a node can run on, and that have a price.
pub async fn refresh(options: RefreshOptions) -> Result<Ec2Catalogue, CloudError> {
    let RefreshOptions { region, endpoint_url, published, as_of, spot } = options;
    if published.region != region {
        return Err(CloudError::Region { found: published.region, wanted: region });
    }
    let cloud = Cloud::at(&region, endpoint_url).await;
    let mut catalogue = cloud.instance_types(&published, as_of).await?;
    match spot {
        Spot::Illustrative => catalogue.illustrate_spot(),
        Spot::History => cloud.spot_prices(as_of).await?.fill(&mut catalogue),
    }
    Ok(catalogue)
}

impl Cloud {
    /// All types that are offered in the Region, that a node can run on, and that `published` has a price for; without
    /// Spot prices.
    pub async fn instance_types(
        &self,
        published: &Published,
        as_of: Timestamp,
    ) -> Result<Ec2Catalogue, CloudError> {
        let offered = offerings(&self.ec2).await?;
        let mut catalogue = Ec2Catalogue {
            region: self.region().to_owned(),
            zones: zones(&self.ec2).await?,
            types: types(&self.ec2, published).await?,
            spot_illustrative: false,
            as_of,
        };
        for kind in &mut catalogue.types {
            let zones = offered.get(&kind.name).into_iter().flatten();
            kind.zones = zones.map(|zone| (zone.clone(), None)).collect();
        }
        catalogue.types.retain(|kind| !kind.zones.is_empty() && kind.on_demand.is_some());
        if catalogue.types.is_empty() || catalogue.zones.is_empty() {
            return Err(CloudError::Empty { operation: "DescribeInstanceTypes", region: catalogue.region });
        }
        catalogue.sort();
        Ok(catalogue)
    }
}

/// The same for callers that have no runtime of their own.
pub fn refresh_blocking(options: RefreshOptions) -> Result<Ec2Catalogue, CloudError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(CloudError::Runtime)?.block_on(refresh(options))
}

async fn types(client: &Client, published: &Published) -> Result<Vec<catalog::Ec2Type>, CloudError> {
    let failed = failed("DescribeInstanceTypes");
    let mut pages = client
        .describe_instance_types()
        .filters(filter("supported-virtualization-type", ["hvm"]))
        .into_paginator()
        .page_size(100)
        .send();
    let mut out = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.map_err(&failed)?;
        let read = page.instance_types().iter().filter_map(|info| read::instance_type(info, published));
        // Ours to tell: emulators match this filter against the list as a whole.
        let runs = |name: &String| ARCHITECTURES.contains(&name.as_str());
        out.extend(read.filter(|kind| kind.architectures.iter().any(runs)));
    }
    Ok(out)
}

async fn offerings(client: &Client) -> Result<BTreeMap<String, Vec<String>>, CloudError> {
    let failed = failed("DescribeInstanceTypeOfferings");
    let request = client.describe_instance_type_offerings().location_type(LocationType::AvailabilityZone);
    let mut pages = request.into_paginator().page_size(1000).send();
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    while let Some(page) = pages.next().await {
        for offering in page.map_err(&failed)?.instance_type_offerings() {
            if let (Some(kind), Some(zone)) = (offering.instance_type(), offering.location()) {
                out.entry(kind.as_str().to_owned()).or_default().push(zone.to_owned());
            }
        }
    }
    Ok(out)
}

async fn zones(client: &Client) -> Result<Vec<Zone>, CloudError> {
    let failed = failed("DescribeAvailabilityZones");
    let answer = client.describe_availability_zones().send().await.map_err(&failed)?;
    let zones = answer.availability_zones().iter();
    // Local and Wavelength Zones have subnets only where someone has asked for them.
    let zones = zones.filter(|zone| zone.zone_type().is_none_or(|kind| kind == "availability-zone"));
    let named = zones.filter_map(|zone| {
        Some(Zone { name: zone.zone_name()?.to_owned(), id: zone.zone_id().unwrap_or_default().to_owned() })
    });
    Ok(named.collect())
}
