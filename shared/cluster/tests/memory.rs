//! A warm sandbox with 1,000 Nodes and 15,000 pods: all that it keeps, and the objects made of it, within 128 MB.
//!
//! A test of its own, since it measures its whole process. It stands for the cache, not for a function: the
//! catalogue and the AWS clients come on top.
#![allow(clippy::unwrap_used, clippy::panic, reason = "the helpers of tests fail by panicking, too")]

use bytes::Bytes;
use cluster::{Cause, Cluster, Observer};
use http::{Request, Response};
use http_body_util::Full;
use kube::client::Body;
use serde_json::{Value, json};

const NODES: usize = 1000;
const PODS: usize = 15_000;
const LIMIT_KB: u64 = 128_000;

#[tokio::test]
async fn a_thousand_nodes_fit() {
    let service = tower::service_fn(|request: Request<Body>| async move {
        Ok::<_, Cause>(Response::new(Full::new(Bytes::from(answer(&request)))))
    });
    let cluster = Cluster::over(service);
    let mut observer = Observer::new(&cluster);
    let objects = observer.observe().await.unwrap();
    let lowered = api::lower::lower(&objects, &api::lower::LowerOptions::default()).unwrap();
    assert_eq!((lowered.cluster.nodes.len(), lowered.cluster.pods.len()), (NODES, PODS));
    // Where there is no such file, nothing is measured.
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return };
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < LIMIT_KB, "{peak} kB");
}

/// A page of a list, as the server would give it.
fn answer(request: &Request<Body>) -> String {
    let query = request.uri().query().unwrap_or_default();
    let parameter = |name: &str| query.split('&').find_map(|part| part.strip_prefix(name));
    let limit: usize = parameter("limit=").and_then(|text| text.parse().ok()).unwrap();
    let start: usize = parameter("continue=").and_then(|text| text.parse().ok()).unwrap_or_default();
    let (count, item): (usize, fn(usize) -> Value) = match request.uri().path() {
        "/api/v1/pods" => (PODS, pod),
        "/api/v1/nodes" => (NODES, node),
        "/apis/karpenter.sh/v1/nodeclaims" => (NODES, claim),
        _ => (0, |_| Value::Null),
    };
    let end = count.min(start + limit);
    let next = if end < count { end.to_string() } else { String::new() };
    let items: Vec<Value> = (start..end).map(item).collect();
    json!({ "metadata": { "resourceVersion": "1", "continue": next }, "items": items }).to_string()
}

fn managed() -> Value {
    let fields: serde_json::Map<String, Value> =
        (0..40).map(|i| (format!("f:field{i}"), json!({}))).collect();
    json!([{ "manager": "kubelet", "operation": "Update", "fieldsV1": { "f:status": fields } }])
}

fn pod(index: usize) -> Value {
    let app = format!("app-{}", index % 150);
    let container = |name: &str| {
        let env: Vec<Value> = (0..15)
            .map(|i| json!({ "name": format!("VARIABLE_{i}"), "value": "a value of usual length" }))
            .collect();
        json!({
            "name": name,
            "image": format!("registry.example/{app}/{name}:1.2.3"),
            "env": env,
            "ports": [{ "containerPort": 8080, "name": "http", "protocol": "TCP" }],
            "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
            "volumeMounts": [{ "name": "config", "mountPath": "/etc/config" }],
            "livenessProbe": { "httpGet": { "path": "/healthz", "port": 8080 } },
        })
    };
    let state = |name: &str| {
        json!({
            "name": name, "image": "registry.example/image:1.2.3", "imageID": format!("registry.example/image@sha256:{index:064x}"),
            "containerID": format!("containerd://{index:064x}"), "ready": true, "restartCount": 0,
            "allocatedResources": { "cpu": "250m", "memory": "512Mi" },
            "resources": { "requests": { "cpu": "250m", "memory": "512Mi" }, "limits": { "memory": "1Gi" } },
        })
    };
    let selector = json!({ "matchLabels": { "app": app } });
    json!({
        "metadata": {
            "name": format!("{app}-5d9c7b8f6d-{index:05x}"),
            "namespace": "default",
            "uid": format!("{index:08x}-0000-4000-8000-000000000000"),
            "resourceVersion": "1",
            "creationTimestamp": "2026-06-01T11:00:00Z",
            "labels": { "app": app, "app.kubernetes.io/name": app, "pod-template-hash": "5d9c7b8f6d" },
            "annotations": { "checksum/config": "a".repeat(64) },
            "ownerReferences": [{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-5d9c7b8f6d"),
                "uid": "u", "controller": true }],
            "managedFields": managed(),
        },
        "spec": {
            "nodeName": node_name(index % NODES),
            "containers": [container("main"), container("proxy")],
            "volumes": [{ "name": "config", "configMap": { "name": app } }],
            "tolerations": [
                { "key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 },
                { "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300 },
            ],
            "topologySpreadConstraints": [{ "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector }],
            "affinity": { "podAntiAffinity": { "preferredDuringSchedulingIgnoredDuringExecution": [
                { "weight": 100, "podAffinityTerm": { "topologyKey": "kubernetes.io/hostname", "labelSelector": selector } }] } },
        },
        "status": {
            "phase": "Running",
            "startTime": "2026-06-01T11:00:00Z",
            "conditions": [{ "type": "PodScheduled", "status": "True" }, { "type": "Ready", "status": "True" }],
            "containerStatuses": [state("main"), state("proxy")],
        },
    })
}

fn node_name(index: usize) -> String {
    format!("ip-10-0-{}-{}.ec2.internal", index / 250, index % 250)
}

fn node(index: usize) -> Value {
    let name = node_name(index);
    let mut labels = json!({
        "karpenter.sh/nodepool": "default", "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
        "kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "topology.kubernetes.io/zone": "eu-west-1a",
        "node.kubernetes.io/instance-type": "m5.4xlarge",
    });
    for number in 0..20 {
        labels[format!("karpenter.k8s.aws/instance-fact-{number}")] = "value".into();
    }
    let images: Vec<Value> = (0..40)
        .map(|i| json!({ "names": [format!("registry.example/image-{i}@sha256:{i:064x}")], "sizeBytes": 1_000_000 }))
        .collect();
    json!({
        "metadata": { "name": name, "uid": format!("node-{index}"), "resourceVersion": "1", "labels": labels,
            "finalizers": ["karpenter.sh/termination"], "managedFields": managed() },
        "spec": { "providerID": format!("aws:///eu-west-1a/i-{index:017x}") },
        "status": {
            "capacity": { "cpu": "16", "memory": "64Gi", "pods": "110", "ephemeral-storage": "100Gi" },
            "allocatable": { "cpu": "15", "memory": "60Gi", "pods": "110", "ephemeral-storage": "90Gi" },
            "conditions": [{ "type": "Ready", "status": "True", "lastHeartbeatTime": "2026-06-01T11:00:00Z" }],
            "images": images,
        },
    })
}

fn claim(index: usize) -> Value {
    let types: Vec<String> = (0..400).map(|i| format!("m{}i{}.{}xlarge", i % 9, i % 7, i)).collect();
    let conditions = ["Launched", "Registered", "Initialized", "Ready"].map(|kind| {
        json!({ "type": kind, "status": "True", "reason": kind, "message": "", "lastTransitionTime": "2026-06-01T11:00:00Z" })
    });
    json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": { "name": format!("default-{index:05x}"), "uid": format!("claim-{index}"), "resourceVersion": "1",
            "labels": { "karpenter.sh/nodepool": "default" }, "finalizers": ["karpenter.sh/termination"],
            "managedFields": managed() },
        "spec": {
            "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
            "expireAfter": "720h",
            "requirements": [{ "key": "node.kubernetes.io/instance-type", "operator": "In", "values": types }],
        },
        "status": {
            "providerID": format!("aws:///eu-west-1a/i-{index:017x}"),
            "nodeName": node_name(index),
            "conditions": conditions,
        },
    })
}
