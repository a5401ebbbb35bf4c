//! Requests: asked again where that may help, and no longer.

use cluster::Refused;
use model::{Effect, ObjectName};
use serde_json::json;

use crate::kit::{Server, on, status};

const VERSION: &str = "GET /version";

#[tokio::test(start_paused = true)]
async fn a_busy_server_is_asked_again_after_the_time_it_names() {
    let busy = |seconds| {
        on(VERSION, 429, status(429, "TooManyRequests", "slow down")).header("retry-after", seconds)
    };
    let server = Server::expecting([
        busy("3"),
        on(VERSION, 503, json!({})),
        on(VERSION, 200, json!({ "gitVersion": "v1.35.2" })),
    ]);
    let cluster = server.cluster();
    let start = tokio::time::Instant::now();
    assert_eq!(cluster.version().await.unwrap(), "v1.35.2");
    // Three seconds as asked, then the second wait of our own.
    assert_eq!(start.elapsed().as_millis(), 3400);
    assert_eq!(cluster.traffic().requests, 3);
    server.done();
}

#[tokio::test(start_paused = true)]
async fn patience_has_an_end() {
    let server = Server::expecting((0..4).map(|_| on(VERSION, 500, status(500, "", "etcd is away"))));
    let error = server.cluster().version().await.unwrap_err();
    assert_eq!(error.to_string(), "reading the server's version: etcd is away (HTTP 500)");
    assert!(error.is_transient());
    server.done();

    let long = on(VERSION, 429, status(429, "TooManyRequests", "later")).header("retry-after", "60");
    let server = Server::expecting([long]);
    assert_eq!(server.cluster().version().await.unwrap_err().status(), Some(429));
    server.done();
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up() {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| {
        std::future::pending::<Result<http::Response<kube::client::Body>, cluster::Cause>>()
    });
    let error = cluster::Cluster::over(service).version().await.unwrap_err();
    assert_eq!(error.to_string(), "reading the server's version: no answer within 20 s");
}

#[tokio::test(start_paused = true)]
async fn what_a_budget_holds_is_not_asked_again() {
    let path = "POST /api/v1/namespaces/default/pods/web-0/eviction";
    let pod = ObjectName::new("default", "web-0");
    let evict = Effect::EvictPod { pod, uid: "uid-web-0".into(), node: "n1".into(), remark: None };
    let message = "The disruption budget web needs 6 healthy pods and has 6 currently";
    let mut held =
        status(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.");
    held["details"] = json!({ "causes": [{ "reason": "DisruptionBudget", "message": message }] });
    let several =
        "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.";
    for (answer, words) in [
        (on(path, 429, held).header("retry-after", "10"), message),
        (on(path, 500, status(500, "InternalError", several)), several),
    ] {
        // The one who looks at the Node is told.
        let server = Server::expecting([
            answer,
            on("GET /api/v1/nodes/n1", 200, json!({ "metadata": { "uid": "uid-n1" } })),
            on("POST /api/v1/namespaces/default/events", 201, json!({})),
        ]);
        match server.cluster().act(&evict).await {
            Err(refused @ Refused::Budget { .. }) => {
                assert_eq!(refused.to_string(), format!("evicting default/web-0: {words}"));
                assert!(refused.is_transient());
            }
            other => panic!("{other:?}"),
        }
        server.done();
    }
}

#[tokio::test]
async fn bytes_are_counted_as_they_are_read() {
    let answer = json!({ "gitVersion": "v1.35.2" });
    let server = Server::expecting([on(VERSION, 200, answer.clone())]);
    let cluster = server.cluster();
    let before = cluster.traffic();
    cluster.version().await.unwrap();
    let spent = cluster.traffic() - before;
    assert_eq!((spent.requests, spent.bytes), (1, answer.to_string().len() as u64));
}
