//! Writes what `kubectl get -o json` would of a large cluster: `cargo run --release -p tests --example dump FOLDER [NODES [PODS]]`.
//! A tenth of the pods are pending. For `journeyman plan FOLDER`, to see how long it takes and how much memory.
#![expect(clippy::expect_used, reason = "without a folder to write to there is nothing to do")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// Pods a file, so that each file stays well below what is read.
const PODS_A_FILE: usize = 10_000;

/// Replicas of one Deployment.
const REPLICAS: usize = 200;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().expect("a folder to write to");
    let mut number = |else_: usize| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(else_);
    let (nodes, pods) = (number(5_000), number(50_000));
    let folder = Path::new(&folder);
    fs::create_dir_all(folder).expect("the folder can be made");
    let write = |name: String, items: Vec<Value>| {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        fs::write(folder.join(name), list.to_string()).expect("the file can be written");
    };
    write("pools.json".to_owned(), vec![node_class(), pool()]);
    write("nodes.json".to_owned(), (0..nodes).map(node).collect());
    for start in (0..pods).step_by(PODS_A_FILE) {
        let items = (start..pods.min(start + PODS_A_FILE)).map(|index| pod(index, nodes)).collect();
        write(format!("pods-{}.json", start / PODS_A_FILE), items);
    }
}

fn node_class() -> Value {
    json!({
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
        "spec": {
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "role": "nodes",
            "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "large"}}],
            "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "large"}}],
        },
    })
}

fn pool() -> Value {
    json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"},
        "spec": {"template": {"spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
            "requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
            ],
        }}},
    })
}

fn zone(index: usize) -> &'static str {
    ["us-east-1a", "us-east-1b", "us-east-1c"][index % 3]
}

fn node(index: usize) -> Value {
    let name = format!("ip-10-{}-{}-{}.ec2.internal", index / 65_536, index / 256 % 256, index % 256);
    let resources = |cpu: &str, memory: &str| json!({"cpu": cpu, "memory": memory, "pods": "58", "ephemeral-storage": "18242267924"});
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name,
            "uid": format!("00000000-0000-4000-9000-{index:012}"),
            "creationTimestamp": "2026-11-01T00:00:00Z",
            "labels": {
                "beta.kubernetes.io/arch": "amd64",
                "karpenter.k8s.aws/instance-category": "m",
                "karpenter.k8s.aws/instance-cpu": "8",
                "karpenter.k8s.aws/instance-family": "m5",
                "karpenter.k8s.aws/instance-generation": "5",
                "karpenter.k8s.aws/instance-memory": "32768",
                "karpenter.k8s.aws/instance-size": "2xlarge",
                "karpenter.sh/capacity-type": "on-demand",
                "karpenter.sh/initialized": "true",
                "karpenter.sh/nodepool": "default",
                "karpenter.sh/registered": "true",
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "node.kubernetes.io/instance-type": "m5.2xlarge",
                "topology.kubernetes.io/region": "us-east-1",
                "topology.kubernetes.io/zone": zone(index),
            },
        },
        "spec": {"providerID": format!("aws:///{}/i-{index:017x}", zone(index))},
        "status": {
            "allocatable": resources("7910m", "31482008Ki"),
            "capacity": resources("8", "32408704Ki"),
            "conditions": [
                {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"},
                {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
                {"type": "DiskPressure", "status": "False", "reason": "KubeletHasNoDiskPressure"},
            ],
            "nodeInfo": {"kubeletVersion": "v1.35.0", "osImage": "Amazon Linux 2023", "architecture": "amd64"},
        },
    })
}

fn pod(index: usize, nodes: usize) -> Value {
    let (set, pending) = (index / REPLICAS, index % 10 == 9);
    let app = format!("app-{set}");
    let spread = json!([{
        "maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }]);
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("{app}-5d4f8c7b9d-{index:05}"),
            "namespace": format!("team-{}", set % 20),
            "uid": format!("00000000-0000-4000-8000-{index:012}"),
            "creationTimestamp": "2026-12-01T00:00:00Z",
            "labels": {"app": app, "pod-template-hash": "5d4f8c7b9d"},
            "ownerReferences": [{
                "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": format!("{app}-5d4f8c7b9d"),
                "uid": format!("00000000-0000-4000-a000-{set:012}"), "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": [{
                "name": "app",
                "image": format!("example.com/{app}:1.0"),
                "env": [{"name": "LEVEL", "value": "info"}, {"name": "PORT", "value": "8080"}],
                "ports": [{"containerPort": 8080, "protocol": "TCP"}],
                "resources": {"requests": {
                    "cpu": format!("{}m", 100 + set % 8 * 50), "memory": format!("{}Mi", 128 << (set % 4)),
                }},
                "volumeMounts": [{
                    "name": "kube-api-access", "readOnly": true,
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                }],
            }],
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "serviceAccountName": "default",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
        },
    });
    if set % 3 == 0 {
        pod["spec"]["topologySpreadConstraints"] = spread;
    }
    if pending {
        pod["status"] = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
        ]});
    } else {
        let home = index % nodes.max(1);
        let name = format!("ip-10-{}-{}-{}.ec2.internal", home / 65_536, home / 256 % 256, home % 256);
        pod["spec"]["nodeName"] = json!(name);
        pod["status"] = json!({"phase": "Running", "podIP": "10.0.0.1", "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True"},
        ]});
    }
    pod
}
