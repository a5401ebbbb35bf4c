//! Asking EC2 and SSM for images.

use std::collections::BTreeMap;

use api::crd::{Ami, AmiSelectorTerm};
use aws_sdk_ec2::types::{ArchitectureValues, Filter, ImageState};
use jiff::Timestamp;

use super::alias::{Alias, PUBLIC_PREFIX, Parameter, Variant, parameters};
use super::choose::{Image, choose};
use crate::client::failed;
use crate::filters::{filter, tag_filters};
use crate::{Cloud, CloudError};

/// SSM answers no more names at once.
const PARAMETERS_A_CALL: usize = 10;

/// What decides which images there are, beside the terms.
#[derive(Clone, Copy, Debug)]
pub struct ImageContext<'a> {
    /// The cluster's Kubernetes version, such as `1.35`.
    pub kubernetes: &'a str,
    /// Where public parameters lie; without it, where AWS keeps them.
    pub parameter_prefix: Option<&'a str>,
    /// Images whose deprecation is before this are deprecated.
    pub now: Timestamp,
}

impl Cloud {
    /// The images that any term selects: one for each set of requirements, newest first.
    pub async fn images(
        &self,
        terms: &[AmiSelectorTerm],
        context: ImageContext<'_>,
    ) -> Result<Vec<Ami>, CloudError> {
        let mut found = Vec::new();
        let mut ids: Vec<String> = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for term in terms {
            if let Some(alias) = term.alias.as_deref().and_then(Alias::read) {
                found.extend(self.images_of_alias(&alias, context).await?);
            } else if let Some(id) = &term.id {
                ids.push(id.clone());
            } else if let Some(parameter) = &term.ssm_parameter {
                names.push(parameter.clone());
            } else {
                let mut filters = tag_filters(&term.tags);
                filters.extend(term.name.as_ref().map(|name| filter("name", [name.as_str()])));
                let owners: Vec<String> = match (&term.owner, &term.name) {
                    (Some(owner), _) => vec![owner.clone()],
                    (None, Some(_)) => vec!["self".to_owned(), "amazon".to_owned()],
                    (None, None) => Vec::new(),
                };
                found.extend(self.describe_images(filters, owners, context.now).await?);
            }
        }
        // A parameter of the user's own may hold anything: what is no image selects nothing.
        let values = self.parameters(&names).await?;
        ids.extend(values.into_values().filter(|value| value.starts_with("ami-")));
        if !ids.is_empty() {
            let wanted = filter("image-id", ids.iter().map(String::as_str));
            found.extend(self.describe_images(vec![wanted], Vec::new(), context.now).await?);
        }
        Ok(choose(found))
    }

    async fn images_of_alias(
        &self,
        alias: &Alias,
        context: ImageContext<'_>,
    ) -> Result<Vec<Image>, CloudError> {
        let prefix = context.parameter_prefix.unwrap_or(PUBLIC_PREFIX);
        let parameters = parameters(alias, context.kubernetes, prefix);
        let names: Vec<String> = parameters.iter().map(|parameter| parameter.name.clone()).collect();
        let values = self.parameters(&names).await?;
        let mut variants: BTreeMap<&str, Vec<Variant>> = BTreeMap::new();
        for Parameter { name, variants: suits } in &parameters {
            if let Some(id) = values.get(name) {
                variants.entry(id).or_default().extend(suits);
            }
        }
        if variants.is_empty() {
            // AWS keeps some for every version it serves: that there is none says something about where we asked.
            return Err(CloudError::NoImages {
                family: alias.family.as_str(),
                version: alias.version.clone(),
                kubernetes: context.kubernetes.to_owned(),
            });
        }
        let wanted = filter("image-id", variants.keys().copied());
        let mut images = self.describe_images(vec![wanted], Vec::new(), context.now).await?;
        let build = alias.family.windows_build();
        for image in &mut images {
            image.variants = variants.remove(image.id.as_str()).unwrap_or_default();
            image.windows_build = build.map(str::to_owned);
        }
        Ok(images)
    }

    /// The values of SSM parameters by name; those that don't exist are left out.
    pub async fn parameters(&self, names: &[String]) -> Result<BTreeMap<String, String>, CloudError> {
        let mut out = BTreeMap::new();
        for some in names.chunks(PARAMETERS_A_CALL) {
            let request = self.ssm.get_parameters().set_names(Some(some.to_vec()));
            let answer = request.send().await.map_err(failed("GetParameters"))?;
            for parameter in answer.parameters() {
                // One that was asked for by ARN is answered by name.
                let asked = some.iter().find(|asked| {
                    parameter.name() == Some(asked.as_str()) || parameter.arn() == Some(asked.as_str())
                });
                if let Some((name, value)) = asked.zip(parameter.value()) {
                    out.insert(name.clone(), value.to_owned());
                }
            }
        }
        Ok(out)
    }

    async fn describe_images(
        &self,
        mut filters: Vec<Filter>,
        owners: Vec<String>,
        now: Timestamp,
    ) -> Result<Vec<Image>, CloudError> {
        filters.push(filter("state", [ImageState::Available.as_str()]));
        let owners = if owners.is_empty() { None } else { Some(owners) };
        let request =
            self.ec2.describe_images().set_filters(Some(filters)).set_owners(owners).include_deprecated(true);
        let mut pages = request.max_results(1000).into_paginator().send();
        let mut out = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("DescribeImages"))?;
            out.extend(page.images().iter().filter_map(|image| read(image, now)));
        }
        Ok(out)
    }
}

fn read(image: &aws_sdk_ec2::types::Image, now: Timestamp) -> Option<Image> {
    let ends = image.deprecation_time().and_then(|text| text.parse::<Timestamp>().ok());
    Some(Image {
        id: image.image_id()?.to_owned(),
        name: image.name().unwrap_or_default().to_owned(),
        created: image.creation_date().unwrap_or_default().to_owned(),
        deprecated: ends.is_some_and(|ends| ends < now),
        available: image.state() == Some(&ImageState::Available),
        architecture: match image.architecture() {
            Some(ArchitectureValues::X8664) => "amd64".to_owned(),
            Some(ArchitectureValues::Arm64) => "arm64".to_owned(),
            _ => String::new(),
        },
        variants: Vec::new(),
        windows_build: None,
    })
}
