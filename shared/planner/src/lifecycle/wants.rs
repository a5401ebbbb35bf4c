//! What has to be read to decide about NodeClaims.

use std::collections::BTreeSet;

use model::{Claim, ClaimNode};

use super::{REGISTERED, tagging, view};

/// What to read beside the NodeClaims and their Nodes.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Wants {
    /// Classes: their types and whether they can be used.
    pub classes: BTreeSet<String>,
    /// Launch groups: their machines, ended ones too.
    pub groups: BTreeSet<String>,
    /// Machines by provider id, ended ones too.
    pub provider_ids: BTreeSet<String>,
    /// Nodes: the pods on them and the volumes attached to them.
    pub pods_on: BTreeSet<String>,
    /// Pods that are bound to no node, if kube-scheduler is to be told where they were planned to go.
    pub unbound: bool,
}

/// The group a NodeClaim is launched in: its own, if nobody gave it one.
pub fn launch_group(claim: &Claim) -> &str {
    claim.launch_group.as_deref().filter(|group| !group.is_empty()).unwrap_or(&claim.uid)
}

/// What to read to look after `claims`, whose Nodes are `nodes`, and after Nodes without a NodeClaim. The rest costs
/// requests and changes nothing.
pub fn wants(claims: &[Claim], nodes: &[ClaimNode], orphans: &[ClaimNode]) -> Wants {
    let unbound = claims.iter().any(tagging::is_awaited);
    let mut wants = Wants { unbound, ..Wants::default() };
    for claim in claims {
        let own = || nodes.iter().filter(|node| Some(&node.provider_id) == claim.provider_id.as_ref());
        match &claim.provider_id {
            None => {
                wants.groups.insert(launch_group(claim).to_owned());
                wants.classes.insert(claim.node_class.name.clone());
            }
            Some(id) => {
                let unwell = claim.is(REGISTERED) && !own().any(view::is_ready);
                if claim.deleting.is_some() || unwell || tagging::is_due(claim) {
                    wants.provider_ids.insert(id.clone());
                }
            }
        }
        let going = own().filter(|node| claim.deleting.is_some() || node.deleting.is_some());
        wants.pods_on.extend(going.map(|node| node.name.clone()));
    }
    for node in orphans {
        wants.provider_ids.insert(node.provider_id.clone());
        wants.pods_on.insert(node.name.clone());
    }
    wants
}
