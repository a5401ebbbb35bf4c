//! Each effect: what is asked of the server, and what its answers come to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cluster::Cluster;
use model::{
    Avoided, ClaimChange, Condition, ConditionStatus, Effect, NodeChange, NodeClaimDraft, NodeClassRef,
    ObjectName, Requirement, Requirements, Resources, Taint, TaintEffect,
};
use serde_json::{Value, json};

use crate::kit::{Exchange, NOW, Server, claim, conditions, node, now, on, running, status};

const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const POOL: &str = "GET /apis/karpenter.sh/v1/nodepools/default";

/// `Done`, `Already`, `Gone`, or the name of the refusal.
pub async fn outcome(cluster: &Cluster, effect: &Effect) -> String {
    match cluster.act(effect).await {
        Ok(observed) => format!("{observed:?}"),
        Err(refused) => {
            let shown = format!("{refused:?}");
            shown.split([' ', '(']).next().unwrap_or_default().to_owned()
        }
    }
}

pub async fn holds(table: Vec<(&str, Effect, Vec<Exchange>, &str)>) {
    for (case, effect, exchanges, wanted) in table {
        let server = Server::expecting(exchanges);
        assert_eq!(outcome(&server.cluster(), &effect).await, wanted, "{case}");
        server.done();
    }
}

pub fn not_found() -> Value {
    status(404, "NotFound", "not found")
}

fn conflict() -> Value {
    status(409, "Conflict", "the object has been modified")
}

pub fn draft() -> NodeClaimDraft {
    let requirements: Requirements = [
        ("karpenter.sh/capacity-type".to_owned(), Requirement::is_in(["spot"])),
        (
            "node.kubernetes.io/instance-type".to_owned(),
            Requirement::is_in(["m5.large", "m6i.large"]).with_min_values(Some(2)),
        ),
        ("journeyman.dev/usd-per-hour".to_owned(), Requirement::within(None, Some(250_000))),
    ]
    .into_iter()
    .collect();
    let class = NodeClassRef {
        group: "karpenter.k8s.aws".into(),
        kind: "EC2NodeClass".into(),
        name: "default".into(),
    };
    let taint = Taint { key: "team".into(), value: "a".into(), effect: TaintEffect::NoSchedule };
    NodeClaimDraft {
        name: "default-abcde".into(),
        pool: "default".into(),
        labels: BTreeMap::from([("karpenter.sh/nodepool".into(), "default".into())]),
        annotations: BTreeMap::from([
            ("karpenter.sh/nodepool-hash".into(), "123".into()),
            ("karpenter.sh/nodepool-hash-version".into(), "v3".into()),
        ]),
        taints: vec![taint],
        startup_taints: Vec::new(),
        node_class: class,
        requirements: Arc::new(requirements),
        requests: Resources::from_iter([
            ("cpu", "1500m".parse().unwrap()),
            ("memory", "1Gi".parse().unwrap()),
        ]),
        expire_after: Some(jiff::SignedDuration::from_hours(720)),
        termination_grace_period: None,
    }
}

/// The NodeClaim of the draft as it is sent.
fn drafted() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": "default-abcde",
            "labels": { "karpenter.sh/nodepool": "default" },
            "annotations": { "karpenter.sh/nodepool-hash": "123", "karpenter.sh/nodepool-hash-version": "v3" },
            "finalizers": ["karpenter.sh/termination"],
            "ownerReferences": [{
                "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "name": "default", "uid": "pool-uid",
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
            "taints": [{ "key": "team", "value": "a", "effect": "NoSchedule" }],
            "requirements": [
                { "key": "journeyman.dev/usd-per-hour", "operator": "Lte", "values": ["0.2500"] },
                { "key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"] },
                { "key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large", "m6i.large"],
                  "minValues": 2 },
            ],
            "resources": { "requests": { "cpu": "1500m", "memory": "1Gi" } },
            "expireAfter": "720h",
        },
    })
}

fn pool() -> Exchange {
    on(POOL, 200, json!({ "metadata": { "name": "default", "uid": "pool-uid" } }))
}

#[tokio::test]
async fn a_node_claim_is_created_once() {
    let create = || Effect::CreateNodeClaim(Arc::new(draft()));
    let post = format!("POST {CLAIMS}");
    let get = format!("GET {CLAIMS}/default-abcde");
    let exists = || on(&post, 409, status(409, "AlreadyExists", "already exists"));
    let mut present = drafted();
    // The same, as a server or another version may spell it.
    present["spec"]["resources"]["requests"]["cpu"] = "1.5".into();
    present["spec"]["requirements"].as_array_mut().unwrap().reverse();
    let mut other = drafted();
    other["spec"]["requirements"][1]["values"] = json!(["on-demand"]);
    let mut going = drafted();
    going["metadata"]["deletionTimestamp"] = NOW.into();
    let mut pool_going = json!({ "metadata": { "name": "default", "uid": "pool-uid" } });
    pool_going["metadata"]["deletionTimestamp"] = NOW.into();
    holds(vec![
        ("created", create(), vec![pool(), on(&post, 201, drafted()).with(drafted())], "Done"),
        ("there already", create(), vec![pool(), exists(), on(&get, 200, present)], "Already"),
        ("another of that name", create(), vec![pool(), exists(), on(&get, 200, other)], "Conflict"),
        ("that one is going", create(), vec![pool(), exists(), on(&get, 200, going)], "Conflict"),
        ("gone in between", create(), vec![pool(), exists(), on(&get, 404, not_found())], "Conflict"),
        ("no pool", create(), vec![on(POOL, 404, not_found())], "NotFound"),
        ("the pool is going", create(), vec![on(POOL, 200, pool_going)], "Conflict"),
        ("not valid", create(), vec![pool(), on(&post, 422, status(422, "Invalid", "spec: no"))], "Invalid"),
        ("not allowed", create(), vec![pool(), on(&post, 403, status(403, "Forbidden", "no"))], "Forbidden"),
    ])
    .await;
}

#[tokio::test]
async fn what_is_known_of_a_pool_serves_several_claims() {
    let post = format!("POST {CLAIMS}");
    let server = Server::expecting([pool(), on(&post, 201, drafted()), on(&post, 201, drafted())]);
    let cluster = server.cluster();
    for name in ["default-abcde", "default-fghij"] {
        let draft = NodeClaimDraft { name: name.into(), ..draft() };
        assert_eq!(outcome(&cluster, &Effect::CreateNodeClaim(Arc::new(draft))).await, "Done");
    }
    server.done();
}

#[tokio::test]
async fn a_node_claim_is_asked_to_go_by_its_uid() {
    let delete = |uid: Option<&str>| Effect::DeleteNodeClaim {
        claim: "a".into(),
        uid: uid.map(str::to_owned),
        reason: "Empty".into(),
    };
    let request = format!("DELETE {CLAIMS}/a");
    let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": "uid-a" } });
    let get = format!("GET {CLAIMS}/a");
    let mut going = running("a", "1");
    going["metadata"]["deletionTimestamp"] = NOW.into();
    holds(vec![
        (
            "there",
            delete(Some("uid-a")),
            vec![on(&request, 200, going.clone()).with(options.clone())],
            "Done",
        ),
        ("gone", delete(Some("uid-a")), vec![on(&request, 404, not_found())], "Gone"),
        ("a namesake", delete(Some("uid-a")), vec![on(&request, 409, conflict())], "Gone"),
        (
            "uid not known",
            delete(None),
            vec![on(&get, 200, running("a", "1")), on(&request, 200, status(200, "", "")).with(options)],
            "Done",
        ),
        ("going already", delete(None), vec![on(&get, 200, going)], "Already"),
    ])
    .await;
}

fn condition(status: ConditionStatus, reason: &str) -> Condition {
    Condition { status, reason: reason.into(), message: String::new(), since: now(), generation: 1 }
}

fn launched() -> ClaimChange {
    ClaimChange {
        claim: "a".into(),
        version: Some("5".into()),
        finalizer: true,
        labels: BTreeMap::from([("node.kubernetes.io/instance-type".into(), "m5.large".into())]),
        provider_id: Some("aws:///eu-west-1a/i-1".into()),
        image: Some("ami-1".into()),
        capacity: Resources::from_iter([("cpu", "2".parse().unwrap())]),
        conditions: BTreeMap::from([("Launched".into(), condition(ConditionStatus::True, "Launched"))]),
        ..ClaimChange::default()
    }
}

#[tokio::test]
async fn a_node_claim_is_changed_in_its_metadata_and_then_in_its_status() {
    let get = format!("GET {CLAIMS}/a");
    let patch = format!("PATCH {CLAIMS}/a");
    let patch_status = format!("PATCH {CLAIMS}/a/status");
    let fresh = claim("a", "5", json!({ "metadata": { "finalizers": ["example.com/other"] } }));
    let metadata = json!({ "metadata": {
        "resourceVersion": "5",
        "finalizers": ["example.com/other", "karpenter.sh/termination"],
        "labels": { "node.kubernetes.io/instance-type": "m5.large" },
    } });
    let waiting = |kind: &str| {
        json!({
            "type": kind, "status": "Unknown", "reason": "AwaitingReconciliation",
            "message": "object is awaiting reconciliation",
            "lastTransitionTime": "2026-06-01T11:00:00Z", "observedGeneration": 1,
        })
    };
    let told = |kind: &str, status: &str, reason: &str, message: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": NOW, "observedGeneration": 1,
        })
    };
    let changed = json!({ "metadata": { "resourceVersion": "6" }, "status": {
        "providerID": "aws:///eu-west-1a/i-1",
        "imageID": "ami-1",
        "capacity": { "cpu": "2" },
        "conditions": [
            waiting("Initialized"),
            waiting("Registered"),
            told("Launched", "True", "Launched", ""),
            told("Ready", "Unknown", "ReconcilingDependents", "Registered=Unknown, Initialized=Unknown"),
        ],
    } });
    let after = |version: &str| {
        let mut after = fresh.clone();
        after["metadata"]["resourceVersion"] = version.into();
        after["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "m5.large".into();
        after["metadata"]["finalizers"] = json!(["example.com/other", "karpenter.sh/termination"]);
        after
    };
    let mut done = after("7");
    done["status"] = changed["status"].clone();
    let change = || Effect::ChangeNodeClaim(Box::new(launched()));
    let first = || vec![on(&get, 200, fresh.clone()), on(&patch, 200, after("6")).with(metadata.clone())];
    let with = |mut exchanges: Vec<Exchange>, last: Exchange| {
        exchanges.push(last);
        exchanges
    };
    let mut at_five = done.clone();
    at_five["metadata"]["resourceVersion"] = "5".into();
    holds(vec![
        (
            "all new",
            change(),
            with(first(), on(&patch_status, 200, done.clone()).with(changed.clone())),
            "Done",
        ),
        ("so already", change(), vec![on(&get, 200, at_five)], "Already"),
        ("read at another version", change(), vec![on(&get, 200, after("6"))], "Conflict"),
        (
            "changed since",
            change(),
            vec![on(&get, 200, fresh.clone()), on(&patch, 409, conflict())],
            "Conflict",
        ),
        ("changed between both", change(), with(first(), on(&patch_status, 409, conflict())), "Conflict"),
        ("gone", change(), vec![on(&get, 404, not_found())], "NotFound"),
    ])
    .await;
}

#[tokio::test]
async fn an_annotation_goes_through_whatever_else_is_written() {
    let get = format!("GET {CLAIMS}/a");
    let patch = format!("PATCH {CLAIMS}/a");
    let deadline = || ClaimChange {
        claim: "a".into(),
        annotations: BTreeMap::from([("journeyman.dev/interruption-deadline".into(), NOW.into())]),
        ..ClaimChange::default()
    };
    let body = json!({ "metadata": { "annotations": { "journeyman.dev/interruption-deadline": NOW } } });
    let change = || Effect::ChangeNodeClaim(Box::new(deadline()));
    holds(vec![
        (
            "at any version",
            change(),
            vec![on(&get, 200, running("a", "99")), on(&patch, 200, running("a", "100")).with(body)],
            "Done",
        ),
        (
            "in a race",
            change(),
            vec![
                on(&get, 200, running("a", "99")),
                on(&patch, 409, conflict()),
                on(&get, 200, running("a", "100")),
                on(&patch, 200, running("a", "101")),
            ],
            "Done",
        ),
    ])
    .await;
}

#[tokio::test]
async fn conditions_keep_their_time_until_their_status_changes() {
    #[rustfmt::skip]
    let table = [
        // change,                                  of,           Ready,     time of the condition,   sum
        (ConditionStatus::True,  "Initialized",     "True",       "2026-06-01T11:05:00Z", ""),
        (ConditionStatus::False, "Registered",      "False",      NOW,                    "Registered=False"),
        (ConditionStatus::Unknown, "Initialized",   "Unknown",    NOW,                    "Initialized=Unknown"),
        (ConditionStatus::True,  "Consolidatable",  "True",       NOW,                    ""),
    ];
    for (value, kind, ready, time, sum) in table {
        let get = format!("GET {CLAIMS}/a");
        let patch_status = format!("PATCH {CLAIMS}/a/status");
        let mut present = running("a", "5");
        present["status"]["conditions"] = conditions(&["Launched", "Registered", "Initialized", "Ready"]);
        let change = ClaimChange {
            claim: "a".into(),
            version: Some("5".into()),
            conditions: BTreeMap::from([(kind.into(), condition(value, "Because"))]),
            ..ClaimChange::default()
        };
        let seen = Arc::new(std::sync::Mutex::new(Value::Null));
        let keep = seen.clone();
        let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
            let (present, keep, get, patch) =
                (present.clone(), keep.clone(), get.clone(), patch_status.clone());
            async move {
                use http_body_util::BodyExt;
                let (parts, body) = request.into_parts();
                let line = format!("{} {}", parts.method, parts.uri.path());
                if line == patch {
                    let body = body.collect().await.unwrap().to_bytes();
                    *keep.lock().unwrap() = serde_json::from_slice(&body).unwrap();
                } else {
                    assert_eq!(line, get);
                }
                let answer = kube::client::Body::from(present.to_string().into_bytes());
                Ok::<_, cluster::Cause>(http::Response::new(answer))
            }
        });
        let cluster = Cluster::over(service).with_clock(now);
        assert_eq!(outcome(&cluster, &Effect::ChangeNodeClaim(Box::new(change))).await, "Done", "{kind}");
        let written = seen.lock().unwrap().clone();
        let all = written.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap();
        let find = |kind: &str| all.iter().find(|written| written["type"] == kind).cloned().unwrap();
        assert_eq!(find(kind)["lastTransitionTime"], time, "{kind}");
        assert_eq!(find(kind)["reason"], "Because", "{kind}");
        assert_eq!(find("Ready")["status"], ready, "{kind}");
        assert_eq!(find("Ready")["message"], sum, "{kind}");
        assert_eq!(all.last().unwrap()["type"], "Ready");
        assert_eq!(find("Launched")["lastTransitionTime"], "2026-06-01T11:05:00Z");
    }
}

#[tokio::test]
async fn a_finalizer_is_taken_off_and_those_of_others_stay() {
    let release = || Effect::ReleaseNodeClaim { claim: "a".into(), uid: "uid-a".into() };
    let get = format!("GET {CLAIMS}/a");
    let patch = format!("PATCH {CLAIMS}/a");
    let held = |version: &str| {
        claim(
            "a",
            version,
            json!({ "metadata": { "finalizers": ["example.com/other", "karpenter.sh/termination"] } }),
        )
    };
    let body = |version: &str| json!({ "metadata": { "uid": "uid-a", "resourceVersion": version, "finalizers": ["example.com/other"] } });
    let free = claim("a", "6", json!({ "metadata": { "finalizers": ["example.com/other"] } }));
    let namesake = claim("a", "5", json!({ "metadata": { "uid": "another" } }));
    let node_release = Effect::ReleaseNode { node: "n".into(), uid: "uid-n".into() };
    let node_body = json!({ "metadata": { "uid": "uid-n", "resourceVersion": "5", "finalizers": [] } });
    holds(vec![
        (
            "held",
            release(),
            vec![on(&get, 200, held("5")), on(&patch, 200, free.clone()).with(body("5"))],
            "Done",
        ),
        ("free already", release(), vec![on(&get, 200, free.clone())], "Already"),
        ("gone", release(), vec![on(&get, 404, not_found())], "Gone"),
        ("a namesake", release(), vec![on(&get, 200, namesake)], "Gone"),
        (
            "in a race",
            release(),
            vec![
                on(&get, 200, held("5")),
                on(&patch, 409, conflict()),
                on(&get, 200, held("6")),
                on(&patch, 200, free).with(body("6")),
            ],
            "Done",
        ),
        (
            "a Node",
            node_release,
            vec![
                on("GET /api/v1/nodes/n", 200, node("n", "5", json!({}))),
                on("PATCH /api/v1/nodes/n", 200, node("n", "6", json!({}))).with(node_body),
            ],
            "Done",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_node_is_changed_only_as_it_was_read() {
    let taint = |key: &str, effect| Taint { key: key.into(), value: String::new(), effect };
    let change = || {
        Effect::ChangeNode(Box::new(NodeChange {
            node: "n".into(),
            version: "5".into(),
            finalizer: true,
            owner: Some(("a".into(), "uid-a".into())),
            labels: BTreeMap::from([("karpenter.sh/registered".into(), "true".into())]),
            labels_off: BTreeSet::from(["it/never-had".into()]),
            annotations: BTreeMap::new(),
            taints: Some(vec![
                taint("node.kubernetes.io/unreachable", TaintEffect::NoExecute),
                taint("karpenter.sh/disrupted", TaintEffect::NoSchedule),
            ]),
        }))
    };
    let unreachable = json!({ "key": "node.kubernetes.io/unreachable", "effect": "NoExecute", "timeAdded": "2026-06-01T11:00:00Z" });
    let unregistered = json!({ "key": "karpenter.sh/unregistered", "effect": "NoExecute" });
    let disrupted = json!({ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" });
    let fresh = |version: &str| {
        node(
            "n",
            version,
            json!({ "metadata": { "finalizers": [] }, "spec": { "taints": [unreachable, unregistered] } }),
        )
    };
    let owner = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "name": "a", "uid": "uid-a", "blockOwnerDeletion": true,
    });
    let body = json!({
        "metadata": {
            "resourceVersion": "5",
            "finalizers": ["karpenter.sh/termination"],
            "ownerReferences": [owner],
            "labels": { "karpenter.sh/registered": "true" },
        },
        "spec": { "taints": [unreachable, disrupted] },
    });
    let done = node(
        "n",
        "6",
        json!({
            "metadata": { "labels": { "karpenter.sh/registered": "true" }, "ownerReferences": [owner] },
            "spec": { "taints": [unreachable, disrupted] },
        }),
    );
    let (get, patch) = ("GET /api/v1/nodes/n", "PATCH /api/v1/nodes/n");
    holds(vec![
        ("fresh", change(), vec![on(get, 200, fresh("5")), on(patch, 200, done.clone()).with(body)], "Done"),
        ("so already", change(), vec![on(get, 200, done)], "Already"),
        ("changed before", change(), vec![on(get, 200, fresh("6"))], "Conflict"),
        ("changed since", change(), vec![on(get, 200, fresh("5")), on(patch, 409, conflict())], "Conflict"),
        ("gone", change(), vec![on(get, 404, not_found())], "NotFound"),
    ])
    .await;
}

#[tokio::test]
async fn labels_are_taken_away_where_they_are() {
    let off = || BTreeSet::from(["a/off".to_owned(), "a/never".to_owned()]);
    let labels = || BTreeMap::from([("a/way".to_owned(), "on-demand".to_owned())]);
    let of_claim = || {
        let change = ClaimChange { claim: "a".into(), version: Some("5".into()), ..ClaimChange::default() };
        Effect::ChangeNodeClaim(Box::new(ClaimChange { labels: labels(), labels_off: off(), ..change }))
    };
    let of_node = || {
        let change = NodeChange { node: "n".into(), version: "5".into(), ..NodeChange::default() };
        Effect::ChangeNode(Box::new(NodeChange { labels: labels(), labels_off: off(), ..change }))
    };
    let had = json!({ "metadata": { "labels": { "a/way": "reserved", "a/off": "1", "a/kept": "1" } } });
    let has = json!({ "metadata": { "labels": { "a/way": "on-demand", "a/kept": "1" } } });
    let body =
        json!({ "metadata": { "resourceVersion": "5", "labels": { "a/way": "on-demand", "a/off": null } } });
    let (get_claim, patch_claim) = (format!("GET {CLAIMS}/a"), format!("PATCH {CLAIMS}/a"));
    let (get, patch) = ("GET /api/v1/nodes/n", "PATCH /api/v1/nodes/n");
    let claimed = |version: &str, more: &Value| claim("a", version, more.clone());
    let noded = |version: &str, more: &Value| node("n", version, more.clone());
    holds(vec![
        (
            "of a NodeClaim",
            of_claim(),
            vec![
                on(&get_claim, 200, claimed("5", &had)),
                on(&patch_claim, 200, claimed("6", &has)).with(body.clone()),
            ],
            "Done",
        ),
        ("of one without", of_claim(), vec![on(&get_claim, 200, claimed("5", &has))], "Already"),
        (
            "of a Node",
            of_node(),
            vec![on(get, 200, noded("5", &had)), on(patch, 200, noded("6", &has)).with(body)],
            "Done",
        ),
        ("of one without", of_node(), vec![on(get, 200, noded("5", &has))], "Already"),
    ])
    .await;
}

#[tokio::test]
async fn nodes_and_pods_are_meant_by_their_uid() {
    let pod = || ObjectName::new("default", "web-0");
    let delete_node = || Effect::DeleteNode { node: "n".into(), uid: "uid-n".into() };
    let evict = || Effect::EvictPod { pod: pod(), uid: "uid-web-0".into(), node: "n".into(), remark: None };
    let delete = || Effect::DeletePod { pod: pod(), uid: "uid-web-0".into(), grace_seconds: 7 };
    let nominate = || Effect::NominateNode { pod: pod(), uid: "uid-web-0".into(), node: "n".into() };
    let options =
        |uid: &str| json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid } });
    let mut pod_options = options("uid-web-0");
    pod_options["gracePeriodSeconds"] = 7.into();
    let eviction = json!({
        "apiVersion": "policy/v1", "kind": "Eviction",
        "metadata": { "namespace": "default", "name": "web-0" },
        "deleteOptions": { "preconditions": { "uid": "uid-web-0" } },
    });
    let nomination = json!({ "metadata": { "uid": "uid-web-0" }, "status": { "nominatedNodeName": "n" } });
    let path = "/api/v1/namespaces/default/pods/web-0";
    let other_uid =
        "Pod \"web-0\" is invalid: metadata.uid: Invalid value: \"uid-web-0\": field is immutable";
    let other_uid = status(422, "Invalid", other_uid);
    let (evicting, deleting) = (format!("POST {path}/eviction"), format!("DELETE {path}"));
    let nominating = format!("PATCH {path}/status");
    let deleting_node = "DELETE /api/v1/nodes/n";
    let said = || on("POST /api/v1/namespaces/default/events", 201, json!({}));
    let ok = || json!({ "status": "Success" });
    holds(vec![
        ("node", delete_node(), vec![on(deleting_node, 200, ok()).with(options("uid-n"))], "Done"),
        ("node gone", delete_node(), vec![on(deleting_node, 404, not_found())], "Gone"),
        ("another node", delete_node(), vec![on(deleting_node, 409, conflict())], "Gone"),
        ("evicted", evict(), vec![on(&evicting, 201, ok()).with(eviction), said()], "Done"),
        ("pod gone", evict(), vec![on(&evicting, 404, not_found())], "Gone"),
        ("another pod", evict(), vec![on(&evicting, 409, conflict())], "Gone"),
        ("not allowed", evict(), vec![on(&evicting, 403, status(403, "Forbidden", "no"))], "Forbidden"),
        ("deleted", delete(), vec![on(&deleting, 200, ok()).with(pod_options), said()], "Done"),
        ("deleted already", delete(), vec![on(&deleting, 404, not_found())], "Gone"),
        ("nominated", nominate(), vec![on(&nominating, 200, ok()).with(nomination)], "Done"),
        ("another pod to nominate for", nominate(), vec![on(&nominating, 422, other_uid)], "Gone"),
        ("bound and gone", nominate(), vec![on(&nominating, 404, not_found())], "Gone"),
    ])
    .await;
}

#[tokio::test]
async fn what_is_not_of_the_api_server_is_refused_without_asking_it() {
    let foreign = [
        Effect::Terminate { provider_id: "aws:///a/i-1".into() },
        Effect::TagInstance { provider_id: "aws:///a/i-1".into(), tags: BTreeMap::new() },
        Effect::Avoid { what: Avoided::Subnet("subnet-1".into()), until: now() },
        Effect::HintProvision { reason: "test".into() },
        Effect::HintLifecycle { claims: Vec::new(), nodes: Vec::new(), after: jiff::SignedDuration::ZERO },
    ];
    let server = Server::default();
    for effect in foreign {
        assert!(!Cluster::is_mine(&effect));
        assert_eq!(outcome(&server.cluster(), &effect).await, "NotMine");
    }
    server.done();
}
