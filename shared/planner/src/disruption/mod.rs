//! Which nodes go, what comes in their stead, and which rule keeps each of the others.
//!
//! Broken nodes go first, then those that a pool has too many of; the methods that follow come in Karpenter's order, each
//! seeing what those before it chose. What earlier runs began is gone on with before all.

mod budgets;
mod canary;
pub(crate) mod candidate;
pub(crate) mod command;
pub(crate) mod consolidation;
mod drift;
mod emptiness;
mod expiry;
pub(crate) mod findings;
mod fixed;
mod renew;
mod repair;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use model::{Effect, EventKind, KeepCode, Kept, Plan, Snapshot};

use candidate::Scene;
use command::Decided;

use crate::provision;

/// A way to find nodes that go. The last speaks of every node that those before it left out.
type Method = fn(&Scene) -> (Vec<Decided>, Vec<Kept>);

/// In their order; with each, whether its nodes should go for their own sake, so that somebody is told if they can't.
const METHODS: [(Method, bool); 6] = [
    (repair::plan, true),
    (fixed::surplus, false),
    (emptiness::plan, false),
    (drift::plan, true),
    (expiry::plan, true),
    (consolidation::commands, false),
];

/// Which nodes may go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Of {
    /// Any.
    All,
    /// Those that are closed to new pods: nothing can have landed on them since.
    Closed,
}

/// Plans which nodes go.
pub(crate) fn plan(snapshot: &Snapshot, of: Of, plan: &mut Plan) {
    let mut effects = Vec::new();
    let waiting = command::resume(snapshot, &mut effects);
    let mut stay: BTreeMap<String, Kept> =
        waiting.into_iter().map(|kept| (kept.node.clone(), kept)).collect();
    let mut seen = Cow::Borrowed(snapshot);
    let mut all: Vec<Decided> = Vec::new();
    // Nodes that should go and can't.
    let mut urgent: BTreeSet<String> = BTreeSet::new();
    let mut nominated = candidate::nominated(&seen, plan);
    repair::hurry(&Scene::new(&seen, &nominated), &mut effects);
    for (method, should) in METHODS {
        let scene = Scene::new(&seen, &nominated);
        let (decided, kept) = method(&if of == Of::Closed { scene.closed_only() } else { scene });
        for kept in kept {
            // What keeps a node that should go says more than what keeps it as an empty one.
            if should && urgent.insert(kept.node.clone()) {
                stay.insert(kept.node.clone(), kept);
            } else {
                stay.entry(kept.node.clone()).or_insert(kept);
            }
        }
        for node in decided.iter().flat_map(|decided| &decided.nodes) {
            seen.to_mut().cluster.nodes[*node].deleting = true;
        }
        if !decided.is_empty() {
            nominated = candidate::nominated(&seen, plan);
        }
        all.extend(decided);
    }
    for node in &nominated {
        // Where pods of nodes that go will be is settled only now.
        if let Some(kept) = stay.get_mut(node).filter(|kept| !urgent.contains(node) && kept.code.is_verdict())
        {
            kept.code = KeepCode::Nominated;
            kept.message = "pods of nodes that go are going to use it".to_owned();
        }
    }
    for decided in &all {
        decided.command.nodes.iter().for_each(|node| drop(stay.remove(node)));
        command::begin(snapshot, decided, &mut effects);
    }
    let leave_marks_off = |effects: &mut Vec<Effect>| {
        // A mark without replacements is what is left of a run that was cut off.
        let nodes = snapshot.cluster.nodes.iter().zip(&seen.cluster.nodes);
        for (node, _) in nodes.filter(|(before, now)| before.deleting == now.deleting && !before.is_going()) {
            if node.disruption.mark.is_some() {
                command::unmark(node, effects);
            }
        }
    };
    leave_marks_off(&mut effects);
    for node in snapshot.cluster.nodes.iter().filter(|node| node.deleting) {
        stay.insert(
            node.name.clone(),
            candidate::kept(node, KeepCode::Waiting, "it is on its way out already"),
        );
    }
    let scene = Scene::new(&seen, &nominated);
    let ours = seen.cluster.nodes.iter().filter_map(|node| Some((node, scene.pool(node)?)));
    plan.price_before = Some(ours.map(|(node, pool)| scene.price(node, pool)).sum());
    plan.disruptions = all.into_iter().map(|decided| decided.command).collect();
    plan.kept = stay.into_values().collect();
    for kept in &plan.kept {
        // Told where somebody looks for why a node doesn't go that should.
        let blocked = matches!(kept.code, KeepCode::Pdb | KeepCode::MultiplePdbs)
            || (urgent.contains(&kept.node) && kept.code != KeepCode::Waiting);
        if let Some(node) = snapshot.cluster.nodes.iter().find(|node| blocked && node.name == kept.node) {
            let message = format!("{}: {}", kept.code.as_str(), kept.message);
            let (kind, reason) = match kept.code {
                KeepCode::TooManyUnhealthy => (EventKind::Warning, "NodeRepairBlocked"),
                _ => (EventKind::Normal, "DisruptionBlocked"),
            };
            command::say(node, kind, reason, &message, &mut effects);
        }
    }
    plan.effects.extend(effects);
    // What pools with a number of nodes lack, as it was before anything was decided: what goes now is missing next.
    for (node, draft) in provision::missing(snapshot) {
        if !plan.nodes.iter().any(|planned| planned.name == node.name) {
            plan.nodes.push(node);
            plan.effects.push(Effect::CreateNodeClaim(draft));
        }
    }
}

#[cfg(test)]
mod tests;
