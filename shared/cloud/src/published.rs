//! What is public about EC2 instance types but not in EC2's answers: prices, bandwidth, limits of the VPC.

use std::collections::BTreeMap;

use catalog::Ec2Catalogue;
use model::MicroUsd;
use serde::Deserialize;

use crate::CloudError;

/// The file that `tests/generators/prices` makes, read.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Published {
    /// The Region the prices are of.
    pub region: String,
    /// Instance type to the price of an hour of Linux on demand.
    pub on_demand: BTreeMap<String, MicroUsd>,
    /// Instance type to baseline Mbit/s.
    pub network_mbps: BTreeMap<String, u32>,
    /// Instance type to its limits in a VPC.
    pub vpc: BTreeMap<String, VpcLimits>,
}

/// What one type may have in a VPC.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct VpcLimits {
    /// IPv4 addresses an interface.
    #[serde(rename = "ipv4PerInterface")]
    pub ipv4_per_interface: u16,
    /// Branch interfaces in all.
    pub branch_interfaces: u16,
    /// Whether it can have any.
    pub trunking: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    region: String,
    on_demand_usd_per_hour: BTreeMap<String, serde_json::Number>,
    network_mbps: BTreeMap<String, u32>,
    vpc: BTreeMap<String, VpcLimits>,
}

impl Published {
    /// Reads the file's text.
    pub fn read(text: &str) -> Result<Self, CloudError> {
        let file: File = serde_json::from_str(text).map_err(CloudError::Published)?;
        let mut on_demand = BTreeMap::new();
        for (name, price) in file.on_demand_usd_per_hour {
            match price.to_string().parse() {
                Ok(MicroUsd(0)) => {}
                Ok(price) => drop(on_demand.insert(name, price)),
                Err(cause) => return Err(CloudError::Price { name, cause }),
            }
        }
        Ok(Self { region: file.region, on_demand, network_mbps: file.network_mbps, vpc: file.vpc })
    }

    /// The same facts out of a catalogue, for another Region: but for the prices they are the same in all.
    pub fn of_catalogue(catalogue: &Ec2Catalogue, region: &str) -> Self {
        let types = || catalogue.types.iter();
        let vpc = types().filter_map(|kind| {
            let limits = VpcLimits {
                ipv4_per_interface: kind.windows_ipv4?,
                branch_interfaces: kind.pod_enis,
                trunking: kind.pod_enis > 0,
            };
            Some((kind.name.clone(), limits))
        });
        let prices = types().filter(|_| catalogue.region == region);
        Self {
            region: region.to_owned(),
            on_demand: prices.filter_map(|kind| Some((kind.name.clone(), kind.on_demand?))).collect(),
            network_mbps: types().filter_map(|kind| Some((kind.name.clone(), kind.network_mbps?))).collect(),
            vpc: vpc.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(price: &str) -> Result<Published, CloudError> {
        Published::read(&format!(
            r#"{{"source": "s", "region": "r", "onDemandUsdPerHour": {{"m.large": {price}}},
            "networkMbps": {{"m.large": 750}},
            "vpc": {{"m.large": {{"ipv4PerInterface": 10, "branchInterfaces": 9, "trunking": true}}}}}}"#
        ))
    }

    #[test]
    fn prices_keep_every_digit_and_zero_is_none() {
        for (text, price) in
            [("0.096000", Some(96_000)), ("0.025501", Some(25_501)), ("4", Some(4_000_000)), ("0.0", None)]
        {
            let read = read(text).unwrap();
            assert_eq!(read.on_demand.get("m.large").copied(), price.map(MicroUsd), "{text}");
            assert_eq!(read.vpc["m.large"].branch_interfaces, 9);
        }
    }

    #[test]
    fn other_files_are_refused_by_name() {
        assert!(matches!(Published::read("{}"), Err(CloudError::Published(_))));
        assert!(matches!(read("\"free\""), Err(CloudError::Published(_))));
        assert!(matches!(read("-0.5"), Err(CloudError::Price { name, .. }) if name == "m.large"));
    }

    #[test]
    fn a_catalogue_tells_what_it_was_made_from() {
        let catalogue = catalog::embedded().unwrap();
        let here = Published::of_catalogue(&catalogue, "us-east-1");
        assert_eq!(here.on_demand.get("m5.large"), Some(&MicroUsd(96_000)));
        assert_eq!(here.network_mbps.get("m5.large"), Some(&750));
        let limits = VpcLimits { ipv4_per_interface: 10, branch_interfaces: 9, trunking: true };
        assert_eq!(here.vpc.get("m5.large"), Some(&limits));
        let there = Published::of_catalogue(&catalogue, "eu-west-1");
        assert!(there.on_demand.is_empty(), "prices are another Region's");
        assert_eq!((there.vpc, there.network_mbps), (here.vpc, here.network_mbps));
    }
}
