//! Events of AWS Health.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde::Deserialize;
use serde_json::Value;

use super::event::Envelope;
use super::{Detail, Ignored, InstanceId, Kind, Message, Scope, shown};

/// What Health says. The Region and the account of the envelope are where it was delivered, these are where it is true.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HealthDetail {
    service: String,
    event_type_category: String,
    #[serde(default)]
    event_type_code: Option<String>,
    #[serde(default)]
    event_region: Option<String>,
    #[serde(default)]
    affected_account: Option<String>,
    #[serde(default)]
    status_code: Option<String>,
    #[serde(default)]
    start_time: Option<String>,
    #[serde(default)]
    end_time: Option<String>,
    #[serde(default)]
    event_description: Vec<Description>,
    #[serde(default)]
    affected_entities: Vec<Entity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Description {
    #[serde(default)]
    latest_description: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entity {
    #[serde(default)]
    entity_value: String,
    #[serde(default)]
    status: Option<String>,
}

pub(super) fn read(
    scope: &Scope,
    event: &Envelope,
    time: Timestamp,
    detail: Value,
) -> Result<Message, Ignored> {
    let detail: HealthDetail = serde_json::from_value(detail).map_err(Ignored::malformed)?;
    let HealthDetail { service, event_type_category: category, .. } = &detail;
    if service != "EC2" || category != "scheduledChange" {
        return Err(Ignored::Uninteresting {
            what: format!("category {:?} of {:?}", shown(category), shown(service)),
        });
    }
    let said = |text: &Option<String>, word: &str| {
        text.as_deref().is_some_and(|text| text.eq_ignore_ascii_case(word))
    };
    // What was planned is over, or was called off.
    if said(&detail.status_code, "closed") {
        return Err(Ignored::Uninteresting { what: "a closed event".to_owned() });
    }
    let account = detail.affected_account.as_deref().unwrap_or(&event.account);
    let region = detail.event_region.as_deref().unwrap_or(&event.region);
    scope.check_place(account, region)?;
    // A host's event lists volumes and the like too: what is no instance is none of ours.
    let open = detail.affected_entities.iter().filter(|entity| !said(&entity.status, "resolved"));
    let ids = open.filter_map(|entity| {
        InstanceId::parse(&entity.entity_value).or_else(|| InstanceId::of_arn(&entity.entity_value))
    });
    let instances: BTreeSet<InstanceId> = ids.collect();
    if instances.is_empty() {
        return Err(match detail.affected_entities.is_empty() {
            true => Ignored::malformed("it names no instance"),
            false => Ignored::Uninteresting { what: "a change that touches no instance".to_owned() },
        });
    }
    let not_before = detail.start_time.as_deref().and_then(moment);
    let description = detail.event_description.first().map(|text| shown(&text.latest_description));
    Ok(Message {
        kind: Kind::ScheduledChange,
        instances,
        time,
        deadline: not_before,
        account: shown(account),
        region: shown(region),
        id: shown(&event.id),
        detail: Detail {
            code: detail.event_type_code.as_deref().map(shown),
            description: description.filter(|text| !text.is_empty()),
            not_before,
            not_after: detail.end_time.as_deref().and_then(moment),
        },
    })
}

/// Health writes dates as mails do; its newer events write them as the rest of AWS does.
fn moment(text: &str) -> Option<Timestamp> {
    let of_mail = || rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    text.parse().ok().or_else(of_mail)
}
