//! A successor before a pod leaves, where the pod asks for one (`journeyman.dev/surge`): its Deployment is restarted, the
//! successor starts on another node, and once that is Ready the Deployment itself takes the pod away.
//!
//! Nothing is remembered: a pod carries the time of the restart that it came with, its Deployment that of the last one.

use jiff::{SignedDuration, Timestamp};
use model::{BoundPod, ClaimNode, Deployment, ObjectName, RestartOrder, Rollout, Surge, labels};

use super::view::View;
use crate::peace;

/// How a pod leaves.
#[derive(Debug)]
pub(super) enum Leave {
    /// By eviction; and why so, if it asks for a successor.
    Evict(Option<String>),
    /// By its Deployment, which is to be restarted for it; evicted if it is still there by then.
    Restart(Box<RestartOrder>, Timestamp),
    /// By its Deployment, which is at it; evicted if it is still there by then.
    Wait(Timestamp),
}

/// How `pod` leaves `node`, whose drain began at `begun`.
pub(super) fn leave(view: &View<'_>, node: &ClaimNode, pod: &BoundPod, begun: Timestamp) -> Leave {
    let Some(surge) = pod.surge.as_ref().filter(|surge| surge.text != "false") else {
        return Leave::Evict(None);
    };
    match successor(view, node, pod, surge, begun) {
        Ok(leave) => leave,
        Err(why) => Leave::Evict(Some(format!("no successor first: {why}"))),
    }
}

/// How a successor comes, or why none does.
fn successor(
    view: &View<'_>,
    node: &ClaimNode,
    pod: &BoundPod,
    surge: &Surge,
    begun: Timestamp,
) -> Result<Leave, String> {
    if !surge.is_wanted() {
        return Err(format!("{} is {:?}, which is neither true nor false", labels::SURGE, surge.text));
    }
    let Some(name) = &surge.deployment else { return Err("it is of no Deployment".to_owned()) };
    let name = ObjectName::new(&pod.name.namespace, name);
    let Some(Deployment { rollout, .. }) = view.deployment(&name) else {
        return Err(format!("there is no Deployment {}", name.name));
    };
    let Some(rollout) = rollout else {
        return Err("the rights get and patch for deployments of the group apps are not given".to_owned());
    };
    if let Some(why) = obstacle(rollout) {
        return Err(format!("Deployment {} {why}", name.name));
    }
    if let Some(attached) = view.attached_to(&node.name).iter().find(|it| pod.volumes.contains(&it.volume)) {
        return Err(format!("volume {} can't be elsewhere while the pod has it", attached.volume));
    }
    let restarted = rollout.restarted.as_deref().and_then(|text| text.parse::<Timestamp>().ok());
    let asked = restarted.map(|restarted| restarted.min(view.now()));
    let peace = peace::end(pod.do_not_disrupt.as_deref(), pod.started);
    let since = [asked, peace].into_iter().flatten().fold(begun, Timestamp::max);
    let patience = rollout.progress_deadline_seconds;
    let end = since.checked_add(SignedDuration::from_secs(patience)).unwrap_or(Timestamp::MAX);
    if end <= view.now() {
        return Err(format!("none was Ready within {patience} s"));
    }
    if surge.restarted != rollout.restarted {
        return Ok(Leave::Wait(end));
    }
    let order = RestartOrder {
        deployment: name,
        uid: rollout.uid.clone(),
        restarted: rollout.restarted.clone(),
        at: view.now(),
        pod: pod.name.name.clone(),
        pod_uid: pod.uid.clone(),
        node: node.name.clone(),
    };
    Ok(Leave::Restart(Box::new(order), end))
}

/// Why a restart would bring no successor that is Ready before the pod is gone.
fn obstacle(rollout: &Rollout) -> Option<String> {
    let fixed = match rollout {
        Rollout { deleting: true, .. } => "is going",
        Rollout { replicas, .. } if *replicas != 1 => {
            return Some(format!("has {replicas} replicas, not one"));
        }
        Rollout { rolling: false, .. } => "is of the strategy Recreate",
        Rollout { paused: true, .. } => "is paused",
        Rollout { max_surge: ..1, .. } => "allows no pod beyond its replicas (maxSurge)",
        Rollout { max_unavailable: 1.., .. } => {
            "need not keep the pod until another is Ready (maxUnavailable)"
        }
        _ => return None,
    };
    Some(fixed.to_owned())
}
