//! Launch templates that nothing uses any more.

use aws_sdk_ec2::types::LaunchTemplate;
use jiff::{SignedDuration, Timestamp};

use super::tags::CLUSTER_NAME;
use crate::client::failed;
use crate::filters::filter;
use crate::{Cloud, CloudError};

/// How our templates' names begin.
const PREFIX: &str = "journeyman.dev/";

impl Cloud {
    /// Deletes the cluster's launch templates that are older than `age`, and says which. One that is still wanted is
    /// made again by the next launch; machines don't need theirs once they are started.
    pub async fn delete_launch_templates(
        &self,
        cluster: &str,
        now: Timestamp,
        age: SignedDuration,
    ) -> Result<Vec<String>, CloudError> {
        let ours = filter(&format!("tag:{CLUSTER_NAME}"), [cluster]);
        let mut pages =
            self.ec2.describe_launch_templates().filters(ours).max_results(200).into_paginator().send();
        let mut old = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("DescribeLaunchTemplates"))?;
            let due = |template: &&LaunchTemplate| {
                let made = template.create_time().and_then(|at| Timestamp::from_second(at.secs()).ok());
                made.is_some_and(|made| now.duration_since(made) > age)
            };
            let due = page.launch_templates().iter().filter(due);
            old.extend(due.filter_map(|template| template.launch_template_name()).map(str::to_owned));
        }
        old.retain(|name| name.starts_with(PREFIX));
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
