//! Carrying a launch out.

use std::collections::BTreeSet;

use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_ec2::operation::create_fleet::CreateFleetOutput;
use aws_sdk_ec2::types::{InstanceLifecycle, LaunchTemplateAndOverridesResponse};
use aws_smithy_types::error::display::DisplayErrorContext;
use jiff::Timestamp;
use model::{CapacityType, Instance, InstanceState, LaunchAnswer, LaunchFailure, LaunchFailureKind};

use super::answer::failure;
use super::convert::{launch_template_data, resource_tags};
use super::fleet::{FleetOverride, FleetTemplate};
use super::request::{LaunchPlan, LaunchRequest};
use super::template::TemplateSpec;
use crate::client::failed;
use crate::{Cloud, CloudError, provider_id};

/// What a launch brought.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launched {
    /// In the planner's words.
    pub answer: LaunchAnswer,
    /// The machines.
    pub instances: Vec<Instance>,
}

/// What CreateFleet says when a template is not there.
const TEMPLATE_NOT_FOUND: [&str; 2] =
    ["InvalidLaunchTemplateName.NotFoundException", "InvalidLaunchTemplateId.NotFound"];

impl Cloud {
    /// Launches. Whoever calls has looked for machines of the launch group first, and found none.
    ///
    /// Where it can't be known whether EC2 has launched, machines of the group are looked for once more; if there are
    /// none yet, asking again by the same token gets the same machines.
    pub async fn launch(&self, request: &LaunchRequest<'_>) -> Launched {
        let plan = match request.plan() {
            Ok(plan) => plan,
            Err(error) => return refused(request, error.failure()),
        };
        let launched = self.carry_out(request, &plan).await;
        let doubtful = |failure: &LaunchFailure| {
            matches!(failure.kind, LaunchFailureKind::Unknown | LaunchFailureKind::OtherLaunch)
        };
        if launched.answer.spent || !launched.answer.failures.iter().any(doubtful) {
            return launched;
        }
        let groups = [request.order.group.clone()];
        match self.instances_of_groups(request.cluster, &groups).await {
            Ok(found) if !found.is_empty() => {
                let instances: Vec<Instance> = found.into_iter().map(|machine| machine.instance).collect();
                answered(request, instances, Vec::new())
            }
            _ => launched,
        }
    }

    async fn carry_out(&self, request: &LaunchRequest<'_>, plan: &LaunchPlan) -> Launched {
        // A template may have been deleted behind our back since it was last seen: made anew, once.
        for known in [true, false] {
            for (name, spec) in &plan.templates {
                if !known {
                    self.known_templates().remove(name);
                }
                if let Err(error) = self.ensure_template(name, spec).await {
                    return refused(request, of_call(&error));
                }
            }
            let answer = super::convert::create_fleet(&self.ec2, &plan.fleet).send().await;
            match answer {
                Ok(answer) => {
                    let missing =
                        |code: Option<&str>| code.is_some_and(|code| TEMPLATE_NOT_FOUND.contains(&code));
                    let lost = answer.errors().iter().any(|error| missing(error.error_code()));
                    if known && lost && answer.instances().is_empty() {
                        continue;
                    }
                    return read(request, plan, &answer);
                }
                Err(error)
                    if known && error.code().is_some_and(|code| TEMPLATE_NOT_FOUND.contains(&code)) => {}
                Err(error) => return refused(request, of_fleet(&error)),
            }
        }
        let message = "a launch template was deleted while it was used";
        refused(request, failure(TEMPLATE_NOT_FOUND[0], message, None, None))
    }

    /// Makes the template unless it is there: by its name it is known what it holds.
    async fn ensure_template(&self, name: &str, spec: &TemplateSpec) -> Result<(), CloudError> {
        if self.known_templates().contains(name) {
            return Ok(());
        }
        let tags = resource_tags(aws_sdk_ec2::types::ResourceType::LaunchTemplate, &spec.tags);
        let request = self
            .ec2
            .create_launch_template()
            .launch_template_name(name)
            .launch_template_data(launch_template_data(spec))
            .tag_specifications(tags);
        match request.send().await.map_err(failed("CreateLaunchTemplate")) {
            Ok(_) => {}
            Err(error) if error.code() == "InvalidLaunchTemplateName.AlreadyExistsException" => {}
            Err(error) => return Err(error),
        }
        self.known_templates().insert(name.to_owned());
        Ok(())
    }
}

/// Nothing has come of it, and the token can be used again.
fn refused(request: &LaunchRequest<'_>, failure: LaunchFailure) -> Launched {
    let unspent = answered(request, Vec::new(), vec![failure]);
    Launched { answer: LaunchAnswer { spent: false, ..unspent.answer }, ..unspent }
}

fn answered(request: &LaunchRequest<'_>, instances: Vec<Instance>, failures: Vec<LaunchFailure>) -> Launched {
    let machines: BTreeSet<String> = instances.iter().map(|instance| instance.provider_id.clone()).collect();
    let machines = machines.into_iter().collect();
    let answer = LaunchAnswer { token: request.order.token.clone(), spent: true, machines, failures };
    Launched { answer, instances }
}

/// A call that failed before the fleet was asked for: nothing has been launched.
fn of_call(error: &CloudError) -> LaunchFailure {
    let told = failure(error.code(), &error.to_string(), None, None);
    let kind = match told.kind {
        // Without a template there is no launch, whatever became of the call: it is only put off.
        LaunchFailureKind::Unknown => LaunchFailureKind::Throttled,
        LaunchFailureKind::Rejected if error.code().is_empty() => LaunchFailureKind::Throttled,
        kind => kind,
    };
    LaunchFailure { kind, message: error.to_string(), ..told }
}

/// A CreateFleet that has no answer, or that was refused as a whole.
fn of_fleet<E>(error: &SdkError<E>) -> LaunchFailure
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
{
    match (error.code(), error) {
        (Some(code), _) => failure(code, error.message().unwrap_or_default(), None, None),
        // The request was never sent.
        (None, SdkError::ConstructionFailure(_)) => {
            failure("", &DisplayErrorContext(error).to_string(), None, None)
        }
        (None, _) => LaunchFailure {
            kind: LaunchFailureKind::Unknown,
            offer: None,
            subnet: None,
            reason: "InternalError".to_owned(),
            message: format!("CreateFleet: {}", DisplayErrorContext(error)),
        },
    }
}

fn read(request: &LaunchRequest<'_>, plan: &LaunchPlan, answer: &CreateFleetOutput) -> Launched {
    let mut instances = Vec::new();
    for started in answer.instances() {
        let place = started.launch_template_and_overrides();
        let overrides = place.and_then(|place| place.overrides());
        let asked = asked_for(plan, place);
        let template = asked.and_then(|(template, _)| plan.templates.get(&template.name));
        let zone = started
            .availability_zone()
            .or(overrides.and_then(|overrides| overrides.availability_zone()))
            .or(asked.map(|(_, asked)| asked.offer.zone.as_str()))
            .unwrap_or_default();
        let kind = started.instance_type().or(overrides.and_then(|overrides| overrides.instance_type()));
        let groups =
            template.and_then(|template| template.interfaces.first()).map(|first| first.groups.as_slice());
        let groups = groups.unwrap_or_default();
        let subnet = overrides
            .and_then(|overrides| overrides.subnet_id())
            .or(asked.map(|(_, asked)| asked.subnet.as_str()));
        let machines = started.instance_ids().iter().map(|id| Instance {
            id: id.clone(),
            provider_id: provider_id(zone, id),
            instance_type: kind.map(|kind| kind.as_str().to_owned()).unwrap_or_default(),
            zone: zone.to_owned(),
            capacity_type: match started.lifecycle() {
                Some(InstanceLifecycle::Spot) => CapacityType::Spot,
                _ => request.order.capacity_type,
            },
            reservation: template.and_then(|template| template.reservation.clone()),
            image: template.map(|template| template.image.clone()).unwrap_or_default(),
            subnet: subnet.map(str::to_owned),
            security_groups: groups.iter().cloned().collect(),
            state: InstanceState::Pending,
            launched: Timestamp::now(),
            launch_group: Some(request.order.group.clone()),
            claim: None,
        });
        instances.extend(machines);
    }
    let mut failures: Vec<LaunchFailure> = Vec::new();
    for error in answer.errors() {
        let asked = asked_for(plan, error.launch_template_and_overrides()).map(|(_, asked)| asked);
        let code = error.error_code().unwrap_or_default();
        let message = error.error_message().unwrap_or_default();
        let offer = asked.map(|asked| asked.offer.clone());
        let told = failure(code, message, offer, asked.map(|asked| asked.subnet.clone()));
        if !failures.contains(&told) {
            failures.push(told);
        }
    }
    answered(request, instances, failures)
}

/// What EC2 means of what it was asked: it repeats the override or part of it, and of the template often only an id.
fn asked_for<'a>(
    plan: &'a LaunchPlan,
    told: Option<&LaunchTemplateAndOverridesResponse>,
) -> Option<(&'a FleetTemplate, &'a FleetOverride)> {
    let name = told?.launch_template_specification().and_then(|told| told.launch_template_name());
    let told = told?.overrides()?;
    let kind = told.instance_type()?.as_str();
    let named = |template: &&FleetTemplate| name.is_none_or(|name| template.name == name);
    let templates = plan.fleet.templates.iter().filter(named);
    let mut asked =
        templates.flat_map(|template| template.overrides.iter().map(move |asked| (template, asked)));
    asked.find(|(_, asked)| {
        asked.offer.instance_type == kind
            && told.subnet_id().is_none_or(|subnet| subnet == asked.subnet)
            && told.availability_zone().is_none_or(|zone| zone == asked.offer.zone)
    })
}
