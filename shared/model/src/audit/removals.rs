//! A node that goes as empty is left by all that would miss it.

use super::view::View;
use crate::effect::Effect;
use crate::pod::Phase;

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let empty = view.plan.effects.iter().filter_map(|effect| match effect {
        Effect::DeleteNodeClaim { claim, reason, .. } if reason == "Empty" => Some(claim),
        _ => None,
    });
    empty.filter_map(|claim| needed(view, claim)).collect()
}

fn needed(view: &View<'_>, claim: &str) -> Option<String> {
    let node = view.nodes.values().find(|node| node.claim.as_deref() == Some(claim))?;
    let own = |pod: &&crate::Pod| {
        let counts = !pod.daemon && !pod.mirror && !pod.terminating && pod.phase != Phase::Terminal;
        counts && is_missed(pod)
    };
    let mut there =
        view.pods.values().map(|(pod, _)| *pod).filter(|pod| pod.node.as_ref() == Some(&node.name));
    if let Some(pod) = there.find(own) {
        return Some(format!("NodeClaim {claim} is to go as empty, but pod {} is on its node", pod.name));
    }
    let pod = view.plan.existing.get(&node.name)?.first()?;
    Some(format!("NodeClaim {claim} is to go as empty, but its node is to take pod {pod}"))
}

/// What Karpenter takes an eviction to cost, in units of 2⁻²⁷: a pod that costs nothing may be lost with its node.
fn is_missed(pod: &crate::Pod) -> bool {
    let (deletion, priority) = (i64::from(pod.disruption.deletion_cost), i64::from(pod.spec.priority));
    (1 << 27) + deletion + 4 * priority > 0
}
