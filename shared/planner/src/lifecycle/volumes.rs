//! Volumes that have to let go of a node before its machine ends.

use std::collections::BTreeSet;

use model::ClaimNode;

use super::drain::is_drainable;
use super::view::View;

/// Persistent volumes that are waited for, in name order: those of pods that stay on the node never let go.
pub(super) fn attached<'a>(view: &View<'a>, node: &ClaimNode) -> BTreeSet<&'a str> {
    let staying = view.pods_on(&node.name).iter().filter(|pod| !is_drainable(pod, view.now()));
    let kept: BTreeSet<&str> = staying.flat_map(|pod| pod.volumes.iter().map(String::as_str)).collect();
    let attached = view.attached_to(&node.name).iter().map(|attachment| attachment.volume.as_str());
    attached.filter(|volume| !volume.is_empty() && !kept.contains(volume)).collect()
}
