//! The shipped binaries, fed through the Runtime API: what they do with events that are none, and when they can't start.
#![expect(clippy::unwrap_used, reason = "helpers of tests: what is missing should stop the test")]

mod runtime_api;

use std::process::Stdio;

use runtime_api::{RuntimeApi, Said};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

const QUEUED: [(&str, &str); 3] = [
    ("provision", env!("CARGO_BIN_EXE_provision")),
    ("lifecycle", env!("CARGO_BIN_EXE_lifecycle")),
    ("interruption", env!("CARGO_BIN_EXE_interruption")),
];
const SCHEDULED: [(&str, &str); 2] =
    [("disruption", env!("CARGO_BIN_EXE_disruption")), ("catalog", env!("CARGO_BIN_EXE_catalog"))];

fn function(binary: &str, api: &RuntimeApi, vars: &[(&str, &str)]) -> Child {
    Command::new(binary)
        .env_clear()
        .env("AWS_LAMBDA_RUNTIME_API", api.address.to_string())
        .env("AWS_LAMBDA_FUNCTION_NAME", "tested")
        .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
        .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "256")
        .env("AWS_LAMBDA_LOG_GROUP_NAME", "tested")
        .env("AWS_LAMBDA_LOG_STREAM_NAME", "tested")
        .env("AWS_REGION", "us-east-1")
        .env("AWS_ACCESS_KEY_ID", "tested")
        .env("AWS_SECRET_ACCESS_KEY", "tested")
        // Nobody listens there: a call is refused at once.
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .envs(vars.iter().copied())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

/// What the function answers to an event, passing over its asking for it.
async fn outcome(api: &mut RuntimeApi) -> Said {
    loop {
        match api.said().await.unwrap() {
            Said::Next(_) => {}
            outcome => return outcome,
        }
    }
}

fn batch(bodies: &[&str]) -> Value {
    let record = |(place, body): (usize, &&str)| json!({"messageId": format!("m{place}"), "body": body});
    json!({"Records": bodies.iter().enumerate().map(record).collect::<Vec<_>>()})
}

#[tokio::test]
async fn messages_that_are_none_of_ours_are_acknowledged() {
    for (name, binary) in QUEUED {
        let event = batch(&["", "not json", "{}", r#"{"cluster": 7}"#]);
        let mut api = RuntimeApi::start([event, json!({"Records": []})]).await;
        let _function = function(binary, &api, &[("JOURNEYMAN_CLUSTERS", "prod")]);
        for _ in 0..2 {
            match outcome(&mut api).await {
                Said::Response(answer) => assert_eq!(answer["batchItemFailures"], json!([]), "{name}"),
                other => panic!("{name}: {other:?}"),
            }
        }
    }
}

#[tokio::test]
async fn a_message_that_can_not_be_handled_goes_back_alone() {
    for (name, binary) in QUEUED.into_iter().filter(|(name, _)| *name != "interruption") {
        let event = batch(&["not json", r#"{"cluster": "prod", "claims": ["a"]}"#, "{}"]);
        let mut api = RuntimeApi::start([event]).await;
        let _function = function(binary, &api, &[("JOURNEYMAN_CLUSTERS", "prod")]);
        match outcome(&mut api).await {
            Said::Response(answer) => {
                assert_eq!(answer["batchItemFailures"], json!([{"itemIdentifier": "m1"}]), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_schedule_of_an_unknown_cluster_is_an_error_that_says_so() {
    for (name, binary) in SCHEDULED {
        let mut api = RuntimeApi::start([json!({"cluster": "other"})]).await;
        let _function = function(binary, &api, &[("JOURNEYMAN_CLUSTERS", "prod")]);
        match outcome(&mut api).await {
            Said::Error(error) => {
                let message = error["errorMessage"].as_str().unwrap_or_default();
                assert!(message.contains("cluster other is not one of prod"), "{name}: {error}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_function_without_its_environment_does_not_start() {
    for (name, binary) in QUEUED.into_iter().chain(SCHEDULED) {
        let api = RuntimeApi::start([]).await;
        let mut function = function(binary, &api, &[]);
        let status = function.wait().await.unwrap();
        assert!(!status.success(), "{name}");
    }
}
