//! Instance profiles: what gives a machine its role.

use std::collections::BTreeMap;

use aws_sdk_iam::types::Tag;
use model::labels;

use crate::client::failed;
use crate::launch::{CLUSTER_NAME, cluster_owned, content_hash};
use crate::{Cloud, CloudError};

/// The instance profile that a class with a role has.
#[derive(Clone, Copy, Debug)]
pub struct ProfileSpec<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The class's name.
    pub class: &'a str,
    /// The class's uid: a namesake made later is another class.
    pub class_uid: &'a str,
    /// The role, by name or with its path.
    pub role: &'a str,
    /// The class's tags.
    pub tags: &'a BTreeMap<String, String>,
}

impl ProfileSpec<'_> {
    /// The profile's name. Another role has another profile: machines that run keep theirs.
    pub fn name(&self, region: &str) -> String {
        let hash = content_hash(&format!("{region}\n{}\n{}", self.class_uid, role_name(self.role)));
        format!("{}_{}", self.cluster, &hash[..20])
    }
}

/// A role's name without its path.
fn role_name(role: &str) -> &str {
    role.rsplit('/').next().unwrap_or(role)
}

/// The path below which a cluster's profiles are.
fn cluster_path(region: &str, cluster: &str) -> String {
    format!("/karpenter/{region}/{cluster}/")
}

impl Cloud {
    /// Sees to it that the profile is there and has the role, and gives its name.
    pub async fn ensure_instance_profile(&self, spec: &ProfileSpec<'_>) -> Result<String, CloudError> {
        let name = spec.name(self.region());
        let role = role_name(spec.role);
        let attached = match self.instance_profile_role(&name).await {
            Err(error) if error.is_not_found() => {
                self.create_instance_profile(spec, &name).await?;
                None
            }
            attached => attached?,
        };
        if attached.as_deref() == Some(role) {
            return Ok(name);
        }
        if let Some(other) = attached {
            self.remove_role(&name, &other).await?;
        }
        let request = self.iam.add_role_to_instance_profile().instance_profile_name(&name).role_name(role);
        match request.send().await.map_err(failed("AddRoleToInstanceProfile")) {
            Ok(_) => Ok(name),
            Err(error) => {
                // A profile without a role is good for nothing, and would look ready.
                self.delete_instance_profile(&name).await?;
                Err(error)
            }
        }
    }

    async fn create_instance_profile(&self, spec: &ProfileSpec<'_>, name: &str) -> Result<(), CloudError> {
        let mut tags = spec.tags.clone();
        tags.insert(cluster_owned(spec.cluster), "owned".to_owned());
        tags.insert(CLUSTER_NAME.to_owned(), spec.cluster.to_owned());
        tags.insert(labels::EC2_NODE_CLASS.to_owned(), spec.class.to_owned());
        tags.insert(labels::REGION.to_owned(), self.region().to_owned());
        let tags: Result<Vec<Tag>, _> =
            tags.into_iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
        let operation = "CreateInstanceProfile";
        let tags = tags.map_err(|error| CloudError::Request {
            operation,
            code: String::new(),
            message: error.to_string(),
        })?;
        let path = format!("{}{}/", cluster_path(self.region(), spec.cluster), spec.class_uid);
        let request = self.iam.create_instance_profile().instance_profile_name(name).path(path);
        match request.set_tags(Some(tags)).send().await.map_err(failed(operation)) {
            Ok(_) => Ok(()),
            Err(error) if error.code() == "EntityAlreadyExists" => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The role of a profile, if it has one.
    pub async fn instance_profile_role(&self, name: &str) -> Result<Option<String>, CloudError> {
        let request = self.iam.get_instance_profile().instance_profile_name(name);
        let answer = request.send().await.map_err(failed("GetInstanceProfile"))?;
        let role = answer.instance_profile().and_then(|profile| profile.roles().first());
        Ok(role.map(|role| role.role_name().to_owned()))
    }

    /// Deletes the profiles that were made for a class, whatever roles it has had.
    pub async fn delete_instance_profiles(&self, cluster: &str, class_uid: &str) -> Result<(), CloudError> {
        for name in self.instance_profiles(cluster, class_uid).await? {
            self.delete_instance_profile(&name).await?;
        }
        Ok(())
    }

    /// Names of the profiles that were made for a class.
    async fn instance_profiles(&self, cluster: &str, class_uid: &str) -> Result<Vec<String>, CloudError> {
        let path = format!("{}{class_uid}/", cluster_path(self.region(), cluster));
        let mut pages = self.iam.list_instance_profiles().path_prefix(path).into_paginator().send();
        let mut out = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("ListInstanceProfiles"))?;
            out.extend(page.instance_profiles().iter().map(|found| found.instance_profile_name().to_owned()));
        }
        Ok(out)
    }

    /// Deletes a profile; one that is gone is as good as deleted.
    pub async fn delete_instance_profile(&self, name: &str) -> Result<(), CloudError> {
        let role = match self.instance_profile_role(name).await {
            Err(error) if error.is_not_found() => return Ok(()),
            role => role?,
        };
        if let Some(role) = role {
            self.remove_role(name, &role).await?;
        }
        let request = self.iam.delete_instance_profile().instance_profile_name(name);
        match request.send().await.map_err(failed("DeleteInstanceProfile")) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }

    async fn remove_role(&self, profile: &str, role: &str) -> Result<(), CloudError> {
        let request =
            self.iam.remove_role_from_instance_profile().instance_profile_name(profile).role_name(role);
        match request.send().await.map_err(failed("RemoveRoleFromInstanceProfile")) {
            Err(error) if !error.is_not_found() => Err(error),
            _ => Ok(()),
        }
    }
}
