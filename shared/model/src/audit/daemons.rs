//! Which DaemonSets a node must carry.

use std::collections::BTreeMap;

use super::taints::repels;
use super::view::{Planned, View};
use crate::cluster::{DaemonSet, Node};
use crate::resources::Resources;

/// The DaemonSets that an existing node is selected by.
pub(super) fn of_node<'a>(view: &View<'a>, node: &Node) -> Vec<&'a DaemonSet> {
    let all = view.snapshot.cluster.daemon_sets.iter();
    all.filter(|daemon| repels(&node.taints, &daemon.spec.tolerations).is_none())
        .filter(|daemon| {
            let selector = daemon.spec.node_selector.match_labels(&node.labels);
            let mut terms = daemon.spec.required.iter();
            selector && (daemon.spec.required.is_empty() || terms.any(|term| term.match_labels(&node.labels)))
        })
        .collect()
}

/// Remembers what DaemonSets come to on planned nodes.
pub(super) struct Daemons<'v, 'a> {
    view: &'v View<'a>,
    wants: Vec<Option<usize>>,
    /// Sets of DaemonSets met so far, with their sum.
    groups: Vec<(Vec<usize>, Resources)>,
    /// Profile and offering to the group.
    known: BTreeMap<(usize, usize), usize>,
}

impl<'v, 'a> Daemons<'v, 'a> {
    pub fn new(view: &'v View<'a>) -> Self {
        let wants =
            |daemon: &DaemonSet| view.wants_of(Some(&daemon.spec.node_selector), &daemon.spec.required);
        let wants = view.snapshot.cluster.daemon_sets.iter().map(wants).collect();
        Self { view, wants, groups: Vec::new(), known: BTreeMap::new() }
    }

    /// The group that a planned node must carry if bought that way. Only what is sure to land there counts.
    pub fn of_offering(&mut self, planned: &Planned<'_>, offering: usize) -> usize {
        let entry = (planned.profile, offering);
        if let Some(&group) = self.known.get(&entry) {
            return group;
        }
        let sets = &self.view.snapshot.cluster.daemon_sets;
        let taints = planned.pool.map(|pool| pool.taints.as_slice()).unwrap_or_default();
        let members: Vec<usize> = (0..sets.len())
            .filter(|&index| repels(taints, &sets[index].spec.tolerations).is_none())
            .filter(|&index| {
                self.wants[index].is_some_and(|wants| self.view.suits(planned.profile, offering, wants, true))
            })
            .collect();
        let found = self.groups.iter().position(|(group, _)| *group == members);
        let group = found.unwrap_or_else(|| {
            let mut sum = Resources::new();
            members.iter().for_each(|&index| sum.add(&sets[index].spec.requests));
            self.groups.push((members, sum));
            self.groups.len() - 1
        });
        self.known.insert(entry, group);
        group
    }

    /// What a group asks together.
    pub fn requests(&self, group: usize) -> &Resources {
        &self.groups[group].1
    }

    /// Who is in a group.
    pub fn members(&self, group: usize) -> impl Iterator<Item = &'a DaemonSet> {
        let sets = &self.view.snapshot.cluster.daemon_sets;
        self.groups[group].0.iter().map(move |&index| &sets[index])
    }
}
