//! NodeClaims, Nodes, pods and machines to begin with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{
    BoundPod, CapacityType, Care, Claim, ClaimChange, ClaimNode, Condition, ConditionStatus, Effect,
    Instance, InstanceState, InstanceType, LaunchClass, LifecycleSnapshot, MicroUsd, NodeChange,
    NodeClassRef, ObjectName, Offering, Quantity, Requirement, Requirements, Resources, Taint, TaintEffect,
    labels,
};

pub const NOW: &str = "2026-06-01T12:00:00Z";

pub fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub fn ago(seconds: i64) -> Timestamp {
    now() - SignedDuration::from_secs(seconds)
}

pub fn in_secs(seconds: i64) -> Timestamp {
    ago(-seconds)
}

pub fn resources(pairs: &[(&str, i64)]) -> Resources {
    pairs.iter().map(|(name, amount)| (*name, Quantity::from_units(*amount))).collect()
}

pub fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

pub fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: String::new(), effect: TaintEffect::NoSchedule }
}

pub fn unregistered() -> Taint {
    Taint { effect: TaintEffect::NoExecute, ..taint(labels::UNREGISTERED) }
}

/// A NodeClaim ten seconds old, held, of launch group `g`.
pub fn claim(name: &str) -> Claim {
    Claim {
        name: name.into(),
        uid: format!("uid-{name}"),
        version: "1".into(),
        generation: 1,
        pool: Some("default".into()),
        node_class: NodeClassRef { group: "example.com".into(), kind: "Class".into(), name: "class".into() },
        launch_group: Some("g".into()),
        labels: map(&[(labels::NODEPOOL, "default"), ("example.com/class", "class")]),
        annotations: BTreeMap::new(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        requirements: Requirements::new(),
        requests: resources(&[("cpu", 1)]),
        termination_grace_period: None,
        expire_after: None,
        created: ago(10),
        deleting: None,
        finalizer: true,
        provider_id: None,
        image: None,
        node: None,
        capacity: Resources::new(),
        allocatable: Resources::new(),
        conditions: BTreeMap::new(),
    }
}

pub fn condition(status: ConditionStatus, reason: &str, since: Timestamp) -> Condition {
    Condition { status, reason: reason.into(), message: String::new(), since, generation: 1 }
}

/// With conditions that are true.
pub fn with_true(mut claim: Claim, kinds: &[&str]) -> Claim {
    for kind in kinds {
        let written = condition(ConditionStatus::True, kind, claim.created);
        claim.conditions.insert((*kind).to_owned(), written);
    }
    claim
}

pub fn id_of(number: &str) -> String {
    format!("cloud:///a/i-{number}")
}

/// A NodeClaim whose machine is `i-NUMBER`.
pub fn launched(name: &str, number: &str) -> Claim {
    let claim =
        Claim { provider_id: Some(id_of(number)), capacity: kind("m", 4, 10).capacity, ..claim(name) };
    with_true(claim, &["Launched"])
}

/// A NodeClaim that is at rest, its Node named like it.
pub fn at_rest(name: &str, number: &str) -> Claim {
    let claim = Claim {
        node: Some(name.into()),
        annotations: map(&[(labels::TAGGED, "true"), (labels::CLUSTER_NAME_TAGGED, "true")]),
        ..launched(name, number)
    };
    with_true(claim, &["Registered", "Initialized", "Ready", "ConsistentStateFound"])
}

/// A Node as it joins.
pub fn joining(name: &str, number: &str) -> ClaimNode {
    ClaimNode {
        name: name.into(),
        uid: format!("uid-node-{name}"),
        version: "1".into(),
        provider_id: id_of(number),
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        taints: vec![unregistered()],
        ready: ConditionStatus::False,
        allocatable: resources(&[("cpu", 4), ("pods", 100)]),
        capacity: resources(&[("cpu", 4), ("pods", 100)]),
        finalizer: false,
        owned: false,
        created: ago(5),
        deleting: None,
    }
}

/// A Node at work.
pub fn node(name: &str, number: &str) -> ClaimNode {
    ClaimNode {
        labels: map(&[
            (labels::NODEPOOL, "default"),
            ("example.com/class", "class"),
            (labels::REGISTERED, "true"),
            (labels::INITIALIZED, "true"),
        ]),
        taints: Vec::new(),
        ready: ConditionStatus::True,
        finalizer: true,
        owned: true,
        ..joining(name, number)
    }
}

/// A Node that takes no more pods and is going.
pub fn draining(name: &str, number: &str) -> ClaimNode {
    let mut node =
        ClaimNode { taints: vec![taint(labels::DISRUPTED)], deleting: Some(ago(10)), ..node(name, number) };
    node.labels.insert(labels::EXCLUDE_FROM_LOAD_BALANCERS.into(), "karpenter".into());
    node
}

pub fn pod(name: &str, node: &str) -> BoundPod {
    BoundPod {
        name: ObjectName::new("default", name),
        uid: format!("uid-{name}"),
        node: node.into(),
        daemon: false,
        mirror: false,
        critical: false,
        tolerates_disruption: false,
        do_not_disrupt: None,
        finished: false,
        started: Some(ago(600)),
        deleting: None,
        grace_seconds: 30,
        volumes: Vec::new(),
        surge: None,
    }
}

pub fn machine(number: &str) -> Instance {
    Instance {
        id: format!("i-{number}"),
        provider_id: id_of(number),
        instance_type: "m".into(),
        zone: "a".into(),
        capacity_type: CapacityType::OnDemand,
        reservation: None,
        image: "image-1".into(),
        subnet: None,
        security_groups: BTreeSet::new(),
        state: InstanceState::Running,
        launched: ago(5),
        launch_group: Some("g".into()),
        claim: None,
    }
}

pub fn offering(zone: &str, capacity_type: CapacityType, price: u64) -> Offering {
    Offering {
        zone: zone.into(),
        zone_id: Some(format!("id-{zone}")),
        capacity_type,
        price: MicroUsd(price),
        available: true,
        unsteady: false,
        reservation: None,
    }
}

/// A type with `cpu` cores in two zones, Spot at half the price.
pub fn kind(name: &str, cpu: i64, price: u64) -> InstanceType {
    let mut requirements = Requirements::new();
    requirements.add(labels::INSTANCE_TYPE, Requirement::is_in([name]));
    requirements.add(labels::ARCH, Requirement::is_in(["amd64"]));
    requirements.add(labels::ZONE, Requirement::is_in(["a", "b"]));
    requirements.add(labels::CAPACITY_TYPE, Requirement::is_in(["on-demand", "spot"]));
    requirements.add(labels::TENANCY, Requirement::is_in(["default", "dedicated"]));
    let offerings = ["a", "b"].into_iter().flat_map(|zone| {
        [offering(zone, CapacityType::Spot, price / 2), offering(zone, CapacityType::OnDemand, price)]
    });
    InstanceType {
        name: name.into(),
        requirements,
        capacity: resources(&[("cpu", cpu), ("memory", cpu << 30), ("pods", 100), ("nothing", 0)]),
        overhead: Resources::new(),
        offerings: offerings.collect(),
    }
}

pub fn snapshot(claims: Vec<Claim>) -> LifecycleSnapshot {
    LifecycleSnapshot {
        now: now(),
        claims,
        nodes: Vec::new(),
        orphans: Vec::new(),
        pods: Vec::new(),
        deployments: Vec::new(),
        attachments: Vec::new(),
        instances: Vec::new(),
        instances_known: true,
        types: [("class".into(), Arc::new(vec![kind("m", 4, 10), kind("l", 8, 20)]))].into(),
        classes: [("class".into(), LaunchClass::default())].into(),
        launches: BTreeMap::new(),
        planned: BTreeMap::new(),
    }
}

/// Effects, one a line, short; events and hints only by their names. How registrations came out has tests of its own.
pub fn lines(care: &Care) -> Vec<String> {
    let counted = |effect: &&Effect| !matches!(effect, Effect::NoteRegistrations { .. });
    care.effects.iter().filter(counted).map(line).collect()
}

/// How registrations came out: the pool, and why each failed that did.
pub fn registrations(care: &Care) -> Vec<String> {
    let noted = care.effects.iter().filter_map(|effect| match effect {
        Effect::NoteRegistrations { pool, outcomes } => Some((pool, outcomes)),
        _ => None,
    });
    let why = |one: &model::Registration| {
        one.failure.as_ref().map_or_else(|| "joined".to_owned(), |failure| failure.reason.clone())
    };
    noted
        .map(|(pool, all)| format!("{pool}: {}", all.iter().map(why).collect::<Vec<_>>().join(", ")))
        .collect()
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::DeleteNodeClaim { claim, reason, .. } => format!("delete {claim}: {reason}"),
        Effect::Launch(order) => format!("launch {} for {}", order.token, order.claims.join(" ")),
        Effect::ChangeNodeClaim(change) => format!("claim {}{}", change.claim, changed(change)),
        Effect::ChangeNode(change) => format!("node {}{}", change.node, changed_node(change)),
        Effect::DeleteNode { node, .. } => format!("delete node {node}"),
        Effect::EvictPod { pod, .. } => format!("evict {pod}"),
        Effect::RestartRollout(order) => format!("restart {} for {}", order.deployment, order.pod),
        Effect::DeletePod { pod, grace_seconds, .. } => format!("kill {pod} in {grace_seconds}"),
        Effect::Terminate { provider_id } => format!("terminate {provider_id}"),
        Effect::TagInstance { provider_id, tags } => format!("tag {provider_id} {tags:?}"),
        Effect::ReleaseNodeClaim { claim, .. } => format!("release {claim}"),
        Effect::ReleaseNode { node, .. } => format!("release node {node}"),
        Effect::Avoid { what, .. } => format!("avoid {what:?}"),
        Effect::NominateNode { pod, node, .. } => format!("nominate {node} for {pod}"),
        Effect::HintLifecycle { claims, nodes, .. } => {
            format!("look {} {}", claims.join(" "), nodes.join(" "))
        }
        Effect::HintProvision { .. } => "provision".into(),
        Effect::PublishEvent { reason, .. } => format!("event {reason}"),
        Effect::CreateNodeClaim(draft) => format!("create {}", draft.name),
        Effect::ForgetLaunchTemplates { class, age } => {
            format!("forget templates of {} from {age:#}", class.as_deref().unwrap_or("all"))
        }
        Effect::ReleaseNodeClass { class, .. } => format!("release class {class}"),
        Effect::NoteRegistrations { pool, .. } => format!("note registrations of {pool}"),
        Effect::TellNodePool { pool, kind, .. } => format!("tell pool {pool} {kind}"),
        Effect::MarkDisrupted(order) => format!("mark {}", order.claim),
        Effect::UnmarkDisrupted { claim, .. } => format!("unmark {claim}"),
    }
}

fn changed(change: &ClaimChange) -> String {
    let mut text = String::new();
    if change.finalizer {
        text += " held";
    }
    change.provider_id.iter().for_each(|id| text += &format!(" is {id}"));
    change.node.iter().for_each(|node| text += &format!(" on {node}"));
    change.annotations.iter().for_each(|(key, value)| text += &format!(" {key}={value}"));
    for (kind, condition) in &change.conditions {
        text += &format!(" {kind}={}/{}", condition.status.as_str(), condition.reason);
    }
    text
}

fn changed_node(change: &NodeChange) -> String {
    let mut text = String::new();
    if change.finalizer {
        text += " held";
    }
    if change.owner.is_some() {
        text += " owned";
    }
    for (key, value) in change.labels.iter().chain(&change.annotations) {
        text += &format!(" {key}={value}");
    }
    if let Some(taints) = &change.taints {
        let taints: Vec<String> = taints.iter().map(ToString::to_string).collect();
        text += &format!(" taints [{}]", taints.join(", "));
    }
    text
}

/// The lines without those that begin with one of `but`.
pub fn lines_but(care: &Care, but: &[&str]) -> Vec<String> {
    lines(care).into_iter().filter(|line| !but.iter().any(|but| line.starts_with(but))).collect()
}

/// The change to one NodeClaim.
#[track_caller]
pub fn change_of(care: &Care, name: &str) -> ClaimChange {
    let mut changes = care.effects.iter().filter_map(|effect| match effect {
        Effect::ChangeNodeClaim(change) if change.claim == name => Some((**change).clone()),
        _ => None,
    });
    changes.next().unwrap_or_else(|| panic!("nothing is written to {name}: {:?}", lines(care)))
}

/// How long until a NodeClaim is looked at again.
pub fn again(care: &Care, name: &str) -> Option<i64> {
    care.again.get(name).map(SignedDuration::as_secs)
}
