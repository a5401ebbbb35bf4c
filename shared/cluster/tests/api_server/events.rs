//! Events, and EC2NodeClasses.

use api::crd::Kind;
use cluster::Observed;
use model::{Effect, EventKind, ObjectName, ObjectRef};
use serde_json::{Value, json};

use crate::effects::{holds, not_found, outcome};
use crate::kit::{NOW, Server, on, status};

fn event_of(about: ObjectRef) -> Effect {
    Effect::PublishEvent {
        about,
        kind: EventKind::Warning,
        reason: "FailedScheduling".into(),
        message: "no capacity".into(),
    }
}

#[tokio::test]
async fn an_event_is_one_object_however_often_it_is_said() {
    let about = || event_of(ObjectRef::Pod(ObjectName::new("shop", "web-0")));
    let get = "GET /api/v1/namespaces/shop/pods/web-0";
    let post = "POST /api/v1/namespaces/shop/events";
    let name = "web-0.aa5ec049a5778cb5";
    let event = json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": { "namespace": "shop", "name": name },
        "involvedObject": {
            "apiVersion": "v1", "kind": "Pod", "namespace": "shop", "name": "web-0", "uid": "uid-web-0",
        },
        "type": "Warning",
        "reason": "FailedScheduling",
        "message": "no capacity",
        "source": { "component": "karpenter" },
        "reportingComponent": "karpenter",
        "reportingInstance": "journeyman",
        "firstTimestamp": NOW,
        "lastTimestamp": NOW,
        "count": 1,
    });
    let pod = || on(get, 200, json!({ "metadata": { "uid": "uid-web-0" } }));
    let exists = || on(post, 409, status(409, "AlreadyExists", "already exists"));
    let said = |at: &str| {
        on(
            &format!("GET /api/v1/namespaces/shop/events/{name}"),
            200,
            json!({ "count": 3, "lastTimestamp": at }),
        )
    };
    let patch = format!("PATCH /api/v1/namespaces/shop/events/{name}");
    let again = json!({ "count": 4, "lastTimestamp": NOW });
    holds(vec![
        ("new", about(), vec![pod(), on(post, 201, json!({})).with(event)], "Done"),
        (
            "said long ago",
            about(),
            vec![pod(), exists(), said("2026-06-01T11:54:00Z"), on(&patch, 200, json!({})).with(again)],
            "Done",
        ),
        ("said just now", about(), vec![pod(), exists(), said("2026-06-01T11:56:00Z")], "Already"),
        ("about nothing", about(), vec![on(get, 404, not_found())], "Gone"),
    ])
    .await;

    // The second time in one process costs nothing.
    let server = Server::expecting([pod(), on(post, 201, json!({}))]);
    let cluster = server.cluster();
    assert_eq!(outcome(&cluster, &about()).await, "Done");
    assert_eq!(outcome(&cluster, &about()).await, "Already");
    server.done();
}

#[tokio::test]
async fn events_about_what_has_no_namespace_go_to_the_default_one() {
    for (about, path, kind) in [
        (ObjectRef::Node("x".into()), "/api/v1/nodes/x", "Node"),
        (ObjectRef::NodePool("x".into()), "/apis/karpenter.sh/v1/nodepools/x", "NodePool"),
        (ObjectRef::NodeClaim("x".into()), "/apis/karpenter.sh/v1/nodeclaims/x", "NodeClaim"),
        (ObjectRef::NodeClass("x".into()), "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/x", "EC2NodeClass"),
    ] {
        let server = Server::expecting([
            on(&format!("GET {path}"), 200, json!({ "metadata": { "uid": "uid-x" } })),
            on("POST /api/v1/namespaces/default/events", 201, json!({})),
        ]);
        assert_eq!(outcome(&server.cluster(), &event_of(about)).await, "Done", "{kind}");
        server.done();
    }
}

#[tokio::test]
async fn a_class_is_written_as_it_was_read_and_let_go_by_its_uid() {
    let path = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default";
    let status_of = json!({ "amis": [] });
    let body = json!({ "metadata": { "resourceVersion": "5" }, "status": status_of });
    let server = Server::expecting([on(&format!("PATCH {path}/status"), 200, json!({})).with(body)]);
    let observed = server.cluster().set_status(Kind::Ec2NodeClass, "default", "5", &status_of).await.unwrap();
    assert_eq!(observed, Observed::Done);
    server.done();

    let class = |finalizers: Value| json!({ "metadata": { "uid": "u", "resourceVersion": "5", "finalizers": finalizers } });
    let held = || class(json!(["karpenter.k8s.aws/termination"]));
    let (get, patch) = (format!("GET {path}"), format!("PATCH {path}"));
    let server = Server::expecting([
        on(&patch, 200, held()).with(json!({ "metadata": { "resourceVersion": "4", "finalizers": ["karpenter.k8s.aws/termination"] } })),
        on(&get, 200, held()),
        on(&patch, 200, class(json!([]))).with(json!({ "metadata": { "uid": "u", "resourceVersion": "5", "finalizers": [] } })),
    ]);
    let cluster = server.cluster();
    let hold = json!({ "finalizers": ["karpenter.k8s.aws/termination"] });
    let now = cluster.set_metadata(Kind::Ec2NodeClass, "default", "4", &hold).await.unwrap();
    assert_eq!(now, "5", "a status can be written next");
    assert_eq!(cluster.release_node_class("default", "u").await.unwrap(), Observed::Done);
    server.done();
}
