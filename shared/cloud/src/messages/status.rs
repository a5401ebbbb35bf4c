//! What `ec2:DescribeInstanceStatus` says about an instance.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Detail, InstanceId, Kind, Message, Scope, shown};

/// Codes of scheduled events that end or interrupt an instance.
pub(crate) const CODES: [&str; 5] =
    ["instance-reboot", "instance-retirement", "instance-stop", "system-maintenance", "system-reboot"];

/// One of the answer's `InstanceStatuses`; the field names are the API's, so that a saved answer reads as one.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct InstanceStatus {
    /// The instance.
    pub instance_id: String,
    /// Whether the instance answers.
    pub instance_status: StatusCheck,
    /// Whether its host is sound.
    pub system_status: StatusCheck,
    /// What is planned for it.
    pub events: Vec<ScheduledEvent>,
}

/// The outcome of checks. The checks of attached volumes are not among them: their failure is no fault of the node's.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StatusCheck {
    /// Each of them.
    pub details: Vec<StatusDetail>,
}

/// One check.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct StatusDetail {
    /// `passed`, `failed`, `insufficient-data` or `initializing`.
    pub status: String,
    /// Since when it fails.
    pub impaired_since: Option<Timestamp>,
}

/// Something planned.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct ScheduledEvent {
    /// What it is, such as `system-maintenance`.
    pub code: String,
    /// EC2's sentence; it begins with `[Completed]` or `[Canceled]` once it is over.
    pub description: String,
    /// The earliest it begins.
    pub not_before: Option<Timestamp>,
    /// The latest it ends.
    pub not_after: Option<Timestamp>,
}

/// What there is to say about an instance at `scope.now`: at most one message of each kind. Whether a check has failed for
/// long enough is not judged here.
pub fn read_status(scope: &Scope, status: &InstanceStatus) -> Vec<Message> {
    let Some(id) = InstanceId::parse(&status.instance_id) else { return vec![] };
    let message = |kind, time, deadline, detail| Message {
        kind,
        instances: BTreeSet::from([id.clone()]),
        time,
        deadline,
        account: scope.account.clone().unwrap_or_default(),
        region: scope.region.clone().unwrap_or_default(),
        id: String::new(),
        detail,
    };
    let mut messages = Vec::new();
    for (kind, check) in
        [(Kind::InstanceStatus, &status.instance_status), (Kind::SystemStatus, &status.system_status)]
    {
        let failed = check.details.iter().filter(|detail| detail.status == "failed");
        let since = failed.filter_map(|detail| detail.impaired_since).min();
        if let Some(since) = since {
            let detail = Detail { code: Some("impaired".to_owned()), ..Detail::default() };
            messages.push(message(kind, since, None, detail));
        }
    }
    // The first to begin is the one to be ready for; one without a date may begin at any time.
    let next = status.events.iter().filter(|event| is_planned(event)).min_by_key(|event| event.not_before);
    messages.extend(next.map(|event| {
        let detail = Detail {
            code: Some(event.code.clone()),
            description: Some(shown(&event.description)).filter(|text| !text.is_empty()),
            not_before: event.not_before,
            not_after: event.not_after,
        };
        message(Kind::EventStatus, scope.now, event.not_before, detail)
    }));
    messages
}

/// Whether it is of a kind that matters and still to come: EC2 lists events for a week after they are over.
fn is_planned(event: &ScheduledEvent) -> bool {
    let over = ["[completed]", "[canceled]"].into_iter().any(|word| {
        event.description.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
    });
    CODES.contains(&event.code.as_str()) && !over
}
