//! The user data of a machine: how it learns which cluster to join, and as what.
//!
//! Text in, text out: nothing is asked of AWS. What users wrote is kept, and ours stands after it, so that it wins.

mod al2;
mod al2023;
mod bottlerocket;
mod error;
mod kubelet;
mod mime;
mod settings;
mod windows;

use std::collections::BTreeMap;
use std::net::IpAddr;

use catalog::class::{AmiFamily, InstanceStorePolicy};
use model::{Note, Taint, TaintEffect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use bottlerocket::version_of_image;
pub use error::UserDataError;

/// What EC2 takes, before it is encoded for the API.
pub const MAX_BYTES: usize = 16_384;

/// What is looked at of what users wrote, which may lose comments on its way and so be longer than what EC2 takes.
const MAX_READ: usize = 4 * MAX_BYTES;

/// All that a machine is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Bootstrap {
    /// Which family of images it boots, and so which form the text has.
    pub family: AmiFamily,
    /// The cluster to join.
    pub cluster: EksCluster,
    /// The labels of the NodeClaim, its capacity type among them. Those that a kubelet may not give itself are
    /// left out; `karpenter.sh/do-not-sync-taints` is put in.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The taints of the NodeClaim. `karpenter.sh/unregistered` is put in.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Its startup taints.
    #[serde(default)]
    pub startup_taints: Vec<Taint>,
    /// `spec.kubelet` of the EC2NodeClass, with expressions already evaluated.
    #[serde(default)]
    pub kubelet: Map<String, Value>,
    /// How many pods the machine may run; it stands above `maxPods` of the kubelet's fields.
    pub max_pods: u32,
    /// `spec.instanceStorePolicy`.
    #[serde(default)]
    pub instance_store_policy: Option<InstanceStorePolicy>,
    /// The version of the image, of which Bottlerocket's commands depend: `latest`, `1.46.0` or `v1.46.0`.
    #[serde(default)]
    pub image_version: Option<String>,
    /// `spec.userData`.
    #[serde(default)]
    pub user_data: Option<String>,
}

/// How a cluster is reached, as `eks:DescribeCluster` tells it.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EksCluster {
    /// Its name.
    pub name: String,
    /// The URL of its API server.
    pub endpoint: String,
    /// The certificate of its authority, in base64.
    pub certificate_authority: String,
    /// The range of its services' addresses. AL2023 can't do without.
    #[serde(default)]
    pub service_cidr: Option<String>,
    /// The address of its DNS service, where it is known.
    #[serde(default)]
    pub dns: Option<IpAddr>,
    /// What its pods have addresses of.
    #[serde(default)]
    pub ip_family: IpFamily,
}

/// What addresses of a cluster are.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpFamily {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// User data, ready to be encoded.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct UserData {
    /// What the machine reads.
    pub text: String,
    /// What whoever wrote `spec.userData` should know.
    pub notes: Vec<Note>,
}

impl Bootstrap {
    /// The user data of the machine.
    pub fn user_data(&self) -> Result<UserData, UserDataError> {
        if let Some(bytes) = self.user_data.as_ref().map(String::len).filter(|bytes| *bytes > MAX_READ) {
            return Err(UserDataError::TooLong { bytes });
        }
        let data = match self.family {
            AmiFamily::Al2 => al2::render(self)?,
            AmiFamily::Al2023 => al2023::render(self)?,
            AmiFamily::Bottlerocket => bottlerocket::render(self)?,
            AmiFamily::Windows2019 | AmiFamily::Windows2022 | AmiFamily::Windows2025 => {
                windows::render(self)?
            }
            AmiFamily::Custom => UserData { text: self.user_data.clone().unwrap_or_default(), notes: vec![] },
        };
        match data.text.len() {
            bytes if bytes > MAX_BYTES => Err(UserDataError::TooLong { bytes }),
            _ => Ok(data),
        }
    }

    /// What users wrote, unless it is nothing.
    fn own(&self) -> Option<&str> {
        let text = self.user_data.as_deref()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() { None } else { Some(text) }
    }

    /// The labels that the kubelet gives its node.
    fn node_labels(&self) -> Result<BTreeMap<&str, &str>, UserDataError> {
        let labels = self.labels.iter().filter(|(key, _)| !is_withheld(key));
        let mut labels: BTreeMap<&str, &str> =
            labels.map(|(key, value)| (key.as_str(), value.as_str())).collect();
        labels.insert("karpenter.sh/do-not-sync-taints", "true");
        let bad = labels.iter().find(|(key, value)| !is_key(key) || !is_value(value));
        match bad {
            Some((key, value)) => {
                Err(UserDataError::Label { key: (*key).to_owned(), value: (*value).to_owned() })
            }
            None => Ok(labels),
        }
    }

    /// The taints that the node is registered with, each once.
    fn node_taints(&self) -> Result<Vec<Taint>, UserDataError> {
        let unregistered = Taint {
            key: "karpenter.sh/unregistered".to_owned(),
            value: String::new(),
            effect: TaintEffect::NoExecute,
        };
        let mut taints: Vec<Taint> = Vec::new();
        for taint in self.taints.iter().chain(&self.startup_taints).chain([&unregistered]) {
            if !is_key(&taint.key) || !is_value(&taint.value) {
                return Err(UserDataError::Taint { taint: taint.to_string() });
            }
            if !taints.iter().any(|other| other.matches(taint)) {
                taints.push(taint.clone());
            }
        }
        Ok(taints)
    }
}

impl EksCluster {
    /// Refuses what no cluster has: the texts end up in scripts.
    fn check(&self) -> Result<(), UserDataError> {
        let fault = |field, found: &str| Err(UserDataError::Cluster { field, found: found.to_owned() });
        let word = |text: &str, also: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || also.contains(c))
        };
        let host = self.endpoint.strip_prefix("https://").or_else(|| self.endpoint.strip_prefix("http://"));
        if !word(&self.name, "-_") {
            return fault("name", &self.name);
        }
        if !host.is_some_and(|host| word(host, ".-:[]/")) {
            return fault("endpoint", &self.endpoint);
        }
        if !word(&self.certificate_authority, "+/=") {
            return fault("certificateAuthority", &self.certificate_authority);
        }
        match self.service_cidr.as_deref() {
            Some(cidr) if !is_cidr(cidr) => fault("serviceCidr", cidr),
            _ => Ok(()),
        }
    }
}

/// An address, a slash, a length that its kind of address can have.
fn is_cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// Whether the node gets the label from us through the API server, because a kubelet may not set it.
fn is_withheld(key: &str) -> bool {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    ["kubernetes.io", "k8s.io"]
        .into_iter()
        .any(|own| domain.strip_suffix(own).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}

/// Whether it has none but the characters of label keys. Not the whole rule: enough to stand in any format.
fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c))
}

/// Whether it has none but the characters of label values.
fn is_value(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// A note about `spec.userData`.
fn note(message: String) -> Note {
    Note { place: "spec.userData".to_owned(), message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_kubernetes_domains_are_withheld() {
        for (key, withheld) in [
            ("kubernetes.io/arch", true),
            ("topology.kubernetes.io/zone", true),
            ("topology.k8s.aws/zone-id", false),
            ("kops.k8s.io/x", true),
            ("node-restriction.kubernetes.io/x", true),
            ("notkubernetes.io/x", false),
            ("kubernetes.io", false),
            ("karpenter.sh/nodepool", false),
            ("team", false),
        ] {
            assert_eq!(is_withheld(key), withheld, "{key}");
        }
    }

    #[test]
    fn cidrs() {
        for (text, good) in [
            ("10.100.0.0/16", true),
            ("fd00::/108", true),
            ("10.0.0.0", false),
            ("10.0.0.0/33", false),
            ("::/129", false),
            ("'/16", false),
            ("", false),
        ] {
            assert_eq!(is_cidr(text), good, "{text}");
        }
    }
}
