//! NodeClaims under way, with all that hangs on them.

use std::collections::{BTreeMap, BTreeSet};

use api::crd::{self, Kind};
use api::lower;
use futures_util::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::apps::v1 as apps;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::VolumeAttachment;
use model::{Attachment, BoundPod, Claim, ClaimNode, Deployment, ObjectName, UnboundPod, labels, machine_id};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::client::{Ask, Cluster};
use crate::effects::rollouts;
use crate::error::ClusterError;
use crate::kinds::{Kept, Served};
use crate::slim::SlimPod;
use crate::watched::{Watched, escape};

/// How many objects are asked for at a time.
const AT_ONCE: usize = 8;
/// Nodes that are not ready for work yet: a NodeClaim names its Node only in the look after the Node was marked as
/// registered, so that mark alone would hide the Node from it.
const UNINITIALIZED: &str = "labelSelector=%21karpenter.sh%2Finitialized";
/// Pods that wait for a node.
const UNBOUND: &str = "fieldSelector=spec.nodeName%3D%2Cstatus.phase%3DPending";
/// Nodes that are of a pool.
const OURS: &str = "labelSelector=karpenter.sh%2Fnodepool";

/// NodeClaims and what belongs to them, as far as the API server knows.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LifecycleParts {
    /// The NodeClaims asked for that are there, with all others of their launch groups and of their machines.
    pub claims: Vec<Claim>,
    /// Nodes with the provider id of one of them.
    pub nodes: Vec<ClaimNode>,
    /// Of the Nodes asked for, those that are going, are held, and whose machine no NodeClaim has.
    pub orphans: Vec<ClaimNode>,
    /// Pods on those Nodes that are to be drained.
    pub pods: Vec<BoundPod>,
    /// Deployments of those that ask for a successor before they leave, as far as there are any.
    pub deployments: Vec<Deployment>,
    /// Volumes attached to these Nodes.
    pub attachments: Vec<Attachment>,
}

/// Which NodeClaims there are, kept between the runs of a warm sandbox: names, launch groups and machines.
pub struct ClaimIndex {
    cluster: Cluster,
    heads: Watched<ClaimHead>,
}

/// What a NodeClaim is found by.
#[derive(Clone, Debug, Eq, PartialEq)]
struct ClaimHead {
    name: String,
    group: Option<String>,
    provider_id: Option<String>,
    at_rest: bool,
}

impl Kept for ClaimHead {
    type Shared = ();
    const PAGE: u32 = 250;

    fn served() -> Served {
        Served::crd(Kind::NodeClaim)
    }

    fn read(json: &RawValue, (): &mut ()) -> Result<Self, String> {
        let kept = crate::kinds::KeptClaim::read(json, &mut ())?;
        let meta = &kept.claim.metadata;
        let group = meta.annotations.as_ref().and_then(|all| all.get(labels::LAUNCH_GROUP)).cloned();
        let provider_id = kept.claim.status.as_ref().and_then(|status| status.provider_id.clone());
        Ok(Self {
            name: meta.name.clone().unwrap_or_default(),
            group,
            provider_id: provider_id.filter(|id| !id.is_empty()),
            at_rest: kept.is_at_rest(),
        })
    }

    fn name(&self) -> ObjectName {
        ObjectName::new("default", &self.name)
    }

    fn same(&self, other: &Self) -> bool {
        self == other
    }

    fn put(&self, _: &mut lower::Objects) {}
}

impl ClaimIndex {
    /// Nothing known yet.
    pub fn new(cluster: &Cluster) -> Self {
        Self { cluster: cluster.clone(), heads: Watched::new("") }
    }

    /// These NodeClaims and Nodes, with all that hangs on them, read anew.
    pub async fn lifecycle(
        &mut self,
        claims: &[String],
        nodes: &[String],
    ) -> Result<LifecycleParts, ClusterError> {
        self.look().await?;
        let mut named: Vec<ClaimNode> = Vec::new();
        for node in self.cluster.nodes_by_name(nodes.iter().cloned()).await? {
            named.extend(lower::claim_node(&node));
        }
        let ids: BTreeSet<&str> = named.iter().map(|node| node.provider_id.as_str()).collect();
        let mut wanted: BTreeSet<String> = claims.iter().cloned().collect();
        wanted.extend(self.heads().filter(|head| is_one_of(head, &ids)).map(|head| head.name.clone()));
        let wanted = self.with_kin(wanted);
        let claims = self.cluster.claims_by_name(wanted).await?;

        let has = |node: &ClaimNode| {
            claims.iter().any(|claim| claim.provider_id.as_ref() == Some(&node.provider_id))
        };
        let known: BTreeSet<&str> = self.heads().filter_map(|head| head.provider_id.as_deref()).collect();
        let orphans = named.iter().filter(|node| {
            node.deleting.is_some()
                && node.finalizer
                && !known.contains(node.provider_id.as_str())
                && !has(node)
        });
        let orphans: Vec<ClaimNode> = orphans.cloned().collect();
        let nodes = self.cluster.nodes_of(&claims, named).await?;

        let leaving = |node: &&ClaimNode| {
            let going = |claim: &Claim| {
                claim.deleting.is_some() && claim.provider_id.as_ref() == Some(&node.provider_id)
            };
            node.deleting.is_some() || claims.iter().any(going)
        };
        let draining: BTreeSet<String> =
            nodes.iter().chain(&orphans).filter(leaving).map(|node| node.name.clone()).collect();
        let attachments = self.cluster.attachments(&draining).await?;
        let pods = self.cluster.pods_on(&draining, &attachments).await?;
        let deployments = self.cluster.deployments_of(&pods).await?;
        Ok(LifecycleParts { claims, nodes, orphans, pods, deployments, attachments })
    }

    /// The names of NodeClaims that are coming or going.
    pub async fn not_at_rest(&mut self) -> Result<Vec<String>, ClusterError> {
        self.look().await?;
        Ok(self.heads().filter(|head| !head.at_rest).map(|head| head.name.clone()).collect())
    }

    /// The NodeClaims of machines, and their Nodes, read anew.
    pub async fn by_provider_ids(
        &mut self,
        provider_ids: &[String],
    ) -> Result<(Vec<Claim>, Vec<ClaimNode>), ClusterError> {
        self.look().await?;
        self.found(|head| head.provider_id.as_ref().is_some_and(|id| provider_ids.contains(id))).await
    }

    /// The same by instance ids, such as `i-0123456789abcdef0`: a provider id ends with one.
    pub async fn by_instance_ids(
        &mut self,
        instances: &[String],
    ) -> Result<(Vec<Claim>, Vec<ClaimNode>), ClusterError> {
        self.look().await?;
        let named = |id: &str| instances.iter().any(|instance| instance == machine_id(id));
        self.found(|head| head.provider_id.as_deref().is_some_and(named)).await
    }

    /// Lets the connection go, at the end of a run.
    pub fn suspend(&mut self) {
        self.heads.suspend();
    }

    async fn found(
        &self,
        wanted: impl Fn(&ClaimHead) -> bool,
    ) -> Result<(Vec<Claim>, Vec<ClaimNode>), ClusterError> {
        let names = self.heads().filter(|head| wanted(head)).map(|head| head.name.clone()).collect();
        let claims = self.cluster.claims_by_name(names).await?;
        let nodes = self.cluster.nodes_of(&claims, Vec::new()).await?;
        Ok((claims, nodes))
    }

    async fn look(&mut self) -> Result<(), ClusterError> {
        let cluster = self.cluster.clone();
        self.heads.look(&cluster).await?;
        Ok(())
    }

    fn heads(&self) -> impl Iterator<Item = &ClaimHead> {
        self.heads.items().map(|(_, head)| head)
    }

    /// These, with all of the same launch groups and of the same machines.
    fn with_kin(&self, mut names: BTreeSet<String>) -> BTreeSet<String> {
        let mut groups = BTreeSet::new();
        let mut machines = BTreeSet::new();
        for head in self.heads().filter(|head| names.contains(&head.name)) {
            groups.extend(head.group.as_deref());
            machines.extend(head.provider_id.as_deref());
        }
        let kin = self.heads().filter(|head| {
            head.group.as_deref().is_some_and(|group| groups.contains(group)) || is_one_of(head, &machines)
        });
        names.extend(kin.map(|head| head.name.clone()));
        names
    }
}

fn is_one_of(head: &ClaimHead, provider_ids: &BTreeSet<&str>) -> bool {
    head.provider_id.as_deref().is_some_and(|id| provider_ids.contains(id))
}

impl Cluster {
    /// All NodeClaims, or an error: one that is left out would look as if its machine were nobody's.
    pub async fn claims(&self) -> Result<Vec<Claim>, ClusterError> {
        let served = Served::crd(Kind::NodeClaim);
        let all: Vec<Value> = self.all(&served.path, "").await?;
        all.iter().map(|value| claim(value, &served.path)).collect()
    }

    /// All Nodes that are of a pool and have a machine, or an error.
    pub async fn nodes(&self) -> Result<Vec<ClaimNode>, ClusterError> {
        let all: Vec<Node> = self.all("/api/v1/nodes", OURS).await?;
        Ok(all.iter().filter_map(lower::claim_node).collect())
    }

    /// Pods that are bound to no node.
    pub async fn unbound_pods(&self) -> Result<Vec<UnboundPod>, ClusterError> {
        #[derive(serde::Deserialize)]
        struct Item {
            metadata: Meta,
            #[serde(default)]
            status: Status,
        }
        #[derive(serde::Deserialize)]
        struct Meta {
            namespace: String,
            name: String,
            uid: String,
        }
        #[derive(Default, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Status {
            nominated_node_name: Option<String>,
        }
        let all: Vec<Item> = self.all("/api/v1/pods", UNBOUND).await?;
        let pods = all.into_iter().map(|item| UnboundPod {
            name: ObjectName::new(&item.metadata.namespace, &item.metadata.name),
            uid: item.metadata.uid,
            nominated: item.status.nominated_node_name.filter(|node| !node.is_empty()),
        });
        Ok(pods.collect())
    }

    /// Annotations of all NodePools.
    pub async fn pool_annotations(&self) -> Result<BTreeMap<String, BTreeMap<String, String>>, ClusterError> {
        let all: Vec<Value> = self.all(&Served::crd(Kind::NodePool).path, "").await?;
        let annotations = all.into_iter().filter_map(|pool| {
            let name = pool.pointer("/metadata/name")?.as_str()?.to_owned();
            let annotations = pool.pointer("/metadata/annotations").cloned().unwrap_or_default();
            Some((name, serde_json::from_value(annotations).unwrap_or_default()))
        });
        Ok(annotations.collect())
    }

    /// All EC2NodeClasses that can be read, and what is wrong with the others, by name.
    pub async fn node_classes(
        &self,
    ) -> Result<(Vec<crd::Ec2NodeClass>, BTreeMap<String, String>), ClusterError> {
        let all: Vec<Value> = self.all(&Served::crd(Kind::Ec2NodeClass).path, "").await?;
        let (mut classes, mut faults) = (Vec::new(), BTreeMap::new());
        for value in all {
            match lower::read_stored(&value) {
                Ok(class) => classes.push(class),
                Err(why) => {
                    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
                    faults.insert(name.to_owned(), why);
                }
            }
        }
        Ok((classes, faults))
    }

    /// All NodePools that can be read; what is wrong with the others is told where they are decided about.
    pub async fn node_pools(&self) -> Result<Vec<crd::NodePool>, ClusterError> {
        let all: Vec<Value> = self.all(&Served::crd(Kind::NodePool).path, "").await?;
        Ok(all.iter().filter_map(|value| lower::read_stored(value).ok()).collect())
    }

    /// An EC2NodeClass.
    pub async fn node_class(&self, name: &str) -> Result<Option<crd::Ec2NodeClass>, ClusterError> {
        let path = format!("{}/{name}", Served::crd(Kind::Ec2NodeClass).path);
        let found: Option<Value> = self.get(path.clone()).await?;
        let unreadable =
            |message: String| ClusterError::Unreadable { what: format!("reading {path}"), message };
        found.map(|value| lower::read_stored(&value).map_err(unreadable)).transpose()
    }

    async fn claims_by_name(&self, names: BTreeSet<String>) -> Result<Vec<Claim>, ClusterError> {
        let all = Served::crd(Kind::NodeClaim).path;
        let found: Vec<Option<Value>> = stream::iter(names)
            .map(|name| self.get(format!("{all}/{name}")))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        found.iter().flatten().map(|value| claim(value, &all)).collect()
    }

    async fn nodes_by_name(&self, names: impl Iterator<Item = String>) -> Result<Vec<Node>, ClusterError> {
        let found: Vec<Option<Node>> = stream::iter(names)
            .map(|name| self.get(format!("/api/v1/nodes/{name}")))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The Nodes of NodeClaims: those they name, and those that are not ready for work yet, by provider id.
    async fn nodes_of(
        &self,
        claims: &[Claim],
        known: Vec<ClaimNode>,
    ) -> Result<Vec<ClaimNode>, ClusterError> {
        let mut nodes: BTreeMap<String, ClaimNode> =
            known.into_iter().map(|node| (node.name.clone(), node)).collect();
        let names: BTreeSet<String> = claims.iter().filter_map(|claim| claim.node.clone()).collect();
        let unknown = names.into_iter().filter(|name| !nodes.contains_key(name));
        for node in self.nodes_by_name(unknown.collect::<Vec<_>>().into_iter()).await? {
            nodes.extend(lower::claim_node(&node).map(|node| (node.name.clone(), node)));
        }
        let unregistered = |claim: &Claim| claim.provider_id.is_some() && claim.node.is_none();
        if claims.iter().any(unregistered) {
            let all: Vec<Node> = self.all("/api/v1/nodes", UNINITIALIZED).await?;
            let all = all.iter().filter_map(lower::claim_node);
            nodes.extend(all.map(|node| (node.name.clone(), node)));
        }
        let ids: BTreeSet<&str> = claims.iter().filter_map(|claim| claim.provider_id.as_deref()).collect();
        nodes.retain(|_, node| ids.contains(node.provider_id.as_str()));
        Ok(nodes.into_values().collect())
    }

    async fn attachments(&self, nodes: &BTreeSet<String>) -> Result<Vec<Attachment>, ClusterError> {
        if nodes.is_empty() {
            return Ok(Vec::new());
        }
        let path = Served::core::<VolumeAttachment>().path;
        let all: Vec<VolumeAttachment> = self.all(&path, "").await?;
        let all = all.iter().filter_map(lower::attachment);
        Ok(all.filter(|attachment| nodes.contains(&attachment.node)).collect())
    }

    /// Pods on Nodes. Which volumes they use is only asked where there are any.
    async fn pods_on(
        &self,
        nodes: &BTreeSet<String>,
        attachments: &[Attachment],
    ) -> Result<Vec<BoundPod>, ClusterError> {
        let selections =
            nodes.iter().map(|node| format!("fieldSelector={}", escape(&format!("spec.nodeName={node}"))));
        let found: Vec<Vec<SlimPod>> = stream::iter(selections)
            .map(|selection| async move { self.all("/api/v1/pods", &selection).await })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let pods: Vec<Pod> = found.into_iter().flatten().map(Pod::from).collect();
        let used: BTreeSet<&str> = attachments.iter().map(|attachment| attachment.node.as_str()).collect();
        let node = |pod: &Pod| pod.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
        let mounting = pods.iter().filter(|pod| used.contains(node(pod).as_str()));
        let mounted: BTreeSet<ObjectName> = mounting.flat_map(lower::mounted_claims).collect();
        let volumes: Vec<(ObjectName, Option<String>)> = stream::iter(mounted)
            .map(|claim| async move {
                let path =
                    format!("/api/v1/namespaces/{}/persistentvolumeclaims/{}", claim.namespace, claim.name);
                let found: Option<PersistentVolumeClaim> = self.get(path).await?;
                Ok::<_, ClusterError>((claim, found.and_then(|found| found.spec?.volume_name)))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        let volumes: BTreeMap<ObjectName, Option<String>> = volumes.into_iter().collect();
        let volume = |claim: &ObjectName| volumes.get(claim).cloned().flatten();
        Ok(pods.iter().filter_map(|pod| lower::bound_pod(pod, volume)).collect())
    }

    /// Deployments of pods that ask for a successor before they leave. Not to be let read one is an answer too: the right is
    /// given only where pods may ask for that.
    async fn deployments_of(&self, pods: &[BoundPod]) -> Result<Vec<Deployment>, ClusterError> {
        let names = pods.iter().filter(|pod| pod.deleting.is_none()).filter_map(|pod| {
            let deployment = pod.surge.as_ref().filter(|surge| surge.is_wanted())?.deployment.as_ref()?;
            Some(ObjectName::new(&pod.name.namespace, deployment))
        });
        let names: BTreeSet<ObjectName> = names.collect();
        let found: Vec<Option<Deployment>> = stream::iter(names)
            .map(|name| async move {
                match self.get::<apps::Deployment>(rollouts::path(&name)).await {
                    Ok(found) => {
                        Ok(found.map(|found| Deployment { name, rollout: Some(lower::rollout(&found)) }))
                    }
                    Err(error) if error.status() == Some(403) => Ok(Some(Deployment { name, rollout: None })),
                    Err(error) => Err(error),
                }
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(found.into_iter().flatten().collect())
    }

    async fn get<T: DeserializeOwned>(&self, path: String) -> Result<Option<T>, ClusterError> {
        let what = format!("reading {path}");
        self.ask(&Ask::get(&path, &what)).await?.found(&what)
    }

    /// All objects of a list, page by page; if the pages are of different versions, from the start.
    async fn all<T: DeserializeOwned>(&self, path: &str, selection: &str) -> Result<Vec<T>, ClusterError> {
        let mut tries = 0;
        loop {
            match self.pages(path, selection).await {
                Err(error) if error.status() == Some(410) && tries < 2 => tries += 1,
                other => return other,
            }
        }
    }

    async fn pages<T: DeserializeOwned>(&self, path: &str, selection: &str) -> Result<Vec<T>, ClusterError> {
        #[derive(serde::Deserialize)]
        struct Page<T> {
            #[serde(default)]
            metadata: PageMeta,
            #[serde(default = "Vec::new")]
            items: Vec<T>,
        }
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct PageMeta {
            r#continue: String,
        }
        let what = format!("listing {path}");
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let mut query = format!("{path}?limit=250");
            for (key, value) in [("&", selection), ("&continue=", next.as_str())] {
                if !value.is_empty() {
                    query.push_str(key);
                    query.push_str(value);
                }
            }
            let page: Page<T> = self.ask(&Ask::get(&query, &what)).await?.read(&what)?;
            items.extend(page.items);
            if page.metadata.r#continue.is_empty() {
                return Ok(items);
            }
            next = escape(&page.metadata.r#continue);
        }
    }
}

fn claim(value: &Value, path: &str) -> Result<Claim, ClusterError> {
    let read = lower::read_stored(value).and_then(|claim| lower::claim(&claim));
    read.map_err(|message| {
        let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        ClusterError::Unreadable { what: format!("reading {path}/{name}"), message }
    })
}
