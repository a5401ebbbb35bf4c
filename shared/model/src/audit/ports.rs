//! No two pods of a node take the same host port.

use super::daemons::{self, Daemons};
use super::view::{View, What};
use crate::pod::{HostPort, PodSpec};

pub(super) fn check(view: &View<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut daemons = Daemons::new(view);
    for bin in &view.bins {
        let asks = |class: &usize| !view.classes[*class].spec.host_ports.is_empty();
        if !bin.contents.iter().any(|(class, count)| count.new > 0 && asks(class)) {
            continue;
        }
        let mut taken: Vec<(&HostPort, String)> = Vec::new();
        let ports = |spec: &'_ PodSpec| spec.host_ports.len();
        for pod in bin.old.iter().filter(|pod| ports(&pod.spec) > 0) {
            taken.extend(pod.spec.host_ports.iter().map(|port| (port, format!("pod {}", pod.name))));
        }
        let sets = match &bin.what {
            // A DaemonSet whose pod is already here is among the old pods.
            What::Existing(node) if !bin.old.iter().any(|pod| pod.daemon) => daemons::of_node(view, node),
            What::Existing(_) => Vec::new(),
            What::Planned(planned) => {
                let chosen = view.market(planned.profile).and_then(|market| market.find(&planned.node.offer));
                let group = chosen.map(|chosen| daemons.of_offering(planned, chosen));
                group.map(|group| daemons.members(group).collect()).unwrap_or_default()
            }
        };
        for set in sets {
            taken.extend(set.spec.host_ports.iter().map(|port| (port, format!("DaemonSet {}", set.name))));
        }
        for pod in &bin.new {
            for port in &pod.spec.host_ports {
                if let Some((_, holder)) = taken.iter().find(|(other, _)| other.conflicts(port)) {
                    let (number, protocol) = (port.port, &port.protocol);
                    faults.push(format!(
                        "pod {} asks host port {number}/{protocol} of {}, which {holder} takes",
                        pod.name, bin.name
                    ));
                }
            }
            taken.extend(pod.spec.host_ports.iter().map(|port| (port, format!("pod {}", pod.name))));
        }
    }
    faults
}
