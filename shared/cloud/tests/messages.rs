//! Messages of every kind against files, and against whatever may lie in a queue.
#![expect(clippy::unwrap_used, reason = "helpers of tests: what is missing should stop the test")]

mod golden;

use cloud::messages::{InstanceStatus, Scope, read_status};
use jiff::SignedDuration;
use proptest::prelude::*;

/// The moment that the fixtures are read in, seconds after most of them were sent.
fn scope() -> Scope {
    Scope {
        account: Some("123456789012".into()),
        region: Some("eu-west-1".into()),
        now: "2026-01-02T03:04:10Z".parse().unwrap(),
        max_age: SignedDuration::from_mins(15),
    }
}

#[test]
fn messages_are_read_as_the_files_say() {
    golden::check("messages", "json", |body| {
        serde_json::to_string_pretty(&scope().read(body)).unwrap() + "\n"
    });
}

#[test]
fn instance_status_is_read_as_the_files_say() {
    golden::check("messages/status", "json", |input| {
        let statuses: Vec<InstanceStatus> = serde_json::from_str(input).unwrap();
        let messages: Vec<_> = statuses.iter().flat_map(|status| read_status(&scope(), status)).collect();
        serde_json::to_string_pretty(&messages).unwrap() + "\n"
    });
}

#[test]
fn without_an_account_or_region_of_its_own_a_scope_takes_any() {
    let foreign = include_str!("messages/foreign-region.json");
    let any = Scope { account: None, region: None, ..scope() };
    assert!(matches!(scope().read(foreign), cloud::messages::Parsed::Ignored(_)));
    assert!(matches!(any.read(foreign), cloud::messages::Parsed::Message(_)));
}

/// Bodies of JSON that have the fields of events, with anything in them.
fn events() -> impl Strategy<Value = String> {
    let value = prop_oneof![
        any::<String>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        Just(serde_json::Value::Null),
        Just(serde_json::json!([])),
        Just(serde_json::json!([{"entityValue": 1}, null, "i-0123456789abcdef0"])),
        Just(serde_json::json!("9999-12-30T22:00:00.999999999Z")),
        Just(serde_json::json!("-009999-01-02T01:59:59Z")),
        Just(serde_json::json!("i-0123456789abcdef0")),
    ];
    let files = [
        include_str!("messages/spot-interruption.json"),
        include_str!("messages/reservation-interruption.json"),
        include_str!("messages/state-stopping.json"),
        include_str!("messages/health-scheduled-change.json"),
    ];
    let paths = [
        "/version",
        "/source",
        "/detail-type",
        "/time",
        "/account",
        "/region",
        "/id",
        "/resources",
        "/detail",
        "/detail/instance-id",
        "/detail/state",
        "/detail/instance-termination-time",
        "/detail/startTime",
        "/detail/affectedEntities",
        "/detail/eventDescription",
        "/detail/service",
        "/detail/statusCode",
    ];
    (proptest::sample::select(files.to_vec()), proptest::sample::select(paths.to_vec()), value).prop_map(
        |(file, path, value)| {
            let mut event: serde_json::Value = serde_json::from_str(file).unwrap();
            if let Some(place) = event.pointer_mut(path) {
                *place = value;
            }
            event.to_string()
        },
    )
}

proptest! {
    #[test]
    fn no_body_is_too_strange(body in prop_oneof![any::<String>(), events()]) {
        let any = Scope { account: None, region: None, ..scope() };
        for scope in [scope(), any] {
            if let cloud::messages::Parsed::Message(message) = scope.read(&body) {
                prop_assert!(!message.instances.is_empty());
                let spot = message.kind == cloud::messages::Kind::SpotInterrupted;
                let latest = scope.now + SignedDuration::from_secs(120);
                prop_assert!(!spot || message.deadline.is_some_and(|deadline| deadline <= latest));
            }
        }
    }
}
