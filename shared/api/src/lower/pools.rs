//! NodePools, and whether they can be used.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::Taint as CoreTaint;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use model::labels::{self, USD_PER_HOUR};
use model::{
    Budget, BudgetReason, ConditionStatus, ConsolidationPolicy, Disruption, MicroUsd, NodeClassRef, NodePool,
    PoolStatus, Quantity, Requirements, Resources, Taint,
};

use super::Lowering;
use super::draft::effect;
use super::error::InputFault;
use super::objects::{Entry, name_of};
use super::requirement::requirement;
use crate::read::closest;
use crate::{crd, launches};

impl Lowering<'_> {
    /// Lowers the pools; each must have its class.
    pub(super) fn pools(&mut self) {
        let objects = self.objects;
        let classes: BTreeMap<String, &Entry<crd::Ec2NodeClass>> =
            objects.classes.iter().map(|entry| (name_of(&entry.object.metadata).name, entry)).collect();
        let assumed = classes.is_empty() && self.options.assume_node_class;
        for entry in &objects.pools {
            let name = name_of(&entry.object.metadata).name;
            let wanted = &entry.object.spec.template.spec.node_class_ref;
            let class = classes.get(&wanted.name).copied();
            let missing = class.is_none() && !assumed && wanted.kind == "EC2NodeClass";
            if missing && !objects.live {
                let help = match closest(&wanted.name, classes.keys().map(String::as_str)) {
                    Some(meant) => format!("did you mean EC2NodeClass {meant}?"),
                    None => format!("add the manifest of EC2NodeClass {}", wanted.name),
                };
                let message = format!("NodePool {name}: EC2NodeClass {} does not exist", wanted.name);
                self.faults.push(InputFault { place: entry.place.clone(), message, help: Some(help) });
                continue;
            }
            let status = if missing {
                PoolStatus::NotReady(format!("EC2NodeClass {} does not exist", wanted.name))
            } else {
                self.status(&name, &entry.object, class.map(|class| &class.object))
            };
            match pool(name, &entry.object, status) {
                Ok(pool) => self.cluster.pools.push(pool),
                Err(message) => {
                    self.faults.push(InputFault { place: entry.place.clone(), message, help: None });
                }
            }
        }
    }

    fn status(&self, name: &str, pool: &crd::NodePool, class: Option<&crd::Ec2NodeClass>) -> PoolStatus {
        let unusable = |kind: crd::Kind, name: &str| self.objects.unusable.get(&(kind, name.to_owned()));
        let wanted = &pool.spec.template.spec.node_class_ref;
        if wanted.kind != "EC2NodeClass" {
            return PoolStatus::NotReady(format!("nodes of a {} are not ours to make", wanted.kind));
        }
        if let Some(message) = unusable(crd::Kind::NodePool, name) {
            return PoolStatus::NotReady(message.clone());
        }
        if let Some(message) = unusable(crd::Kind::Ec2NodeClass, &wanted.name) {
            return PoolStatus::NotReady(format!("EC2NodeClass {}: {message}", wanted.name));
        }
        if let Some(class) = class {
            if class.metadata.deletion_timestamp.is_some() {
                return PoolStatus::NotReady(format!("EC2NodeClass {} is being deleted", wanted.name));
            }
            let conditions = class.status.as_ref().map_or(&[][..], |status| &status.conditions);
            if self.objects.live && !class.is_judged() {
                let message = "its status has not been written yet";
                return PoolStatus::NotReady(format!("EC2NodeClass {}: {message}", wanted.name));
            }
            if let Some(message) = not_ready(conditions) {
                return PoolStatus::NotReady(format!("EC2NodeClass {}: {message}", wanted.name));
            }
            // What the pool's own status says of the class may be older than the class.
            if self.objects.live {
                return match pool.condition("ValidationSucceeded") {
                    Some(valid) if valid.status == "False" => PoolStatus::NotReady(valid.message.clone()),
                    _ => PoolStatus::Ready,
                };
            }
        }
        let conditions = pool.status.as_ref().map(|status| status.conditions.as_slice());
        not_ready(conditions.unwrap_or_default()).map_or(PoolStatus::Ready, PoolStatus::NotReady)
    }
}

/// Why the condition Ready says that something is not; a manifest without conditions is taken as it is.
fn not_ready(conditions: &[Condition]) -> Option<String> {
    let ready = conditions.iter().find(|condition| condition.type_ == "Ready")?;
    if ready.status == "True" {
        return None;
    }
    let first = [&ready.message, &ready.reason].into_iter().find(|text| !text.is_empty());
    Some(first.cloned().unwrap_or_else(|| format!("its condition Ready is {}", ready.status)))
}

fn pool(name: String, pool: &crd::NodePool, status: PoolStatus) -> Result<NodePool, String> {
    let spec = &pool.spec;
    let template = &spec.template.spec;
    let metadata = spec.template.metadata.clone().unwrap_or_default();
    let annotation = |key: &str| pool.metadata.annotations.as_ref().and_then(|all| all.get(key));
    let mut limits = Resources::new();
    let mut price_limit = None;
    for (resource, amount) in &spec.limits {
        if resource == USD_PER_HOUR {
            let price: MicroUsd = amount.0.parse().map_err(|error| format!("spec.limits: {error}"))?;
            price_limit = Some(price);
        } else {
            let amount: Quantity =
                amount.0.parse().map_err(|error| format!("spec.limits.{resource}: {error}"))?;
            limits.set(resource.clone(), amount);
        }
    }
    Ok(NodePool {
        name,
        weight: spec.weight.and_then(|weight| u32::try_from(weight).ok()).unwrap_or_default(),
        requirements: requirements(&template.requirements)?,
        labels: metadata.labels,
        annotations: metadata.annotations,
        taints: taints(&template.taints),
        startup_taints: taints(&template.startup_taints),
        node_class: node_class(&template.node_class_ref),
        limits,
        price_limit,
        status,
        replicas: spec.replicas.and_then(|replicas| u32::try_from(replicas).ok()),
        deleting: pool.metadata.deletion_timestamp.is_some(),
        expire_after: crd::duration(&template.expire_after),
        termination_grace_period: template.termination_grace_period.as_deref().and_then(crd::duration),
        disruption: disruption(&spec.disruption),
        hashes: hashes(pool),
        trouble: launches::trouble(pool),
        spot_flexibility: annotation(labels::SPOT_FLEXIBILITY)
            .and_then(|text| text.parse().ok())
            .filter(|types| *types > 0),
        canary_soak: annotation(labels::CANARY_SOAK).and_then(|text| crd::duration(text)),
        canary: pool
            .condition("CanaryHealthy")
            .map(|known| (ConditionStatus::from_name(&known.status), known.message.clone())),
        generation: pool.metadata.generation.unwrap_or_default(),
    })
}

/// What was written on the pool, which Karpenter's NodeClaims are compared with, and its hash as it is now.
fn hashes(pool: &crd::NodePool) -> BTreeMap<String, String> {
    let stored =
        written(pool.metadata.annotations.as_ref(), labels::NODEPOOL_HASH, labels::NODEPOOL_HASH_VERSION);
    let stored = stored.map(|(hash, version)| (version, hash));
    stored.into_iter().chain([(labels::HASH_VERSION.to_owned(), crate::hash::pool(pool))]).collect()
}

/// A hash and the version of how it was made, as annotations have them.
pub(super) fn written(
    annotations: Option<&BTreeMap<String, String>>,
    hash: &str,
    version: &str,
) -> Option<(String, String)> {
    let annotations = annotations?;
    Some((annotations.get(hash)?.clone(), annotations.get(version)?.clone()))
}

/// Requirements of a pool or claim.
pub(super) fn requirements(written: &[crd::Requirement]) -> Result<Requirements, String> {
    let mut requirements = Requirements::new();
    for one in written {
        let read = requirement(&one.key, &format!("{:?}", one.operator), &one.values)?;
        let least = one.min_values.and_then(|least| u32::try_from(least).ok());
        requirements.add(&one.key, read.with_min_values(least));
    }
    Ok(requirements)
}

/// Taints with an effect that is known.
pub(super) fn taints(written: &[CoreTaint]) -> Vec<Taint> {
    let taints = written.iter().filter_map(|taint| {
        Some(Taint {
            key: taint.key.clone(),
            value: taint.value.clone().unwrap_or_default(),
            effect: effect(&taint.effect)?,
        })
    });
    taints.collect()
}

/// The reference to a class.
pub(super) fn node_class(reference: &crd::NodeClassReference) -> NodeClassRef {
    NodeClassRef {
        group: reference.group.clone(),
        kind: reference.kind.clone(),
        name: reference.name.clone(),
    }
}

fn disruption(written: &crd::Disruption) -> Disruption {
    let policy = match written.consolidation_policy {
        crd::ConsolidationPolicy::WhenEmpty => ConsolidationPolicy::WhenEmpty,
        crd::ConsolidationPolicy::WhenEmptyOrUnderutilized => ConsolidationPolicy::WhenEmptyOrUnderutilized,
        crd::ConsolidationPolicy::Balanced => ConsolidationPolicy::Balanced,
    };
    let reason = |reason: &crd::DisruptionReason| match reason {
        crd::DisruptionReason::Underutilized => BudgetReason::Underutilized,
        crd::DisruptionReason::Empty => BudgetReason::Empty,
        crd::DisruptionReason::Drifted => BudgetReason::Drifted,
    };
    let budgets = written.budgets.iter().map(|budget| Budget {
        nodes: budget.nodes.clone(),
        schedule: budget.schedule.clone(),
        duration: budget.duration.as_deref().and_then(crd::duration),
        reasons: budget.reasons.iter().flatten().map(reason).collect::<BTreeSet<_>>().into_iter().collect(),
    });
    Disruption {
        policy,
        consolidate_after: crd::duration(&written.consolidate_after),
        budgets: budgets.collect(),
    }
}
