//! Whether a node's labels are what somebody asks for, before and after the node exists.

use std::collections::{BTreeMap, BTreeSet};

use super::market::Market;
use crate::cluster::NodePool;
use crate::effect::NodeClaimDraft;
use crate::labels;
use crate::plan::PlannedNode;
use crate::requirement::{Operator, Requirement};
use crate::requirements::Requirements;

/// A conjunction, and alternatives of which one must hold if there are any.
#[derive(Clone, Copy, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Wants<'a> {
    pub always: Option<&'a Requirements>,
    pub one_of: &'a [Requirements],
}

impl<'a> Wants<'a> {
    /// Whether `holds` says yes to what must hold.
    fn judge(&self, mut holds: impl FnMut(&'a Requirements) -> bool) -> bool {
        self.always.is_none_or(&mut holds) && (self.one_of.is_empty() || self.one_of.iter().any(holds))
    }

    /// kube-scheduler's view of a node that exists.
    pub fn match_labels(&self, labels: &BTreeMap<String, String>) -> bool {
        self.judge(|requirements| requirements.match_labels(labels))
    }

    /// Whether a node with this value of `key` could be right, whatever its other labels are.
    pub fn allow(&self, key: &str, value: &str) -> bool {
        self.judge(|requirements| requirements.get(key).is_none_or(|requirement| requirement.has(value)))
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.always.is_none_or(Requirements::is_empty) && self.one_of.is_empty()
    }
}

/// What a planned node will be whatever option is taken. Alike nodes share one.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Profile {
    /// The pool's class.
    pub class: String,
    /// Pool, pinned labels and claim together, less the list of types.
    pub needs: Requirements,
    /// A label on which those contradict each other.
    pub contradiction: Option<String>,
}

impl Profile {
    pub fn new(pool: Option<&NodePool>, node: &PlannedNode, draft: Option<&NodeClaimDraft>) -> Self {
        let mut profile = Self {
            class: pool.map(|pool| pool.node_class.name.clone()).unwrap_or_default(),
            needs: pool.map(NodePool::node_requirements).unwrap_or_default(),
            contradiction: None,
        };
        profile.narrow(&Requirements::from_labels(&node.pinned));
        if let Some(draft) = draft {
            profile.narrow(&Requirements::from_labels(&draft.labels));
            let mut requirements = draft.requirements.as_ref().clone();
            requirements.remove(labels::INSTANCE_TYPE);
            profile.narrow(&requirements);
        }
        profile.become_node();
        profile
    }

    /// What any node of a pool will be.
    pub fn of_pool(pool: &NodePool) -> Self {
        let class = pool.node_class.name.clone();
        let mut profile = Self { class, needs: pool.node_requirements(), contradiction: None };
        profile.become_node();
        profile
    }

    fn become_node(&mut self) {
        for key in [labels::REGISTERED, labels::INITIALIZED] {
            self.needs.replace(key, Requirement::is_in(["true"]));
        }
    }

    fn narrow(&mut self, more: &Requirements) {
        if let Err(conflict) = self.needs.intersects(more) {
            self.contradiction.get_or_insert(conflict.key);
        }
        self.needs.add_all(more);
    }
}

/// What is known of one label of a node to come.
pub(super) enum Known {
    /// Nobody sets it.
    Undefined,
    /// One of these values; none means absent.
    Values(Requirement),
    /// Nothing can satisfy all sides.
    Contradiction,
}

impl Known {
    /// The values it can take, as far as they can be counted.
    pub fn values(self) -> BTreeSet<String> {
        match self {
            Self::Values(requirement) => requirement.values().cloned().unwrap_or_default(),
            Self::Undefined | Self::Contradiction => BTreeSet::new(),
        }
    }
}

fn offered(market: &Market<'_>, offering: usize, key: &str) -> Option<Requirement> {
    let (kind, offering) = market.offerings[offering];
    let kind = &market.types[kind];
    let reserved = offering.reservation.as_ref();
    let exactly = |value: &str| Some(Requirement::is_in([value]));
    let absent = || Some(Requirement::does_not_exist());
    match key {
        labels::ZONE => exactly(&offering.zone),
        labels::CAPACITY_TYPE => exactly(offering.capacity_type.as_str()),
        labels::USD_PER_HOUR => exactly(&offering.price.0.to_string()),
        labels::ZONE_ID if offering.zone_id.is_some() => offering.zone_id.as_deref().and_then(exactly),
        labels::RESERVATION_ID => reserved.map_or_else(absent, |reservation| exactly(&reservation.id)),
        labels::RESERVATION_TYPE => reserved.map_or_else(absent, |reservation| exactly(&reservation.kind)),
        labels::RESERVATION_INTERRUPTIBLE => {
            reserved.map_or_else(absent, |reservation| exactly(&reservation.interruptible.to_string()))
        }
        labels::INSTANCE_TYPE => exactly(&kind.name),
        _ => kind.requirements.get(key).cloned(),
    }
}

/// What is known of `key` on a node of this profile bought that way.
pub(super) fn known(profile: &Profile, market: &Market<'_>, offering: usize, key: &str) -> Known {
    let needs = profile.needs.get(key);
    match (needs, offered(market, offering, key)) {
        (None, None) => Known::Undefined,
        (None, Some(one)) => Known::Values(one),
        (Some(one), None) => Known::Values(one.clone()),
        (Some(one), Some(two)) => {
            if one.intersects(&two) {
                Known::Values(one.intersection(&two))
            } else if one.allows_absence() && two.allows_absence() {
                Known::Values(Requirement::does_not_exist())
            } else {
                Known::Contradiction
            }
        }
    }
}

/// Whether an offering agrees with the profile itself: pool, claim and pinned labels.
pub(super) fn agrees(profile: &Profile, market: &Market<'_>, offering: usize) -> bool {
    let mut keys = profile.needs.iter();
    keys.all(|(key, _)| !matches!(known(profile, market, offering, key), Known::Contradiction))
}

/// Whether every node of the profile bought that way has labels that satisfy `wants`. `sure` leaves no doubt
/// standing; else a label that only the instance can tell, and one that may stay absent, are taken to be right.
pub(super) fn suits(
    profile: &Profile,
    market: &Market<'_>,
    offering: usize,
    wants: &Wants<'_>,
    sure: bool,
) -> bool {
    wants.judge(|requirements| {
        requirements.iter().all(|(key, wanted)| match known(profile, market, offering, key) {
            Known::Undefined => wanted.allows_absence() || (!sure && labels::is_well_known(key)),
            Known::Values(has) => within(&has, wanted, sure),
            Known::Contradiction => false,
        })
    })
}

/// Whether whatever `has` allows is also what `wanted` allows.
fn within(has: &Requirement, wanted: &Requirement, sure: bool) -> bool {
    match has.operator() {
        Operator::DoesNotExist => wanted.allows_absence(),
        Operator::NotIn if !sure && wanted.allows_absence() => true,
        _ => has.intersection(wanted).with_min_values(None) == has.clone().with_min_values(None),
    }
}
