//! Pods come, are bound, run and go.

use jiff::SignedDuration;
use model::{ObjectName, Phase, Pod};

use crate::world::{Event, Life, World};

/// How long the record of a finished pod is kept.
const KEPT: SignedDuration = SignedDuration::from_mins(2);

impl World {
    /// A workload makes a pod.
    pub(crate) fn create_pod(&mut self, workload: usize, runs: Option<SignedDuration>) {
        let number = self.made[workload];
        self.made[workload] += 1;
        let Workload { name, template } = self.workload(workload);
        let name = ObjectName::new(name.namespace, format!("{}-{number}", name.name));
        let pod = Pod {
            uid: name.to_string(),
            created: self.now(),
            node: None,
            phase: Phase::Pending,
            terminating: false,
            unschedulable: false,
            name: name.clone(),
            ..template
        };
        self.lives.insert(name, Life { workload: Some(workload), runs });
        self.records.created += 1;
        self.insert_pod(pod);
        self.stirred = true;
    }

    pub(crate) fn insert_pod(&mut self, pod: Pod) {
        self.pod_at.insert(pod.name.clone(), self.snapshot.cluster.pods.len());
        self.snapshot.cluster.pods.push(pod);
    }

    /// Takes a pod's record out of the world.
    pub(crate) fn remove_pod(&mut self, name: &ObjectName) -> Option<Pod> {
        let index = self.pod_at.remove(name)?;
        let pod = self.snapshot.cluster.pods.swap_remove(index);
        if let Some(moved) = self.snapshot.cluster.pods.get(index) {
            self.pod_at.insert(moved.name.clone(), index);
        }
        self.lives.remove(name);
        self.stirred = true;
        Some(pod)
    }

    /// A workload is to have so many replicas. Too many: those without a node go first, then those that share a node
    /// with most others of their kind, then the youngest, as a ReplicaSet chooses.
    pub(crate) fn scale(&mut self, workload: usize, replicas: u32) {
        let mut alive: Vec<&Pod> = Vec::new();
        for pod in &self.snapshot.cluster.pods {
            let ours = self.lives.get(&pod.name).is_some_and(|life| life.workload == Some(workload));
            if ours && !pod.terminating && pod.phase != Phase::Terminal {
                alive.push(pod);
            }
        }
        let replicas = usize::try_from(replicas).unwrap_or(usize::MAX);
        if alive.len() <= replicas {
            (alive.len()..replicas).for_each(|_| self.create_pod(workload, None));
            return;
        }
        let company = |pod: &Pod| alive.iter().filter(|other| other.node == pod.node).count();
        let mut order: Vec<(bool, usize, &Pod)> =
            alive.iter().map(|pod| (pod.node.is_some(), company(pod), *pod)).collect();
        order.sort_by(|(a_bound, a_company, a), (b_bound, b_company, b)| {
            let first = a_bound.cmp(b_bound).then(b_company.cmp(a_company));
            first.then(b.created.cmp(&a.created)).then_with(|| a.name.cmp(&b.name))
        });
        let surplus = alive.len() - replicas;
        let going: Vec<ObjectName> =
            order.into_iter().take(surplus).map(|(_, _, pod)| pod.name.clone()).collect();
        for name in going {
            self.records.scaled_down += 1;
            self.delete_pod(&name);
        }
    }

    /// A pod is deleted: at once if it runs nowhere, else when its grace is over.
    fn delete_pod(&mut self, name: &ObjectName) {
        let Some(pod) = self.pod_mut(name) else { return };
        pod.terminating = true;
        let node = pod.node.clone();
        match node {
            None => {
                self.remove_pod(name);
            }
            Some(node) => {
                self.touch(&node);
                let grace = SignedDuration::from_secs(self.graces.between(1, 10));
                self.after(grace, Event::PodGone(name.clone()));
            }
        }
    }

    /// A pod is evicted from a node that goes: its workload makes another in its stead.
    pub(crate) fn evict(&mut self, name: &ObjectName) {
        let life = self.lives.get(name).cloned();
        self.delete_pod(name);
        self.records.evicted += 1;
        if let Some(Life { workload: Some(workload), runs }) = life {
            self.create_pod(workload, runs);
        }
    }

    pub(crate) fn bind(&mut self, name: &ObjectName, node: String) {
        let now = self.now();
        let Some(pod) = self.pod_mut(name) else { return };
        pod.node = Some(node.clone());
        pod.unschedulable = false;
        let waited = now.duration_since(pod.created);
        self.records.bound_now += 1;
        self.records.waits.push(waited);
        self.touch(&node);
        let start = SignedDuration::from_millis(self.graces.between(800, 4000));
        self.after(start, Event::PodStarted(name.clone()));
    }

    pub(crate) fn pod_started(&mut self, name: &ObjectName) {
        let Some(pod) = self.pod_mut(name).filter(|pod| !pod.terminating) else { return };
        pod.phase = Phase::Running;
        if let Some(runs) = self.lives.get(name).and_then(|life| life.runs) {
            self.after(runs, Event::PodFinished(name.clone()));
        }
    }

    pub(crate) fn pod_finished(&mut self, name: &ObjectName) {
        let Some(pod) = self.pod_mut(name).filter(|pod| !pod.terminating) else { return };
        pod.phase = Phase::Terminal;
        let node = pod.node.clone();
        self.records.finished += 1;
        self.records.bound_now -= 1;
        self.stirred = true;
        if let Some(node) = node {
            self.touch(&node);
        }
        self.after(KEPT, Event::PodGone(name.clone()));
    }

    pub(crate) fn pod_gone(&mut self, name: &ObjectName) {
        let Some(pod) = self.remove_pod(name) else { return };
        self.records.bound_now -= u64::from(pod.node.is_some() && pod.phase != Phase::Terminal);
    }

    /// A pod came to a node, ended on it or began to leave it.
    fn touch(&mut self, node: &str) {
        let now = self.now();
        if let Some(node) = self.snapshot.cluster.nodes.iter_mut().find(|known| known.name == node) {
            node.last_pod_event = Some(now);
        }
    }

    fn workload(&self, index: usize) -> Workload {
        let crate::scenario::Workload { name, template, .. } = &self.workloads[index];
        Workload { name: name.clone(), template: template.clone() }
    }
}

struct Workload {
    name: ObjectName,
    template: Pod,
}
