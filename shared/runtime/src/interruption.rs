//! What EventBridge and EC2 tell of instances becomes tainted nodes, NodeClaims that go, and room asked for.

use std::collections::BTreeSet;

use cloud::instance_id;
use cloud::messages::{InstanceStatus, MAX_AGE, Message, Parsed, Scope, read_status};
use jiff::Timestamp;
use model::{Claim, ClaimNode, InterruptionSnapshot, Notice};

use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;

impl World {
    /// Handles one message. One that is not for us is counted, and does not come back.
    pub async fn interrupt(&mut self, body: &str, _deadline: Deadline) -> Result<(), RunError> {
        let scope = self.scope();
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

    fn scope(&self) -> Scope {
        Scope {
            account: None,
            region: Some(self.config.region.clone()),
            now: Timestamp::now(),
            max_age: MAX_AGE,
        }
    }

    async fn announce(&mut self, message: &Message) -> Result<(), RunError> {
        let notice = message.notice();
        for name in self.clusters() {
            let site = self.site(&name).await?;
            let (claims, nodes) = site.index.by_instance_ids(&notice.instances).await?;
            if claims.is_empty() && nodes.is_empty() {
                continue;
            }
            let heeded = self.heed(&name, vec![notice.clone()], claims, nodes).await;
            self.rest(&name);
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
        if notices.is_empty() { Ok(()) } else { self.heed(name, notices, claims, nodes).await }
    }

    /// Does what follows from announcements about a cluster's machines.
    async fn heed(
        &mut self,
        name: &str,
        notices: Vec<Notice>,
        claims: Vec<Claim>,
        nodes: Vec<ClaimNode>,
    ) -> Result<(), RunError> {
        let pools = self.site(name).await?.cluster.pool_annotations().await?;
        let rebalancing_pools = InterruptionSnapshot::rebalancing(&pools);
        let now = Timestamp::now();
        let snapshot = InterruptionSnapshot { now, notices, claims, nodes, rebalancing_pools };
        let care = planner::interrupt(&snapshot);
        self.count_care(name, &care);
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
mod tests {
    use model::NoticeKind;

    use super::*;

    #[test]
    fn n04_statuses_count_for_machines_that_have_a_nodeclaim_here() {
        let claim = |name: &str, instance: &str| -> Claim {
            api::lower::claim(
                &serde_json::from_value(serde_json::json!({
                    "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                    "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-06-01T11:00:00Z"},
                    "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                        "requirements": []},
                    "status": {"providerID": format!("aws:///a/{instance}")},
                }))
                .unwrap(),
            )
            .unwrap()
        };
        let statuses: Vec<InstanceStatus> = serde_json::from_value(serde_json::json!([
            {"InstanceId": "i-00000001", "SystemStatus": {"Details": [
                {"Status": "failed", "ImpairedSince": "2026-06-01T11:59:30Z"}]}},
            {"InstanceId": "i-00000002", "Events": [
                {"Code": "system-maintenance", "NotBefore": "2026-06-04T12:00:00Z"}]},
            {"InstanceId": "i-00000009", "Events": [{"Code": "instance-stop"}]},
        ]))
        .unwrap();
        let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
        let scope = Scope { account: None, region: None, now, max_age: MAX_AGE };
        let claims = [claim("one", "i-00000001"), claim("two", "i-00000002"), claim("three", "i-00000003")];
        let impaired = NoticeKind::Impaired { host: true, since: "2026-06-01T11:59:30Z".parse().unwrap() };
        let planned = NoticeKind::ScheduledChange { starts: "2026-06-04T12:00:00Z".parse().ok() };
        let of = |kind, id: &str| Notice { kind, instances: vec![id.to_owned()] };
        assert_eq!(
            notices(&scope, &statuses, &claims),
            [of(impaired, "i-00000001"), of(planned, "i-00000002")]
        );
    }
}
