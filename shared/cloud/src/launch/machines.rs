//! Which offers can share a launch template.

use std::collections::BTreeMap;

use api::crd::Ami;
use catalog::capacity::pods;
use catalog::overhead::kube_reserved;
use catalog::{ClassShape, Ec2Catalogue};
use model::{InstanceType, Offer, Operator, Requirement, Requirements, Resources};
use serde::{Deserialize, Serialize};

/// Machines that start alike: one launch template.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machine {
    /// The image's id.
    pub image: String,
    /// How many pods the kubelet is to run.
    pub max_pods: u64,
    /// What the kubelet is to keep for itself and the container runtime.
    pub kube_reserved: Resources,
    /// Most EFA interfaces.
    pub efas: u16,
    /// The id of the reservation it draws on.
    pub reservation: Option<String>,
    /// User data as the machine reads it: made from the fields above, and so left empty by [`machines`].
    pub user_data: String,
    /// The ways to buy it, in the order given.
    pub offers: Vec<Offer>,
}

impl Machine {
    fn starts_like(&self, other: &Self) -> bool {
        let same = (&self.image, self.max_pods, self.efas) == (&other.image, other.max_pods, other.efas);
        same && self.kube_reserved == other.kube_reserved && self.reservation == other.reservation
    }
}

/// Offers sorted by what they start with.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Machines {
    /// In the order of their first offers.
    pub machines: Vec<Machine>,
    /// Instance types that no image of the class suits, or that the catalogue doesn't know.
    pub without_image: Vec<String>,
}

/// Sorts the offers of a launch order. `types` are the class's, `amis` those of its status: the first that suits a
/// type is its image.
pub fn machines(
    offers: &[Offer],
    catalogue: &Ec2Catalogue,
    shape: &ClassShape,
    types: &[InstanceType],
    amis: &[Ami],
) -> Machines {
    let images: Vec<(&str, Requirements)> =
        amis.iter().map(|ami| (ami.id.as_str(), ami_requirements(ami))).collect();
    let mut out = Machines::default();
    let mut seen: BTreeMap<&str, Option<Machine>> = BTreeMap::new();
    for offer in offers {
        let name = offer.instance_type.as_str();
        let bare = seen.entry(name).or_insert_with(|| {
            let kind = types.iter().find(|kind| kind.name == name)?;
            let facts = catalogue.get(name)?;
            let suits = |image: &&(&str, Requirements)| kind.requirements.intersects(&image.1).is_ok();
            Some(Machine {
                image: images.iter().find(suits)?.0.to_owned(),
                max_pods: pods(facts, shape),
                kube_reserved: kube_reserved(facts, shape),
                efas: facts.efas,
                reservation: None,
                user_data: String::new(),
                offers: Vec::new(),
            })
        });
        let Some(bare) = bare else {
            if !out.without_image.iter().any(|known| known == name) {
                out.without_image.push(name.to_owned());
            }
            continue;
        };
        let bare = Machine { reservation: offer.reservation.clone(), ..bare.clone() };
        match out.machines.iter_mut().find(|machine| machine.starts_like(&bare)) {
            Some(machine) => machine.offers.push(offer.clone()),
            None => out.machines.push(Machine { offers: vec![offer.clone()], ..bare }),
        }
    }
    out
}

/// What an image asks of an instance type. A requirement that can't be read suits none.
fn ami_requirements(ami: &Ami) -> Requirements {
    let mut out = Requirements::new();
    for requirement in &ami.requirements {
        let values = requirement.values.iter().flatten().cloned();
        let read = Operator::from_name(&requirement.operator);
        let read = read.and_then(|operator| Requirement::new(operator, values));
        out.add(&requirement.key, read.unwrap_or_else(Requirement::does_not_exist));
    }
    out
}
