//! Subnets and security groups.

use std::collections::BTreeMap;

use api::crd::{SecurityGroup, SecurityGroupSelectorTerm, SubnetSelectorTerm};
use aws_sdk_ec2::types::Filter;

use crate::client::failed;
use crate::filters::{filter, tag_filters};
use crate::launch::FreeSubnet;
use crate::{Cloud, CloudError};

impl Cloud {
    /// The subnets that any term selects, those with most free addresses first.
    pub async fn subnets(&self, terms: &[SubnetSelectorTerm]) -> Result<Vec<FreeSubnet>, CloudError> {
        let ids: Vec<&str> = terms.iter().filter_map(|term| term.id.as_deref()).collect();
        let mut queries: Vec<Vec<Filter>> =
            terms.iter().filter(|term| term.id.is_none()).map(|term| tag_filters(&term.tags)).collect();
        if !ids.is_empty() {
            queries.push(vec![filter("subnet-id", ids)]);
        }
        let mut found: BTreeMap<String, FreeSubnet> = BTreeMap::new();
        for filters in queries {
            let request = self.ec2.describe_subnets().set_filters(Some(filters));
            let mut pages = request.max_results(500).into_paginator().send();
            while let Some(page) = pages.next().await {
                let page = page.map_err(failed("DescribeSubnets"))?;
                found.extend(
                    page.subnets().iter().filter_map(subnet).map(|subnet| (subnet.id.clone(), subnet)),
                );
            }
        }
        let mut found: Vec<FreeSubnet> = found.into_values().collect();
        found.sort_by(|one, two| two.free.cmp(&one.free).then_with(|| one.id.cmp(&two.id)));
        Ok(found)
    }

    /// Subnets by id: for how many addresses they have left now.
    pub async fn subnets_by_id(&self, ids: &[String]) -> Result<Vec<FreeSubnet>, CloudError> {
        let term = |id: &String| SubnetSelectorTerm { id: Some(id.clone()), ..SubnetSelectorTerm::default() };
        self.subnets(&ids.iter().map(term).collect::<Vec<_>>()).await
    }

    /// The security groups that any term selects, by id.
    pub async fn security_groups(
        &self,
        terms: &[SecurityGroupSelectorTerm],
    ) -> Result<Vec<SecurityGroup>, CloudError> {
        let (mut ids, mut names, mut queries) = (Vec::new(), Vec::new(), Vec::new());
        for term in terms {
            match (&term.id, &term.name) {
                (Some(id), _) => ids.push(id.as_str()),
                (None, Some(name)) => names.push(name.as_str()),
                (None, None) => queries.push(tag_filters(&term.tags)),
            }
        }
        for (key, values) in [("group-id", ids), ("group-name", names)] {
            if !values.is_empty() {
                queries.push(vec![filter(key, values)]);
            }
        }
        let mut found: BTreeMap<String, SecurityGroup> = BTreeMap::new();
        for filters in queries {
            let request = self.ec2.describe_security_groups().set_filters(Some(filters));
            let mut pages = request.max_results(500).into_paginator().send();
            while let Some(page) = pages.next().await {
                for group in page.map_err(failed("DescribeSecurityGroups"))?.security_groups() {
                    let Some(id) = group.group_id() else { continue };
                    let name = group.group_name().map(str::to_owned);
                    found.insert(id.to_owned(), SecurityGroup { id: id.to_owned(), name });
                }
            }
        }
        Ok(found.into_values().collect())
    }
}

fn subnet(found: &aws_sdk_ec2::types::Subnet) -> Option<FreeSubnet> {
    Some(FreeSubnet {
        id: found.subnet_id()?.to_owned(),
        zone: found.availability_zone()?.to_owned(),
        zone_id: found.availability_zone_id().map(str::to_owned),
        free: found.available_ip_address_count().and_then(|count| count.try_into().ok()).unwrap_or(0),
    })
}
