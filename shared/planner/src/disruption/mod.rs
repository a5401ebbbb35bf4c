//! Which nodes go, what comes in their stead, and which rule keeps each of the others.
//!
//! The methods come in Karpenter's order, each seeing what those before it chose. What earlier runs began is gone on with
//! first.

mod budgets;
pub(crate) mod candidate;
pub(crate) mod command;
pub(crate) mod consolidation;
mod drift;
mod emptiness;
mod expiry;
pub(crate) mod findings;
mod renew;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use model::{ConsolidationPolicy, Effect, EventKind, KeepCode, Kept, Node, Plan, Snapshot};

use candidate::Scene;
use command::Decided;

/// A way to find nodes that go.
type Method = fn(&Scene) -> (Vec<Decided>, Vec<Kept>);

/// In Karpenter's order; with each, whether its nodes should go for their own sake, so that somebody is told if they can't.
const METHODS: [(Method, bool); 4] =
    [(emptiness::plan, false), (drift::plan, true), (expiry::plan, true), (consolidation::commands, false)];

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
    let scene = Scene::new(&seen, &nominated);
    for (index, node) in seen.cluster.nodes.iter().enumerate() {
        if !node.deleting && !stay.contains_key(&node.name) {
            let kept = at_rest(&scene, index, node);
            stay.insert(node.name.clone(), kept);
        }
    }
    for node in snapshot.cluster.nodes.iter().filter(|node| node.deleting) {
        stay.insert(
            node.name.clone(),
            candidate::kept(node, KeepCode::Waiting, "it is on its way out already"),
        );
    }
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
            command::say(node, EventKind::Normal, "DisruptionBlocked", &message, &mut effects);
        }
    }
    plan.effects.extend(effects);
}

/// Why a node stays that no method wants.
fn at_rest(scene: &Scene, index: usize, node: &Node) -> Kept {
    let why = || {
        scene.candidate(index, candidate::Urgency::Graceful)?;
        let pool = scene.pool(node).filter(|_| !scene.is_empty(node));
        let Some(pool) = pool else { return Ok(()) };
        candidate::left_alone(scene.snapshot, node, pool)?;
        match pool.disruption.policy {
            ConsolidationPolicy::WhenEmpty => {
                Err(candidate::kept(node, KeepCode::Disabled, "its NodePool gives up empty nodes only"))
            }
            _ => Ok(()),
        }
    };
    let needed = || candidate::kept(node, KeepCode::NoSaving, "no cheaper way to hold its pods is worth it");
    why().err().unwrap_or_else(needed)
}
