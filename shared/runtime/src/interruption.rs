//! What EventBridge tells of instances becomes tainted nodes, NodeClaims that go, and room asked for.

use cloud::messages::{MAX_AGE, Message, Parsed, Scope};
use jiff::Timestamp;
use model::InterruptionSnapshot;

use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;

impl World {
    /// Handles one message. One that is not for us is counted, and does not come back.
    pub async fn interrupt(&mut self, body: &str, _deadline: Deadline) -> Result<(), RunError> {
        let scope = Scope {
            account: None,
            region: Some(self.config.region.clone()),
            now: Timestamp::now(),
            max_age: MAX_AGE,
        };
        let result = match scope.read(body) {
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
                self.metrics.seconds("karpenter_interruption_message_queue_duration_seconds", &[], waited);
                self.announce(&message).await
            }
        };
        self.flush();
        result
    }

    async fn announce(&mut self, message: &Message) -> Result<(), RunError> {
        let notice = message.notice();
        for name in self.clusters() {
            let site = self.site(&name).await?;
            let (claims, nodes) = site.index.by_instance_ids(&notice.instances).await?;
            if claims.is_empty() && nodes.is_empty() {
                continue;
            }
            let pools = site.cluster.pool_annotations().await?;
            let snapshot = InterruptionSnapshot {
                now: Timestamp::now(),
                notices: vec![notice.clone()],
                claims,
                nodes,
                rebalancing_pools: InterruptionSnapshot::rebalancing(&pools),
            };
            let care = planner::interrupt(&snapshot);
            self.count_care(&name, &care);
            let acted = self.act(&name, &care.effects).await?;
            self.rest(&name);
            acted.check()?;
        }
        Ok(())
    }
}
