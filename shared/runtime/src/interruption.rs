//! What EventBridge and EC2 tell of instances becomes tainted nodes, NodeClaims that go, and room asked for.

use std::collections::BTreeSet;

use cloud::instance_id;
use cloud::messages::{InstanceStatus, MAX_AGE, Message, Parsed, Scope, read_status};
use jiff::Timestamp;
use model::{Claim, ClaimNode, InterruptionSnapshot, Notice};

use crate::counted::snake_case;
use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;

impl World {
    /// Handles one message. One that is not for us is counted, and does not come back.
    pub async fn interrupt(&mut self, body: &str, _deadline: Deadline) -> Result<(), RunError> {
        let result = self.hear(body).await;
        self.flush();
        result
    }

    async fn hear(&mut self, body: &str) -> Result<(), RunError> {
        let scope = self.scope();
        match scope.read(body) {
            Parsed::Ignored(ignored) => {
                let labels = [("message_type", ignored.as_str())];
                self.metrics.count("karpenter_interruption_received_messages_total", &labels, 1);
                tracing::info!(%ignored, "message ignored");
                Ok(())
            }
            Parsed::Message(message) => {
                let labels = [("message_type", message.kind.as_str())];
                self.metrics.count("karpenter_interruption_received_messages_total", &labels, 1);
                let waited = scope.now.duration_since(message.time).as_secs_f64();
                self.announce(&message, waited).await
            }
        }
    }

    fn scope(&self) -> Scope {
        Scope {
            account: None,
            region: Some(self.config.region.clone()),
            now: Timestamp::now(),
            max_age: MAX_AGE,
        }
    }

    /// Tells the clusters whose machines it is about. How long it was under way is measured only if there is one.
    async fn announce(&mut self, message: &Message, waited: f64) -> Result<(), RunError> {
        let notice = message.notice();
        let mut waited = Some(waited);
        for name in self.clusters() {
            let site = self.site(&name).await?;
            let (claims, nodes) = site.index.by_instance_ids(&notice.instances).await?;
            if claims.is_empty() && nodes.is_empty() {
                continue;
            }
            if let Some(waited) = waited.take() {
                self.metrics.seconds("karpenter_interruption_message_queue_duration_seconds", &[], waited);
            }
            let heeded = match self.announced(&name, vec![notice.clone()], claims, nodes).await {
                Ok(snapshot) => self.heed(&name, snapshot).await,
                Err(error) => Err(error),
            };
            self.suspend(&name);
            heeded?;
        }
        Ok(())
    }

    /// Asks EC2 what no event tells: which of these NodeClaims' machines fail their checks, and which have something
    /// planned.
    pub(crate) async fn look_at_statuses(
        &mut self,
        name: &str,
        claims: Vec<Claim>,
        nodes: Vec<ClaimNode>,
    ) -> Result<(), RunError> {
        if claims.iter().all(|claim| claim.provider_id.is_none()) {
            return Ok(());
        }
        let notices = match self.cloud.statuses().await {
            Ok(statuses) => notices(&self.scope(), &statuses, &claims),
            Err(error) => {
                // The rest of the look is worth more than this second source.
                self.metrics.count("instance_status_failures_total", &[("cluster", name)], 1);
                tracing::warn!(%error, "the statuses of machines are not known");
                return Ok(());
            }
        };
        if notices.is_empty() {
            return Ok(());
        }
        let snapshot = self.announced(name, notices, claims, nodes).await?;
        for (reason, machines) in planner::endings(&snapshot) {
            // AWS Health has another word for what is planned.
            let category = if reason == "ScheduledChange" { "event_status" } else { &snake_case(reason) };
            let labels = [("cluster", name), ("category", category)];
            self.metrics.count("karpenter_interruption_instance_status_unhealthy_total", &labels, machines);
        }
        self.heed(name, snapshot).await
    }

    /// What a decision about announcements is taken from.
    async fn announced(
        &mut self,
        name: &str,
        notices: Vec<Notice>,
        claims: Vec<Claim>,
        nodes: Vec<ClaimNode>,
    ) -> Result<InterruptionSnapshot, RunError> {
        let pools = self.site(name).await?.cluster.pool_annotations().await?;
        let rebalancing_pools = InterruptionSnapshot::rebalancing(&pools);
        Ok(InterruptionSnapshot { now: Timestamp::now(), notices, claims, nodes, rebalancing_pools })
    }

    /// Does what follows from announcements about a cluster's machines.
    async fn heed(&mut self, name: &str, snapshot: InterruptionSnapshot) -> Result<(), RunError> {
        let care = planner::interrupt(&snapshot);
        self.metrics.care(name, &care, &snapshot.claims);
        self.act(name, &care.effects).await?.check()
    }
}

/// What EC2 says of machines that have a NodeClaim; the account's others are none of this cluster's.
fn notices(scope: &Scope, statuses: &[InstanceStatus], claims: &[Claim]) -> Vec<Notice> {
    let ours: BTreeSet<&str> =
        claims.iter().filter_map(|claim| instance_id(claim.provider_id.as_deref()?)).collect();
    let ours = statuses.iter().filter(|status| ours.contains(status.instance_id.as_str()));
    ours.flat_map(|status| read_status(scope, status)).map(|message| message.notice()).collect()
}

#[cfg(test)]
mod tests;
