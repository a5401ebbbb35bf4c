//! What can be bought, and what each EC2NodeClass and NodePool comes to.

mod counts;
mod leaving;
pub(crate) mod marks;
mod pool;
mod status;

use std::collections::BTreeMap;

use api::crd::{Ec2NodeClass, Kind, NodePool, Subnet};
use cloud::images::ImageContext;
use cloud::profiles::ProfileSpec;
use cloud::{CloudError, Published};
use cluster::Cluster;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{Claim, ClaimNode, LeavingClass};
use serde::Serialize;
use serde_json::Value;

use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;
use status::Found;

/// What a look at NodePools and EC2NodeClasses tells of them, by their names.
pub(crate) struct Known {
    /// Hashes of what a pool's NodeClaims are made from now.
    pub pools: BTreeMap<String, String>,
    /// Hashes that are written on classes.
    pub classes: BTreeMap<String, String>,
    /// Classes that were asked to go.
    pub leaving: Vec<LeavingClass>,
}

/// Prices and types are asked for anew once they are older than this.
const STALE: SignedDuration = SignedDuration::from_mins(55);

impl World {
    /// Brings the catalogue and the statuses up to date.
    pub async fn refresh(&mut self, name: &str, _deadline: Deadline) -> Result<(), RunError> {
        self.config.cluster(name)?;
        let catalogue = self.refresh_catalogue().await;
        if let Err(error) = &catalogue {
            // The one that is there serves on; what it lacks are the last prices.
            self.metrics.count("catalogue_refresh_failures_total", &[("cluster", name)], 1);
            tracing::error!(%error, "the catalogue could not be refreshed");
        }
        let statuses = self.refresh_statuses(name).await;
        self.rest(name);
        statuses.and(catalogue)
    }

    async fn refresh_catalogue(&mut self) -> Result<(), RunError> {
        let now = Timestamp::now();
        let known = self.catalogue().await?;
        let Some(bucket) = self.config.bucket.clone() else { return Ok(()) };
        let stored = self.is_catalogue_stored();
        if stored && now.duration_since(known.as_of) < STALE {
            return Ok(());
        }
        let embedded = catalog::embedded()?;
        let mut published = Published::of_catalogue(&embedded, &self.config.region);
        if stored {
            published.on_demand = Published::of_catalogue(&known, &self.config.region).on_demand;
        }
        // Prices that can't be had now stay as they were.
        match self.cloud.on_demand_prices().await {
            Ok(prices) => published.on_demand.extend(prices),
            Err(error) => tracing::warn!(%error, "on-demand prices stay as they were"),
        }
        let mut catalogue = self.cloud.instance_types(&published, now).await?;
        self.cloud.spot_prices(now).await?.fill(&mut catalogue);
        self.cloud.put_catalogue(&bucket, &catalogue).await?;
        self.forget_catalogue();
        tracing::info!(types = catalogue.types.len(), "catalogue refreshed");
        Ok(())
    }

    async fn refresh_statuses(&mut self, name: &str) -> Result<(), RunError> {
        let site = self.site(name).await?;
        let (cluster, eks) = (site.cluster.clone(), site.eks.clone());
        let (classes, faults) = cluster.node_classes().await?;
        for (class, fault) in &faults {
            tracing::warn!(class, fault, "EC2NodeClass can't be read");
        }
        let mut refused = Vec::new();
        let mut ready = BTreeMap::new();
        for class in classes {
            let now = Timestamp::now();
            if class.metadata.deletion_timestamp.is_some() {
                let own = class.metadata.name.clone().unwrap_or_default();
                ready.insert(own.clone(), leaving::status(&own, now));
                if let Some(class) = leaving::leaving(&class)
                    && let Err(error) = self.let_go(name, &class).await
                {
                    tracing::warn!(%error, class = own, "not let go");
                    refused.push(error.to_string());
                }
                continue;
            }
            let authority = &eks.cluster.certificate_authority;
            // Before the status: what is launched once that is of this generation is launched by this hash.
            let lacks = marks::of_class(&class, authority);
            let version = match marked(&cluster, Kind::Ec2NodeClass, &class.metadata, lacks).await {
                Ok(version) => version,
                Err(error) => {
                    refused.push(error);
                    continue;
                }
            };
            let found = self.found(name, &class, &eks.kubernetes, now).await;
            let status = status::status(&class, found, faults_of(Kind::Ec2NodeClass, &class), now);
            ready.insert(class.metadata.name.clone().unwrap_or_default(), status.clone());
            if class.status.as_ref() == Some(&status) {
                continue;
            }
            let written = serde_json::to_value(&status).unwrap_or_default();
            let class = class.metadata.name.as_deref().unwrap_or_default();
            if let Err(error) = cluster.set_status(Kind::Ec2NodeClass, class, &version, &written).await {
                tracing::warn!(%error, class, "status not written");
                refused.push(error.to_string());
            }
        }
        for pool in cluster.node_pools().await? {
            let now = Timestamp::now();
            let invalid = faults_of(Kind::NodePool, &pool);
            let version = match marked(&cluster, Kind::NodePool, &pool.metadata, marks::of_pool(&pool)).await
            {
                Ok(version) => version,
                Err(error) => {
                    refused.push(error);
                    continue;
                }
            };
            let Some(status) = pool::status(&pool, &ready, invalid, now) else { continue };
            let pool = pool.metadata.name.as_deref().unwrap_or_default();
            if let Err(error) = cluster.set_status(Kind::NodePool, pool, &version, &status).await {
                tracing::warn!(%error, pool, "status not written");
                refused.push(error.to_string());
            }
        }
        match refused.first() {
            None => Ok(()),
            Some(first) => Err(RunError::Refused { count: refused.len(), first: first.clone() }),
        }
    }

    /// Looks at NodePools and EC2NodeClasses: counts the pools' nodes, has statuses and marks written that are not
    /// there, and tells what NodeClaims are compared by.
    pub(crate) async fn look_at_pools(
        &mut self,
        name: &str,
        claims: &[Claim],
        nodes: &[ClaimNode],
    ) -> Result<Known, RunError> {
        let cluster = self.site(name).await?.cluster.clone();
        let (pools, (classes, _)) = (cluster.node_pools().await?, cluster.node_classes().await?);
        let is_judged = |pool: &NodePool| {
            let wanted = Some(&pool.spec.template.spec.node_class_ref.name);
            pool.is_judged(classes.iter().find(|class| class.metadata.name.as_ref() == wanted))
        };
        let judged = pools.iter().all(is_judged) && classes.iter().all(Ec2NodeClass::is_judged);
        let marked = pools.iter().all(|pool| marks::of_pool(pool).is_none());
        if !judged || !marked || !classes.iter().all(marks::is_marked) {
            self.ask_for_statuses(name).await?;
        }
        let name = |metadata: &ObjectMeta| metadata.name.clone().unwrap_or_default();
        let known = Known {
            pools: pools.iter().map(|pool| (name(&pool.metadata), api::hash::pool(pool))).collect(),
            classes: classes
                .iter()
                .filter_map(|class| Some((name(&class.metadata), marks::class_hash(class)?.clone())))
                .collect(),
            leaving: classes.iter().filter_map(leaving::leaving).collect(),
        };
        for pool in pools {
            let Some(status) = counts::counts(&pool, claims, nodes) else { continue };
            let version = pool.metadata.resource_version.as_deref().unwrap_or_default();
            let pool = pool.metadata.name.as_deref().unwrap_or_default();
            // Whoever changed it in between is not overruled; the next minute counts again.
            if let Err(error) = cluster.set_status(Kind::NodePool, pool, version, &status).await {
                tracing::warn!(%error, pool, "status not written");
            }
        }
        Ok(known)
    }

    /// What a class's selectors find.
    async fn found(&self, cluster: &str, class: &Ec2NodeClass, kubernetes: &str, now: Timestamp) -> Found {
        let text = |error: CloudError| error.to_string();
        let spec = &class.spec;
        let context = ImageContext { kubernetes, parameter_prefix: None, now };
        let subnets = self.cloud.subnets(&spec.subnet_selector_terms).await;
        let profile = match (&spec.instance_profile, &spec.role) {
            (Some(profile), _) => Ok(profile.clone()),
            (None, Some(role)) => {
                let profile = ProfileSpec {
                    cluster,
                    class: class.metadata.name.as_deref().unwrap_or_default(),
                    class_uid: class.metadata.uid.as_deref().unwrap_or_default(),
                    role,
                    tags: &spec.tags,
                };
                self.cloud.ensure_instance_profile(&profile).await.map_err(text)
            }
            (None, None) => Err("neither spec.role nor spec.instanceProfile is set".to_owned()),
        };
        Found {
            subnets: subnets.map_err(text).map(|found| {
                let subnet = |found: cloud::launch::FreeSubnet| Subnet {
                    id: found.id,
                    zone: found.zone,
                    zone_id: found.zone_id,
                };
                found.into_iter().map(subnet).collect()
            }),
            groups: self.cloud.security_groups(&spec.security_group_selector_terms).await.map_err(text),
            images: self.cloud.images(&spec.ami_selector_terms, context).await.map_err(text),
            profile,
        }
    }
}

/// Writes what an object's metadata lacks, if anything; the version it then is at.
async fn marked(
    cluster: &Cluster,
    kind: Kind,
    metadata: &ObjectMeta,
    lacks: Option<Value>,
) -> Result<String, String> {
    let version = metadata.resource_version.as_deref().unwrap_or_default();
    let Some(lacks) = lacks else { return Ok(version.to_owned()) };
    let name = metadata.name.as_deref().unwrap_or_default();
    cluster.set_metadata(kind, name, version, &lacks).await.map_err(|error| {
        tracing::warn!(%error, %kind, name, "not marked");
        error.to_string()
    })
}

/// What is wrong with a stored object's spec that the schema can't tell.
fn faults_of(kind: Kind, object: &impl Serialize) -> Option<String> {
    let value = serde_json::to_value(object).ok()?;
    let faults = api::crd::validate(kind, &value);
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    (!told.is_empty()).then(|| told.join("; "))
}
