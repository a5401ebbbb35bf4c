//! AL2023: a MIME archive of NodeConfigs, which nodeadm merges in order, and of the user's scripts.

use std::collections::BTreeMap;

use model::{Note, Taint};
use serde::Serialize;
use serde_json::{Value, json};

use super::kubelet::{Kubelet, Texts, labels_argument};
use super::mime::{self, Part};
use super::{Bootstrap, InstanceStorePolicy, UserData, UserDataError, al2};

const API_GROUP: &str = "node.eks.aws/";

/// The part of NodeConfig (`node.eks.aws/v1alpha1`) that is ours to say.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeConfig<'a> {
    api_version: &'a str,
    kind: &'a str,
    spec: Spec<'a>,
}

#[derive(Serialize)]
struct Spec<'a> {
    cluster: ClusterDetails<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instance: Option<InstanceOptions>,
    kubelet: KubeletOptions<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ClusterDetails<'a> {
    name: &'a str,
    api_server_endpoint: &'a str,
    certificate_authority: &'a str,
    cidr: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InstanceOptions {
    local_storage: LocalStorage,
}

#[derive(Serialize)]
struct LocalStorage {
    strategy: &'static str,
}

#[derive(Serialize)]
struct KubeletOptions<'a> {
    config: BTreeMap<&'a str, Value>,
    flags: [String; 1],
}

pub(super) fn render(bootstrap: &Bootstrap) -> Result<UserData, UserDataError> {
    bootstrap.cluster.check()?;
    let (mut parts, notes) = bootstrap.own().map_or_else(|| Ok((vec![], vec![])), own_parts)?;
    parts.push(Part::new(mime::NODE_CONFIG, node_config(bootstrap)?));
    Ok(UserData { text: mime::write(&parts), notes })
}

/// What users wrote: an archive, a NodeConfig, or a script.
fn own_parts(own: &str) -> Result<(Vec<Part>, Vec<Note>), UserDataError> {
    if mime::is_archive(own) {
        let mut parts = mime::read(own)?;
        for part in parts.iter_mut().filter(|part| part.media == mime::NODE_CONFIG) {
            // nodeadm reads a part as it comes, whatever encoding its headers name.
            part.decode()?;
            check(&part.body, part.line)?;
        }
        return Ok((parts, vec![]));
    }
    let first = own.trim_start();
    if first.starts_with("#!") || first.starts_with("#cloud-config") {
        return Ok(al2::script(own));
    }
    let is_config = match serde_saphyr::from_str::<Value>(own) {
        Ok(Value::Object(_)) => true,
        Ok(Value::Null) => return Ok((vec![], vec![])),
        Ok(_) => false,
        // Not YAML, but meant to be: to run it as a script would hide the fault.
        Err(_) => own.lines().any(|line| line.starts_with("apiVersion:") || line.starts_with("kind:")),
    };
    if !is_config {
        return Ok(al2::script(own));
    }
    check(own, 1)?;
    Ok((vec![Part::new(mime::NODE_CONFIG, own.to_owned())], vec![]))
}

/// Refuses what nodeadm would stop at. `line` is where the text begins in what users wrote.
fn check(text: &str, line: usize) -> Result<(), UserDataError> {
    let fault = |at: usize, message: &str| {
        Err(UserDataError::NodeConfig { line: line + at, message: message.to_owned() })
    };
    let config: Value = match serde_saphyr::from_str(text) {
        Ok(config) => config,
        Err(error) => {
            let at = error.location().map_or(0, |location| location.line().saturating_sub(1));
            let at = usize::try_from(at).unwrap_or_default();
            let message = error.without_snippet().to_string();
            // The location stands at the front of our own message.
            let message = message.split(" at line ").next().unwrap_or_default().replace('\n', " ");
            return fault(at, &format!("is not YAML: {message}"));
        }
    };
    let text_of = |name: &str| config.get(name).and_then(Value::as_str);
    if !config.is_object() {
        return fault(0, "is not a mapping");
    }
    if text_of("kind") != Some("NodeConfig") {
        return fault(0, "its kind is not NodeConfig");
    }
    match text_of("apiVersion") {
        Some(version) if version.starts_with(API_GROUP) => Ok(()),
        _ => fault(0, "its apiVersion is not of node.eks.aws"),
    }
}

fn node_config(bootstrap: &Bootstrap) -> Result<String, UserDataError> {
    let cluster = &bootstrap.cluster;
    let kubelet = Kubelet::read(&bootstrap.kubelet)?;
    let fields = bootstrap.kubelet.iter().filter(|(_, value)| !value.is_null());
    let mut config: BTreeMap<&str, Value> =
        fields.map(|(name, value)| (name.as_str(), value.clone())).collect();
    // A kubelet does not start with `pid: 100` for `pid: "100"`.
    for Texts { field, entries, .. } in kubelet.texts() {
        config.extend(entries.map(|entries| (field, json!(entries))));
    }
    if let Some(dns) = kubelet.dns(bootstrap) {
        config.entry("clusterDNS").or_insert_with(|| json!([dns]));
    }
    config.insert("maxPods", bootstrap.max_pods.into());
    let taints: Vec<Value> = bootstrap.node_taints()?.iter().map(taint).collect();
    config.insert("registerWithTaints", taints.into());
    let raid = bootstrap.instance_store_policy.map(|InstanceStorePolicy::Raid0| InstanceOptions {
        local_storage: LocalStorage { strategy: "RAID0" },
    });
    let node_config = NodeConfig {
        api_version: "node.eks.aws/v1alpha1",
        kind: "NodeConfig",
        spec: Spec {
            cluster: ClusterDetails {
                name: &cluster.name,
                api_server_endpoint: &cluster.endpoint,
                certificate_authority: &cluster.certificate_authority,
                cidr: cluster.service_cidr.as_deref().ok_or(UserDataError::NoCidr)?,
            },
            instance: raid,
            kubelet: KubeletOptions { config, flags: [labels_argument(bootstrap)?] },
        },
    };
    // Block scalars would fold the labels, which are one long line.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let yaml = serde_saphyr::to_string_with_options(&node_config, options)
        .map_err(|error| UserDataError::Write { format: "NodeConfig", message: error.to_string() })?;
    Ok(format!("# By Journeyman, of the NodeClaim and its EC2NodeClass\n{yaml}"))
}

/// As Kubernetes writes it, which leaves an empty value out.
fn taint(taint: &Taint) -> Value {
    let mut written = json!({ "key": taint.key, "effect": taint.effect });
    if let Some(written) = written.as_object_mut().filter(|_| !taint.value.is_empty()) {
        written.insert("value".to_owned(), taint.value.clone().into());
    }
    written
}
