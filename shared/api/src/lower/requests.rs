//! What a pod asks of its node, by the rules of Kubernetes' own helper.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, ContainerStatus, PodSpec, PodStatus, ResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource;
use model::{Quantity, Resources};

type Amounts = BTreeMap<String, resource::Quantity>;

/// Amounts as the model has them. What can't be read was reported when the object was.
pub(super) fn resources(amounts: Option<&Amounts>) -> Resources {
    let amounts = amounts.into_iter().flatten();
    amounts.filter_map(|(name, amount)| Some((name.clone(), amount.0.parse::<Quantity>().ok()?))).collect()
}

/// Whether an init container goes on beside the others: a sidecar.
pub(super) fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

/// Requests of a resource that has only a limit are that limit.
fn defaulted(from: Option<&ResourceRequirements>) -> Resources {
    let limits = resources(from.and_then(|from| from.limits.as_ref()));
    let mut requests = resources(from.and_then(|from| from.requests.as_ref()));
    for (name, amount) in limits.iter() {
        requests.0.entry(name.to_owned()).or_insert(amount);
    }
    requests
}

/// What one container asks: the most of what is written, what it has and what it was allotted, while it is
/// being resized in place.
fn of_container(container: &Container, status: Option<&ContainerStatus>, infeasible: bool) -> Resources {
    let written = defaulted(container.resources.as_ref());
    let Some(status) = status.filter(|status| status.resources.is_some()) else { return written };
    let mut has = resources(status.resources.as_ref().and_then(|has| has.requests.as_ref()));
    has.raise_to(&resources(status.allocated_resources.as_ref()));
    if !infeasible {
        has.raise_to(&written);
        for (name, amount) in written.iter() {
            has.0.entry(name.to_owned()).or_insert(amount);
        }
    }
    has
}

/// What the pod asks, itself counted as one of `pods`.
pub(super) fn of_pod(spec: &PodSpec, status: Option<&PodStatus>) -> Resources {
    let statuses =
        |list: fn(&PodStatus) -> Option<&Vec<ContainerStatus>>| -> BTreeMap<&str, &ContainerStatus> {
            status.and_then(list).into_iter().flatten().map(|status| (status.name.as_str(), status)).collect()
        };
    let regular = statuses(|status| status.container_statuses.as_ref());
    let initial = statuses(|status| status.init_container_statuses.as_ref());
    let infeasible = status.and_then(|status| status.conditions.as_ref()).is_some_and(|conditions| {
        conditions.iter().any(|condition| {
            condition.type_ == "PodResizePending" && condition.reason.as_deref() == Some("Infeasible")
        })
    });

    let mut requests = Resources::new();
    for container in &spec.containers {
        let status = regular.get(container.name.as_str()).copied();
        requests.add(&of_container(container, status, infeasible));
    }
    let mut sidecars = Resources::new();
    let mut starting = Resources::new();
    for container in spec.init_containers.iter().flatten() {
        if is_sidecar(container) {
            let status = initial.get(container.name.as_str()).copied();
            let own = of_container(container, status, infeasible);
            requests.add(&own);
            sidecars.add(&own);
            starting.raise_to(&sidecars);
        } else {
            let mut own = defaulted(container.resources.as_ref());
            own.add(&sidecars);
            starting.raise_to(&own);
        }
    }
    requests.raise_to(&starting);

    if let Some(whole) = &spec.resources {
        for (name, amount) in of_whole(whole, &requests).iter() {
            requests.set(name, amount);
        }
    }
    requests.add(&resources(spec.overhead.as_ref()));
    requests.set("pods", Quantity::from_units(1));
    requests
}

/// Requests of the pod as a whole; a resource with only a limit asks what its containers do, or that limit.
fn of_whole(whole: &ResourceRequirements, containers: &Resources) -> Resources {
    let counts = |name: &str| matches!(name, "cpu" | "memory") || name.starts_with("hugepages-");
    let mut requests = resources(whole.requests.as_ref());
    for (name, limit) in resources(whole.limits.as_ref()).iter() {
        let asked = containers.0.get(name).copied().unwrap_or(limit);
        requests.0.entry(name.to_owned()).or_insert(asked);
    }
    requests.0.retain(|name, _| counts(name));
    requests
}
