//! Pods that are alike, and the ways in which they may be asked for less.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use model::{AffinityTerm, Pod, PodSpec, PreferencePolicy, Requirements, Snapshot, Spread, Volume, Weighted};

/// Pods with the same constraints; one decision serves them all.
pub(crate) struct Class<'a> {
    pub namespace: &'a str,
    pub spec: &'a PodSpec,
    pub volumes: &'a [Volume],
    /// Places in `Cluster::pods`, in queue order.
    pub pods: Vec<usize>,
    /// From all preferences held hard to none.
    pub variants: Vec<Variant<'a>>,
}

/// What is held hard at one point of relaxation.
#[derive(Clone, Default)]
pub(crate) struct Variant<'a> {
    pub preferred: Option<&'a Requirements>,
    pub affinity: Vec<&'a AffinityTerm>,
    pub anti_affinity: Vec<&'a AffinityTerm>,
    pub spread: Vec<&'a Spread>,
    /// `PreferNoSchedule` taints are tolerated.
    pub relaxed_taints: bool,
}

/// The order in which pods are placed: the largest first, then the oldest.
pub(crate) fn queue_order(pods: &[Pod], indices: &mut [usize]) {
    let turn = |&index: &usize| {
        let pod: &Pod = &pods[index];
        let size = |resource| Reverse(pod.spec.requests.get(resource));
        ((size("cpu"), size("memory"), pod.created, &pod.uid, &pod.name), index)
    };
    let mut turns: Vec<_> = indices.iter().map(turn).collect();
    turns.sort();
    for (place, (_, index)) in indices.iter_mut().zip(turns) {
        *place = index;
    }
}

/// Label keys that some selector looks at. Other labels tell no two pods apart.
pub(crate) fn selected_keys(snapshot: &Snapshot) -> BTreeSet<&str> {
    let mut keys = BTreeSet::new();
    let mut seen: BTreeSet<*const PodSpec> = BTreeSet::new();
    for pod in &snapshot.cluster.pods {
        let spec: &PodSpec = &pod.spec;
        if !seen.insert(std::ptr::from_ref(spec)) {
            continue;
        }
        let weighted =
            spec.preferred_affinity.iter().chain(&spec.preferred_anti_affinity).map(|term| &term.term);
        let terms = spec.affinity.iter().chain(&spec.anti_affinity).chain(weighted);
        let selectors =
            terms.map(|term| &term.selector).chain(spec.spread.iter().map(|spread| &spread.selector));
        for selector in selectors.flatten() {
            keys.extend(selector.0.iter().map(|expression| expression.key.as_str()));
        }
    }
    keys
}

/// The labels of a pod that some selector looks at.
pub(crate) fn project<'a>(spec: &'a PodSpec, keys: &BTreeSet<&str>) -> BTreeMap<&'a str, &'a str> {
    let labels = spec.labels.iter().filter(|(key, _)| keys.contains(key.as_str()));
    labels.map(|(key, value)| (key.as_str(), value.as_str())).collect()
}

type Constraints<'a> = (
    (
        &'a model::Resources,
        &'a Requirements,
        &'a [Requirements],
        &'a [Weighted<Requirements>],
        &'a [model::Toleration],
    ),
    (
        &'a [Spread],
        &'a [AffinityTerm],
        &'a [AffinityTerm],
        &'a [Weighted<AffinityTerm>],
        &'a [Weighted<AffinityTerm>],
    ),
    (&'a BTreeSet<model::HostPort>, &'a [String]),
);

fn constraints(spec: &PodSpec) -> Constraints<'_> {
    (
        (&spec.requests, &spec.node_selector, &spec.required, &spec.preferred, &spec.tolerations),
        (
            &spec.spread,
            &spec.affinity,
            &spec.anti_affinity,
            &spec.preferred_affinity,
            &spec.preferred_anti_affinity,
        ),
        (&spec.host_ports, &spec.faults),
    )
}

/// Groups `indices`, which are in queue order. Classes come in the order of their first pods.
pub(crate) fn group<'a>(snapshot: &'a Snapshot, indices: &[usize]) -> Vec<Class<'a>> {
    let keys = selected_keys(snapshot);
    let pods = &snapshot.cluster.pods;
    // Replicas share their spec, so most comparisons end at the address.
    let mut by_address: BTreeMap<*const PodSpec, usize> = BTreeMap::new();
    let mut by_content = BTreeMap::new();
    let mut by_class = BTreeMap::new();
    let mut classes: Vec<Class> = Vec::new();
    for &index in indices {
        let pod = &pods[index];
        let spec: &PodSpec = &pod.spec;
        let next = by_content.len();
        let content = *by_address
            .entry(std::ptr::from_ref(spec))
            .or_insert_with(|| *by_content.entry((project(spec, &keys), constraints(spec))).or_insert(next));
        let volumes: Vec<_> =
            pod.volumes.iter().map(|volume| (&volume.driver, &volume.alternatives, &volume.fault)).collect();
        let class = *by_class.entry((pod.name.namespace.as_str(), content, volumes)).or_insert_with(|| {
            let variants = variants(spec, snapshot.settings.preferences);
            let (namespace, volumes) = (pod.name.namespace.as_str(), pod.volumes.as_slice());
            classes.push(Class { namespace, spec, volumes, pods: Vec::new(), variants });
            classes.len() - 1
        });
        classes[class].pods.push(index);
    }
    classes
}

fn heaviest_first<T>(terms: &[Weighted<T>]) -> Vec<&T> {
    let mut sorted: Vec<_> = terms.iter().collect();
    sorted.sort_by_key(|term| -term.weight);
    sorted.into_iter().map(|term| &term.term).collect()
}

/// Every step of relaxation, in Karpenter's order: preferred pod affinity, preferred anti-affinity, preferred node
/// affinity, `ScheduleAnyway` spread, `PreferNoSchedule` taints; within each the heaviest first. Required node affinity
/// terms need no step: any of them will do from the start.
fn variants(spec: &PodSpec, policy: PreferencePolicy) -> Vec<Variant<'_>> {
    let respect = policy == PreferencePolicy::Respect;
    let kept = |terms| if respect { terms } else { Vec::new() };
    let mut near = kept(heaviest_first(&spec.preferred_affinity));
    let mut apart = kept(heaviest_first(&spec.preferred_anti_affinity));
    let mut nodes = if respect { heaviest_first(&spec.preferred) } else { Vec::new() };
    let mut spread: Vec<&Spread> = spec.spread.iter().filter(|spread| spread.hard || respect).collect();
    let mut relaxed_taints = false;
    let mut variants = Vec::new();
    loop {
        variants.push(Variant {
            preferred: nodes.first().copied(),
            affinity: spec.affinity.iter().chain(near.iter().copied()).collect(),
            anti_affinity: spec.anti_affinity.iter().chain(apart.iter().copied()).collect(),
            spread: spread.clone(),
            relaxed_taints,
        });
        if !near.is_empty() {
            near.remove(0);
        } else if !apart.is_empty() {
            apart.remove(0);
        } else if !nodes.is_empty() {
            nodes.remove(0);
        } else if let Some(soft) = spread.iter().position(|spread| !spread.hard) {
            spread.swap_remove(soft);
        } else if !relaxed_taints {
            relaxed_taints = true;
        } else {
            return variants;
        }
    }
}
