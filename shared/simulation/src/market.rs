//! The simulated EC2: picks what a NodeClaim gets, as a fleet with the strategies Karpenter asks for would.

use model::{CapacityType, Catalogue, InstanceType, NodeClaimDraft, Offering};

/// What is bought for a NodeClaim: reserved before Spot before on-demand, then the cheapest, then by name. None if
/// nothing that it allows can be had.
pub(crate) fn buy<'a>(
    catalogue: &'a Catalogue,
    draft: &NodeClaimDraft,
) -> Option<(&'a InstanceType, &'a Offering)> {
    let types = catalogue.types.get(&draft.node_class.name)?;
    let wants = &draft.requirements;
    let named = wants.get(model::labels::INSTANCE_TYPE);
    let suits = |kind: &&InstanceType| {
        named.is_none_or(|named| named.has(&kind.name))
            && kind.requirements.intersects(wants).is_ok()
            && draft.requests.exceeds(&kind.allocatable()).is_none()
    };
    let offers = types.iter().filter(suits).flat_map(|kind| {
        let open = kind.offerings.iter().filter(|offering| offering.available);
        open.filter(|offering| offering.requirements().intersects(wants).is_ok())
            .map(move |offering| (kind, offering))
    });
    offers.min_by(|(a_kind, a), (b_kind, b)| {
        let first = rank(a.capacity_type).cmp(&rank(b.capacity_type)).then(a.price.cmp(&b.price));
        first.then_with(|| a_kind.name.cmp(&b_kind.name)).then_with(|| a.zone.cmp(&b.zone))
    })
}

fn rank(capacity_type: CapacityType) -> u8 {
    match capacity_type {
        CapacityType::Reserved => 0,
        CapacityType::Spot => 1,
        CapacityType::OnDemand => 2,
    }
}
