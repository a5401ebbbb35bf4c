//! Why something could not be done: given when deciding, worded once, here.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::money::MicroUsd;
use crate::quantity::Quantity;
use crate::requirement::Requirement;
use crate::taint::Taint;

/// The stable name of a reason: in plans, events, records and metrics.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// There is no usable pool at all.
    #[serde(rename = "no-nodepool")]
    NoNodePool,
    /// A pool would do but is not ready.
    #[serde(rename = "nodepool-not-ready")]
    NodePoolNotReady,
    /// A pool's launches come to nothing and are held.
    LaunchesHeld,
    /// Labels asked for are not on offer.
    Requirements,
    /// A taint is not tolerated.
    Taints,
    /// No type is large enough.
    Resources,
    /// A daemon holds the port.
    HostPortConflict,
    /// A spread constraint leaves no domain.
    TopologySpread,
    /// The pod to be near is nowhere.
    PodAffinity,
    /// Every domain holds a pod to be away from.
    PodAntiAffinity,
    /// A volume can't be mounted.
    VolumeMissing,
    /// No node can be where the volume is.
    VolumeTopology,
    /// Too many volumes for the node.
    VolumeLimit,
    /// Too few kinds of node would be left to choose from.
    MinValues,
    /// A pool's limit is reached.
    Limits,
    /// Everything that fits costs more than allowed.
    PriceCap,
    /// Everything that fits is sold out.
    NoCapacity,
    /// The reservation asked for is used up.
    ReservedCapacity,
    /// The pod contradicts itself.
    InvalidPod,
}

impl Code {
    /// Every code.
    pub const ALL: [Self; 19] = [
        Self::NoNodePool,
        Self::NodePoolNotReady,
        Self::LaunchesHeld,
        Self::Requirements,
        Self::Taints,
        Self::Resources,
        Self::HostPortConflict,
        Self::TopologySpread,
        Self::PodAffinity,
        Self::PodAntiAffinity,
        Self::VolumeMissing,
        Self::VolumeTopology,
        Self::VolumeLimit,
        Self::MinValues,
        Self::Limits,
        Self::PriceCap,
        Self::NoCapacity,
        Self::ReservedCapacity,
        Self::InvalidPod,
    ];

    /// As written everywhere.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoNodePool => "no-nodepool",
            Self::NodePoolNotReady => "nodepool-not-ready",
            Self::LaunchesHeld => "launches-held",
            Self::Requirements => "requirements",
            Self::Taints => "taints",
            Self::Resources => "resources",
            Self::HostPortConflict => "host-port-conflict",
            Self::TopologySpread => "topology-spread",
            Self::PodAffinity => "pod-affinity",
            Self::PodAntiAffinity => "pod-anti-affinity",
            Self::VolumeMissing => "volume-missing",
            Self::VolumeTopology => "volume-topology",
            Self::VolumeLimit => "volume-limit",
            Self::MinValues => "min-values",
            Self::Limits => "limits",
            Self::PriceCap => "price-cap",
            Self::NoCapacity => "no-capacity",
            Self::ReservedCapacity => "reserved-capacity",
            Self::InvalidPod => "invalid-pod",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a pod has no node, with what is needed to word it and to help.
#[expect(missing_docs, reason = "the fields are the nouns of the sentences in `Display`")]
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(tag = "code", rename_all = "kebab-case")]
pub enum Reason {
    /// There is no usable pool at all.
    #[serde(rename = "no-nodepool")]
    NoNodePool,
    /// A pool would do but is not ready.
    #[serde(rename = "nodepool-not-ready")]
    NodePoolNotReady { pool: String, because: String },
    /// A pool's launches come to nothing: none is made until then, and one at a time from then on.
    LaunchesHeld { pool: String, because: String, until: Timestamp },
    /// Labels asked for are not on offer.
    Requirements {
        pool: String,
        key: String,
        wants: Requirement,
        has: Option<Requirement>,
        similar: Option<String>,
    },
    /// A taint is not tolerated.
    Taints { pool: String, taint: Taint },
    /// No type is large enough.
    Resources {
        pool: String,
        resource: String,
        asks: Quantity,
        daemons: Quantity,
        largest: Quantity,
        milli_slip: bool,
    },
    /// A port is held.
    HostPortConflict { port: u16, protocol: String, holder: String },
    /// A spread constraint leaves no domain.
    TopologySpread { key: String, max_skew: u32, counts: Vec<(String, u32)> },
    /// The pod to be near is nowhere this one can go.
    PodAffinity { key: String },
    /// Every domain holds a pod to be away from.
    PodAntiAffinity { key: String, domains: Vec<String> },
    /// A volume can't be mounted.
    VolumeMissing { detail: String },
    /// No node can be where the volume is.
    VolumeTopology { claim: String, where_it_is: String },
    /// Too many volumes for the node.
    VolumeLimit { driver: String, limit: u32 },
    /// Too few kinds of node would be left to choose from.
    MinValues { pool: String, key: String, wants: u32, has: u32 },
    /// A pool's limit is reached.
    Limits { pool: String, resource: String, limit: String, used: String, short: String },
    /// Everything that fits costs more than allowed.
    PriceCap { pool: String, cap: MicroUsd, cheapest: MicroUsd },
    /// Everything that fits is sold out.
    NoCapacity { pool: String, offerings: usize },
    /// The reservation asked for is used up.
    ReservedCapacity { pool: String, reservations: Vec<String> },
    /// The pod contradicts itself.
    InvalidPod { detail: String },
}

/// The smallest change found that would give the pod a place.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Help(pub String);

impl Reason {
    /// Its stable name.
    pub fn code(&self) -> Code {
        match self {
            Self::NoNodePool => Code::NoNodePool,
            Self::NodePoolNotReady { .. } => Code::NodePoolNotReady,
            Self::LaunchesHeld { .. } => Code::LaunchesHeld,
            Self::Requirements { .. } => Code::Requirements,
            Self::Taints { .. } => Code::Taints,
            Self::Resources { .. } => Code::Resources,
            Self::HostPortConflict { .. } => Code::HostPortConflict,
            Self::TopologySpread { .. } => Code::TopologySpread,
            Self::PodAffinity { .. } => Code::PodAffinity,
            Self::PodAntiAffinity { .. } => Code::PodAntiAffinity,
            Self::VolumeMissing { .. } => Code::VolumeMissing,
            Self::VolumeTopology { .. } => Code::VolumeTopology,
            Self::VolumeLimit { .. } => Code::VolumeLimit,
            Self::MinValues { .. } => Code::MinValues,
            Self::Limits { .. } => Code::Limits,
            Self::PriceCap { .. } => Code::PriceCap,
            Self::NoCapacity { .. } => Code::NoCapacity,
            Self::ReservedCapacity { .. } => Code::ReservedCapacity,
            Self::InvalidPod { .. } => Code::InvalidPod,
        }
    }

    /// The smallest change that would remove this obstacle.
    pub fn help(&self) -> Option<Help> {
        let text = match self {
            Self::NoNodePool => "apply a NodePool with an EC2NodeClass".to_owned(),
            Self::NodePoolNotReady { pool, .. } => format!("make NodePool {pool} ready"),
            Self::LaunchesHeld { pool, .. } => {
                format!(
                    "see to the cause: a change of NodePool {pool} or its EC2NodeClass lets it start anew"
                )
            }
            Self::Requirements { similar: Some(similar), key, .. } => {
                format!("did you mean the label {similar} rather than {key}?")
            }
            Self::Requirements { pool, key, wants, has, .. } => match (wants.values(), has) {
                (Some(values), Some(_)) if !values.is_empty() => {
                    let values: Vec<_> = values.iter().map(String::as_str).collect();
                    format!("allow {key} {} in NodePool {pool}", values.join(" or "))
                }
                (Some(values), None) if !values.is_empty() => {
                    let value = values.first().map_or("", String::as_str);
                    format!("add the label {key}: {value} to the template of NodePool {pool}")
                }
                _ => format!("let NodePool {pool} offer {key} {wants}"),
            },
            Self::Taints { taint, pool } => {
                format!("tolerate {taint} in the pod, or use a pool other than {pool}")
            }
            Self::Resources { milli_slip: true, resource, asks, .. } => {
                format!(
                    "did you mean {}m of {resource} rather than {}?",
                    asks.milli() / 1000,
                    asks.display(resource)
                )
            }
            Self::Resources { resource, asks, daemons, largest, pool, .. } if largest.is_zero() => {
                format!(
                    "allow a type with {} of {resource} in NodePool {pool}",
                    asks.plus(*daemons).display(resource)
                )
            }
            Self::Resources { resource, asks, daemons, largest, pool, .. } => {
                let short = asks.plus(*daemons).minus(*largest);
                format!(
                    "ask {} less {resource}, or allow larger types in NodePool {pool}",
                    short.display(resource)
                )
            }
            Self::HostPortConflict { port, .. } => format!("use another port than {port} on the host"),
            Self::TopologySpread { key, .. } => {
                format!("raise maxSkew, or let the pools offer more values of {key}")
            }
            Self::PodAffinity { .. } => {
                "start the pod it wants to be near first, or prefer it instead".to_owned()
            }
            Self::PodAntiAffinity { key, .. } => {
                format!("let the pools offer more values of {key}, or prefer it instead")
            }
            Self::VolumeMissing { .. } => return None,
            Self::VolumeTopology { where_it_is, .. } => {
                format!("let a NodePool and the pod allow {where_it_is}")
            }
            Self::VolumeLimit { .. } => "free a volume, or allow a new node".to_owned(),
            Self::MinValues { pool, key, has, .. } => {
                format!("lower minValues of {key} in NodePool {pool} to {has}")
            }
            Self::Limits { pool, resource, short, .. } => {
                format!("raise limit {resource} of NodePool {pool} by {short}")
            }
            Self::PriceCap { pool, cheapest, .. } => {
                format!("raise journeyman.dev/usd-per-hour of NodePool {pool} to {cheapest}")
            }
            Self::NoCapacity { pool, .. } => {
                format!("allow more types, zones or capacity types in NodePool {pool}")
            }
            Self::ReservedCapacity { .. } => "enlarge the reservation, or allow on-demand".to_owned(),
            Self::InvalidPod { .. } => "correct the pod's template".to_owned(),
        };
        Some(Help(text))
    }
}

impl fmt::Display for Help {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodePool => f.write_str("there is no NodePool that can add nodes"),
            Self::NodePoolNotReady { pool, because } => write!(f, "NodePool {pool} is not ready: {because}"),
            Self::LaunchesHeld { pool, because, until } => {
                write!(f, "NodePool {pool} is held, {because}; from {until} on one node at a time is tried")
            }
            Self::Requirements { pool, key, wants, has: Some(has), .. } => {
                write!(f, "asks {key} {wants}, NodePool {pool} has {key} {has}")
            }
            Self::Requirements { pool, key, wants, has: None, .. } => {
                write!(f, "asks {key} {wants}, NodePool {pool} sets no such label")
            }
            Self::Taints { pool, taint } => write!(f, "does not tolerate {taint} of NodePool {pool}"),
            Self::Resources { pool, resource, asks, daemons, largest, .. } => {
                write!(f, "asks {} of {resource}", asks.display(resource))?;
                if !daemons.is_zero() {
                    write!(f, " and daemons {}", daemons.display(resource))?;
                }
                write!(
                    f,
                    "; the largest type of NodePool {pool} that is otherwise fit has {}",
                    largest.display(resource)
                )
            }
            Self::HostPortConflict { port, protocol, holder } => {
                write!(f, "host port {port}/{protocol} is taken by {holder}")
            }
            Self::TopologySpread { key, max_skew, counts } => {
                write!(f, "no value of {key} keeps the spread within {max_skew}")?;
                let counts: Vec<_> =
                    counts.iter().map(|(domain, count)| format!("{domain} {count}")).collect();
                if counts.is_empty() { Ok(()) } else { write!(f, " (now {})", counts.join(", ")) }
            }
            Self::PodAffinity { key } => {
                write!(f, "no pod it must be near is in any {key} it can reach")
            }
            Self::PodAntiAffinity { key, domains } => {
                write!(f, "every {key} it can reach holds a pod it must be away from")?;
                if domains.is_empty() { Ok(()) } else { write!(f, " ({})", domains.join(", ")) }
            }
            Self::VolumeMissing { detail } => f.write_str(detail),
            Self::VolumeTopology { claim, where_it_is } => {
                write!(f, "volume {claim} is only usable with {where_it_is}, where no node can be")
            }
            Self::VolumeLimit { driver, limit } => {
                write!(f, "a node attaches at most {limit} volumes of {driver}")
            }
            Self::MinValues { pool, key, wants, has } => {
                write!(f, "NodePool {pool} wants {wants} values of {key} to choose from, {has} fit")
            }
            Self::Limits { pool, resource, limit, used, .. } => {
                write!(f, "NodePool {pool} is at its limit of {limit} {resource} ({used} used)")
            }
            Self::PriceCap { pool, cap, cheapest } => {
                write!(
                    f,
                    "NodePool {pool} pays at most ${cap} an hour, the cheapest that fits costs ${cheapest}"
                )
            }
            Self::NoCapacity { pool, offerings } => {
                write!(f, "all {offerings} offerings of NodePool {pool} that would do are sold out for now")
            }
            Self::ReservedCapacity { pool, reservations } => {
                write!(f, "reservation {} of NodePool {pool} is used up", reservations.join(", "))
            }
            Self::InvalidPod { detail } => f.write_str(detail),
        }
    }
}
