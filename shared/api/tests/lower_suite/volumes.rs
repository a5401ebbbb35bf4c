//! Claims, volumes and storage classes.

use super::kit::{lowered, only, pod};

const CLASSES: &str = "
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: late}
provisioner: ebs.csi.aws.com
volumeBindingMode: WaitForFirstConsumer
allowedTopologies: [{matchLabelExpressions: [{key: topology.ebs.csi.aws.com/zone, values: [a, b]}]}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: at-once}
provisioner: kubernetes.io/aws-ebs
";

fn claim(meta: &str, spec: &str, status: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {{name: data{meta}}}\nspec: {{{spec}}}\nstatus: {{{status}}}\n"
    )
}

fn volume(meta: &str, spec: &str) -> String {
    format!("---\napiVersion: v1\nkind: PersistentVolume\nmetadata: {{name: v{meta}}}\nspec: {{{spec}}}\n")
}

const BOUND: &str = ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}";

/// The one volume of a pod that mounts the claim `data`, as text.
fn mounted(objects: &str) -> String {
    let mounts = "  volumes: [{name: d, persistentVolumeClaim: {claimName: data}}]";
    let pod = only(&format!("{}{CLASSES}{objects}", pod(mounts)));
    describe(&pod.volumes[0])
}

fn describe(volume: &model::Volume) -> String {
    if let Some(fault) = &volume.fault {
        return format!("fault: {}", fault.detail);
    }
    let places: Vec<String> = volume
        .alternatives
        .iter()
        .map(|place| if place.is_empty() { "anywhere".to_owned() } else { place.to_string() })
        .collect();
    format!("{} {} [{}]", volume.claim, volume.driver.as_deref().unwrap_or("-"), places.join(" | "))
}

fn zone(values: &str) -> String {
    format!("nodeAffinity: {{required: {{nodeSelectorTerms: [{values}]}}}}")
}

#[test]
fn core_prov_11_12_13_14_claims_that_cannot_be_mounted() {
    let good = volume("", "csi: {driver: d, volumeHandle: h}");
    #[rustfmt::skip]
    let table = [
        (String::new(), "fault: PersistentVolumeClaim default/data does not exist"),
        (claim(", deletionTimestamp: '2026-01-01T00:00:00Z'", "storageClassName: late", ""), "fault: PersistentVolumeClaim default/data is being deleted"),
        (claim("", "storageClassName: late", "phase: Lost"), "fault: PersistentVolumeClaim default/data has lost its volume"),
        (claim(BOUND, "volumeName: v", ""), "fault: PersistentVolume v of PersistentVolumeClaim default/data does not exist"),
        (claim(BOUND, "volumeName: v", "") + &volume(", deletionTimestamp: '2026-01-01T00:00:00Z'", ""), "fault: PersistentVolume v of PersistentVolumeClaim default/data is being deleted"),
        (claim("", "volumeName: v", "") + &good, "fault: PersistentVolumeClaim default/data is not bound to PersistentVolume v yet (no annotation pv.kubernetes.io/bind-completed)"),
        (claim(BOUND, "volumeName: v", "") + &good, "default/data d []"),
        (claim(BOUND, "volumeName: v, storageClassName: ''", "") + &good, "default/data d []"),
        (claim(BOUND, "volumeName: v, storageClassName: gone", "") + &good, "default/data d []"),
        (claim("", "", ""), "fault: PersistentVolumeClaim default/data is bound to no volume and has no StorageClass to make one"),
        (claim("", "storageClassName: ''", ""), "fault: PersistentVolumeClaim default/data is bound to no volume and has no StorageClass to make one"),
        (claim("", "storageClassName: gone", ""), "fault: StorageClass gone of PersistentVolumeClaim default/data does not exist"),
        (claim("", "storageClassName: at-once", ""), "fault: PersistentVolumeClaim default/data is not bound yet, and its StorageClass at-once does not wait for the pod"),
    ];
    for (objects, expected) in table {
        assert_eq!(mounted(&objects), expected, "{objects}");
    }
}

#[test]
fn core_vol_04_05_07_s04_every_term_of_a_volume_is_a_place_to_be() {
    let in_zone = |zone: &str| {
        format!(
            "{{matchExpressions: [{{key: topology.kubernetes.io/zone, operator: In, values: [{zone}]}}]}}"
        )
    };
    let host = "{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n0]}]}";
    let bound = claim(BOUND, "volumeName: v", "");
    #[rustfmt::skip]
    let table = [
        (format!("csi: {{driver: d, volumeHandle: h}}, {}", zone(&in_zone("a"))), "default/data d [topology.kubernetes.io/zone In [a]]"),
        (format!("csi: {{driver: d, volumeHandle: h}}, {}", zone(&format!("{}, {}", in_zone("a"), in_zone("b")))),
         "default/data d [topology.kubernetes.io/zone In [a] | topology.kubernetes.io/zone In [b]]"),
        (format!("local: {{path: /x}}, {}", zone(host)), "default/data - [anywhere]"),
        (format!("hostPath: {{path: /x}}, {}", zone(host)), "default/data - [anywhere]"),
        (format!("nfs: {{path: /x, server: s}}, {}", zone(host)), "default/data - [kubernetes.io/hostname In [n0]]"),
        ("awsElasticBlockStore: {volumeID: v}".to_owned(), "default/data ebs.csi.aws.com []"),
        ("nfs: {path: /x, server: s}".to_owned(), "default/data - []"),
    ];
    for (spec, expected) in table {
        let read = mounted(&format!("{bound}{}", volume("", &spec)));
        assert_eq!(read, expected, "{spec}");
    }
    assert_eq!(
        mounted(&claim("", "storageClassName: late", "")),
        "default/data ebs.csi.aws.com [topology.kubernetes.io/zone In [a, b]]"
    );
}

#[test]
fn core_vol_03_claims_without_a_class_use_the_newest_default() {
    let default = |name: &str, year: &str, driver: &str| {
        format!(
            "---\napiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {{name: {name}, creationTimestamp: '{year}-01-01T00:00:00Z', annotations: {{storageclass.kubernetes.io/is-default-class: 'true'}}}}\nprovisioner: {driver}\nvolumeBindingMode: WaitForFirstConsumer\n"
        )
    };
    let both = default("old", "2024", "old-driver") + &default("new", "2025", "new-driver");
    assert_eq!(mounted(&(claim("", "", "") + &both)), "default/data new-driver []");
    let explicit = claim("", "storageClassName: old", "") + &both;
    assert_eq!(mounted(&explicit), "default/data old-driver []");
}

#[test]
fn generic_ephemeral_claims_are_made_for_the_pod() {
    let mounts = "  volumes: [{name: e, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: late}}}}]";
    let read = only(&format!("{}{CLASSES}", pod(mounts)));
    assert_eq!(
        describe(&read.volumes[0]),
        "default/p-e ebs.csi.aws.com [topology.kubernetes.io/zone In [a, b]]"
    );
    let existing = claim("", "storageClassName: at-once", "").replace("name: data", "name: p-e");
    let read = only(&format!("{}{CLASSES}{existing}", pod(mounts)));
    assert!(describe(&read.volumes[0]).starts_with("fault: "), "the claim itself counts once it is there");
}

#[test]
fn claims_of_stateful_sets_are_taken_to_be_made() {
    let set = |class: &str| {
        format!(
            "---\napiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: db}}\nspec: {{serviceName: db, replicas: 2, selector: {{matchLabels: {{app: db}}}}, template: {{metadata: {{labels: {{app: db}}}}, spec: {{containers: []}}}}, volumeClaimTemplates: [{{metadata: {{name: data}}, spec: {{storageClassName: {class}}}}}]}}\n"
        )
    };
    let read = lowered(&format!("{}{CLASSES}", set("late")));
    let volumes: Vec<String> = read.cluster.pods.iter().map(|pod| describe(&pod.volumes[0])).collect();
    let place = "ebs.csi.aws.com [topology.kubernetes.io/zone In [a, b]]";
    assert_eq!(volumes, [format!("default/data-db-0 {place}"), format!("default/data-db-1 {place}")]);
    for (class, note) in [("gone", "was not given"), ("at-once", "binds at once")] {
        let read = lowered(&format!("{}{CLASSES}", set(class)));
        assert!(
            read.cluster.pods[0].volumes[0].fault.is_none()
                && read.cluster.pods[0].volumes[0].alternatives.is_empty()
        );
        assert!(read.notes.iter().any(|found| found.message.contains(note)), "{class}: {:?}", read.notes);
    }
    let existing = claim(BOUND, "volumeName: v", "").replace("name: data", "name: data-db-1");
    let read = lowered(&format!(
        "{}{CLASSES}{existing}{}",
        set("late"),
        volume("", "csi: {driver: d, volumeHandle: h}")
    ));
    assert_eq!(describe(&read.cluster.pods[1].volumes[0]), "default/data-db-1 d []");
}
