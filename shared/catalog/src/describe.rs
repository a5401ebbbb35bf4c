//! The labels of an instance type, as requirements: one for every label it could have.

use std::collections::BTreeSet;

use model::{CapacityType, Requirement, Requirements, labels};

use crate::class::{CapacityReservation, ClassShape};
use crate::raw::{Ec2Catalogue, Ec2Type};

const TENANCIES: [&str; 2] = ["default", "dedicated"];

/// `kubernetes.io/arch` of a type, unless Kubernetes doesn't run on it.
pub fn architecture(kind: &Ec2Type) -> Option<&'static str> {
    kind.architectures.iter().find_map(|name| match name.as_str() {
        "x86_64" => Some("amd64"),
        "arm64" => Some("arm64"),
        _ => None,
    })
}

/// Zones in which the type is offered and the class has a subnet, in name order.
pub fn zones<'a>(kind: &'a Ec2Type, class: &ClassShape) -> Vec<&'a str> {
    let allowed = |zone: &str| class.zones.as_ref().is_none_or(|zones| zones.contains(zone));
    kind.zones.keys().map(String::as_str).filter(|zone| allowed(zone)).collect()
}

/// How the type can be bought without a reservation.
pub fn capacity_types(kind: &Ec2Type) -> impl Iterator<Item = CapacityType> {
    let classes = [CapacityType::Spot, CapacityType::OnDemand];
    classes.into_iter().filter(|class| kind.usage_classes.iter().any(|name| name == class.as_str()))
}

/// All labels of `kind` under `class`; what it lacks is asked not to exist.
pub fn requirements(
    catalogue: &Ec2Catalogue,
    kind: &Ec2Type,
    class: &ClassShape,
    reservations: &[&CapacityReservation],
) -> Requirements {
    let mut out = Requirements::new();
    let zones = zones(kind, class);
    let zone_ids = catalogue.zones.iter().filter(|zone| zones.contains(&zone.name.as_str()));
    out.replace(labels::INSTANCE_TYPE, Requirement::is_in([kind.name.as_str()]));
    out.replace(labels::ARCH, Requirement::is_in(architecture(kind)));
    let windows = class.ami_family.windows_build();
    let os = match windows {
        None => Some("linux"),
        Some(_) => (architecture(kind) == Some("amd64")).then_some("windows"),
    };
    out.replace(labels::OS, Requirement::is_in(os));
    out.replace(labels::WINDOWS_BUILD, Requirement::is_in(windows));
    out.replace(labels::REGION, Requirement::is_in([catalogue.region.as_str()]));
    out.replace(labels::ZONE, Requirement::is_in(zones.iter().copied()));
    out.replace(labels::ZONE_ID, Requirement::is_in(zone_ids.map(|zone| zone.id.as_str())));
    let reserved = (!reservations.is_empty()).then_some(CapacityType::Reserved);
    let ways = capacity_types(kind).chain(reserved).map(CapacityType::as_str);
    out.replace(labels::CAPACITY_TYPE, Requirement::is_in(ways));
    let each = |of: fn(&CapacityReservation) -> String| -> BTreeSet<String> {
        reservations.iter().map(|reservation| of(reservation)).collect()
    };
    out.replace(labels::RESERVATION_ID, Requirement::is_in(each(|it| it.id.clone())));
    out.replace(labels::RESERVATION_TYPE, Requirement::is_in(each(|it| it.kind.clone())));
    out.replace(
        labels::RESERVATION_INTERRUPTIBLE,
        Requirement::is_in(each(|it| it.interruptible.to_string())),
    );
    for (name, value) in instance(kind) {
        out.replace(&format!("karpenter.k8s.aws/{name}"), Requirement::is_in(value));
    }
    out.replace("karpenter.k8s.aws/instance-tenancy", Requirement::is_in(TENANCIES));
    if let Some(group) = &class.placement_group {
        out.replace(labels::PLACEMENT_GROUP_ID, Requirement::is_in([group.id.as_str()]));
        if group.strategy == "partition" {
            let partitions = (1..=group.partitions).map(|partition| partition.to_string());
            out.replace("karpenter.k8s.aws/placement-group-partition", Requirement::is_in(partitions));
        }
    }
    out
}

/// The labels under `karpenter.k8s.aws/` that have at most one value.
fn instance(kind: &Ec2Type) -> Vec<(&'static str, Option<String>)> {
    let (family, size) = match kind.name.split_once('.') {
        Some((family, size)) => (Some(family.to_owned()), Some(size.to_owned())),
        None => (None, None),
    };
    let (category, generation) = scheme(&kind.name).unzip();
    let flex = family.as_ref().is_some_and(|family| family.contains("-flex"));
    let gpu = if let [gpu] = kind.gpus.as_slice() { Some(gpu) } else { None };
    let accelerator = match (kind.neuron.as_slice(), kind.accelerators.as_slice()) {
        ([device], _) => Some((kebab(&device.name), "aws".to_owned(), device.count)),
        ([], [one]) => Some((kebab(&one.name), kebab(&one.manufacturer), one.count)),
        _ => None,
    };
    let nvme = kind.storage.filter(|storage| storage.nvme).map(|storage| storage.gigabytes.to_string());
    vec![
        ("instance-cpu", Some(kind.cpus.to_string())),
        ("instance-cpu-manufacturer", kind.manufacturer.as_deref().map(kebab)),
        ("instance-cpu-sustained-clock-speed-mhz", kind.clock_mhz.map(|mhz| mhz.to_string())),
        ("instance-memory", Some(kind.memory_mib.to_string())),
        ("instance-ebs-bandwidth", kind.ebs_mbps.map(|mbps| mbps.to_string())),
        ("instance-network-bandwidth", kind.network_mbps.map(|mbps| mbps.to_string())),
        ("instance-category", category),
        ("instance-generation", generation),
        ("instance-family", family),
        ("instance-size", size),
        ("instance-capability-flex", Some(flex.to_string())),
        ("instance-local-nvme", nvme),
        ("instance-gpu-name", gpu.map(|gpu| kebab(&gpu.name))),
        ("instance-gpu-manufacturer", gpu.map(|gpu| kebab(&gpu.manufacturer))),
        ("instance-gpu-count", gpu.map(|gpu| gpu.count.to_string())),
        ("instance-gpu-memory", gpu.map(|gpu| gpu.memory_mib.to_string())),
        ("instance-accelerator-name", accelerator.as_ref().map(|(name, _, _)| name.clone())),
        ("instance-accelerator-manufacturer", accelerator.as_ref().map(|(_, maker, _)| maker.clone())),
        ("instance-accelerator-count", accelerator.as_ref().map(|(_, _, count)| count.to_string())),
        // Metal has the label too, with nothing in it.
        ("instance-hypervisor", Some(kind.hypervisor.clone().unwrap_or_default())),
        ("instance-encryption-in-transit-supported", Some(kind.encryption_in_transit.to_string())),
        ("nitro-sandbox", Some(kind.nitro_enclaves.to_string())),
    ]
}

/// Category and generation of a type: `g` and `4` of `g4dn.8xlarge`, `u` and `1` of `u-6tb1.56xlarge`.
/// Karpenter's pattern is `(^[a-z]+)(\-[0-9]+tb)?([0-9]+).*\.`.
fn scheme(name: &str) -> Option<(String, String)> {
    let (family, _) = name.rsplit_once('.')?;
    let letters = family.find(|c: char| !c.is_ascii_lowercase())?;
    let (category, rest) = family.split_at(letters);
    let terabytes = rest.strip_prefix('-').and_then(|rest| {
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() == rest.len() { None } else { after.strip_prefix("tb") }
    });
    let rest = terabytes.unwrap_or(rest);
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let generation = &rest[..digits];
    (!category.is_empty() && !generation.is_empty()).then(|| (category.to_owned(), generation.to_owned()))
}

fn kebab(text: &str) -> String {
    text.replace(' ', "-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn category_and_generation_come_from_the_name() {
        for (name, expected) in [
            ("g4dn.8xlarge", Some(("g", "4"))),
            ("u-6tb1.56xlarge", Some(("u", "1"))),
            ("u7i-12tb.224xlarge", Some(("u", "7"))),
            ("m7i-flex.large", Some(("m", "7"))),
            ("inf2.xlarge", Some(("inf", "2"))),
            ("mac-m4.metal", None),
            ("m5", None),
        ] {
            let expected = expected.map(|(one, two)| (one.to_owned(), two.to_owned()));
            assert_eq!(scheme(name), expected, "{name}");
        }
    }
}
