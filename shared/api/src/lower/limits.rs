//! LimitRanges: what admission gives the containers of pods that don't exist yet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, LimitRange, LimitRangeItem, PodSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

type Amounts = BTreeMap<String, Quantity>;

/// Fills in requests and limits as the API server would: first requests from the container's own limits, then
/// what the namespace's LimitRanges say.
pub(super) fn apply(ranges: Option<&Vec<LimitRange>>, spec: &mut PodSpec) {
    let items: Vec<&LimitRangeItem> = ranges
        .into_iter()
        .flatten()
        .filter_map(|range| range.spec.as_ref())
        .flat_map(|spec| &spec.limits)
        .filter(|item| item.type_ == "Container")
        .collect();
    let containers = spec.containers.iter_mut().chain(spec.init_containers.iter_mut().flatten());
    for container in containers {
        fill(&items, container);
    }
}

fn fill(items: &[&LimitRangeItem], container: &mut Container) {
    let resources = container.resources.get_or_insert_default();
    let requests = resources.requests.get_or_insert_default();
    let limits = resources.limits.get_or_insert_default();
    copy(limits, requests);
    for item in items {
        let none = Amounts::new();
        let given = |amounts: &Option<Amounts>| amounts.clone().unwrap_or_default();
        let mut default = given(&item.default);
        copy(item.max.as_ref().unwrap_or(&none), &mut default);
        let mut default_request = given(&item.default_request);
        copy(&default, &mut default_request);
        copy(item.min.as_ref().unwrap_or(&none), &mut default_request);
        copy(&default_request, requests);
        copy(&default, limits);
    }
}

/// Adds what `to` lacks.
fn copy(from: &Amounts, to: &mut Amounts) {
    for (name, amount) in from {
        to.entry(name.clone()).or_insert_with(|| amount.clone());
    }
}
