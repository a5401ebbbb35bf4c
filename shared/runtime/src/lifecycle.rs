//! NodeClaims become nodes, and nodes go.

use std::collections::{BTreeMap, BTreeSet};

use api::crd::Ec2NodeClass;
use api::record::Decision;
use jiff::{SignedDuration, Timestamp};
use model::{
    Care, ClassStatus, Effect, Instance, LaunchAnswer, LaunchClass, LifecycleSnapshot, SweepSnapshot,
};

use crate::act::Acted;
use crate::aws;
use crate::deadline::Deadline;
use crate::error::RunError;
use crate::message::Tend;
use crate::refresh::{Known, marks};
use crate::world::{Launchable, World};

/// So many looks a run at most; what is left then is looked at by the next message.
const ROUNDS: usize = 10;

/// What launches of this run brought: the next look knows them before EC2's listings do.
#[derive(Default)]
struct Launched {
    answers: BTreeMap<String, LaunchAnswer>,
    instances: Vec<Instance>,
}

impl World {
    /// Looks after the NodeClaims and Nodes that a message names, or after everything.
    pub async fn tend(&mut self, tend: &Tend, deadline: Deadline) -> Result<(), RunError> {
        let name = &tend.cluster;
        let result =
            if tend.is_everything() { self.sweep(name).await } else { self.look_after(tend, deadline).await };
        self.rest(name);
        result
    }

    async fn look_after(&mut self, tend: &Tend, deadline: Deadline) -> Result<(), RunError> {
        let name = &tend.cluster;
        let mut launched = Launched::default();
        let mut care = Care::default();
        for _ in 0..ROUNDS {
            let snapshot = self.claims_seen(tend, &launched).await?;
            care = planner::care(&snapshot);
            self.metrics.care(name, &care, &snapshot.claims);
            let acted = self.act(name, &care.effects).await?;
            self.measure(name, &snapshot, &care, &acted);
            if care.effects.iter().any(|effect| !matches!(effect, Effect::PublishEvent { .. })) {
                let (snapshot, care) = (Box::new(snapshot), Box::new(care.clone()));
                self.keep(name, "lifecycle", Decision::Care { snapshot, care }, Vec::new(), acted.outcomes)
                    .await;
            }
            self.tell_failures(name, &acted.answers).await;
            launched.instances.extend(acted.instances);
            launched.answers.extend(acted.answers);
            let at_once = care.again.values().chain(care.again_nodes.values()).any(SignedDuration::is_zero);
            if !at_once || deadline.is_over() {
                break;
            }
        }
        self.again(tend, &care).await
    }

    /// Sends what isn't at rest to be looked at again, those due at the same time together.
    async fn again(&mut self, tend: &Tend, care: &Care) -> Result<(), RunError> {
        let mut due = BTreeMap::<SignedDuration, (Vec<String>, Vec<String>)>::new();
        // What is due at once but not done within this run's rounds waits a moment all the same.
        let pause = |after: &SignedDuration| (*after).max(SignedDuration::from_secs(1));
        for (claim, after) in &care.again {
            due.entry(pause(after)).or_default().0.push(claim.clone());
        }
        for (node, after) in &care.again_nodes {
            due.entry(pause(after)).or_default().1.push(node.clone());
        }
        let now = Timestamp::now();
        for (after, (claims, nodes)) in due {
            // The next look at everything comes first.
            if tend.until.is_some_and(|until| now + after > until) {
                continue;
            }
            let next = Tend { claims, nodes, ..tend.clone() };
            self.hints.tend(&self.cloud, next, after).await?;
        }
        Ok(())
    }

    /// What a decision about NodeClaims is taken from.
    async fn claims_seen(&mut self, tend: &Tend, launched: &Launched) -> Result<LifecycleSnapshot, RunError> {
        let name = &tend.cluster;
        let parts = self.site(name).await?.index.lifecycle(&tend.claims, &tend.nodes).await?;
        let wants = planner::wants(&parts.claims, &parts.nodes, &parts.orphans);
        let mut classes = BTreeMap::new();
        let mut types = BTreeMap::new();
        if !wants.classes.is_empty() {
            let catalogue = self.catalogue().await?;
            let avoided = self.avoided().await?;
            let site = self.site(name).await?;
            for class in &wants.classes {
                let Some(found) = site.cluster.node_class(class).await? else { continue };
                let found = Launchable::new(found, &catalogue, &avoided);
                types.insert(class.clone(), found.types.clone());
                classes.insert(class.clone(), launch_class(&found.class));
                site.classes.insert(class.clone(), found);
            }
            site.avoided = avoided;
        }
        let mut instances = aws::instances(&self.cloud, name, &wants.groups, &wants.provider_ids).await?;
        for instance in &launched.instances {
            if !instances.iter().any(|known| known.id == instance.id) {
                instances.push(instance.clone());
            }
        }
        let planned = if wants.unbound && self.config.cluster(name)?.nominate_planned_pods {
            planner::planned(&parts.claims, &self.site(name).await?.cluster.unbound_pods().await?)
        } else {
            BTreeMap::new()
        };
        Ok(LifecycleSnapshot {
            now: Timestamp::now(),
            claims: parts.claims,
            nodes: parts.nodes,
            orphans: parts.orphans,
            pods: parts.pods,
            deployments: parts.deployments,
            attachments: parts.attachments,
            instances,
            // A listing that fails half-way is an error.
            instances_known: true,
            types,
            classes,
            launches: launched.answers.clone(),
            planned,
        })
    }

    /// Finds what has been lost, on either side, and has everything that isn't at rest looked after.
    async fn sweep(&mut self, name: &str) -> Result<(), RunError> {
        // Machines first: one that is younger than the list of NodeClaims would look like nobody's.
        self.site(name).await?;
        let instances = aws::all_instances(&self.cloud, name).await?;
        let cluster = self.site(name).await?.cluster.clone();
        let (claims, nodes) = (cluster.claims().await?, cluster.nodes().await?);
        // Lists that fail half-way are errors.
        let Known { pools, classes, leaving, expiring } = self.look_at_pools(name, &claims, &nodes).await?;
        let now = Timestamp::now();
        let snapshot = SweepSnapshot {
            now,
            claims,
            nodes,
            instances,
            complete: true,
            leaving,
            pools,
            classes,
            expiring,
        };
        let care = planner::sweep(&snapshot);
        self.metrics.care(name, &care, &snapshot.claims);
        let acted = self.act(name, &care.effects).await?;
        // A NodeClaim that goes by this look is told of in the next one.
        let going = care.effects.iter().filter_map(|effect| match effect {
            Effect::DeleteNodeClaim { claim, .. } => Some(claim),
            _ => None,
        });
        let going: BTreeSet<&String> = going.collect();
        let SweepSnapshot { mut claims, nodes, .. } = snapshot;
        claims.retain(|claim| !going.contains(&claim.name));
        let heeded = self.look_at_statuses(name, claims, nodes).await;
        acted.check()?;
        heeded?;
        // Its launch templates are gone: whoever lets the class go can see that now.
        let gone = |effect: &Effect| matches!(effect, Effect::ForgetLaunchTemplates { class: Some(_), .. });
        if care.effects.iter().any(gone) {
            self.ask_for_statuses(name).await?;
        }
        Ok(())
    }

    /// Counts what came of a look.
    fn measure(&mut self, name: &str, snapshot: &LifecycleSnapshot, care: &Care, acted: &Acted) {
        self.metrics.drained(name, snapshot, &care.effects, &acted.done);
        let zone_ids = self.zone_ids(name);
        self.metrics.launches(name, &care.effects, &acted.answers, &zone_ids);
        for (class, bytes) in &acted.user_data {
            let labels = [("cluster", name), ("nodeclass", class.as_str())];
            self.metrics.gauge("karpenter_ec2nodeclasses_userdata_bytes", &labels, *bytes as f64);
        }
    }
}

fn launch_class(class: &Ec2NodeClass) -> LaunchClass {
    let conditions = class.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready");
    let generation = class.metadata.generation;
    let status = match ready {
        _ if class.metadata.deletion_timestamp.is_some() => ClassStatus::Deleting,
        None => ClassStatus::Unknown("its status has not been written yet".to_owned()),
        Some(ready) if ready.observed_generation != generation => {
            ClassStatus::NotReady("its status is of an older generation".to_owned())
        }
        Some(ready) => match ready.status.as_str() {
            "True" => ClassStatus::Ready,
            "False" => ClassStatus::NotReady(ready.message.clone()),
            _ => ClassStatus::Unknown(ready.message.clone()),
        },
    };
    LaunchClass { status, annotations: marks::of_claims(class) }
}

#[cfg(test)]
mod tests;
