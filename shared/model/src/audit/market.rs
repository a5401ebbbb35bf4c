//! The catalogue of one EC2NodeClass, with every offering numbered.

use std::collections::BTreeMap;

use crate::catalogue::{InstanceType, Offering};
use crate::plan::Offer;
use crate::resources::Resources;

/// What one class has to choose from.
pub(super) struct Market<'a> {
    pub types: &'a [InstanceType],
    /// What each type gives to pods and daemons.
    pub allocatable: Vec<Resources>,
    /// Every offering with the index of its type.
    pub offerings: Vec<(usize, &'a Offering)>,
    by_name: BTreeMap<&'a str, usize>,
    first: Vec<usize>,
}

impl<'a> Market<'a> {
    pub fn new(types: &'a [InstanceType]) -> Self {
        let mut offerings = Vec::new();
        let mut first = Vec::new();
        for (index, kind) in types.iter().enumerate() {
            first.push(offerings.len());
            offerings.extend(kind.offerings.iter().map(|offering| (index, offering)));
        }
        Self {
            types,
            allocatable: types.iter().map(InstanceType::allocatable).collect(),
            offerings,
            by_name: types.iter().enumerate().map(|(index, kind)| (kind.name.as_str(), index)).collect(),
            first,
        }
    }

    /// The type of that name.
    pub fn kind(&self, name: &str) -> Option<&'a InstanceType> {
        self.by_name.get(name).map(|&index| &self.types[index])
    }

    /// The number of the offering that `offer` names.
    pub fn find(&self, offer: &Offer) -> Option<usize> {
        let kind = *self.by_name.get(offer.instance_type.as_str())?;
        let place = self.types[kind].offerings.iter().position(|offering| {
            offering.zone == offer.zone
                && offering.capacity_type == offer.capacity_type
                && offering.reservation.as_ref().map(|reservation| &reservation.id)
                    == offer.reservation.as_ref()
        })?;
        Some(self.first[kind] + place)
    }
}
