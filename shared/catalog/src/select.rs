//! Choosing among instance types by what a person would ask for.

use std::collections::BTreeSet;

use model::{CapacityType, InstanceType, MicroUsd, Offering, Quantity, Requirement, labels};

/// What is asked for; the default asks for nothing. Sets that are empty ask for nothing too.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Selector {
    /// Just so many virtual processors.
    pub cpu: Option<u32>,
    /// At least so many.
    pub cpu_min: Option<u32>,
    /// At most so many.
    pub cpu_max: Option<u32>,
    /// Just so much memory, as EC2 advertises it.
    pub memory: Option<Quantity>,
    /// At least so much.
    pub memory_min: Option<Quantity>,
    /// At most so much.
    pub memory_max: Option<Quantity>,
    /// `amd64` or `arm64`.
    pub arch: BTreeSet<String>,
    /// Whether it has GPUs; with a count of them at least so many, of any maker.
    pub gpus_min: Option<u32>,
    /// Names of GPUs such as `t4`.
    pub gpu_name: BTreeSet<String>,
    /// Zone names.
    pub zones: BTreeSet<String>,
    /// How it is paid for.
    pub capacity_types: BTreeSet<CapacityType>,
    /// At least that generation.
    pub generation_min: Option<u32>,
    /// Families such as `m7g`.
    pub family: BTreeSet<String>,
    /// Categories such as `m`.
    pub category: BTreeSet<String>,
    /// An hour costs no more.
    pub price_max: Option<MicroUsd>,
    /// What comes first.
    pub sort: Sort,
}

/// The order of a list of types. The name decides what is otherwise equal.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Sort {
    /// By name.
    #[default]
    Name,
    /// Cheapest first.
    Price,
    /// Fewest processors first.
    Cpu,
    /// Least memory first.
    Memory,
}

impl Sort {
    /// From its name in lower case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "name" => Self::Name,
            "price" => Self::Price,
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            _ => return None,
        })
    }
}

/// An instance type that was asked for, with the offerings that were.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listing<'a> {
    /// The type.
    pub kind: &'a InstanceType,
    /// The cheapest of the offerings asked for.
    pub cheapest: &'a Offering,
    /// The least on-demand price, if such an offering was asked for.
    pub on_demand: Option<MicroUsd>,
    /// The least Spot price, if such an offering was asked for.
    pub spot: Option<MicroUsd>,
    /// The zones of the offerings asked for.
    pub zones: BTreeSet<&'a str>,
}

/// The types that have all that is asked for, and an available offering that has.
pub fn select<'a>(types: &'a [InstanceType], selector: &Selector) -> Vec<Listing<'a>> {
    let fitting = types.iter().filter(|kind| fits(kind, selector));
    let mut out: Vec<_> = fitting.filter_map(|kind| listing(kind, selector)).collect();
    out.sort_by_cached_key(|listing| {
        let key = match selector.sort {
            Sort::Name => 0,
            Sort::Price => listing.cheapest.price.0,
            Sort::Cpu => cpu(listing.kind),
            Sort::Memory => memory_mib(listing.kind),
        };
        (key, listing.kind.name.clone())
    });
    out
}

/// Virtual processors.
pub fn cpu(kind: &InstanceType) -> u64 {
    number(kind, "karpenter.k8s.aws/instance-cpu")
}

/// Memory in MiB as EC2 advertises it.
pub fn memory_mib(kind: &InstanceType) -> u64 {
    number(kind, "karpenter.k8s.aws/instance-memory")
}

fn label<'a>(kind: &'a InstanceType, key: &str) -> Option<&'a str> {
    kind.requirements.get(key).and_then(Requirement::single)
}

fn number(kind: &InstanceType, key: &str) -> u64 {
    label(kind, key).and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn fits(kind: &InstanceType, selector: &Selector) -> bool {
    let one_of = |wanted: &BTreeSet<String>, key| {
        wanted.is_empty() || label(kind, key).is_some_and(|value| wanted.contains(value))
    };
    let within = |has: u64, exactly: Option<u64>, least: Option<u64>, most: Option<u64>| {
        exactly.is_none_or(|wanted| has == wanted)
            && least.is_none_or(|wanted| has >= wanted)
            && most.is_none_or(|wanted| has <= wanted)
    };
    let wide = |wanted: Option<u32>| wanted.map(u64::from);
    let bytes = |wanted: Option<Quantity>| wanted.map(|wanted| u64::try_from(wanted.units()).unwrap_or(0));
    let memory = memory_mib(kind) << 20;
    within(cpu(kind), wide(selector.cpu), wide(selector.cpu_min), wide(selector.cpu_max))
        && within(memory, bytes(selector.memory), bytes(selector.memory_min), bytes(selector.memory_max))
        && within(number(kind, "karpenter.k8s.aws/instance-gpu-count"), None, wide(selector.gpus_min), None)
        && within(
            number(kind, "karpenter.k8s.aws/instance-generation"),
            None,
            wide(selector.generation_min),
            None,
        )
        && one_of(&selector.arch, labels::ARCH)
        && one_of(&selector.gpu_name, "karpenter.k8s.aws/instance-gpu-name")
        && one_of(&selector.family, "karpenter.k8s.aws/instance-family")
        && one_of(&selector.category, "karpenter.k8s.aws/instance-category")
}

fn listing<'a>(kind: &'a InstanceType, selector: &Selector) -> Option<Listing<'a>> {
    let asked: Vec<_> = kind.offerings.iter().filter(|offering| asked_for(offering, selector)).collect();
    let least = |way| {
        let of_way = asked.iter().filter(|offering| offering.capacity_type == way);
        of_way.map(|offering| offering.price).min()
    };
    Some(Listing {
        kind,
        cheapest: asked.iter().copied().min_by_key(|offering| offering.price)?,
        on_demand: least(CapacityType::OnDemand),
        spot: least(CapacityType::Spot),
        zones: asked.iter().map(|offering| offering.zone.as_str()).collect(),
    })
}

fn asked_for(offering: &Offering, selector: &Selector) -> bool {
    let (zones, ways) = (&selector.zones, &selector.capacity_types);
    offering.available
        && (zones.is_empty() || zones.contains(&offering.zone))
        && (ways.is_empty() || ways.contains(&offering.capacity_type))
        && selector.price_max.is_none_or(|most| offering.price <= most)
}
