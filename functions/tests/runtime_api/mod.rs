//! Lambda's Runtime API on loopback, as far as a function sees it: it hands out events and takes in answers.
#![expect(clippy::unwrap_used, reason = "helpers of tests: what is missing should stop the test")]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

/// What the function did.
#[derive(Debug)]
#[allow(dead_code, reason = "of those who include this file, each reads a part")]
pub enum Said {
    /// It is ready for an event.
    Next(Instant),
    /// It has handled an event.
    Response(serde_json::Value),
    /// It has failed to handle one.
    Error(serde_json::Value),
    /// It can't start.
    InitError(serde_json::Value),
}

/// The server.
pub struct RuntimeApi {
    /// Where it listens.
    pub address: SocketAddr,
    /// As long as it is there, a function that asks for more waits.
    _events: mpsc::UnboundedSender<String>,
    said: mpsc::UnboundedReceiver<Said>,
}

impl RuntimeApi {
    /// Starts it with events to hand out; after the last, a function that asks for more waits for good.
    pub async fn start(events: impl IntoIterator<Item = serde_json::Value>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, receiver) = mpsc::unbounded_channel();
        for event in events {
            sender.send(event.to_string()).unwrap();
        }
        let shared = Arc::new(Mutex::new(receiver));
        let (tell, said) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (events, tell) = (shared.clone(), tell.clone());
                let service =
                    hyper::service::service_fn(move |request| answer(request, events.clone(), tell.clone()));
                tokio::spawn(
                    hyper::server::conn::http1::Builder::new()
                        .serve_connection(TokioIo::new(stream), service),
                );
            }
        });
        Self { address, _events: sender, said }
    }

    /// The next thing the function does, or nothing if it takes too long.
    pub async fn said(&mut self) -> Option<Said> {
        tokio::time::timeout(Duration::from_secs(30), self.said.recv()).await.ok().flatten()
    }
}

async fn answer(
    request: Request<Incoming>,
    events: Arc<Mutex<mpsc::UnboundedReceiver<String>>>,
    tell: mpsc::UnboundedSender<Said>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let respond = |status: u16, body: String| {
        Response::builder()
            .status(status)
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
    };
    if path.ends_with("/invocation/next") {
        let _ = tell.send(Said::Next(Instant::now()));
        let Some(event) = events.lock().await.recv().await else { std::future::pending().await };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let response = Response::builder()
            .header("content-type", "application/json")
            .header("lambda-runtime-aws-request-id", "8f1c7a3e-0000-4000-8000-000000000001")
            .header("lambda-runtime-deadline-ms", (now + Duration::from_secs(60)).as_millis().to_string())
            .header(
                "lambda-runtime-invoked-function-arn",
                "arn:aws:lambda:us-east-1:123456789012:function:tested",
            )
            .body(Full::new(event.into()));
        return Ok(response.unwrap());
    }
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    let said = match path.rsplit('/').next() {
        Some("response") => Said::Response(body),
        Some("error") if path.contains("/init/") => Said::InitError(body),
        _ => Said::Error(body),
    };
    let _ = tell.send(said);
    Ok(respond(202, "{}".to_owned()).unwrap())
}
