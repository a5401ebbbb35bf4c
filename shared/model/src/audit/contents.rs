//! Pods in classes, and what each node holds of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::pod::{Pod, PodSpec};

/// Pods of one namespace and one spec: the judge asks once for all of them.
pub(super) struct Class<'a> {
    pub namespace: &'a str,
    pub spec: &'a PodSpec,
    /// What it asks of a node's labels.
    pub wants: usize,
    /// A pod to name in messages.
    pub example: &'a Pod,
}

/// How many pods of one class a node holds.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Count {
    /// Placed by the plan.
    pub new: u64,
    /// There already and staying.
    pub old: u64,
}

impl Count {
    pub fn all(self) -> u64 {
        self.new + self.old
    }

    pub fn add(&mut self, other: Self) {
        self.new += other.new;
        self.old += other.old;
    }
}

/// Numbers specs: by address first, since most pods share theirs, and by value else.
#[derive(Default)]
pub(super) struct Classes<'a> {
    pub list: Vec<Class<'a>>,
    by_address: BTreeMap<(usize, &'a str), usize>,
    by_value: BTreeMap<(&'a str, &'a PodSpec), usize>,
}

impl<'a> Classes<'a> {
    /// The number of the pod's class; `wants` numbers what a new class asks of labels.
    pub fn of(&mut self, pod: &'a Pod, wants: impl FnOnce(&'a PodSpec) -> usize) -> usize {
        let namespace = pod.name.namespace.as_str();
        let address = (Arc::as_ptr(&pod.spec).addr(), namespace);
        if let Some(&class) = self.by_address.get(&address) {
            return class;
        }
        let spec = pod.spec.as_ref();
        let list = &mut self.list;
        let class = *self.by_value.entry((namespace, spec)).or_insert_with(|| {
            list.push(Class { namespace, spec, wants: wants(spec), example: pod });
            list.len() - 1
        });
        self.by_address.insert(address, class);
        class
    }
}
