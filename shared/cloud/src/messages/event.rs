//! Events of EventBridge.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{Detail, Ignored, InstanceId, Kind, Message, NOTICE, Scope, health, shown};

/// The only version of the envelope there is.
const VERSION: &str = "0";

/// What every event has around its detail.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Envelope {
    #[serde(default)]
    version: String,
    #[serde(default)]
    source: String,
    #[serde(default)]
    detail_type: String,
    #[serde(default)]
    pub(super) id: String,
    #[serde(default)]
    pub(super) account: String,
    #[serde(default)]
    pub(super) region: String,
    /// A text until it is known that the event is one of ours.
    #[serde(default)]
    time: Value,
    #[serde(default, deserialize_with = "one_or_more")]
    resources: Vec<String>,
    #[serde(default)]
    detail: Value,
}

/// The list, which examples of AWS's own also write as one text; whatever else it is does not matter.
fn one_or_more<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::String(one) => vec![one],
        Value::Array(list) => list.iter().filter_map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => vec![],
    })
}

#[derive(Clone, Copy)]
enum Source {
    Spot,
    Rebalance,
    State,
    Reservation,
    Health,
}

/// The kinds of events that rules send us.
const SOURCES: [(&str, &str, Source); 5] = [
    ("aws.ec2", "EC2 Spot Instance Interruption Warning", Source::Spot),
    ("aws.ec2", "EC2 Instance Rebalance Recommendation", Source::Rebalance),
    ("aws.ec2", "EC2 Instance State-change Notification", Source::State),
    ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning", Source::Reservation),
    ("aws.health", "AWS Health Event", Source::Health),
];

/// The detail of EC2's events.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Ec2Detail {
    #[serde(default)]
    instance_id: Option<String>,
    #[serde(default)]
    instance_action: Option<String>,
    #[serde(default)]
    instance_termination_time: Option<Timestamp>,
    #[serde(default)]
    state: Option<String>,
}

pub(super) fn read(scope: &Scope, body: &str) -> Result<Message, Ignored> {
    if body.trim().is_empty() {
        return Err(Ignored::Empty);
    }
    // The reader of structures would take a list for one.
    if !body.trim_start().starts_with('{') {
        return Err(Ignored::malformed("it is no object of JSON"));
    }
    let mut event: Envelope = serde_json::from_str(body).map_err(Ignored::malformed)?;
    let known = SOURCES.iter().find(|(source, detail_type, _)| {
        event.version == VERSION && *source == event.source && *detail_type == event.detail_type
    });
    let Some((_, _, source)) = known else {
        return Err(Ignored::Unknown {
            version: shown(&event.version),
            source: shown(&event.source),
            detail_type: shown(&event.detail_type),
        });
    };
    let time = event.time.as_str().and_then(|time| time.parse::<Timestamp>().ok());
    let time = time.ok_or_else(|| Ignored::malformed("its time is not one"))?;
    let detail = event.detail.take();
    if !detail.is_object() {
        return Err(Ignored::malformed("its detail is no object"));
    }
    if let Source::Health = source {
        let message = health::read(scope, &event, time, detail)?;
        return scope.check_age(time).map(|()| message);
    }
    scope.check_place(&event.account, &event.region)?;
    let detail: Ec2Detail = serde_json::from_value(detail).map_err(Ignored::malformed)?;
    let instances = instances(detail.instance_id.as_deref(), &event.resources)?;
    scope.check_age(time)?;
    // A clock that runs ahead must not win an instance time that it doesn't have.
    let began = time.min(scope.now);
    let noticed = began.checked_add(NOTICE).unwrap_or(began);
    let (kind, deadline, code) = match source {
        // Hibernation begins with the notice.
        Source::Spot if detail.instance_action.as_deref() == Some("hibernate") => {
            (Kind::SpotInterrupted, Some(began), detail.instance_action)
        }
        Source::Spot => (Kind::SpotInterrupted, Some(noticed), detail.instance_action),
        Source::Reservation => {
            let at = detail.instance_termination_time.map_or(noticed, |time| time.min(noticed));
            (Kind::CapacityReservationInterrupted, Some(at), detail.instance_action)
        }
        Source::State => (state(detail.state.as_deref())?, None, detail.state),
        Source::Rebalance | Source::Health => (Kind::RebalanceRecommendation, None, None),
    };
    let detail = Detail { code: code.as_deref().map(shown), ..Detail::default() };
    let [account, region, id] = [&event.account, &event.region, &event.id].map(|text| shown(text));
    Ok(Message { kind, instances, time, deadline, account, region, id, detail })
}

/// The instance in the detail, and those among the resources.
fn instances(named: Option<&str>, resources: &[String]) -> Result<BTreeSet<InstanceId>, Ignored> {
    let mut instances: BTreeSet<InstanceId> =
        resources.iter().filter_map(|arn| InstanceId::of_arn(arn)).collect();
    if let Some(named) = named {
        let id = InstanceId::parse(named)
            .ok_or_else(|| Ignored::malformed(format!("{:?} is not an instance id", shown(named))))?;
        instances.insert(id);
    }
    if instances.is_empty() { Err(Ignored::malformed("it names no instance")) } else { Ok(instances) }
}

/// States that end an instance's work. Case doesn't matter, as the events' own schema leaves it open.
fn state(state: Option<&str>) -> Result<Kind, Ignored> {
    let state = state.ok_or_else(|| Ignored::malformed("it names no state"))?;
    match state.to_ascii_lowercase().as_str() {
        "stopping" | "stopped" => Ok(Kind::InstanceStopped),
        "shutting-down" | "terminated" => Ok(Kind::InstanceTerminated),
        _ => Err(Ignored::Uninteresting { what: format!("state {:?}", shown(state)) }),
    }
}
