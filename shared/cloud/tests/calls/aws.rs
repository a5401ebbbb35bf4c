//! AWS, written down: a list of calls that are expected, each with its answer.
//!
//! Stands for the wire: the SDK signs, serialises and parses as ever, but its requests end here. Retries are off, so
//! that each call is one request.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex};

use aws_config::retry::RetryConfig;
use aws_config::stalled_stream_protection::StalledStreamProtectionConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_ec2::config::{Credentials, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use cloud::Cloud;

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Status and body.
    Says(u16, String),
    /// The connection broke after the request was sent.
    Breaks,
}

/// EC2's answer to an operation: the XML inside it.
pub fn xml(operation: &str, inside: &str) -> Answer {
    Answer::Says(200, format!("<{operation}Response>{inside}</{operation}Response>"))
}

/// EC2's refusal.
pub fn refusal(status: u16, code: &str, message: &str) -> Answer {
    let error = format!("<Error><Code>{code}</Code><Message>{message}</Message></Error>");
    Answer::Says(status, format!("<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"))
}

/// A JSON answer.
pub fn json(body: serde_json::Value) -> Answer {
    Answer::Says(200, body.to_string())
}

/// The calls that are to come, and what was asked.
#[derive(Clone, Debug)]
pub struct Aws {
    script: Arc<Mutex<Script>>,
}

#[derive(Debug, Default)]
struct Script {
    to_come: VecDeque<(String, Answer)>,
    asked: Vec<String>,
}

impl Aws {
    /// Answers these operations in this order, and no others.
    pub fn answering(calls: impl IntoIterator<Item = (&'static str, Answer)>) -> Self {
        let to_come = calls.into_iter().map(|(operation, answer)| (operation.to_owned(), answer)).collect();
        Self { script: Arc::new(Mutex::new(Script { to_come, asked: Vec::new() })) }
    }

    /// Clients that talk to it.
    pub fn cloud(&self) -> Cloud {
        self.cloud_in("us-east-1")
    }

    /// The same of a Region.
    pub fn cloud_in(&self, region: &'static str) -> Cloud {
        let connector = SharedHttpConnector::new(self.clone());
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region))
            .credentials_provider(SharedCredentialsProvider::new(Credentials::new(
                "x", "x", None, None, "test",
            )))
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(http_client_fn(move |_, _| connector.clone()))
            .build();
        Cloud::with_config(region, config)
    }

    /// What was asked, a decoded body each. Fails if a call has not come.
    #[track_caller]
    pub fn asked(&self) -> Vec<String> {
        let script = self.script.lock().unwrap();
        assert!(script.to_come.is_empty(), "not called: {:?}", script.to_come);
        script.asked.clone()
    }
}

impl HttpConnector for Aws {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = String::from_utf8_lossy(request.body().bytes().unwrap_or_default()).into_owned();
        let headers = request.headers();
        let operation = match headers.get("x-amz-target") {
            Some(target) => target.rsplit('.').next().unwrap_or(target).to_owned(),
            None => match body.strip_prefix("Action=") {
                Some(rest) => rest.split('&').next().unwrap_or(rest).to_owned(),
                None => {
                    format!("{} {}", request.method(), request.uri().split('?').next().unwrap_or_default())
                }
            },
        };
        let mut script = self.script.lock().unwrap();
        script.asked.push(if headers.get("x-amz-target").is_some() { body } else { decoded(&body) });
        let answer = match script.to_come.pop_front() {
            Some((expected, answer)) => {
                assert!(operation.contains(&expected), "{operation} was called, not {expected}");
                answer
            }
            None => panic!("{operation} was called, and nothing was to come"),
        };
        HttpConnectorFuture::ready(match answer {
            Answer::Says(status, body) => {
                let mut response = HttpResponse::new(status.try_into().unwrap(), SdkBody::from(body));
                response.headers_mut().insert("etag", "\"e1\"");
                Ok(response)
            }
            Answer::Breaks => Err(ConnectorError::io("connection reset".into())),
        })
    }
}

/// A form's text, a field a line.
fn decoded(form: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = form.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'&' => out.push(b'\n'),
            b'+' => out.push(b' '),
            b'%' => {
                let digits = [bytes.next().unwrap_or_default(), bytes.next().unwrap_or_default()];
                let digits = std::str::from_utf8(&digits).unwrap_or_default();
                out.push(u8::from_str_radix(digits, 16).unwrap_or_default());
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Runs to the end.
pub fn wait<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}
