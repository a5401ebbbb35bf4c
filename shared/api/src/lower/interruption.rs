//! What announcements are about: the NodeClaims and Nodes of the machines that they name.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{InterruptionSnapshot, Notice, machine_id};

use super::error::{InputFault, LowerError};
use super::objects::{Objects, name_of};
use super::single;

/// What the announcements `notices` find among `objects`.
pub fn interruption(
    objects: &Objects,
    now: Timestamp,
    notices: Vec<Notice>,
) -> Result<InterruptionSnapshot, LowerError> {
    if objects.is_empty() && objects.faults.is_empty() {
        return Err(LowerError::NoObjects);
    }
    let named: BTreeSet<&str> =
        notices.iter().flat_map(|notice| &notice.instances).map(String::as_str).collect();
    let is_named = |id: &str| named.contains(machine_id(id));
    let mut faults = objects.faults.clone();
    let mut claims = Vec::new();
    for entry in &objects.claims {
        match single::claim(&entry.object) {
            Ok(claim) => {
                claims.extend(Some(claim).filter(|it| it.provider_id.as_deref().is_some_and(is_named)))
            }
            Err(message) => faults.push(InputFault { place: entry.place.clone(), message, help: None }),
        }
    }
    let nodes = objects.nodes.iter().filter_map(|entry| single::claim_node(&entry.object));
    let nodes = nodes.filter(|node| is_named(&node.provider_id)).collect();
    LowerError::check(faults)?;
    let pools = objects.pools.iter().map(|entry| &entry.object.metadata);
    let annotations: BTreeMap<_, _> =
        pools.map(|meta| (name_of(meta).name, meta.annotations.clone().unwrap_or_default())).collect();
    let rebalancing_pools = InterruptionSnapshot::rebalancing(&annotations);
    Ok(InterruptionSnapshot { now, notices, claims, nodes, rebalancing_pools })
}
