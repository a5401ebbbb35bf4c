//! EKS clusters: how they are reached.

use std::net::IpAddr;

use crate::client::failed;
use crate::user_data::{EksCluster, IpFamily};
use crate::{Cloud, CloudError};

/// What EKS knows of a cluster.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EksFacts {
    /// How it is reached.
    pub cluster: EksCluster,
    /// Its Kubernetes version, such as `1.35`.
    pub kubernetes: String,
}

impl Cloud {
    /// A cluster by its name.
    pub async fn cluster(&self, name: &str) -> Result<EksFacts, CloudError> {
        let operation = "DescribeCluster";
        let answer = self.eks.describe_cluster().name(name).send().await.map_err(failed(operation))?;
        let empty = || CloudError::Empty { operation, region: self.region().to_owned() };
        let found = answer.cluster().ok_or_else(empty)?;
        let network = found.kubernetes_network_config();
        let v6 = network.and_then(|network| network.service_ipv6_cidr());
        let v4 = network.and_then(|network| network.service_ipv4_cidr());
        Ok(EksFacts {
            cluster: EksCluster {
                name: name.to_owned(),
                endpoint: found.endpoint().ok_or_else(empty)?.to_owned(),
                certificate_authority: found
                    .certificate_authority()
                    .and_then(|authority| authority.data())
                    .ok_or_else(empty)?
                    .to_owned(),
                service_cidr: v6.or(v4).map(str::to_owned),
                dns: v6.or(v4).and_then(dns),
                ip_family: if v6.is_some() { IpFamily::Ipv6 } else { IpFamily::Ipv4 },
            },
            kubernetes: found.version().unwrap_or_default().to_owned(),
        })
    }
}

/// Where a cluster's DNS is: EKS gives it the tenth address for services.
fn dns(services: &str) -> Option<IpAddr> {
    match services.split_once('/')?.0.parse().ok()? {
        IpAddr::V4(first) => Some(IpAddr::V4((u32::from(first).checked_add(10)?).into())),
        IpAddr::V6(first) => Some(IpAddr::V6((u128::from(first).checked_add(10)?).into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dns_is_the_tenth_address_for_services() {
        for (services, expected) in [
            ("10.100.0.0/16", Some("10.100.0.10")),
            ("172.20.0.0/16", Some("172.20.0.10")),
            ("fd30:1c53:5f8a::/108", Some("fd30:1c53:5f8a::a")),
            ("10.100.0.0", None),
            ("", None),
        ] {
            assert_eq!(dns(services), expected.map(|address| address.parse().unwrap()), "{services}");
        }
    }
}
