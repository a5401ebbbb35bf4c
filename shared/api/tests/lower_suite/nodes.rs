//! Nodes and NodeClaims, merged.

use model::Node;

use super::kit::lowered;

const CLAIM: &str = "
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: default-x, labels: {karpenter.sh/nodepool: default, topology.kubernetes.io/zone: a}, creationTimestamp: '2026-01-01T00:00:00Z'}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]
  resources: {requests: {cpu: 1500m}}
  taints: [{key: team, value: a, effect: NoSchedule}]
  startupTaints: [{key: starting, effect: NoExecute}]
";
const LAUNCHED: &str = "status: {providerID: 'aws:///a/i-1', capacity: {cpu: 4, nvidia.com/gpu: 1}, allocatable: {cpu: 3900m, nvidia.com/gpu: 1}}\n";

fn node(labels: &str, spec: &str, rest: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata: {{name: ip-1, uid: u, labels: {{{labels}}}{rest}}}\nspec: {{{spec}}}\nstatus: {{capacity: {{cpu: 8, nvidia.com/gpu: 0}}, allocatable: {{cpu: 7900m, nvidia.com/gpu: 0}}}}\n"
    )
}

fn only(text: &str) -> Node {
    let nodes = lowered(text).cluster.nodes;
    assert_eq!(nodes.len(), 1, "{text}");
    nodes.into_iter().next().expect("one")
}

fn taints(node: &Node) -> Vec<String> {
    node.taints.iter().map(ToString::to_string).collect()
}

#[test]
fn a_claim_without_a_node_is_what_it_asks_for() {
    let unlaunched = only(CLAIM);
    assert_eq!(unlaunched.name, "default-x");
    assert!(!unlaunched.registered && !unlaunched.has_node && unlaunched.provider_id.is_none());
    assert_eq!(unlaunched.allocatable.to_string(), "cpu 1500m");
    assert_eq!(unlaunched.labels.get("kubernetes.io/arch").map(String::as_str), Some("arm64"));
    assert_eq!(unlaunched.labels.get("karpenter.k8s.aws/ec2nodeclass").map(String::as_str), Some("default"));
    assert_eq!(taints(&unlaunched), ["team=a:NoSchedule"]);
    let launched = only(&format!("{CLAIM}{LAUNCHED}"));
    assert_eq!(launched.allocatable.to_string(), "cpu 3900m, nvidia.com/gpu 1");
}

#[test]
fn core_exist_05_06_a_node_grows_into_its_own() {
    let all = "taints: [{key: node.kubernetes.io/not-ready, effect: NoSchedule}, {key: starting, effect: NoExecute}, {key: readiness.k8s.io/x, effect: NoSchedule}, {key: other, effect: NoSchedule}], providerID: 'aws:///a/i-1'";
    let with = |labels: &str| only(&format!("{CLAIM}{LAUNCHED}{}", node(labels, all, "")));
    let joining = with("a: b");
    assert_eq!(
        (joining.name.as_str(), joining.registered, joining.initialized, joining.has_node),
        ("default-x", false, false, true)
    );
    assert_eq!(taints(&joining), ["team=a:NoSchedule"]);
    assert!(joining.labels.contains_key("topology.kubernetes.io/zone"));
    let registered = with("karpenter.sh/registered: 'true'");
    assert_eq!(
        (registered.name.as_str(), registered.registered, registered.initialized),
        ("ip-1", true, false)
    );
    assert_eq!(taints(&registered), ["other:NoSchedule"]);
    assert_eq!(
        registered.allocatable.to_string(),
        "cpu 7900m, nvidia.com/gpu 1",
        "zero is filled from the claim"
    );
    let initialized = with("karpenter.sh/registered: 'true', karpenter.sh/initialized: 'true'");
    assert_eq!(taints(&initialized).len(), 4, "now all taints are real");
    assert_eq!(initialized.allocatable.to_string(), "cpu 7900m", "now zero is zero");
    assert_eq!(initialized.claim.as_deref(), Some("default-x"));
}

#[test]
fn core_exist_02_nodes_that_are_not_ours_count_as_ready() {
    let theirs = only(&node("a: b", "", ""));
    assert!(theirs.registered && theirs.initialized && theirs.claim.is_none());
    let cordoned = only(&node("a: b", "unschedulable: true", ""));
    assert_eq!(taints(&cordoned), ["node.kubernetes.io/unschedulable:NoSchedule"]);
}

#[test]
fn nodes_of_a_pool_that_are_still_being_set_up_are_not_counted() {
    let pool = "karpenter.sh/nodepool: default";
    #[rustfmt::skip]
    let table = [
        (node(pool, "", ""), 0),
        (node(pool, "providerID: 'aws:///a/i-1'", ""), 0),
        (node(&format!("{pool}, node.kubernetes.io/instance-type: m5.large"), "providerID: 'aws:///a/i-1'", ""), 1),
        (node(&format!("{pool}, karpenter.sh/initialized: 'true'"), "providerID: 'aws:///a/i-1'", ""), 1),
        (node(pool, "", "").replace(", uid: u", ""), 1),
    ];
    for (text, count) in table {
        let read = lowered(&text);
        assert_eq!(read.cluster.nodes.len(), count, "{text}");
        assert_eq!(read.notes.is_empty(), count == 1, "{text}");
    }
}

#[test]
fn core_exist_04_what_is_going_away_is_marked() {
    let gone = ", deletionTimestamp: '2026-01-02T00:00:00Z'";
    assert!(only(&node("a: b", "", gone)).deleting);
    assert!(only(&CLAIM.replace(", creationTimestamp", &format!("{gone}, creationTimestamp"))).deleting);
    let terminating = "status: {providerID: 'aws:///a/i-1', conditions: [{type: InstanceTerminating, status: 'True', reason: r, message: '', lastTransitionTime: '2026-01-02T00:00:00Z'}]}\n";
    assert!(only(&format!("{CLAIM}{terminating}")).deleting);
    assert!(!only(&format!("{CLAIM}{LAUNCHED}")).deleting);
}

#[test]
fn protection_limits_and_times_are_read() {
    for (value, protected) in [("'true'", true), ("1h", false), ("'false'", false)] {
        let text = node("a: b", "", &format!(", annotations: {{karpenter.sh/do-not-disrupt: {value}}}"));
        assert_eq!(only(&text).do_not_disrupt, protected, "{value}");
    }
    let csi = "---\napiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: ip-1}\nspec: {drivers: [{name: d, nodeID: i, allocatable: {count: 25}}, {name: e, nodeID: i, allocatable: {}}, {name: f, nodeID: i}]}\n";
    let limited = only(&format!("{}{csi}", node("a: b", "", "")));
    assert_eq!(limited.volume_limits.into_iter().collect::<Vec<_>>(), [("d".to_owned(), 25)]);
    let event = LAUNCHED.replace("status: {", "status: {lastPodEventTime: '2026-01-03T00:00:00Z', ");
    assert_eq!(
        only(&format!("{CLAIM}{event}")).last_pod_event.map(|time| time.to_string()).as_deref(),
        Some("2026-01-03T00:00:00Z")
    );
}

#[test]
fn pods_on_nodes_that_were_not_given_are_noted() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: elsewhere, containers: []}\n";
    assert!(lowered(pod).notes.iter().any(|note| note.place == "Node elsewhere"));
}

#[test]
fn pods_tell_when_one_last_came_or_went() {
    let pod = |name: &str, meta: &str, status: &str| {
        format!(
            "---\napiVersion: v1\nkind: Pod\nmetadata: {{name: {name}{meta}}}\nspec: {{nodeName: ip-1, containers: []}}\nstatus: {{{status}}}\n"
        )
    };
    let came = |hour: u32| {
        format!(
            "phase: Running, conditions: [{{type: PodScheduled, status: 'True', lastTransitionTime: '2026-01-05T{hour:02}:00:00Z'}}]"
        )
    };
    let ended = "phase: Succeeded, startTime: '2026-01-05T01:00:00Z', conditions: [{type: Ready, status: 'False', lastTransitionTime: '2026-01-05T07:00:00Z'}]";
    let daemon = ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: u}]";
    let leaving = ", deletionTimestamp: '2026-01-05T09:00:30Z', deletionGracePeriodSeconds: 30";
    let joined = node("karpenter.sh/registered: 'true'", "providerID: 'aws:///a/i-1'", "");
    let running = format!("{CLAIM}{LAUNCHED}{joined}");
    for (what, pods, expected) in [
        ("none", String::new(), None),
        ("one came", pod("a", "", &came(3)), Some("2026-01-05T03:00:00Z")),
        ("the last of two", pod("a", "", &came(3)) + &pod("b", "", &came(4)), Some("2026-01-05T04:00:00Z")),
        ("one ended", pod("a", "", ended), Some("2026-01-05T07:00:00Z")),
        ("one is leaving", pod("a", leaving, &came(3)), Some("2026-01-05T09:00:00Z")),
        ("a DaemonSet's", pod("a", daemon, &came(3)), None),
    ] {
        let nodes = lowered(&format!("{running}{pods}")).cluster.nodes;
        let told = nodes[0].last_pod_event.map(|event| event.to_string());
        assert_eq!((nodes.len(), told.as_deref()), (1, expected), "{what}");
    }
}
