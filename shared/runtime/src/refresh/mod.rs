//! What can be bought, and what each EC2NodeClass and NodePool comes to.

mod counts;
mod drawn;
mod leaving;
pub(crate) mod marks;
mod pool;
mod prices;
mod status;

use std::collections::{BTreeMap, BTreeSet};

use api::crd::{Ec2NodeClass, Kind, NodePool, Subnet};
use cloud::CloudError;
use cloud::images::ImageContext;
use cloud::profiles::ProfileSpec;
use cluster::{Cluster, Refused};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{Claim, ClaimNode, LeavingClass};
use serde::Serialize;
use serde_json::Value;

use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;
use drawn::Drawn;
use status::{Found, NoImages};

/// What a look at NodePools and EC2NodeClasses tells of them, by their names.
pub(crate) struct Known {
    /// Hashes of what a pool's NodeClaims are made from now.
    pub pools: BTreeMap<String, String>,
    /// Hashes that are written on classes.
    pub classes: BTreeMap<String, String>,
    /// Classes that were asked to go.
    pub leaving: Vec<LeavingClass>,
    /// Capacity reservations that are about to end and take their machines with them.
    pub expiring: BTreeSet<String>,
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
        let asked = match self.config.isolated_vpc {
            true => Ok(BTreeMap::new()),
            false => self.cloud.on_demand_prices().await,
        };
        let region = &self.config.region;
        let published = prices::published(&embedded, stored.then_some(&*known), asked, region);
        let mut catalogue = self.cloud.instance_types(&published, now).await?;
        self.cloud.spot_prices(now).await?.fill(&mut catalogue);
        self.cloud.put_catalogue(&bucket, &catalogue).await?;
        self.forget_catalogue();
        tracing::info!(types = catalogue.types.len(), "catalogue refreshed");
        Ok(())
    }

    async fn refresh_statuses(&mut self, name: &str) -> Result<(), RunError> {
        // Since the sandbox was made the control plane may have got another version.
        let eks = self.cloud.cluster(name).await;
        let site = self.site(name).await?;
        match eks {
            Ok(eks) => site.eks = eks,
            Err(error) => tracing::warn!(%error, "EKS is not asked anew"),
        }
        let (cluster, eks) = (site.cluster.clone(), site.eks.clone());
        let (classes, faults) = cluster.node_classes().await?;
        for (class, fault) in &faults {
            tracing::warn!(class, fault, "EC2NodeClass can't be read");
        }
        let draws = |class: &Ec2NodeClass| !class.spec.capacity_reservation_selector_terms.is_empty();
        let claims = if classes.iter().any(draws) { cluster.claims().await? } else { Vec::new() };
        let mut unwritten = Unwritten::default();
        let mut ready = BTreeMap::new();
        for class in classes {
            let now = Timestamp::now();
            let own = class.metadata.name.clone().unwrap_or_default();
            if class.metadata.deletion_timestamp.is_some() {
                ready.insert(own.clone(), leaving::status(&own, now));
                if let Some(class) = leaving::leaving(&class)
                    && let Err(error) = self.let_go(name, &class).await
                {
                    tracing::warn!(%error, class = own, "not let go");
                    unwritten.refused.push(error.to_string());
                }
                continue;
            }
            let drawn = self.drawn(&class, now).await;
            // Before the status: what is launched once that is of this generation is launched by this hash.
            let annotations = drawn.annotations(&class, &claims, now);
            let lacks = marks::of_class(&class, &eks.cluster.certificate_authority, annotations);
            let version = match marked(&cluster, Kind::Ec2NodeClass, &class.metadata, lacks).await {
                Ok(version) => version,
                Err(error) => {
                    unwritten.note("not marked", error);
                    continue;
                }
            };
            let found = self.found(name, &class, &eks.kubernetes, drawn, now).await;
            let status = status::status(&class, found, faults_of(Kind::Ec2NodeClass, &class), now);
            ready.insert(own.clone(), status.clone());
            if class.status.as_ref() == Some(&status) {
                continue;
            }
            let written = status::written(class.status.as_ref(), &status);
            if let Err(error) = cluster.set_status(Kind::Ec2NodeClass, &own, &version, &written).await {
                unwritten.note("status not written", error);
            }
        }
        for pool in cluster.node_pools().await? {
            let now = Timestamp::now();
            let invalid = faults_of(Kind::NodePool, &pool);
            let version = match marked(&cluster, Kind::NodePool, &pool.metadata, marks::of_pool(&pool)).await
            {
                Ok(version) => version,
                Err(error) => {
                    unwritten.note("not marked", error);
                    continue;
                }
            };
            let Some(status) = pool::status(&pool, &ready, invalid, now) else { continue };
            let pool = pool.metadata.name.as_deref().unwrap_or_default();
            if let Err(error) = cluster.set_status(Kind::NodePool, pool, &version, &status).await {
                unwritten.note("status not written", error);
            }
        }
        if unwritten.outdated {
            self.ask_for_statuses(name).await?;
        }
        unwritten.check()
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
        let now = Timestamp::now();
        let outdated = classes.iter().any(|class| api::reservations::is_outdated(class, now));
        if !judged || !marked || outdated || !classes.iter().all(marks::is_marked) {
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
            expiring: classes
                .iter()
                .flat_map(|class| api::reservations::expiring(class, now))
                .cloned()
                .collect(),
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

    /// What a class's selectors find, with what is known already of what it draws on.
    async fn found(
        &self,
        cluster: &str,
        class: &Ec2NodeClass,
        kubernetes: &str,
        drawn: Drawn,
        now: Timestamp,
    ) -> Found {
        let text = |error: CloudError| error.to_string();
        let spec = &class.spec;
        let context = ImageContext { kubernetes, parameter_prefix: None, now };
        let subnets = self.cloud.subnets(&spec.subnet_selector_terms).await;
        let profile = match profile(cluster, class) {
            Profile::Named(name) => Ok(name.to_owned()),
            Profile::Of(_) if self.config.isolated_vpc => Err(NO_IAM.to_owned()),
            Profile::Of(role) => self.cloud.ensure_instance_profile(&role).await.map_err(text),
            Profile::Missing => Err("neither spec.role nor spec.instanceProfile is set".to_owned()),
        };
        let images = match status::unsupported_alias(class, kubernetes) {
            Some(why) => Err(why),
            None => {
                let images = self.cloud.images(&spec.ami_selector_terms, context).await;
                images.map_err(|error| NoImages::Unknown(error.to_string()))
            }
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
            images,
            profile,
            reservations: drawn
                .reservations
                .map(|held| held.into_iter().map(|held| held.reservation).collect()),
            group: drawn.group.map(|group| group.is_some() || spec.placement_group_selector.is_none()),
        }
    }
}

/// Why no instance profile is made.
const NO_IAM: &str = "there is no way to IAM from an isolated VPC: name an instance profile in spec.instanceProfile instead of spec.role";

/// Where the instance profile of a class's machines comes from.
enum Profile<'a> {
    /// It is the user's own: IAM need not be asked.
    Named(&'a str),
    /// It is made for a role.
    Of(ProfileSpec<'a>),
    /// From nowhere.
    Missing,
}

fn profile<'a>(cluster: &'a str, class: &'a Ec2NodeClass) -> Profile<'a> {
    match (&class.spec.instance_profile, &class.spec.role) {
        (Some(profile), _) => Profile::Named(profile),
        (None, Some(role)) => Profile::Of(ProfileSpec {
            cluster,
            class: class.metadata.name.as_deref().unwrap_or_default(),
            class_uid: class.metadata.uid.as_deref().unwrap_or_default(),
            role,
            tags: &class.spec.tags,
        }),
        (None, None) => Profile::Missing,
    }
}

/// What could not be written.
#[derive(Default)]
struct Unwritten {
    refused: Vec<String>,
    /// Somebody else wrote first: what was to be written is to be seen again, and is no failure.
    outdated: bool,
}

impl Unwritten {
    fn note(&mut self, what: &str, error: Refused) {
        if matches!(error, Refused::Conflict { .. }) {
            tracing::info!(%error, "{what}: it is looked at again");
            self.outdated = true;
        } else {
            tracing::warn!(%error, "{what}");
            self.refused.push(error.to_string());
        }
    }

    fn check(self) -> Result<(), RunError> {
        match self.refused.first() {
            None => Ok(()),
            Some(first) => Err(RunError::Refused { count: self.refused.len(), first: first.clone() }),
        }
    }
}

/// Writes what an object's metadata lacks, if anything; the version it then is at.
async fn marked(
    cluster: &Cluster,
    kind: Kind,
    metadata: &ObjectMeta,
    lacks: Option<Value>,
) -> Result<String, Refused> {
    let version = metadata.resource_version.as_deref().unwrap_or_default();
    let Some(lacks) = lacks else { return Ok(version.to_owned()) };
    let name = metadata.name.as_deref().unwrap_or_default();
    cluster.set_metadata(kind, name, version, &lacks).await
}

/// What is wrong with a stored object's spec that the schema can't tell.
fn faults_of(kind: Kind, object: &impl Serialize) -> Option<String> {
    let value = serde_json::to_value(object).ok()?;
    let faults = api::crd::validate(kind, &value);
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

#[cfg(test)]
mod tests;
