//! One API server: requests with their retries, and what was written lately.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Method, Request, Response, StatusCode};
use http_body_util::BodyExt;
use jiff::Timestamp;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde_json::Value;
use tower::Service;

use crate::access::{self, Access};
use crate::error::{Cause, ClusterError};
use crate::tokens::Tokens;
use crate::traffic::{Counted, Counter, Traffic};

/// How long one answer may take. A page of 500 large objects takes seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often a request is made at most.
const ATTEMPTS: u32 = 4;
/// The first wait between two attempts, where the server names none; it doubles.
const FIRST_WAIT: Duration = Duration::from_millis(200);
/// The longest wait that a server may ask for; what asks for more is left to the next run.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// One API server. Clones share everything.
#[derive(Clone)]
pub struct Cluster {
    inner: Arc<Inner>,
    clock: fn() -> Timestamp,
}

struct Inner {
    client: Client,
    tokens: Option<Tokens>,
    counter: Arc<Counter>,
    /// Caches that want to know what is written.
    readers: Mutex<Vec<Weak<Mutex<Vec<Written>>>>>,
    pub(crate) memory: Mutex<crate::effects::Memory>,
}

/// An object as the server answered to a write.
#[derive(Clone, Debug)]
pub(crate) enum Written {
    Claim(Value),
    Node(Value),
}

/// What is asked of the server.
pub(crate) struct Ask<'a> {
    pub(crate) method: Method,
    pub(crate) path: &'a str,
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
    pub(crate) accept: &'static str,
    /// Whether the answer may come compressed.
    compressed: bool,
    /// What for, as errors tell it.
    pub(crate) what: &'a str,
}

/// What only metadata is asked for by.
const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// The same for a list, which the server tells apart.
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";
pub(crate) const STRATEGIC: &str = "application/strategic-merge-patch+json";

impl<'a> Ask<'a> {
    pub(crate) fn get(path: &'a str, what: &'a str) -> Self {
        Self { method: Method::GET, path, body: None, accept: JSON, compressed: true, what }
    }

    /// For an answer that is read as it comes: if it were compressed, each line would have to be decompressed by itself.
    fn stream(path: &'a str, what: &'a str) -> Self {
        Self { compressed: false, ..Self::get(path, what) }
    }

    pub(crate) fn metadata(path: &'a str, what: &'a str) -> Self {
        Self { accept: METADATA, ..Self::get(path, what) }
    }

    pub(crate) fn metadata_list(path: &'a str, what: &'a str) -> Self {
        Self { accept: METADATA_LIST, ..Self::get(path, what) }
    }

    pub(crate) fn write(
        method: Method,
        path: &'a str,
        kind: &'static str,
        body: &Value,
        what: &'a str,
    ) -> Self {
        Self { method, body: Some((kind, body.to_string().into_bytes())), ..Self::get(path, what) }
    }

    fn request(&self) -> Result<Request<Body>, http::Error> {
        let mut request =
            Request::builder().method(self.method.clone()).uri(self.path).header(ACCEPT, self.accept);
        if !self.compressed {
            request = request.header(ACCEPT_ENCODING, "identity");
        }
        match &self.body {
            None => request.body(Body::empty()),
            Some((kind, body)) => request.header(CONTENT_TYPE, *kind).body(Body::from(body.clone())),
        }
    }
}

/// An answer with its body.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

/// What the server says when it refuses.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct Status {
    pub(crate) message: String,
    pub(crate) reason: String,
    pub(crate) code: u16,
    details: Details,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Details {
    causes: Vec<StatusCause>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct StatusCause {
    reason: String,
    message: String,
}

impl Status {
    /// Why a PodDisruptionBudget holds a pod, if one does. More than one budget for one pod is a 500.
    pub(crate) fn budget(&self) -> Option<String> {
        let cause = self.details.causes.iter().find(|cause| cause.reason == "DisruptionBudget");
        let several = self.message.contains("more than one PodDisruptionBudget");
        match cause {
            Some(cause) if !cause.message.is_empty() => Some(cause.message.clone()),
            Some(_) => Some(self.message.clone()),
            None => several.then(|| self.message.clone()),
        }
    }
}

impl Answer {
    pub(crate) fn refusal(&self) -> Status {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| Status {
            message: String::from_utf8_lossy(&self.body[..self.body.len().min(300)]).into_owned(),
            ..Status::default()
        })
    }

    /// The answer to what must succeed.
    pub(crate) fn expect(self, what: &str) -> Result<Bytes, ClusterError> {
        if self.status.is_success() {
            return Ok(self.body);
        }
        let status = self.status.as_u16();
        Err(ClusterError::Answer { what: what.to_owned(), status, message: self.refusal().message })
    }

    /// The answer as a `T`.
    pub(crate) fn read<T: for<'de> Deserialize<'de>>(self, what: &str) -> Result<T, ClusterError> {
        let body = self.expect(what)?;
        serde_json::from_slice(&body)
            .map_err(|error| ClusterError::Unreadable { what: what.to_owned(), message: error.to_string() })
    }

    /// The answer as a `T`, or nothing if there is nothing.
    pub(crate) fn found<T: for<'de> Deserialize<'de>>(self, what: &str) -> Result<Option<T>, ClusterError> {
        if self.status == StatusCode::NOT_FOUND { Ok(None) } else { self.read(what).map(Some) }
    }
}

impl Cluster {
    /// Sets up the way to an API server, without going it.
    pub async fn connect(access: Access) -> Result<Self, ClusterError> {
        let counter = Arc::new(Counter::default());
        let (client, tokens) = access::client(access, counter.clone()).await?;
        Ok(Self::new(client, tokens, counter))
    }

    /// An API server behind any service, such as one with recorded answers.
    pub fn over<S, B>(service: S) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<Cause>,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<Cause>,
    {
        let counter = Arc::new(Counter::default());
        let client = Client::new(Counted::new(service, counter.clone()), "default");
        Self::new(client, None, counter)
    }

    fn new(client: Client, tokens: Option<Tokens>, counter: Arc<Counter>) -> Self {
        let inner = Inner { client, tokens, counter, readers: Mutex::default(), memory: Mutex::default() };
        Self { inner: Arc::new(inner), clock: Timestamp::now }
    }

    /// The same API server by another clock.
    pub fn with_clock(self, clock: fn() -> Timestamp) -> Self {
        Self { clock, ..self }
    }

    /// What has been asked since the start.
    pub fn traffic(&self) -> Traffic {
        self.inner.counter.read()
    }

    /// The server's version, such as `v1.35.2`.
    pub async fn version(&self) -> Result<String, ClusterError> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Version {
            git_version: String,
        }
        let what = "reading the server's version";
        let version: Version = self.ask(&Ask::get("/version", what)).await?.read(what)?;
        Ok(version.git_version)
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, crate::effects::Memory> {
        lock(&self.inner.memory)
    }

    /// A list that fills with what is written from now on.
    pub(crate) fn reader(&self) -> Arc<Mutex<Vec<Written>>> {
        let reader = Arc::new(Mutex::new(Vec::new()));
        let mut readers = lock(&self.inner.readers);
        readers.retain(|reader| reader.strong_count() > 0);
        readers.push(Arc::downgrade(&reader));
        reader
    }

    /// Tells the caches what was written.
    pub(crate) fn note(&self, written: &Written) {
        for reader in lock(&self.inner.readers).iter().filter_map(Weak::upgrade) {
            lock(&reader).push(written.clone());
        }
    }

    /// Asks, and asks again where that may help: the server is busy, is being replaced, or did not answer.
    pub(crate) async fn ask(&self, ask: &Ask<'_>) -> Result<Answer, ClusterError> {
        let mut wait = FIRST_WAIT;
        for attempt in 1.. {
            let last = attempt >= ATTEMPTS;
            let (answer, asked_wait) = match self.once(ask).await {
                Ok(answered) => answered,
                Err(error) if last || !error.is_transient() => return Err(error),
                Err(_) => {
                    tokio::time::sleep(wait).await;
                    wait *= 2;
                    continue;
                }
            };
            if last || !worth_another(&answer) || asked_wait.is_some_and(|asked| asked > LONGEST_WAIT) {
                return Ok(answer);
            }
            tokio::time::sleep(asked_wait.unwrap_or(wait)).await;
            wait *= 2;
        }
        Err(ClusterError::Timeout { what: ask.what.to_owned(), seconds: PATIENCE.as_secs() })
    }

    async fn once(&self, ask: &Ask<'_>) -> Result<(Answer, Option<Duration>), ClusterError> {
        let answered = async {
            let response = self.send(ask).await?;
            let (parts, body) = response.into_parts();
            let body = body.collect().await.map_err(|error| self.transport(ask.what, error.into()))?;
            let seconds = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
            Ok((Answer { status: parts.status, body: body.to_bytes() }, seconds.map(Duration::from_secs)))
        };
        tokio::time::timeout(PATIENCE, answered).await.unwrap_or_else(|_| {
            Err(ClusterError::Timeout { what: ask.what.to_owned(), seconds: PATIENCE.as_secs() })
        })
    }

    /// Opens a stream of lines: an answer's status, and its body as it comes.
    pub(crate) async fn open(
        &self,
        path: &str,
        what: &str,
    ) -> Result<(StatusCode, impl Stream<Item = Result<Bytes, Cause>> + Send + use<>), ClusterError> {
        let ask = Ask::stream(path, what);
        let timeout = || ClusterError::Timeout { what: what.to_owned(), seconds: PATIENCE.as_secs() };
        let response = tokio::time::timeout(PATIENCE, self.send(&ask)).await.map_err(|_| timeout())??;
        let (parts, body) = response.into_parts();
        let chunks = futures_util::TryStreamExt::map_err(body.into_data_stream(), Cause::from);
        Ok((parts.status, chunks))
    }

    /// Sends, with a new token if the one at hand is not taken.
    async fn send(&self, ask: &Ask<'_>) -> Result<Response<Body>, ClusterError> {
        let response = self.send_once(ask).await?;
        match &self.inner.tokens {
            Some(tokens) if response.status() == StatusCode::UNAUTHORIZED => {
                tokens.forget().await;
                self.send_once(ask).await
            }
            _ => Ok(response),
        }
    }

    async fn send_once(&self, ask: &Ask<'_>) -> Result<Response<Body>, ClusterError> {
        let mut request = ask.request().map_err(|error| self.transport(ask.what, error.into()))?;
        if let Some(tokens) = &self.inner.tokens {
            let token = tokens.token(self.now()).await?;
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|error| self.transport(ask.what, error.into()))?;
            value.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, value);
        }
        self.inner.client.send(request).await.map_err(|error| self.transport(ask.what, error.into()))
    }

    fn transport(&self, what: &str, source: Cause) -> ClusterError {
        ClusterError::Transport { what: what.to_owned(), source }
    }
}

/// Whether the same request may get another answer soon. That a budget holds a pod is an answer.
fn worth_another(answer: &Answer) -> bool {
    let busy = answer.status == StatusCode::TOO_MANY_REQUESTS || answer.status.is_server_error();
    busy && answer.refusal().budget().is_none()
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
