//! What it costs: requests made and bytes answered, as they come off the wire.

use std::ops::Sub;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::BodyExt;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use tower::Service;

use crate::error::Cause;

/// Requests and bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Traffic {
    /// Requests made, retries included; a watch is one.
    pub requests: u64,
    /// Bytes of the answers' bodies, still compressed where they were.
    pub bytes: u64,
}

impl Sub for Traffic {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            requests: self.requests.saturating_sub(earlier.requests),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counter {
    requests: AtomicU64,
    bytes: AtomicU64,
}

impl Counter {
    pub(crate) fn read(&self) -> Traffic {
        Traffic { requests: self.requests.load(Ordering::Relaxed), bytes: self.bytes.load(Ordering::Relaxed) }
    }
}

/// An answer's body, counted while it is read.
pub(crate) type CountedBody = UnsyncBoxBody<Bytes, Cause>;

/// A service that counts.
#[derive(Clone)]
pub(crate) struct Counted<S> {
    inner: S,
    counter: Arc<Counter>,
}

impl<S> Counted<S> {
    pub(crate) fn new(inner: S, counter: Arc<Counter>) -> Self {
        Self { inner, counter }
    }
}

impl<S, B> Service<Request<Body>> for Counted<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<Cause>,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Cause>,
{
    type Response = Response<CountedBody>;
    type Error = Cause;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Cause>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Cause>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.counter.requests.fetch_add(1, Ordering::Relaxed);
        let counter = self.counter.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            Ok(answer.map(|body| {
                let counted = body.map_frame(move |frame| {
                    let length = frame.data_ref().map_or(0, Bytes::len);
                    counter.bytes.fetch_add(u64::try_from(length).unwrap_or_default(), Ordering::Relaxed);
                    frame
                });
                counted.map_err(Into::into).boxed_unsync()
            }))
        })
    }
}
