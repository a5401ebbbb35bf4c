//! What a launch is made from, and what is made of it.

use std::collections::{BTreeMap, BTreeSet};

use api::crd::Ec2NodeClass;
use catalog::ClassShape;
use model::{LaunchFailure, LaunchFailureKind, LaunchOrder, QuantityError};
use serde::{Deserialize, Serialize};

use super::fleet::{FleetSpec, fleet};
use super::machines::Machine;
use super::subnets::FreeSubnet;
use super::template::{Market, TemplateSpec, template};

/// All that a launch is made from.
#[derive(Clone, Copy, Debug)]
pub struct LaunchRequest<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// The AWS Region.
    pub region: &'a str,
    /// The cluster's services have IPv6 addresses.
    pub ipv6: bool,
    /// What was decided.
    pub order: &'a LaunchOrder,
    /// The class, with its status.
    pub class: &'a Ec2NodeClass,
    /// The same class as instance types are resolved by.
    pub shape: &'a ClassShape,
    /// The order's offers, sorted by [`super::machines()`], with user data filled in.
    pub machines: &'a [Machine],
    /// The class's subnets in the order of its status.
    pub subnets: &'a [FreeSubnet],
    /// Subnets that were found full a short while ago, by id.
    pub closed_subnets: &'a BTreeSet<String>,
}

/// What is asked of EC2.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchPlan {
    /// Launch templates by name: these must exist first.
    pub templates: BTreeMap<String, TemplateSpec>,
    /// The one request for all machines.
    pub fleet: FleetSpec,
}

/// Why there is nothing to ask for.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum LaunchError {
    /// The status names no instance profile.
    #[error("EC2NodeClass {class} has no instance profile in its status")]
    #[diagnostic(
        code(launch::instance_profile),
        help("see the condition InstanceProfileReady of the EC2NodeClass")
    )]
    NoProfile {
        /// The class.
        class: String,
    },
    /// The status names no security group: EC2 would take the VPC's default one.
    #[error("EC2NodeClass {class} has no security groups in its status")]
    #[diagnostic(
        code(launch::security_groups),
        help("see the condition SecurityGroupsReady of the EC2NodeClass")
    )]
    NoSecurityGroups {
        /// The class.
        class: String,
    },
    /// No offer is in a zone with an open subnet.
    #[error("no subnet of EC2NodeClass {class} is open in {zones}")]
    #[diagnostic(
        code(launch::subnets),
        help("subnets out of addresses are kept closed for a short while; add subnets, or free addresses")
    )]
    NoSubnets {
        /// The class.
        class: String,
        /// The offers' zones.
        zones: String,
    },
    /// No image suits any instance type.
    #[error("no image of EC2NodeClass {class} suits any instance type of the launch")]
    #[diagnostic(code(launch::images), help("see status.amis of the EC2NodeClass and their requirements"))]
    NoImages {
        /// The class.
        class: String,
    },
    /// A volume's size can't be read.
    #[error("reading the volume size {text}")]
    #[diagnostic(code(launch::volume_size), help("write whole Gi, G, Ti or T"))]
    VolumeSize {
        /// As written.
        text: String,
        /// What is wrong with it.
        #[source]
        cause: QuantityError,
    },
    /// A number is beyond what EC2 takes.
    #[error("{field} is {number}, more than EC2 takes")]
    #[diagnostic(code(launch::number))]
    Number {
        /// The field.
        field: &'static str,
        /// Its value.
        number: i64,
    },
    /// A template can't be named.
    #[error("naming a launch template")]
    #[diagnostic(code(launch::name))]
    Name(#[source] serde_json::Error),
}

impl LaunchError {
    /// The same as what went wrong in a launch.
    pub fn failure(&self) -> LaunchFailure {
        let (kind, reason) = match self {
            Self::NoSubnets { .. } => (LaunchFailureKind::Capacity, "InsufficientFreeAddressesInSubnet"),
            Self::NoProfile { .. } => (LaunchFailureKind::Rejected, "InstanceProfileNotReady"),
            Self::NoSecurityGroups { .. } => (LaunchFailureKind::Rejected, "SecurityGroupsNotReady"),
            Self::NoImages { .. } => (LaunchFailureKind::Rejected, "AMINotFound"),
            Self::VolumeSize { .. } | Self::Number { .. } | Self::Name(_) => {
                (LaunchFailureKind::Rejected, "LaunchTemplateInvalid")
            }
        };
        LaunchFailure {
            kind,
            offer: None,
            subnet: None,
            reason: reason.to_owned(),
            message: self.to_string(),
        }
    }
}

impl LaunchRequest<'_> {
    /// What to ask of EC2. Equal requests give equal plans.
    pub fn plan(&self) -> Result<LaunchPlan, LaunchError> {
        let class = || self.order.node_class.name.clone();
        if self.machines.is_empty() {
            return Err(LaunchError::NoImages { class: class() });
        }
        let mut templates = BTreeMap::new();
        let mut named = Vec::new();
        for machine in self.machines {
            let spec = template(self, machine)?;
            let name = spec.name()?;
            named.push((name.clone(), machine));
            templates.insert(name, spec);
        }
        let fleet = fleet(self, &named);
        if fleet.templates.is_empty() {
            let zones: BTreeSet<&str> = self.order.offers.iter().map(|offer| offer.zone.as_str()).collect();
            let zones = zones.into_iter().collect::<Vec<_>>().join(", ");
            return Err(LaunchError::NoSubnets { class: class(), zones });
        }
        templates.retain(|name, _| fleet.templates.iter().any(|used| used.name == *name));
        Ok(LaunchPlan { templates, fleet })
    }

    /// How EC2 wants it said that the machines draw on a special reservation.
    pub(super) fn market(&self) -> Option<Market> {
        match self.order.reservation_type.as_deref() {
            Some("capacity-block") => Some(Market::CapacityBlock),
            Some("interruptible") => Some(Market::InterruptibleCapacityReservation),
            _ => None,
        }
    }
}
