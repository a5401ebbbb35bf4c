//! The tags by which machines and what belongs to them are known.

use std::collections::BTreeMap;

use model::labels;

/// The tag that holds the cluster's name.
pub const CLUSTER_NAME: &str = "eks:eks-cluster-name";

/// The key of the tag that says the cluster owns a thing.
pub fn cluster_owned(cluster: &str) -> String {
    format!("kubernetes.io/cluster/{cluster}")
}

/// The tags of all that is made for a class of one pool: the user's own, which can't replace ours.
///
/// A machine without a pool has the pool's tag all the same, with nothing in it: permissions are bound to the tag.
pub fn class_tags(
    cluster: &str,
    pool: Option<&str>,
    class: &str,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut tags = own.clone();
    tags.insert(cluster_owned(cluster), "owned".to_owned());
    tags.insert(CLUSTER_NAME.to_owned(), cluster.to_owned());
    tags.insert(labels::NODEPOOL.to_owned(), pool.unwrap_or_default().to_owned());
    tags.insert(labels::EC2_NODE_CLASS.to_owned(), class.to_owned());
    tags
}

/// The same for what one launch makes.
pub fn launch_tags(mut tags: BTreeMap<String, String>, group: &str) -> BTreeMap<String, String> {
    tags.insert(labels::LAUNCH_GROUP.to_owned(), group.to_owned());
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_add_tags_and_replace_none_of_ours() {
        let own = [("Name", "mine"), ("karpenter.sh/nodepool", "other"), (labels::LAUNCH_GROUP, "other")];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let tags = launch_tags(class_tags("prod", None, "default", &own), "group-1");
        let tags: Vec<_> = tags.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(
            tags,
            [
                ("Name", "mine"),
                ("eks:eks-cluster-name", "prod"),
                ("journeyman.dev/launch-group", "group-1"),
                ("karpenter.k8s.aws/ec2nodeclass", "default"),
                ("karpenter.sh/nodepool", ""),
                ("kubernetes.io/cluster/prod", "owned"),
            ]
        );
    }
}
