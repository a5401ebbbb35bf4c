//! Launch templates that nothing uses any more.

use aws_sdk_ec2::types::LaunchTemplate;
use jiff::{SignedDuration, Timestamp};
use model::labels;

use super::tags::CLUSTER_NAME;
use crate::client::failed;
use crate::filters::filter;
use crate::{Cloud, CloudError};

/// How our templates' names begin.
const PREFIX: &str = "journeyman.dev/";

impl Cloud {
    /// The cluster's launch templates, perhaps only those of one class, with when each was made.
    pub async fn launch_templates(
        &self,
        cluster: &str,
        class: Option<&str>,
    ) -> Result<Vec<(String, Timestamp)>, CloudError> {
        let request = self.ec2.describe_launch_templates().max_results(200);
        let mut request = request.filters(filter(&format!("tag:{CLUSTER_NAME}"), [cluster]));
        if let Some(class) = class {
            request = request.filters(filter(&format!("tag:{}", labels::EC2_NODE_CLASS), [class]));
        }
        let mut pages = request.into_paginator().send();
        let mut found = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("DescribeLaunchTemplates"))?;
            let read = |template: &LaunchTemplate| {
                let made = Timestamp::from_second(template.create_time()?.secs()).ok()?;
                Some((template.launch_template_name()?.to_owned(), made))
            };
            found.extend(page.launch_templates().iter().filter_map(read));
        }
        found.retain(|(name, _)| name.starts_with(PREFIX));
        Ok(found)
    }

    /// Deletes those that are at least so old, and says which. One that is still wanted is made again by the next
    /// launch; machines don't need theirs once they are started.
    pub async fn delete_launch_templates(
        &self,
        cluster: &str,
        class: Option<&str>,
        now: Timestamp,
        age: SignedDuration,
    ) -> Result<Vec<String>, CloudError> {
        let found = self.launch_templates(cluster, class).await?;
        let old = found.into_iter().filter(|(_, made)| now.duration_since(*made) >= age);
        let old: Vec<String> = old.map(|(name, _)| name).collect();
        for name in &old {
            self.known_templates().remove(name);
            let request = self.ec2.delete_launch_template().launch_template_name(name);
            match request.send().await.map_err(failed("DeleteLaunchTemplate")) {
                Ok(_) => {}
                Err(error) if error.is_not_found() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(old)
    }
}
