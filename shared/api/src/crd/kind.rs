//! The kinds and their names.

use std::fmt;

/// A kind that users or controllers write.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
pub enum Kind {
    /// `karpenter.k8s.aws/v1` EC2NodeClass.
    Ec2NodeClass,
    /// `karpenter.sh/v1` NodeClaim.
    NodeClaim,
    /// `karpenter.sh/v1` NodePool.
    NodePool,
}

impl Kind {
    /// All kinds, in the order of their names.
    pub const ALL: [Kind; 3] = [Kind::Ec2NodeClass, Kind::NodeClaim, Kind::NodePool];

    /// The kind of an object by what it says of itself, if it is one of ours.
    pub fn of(api_version: &str, kind: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|k| k.api_version() == api_version && k.name() == kind)
    }

    /// The kind's name, as in `kind:`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Ec2NodeClass => "EC2NodeClass",
            Kind::NodeClaim => "NodeClaim",
            Kind::NodePool => "NodePool",
        }
    }

    /// Its API group.
    pub fn group(self) -> &'static str {
        match self {
            Kind::Ec2NodeClass => "karpenter.k8s.aws",
            Kind::NodeClaim | Kind::NodePool => "karpenter.sh",
        }
    }

    /// Its group and version, as in `apiVersion:`.
    pub fn api_version(self) -> &'static str {
        match self {
            Kind::Ec2NodeClass => "karpenter.k8s.aws/v1",
            Kind::NodeClaim | Kind::NodePool => "karpenter.sh/v1",
        }
    }

    /// Its name in URLs.
    pub fn plural(self) -> &'static str {
        match self {
            Kind::Ec2NodeClass => "ec2nodeclasses",
            Kind::NodeClaim => "nodeclaims",
            Kind::NodePool => "nodepools",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
