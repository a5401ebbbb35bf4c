//! What is kept of a decision: a record in S3, events for whoever subscribes.

use api::record::{Decision, Outcome, Record, VERSION};
use cloud::bus::Event;
use jiff::Timestamp;
use model::{Effect, LaunchAnswer, Plan};
use serde_json::json;

use crate::hints::SOURCE;
use crate::world::World;

/// How hard records are compressed: they are written within a run's time.
const LEVEL: i32 = 3;

impl World {
    /// Keeps a decision. Not being able to is told, and is no reason to fail a run that has acted.
    pub(crate) async fn keep(
        &mut self,
        name: &str,
        function: &str,
        decision: Decision,
        objections: Vec<String>,
        outcomes: Vec<Outcome>,
    ) {
        let Some(bucket) = self.config.bucket.clone() else { return };
        let at = Timestamp::now();
        let cluster = name.to_owned();
        let record = Record {
            version: VERSION,
            cluster,
            function: function.to_owned(),
            at,
            decision,
            objections,
            outcomes,
        };
        let key = format!(
            "records/{name}/{}/{}-{function}.json.zst",
            at.strftime("%Y-%m-%d"),
            at.strftime("%H%M%S%.6f")
        );
        let kept = match record.to_json().map(|json| zstd::encode_all(json.as_slice(), LEVEL)) {
            Ok(Ok(bytes)) => {
                let put = self.cloud.put_object(&bucket, &key, bytes, "application/zstd").await;
                put.map_err(|error| error.to_string())
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match kept {
            Ok(()) => tracing::info!(key, "recorded"),
            Err(error) => {
                self.metrics.count("records_lost_total", &[("cluster", name)], 1);
                tracing::error!(error, key, "the decision is not recorded");
            }
        }
    }

    /// Tells whoever subscribes to the bus what a plan is.
    pub(crate) async fn tell(&mut self, name: &str, function: &str, plan: &Plan) {
        let Some(bus) = self.config.event_bus.clone() else { return };
        let claims: Vec<&str> = plan
            .effects
            .iter()
            .filter_map(|effect| match effect {
                Effect::DeleteNodeClaim { claim, .. } => Some(claim.as_str()),
                _ => None,
            })
            .collect();
        if plan.nodes.is_empty() && claims.is_empty() {
            return;
        }
        let detail = json!({
            "cluster": name,
            "nodeClaims": plan.nodes.iter().map(|node| json!({
                "name": node.name,
                "nodePool": node.pool,
                "instanceType": node.offer.instance_type,
                "zone": node.offer.zone,
                "capacityType": node.offer.capacity_type,
                "usdPerHour": node.price.to_string(),
                "pods": node.pods.len(),
            })).collect::<Vec<_>>(),
            "deleted": claims,
            "usdPerHour": plan.price().to_string(),
            "unschedulable": plan.unschedulable.len(),
        });
        self.publish(&bus, &format!("journeyman.{function}"), detail).await;
    }

    /// Tells whoever subscribes to the bus what could not be launched, and why.
    pub(crate) async fn tell_failures(&mut self, name: &str, answers: &[(String, LaunchAnswer)]) {
        let Some(bus) = self.config.event_bus.clone() else { return };
        let zone_ids = self.zone_ids(name);
        for (group, answer) in answers.iter().filter(|(_, answer)| !answer.failures.is_empty()) {
            let failures = answer.failures.iter().map(|failure| {
                let offer = failure.offer.as_ref();
                json!({
                    "reason": failure.reason,
                    "message": failure.message,
                    "instanceType": offer.map(|offer| &offer.instance_type),
                    "zone": offer.map(|offer| &offer.zone),
                    "zoneId": offer.and_then(|offer| zone_ids.get(&offer.zone)),
                    "capacityType": offer.map(|offer| offer.capacity_type),
                })
            });
            let detail = json!({
                "cluster": name,
                "group": group,
                "launched": answer.machines.len(),
                "failures": failures.collect::<Vec<_>>(),
            });
            self.publish(&bus, "journeyman.launch-failed", detail).await;
        }
    }

    /// Puts one domain event on the bus.
    async fn publish(&mut self, bus: &str, kind: &str, detail: serde_json::Value) {
        let event = Event { detail_type: kind.to_owned(), detail, resources: Vec::new() };
        if let Err(error) = self.cloud.publish(bus, SOURCE, &[event]).await {
            tracing::warn!(%error, kind, "the event is not published");
        }
    }
}
