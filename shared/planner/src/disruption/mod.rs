//! Which nodes go, what comes in their stead, and which rule keeps each of the others.
//!
//! The methods come in Karpenter's order, each seeing what those before it chose. What earlier runs began is gone on with
//! first.

mod budgets;
pub(crate) mod candidate;
pub(crate) mod command;
pub(crate) mod consolidation;
mod emptiness;

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::{Effect, KeepCode, Kept, Plan, Snapshot};

use candidate::Scene;
use command::Decided;

/// A way to find nodes that go.
type Method = fn(&Scene) -> (Vec<Decided>, Vec<Kept>);

const METHODS: [Method; 1] = [emptiness::plan];

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
    for method in METHODS {
        let (mut decided, kept) = method(&Scene::new(&seen, plan));
        if of == Of::Closed {
            let is_closed = |node: &usize| snapshot.cluster.nodes[*node].disruption.mark.is_some();
            decided.retain(|decided| decided.nodes.iter().all(is_closed));
        }
        for kept in kept {
            stay.entry(kept.node.clone()).or_insert(kept);
        }
        for node in decided.iter().flat_map(|decided| &decided.nodes) {
            seen.to_mut().cluster.nodes[*node].deleting = true;
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
    let scene = Scene::new(&seen, plan);
    for (index, node) in seen.cluster.nodes.iter().enumerate() {
        if !node.deleting && !stay.contains_key(&node.name) {
            let kept = scene.candidate(index, candidate::Urgency::Graceful).err();
            let kept = kept.unwrap_or_else(|| candidate::kept(node, KeepCode::NoSaving, "its pods need it"));
            stay.insert(node.name.clone(), kept);
        }
    }
    for node in snapshot.cluster.nodes.iter().filter(|node| node.deleting) {
        stay.insert(
            node.name.clone(),
            candidate::kept(node, KeepCode::Waiting, "it is on its way out already"),
        );
    }
    plan.disruptions = all.into_iter().map(|decided| decided.command).collect();
    plan.kept = stay.into_values().collect();
    plan.effects.extend(effects);
}
