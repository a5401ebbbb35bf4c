//! EC2NodeClasses that were asked to go.

use api::crd::{Ec2NodeClass, Ec2NodeClassStatus};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use model::LeavingClass;

use super::marks;
use crate::error::RunError;
use crate::world::World;

/// A class that was asked to go and is held; any other is none.
pub(super) fn leaving(class: &Ec2NodeClass) -> Option<LeavingClass> {
    class.metadata.deletion_timestamp.as_ref().filter(|_| marks::is_held(class))?;
    Some(LeavingClass { name: class.metadata.name.clone()?, uid: class.metadata.uid.clone()? })
}

/// What its NodePools are told of it: the object's own status is of no use any more, and stays.
pub(super) fn status(class: &str, now: Timestamp) -> Ec2NodeClassStatus {
    let ready = Condition {
        type_: "Ready".to_owned(),
        status: "False".to_owned(),
        reason: "NodeClassTerminating".to_owned(),
        message: format!("EC2NodeClass {class} is being deleted"),
        last_transition_time: Time(now),
        observed_generation: None,
    };
    Ec2NodeClassStatus { conditions: vec![ready], ..Ec2NodeClassStatus::default() }
}

impl World {
    /// Lets a class go if nothing is left of it; what is in the way is asked again with the next refresh.
    pub(super) async fn let_go(&mut self, name: &str, class: &LeavingClass) -> Result<(), RunError> {
        let claims = self.site(name).await?.cluster.claims().await?;
        let templates = self.cloud.launch_templates(name, Some(&class.name)).await?;
        match planner::release(class, &claims, templates.len()) {
            Some(release) => self.act(name, &[release]).await?.check(),
            None => Ok(()),
        }
    }

    /// Deletes what was made for a class, then lets it vanish.
    pub(crate) async fn release_class(&self, name: &str, class: &str, uid: &str) -> Result<(), RunError> {
        // Where there is no way to IAM none was made.
        if !self.config.isolated_vpc {
            self.cloud.delete_instance_profiles(name, uid).await?;
        }
        if let Some(site) = self.sites.get(name) {
            let released = site.cluster.release_node_class(class, uid).await;
            released.map_err(|refused| RunError::Refused { count: 1, first: refused.to_string() })?;
        }
        Ok(())
    }
}
