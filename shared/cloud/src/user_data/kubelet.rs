//! The kubelet's fields that families other than AL2023 know, and its command line.

use std::collections::BTreeMap;
use std::net::IpAddr;

use model::Taint;
use serde_json::{Map, Value};

use super::{Bootstrap, UserDataError};

/// Fields that every family knows.
const MANAGED: [&str; 12] = [
    "clusterDNS",
    "cpuCFSQuota",
    "evictionHard",
    "evictionMaxPodGracePeriod",
    "evictionSoft",
    "evictionSoftGracePeriod",
    "imageGCHighThresholdPercent",
    "imageGCLowThresholdPercent",
    "kubeReserved",
    "maxPods",
    "podsPerCore",
    "systemReserved",
];

/// The fields, of the right types.
#[derive(Clone, Debug, Default)]
pub(super) struct Kubelet {
    pub(super) cluster_dns: Vec<IpAddr>,
    pub(super) pods_per_core: Option<i64>,
    pub(super) system_reserved: Option<BTreeMap<String, String>>,
    pub(super) kube_reserved: Option<BTreeMap<String, String>>,
    pub(super) eviction_hard: Option<BTreeMap<String, String>>,
    pub(super) eviction_soft: Option<BTreeMap<String, String>>,
    pub(super) eviction_soft_grace_period: Option<BTreeMap<String, String>>,
    pub(super) eviction_max_pod_grace_period: Option<i64>,
    pub(super) image_gc_high_threshold_percent: Option<i64>,
    pub(super) image_gc_low_threshold_percent: Option<i64>,
    pub(super) cpu_cfs_quota: Option<bool>,
}

/// A field that is a mapping of texts.
pub(super) struct Texts<'a> {
    /// Its name in KubeletConfiguration.
    pub(super) field: &'static str,
    /// Its name on the command line, and in Bottlerocket's settings.
    pub(super) option: &'static str,
    pub(super) entries: Option<&'a BTreeMap<String, String>>,
}

impl Kubelet {
    /// Reads what is given; `maxPods` is the machine's own and not looked at.
    pub(super) fn read(fields: &Map<String, Value>) -> Result<Self, UserDataError> {
        let fields = Fields(fields);
        Ok(Self {
            cluster_dns: fields.addresses("clusterDNS")?.unwrap_or_default(),
            pods_per_core: fields.number("podsPerCore")?,
            system_reserved: fields.texts("systemReserved")?,
            kube_reserved: fields.texts("kubeReserved")?,
            eviction_hard: fields.texts("evictionHard")?,
            eviction_soft: fields.texts("evictionSoft")?,
            eviction_soft_grace_period: fields.texts("evictionSoftGracePeriod")?,
            eviction_max_pod_grace_period: fields.number("evictionMaxPodGracePeriod")?,
            image_gc_high_threshold_percent: fields.number("imageGCHighThresholdPercent")?,
            image_gc_low_threshold_percent: fields.number("imageGCLowThresholdPercent")?,
            cpu_cfs_quota: fields.get("cpuCFSQuota", "true or false", Value::as_bool)?,
        })
    }

    /// Reads what is given, and refuses what the family has no place for.
    pub(super) fn read_managed(fields: &Map<String, Value>) -> Result<Self, UserDataError> {
        let other = fields.iter().find(|(name, value)| !value.is_null() && !MANAGED.contains(&name.as_str()));
        if let Some((name, _)) = other {
            return Err(fault(name, "the family has no way to set it", "AL2023 passes every field on"));
        }
        let kubelet = Self::read(fields)?;
        match kubelet.cluster_dns.len() {
            0 | 1 => Ok(kubelet),
            _ => Err(fault("clusterDNS", "the family takes one address", "AL2023 takes several")),
        }
    }

    /// The address of DNS that pods get.
    pub(super) fn dns(&self, bootstrap: &Bootstrap) -> Option<IpAddr> {
        self.cluster_dns.first().copied().or(bootstrap.cluster.dns)
    }

    /// The fields that are mappings of texts.
    pub(super) fn texts(&self) -> [Texts<'_>; 5] {
        let texts = |field, option, entries| Texts { field, option, entries };
        [
            texts("systemReserved", "system-reserved", self.system_reserved.as_ref()),
            texts("kubeReserved", "kube-reserved", self.kube_reserved.as_ref()),
            texts("evictionHard", "eviction-hard", self.eviction_hard.as_ref()),
            texts("evictionSoft", "eviction-soft", self.eviction_soft.as_ref()),
            texts(
                "evictionSoftGracePeriod",
                "eviction-soft-grace-period",
                self.eviction_soft_grace_period.as_ref(),
            ),
        ]
    }

    /// The kubelet's command line.
    pub(super) fn arguments(&self, bootstrap: &Bootstrap) -> Result<String, UserDataError> {
        let mut arguments = vec![
            labels_argument(bootstrap)?,
            format!("--register-with-taints=\"{}\"", join(&bootstrap.node_taints()?, Taint::to_string)),
            format!("--max-pods={}", bootstrap.max_pods),
        ];
        let mut number = |name: &str, value: Option<i64>| {
            arguments.extend(value.map(|value| format!("--{name}={value}")));
        };
        number("pods-per-core", self.pods_per_core);
        number("eviction-max-pod-grace-period", self.eviction_max_pod_grace_period);
        number("image-gc-high-threshold", self.image_gc_high_threshold_percent);
        number("image-gc-low-threshold", self.image_gc_low_threshold_percent);
        for Texts { field, option, entries } in self.texts() {
            let between = if matches!(field, "evictionHard" | "evictionSoft") { '<' } else { '=' };
            let entries: Vec<_> = entries.into_iter().flatten().collect();
            if let Some((key, value)) = entries.iter().find(|(key, value)| !is_plain(key) || !is_plain(value))
            {
                let message = format!("{key:?}: {value:?} can't stand in an argument");
                let help = "write amounts, percentages and durations as Kubernetes does, such as 100Mi, 5% and 1m30s";
                return Err(fault(field, &message, help));
            }
            if !entries.is_empty() {
                let list = join(&entries, |(key, value)| format!("{key}{between}{value}"));
                arguments.push(format!("--{option}=\"{list}\""));
            }
        }
        arguments.extend(self.cpu_cfs_quota.map(|on| format!("--cpu-cfs-quota={on}")));
        Ok(arguments.join(" "))
    }
}

/// The argument that carries the labels.
pub(super) fn labels_argument(bootstrap: &Bootstrap) -> Result<String, UserDataError> {
    let labels: Vec<_> = bootstrap.node_labels()?.into_iter().collect();
    Ok(format!("--node-labels=\"{}\"", join(&labels, |(key, value)| format!("{key}={value}"))))
}

fn join<T>(items: &[T], write: impl Fn(&T) -> String) -> String {
    items.iter().map(write).collect::<Vec<_>>().join(",")
}

/// Whether it may stand in a list within quotes, in any shell.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+%".contains(c))
}

fn fault(field: &str, message: &str, help: &str) -> UserDataError {
    UserDataError::Kubelet { field: field.to_owned(), message: message.to_owned(), help: help.to_owned() }
}

struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    /// A field as `read` reads it; nothing if it isn't there or null.
    fn get<T>(
        &self,
        name: &str,
        wanted: &str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<T>, UserDataError> {
        match self.0.get(name).filter(|value| !value.is_null()) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(value) => Ok(Some(value)),
                None => Err(fault(name, &format!("{value} is not {wanted}"), &format!("give {wanted}"))),
            },
        }
    }

    fn number(&self, name: &str) -> Result<Option<i64>, UserDataError> {
        self.get(name, "a whole number of at least 0", |value| value.as_i64().filter(|number| *number >= 0))
    }

    fn addresses(&self, name: &str) -> Result<Option<Vec<IpAddr>>, UserDataError> {
        self.get(name, "a list of IP addresses", |value| {
            value.as_array()?.iter().map(|address| address.as_str()?.parse().ok()).collect()
        })
    }

    fn texts(&self, name: &str) -> Result<Option<BTreeMap<String, String>>, UserDataError> {
        self.get(name, "a mapping of texts", |value| {
            let text = |value: &Value| match value {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            value.as_object()?.iter().map(|(key, value)| Some((key.clone(), text(value)?))).collect()
        })
    }
}
