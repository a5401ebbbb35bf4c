//! Machines: looking them up, ending them, writing tags on them.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::primitives::DateTime;
use aws_sdk_ec2::types::{
    CapacityReservationPreference, Filter, InstanceLifecycleType, InstanceStateName, InstanceStatusEvent,
    InstanceStatusSummary, Tag,
};
use jiff::Timestamp;
use model::{CapacityType, Instance, InstanceState, labels};

use crate::client::{each_known, failed};
use crate::filters::{VALUES_A_FILTER, filter};
use crate::launch::CLUSTER_NAME;
use crate::messages::{CODES, InstanceStatus, ScheduledEvent, StatusCheck, StatusDetail};
use crate::{Cloud, CloudError, provider_id};

/// EC2 ends no more at once.
const ENDED_A_CALL: usize = 500;

/// A machine, and what else of it can differ from what its class asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Machine {
    /// The machine.
    pub instance: Instance,
    /// Its zone's id.
    pub zone_id: Option<String>,
    /// Its private DNS name: what its kubelet may call itself.
    pub private_dns_name: Option<String>,
    /// `default`, `dedicated` or `host`.
    pub tenancy: Option<String>,
    /// Its partition of its placement group.
    pub partition: Option<i32>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// What became of machines that were to be ended.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Ended {
    /// On their way out, by id.
    pub ending: BTreeSet<String>,
    /// EC2 knows them no more, by id.
    pub gone: BTreeSet<String>,
}

impl Cloud {
    /// Machines by id, in every state; those that EC2 knows no more are left out.
    pub async fn instances_by_id(&self, ids: &[String]) -> Result<Vec<Machine>, CloudError> {
        self.instances_with("instance-id", ids, &[]).await
    }

    /// Machines by launch group, in every state.
    pub async fn instances_of_groups(
        &self,
        cluster: &str,
        groups: &[String],
    ) -> Result<Vec<Machine>, CloudError> {
        let ours = filter(&format!("tag:{CLUSTER_NAME}"), [cluster]);
        self.instances_with(&format!("tag:{}", labels::LAUNCH_GROUP), groups, &[ours]).await
    }

    /// All machines of a cluster that are not gone.
    pub async fn instances_of_cluster(&self, cluster: &str) -> Result<Vec<Machine>, CloudError> {
        let alive = ["pending", "running", "stopping", "stopped", "shutting-down"];
        let filters = vec![
            filter("tag-key", [labels::NODEPOOL]),
            filter("tag-key", [labels::EC2_NODE_CLASS]),
            filter(&format!("tag:{CLUSTER_NAME}"), [cluster]),
            filter("instance-state-name", alive),
        ];
        self.describe_instances(filters).await
    }

    async fn instances_with(
        &self,
        key: &str,
        values: &[String],
        others: &[Filter],
    ) -> Result<Vec<Machine>, CloudError> {
        let mut out = Vec::new();
        for some in values.chunks(VALUES_A_FILTER) {
            let mut filters = vec![filter(key, some.iter().map(String::as_str))];
            filters.extend(others.iter().cloned());
            out.extend(self.describe_instances(filters).await?);
        }
        Ok(out)
    }

    async fn describe_instances(&self, filters: Vec<Filter>) -> Result<Vec<Machine>, CloudError> {
        let request = self.ec2.describe_instances().set_filters(Some(filters));
        let mut pages = request.max_results(1000).into_paginator().send();
        let mut out = Vec::new();
        while let Some(page) = pages.next().await {
            let page = page.map_err(failed("DescribeInstances"))?;
            let instances = page.reservations().iter().flat_map(|reservation| reservation.instances());
            out.extend(instances.filter_map(machine));
        }
        Ok(out)
    }

    /// Machines of the whole account that fail a check or have something planned; where all is well there are none. A
    /// machine that several questions find is told once.
    pub async fn statuses(&self) -> Result<Vec<InstanceStatus>, CloudError> {
        let mut found = BTreeMap::new();
        for question in [
            filter("instance-status.status", ["impaired"]),
            filter("system-status.status", ["impaired"]),
            filter("event.code", CODES),
        ] {
            let request = self.ec2.describe_instance_status().filters(question);
            let mut pages = request.max_results(1000).into_paginator().send();
            while let Some(page) = pages.next().await {
                let page = page.map_err(failed("DescribeInstanceStatus"))?;
                let statuses = page.instance_statuses().iter().map(status);
                found.extend(statuses.map(|status| (status.instance_id.clone(), status)));
            }
        }
        Ok(found.into_values().collect())
    }

    /// Ends machines. One that is ending or gone already is as good as ended.
    pub async fn terminate(&self, ids: &[String]) -> Result<Ended, CloudError> {
        let mut ended = Ended::default();
        for some in ids.chunks(ENDED_A_CALL) {
            let ask = async |ids: &[String]| self.terminate_together(ids).await;
            let (ending, gone) = each_known(some, ask).await?;
            ended.ending.extend(ending.into_iter().flatten());
            ended.gone.extend(gone);
        }
        Ok(ended)
    }

    async fn terminate_together(&self, ids: &[String]) -> Result<Vec<String>, CloudError> {
        let request = self.ec2.terminate_instances().set_instance_ids(Some(ids.to_vec()));
        let answer = request.send().await.map_err(failed("TerminateInstances"))?;
        let ending = answer.terminating_instances().iter().filter(|change| {
            let state = change.current_state().and_then(|state| state.name());
            matches!(state, Some(InstanceStateName::ShuttingDown | InstanceStateName::Terminated))
        });
        Ok(ending.filter_map(|change| change.instance_id()).map(str::to_owned).collect())
    }

    /// Writes those of the tags that the machine doesn't have; what it has stays. A machine that is gone is none to
    /// write on, and false is returned.
    pub async fn tag_instance(&self, id: &str, tags: &BTreeMap<String, String>) -> Result<bool, CloudError> {
        let found = self.instances_by_id(&[id.to_owned()]).await?;
        let Some(machine) = found.into_iter().next() else { return Ok(false) };
        let missing = tags.iter().filter(|(key, _)| !machine.tags.contains_key(*key));
        let missing: Vec<Tag> =
            missing.map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
        if missing.is_empty() {
            return Ok(true);
        }
        let request = self.ec2.create_tags().resources(id).set_tags(Some(missing));
        match request.send().await.map_err(failed("CreateTags")) {
            Ok(_) => Ok(true),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

fn machine(found: &aws_sdk_ec2::types::Instance) -> Option<Machine> {
    let id = found.instance_id()?.to_owned();
    let placement = found.placement();
    let zone = placement.and_then(|placement| placement.availability_zone()).unwrap_or_default().to_owned();
    let tags: BTreeMap<String, String> = found
        .tags()
        .iter()
        .filter_map(|tag| Some((tag.key()?.to_owned(), tag.value().unwrap_or_default().to_owned())))
        .collect();
    let tag = |key: &str| tags.get(key).cloned();
    let (capacity_type, reservation) = bought(found);
    Some(Machine {
        instance: Instance {
            provider_id: provider_id(&zone, &id),
            instance_type: found.instance_type().map(|kind| kind.as_str().to_owned())?,
            capacity_type,
            reservation,
            image: found.image_id().unwrap_or_default().to_owned(),
            subnet: found.subnet_id().map(str::to_owned),
            // Those of the interfaces that a network plugin adds for pods are its own affair.
            security_groups: found
                .security_groups()
                .iter()
                .filter_map(|group| group.group_id())
                .map(str::to_owned)
                .collect(),
            state: state(found.state().and_then(|state| state.name())),
            launched: found
                .launch_time()
                .and_then(|at| Timestamp::from_second(at.secs()).ok())
                .unwrap_or(Timestamp::UNIX_EPOCH),
            launch_group: tag(labels::LAUNCH_GROUP),
            claim: tag(labels::NODECLAIM),
            id,
            zone,
        },
        zone_id: placement.and_then(|placement| placement.availability_zone_id()).map(str::to_owned),
        private_dns_name: found.private_dns_name().filter(|name| !name.is_empty()).map(str::to_owned),
        tenancy: placement.and_then(|placement| placement.tenancy()).map(|it| it.as_str().to_owned()),
        partition: placement.and_then(|placement| placement.partition_number()),
        tags,
    })
}

fn status(found: &aws_sdk_ec2::types::InstanceStatus) -> InstanceStatus {
    let at = |time: Option<&DateTime>| time.and_then(|time| Timestamp::from_second(time.secs()).ok());
    let check = |summary: Option<&InstanceStatusSummary>| StatusCheck {
        details: summary
            .map(|summary| summary.details())
            .unwrap_or_default()
            .iter()
            .map(|detail| StatusDetail {
                status: detail.status().map(|status| status.as_str().to_owned()).unwrap_or_default(),
                impaired_since: at(detail.impaired_since()),
            })
            .collect(),
    };
    let event = |event: &InstanceStatusEvent| ScheduledEvent {
        code: event.code().map(|code| code.as_str().to_owned()).unwrap_or_default(),
        description: event.description().unwrap_or_default().to_owned(),
        not_before: at(event.not_before()),
        not_after: at(event.not_after()),
    };
    InstanceStatus {
        instance_id: found.instance_id().unwrap_or_default().to_owned(),
        instance_status: check(found.instance_status()),
        system_status: check(found.system_status()),
        events: found.events().iter().map(event).collect(),
    }
}

/// How a machine is paid for. One that merely happens to run in an open reservation is on demand.
fn bought(found: &aws_sdk_ec2::types::Instance) -> (CapacityType, Option<String>) {
    if found.instance_lifecycle() == Some(&InstanceLifecycleType::Spot) {
        return (CapacityType::Spot, None);
    }
    let only = found
        .capacity_reservation_specification()
        .and_then(|specification| specification.capacity_reservation_preference())
        == Some(&CapacityReservationPreference::CapacityReservationsOnly);
    match found.capacity_reservation_id() {
        Some(id) if only => (CapacityType::Reserved, Some(id.to_owned())),
        _ => (CapacityType::OnDemand, None),
    }
}

/// A state that EC2 has not told, or that we don't know, is taken for the first one: nothing is done about it.
fn state(name: Option<&InstanceStateName>) -> InstanceState {
    match name {
        Some(InstanceStateName::Running) => InstanceState::Running,
        Some(InstanceStateName::Stopping | InstanceStateName::Stopped) => InstanceState::Stopped,
        Some(InstanceStateName::ShuttingDown) => InstanceState::ShuttingDown,
        Some(InstanceStateName::Terminated) => InstanceState::Terminated,
        _ => InstanceState::Pending,
    }
}
