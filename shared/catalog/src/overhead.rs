//! What kubelet, system and eviction thresholds keep of a node's capacity.

use std::collections::BTreeMap;

use model::{Quantity, Resources};

use crate::capacity::{eni_limited_pods, ephemeral_storage, memory, pods};
use crate::class::{AmiFamily, ClassShape};
use crate::raw::Ec2Type;

/// Processor time for the kubelet: millicores above which a share applies, in ten-thousandths. As GKE, EKS and
/// Bottlerocket have it.
const CPU_TIERS: [(u64, u64, u64); 4] =
    [(0, 1_000, 600), (1_000, 2_000, 100), (2_000, 4_000, 50), (4_000, u64::MAX, 25)];

/// All that pods don't get.
pub fn overhead(kind: &Ec2Type, class: &ClassShape) -> Resources {
    let mut out = kube_reserved(kind, class);
    out.add(&read(&class.kubelet.system_reserved));
    out.add(&eviction_threshold(kind, class));
    out
}

/// What the kubelet and the container runtime keep.
pub fn kube_reserved(kind: &Ec2Type, class: &ClassShape) -> Resources {
    let resolved = pods(kind, class);
    let counted = match class.ami_family {
        // The images compute their reserve from the addresses an instance can have, whatever `maxPods` says; but a
        // kubelet that is told to run more pods than that reserves for them, so the larger of both is safe.
        AmiFamily::Al2 | AmiFamily::Al2023 | AmiFamily::Custom => {
            resolved.max(eni_limited_pods(kind, class, 0))
        }
        _ => resolved,
    };
    let mebibytes = i64::try_from(counted).unwrap_or(i64::MAX).saturating_mul(11).saturating_add(255);
    let mut out: Resources = [
        ("cpu", Quantity::from_milli(reserved_millicores(kind.cpus))),
        ("memory", Quantity::from_mebibytes(mebibytes)),
        ("ephemeral-storage", Quantity::from_mebibytes(1024)),
    ]
    .into_iter()
    .collect();
    for (name, amount) in read(&class.kubelet.kube_reserved).iter() {
        out.set(name, amount);
    }
    out
}

fn reserved_millicores(cpus: u32) -> i64 {
    let millicores = u64::from(cpus) * 1000;
    let tiers = CPU_TIERS.into_iter();
    let reserved: u64 =
        tiers.map(|(from, to, share)| millicores.clamp(from, to).saturating_sub(from) * share / 10_000).sum();
    i64::try_from(reserved).unwrap_or(i64::MAX)
}

/// What must stay free lest pods be evicted.
pub fn eviction_threshold(kind: &Ec2Type, class: &ClassShape) -> Resources {
    let storage = ephemeral_storage(kind, class);
    let memory = memory(kind, class);
    let signal = |name: &str, capacity| {
        let text = class.kubelet.eviction_hard.get(name)?;
        threshold(text, capacity)
    };
    let tenth = Quantity::from_units(storage.units().saturating_add(9) / 10);
    [
        ("memory", signal("memory.available", memory).unwrap_or(Quantity::from_mebibytes(100))),
        ("ephemeral-storage", signal("nodefs.available", storage).unwrap_or(tenth)),
    ]
    .into_iter()
    .collect()
}

/// An eviction threshold: an amount, or a percentage of the capacity, of which 100 % turns it off.
fn threshold(text: &str, capacity: Quantity) -> Option<Quantity> {
    let Some(percent) = text.trim().strip_suffix('%') else { return text.parse().ok() };
    let thousandths = i128::from(percent.parse::<Quantity>().ok()?.milli());
    if thousandths == 100_000 {
        return Some(Quantity::ZERO);
    }
    let scaled = i128::from(capacity.units()) * thousandths;
    i64::try_from((scaled + 99_999).div_euclid(100_000)).ok().map(Quantity::from_units)
}

fn read(amounts: &BTreeMap<String, String>) -> Resources {
    amounts.iter().filter_map(|(name, text)| Some((name.as_str(), text.parse().ok()?))).collect()
}
