//! Bottlerocket: settings in TOML. The user's are kept, ours replace those of the same name.

use std::collections::BTreeMap;

use model::Note;
use toml::{Table, Value};

use super::kubelet::{Kubelet, Texts};
use super::settings::{check, describe, is_known};
use super::{Bootstrap, InstanceStorePolicy, UserData, UserDataError, note};

/// From this on `ephemeral-storage bind` knows by itself what to bind.
const BINDS_BY_DEFAULT: (u32, u32) = (1, 46);

pub(super) fn render(bootstrap: &Bootstrap) -> Result<UserData, UserDataError> {
    bootstrap.cluster.check()?;
    let mut document = bootstrap.own().map_or_else(|| Ok(Table::new()), parse)?;
    let mut notes: Vec<Note> = document.keys().filter(|name| *name != "settings").map(outside).collect();
    let settings = table(&mut document, "settings", "settings")?;
    let kubernetes = table(settings, "kubernetes", "settings.kubernetes")?;
    for (name, value) in kubernetes.iter() {
        check(name, value)?;
        if !is_known(name) {
            notes.push(note(format!(
                "settings.kubernetes.{name} is not known here and passed on: an image that doesn't know it either \
                 will not boot with it"
            )));
        }
    }
    if kubernetes.contains_key("node-taints") {
        notes.push(note(
            "settings.kubernetes.node-taints is replaced by the taints of the NodePool: write them there"
                .to_owned(),
        ));
    }
    fill(kubernetes, bootstrap)?;
    if bootstrap.instance_store_policy == Some(InstanceStorePolicy::Raid0) {
        let commands = table(settings, "bootstrap-commands", "settings.bootstrap-commands")?;
        commands.insert(
            "000-mount-instance-storage".to_owned(),
            mount_instance_storage(bootstrap.image_version.as_deref()),
        );
    }
    let text = toml::to_string(&document)
        .map_err(|error| UserDataError::Write { format: "TOML", message: error.to_string() })?;
    Ok(UserData { text, notes })
}

fn outside(name: &String) -> Note {
    note(format!("{name:?} stands outside of the table settings, and Bottlerocket does not read it"))
}

fn parse(text: &str) -> Result<Table, UserDataError> {
    text.parse::<Table>().map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().map_or(0, |last| last.chars().count()) + 1;
        UserDataError::Toml { line, column, message: error.message().to_owned() }
    })
}

/// The table of a name, made if it isn't there.
fn table<'a>(parent: &'a mut Table, name: &str, path: &str) -> Result<&'a mut Table, UserDataError> {
    match parent.entry(name).or_insert_with(|| Value::Table(Table::new())) {
        Value::Table(table) => Ok(table),
        other => {
            Err(UserDataError::Setting { path: path.to_owned(), wanted: "a table", found: describe(other) })
        }
    }
}

/// Sets what is ours.
fn fill(kubernetes: &mut Table, bootstrap: &Bootstrap) -> Result<(), UserDataError> {
    let cluster = &bootstrap.cluster;
    let kubelet = Kubelet::read_managed(&bootstrap.kubelet)?;
    if kubelet.pods_per_core.is_some_and(|pods| pods > 0) {
        return Err(UserDataError::Kubelet {
            field: "podsPerCore".to_owned(),
            message: "Bottlerocket has no such setting".to_owned(),
            help: "use maxPods".to_owned(),
        });
    }
    let text = |text: &str| Value::String(text.to_owned());
    let mut set = |name: &str, value: Value| drop(kubernetes.insert(name.to_owned(), value));
    set("api-server", text(&cluster.endpoint));
    set("cluster-certificate", text(&cluster.certificate_authority));
    set("cluster-name", text(&cluster.name));
    set("max-pods", Value::Integer(bootstrap.max_pods.into()));
    if let Some(dns) = kubelet.dns(bootstrap) {
        set("cluster-dns-ip", text(&dns.to_string()));
    }
    let mut taints: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for taint in bootstrap.node_taints()? {
        let value = text(&format!("{}:{:?}", taint.value, taint.effect));
        taints.entry(taint.key).or_default().push(value);
    }
    let taints = taints.into_iter().map(|(key, values)| (key, Value::Array(values)));
    set("node-taints", Value::Table(taints.collect()));
    for Texts { option, entries, .. } in kubelet.texts() {
        if let Some(entries) = entries {
            let entries = entries.iter().map(|(key, value)| (key.clone(), text(value)));
            set(option, Value::Table(entries.collect()));
        }
    }
    if let Some(seconds) = kubelet.eviction_max_pod_grace_period {
        set("eviction-max-pod-grace-period", Value::Integer(seconds));
    }
    for (name, percent) in [
        ("image-gc-high-threshold-percent", kubelet.image_gc_high_threshold_percent),
        ("image-gc-low-threshold-percent", kubelet.image_gc_low_threshold_percent),
    ] {
        if let Some(percent) = percent {
            set(name, text(&percent.to_string()));
        }
    }
    if let Some(on) = kubelet.cpu_cfs_quota {
        set("cpu-cfs-quota-enforced", Value::Boolean(on));
    }
    let labels = table(kubernetes, "node-labels", "settings.kubernetes.node-labels")?;
    for (key, value) in bootstrap.node_labels()? {
        labels.insert(key.to_owned(), text(value));
    }
    Ok(())
}

/// Joins the instance's disks and puts the node's files there, before the kubelet starts.
fn mount_instance_storage(version: Option<&str>) -> Value {
    let words = |words: &[&str]| Value::Array(words.iter().map(|word| (*word).into()).collect());
    let bind: &[&str] = if binds_by_default(version) {
        &["apiclient", "ephemeral-storage", "bind"]
    } else {
        let folders = ["/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"];
        &["apiclient", "ephemeral-storage", "bind", "--dirs", folders[0], folders[1], folders[2]]
    };
    let commands = vec![words(&["apiclient", "ephemeral-storage", "init"]), words(bind)];
    Value::Table(Table::from_iter([
        ("commands".to_owned(), Value::Array(commands)),
        ("essential".to_owned(), true.into()),
        ("mode".to_owned(), "always".into()),
    ]))
}

/// An unknown version counts as an old one: old images don't know the default, new ones know the folders.
fn binds_by_default(version: Option<&str>) -> bool {
    let Some(version) = version else { return false };
    version == "latest" || numbers(version).is_some_and(|numbers| numbers >= BINDS_BY_DEFAULT)
}

/// Major and minor number of `1.46.0` or `v1.46.0`.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let (major, rest) = version.strip_prefix('v').unwrap_or(version).split_once('.')?;
    let minor = rest.split(['.', '-']).next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The version in the name of one of Bottlerocket's images, such as `bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a`.
pub fn version_of_image(name: &str) -> Option<&str> {
    let of_bottlerocket = name.contains("bottlerocket");
    name.split('-').find(|part| of_bottlerocket && part.starts_with('v') && numbers(part).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        for (version, new) in [
            (Some("latest"), true),
            (Some("1.46.0"), true),
            (Some("v1.46.0"), true),
            (Some("v1.100.2-431fe75a"), true),
            (Some("2.0"), true),
            (Some("1.45.9"), false),
            (Some("v1.5.0"), false),
            (Some("x"), false),
            (Some("v1"), false),
            (None, false),
        ] {
            assert_eq!(binds_by_default(version), new, "{version:?}");
        }
        for (name, version) in [
            ("bottlerocket-aws-k8s-1.33-x86_64-v1.46.0-431fe75a", Some("v1.46.0")),
            ("bottlerocket-aws-k8s-1.33-nvidia-aarch64-v1.5.1-a", Some("v1.5.1")),
            ("my-v1.46.0-image", None),
            ("bottlerocket-vX.1", None),
        ] {
            assert_eq!(version_of_image(name), version, "{name}");
        }
    }
}
