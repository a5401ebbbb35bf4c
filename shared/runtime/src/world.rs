//! What a sandbox keeps between invocations: connections and caches. All of it may be lost at any time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use api::crd::Ec2NodeClass;
use catalog::{ClassShape, Ec2Catalogue};
use cloud::Cloud;
use cloud::eks::EksFacts;
use cluster::{Access, ClaimIndex, Cluster, Observer, Plugins};
use jiff::Timestamp;
use model::{Avoided, InstanceType};
use tokio::sync::Mutex;

use crate::aws;
use crate::catalogue::{Known, avoid};
use crate::config::Config;
use crate::error::RunError;
use crate::hints::Hints;
use crate::message::{Foreign, Wake};
use crate::metrics::Metrics;

/// How long statuses that were asked for may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything a run works on.
pub struct World {
    pub(crate) config: Config,
    pub(crate) cloud: Cloud,
    pub(crate) hints: Hints,
    pub(crate) metrics: Metrics,
    pub(crate) sites: BTreeMap<String, Site>,
    pub(crate) catalogue: Option<Known>,
    /// How users of kubeconfigs are known beside tokens and certificates.
    pub(crate) plugins: Option<Plugins>,
}

/// One cluster, and where its machines come from.
pub(crate) struct Site {
    pub(crate) cluster: Cluster,
    /// What decisions about pods and nodes are taken from.
    pub(crate) observer: Observer,
    /// How NodeClaims are found.
    pub(crate) index: ClaimIndex,
    /// EC2NodeClasses as the last look saw them, for its launches.
    pub(crate) classes: BTreeMap<String, Launchable>,
    /// What that look found is not to be bought.
    pub(crate) avoided: Vec<Avoided>,
    /// How machines reach the API server.
    pub(crate) eks: EksFacts,
    /// When statuses were last asked for.
    pub(crate) asked: Option<Instant>,
}

impl Site {
    pub(crate) fn new(cluster: Cluster, eks: EksFacts) -> Self {
        Self {
            observer: Observer::new(&cluster),
            index: ClaimIndex::new(&cluster),
            cluster,
            classes: BTreeMap::new(),
            avoided: Vec::new(),
            eks,
            asked: None,
        }
    }
}

/// An EC2NodeClass with what can be bought for it.
pub(crate) struct Launchable {
    pub(crate) class: Ec2NodeClass,
    pub(crate) shape: ClassShape,
    pub(crate) types: Arc<Vec<InstanceType>>,
}

impl Launchable {
    pub(crate) fn new(class: Ec2NodeClass, catalogue: &Ec2Catalogue, avoided: &[Avoided]) -> Self {
        let (shape, _) = api::lower::class_shape(&class);
        let mut types = catalog::resolve(catalogue, &shape);
        avoid(&mut types, avoided, Some(&class));
        Self { class, shape, types: Arc::new(types) }
    }
}

impl World {
    /// What the process's environment describes. No request is made but for credentials.
    pub async fn from_env() -> Result<Self, RunError> {
        let config = Config::from_env()?;
        let hints = Hints::over_queues(&config);
        Self::new(config, hints).await
    }

    /// A world with hints of its own.
    pub async fn new(config: Config, hints: Hints) -> Result<Self, RunError> {
        let cloud = Cloud::from_env(&config.region).await;
        Ok(Self {
            config,
            cloud,
            hints,
            metrics: Metrics::default(),
            sites: BTreeMap::new(),
            catalogue: None,
            plugins: None,
        })
    }

    /// The same, where kubeconfigs are read as kubectl reads them.
    pub(crate) fn with_plugins(self, plugins: Plugins) -> Self {
        Self { plugins: Some(plugins), ..self }
    }

    /// To be used from one handler at a time.
    pub fn shared(self) -> Rc<Mutex<Self>> {
        Rc::new(Mutex::new(self))
    }

    /// The names of the clusters looked after.
    pub fn clusters(&self) -> Vec<String> {
        self.config.clusters.keys().cloned().collect()
    }

    /// Counts a message that is none of ours. It would never be, so it doesn't come back.
    pub fn ignore(&mut self, foreign: &Foreign) {
        tracing::warn!(%foreign, "message ignored");
        self.metrics.count("messages_ignored_total", &[], 1);
        self.flush();
    }

    /// Connects to a cluster, unless it is connected already.
    pub(crate) async fn site(&mut self, name: &str) -> Result<&mut Site, RunError> {
        let config = self.config.cluster(name)?;
        // Not by its entry: connecting waits, and a site that isn't complete is none.
        let site = match self.sites.remove(name) {
            Some(site) => site,
            None => self.connect(name, config.kubeconfig.clone()).await?,
        };
        Ok(self.sites.entry(name.to_owned()).or_insert(site))
    }

    async fn connect(&self, name: &str, kubeconfig: Option<PathBuf>) -> Result<Site, RunError> {
        let eks = self.cloud.cluster(name).await?;
        let access = match kubeconfig {
            Some(path) => Access::Kubeconfig { path: Some(path), context: None, plugins: self.plugins },
            None => Access::Endpoint {
                endpoint: eks.cluster.endpoint.clone(),
                ca: eks.cluster.certificate_authority.clone(),
                tokens: aws::tokens(&self.cloud, name)?,
            },
        };
        Ok(Site::new(Cluster::connect(access).await?, eks))
    }

    /// Ids of zones by their names, as far as EC2NodeClasses that were looked at tell them.
    pub(crate) fn zone_ids(&self, name: &str) -> BTreeMap<String, String> {
        let classes = self.sites.get(name).into_iter().flat_map(|site| site.classes.values());
        let statuses = classes.filter_map(|seen| seen.class.status.as_ref());
        let subnets = statuses.flat_map(|status| &status.subnets);
        subnets.filter_map(|subnet| Some((subnet.zone.clone(), subnet.zone_id.clone()?))).collect()
    }

    /// Has the statuses of EC2NodeClasses and NodePools written, for some are missing or of an older generation. A
    /// linger asks again only after a while.
    pub(crate) async fn ask_for_statuses(&mut self, name: &str) -> Result<(), RunError> {
        let site = self.site(name).await?;
        if site.asked.is_none_or(|asked| asked.elapsed() >= PATIENCE) {
            site.asked = Some(Instant::now());
            let reason = "a status is missing or of an older generation".to_owned();
            self.hints.refresh(&self.cloud, Wake { cluster: name.to_owned(), reason }).await?;
        }
        Ok(())
    }

    /// Leaves a cluster until the next invocation: the sandbox may be frozen now, and connections don't outlive that.
    pub(crate) fn rest(&mut self, name: &str) {
        self.suspend(name);
        self.flush();
    }

    /// The same, with what was measured kept for the end of the run.
    pub(crate) fn suspend(&mut self, name: &str) {
        if let Some(site) = self.sites.get_mut(name) {
            site.observer.suspend();
            site.index.suspend();
        }
    }

    /// Writes what was measured.
    pub fn flush(&mut self) {
        // Losing metrics is no reason to fail a run.
        if let Err(error) = self.metrics.flush(Timestamp::now(), &mut std::io::stdout().lock()) {
            tracing::warn!(%error, "metrics are lost");
        }
    }
}
