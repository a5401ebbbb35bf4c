//! What a NodePool's nodes have together, as its status tells.

use api::crd::NodePool;
use model::{Claim, ClaimNode, Quantity, Resources};
use serde_json::{Map, Value, json};

/// Told even of a pool without nodes.
const ALWAYS: [&str; 4] = ["cpu", "ephemeral-storage", "memory", "pods"];
/// The resource that counts nodes.
const NODES: &str = "nodes";

/// The fields of the status to write, unless they are there already. A Node counts by what it says it has, a NodeClaim
/// without one by what its machine will have.
pub(crate) fn counts(pool: &NodePool, claims: &[Claim], nodes: &[ClaimNode]) -> Option<Value> {
    let name = pool.metadata.name.as_deref().unwrap_or_default();
    let mut sum = Resources::new();
    let mut count = 0_i64;
    for claim in claims.iter().filter(|claim| claim.pool.as_deref() == Some(name)) {
        let node = nodes.iter().find(|node| Some(&node.provider_id) == claim.provider_id.as_ref());
        let registered = node.filter(|node| node.capacity.iter().next().is_some());
        sum.add(registered.map_or(&claim.capacity, |node| &node.capacity));
        count += 1;
    }
    for resource in ALWAYS {
        let amount = sum.get(resource);
        sum.set(resource, amount);
    }
    sum.set(NODES, Quantity::from_units(count));
    let resources = api::lower::resources(&sum);
    let status = pool.status.clone().unwrap_or_default();
    if status.resources == resources && status.nodes == count {
        return None;
    }
    let mut written: Map<String, Value> =
        resources.into_iter().map(|(name, amount)| (name, Value::String(amount.0))).collect();
    // In a merge, what is no more must be said.
    for gone in status.resources.keys() {
        written.entry(gone).or_insert(Value::Null);
    }
    Some(json!({ "resources": written, "nodes": count }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(status: &Value) -> NodePool {
        serde_json::from_value(json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"},
            "spec": {"template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": [],
            }}},
            "status": status,
        }))
        .unwrap()
    }

    #[test]
    fn np_03_a_pool_without_nodes_has_nothing_and_says_so_once() {
        let written =
            counts(&pool(&json!({"resources": {"cpu": "4", "example.com/gpu": "1"}})), &[], &[]).unwrap();
        assert_eq!(
            written,
            json!({"nodes": 0, "resources": {"cpu": "0", "ephemeral-storage": "0", "memory": "0", "nodes": "0",
                "pods": "0", "example.com/gpu": null}})
        );
        let kept = json!({"nodes": 0, "resources": {"cpu": "0", "ephemeral-storage": "0", "memory": "0", "nodes": "0",
            "pods": "0"}});
        assert_eq!(counts(&pool(&kept), &[], &[]), None);
    }
}
