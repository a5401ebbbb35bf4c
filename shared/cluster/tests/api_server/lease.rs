//! Leases: one holder at a time.

use std::time::Duration;

use cluster::{LeaseSpec, Leased};
use serde_json::{Value, json};

use crate::kit::{Exchange, Server, on, status};

const ALL: &str = "POST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const GET: &str = "GET /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/journeyman-provision";
const PUT: &str = "PUT /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/journeyman-provision";
const PATCH: &str = "PATCH /apis/coordination.k8s.io/v1/namespaces/kube-system/leases/journeyman-provision";

fn spec() -> LeaseSpec {
    LeaseSpec {
        namespace: "kube-system".into(),
        name: "journeyman-provision".into(),
        holder: "run-1".into(),
        duration: Duration::from_secs(15),
    }
}

fn lease(holder: &str, renewed: &str, version: &str) -> Value {
    json!({
        "metadata": { "resourceVersion": version },
        "spec": { "holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15, "leaseTransitions": 3 },
    })
}

fn absent() -> Exchange {
    on(GET, 404, status(404, "NotFound", "leases not found"))
}

fn conflict(request: &str) -> Exchange {
    on(request, 409, status(409, "Conflict", "the object has been modified"))
}

#[tokio::test]
async fn a_lease_is_taken_from_nobody_else() {
    let mine = |version| lease("run-1", "2026-06-01T12:00:00Z", version);
    let other = || lease("run-0", "2026-06-01T11:59:50Z", "7");
    let over = || lease("run-0", "2026-06-01T11:59:45Z", "7");
    let table: Vec<(&str, Vec<Exchange>, bool)> = vec![
        ("there is none", vec![absent(), on(ALL, 201, mine("1"))], true),
        ("held", vec![on(GET, 200, other())], false),
        ("run out", vec![on(GET, 200, over()), on(PUT, 200, mine("8"))], true),
        (
            "given back",
            vec![on(GET, 200, lease("", "2026-06-01T11:59:59Z", "7")), on(PUT, 200, mine("8"))],
            true,
        ),
        ("ours already", vec![on(GET, 200, mine("7")), on(PUT, 200, mine("8"))], true),
        ("somebody was faster", vec![on(GET, 200, over()), conflict(PUT), on(GET, 200, other())], false),
        ("somebody was first", vec![absent(), conflict(ALL), on(GET, 200, other())], false),
        (
            "it was ourselves, and the answer was lost",
            vec![absent(), conflict(ALL), on(GET, 200, mine("1"))],
            true,
        ),
    ];
    for (case, exchanges, taken) in table {
        let server = Server::expecting(exchanges);
        let lease = server.cluster().acquire(&spec()).await.unwrap();
        assert_eq!(lease.is_some(), taken, "{case}");
        server.done();
    }
}

#[tokio::test]
async fn a_lease_is_written_over_the_version_that_was_read() {
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": { "namespace": "kube-system", "name": "journeyman-provision", "resourceVersion": "7" },
        "spec": {
            "holderIdentity": "run-1",
            "leaseDurationSeconds": 15,
            "acquireTime": "2026-06-01T12:00:00.000000Z",
            "renewTime": "2026-06-01T12:00:00.000000Z",
            "leaseTransitions": 4,
        },
    });
    let over = lease("run-0", "2026-06-01T11:00:00Z", "7");
    let server = Server::expecting([on(GET, 200, over), on(PUT, 200, body.clone()).with(body)]);
    assert!(server.cluster().acquire(&spec()).await.unwrap().is_some());
    server.done();
}

#[tokio::test(start_paused = true)]
async fn work_is_done_while_the_lease_is_renewed_and_it_is_given_back() {
    let mine = |version: &str| lease("run-1", "2026-06-01T12:00:00Z", version);
    let release = |version: &str| {
        on(PATCH, 200, json!({})).with(json!({
            "metadata": { "resourceVersion": version },
            "spec": { "holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": "2026-06-01T12:00:00.000000Z" },
        }))
    };
    let server = Server::expecting([
        absent(),
        on(ALL, 201, mine("1")),
        // After five seconds, and after ten.
        on(GET, 200, mine("1")),
        on(PUT, 200, mine("2")),
        on(GET, 200, mine("2")),
        on(PUT, 200, mine("3")),
        release("3"),
    ]);
    let work = async {
        tokio::time::sleep(Duration::from_secs(12)).await;
        "done"
    };
    assert_eq!(server.cluster().with_lease(&spec(), work).await.unwrap(), Leased::Done("done"));
    server.done();
}

#[tokio::test(start_paused = true)]
async fn work_is_broken_off_when_the_lease_is_lost() {
    let server = Server::expecting([
        absent(),
        on(ALL, 201, lease("run-1", "2026-06-01T12:00:00Z", "1")),
        on(GET, 200, lease("run-2", "2026-06-01T12:00:00Z", "2")),
    ]);
    let leased = server.cluster().with_lease(&spec(), std::future::pending::<()>()).await.unwrap();
    assert_eq!(leased, Leased::Lost);
    server.done();
}

#[tokio::test]
async fn work_is_not_begun_while_somebody_else_is_at_it() {
    let server = Server::expecting([on(GET, 200, lease("run-0", "2026-06-01T12:00:00Z", "1"))]);
    let mut begun = false;
    let leased = server.cluster().with_lease(&spec(), async { begun = true }).await.unwrap();
    assert_eq!(leased, Leased::Held { by: "run-0".into() });
    assert!(!begun);
    server.done();
}
