//! Where a plan falls short of what a case expects.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use model::{
    Avoided, CapacityType, Care, Code, Effect, InterruptionSnapshot, KeepCode, ObjectName, ObjectRef, Plan,
    PlannedNode, labels,
};

use super::format::{Action, CaseFile, Expect, ExpectedNode, Range};
use crate::read::closest;

/// One expectation that does not hold, as a sentence.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Miss(pub String);

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Expectations that no plan can meet, because they name what does not exist.
pub(super) fn faults(file: &CaseFile) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    let mut code = |path: String, code: &str, known: &[&str]| {
        if !known.contains(&code) {
            let meant = closest(code, known.iter().copied());
            let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
            faults.push((path, format!("{code:?} is not a reason code{meant}")));
        }
    };
    let codes = Code::ALL.map(Code::as_str);
    for (pod, wanted) in file.expect.unschedulable.iter().flatten() {
        code(format!("expect.unschedulable[{pod}]"), wanted, &codes);
    }
    for (node, wanted) in file.expect.keep.iter().flatten() {
        code(format!("expect.keep[{node}]"), wanted, &KeepCode::ALL.map(KeepCode::as_str));
    }
    for (index, node) in file.expect.nodes.iter().flatten().enumerate() {
        if let Some(name) =
            node.capacity_type.as_deref().filter(|name| CapacityType::from_name(name).is_none())
        {
            let path = format!("expect.nodes[{index}].capacityType");
            faults.push((path, format!("{name:?} is not a capacity type; use on-demand, spot or reserved")));
        }
    }
    for (node, time) in file.expect.deadlines.iter().flatten() {
        if let Err(error) = time.parse::<Timestamp>() {
            faults.push((format!("expect.deadlines[{node}]"), error.to_string()));
        }
    }
    if file.action != Action::Interrupt && !file.events.is_empty() {
        faults.push(("events".to_owned(), "are for action interrupt alone".to_owned()));
    }
    let expect = &file.expect;
    let of_plans = [
        ("nodes", expect.nodes.is_some()),
        ("nodeCount", expect.node_count.is_some()),
        ("usdPerHour", expect.usd_per_hour.is_some()),
        ("placed", expect.placed.is_some()),
        ("unschedulable", expect.unschedulable.is_some()),
        ("keep", expect.keep.is_some()),
    ];
    let of_care = [
        ("closed", expect.closed.is_some()),
        ("deadlines", expect.deadlines.is_some()),
        ("avoid", expect.avoid.is_some()),
        ("events", expect.events.is_some()),
        ("ignored", expect.ignored.is_some()),
    ];
    let (own, foreign, action) = match file.action {
        Action::Interrupt => (of_care.as_slice(), of_plans.as_slice(), "interrupt"),
        Action::Provision => (of_plans.as_slice(), of_care.as_slice(), "provision"),
        Action::Disrupt => (of_plans.as_slice(), of_care.as_slice(), "disrupt"),
    };
    for (field, _) in foreign.iter().filter(|(_, given)| *given) {
        faults.push((format!("expect.{field}"), format!("nothing of the kind comes of action {action}")));
    }
    if expect.disrupt.is_none() && !own.iter().any(|(_, given)| *given) {
        faults.push(("expect".to_owned(), "expects nothing: the case could never fail".to_owned()));
    }
    faults
}

/// Every miss of what was decided on announcements, `ignored` of which are no concern of ours.
pub(super) fn check_care(
    expect: &Expect,
    snapshot: &InterruptionSnapshot,
    care: &Care,
    ignored: usize,
) -> Vec<Miss> {
    let mut misses = Vec::new();
    let mut miss = |text: String| misses.push(Miss(text));
    let claim_of = |node: &model::ClaimNode| {
        let own = |claim: &&model::Claim| claim.provider_id.as_ref() == Some(&node.provider_id);
        snapshot.claims.iter().find(own).map(|claim| claim.name.clone())
    };
    let claims: BTreeMap<String, String> =
        snapshot.nodes.iter().filter_map(|node| Some((node.name.clone(), claim_of(node)?))).collect();
    let node_of = |claim: &String| {
        claims.iter().find(|(_, own)| *own == claim).map_or_else(|| claim.clone(), |(node, _)| node.clone())
    };
    let mut closed = BTreeSet::new();
    let mut deadlines = BTreeMap::new();
    let mut avoided = BTreeSet::new();
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for effect in &care.effects {
        match effect {
            Effect::ChangeNode(change)
                if change.taints.iter().flatten().any(|taint| taint.key == labels::DISRUPTED) =>
            {
                closed.insert(change.node.clone());
            }
            Effect::ChangeNodeClaim(change) => {
                let time = change.annotations.get(labels::INTERRUPTION_DEADLINE);
                deadlines.extend(time.map(|time| (node_of(&change.claim), time.clone())));
            }
            Effect::Avoid { what, .. } => {
                avoided.insert(in_words(what));
            }
            Effect::PublishEvent { about: ObjectRef::Node(node), reason, .. } => {
                said.entry(node.clone()).or_default().insert(reason.clone());
            }
            _ => {}
        }
    }
    if let Some(expected) = &expect.closed {
        differences("closed", expected, &closed, &mut miss);
    }
    if let Some(expected) = &expect.deadlines {
        // However a time is written.
        let time =
            |text: &String| text.parse::<Timestamp>().map_or_else(|_| text.clone(), |at| at.to_string());
        let lines = |all: &BTreeMap<String, String>| {
            all.iter().map(|(node, at)| format!("{node} at {}", time(at))).collect::<BTreeSet<String>>()
        };
        differences("deadlines", &lines(expected), &lines(&deadlines), &mut miss);
    }
    if let Some(expected) = &expect.avoid {
        differences("avoid", expected, &avoided, &mut miss);
    }
    for (node, expected) in expect.events.iter().flatten() {
        let none = BTreeSet::new();
        differences(&format!("events[{node}]"), expected, said.get(node).unwrap_or(&none), &mut miss);
    }
    if let Some(expected) = expect.ignored.filter(|expected| *expected != ignored) {
        miss(format!("ignored: {expected} expected, it is {ignored}"));
    }
    // Nodes go as they do in a plan, and nothing else of one is decided here.
    let plan = Plan { effects: care.effects.clone(), ..Plan::default() };
    disruptions(expect, &plan, &claims, &mut miss);
    misses
}

/// As case files write what is not to be bought.
fn in_words(what: &Avoided) -> String {
    match what {
        Avoided::Offering { instance_type, zone, capacity_type } => {
            format!("{instance_type} {zone} {capacity_type}")
        }
        Avoided::InPlacementGroup { group, instance_type, zone, capacity_type } => {
            format!("{group} {instance_type} {zone} {capacity_type}")
        }
        Avoided::CapacityType(capacity_type) => capacity_type.to_string(),
        Avoided::Subnet(id) | Avoided::Reservation(id) => id.clone(),
    }
}

fn differences(
    field: &str,
    expected: &BTreeSet<String>,
    found: &BTreeSet<String>,
    miss: &mut dyn FnMut(String),
) {
    for entry in expected.difference(found) {
        miss(format!("{field}: {entry} expected, it is not there"));
    }
    for entry in found.difference(expected) {
        miss(format!("{field}: {entry} is not expected"));
    }
}

/// Every miss; `claims` are NodeClaims by node.
pub(super) fn check(expect: &Expect, plan: &Plan, claims: &BTreeMap<String, String>) -> Vec<Miss> {
    // What replaces nodes that go are new nodes as well.
    let mut whole = plan.clone();
    whole.nodes.extend(plan.disruptions.iter().flat_map(|command| command.replacements.iter().cloned()));
    let plan = &whole;
    let mut misses = Vec::new();
    let mut miss = |text: String| misses.push(Miss(text));
    if let Some(expected) = &expect.nodes {
        nodes(expected, plan, &mut miss);
    }
    if let Some(range) = &expect.node_count
        && let Some(wanted) = outside(range, plan.nodes.len())
    {
        miss(format!("nodeCount: {wanted} expected, {} planned{}", plan.nodes.len(), list(&plan.nodes)));
    }
    let price = super::format::Usd(plan.price());
    if let Some(range) = &expect.usd_per_hour
        && let Some(wanted) = outside(range, price)
    {
        miss(format!("usdPerHour: {wanted} expected, the plan costs {price}{}", list(&plan.nodes)));
    }
    let existing: BTreeMap<&ObjectName, &str> = plan
        .existing
        .iter()
        .flat_map(|(node, pods)| pods.iter().map(move |pod| (pod, node.as_str())))
        .collect();
    let unplaced: BTreeMap<&ObjectName, &model::Unschedulable> =
        plan.unschedulable.iter().map(|entry| (&entry.pod, entry)).collect();
    let whereabouts = |pod: &ObjectName| {
        let new = plan.nodes.iter().find(|node| node.pods.contains(pod));
        match (existing.get(pod), new, unplaced.get(pod)) {
            (Some(node), ..) => format!("it goes to {node}"),
            (_, Some(node), _) => format!("it goes to a new node: {}", describe(node)),
            (.., Some(entry)) => format!("it has no place: {} ({})", entry.reason, entry.reason.code()),
            _ => "the plan does not mention it".to_owned(),
        }
    };
    for (pod, node) in expect.placed.iter().flatten() {
        let pod = name(pod);
        if existing.get(&pod) != Some(&node.as_str()) {
            miss(format!("placed: {pod} expected on {node}, but {}", whereabouts(&pod)));
        }
    }
    if let Some(expected) = &expect.unschedulable {
        let expected: BTreeMap<ObjectName, &String> =
            expected.iter().map(|(pod, code)| (name(pod), code)).collect();
        for (pod, code) in &expected {
            if unplaced.get(pod).is_none_or(|entry| entry.reason.code().as_str() != code.as_str()) {
                miss(format!("unschedulable: {pod} expected with {code}, but {}", whereabouts(pod)));
            }
        }
        for (pod, entry) in unplaced.iter().filter(|(pod, _)| !expected.contains_key(**pod)) {
            miss(format!("unschedulable: {pod} is not expected: {} ({})", entry.reason, entry.reason.code()));
        }
    }
    disruptions(expect, plan, claims, &mut miss);
    misses
}

fn disruptions(
    expect: &Expect,
    plan: &Plan,
    claims: &BTreeMap<String, String>,
    miss: &mut dyn FnMut(String),
) {
    let mut gone: BTreeMap<String, &str> = BTreeMap::new();
    for command in &plan.disruptions {
        let own = command.nodes.iter().map(|node| claims.get(node).unwrap_or(node).clone());
        gone.extend(own.map(|claim| (claim, command.reason.as_str())));
    }
    for effect in &plan.effects {
        if let Effect::DeleteNodeClaim { claim, reason, .. } = effect {
            gone.entry(claim.clone()).or_insert(reason);
        }
    }
    let claim_of = |node: &String| claims.get(node).unwrap_or(node).clone();
    if let Some(expected) = &expect.disrupt {
        let mut meant = BTreeSet::new();
        for entry in expected {
            let claim = claim_of(&entry.node);
            match gone.get(claim.as_str()) {
                None => miss(format!("disrupt: {} expected to go, it stays", entry.node)),
                Some(reason) if entry.reason.as_deref().is_some_and(|wanted| wanted != *reason) => {
                    let wanted = entry.reason.as_deref().unwrap_or_default();
                    miss(format!("disrupt: {} expected to go as {wanted}, it goes as {reason}", entry.node));
                }
                Some(_) => {}
            }
            if let Some(wanted_node) = &entry.replacement {
                let command = plan.disruptions.iter().find(|command| command.nodes.contains(&entry.node));
                let replacements = command.map(|command| command.replacements.as_slice()).unwrap_or_default();
                if !replacements.iter().any(|node| fits(wanted_node, node)) {
                    let wanted = wanted(wanted_node);
                    miss(format!(
                        "disrupt: {} expected to be replaced by {wanted}, its replacements are:{}",
                        entry.node,
                        list(replacements)
                    ));
                }
            }
            meant.insert(claim);
        }
        for (claim, reason) in gone.iter().filter(|(claim, _)| !meant.contains(*claim)) {
            miss(format!("disrupt: {claim} is not expected to go ({reason})"));
        }
    }
    for (node, code) in expect.keep.iter().flatten() {
        match gone.get(claim_of(node).as_str()) {
            Some(reason) => miss(format!("keep: {node} expected to stay as {code}, it goes as {reason}")),
            None => match plan.kept.iter().find(|kept| kept.node == *node) {
                Some(kept) if kept.code.as_str() == code => {}
                Some(kept) => miss(format!(
                    "keep: {node} expected to stay as {code}, it stays as {}: {}",
                    kept.code.as_str(),
                    kept.message
                )),
                None => {
                    miss(format!("keep: {node} expected to stay as {code}, the plan does not mention it"))
                }
            },
        }
    }
}

/// What was wanted, if `value` is outside.
fn outside<T: PartialOrd + fmt::Display>(range: &Range<T>, value: T) -> Option<String> {
    let low = range.min.as_ref().is_some_and(|min| value < *min);
    let high = range.max.as_ref().is_some_and(|max| value > *max);
    if !low && !high {
        return None;
    }
    Some(match (&range.min, &range.max) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (Some(min), Some(max)) => format!("{min} to {max}"),
        (Some(min), None) => format!("at least {min}"),
        (None, Some(max)) => format!("at most {max}"),
        (None, None) => return None,
    })
}

fn nodes(expected: &[ExpectedNode], plan: &Plan, miss: &mut dyn FnMut(String)) {
    let slots: Vec<&ExpectedNode> =
        expected.iter().flat_map(|entry| std::iter::repeat_n(entry, entry.count.unwrap_or(1))).collect();
    let mut held: Vec<Option<usize>> = vec![None; plan.nodes.len()];
    let mut unmet = Vec::new();
    for slot in 0..slots.len() {
        let mut tried = vec![false; plan.nodes.len()];
        if !assign(slot, &slots, plan, &mut held, &mut tried) {
            unmet.push(slot);
        }
    }
    for slot in unmet {
        let entry = slots[slot];
        let near = plan.nodes.iter().zip(&held).find(|(_, holder)| holder.is_none());
        let near = near.map(|(node, _)| format!("; nearest is {}", describe(node))).unwrap_or_default();
        miss(format!("nodes: expected {}, no planned node is like that{near}", wanted(entry)));
    }
    for (node, _) in plan.nodes.iter().zip(&held).filter(|(_, holder)| holder.is_none()) {
        miss(format!("nodes: not expected: {}", describe(node)));
    }
    for entry in expected {
        let Some(pods) = &entry.pods else { continue };
        let pods: BTreeSet<ObjectName> = pods.iter().map(|pod| name(pod)).collect();
        let mine = plan
            .nodes
            .iter()
            .zip(&held)
            .filter(|(_, holder)| holder.is_some_and(|slot| std::ptr::eq(slots[slot], entry)));
        let there: BTreeSet<ObjectName> = mine.flat_map(|(node, _)| node.pods.iter().cloned()).collect();
        let missing: Vec<String> = pods.difference(&there).map(ToString::to_string).collect();
        if !missing.is_empty() && !there.is_empty() {
            miss(format!("nodes: {} lacks {}", wanted(entry), missing.join(", ")));
        }
    }
}

/// Finds a node for `slot`, moving others if need be.
fn assign(
    slot: usize,
    slots: &[&ExpectedNode],
    plan: &Plan,
    held: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for (index, node) in plan.nodes.iter().enumerate() {
        if tried[index] || !fits(slots[slot], node) {
            continue;
        }
        tried[index] = true;
        let free = match held[index] {
            None => true,
            Some(other) => assign(other, slots, plan, held, tried),
        };
        if free {
            held[index] = Some(slot);
            return true;
        }
    }
    false
}

fn fits(entry: &ExpectedNode, node: &PlannedNode) -> bool {
    let same = |wanted: &Option<String>, has: &str| wanted.as_deref().is_none_or(|wanted| wanted == has);
    let pods = |pods: &Vec<String>| {
        let pods: BTreeSet<ObjectName> = pods.iter().map(|pod| name(pod)).collect();
        node.pods.iter().all(|pod| pods.contains(pod))
    };
    same(&entry.node_pool, &node.pool)
        && same(&entry.zone, &node.offer.zone)
        && same(&entry.capacity_type, node.offer.capacity_type.as_str())
        && same(&entry.instance_type, &node.offer.instance_type)
        && entry.pods.as_ref().is_none_or(pods)
        && entry.max_usd_per_hour.is_none_or(|most| node.price <= most.0)
}

fn wanted(entry: &ExpectedNode) -> String {
    let texts = [&entry.instance_type, &entry.zone, &entry.capacity_type].into_iter().flatten().cloned();
    let mut parts: Vec<String> = texts.collect();
    parts.extend(entry.node_pool.as_ref().map(|pool| format!("of {pool}")));
    parts.extend(entry.max_usd_per_hour.map(|most| format!("for at most {most}")));
    parts.extend(entry.pods.as_ref().map(|pods| format!("with {}", pods.join(", "))));
    if parts.is_empty() { "a node".to_owned() } else { parts.join(" ") }
}

fn describe(node: &PlannedNode) -> String {
    let pods: Vec<String> = node.pods.iter().map(ToString::to_string).collect();
    let offer = &node.offer;
    format!(
        "{} {} {} of {} for ${} with {}",
        offer.instance_type,
        offer.zone,
        offer.capacity_type,
        node.pool,
        node.price,
        pods.join(", ")
    )
}

fn list(nodes: &[PlannedNode]) -> String {
    nodes.iter().take(10).map(|node| format!("\n  {}", describe(node))).collect()
}

/// A pod by its name, in the namespace `default` unless it says otherwise.
fn name(text: &str) -> ObjectName {
    let (namespace, name) = text.split_once('/').unwrap_or(("default", text));
    ObjectName::new(namespace, name)
}
