//! The machines' network interfaces.

use api::crd;
use serde::{Deserialize, Serialize};

use super::request::LaunchRequest;

/// A network interface as a launch template has it.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NetworkInterface {
    /// The network card's number.
    pub card: i32,
    /// The interface's number on the card.
    pub device: i32,
    /// `efa` or `efa-only`; without it, a plain one.
    pub kind: Option<String>,
    /// The security groups.
    pub groups: Vec<String>,
    /// Whether it gets a public address; without it, the subnet decides.
    pub public_address: Option<bool>,
    /// Address prefixes.
    pub ipv4_prefixes: Option<i32>,
    /// The same on an IPv6 cluster.
    pub ipv6_prefixes: Option<i32>,
    /// On an IPv6 cluster: one address, and the machine's primary one.
    pub ipv6: bool,
    /// How long idle connections are remembered.
    pub connection_tracking: Option<crd::ConnectionTracking>,
}

/// What the class lists, else one for each EFA that is asked for, else one.
pub(super) fn interfaces(request: &LaunchRequest<'_>, groups: &[String], efas: u16) -> Vec<NetworkInterface> {
    let spec = &request.class.spec;
    let full = |card: i32, device: i32, kind: Option<&str>| {
        let prefixes = spec.ip_prefix_count;
        NetworkInterface {
            card,
            device,
            kind: kind.map(str::to_owned),
            groups: groups.to_vec(),
            public_address: spec.associate_public_ip_address,
            ipv4_prefixes: prefixes.filter(|_| !request.ipv6),
            ipv6_prefixes: prefixes.filter(|_| request.ipv6),
            ipv6: request.ipv6,
            connection_tracking: spec.connection_tracking,
        }
    };
    if !spec.network_interfaces.is_empty() {
        let listed = spec.network_interfaces.iter().map(|listed| match listed.interface_type {
            crd::InterfaceType::Interface => full(listed.network_card_index, listed.device_index, None),
            // It carries no IP: nothing about addresses or connections applies.
            crd::InterfaceType::EfaOnly => NetworkInterface {
                card: listed.network_card_index,
                device: listed.device_index,
                kind: Some("efa-only".to_owned()),
                groups: groups.to_vec(),
                ..NetworkInterface::default()
            },
        });
        return listed.collect();
    }
    if efas > 0 {
        // The second device of every card but the first: the first one's first device is the machine's own.
        return (0..i32::from(efas)).map(|card| full(card, card.min(1), Some("efa"))).collect();
    }
    vec![full(0, 0, None)]
}
