//! What DaemonSets take of each node.

use std::collections::{BTreeMap, BTreeSet};

use model::{DaemonSet, HostPort, Node, PodSpec, Requirements, Resources, Snapshot, Undefined};
use solver::BitSet;

use super::universe::{Universe, untolerated};

/// The daemons that a node would carry, taken together.
#[derive(Default)]
pub(crate) struct Burden {
    pub requests: Resources,
    pub ports: BTreeSet<HostPort>,
    pub names: Vec<String>,
}

/// The distinct burdens, and which one each column carries.
pub(crate) fn burdens(snapshot: &Snapshot, universe: &Universe) -> (Vec<Burden>, Vec<usize>) {
    let daemon_sets = in_order(snapshot);
    let reach: Vec<BitSet> =
        daemon_sets.iter().map(|daemon_set| columns(universe, &daemon_set.spec)).collect();
    let mut known: BTreeMap<Vec<usize>, usize> = BTreeMap::new();
    let mut burdens = Vec::new();
    let of_column = (0..universe.columns.len())
        .map(|column| {
            let present: Vec<usize> =
                (0..reach.len()).filter(|&daemon| reach[daemon].contains(column)).collect();
            *known.entry(present).or_insert_with_key(|present| {
                let mut burden = Burden::default();
                for &daemon in present {
                    burden.requests.add(&daemon_sets[daemon].spec.requests);
                    burden.ports.extend(daemon_sets[daemon].spec.host_ports.iter().cloned());
                    burden.names.push(daemon_sets[daemon].name.to_string());
                }
                burdens.push(burden);
                burdens.len() - 1
            })
        })
        .collect();
    (burdens, of_column)
}

fn in_order(snapshot: &Snapshot) -> Vec<&DaemonSet> {
    let mut daemon_sets: Vec<_> = snapshot.cluster.daemon_sets.iter().collect();
    daemon_sets.sort_by(|a, b| a.name.cmp(&b.name));
    daemon_sets
}

fn columns(universe: &Universe, spec: &PodSpec) -> BitSet {
    let mut columns = universe.tolerated(&spec.tolerations, true);
    columns.and_assign(&universe.allowed(&spec.node_selector));
    columns.and_assign(&universe.any_allowed(&spec.required));
    columns
}

/// What DaemonSets ask of a node that exists, whether their pods are there yet or not.
pub(crate) fn expected_on(snapshot: &Snapshot, node: &Node) -> Resources {
    let labels = Requirements::from_labels(&node.labels);
    let fits = |wants: &Requirements| labels.compatible(wants, Undefined::Refused).is_ok();
    let mut total = Resources::new();
    for daemon_set in &snapshot.cluster.daemon_sets {
        let spec = &daemon_set.spec;
        let selected =
            fits(&spec.node_selector) && (spec.required.is_empty() || spec.required.iter().any(fits));
        if selected && untolerated(&node.taints, &spec.tolerations, true).is_none() {
            total.add(&spec.requests);
        }
    }
    total
}
