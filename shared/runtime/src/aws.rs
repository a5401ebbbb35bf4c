//! Where values of the model meet AWS: launches, machines, what is avoided.

use std::collections::{BTreeMap, BTreeSet};

use api::crd::Ec2NodeClass;
use catalog::ClassShape;
use cloud::launch::{LaunchRequest, Machine, machines};
use cloud::user_data::{Bootstrap, EksCluster, version_of_image};
use cloud::{Cloud, instance_id};
use cluster::{Credentials, Tokens};
use jiff::{SignedDuration, Timestamp};
use model::{Avoided, Instance, LaunchAnswer, LaunchFailure, LaunchFailureKind, LaunchOrder};

use crate::error::RunError;
use crate::world::{Launchable, World};

/// Tokens for an EKS cluster, signed with whatever credentials the process has at the time.
pub(crate) fn tokens(cloud: &Cloud, name: &str) -> Result<Tokens, RunError> {
    let region = cloud.region().to_owned();
    let provider = cloud.credentials();
    Ok(Tokens::eks(name, &region, move || {
        let provider = provider.clone();
        Box::pin(async move {
            let (access_key_id, secret_access_key, session_token) = provider.get().await?;
            Ok(Credentials { access_key_id, secret_access_key, session_token })
        })
    }))
}

/// Machines by launch group and by id: all of them, or an error.
pub(crate) async fn instances(
    cloud: &Cloud,
    cluster: &str,
    groups: &BTreeSet<String>,
    provider_ids: &BTreeSet<String>,
) -> Result<Vec<Instance>, RunError> {
    let groups: Vec<String> = groups.iter().cloned().collect();
    let ids: Vec<String> = provider_ids.iter().filter_map(|id| instance_id(id)).map(str::to_owned).collect();
    let mut found = BTreeMap::new();
    if !groups.is_empty() {
        for machine in cloud.instances_of_groups(cluster, &groups).await? {
            found.insert(machine.instance.id.clone(), machine.instance);
        }
    }
    if !ids.is_empty() {
        for machine in cloud.instances_by_id(&ids).await? {
            found.insert(machine.instance.id.clone(), machine.instance);
        }
    }
    Ok(found.into_values().collect())
}

/// All machines of a cluster, or an error.
pub(crate) async fn all_instances(cloud: &Cloud, cluster: &str) -> Result<Vec<Instance>, RunError> {
    let machines = cloud.instances_of_cluster(cluster).await?;
    Ok(machines.into_iter().map(|machine| machine.instance).collect())
}

/// Ends machines, by one request; one that is gone is as good as ended.
pub(crate) async fn terminate<'a>(
    cloud: &Cloud,
    provider_ids: impl Iterator<Item = &'a str>,
) -> Result<(), RunError> {
    let ids: Vec<String> = provider_ids.filter_map(instance_id).map(str::to_owned).collect();
    cloud.terminate(&ids).await?;
    Ok(())
}

/// Writes on a machine what it is for.
pub(crate) async fn tag(
    cloud: &Cloud,
    provider_id: &str,
    tags: &BTreeMap<String, String>,
) -> Result<(), RunError> {
    if let Some(id) = instance_id(provider_id) {
        cloud.tag_instance(id, tags).await?;
    }
    Ok(())
}

/// Deletes launch templates; the next launch makes anew what it wants.
pub(crate) async fn forget_launch_templates(
    cloud: &Cloud,
    cluster: &str,
    class: Option<&str>,
    age: SignedDuration,
) -> Result<(), RunError> {
    let gone = cloud.delete_launch_templates(cluster, class, Timestamp::now(), age).await?;
    if !gone.is_empty() {
        tracing::info!(count = gone.len(), class, "launch templates deleted");
    }
    Ok(())
}

/// Has something not bought for a while, by every cluster of the Region.
pub(crate) async fn avoid(world: &World, what: &Avoided, until: Timestamp) -> Result<(), RunError> {
    if let Some(table) = &world.config.table {
        world.cloud.avoid(table, what, until).await?;
    }
    Ok(())
}

/// What a launch brought.
pub(crate) struct Brought {
    pub answer: LaunchAnswer,
    pub instances: Vec<Instance>,
    /// Bytes of the longest user data, if it came so far.
    pub user_data: Option<usize>,
}

/// Launches what was ordered. What can't even be asked for is an answer too.
pub(crate) async fn launch(world: &World, name: &str, order: &LaunchOrder) -> Result<Brought, RunError> {
    let site = world.sites.get(name);
    let seen = site.and_then(|site| site.classes.get(&order.node_class.name));
    let (Some(site), Some(seen), Some(catalogue)) = (site, seen, world.catalogue_known()) else {
        return Ok(rejected(order, "NodeClassNotReady", "the EC2NodeClass has not been read"));
    };
    let Launchable { class, shape, types } = seen;
    let status = class.status.clone().unwrap_or_default();
    let mut sorted = machines(&order.offers, &catalogue, shape, types, &status.amis);
    for machine in &mut sorted.machines {
        match user_data(&site.eks.cluster, class, shape, order, machine) {
            Ok(text) => machine.user_data = text,
            Err(message) => return Ok(rejected(order, "UserDataInvalid", &message)),
        }
    }
    let closed_subnets = site.avoided.iter().filter_map(|what| match what {
        Avoided::Subnet(id) => Some(id.clone()),
        _ => None,
    });
    let closed_subnets = closed_subnets.collect();
    let ids: Vec<String> = status.subnets.iter().map(|subnet| subnet.id.clone()).collect();
    let subnets = world.cloud.subnets_by_id(&ids).await?;
    let request = LaunchRequest {
        cluster: name,
        region: &world.config.region,
        ipv6: site.eks.cluster.ip_family == cloud::user_data::IpFamily::Ipv6,
        order,
        class,
        shape,
        machines: &sorted.machines,
        subnets: &subnets,
        closed_subnets: &closed_subnets,
    };
    let launched = world.cloud.launch(&request).await;
    let user_data = sorted.machines.iter().map(|machine| machine.user_data.len()).max();
    Ok(Brought { answer: launched.answer, instances: launched.instances, user_data })
}

fn user_data(
    eks: &EksCluster,
    class: &Ec2NodeClass,
    shape: &ClassShape,
    order: &LaunchOrder,
    machine: &Machine,
) -> Result<String, String> {
    let amis = class.status.as_ref().map(|status| status.amis.as_slice()).unwrap_or_default();
    let image = amis.iter().find(|ami| ami.id == machine.image);
    let version = image.and_then(|ami| version_of_image(ami.name.as_deref()?)).map(str::to_owned);
    let mut labels = order.labels.clone();
    labels.insert(model::labels::CAPACITY_TYPE.to_owned(), order.capacity_type.to_string());
    let bootstrap = Bootstrap {
        family: shape.ami_family,
        cluster: eks.clone(),
        labels,
        taints: order.taints.clone(),
        startup_taints: Vec::new(),
        kubelet: kubelet(class, machine),
        max_pods: u32::try_from(machine.max_pods).unwrap_or(u32::MAX),
        instance_store_policy: shape.instance_store_policy,
        image_version: version,
        user_data: class.spec.user_data.clone(),
    };
    let data = bootstrap.user_data().map_err(|error| error.to_string())?;
    for note in data.notes {
        tracing::warn!(place = note.place, note = note.message, "user data");
    }
    Ok(data.text)
}

/// What the class says of the kubelet, and what is reserved by the formula that the planner counted with.
fn kubelet(class: &Ec2NodeClass, machine: &Machine) -> serde_json::Map<String, serde_json::Value> {
    let mut kubelet = class.spec.kubelet.clone().unwrap_or_default();
    let reserved = api::lower::resources(&machine.kube_reserved);
    let reserved = reserved.into_iter().map(|(name, amount)| (name, serde_json::Value::from(amount.0)));
    kubelet.insert("kubeReserved".to_owned(), serde_json::Value::Object(reserved.collect()));
    kubelet
}

fn rejected(order: &LaunchOrder, reason: &str, message: &str) -> Brought {
    let failure = LaunchFailure {
        kind: LaunchFailureKind::Rejected,
        offer: None,
        subnet: None,
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let answer = LaunchAnswer {
        token: order.token.clone(),
        spent: false,
        machines: Vec::new(),
        failures: vec![failure],
    };
    Brought { answer, instances: Vec::new(), user_data: None }
}
