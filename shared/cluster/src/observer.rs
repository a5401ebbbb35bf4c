//! What a warm sandbox knows of a cluster, and how it is brought up to date.

use std::sync::{Arc, Mutex};

use api::lower::{Objects, PodObject};
use futures_util::future::{try_join, try_join3, try_join4, try_join5};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{LimitRange, Namespace, PersistentVolume, PersistentVolumeClaim};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::api::storage::v1::{CSINode, StorageClass};
use model::ObjectName;
use tokio::time::Instant;

use crate::client::{Cluster, Written, lock};
use crate::error::ClusterError;
use crate::kinds::{Kept, KeptClaim, KeptManifest, KeptNode, NodeClasses, NodePools};
use crate::watched::{Delta, Watched};

/// Pods that nothing has placed: all that a look at an idle cluster needs of pods.
const PENDING: &str = "fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending";

/// A cluster as far as it is known, kept between the runs of a warm sandbox.
pub struct Observer {
    cluster: Cluster,
    written: Arc<Mutex<Vec<Written>>>,
    pods: Watched<PodObject>,
    /// Whether `pods` are all there are, not only the pending ones.
    whole: bool,
    nodes: Watched<KeptNode>,
    claims: Watched<KeptClaim>,
    pools: Watched<KeptManifest<NodePools>>,
    classes: Watched<KeptManifest<NodeClasses>>,
    daemon_sets: Watched<DaemonSet>,
    volume_claims: Watched<PersistentVolumeClaim>,
    volumes: Watched<PersistentVolume>,
    storage_classes: Watched<StorageClass>,
    csi_nodes: Watched<CSINode>,
    limit_ranges: Watched<LimitRange>,
    namespaces: Watched<Namespace>,
    pdbs: Watched<PodDisruptionBudget>,
}

/// What is not at rest.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct AtRest {
    /// Pods that wait for a place.
    pub pending: Vec<ObjectName>,
    /// NodeClaims that are coming or going.
    pub claims: Vec<String>,
    /// Nodes that are coming or going.
    pub nodes: Vec<String>,
}

impl AtRest {
    /// Whether there is nothing to do.
    pub fn is_at_rest(&self) -> bool {
        self.pending.is_empty() && self.claims.is_empty() && self.nodes.is_empty()
    }
}

/// How many objects have changed.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Changed {
    /// Pods, of those that are watched: before the first `observe` only pending ones are.
    pub pods: usize,
    /// Of these, pods that wait for a place.
    pub pending: usize,
    /// Nodes.
    pub nodes: usize,
    /// NodeClaims.
    pub claims: usize,
    /// NodePools and EC2NodeClasses, once `observe` has read them.
    pub pools: usize,
}

impl Changed {
    /// Whether anything has.
    pub fn any(&self) -> bool {
        self.pods + self.nodes + self.claims + self.pools > 0
    }
}

impl Observer {
    /// Nothing known yet.
    pub fn new(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster.clone(),
            written: cluster.reader(),
            pods: Watched::new(PENDING),
            whole: false,
            nodes: Watched::new(""),
            claims: Watched::new(""),
            pools: Watched::new(""),
            classes: Watched::new(""),
            daemon_sets: Watched::new(""),
            volume_claims: Watched::new(""),
            volumes: Watched::new(""),
            storage_classes: Watched::new(""),
            csi_nodes: Watched::new(""),
            limit_ranges: Watched::new(""),
            namespaces: Watched::new(""),
            pdbs: Watched::new(""),
        }
    }

    /// The cheap look: only pods without a place, NodeClaims and Nodes, and of these only what has changed. Four
    /// requests, once the sandbox is warm.
    pub async fn at_rest(&mut self) -> Result<AtRest, ClusterError> {
        self.look_at_the_moving().await?;
        let pods = self.pods.items().filter(|(_, pod)| pod.is_pending());
        let claims = self.claims.items().filter(|(_, kept)| !kept.is_at_rest());
        let nodes = self.nodes.items().filter(|(_, kept)| !kept.is_at_rest());
        Ok(AtRest {
            pending: pods.map(|(name, _)| name.clone()).collect(),
            claims: claims.map(|(name, _)| name.name.clone()).collect(),
            nodes: nodes.map(|(name, _)| name.name.clone()).collect(),
        })
    }

    /// All that a decision is made from.
    pub async fn observe(&mut self) -> Result<Objects, ClusterError> {
        if !self.whole {
            self.pods = Watched::new("");
            self.whole = true;
        }
        self.look_at_the_moving().await?;
        let cluster = self.cluster.clone();
        let workloads = try_join5(
            self.pools.look(&cluster),
            self.classes.look(&cluster),
            self.daemon_sets.look(&cluster),
            self.limit_ranges.look(&cluster),
            self.namespaces.look(&cluster),
        );
        let storage = try_join4(
            self.volume_claims.look(&cluster),
            self.volumes.look(&cluster),
            self.storage_classes.look(&cluster),
            self.csi_nodes.look(&cluster),
        );
        try_join3(workloads, storage, self.pdbs.look(&cluster)).await?;
        Ok(self.objects())
    }

    /// Waits until pods, Nodes or NodeClaims change, or what `observe` has read of NodePools and EC2NodeClasses, and
    /// tells how many have; at the deadline, that none have.
    pub async fn changed(&mut self, deadline: Instant) -> Result<Changed, ClusterError> {
        loop {
            if Instant::now() >= deadline {
                return Ok(Changed::default());
            }
            self.absorb();
            let mut changed = Changed::default();
            let cluster = self.cluster.clone();
            let (whole, none) = (self.whole, Delta::default());
            let attended = {
                let moving = try_join3(
                    self.pods.attend(&cluster),
                    self.nodes.attend(&cluster),
                    self.claims.attend(&cluster),
                );
                // Before the first `observe` there is nothing in them that could bear on anything.
                let (pools, classes) = (&mut self.pools, &mut self.classes);
                let still = async {
                    if !whole {
                        return Ok((none, none));
                    }
                    try_join(pools.attend(&cluster), classes.attend(&cluster)).await
                };
                match tokio::time::timeout_at(deadline, try_join(moving, still)).await {
                    Err(_) => return Ok(changed),
                    Ok(attended) => attended?,
                }
            };
            changed.add(attended.0);
            changed.pools += attended.1.0.changed + attended.1.1.changed;
            if changed.any() {
                return Ok(changed);
            }
            let waiting = async {
                let mut told = (none, none, none);
                tokio::select! {
                    pods = self.pods.changed() => told.0 = pods.unwrap_or_default(),
                    nodes = self.nodes.changed() => told.1 = nodes.unwrap_or_default(),
                    claims = self.claims.changed() => told.2 = claims.unwrap_or_default(),
                    pools = self.pools.changed() => return (told, pools.unwrap_or_default()),
                    classes = self.classes.changed() => return (told, classes.unwrap_or_default()),
                }
                (told, none)
            };
            let Ok((told, pools)) = tokio::time::timeout_at(deadline, waiting).await else {
                return Ok(Changed::default());
            };
            changed.add(told);
            changed.pools += pools.changed;
            if changed.any() {
                // What came in the same moment belongs together.
                changed.add(self.look_at_the_moving().await?);
                return Ok(changed);
            }
        }
    }

    /// Lets all connections go, at the end of a run: in a frozen sandbox they die. What is known stays.
    pub fn suspend(&mut self) {
        self.pods.suspend();
        self.nodes.suspend();
        self.claims.suspend();
        self.pools.suspend();
        self.classes.suspend();
        self.daemon_sets.suspend();
        self.volume_claims.suspend();
        self.volumes.suspend();
        self.storage_classes.suspend();
        self.csi_nodes.suspend();
        self.limit_ranges.suspend();
        self.namespaces.suspend();
        self.pdbs.suspend();
    }

    /// Pods, Nodes and NodeClaims, up to date. NodeClaims are counted too: one that is not known yet would be bought
    /// a second time.
    async fn look_at_the_moving(&mut self) -> Result<(Delta, Delta, Delta), ClusterError> {
        self.absorb();
        let cluster = self.cluster.clone();
        let known = self.claims.is_known();
        let count = async { if known { Watched::<KeptClaim>::count(&cluster).await } else { Ok(None) } };
        let looked =
            try_join4(self.pods.look(&cluster), self.nodes.look(&cluster), self.claims.look(&cluster), count);
        let (pods, nodes, mut claims, count) = looked.await?;
        if count.is_some_and(|count| count != self.claims.len()) {
            claims.add(self.claims.list(&cluster).await?);
        }
        Ok((pods, nodes, claims))
    }

    /// Takes in what we wrote ourselves: the watch may tell of it later.
    fn absorb(&mut self) {
        let written = std::mem::take(&mut *lock(&self.written));
        for written in written {
            match written {
                Written::Claim(value) => {
                    if let Ok(claim) = KeptClaim::from_value(&value) {
                        self.claims.learn(claim);
                    }
                }
                Written::Node(value) => {
                    if let Ok(node) = serde_json::from_value::<k8s_openapi::api::core::v1::Node>(value) {
                        self.nodes.learn(KeptNode::new(node));
                    }
                }
            }
        }
    }

    fn objects(&self) -> Objects {
        let mut objects = Objects::live();
        put(&self.pools, &mut objects);
        put(&self.classes, &mut objects);
        put(&self.namespaces, &mut objects);
        put(&self.pdbs, &mut objects);
        put(&self.limit_ranges, &mut objects);
        put(&self.storage_classes, &mut objects);
        put(&self.volumes, &mut objects);
        put(&self.volume_claims, &mut objects);
        put(&self.csi_nodes, &mut objects);
        put(&self.daemon_sets, &mut objects);
        put(&self.nodes, &mut objects);
        put(&self.claims, &mut objects);
        put(&self.pods, &mut objects);
        objects
    }
}

impl Changed {
    fn add(&mut self, (pods, nodes, claims): (Delta, Delta, Delta)) {
        self.pods += pods.changed;
        self.pending += pods.pending;
        self.nodes += nodes.changed;
        self.claims += claims.changed;
    }
}

fn put<T: Kept>(kept: &Watched<T>, objects: &mut Objects) {
    for (_, item) in kept.items() {
        item.put(objects);
    }
    for (place, why) in kept.unreadable() {
        objects.note(place, format!("left out: {why}"));
    }
}
