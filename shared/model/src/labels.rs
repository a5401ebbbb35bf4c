//! The label keys the system knows, and what it makes of them.

/// The pool a node belongs to.
pub const NODEPOOL: &str = "karpenter.sh/nodepool";
/// `on-demand`, `spot` or `reserved`.
pub const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
/// `true` once a node has registered.
pub const REGISTERED: &str = "karpenter.sh/registered";
/// `true` once a node is initialized.
pub const INITIALIZED: &str = "karpenter.sh/initialized";
/// The EC2NodeClass a node was made from.
pub const EC2_NODE_CLASS: &str = "karpenter.k8s.aws/ec2nodeclass";
/// The EC2 instance type.
pub const INSTANCE_TYPE: &str = "node.kubernetes.io/instance-type";
/// The availability zone's name.
pub const ZONE: &str = "topology.kubernetes.io/zone";
/// The availability zone's account-independent id.
pub const ZONE_ID: &str = "topology.k8s.aws/zone-id";
/// The AWS Region.
pub const REGION: &str = "topology.kubernetes.io/region";
/// `amd64` or `arm64`.
pub const ARCH: &str = "kubernetes.io/arch";
/// `linux` or `windows`.
pub const OS: &str = "kubernetes.io/os";
/// The Windows build a node runs.
pub const WINDOWS_BUILD: &str = "node.kubernetes.io/windows-build";
/// One value a node.
pub const HOSTNAME: &str = "kubernetes.io/hostname";
/// The capacity reservation an offering draws on.
pub const RESERVATION_ID: &str = "karpenter.k8s.aws/capacity-reservation-id";
/// `default` or `capacity-block`.
pub const RESERVATION_TYPE: &str = "karpenter.k8s.aws/capacity-reservation-type";
/// The placement group a node was launched into.
pub const PLACEMENT_GROUP_ID: &str = "karpenter.k8s.aws/placement-group-id";
/// Whether the reservation may be taken back.
pub const RESERVATION_INTERRUPTIBLE: &str = "karpenter.k8s.aws/capacity-reservation-interruptible";
/// A price rule: bounds on what one node may cost, in millionths of a dollar once lowered.
pub const USD_PER_HOUR: &str = "journeyman.dev/usd-per-hour";
/// On a pod `true` or a duration, on a node `true`: not to be disrupted.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

/// `default` or `dedicated`.
pub const TENANCY: &str = "karpenter.k8s.aws/instance-tenancy";
/// On a node `true`: taints of its NodeClaim are not written to it.
pub const DO_NOT_SYNC_TAINTS: &str = "karpenter.sh/do-not-sync-taints";
/// Keeps load balancers from sending a node anything new.
pub const EXCLUDE_FROM_LOAD_BALANCERS: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// Annotation: when a drain is to be over, whatever pods say.
pub const TERMINATION_TIMESTAMP: &str = "karpenter.sh/nodeclaim-termination-timestamp";
/// Annotation: `true` if `minValues` were relaxed for a NodeClaim.
pub const MIN_VALUES_RELAXED: &str = "karpenter.sh/nodeclaim-min-values-relaxed";
/// Annotation: NodeClaims with the same value are launched by one request.
pub const LAUNCH_GROUP: &str = "journeyman.dev/launch-group";
/// Annotation: how many launches of the group have come to nothing.
pub const LAUNCH_ATTEMPT: &str = "journeyman.dev/launch-attempt";
/// Annotation of a pool: how its last registrations came out.
pub const REGISTRATIONS: &str = "journeyman.dev/registrations";
/// Annotation of a pool: how many launches have come to nothing since the last success, and what follows.
pub const LAUNCHES: &str = "journeyman.dev/launches";
/// Annotation of a pool: after so many failures in a row its launches are held, or `off`.
pub const LAUNCH_BREAKER: &str = "journeyman.dev/launch-breaker";
/// Annotation of a pool: how many types must be cheaper before one Spot node replaces another.
pub const SPOT_FLEXIBILITY: &str = "journeyman.dev/spot-flexibility";
/// Annotation of a pool: how long a node with a new image is to do well before others are replaced for it.
pub const CANARY_SOAK: &str = "journeyman.dev/canary-soak";
/// Annotation: since when a NodeClaim's Node is counted as one that does not become ready for work.
pub const OVERDUE: &str = "journeyman.dev/initialization-overdue";
/// Annotation: the pods that a NodeClaim was planned for, as namespace/name by comma.
pub const PLANNED_PODS: &str = "journeyman.dev/planned-pods";
/// Annotation: when the cloud takes the machine away.
pub const INTERRUPTION_DEADLINE: &str = "journeyman.dev/interruption-deadline";
/// Annotation: the NodeClaims that replace this one, by comma.
pub const REPLACED_BY: &str = "journeyman.dev/replaced-by";
/// Annotation: since when a NodeClaim is to go.
pub const DISRUPTED_SINCE: &str = "journeyman.dev/disrupted-since";
/// Annotation of a class: how many machines its capacity reservations still hold, as JSON.
pub const CAPACITY_RESERVATIONS: &str = "journeyman.dev/capacity-reservations";
/// Annotation of a class: the placement group that its selector found, as JSON.
pub const PLACEMENT_GROUP: &str = "journeyman.dev/placement-group";
/// Annotation: the subnet of a NodeClaim's machine.
pub const SUBNET: &str = "journeyman.dev/subnet";
/// Annotation: the security groups of a NodeClaim's machine, in order, by comma.
pub const SECURITY_GROUPS: &str = "journeyman.dev/security-groups";
/// Annotation of a pool's template: the age at which its nodes go whatever budgets and pods say.
pub const EXPIRE_AT_LATEST_AFTER: &str = "journeyman.dev/expire-at-latest-after";
/// Annotation: the hash of what a NodeClaim was made from, or a pool's.
pub const NODEPOOL_HASH: &str = "karpenter.sh/nodepool-hash";
/// Annotation: how that hash was made.
pub const NODEPOOL_HASH_VERSION: &str = "karpenter.sh/nodepool-hash-version";
/// Annotation: the hash of the class a NodeClaim was made from.
pub const NODECLASS_HASH: &str = "karpenter.k8s.aws/ec2nodeclass-hash";
/// Annotation: how that hash was made.
pub const NODECLASS_HASH_VERSION: &str = "karpenter.k8s.aws/ec2nodeclass-hash-version";
/// How hashes are made here. Karpenter's are made otherwise and never compared with ours; whatever changes them needs
/// another version, or all nodes drift.
pub const HASH_VERSION: &str = "journeyman-1";
/// Annotation of a pod: how much its controller would miss it.
pub const POD_DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
/// Annotation of a pod: `true` if its successor is to be Ready before it leaves a node that goes.
pub const SURGE: &str = "journeyman.dev/surge";
/// Annotation of a pod template, and of pods made from it: when its rollout was last restarted.
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Label of a Deployment's pods: which of its ReplicaSets they are of.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// Annotation of a pool: what becomes of nodes whose Spot capacity is at risk.
pub const REBALANCE: &str = "journeyman.dev/rebalance";
/// Annotation: the machine carries its names as tags.
pub const TAGGED: &str = "karpenter.k8s.aws/tagged";
/// Annotation: the machine carries the cluster's name as a tag.
pub const CLUSTER_NAME_TAGGED: &str = "compatibility.karpenter.k8s.aws/cluster-name-tagged";
/// Taint of a node that is to go: no value, `NoSchedule`.
pub const DISRUPTED: &str = "karpenter.sh/disrupted";
/// Taint of a node that has not registered: no value, `NoExecute`.
pub const UNREGISTERED: &str = "karpenter.sh/unregistered";
/// Finalizer of NodeClaims and Nodes.
pub const FINALIZER: &str = "karpenter.sh/termination";
/// Finalizer of EC2NodeClasses.
pub const CLASS_FINALIZER: &str = "karpenter.k8s.aws/termination";
/// Tag of a machine: its NodeClaim.
pub const NODECLAIM: &str = "karpenter.sh/nodeclaim";

/// Label keys under `karpenter.k8s.aws/` that describe an instance type.
pub const INSTANCE: [&str; 26] = [
    "karpenter.k8s.aws/instance-cpu",
    "karpenter.k8s.aws/instance-cpu-manufacturer",
    "karpenter.k8s.aws/instance-cpu-sustained-clock-speed-mhz",
    "karpenter.k8s.aws/instance-memory",
    "karpenter.k8s.aws/instance-ebs-bandwidth",
    "karpenter.k8s.aws/instance-network-bandwidth",
    "karpenter.k8s.aws/instance-category",
    "karpenter.k8s.aws/instance-generation",
    "karpenter.k8s.aws/instance-family",
    "karpenter.k8s.aws/instance-size",
    "karpenter.k8s.aws/instance-capability-flex",
    "karpenter.k8s.aws/instance-local-nvme",
    "karpenter.k8s.aws/instance-gpu-name",
    "karpenter.k8s.aws/instance-gpu-manufacturer",
    "karpenter.k8s.aws/instance-gpu-count",
    "karpenter.k8s.aws/instance-gpu-memory",
    "karpenter.k8s.aws/instance-accelerator-name",
    "karpenter.k8s.aws/instance-accelerator-manufacturer",
    "karpenter.k8s.aws/instance-accelerator-count",
    "karpenter.k8s.aws/instance-hypervisor",
    "karpenter.k8s.aws/instance-encryption-in-transit-supported",
    TENANCY,
    "karpenter.k8s.aws/nitro-sandbox",
    "karpenter.k8s.aws/placement-group-id",
    "karpenter.k8s.aws/placement-group-partition",
    RESERVATION_ID,
];

const KUBERNETES: [&str; 9] =
    [NODEPOOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD, ZONE_ID];

/// Whether a node that doesn't exist yet may be asked for `key` though nobody has set it: its value comes
/// from the instance type or the offering.
pub fn is_well_known(key: &str) -> bool {
    KUBERNETES.contains(&key)
        || INSTANCE.contains(&key)
        || matches!(key, RESERVATION_TYPE | RESERVATION_INTERRUPTIBLE | USD_PER_HOUR)
}

/// Whether users may not set `key`: it is ours to write.
pub fn is_restricted(key: &str) -> bool {
    if is_well_known(key) {
        return false;
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let within =
        |parent: &str| domain.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    key == HOSTNAME || within("karpenter.sh") || within("karpenter.k8s.aws")
}

/// Today's name of an older label key.
pub fn normalise(key: &str) -> &str {
    match key {
        "failure-domain.beta.kubernetes.io/zone" | "topology.ebs.csi.aws.com/zone" => ZONE,
        "failure-domain.beta.kubernetes.io/region" => REGION,
        "beta.kubernetes.io/arch" => ARCH,
        "beta.kubernetes.io/os" => OS,
        "beta.kubernetes.io/instance-type" => INSTANCE_TYPE,
        _ => key,
    }
}
