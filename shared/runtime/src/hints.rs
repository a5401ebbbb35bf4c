//! How functions wake each other: by queues, or, where all run in one process, by a list.

use std::sync::Arc;

use cloud::Cloud;
use cloud::bus::{Event, Message};
use jiff::{SignedDuration, Timestamp};
use tokio::sync::mpsc::UnboundedSender;

use crate::config::Config;
use crate::error::RunError;
use crate::message::{Tend, Wake};

/// What domain events come from.
pub(crate) const SOURCE: &str = "journeyman";

/// A hint on its way.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Hint {
    /// Pending pods want to be looked at.
    Wake(Wake),
    /// NodeClaims want to be looked after, at this time.
    Tend(Tend, Timestamp),
    /// Statuses want to be written anew.
    Refresh(Wake),
}

/// Where hints go. Without a queue they are dropped: the schedule finds what they would have told.
#[derive(Clone, Debug)]
pub struct Hints(Way);

#[derive(Clone, Debug)]
enum Way {
    Queues { wake: Option<String>, lifecycle: Option<String>, bus: Option<String> },
    Local(Arc<UnboundedSender<Hint>>),
}

impl Hints {
    /// By the queues and the bus of a deployment.
    pub fn over_queues(config: &Config) -> Self {
        let (wake, lifecycle) = (config.wake_queue.clone(), config.lifecycle_queue.clone());
        Self(Way::Queues { wake, lifecycle, bus: config.event_bus.clone() })
    }

    /// To a receiver in this process.
    pub fn local(sender: UnboundedSender<Hint>) -> Self {
        Self(Way::Local(Arc::new(sender)))
    }

    /// Has pending pods looked at.
    pub(crate) async fn wake(&self, cloud: &Cloud, wake: Wake) -> Result<(), RunError> {
        match &self.0 {
            Way::Queues { wake: None, .. } => {}
            Way::Queues { wake: Some(queue), .. } => {
                let group = Some(wake.cluster.clone());
                // What is said twice within five minutes would be dropped, so no two are the same.
                let deduplication = Some(format!("{}-{}", wake.cluster, Timestamp::now().as_nanosecond()));
                let body = serde_json::to_string(&wake).unwrap_or_default();
                cloud
                    .send(queue, &[Message { body, delay: SignedDuration::ZERO, group, deduplication }])
                    .await?;
            }
            Way::Local(sender) => drop(sender.send(Hint::Wake(wake))),
        }
        Ok(())
    }

    /// Has NodeClaims looked after, after a while.
    pub(crate) async fn tend(
        &self,
        cloud: &Cloud,
        tend: Tend,
        after: SignedDuration,
    ) -> Result<(), RunError> {
        match &self.0 {
            Way::Queues { lifecycle: None, .. } => {}
            Way::Queues { lifecycle: Some(queue), .. } => {
                let body = serde_json::to_string(&tend).unwrap_or_default();
                cloud
                    .send(queue, &[Message { body, delay: after, group: None, deduplication: None }])
                    .await?;
            }
            Way::Local(sender) => drop(sender.send(Hint::Tend(tend, Timestamp::now() + after))),
        }
        Ok(())
    }

    /// Has statuses written: by an event, for `catalog` has no queue.
    pub(crate) async fn refresh(&self, cloud: &Cloud, wake: Wake) -> Result<(), RunError> {
        match &self.0 {
            Way::Queues { bus: None, .. } => {}
            Way::Queues { bus: Some(bus), .. } => {
                let detail = serde_json::to_value(&wake).unwrap_or_default();
                let detail_type = "journeyman.refresh".to_owned();
                cloud.publish(bus, SOURCE, &[Event { detail_type, detail, resources: Vec::new() }]).await?;
            }
            Way::Local(sender) => drop(sender.send(Hint::Refresh(wake))),
        }
        Ok(())
    }
}
