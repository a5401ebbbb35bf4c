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
/// Whether the reservation may be taken back.
pub const RESERVATION_INTERRUPTIBLE: &str = "karpenter.k8s.aws/capacity-reservation-interruptible";
/// A price rule: bounds on what one node may cost, in millionths of a dollar once lowered.
pub const USD_PER_HOUR: &str = "journeyman.dev/usd-per-hour";
/// On a pod `true` or a duration, on a node `true`: not to be disrupted.
pub const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

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
    "karpenter.k8s.aws/instance-tenancy",
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
