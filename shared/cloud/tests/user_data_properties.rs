//! User data whatever users write: it is refused or it works, and what it says is read back.
#![expect(clippy::unwrap_used, reason = "helpers of tests: what is missing should stop the test")]

use std::collections::BTreeMap;

use catalog::class::{AmiFamily, InstanceStorePolicy};
use cloud::user_data::{Bootstrap, EksCluster, IpFamily};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::Value;

const FAMILIES: [AmiFamily; 7] = [
    AmiFamily::Al2,
    AmiFamily::Al2023,
    AmiFamily::Bottlerocket,
    AmiFamily::Windows2019,
    AmiFamily::Windows2022,
    AmiFamily::Windows2025,
    AmiFamily::Custom,
];

fn bootstrap(family: AmiFamily) -> Bootstrap {
    Bootstrap {
        family,
        cluster: EksCluster {
            name: "prod-1".into(),
            endpoint: "https://example.eks.amazonaws.com".into(),
            certificate_authority: "YQ==".into(),
            service_cidr: Some("10.100.0.0/16".into()),
            dns: "10.100.0.10".parse().ok(),
            ip_family: IpFamily::Ipv4,
        },
        labels: BTreeMap::new(),
        taints: vec![],
        startup_taints: vec![],
        kubelet: serde_json::Map::new(),
        max_pods: 110,
        instance_store_policy: Some(InstanceStorePolicy::Raid0),
        image_version: None,
        user_data: None,
    }
}

/// Text of the lines that the formats are made of, and of any others.
fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        any::<String>(),
        proptest::sample::select(vec![
            "MIME-Version: 1.0",
            "Content-Type: multipart/mixed; boundary=\"//\"",
            "Content-Type: multipart/mixed; boundary*0*=utf-8''%41; boundary*1=b; boundary*=x",
            "Content-Type: application/node.eks.aws",
            "Content-Transfer-Encoding: base64",
            "Content-Transfer-Encoding: quoted-printable",
            "=ZZ",
            "",
            "",
            " folded",
            "--//",
            "--//--",
            "--",
            ":",
            "apiVersion: node.eks.aws/v1alpha1",
            "kind: NodeConfig",
            "spec: {kubelet: {flags: [",
            "a: &a [*a]",
            "[settings]",
            "[settings.kubernetes]",
            "max-pods = 3",
            "node-labels = {a = \"b\"}",
            "[[settings]]",
            "kubernetes.node-labels.\"a b\" = \"\"\"x",
            "#!/bin/sh",
            "#cloud-config",
            "<powershell>",
            "\r",
            "\0",
        ])
        .prop_map(str::to_owned),
    ];
    vec(line, 0..12).prop_map(|lines| lines.join("\n"))
}

fn fields() -> impl Strategy<Value = serde_json::Map<String, Value>> {
    let name = proptest::sample::select(vec![
        "clusterDNS",
        "cpuCFSQuota",
        "evictionHard",
        "evictionSoftGracePeriod",
        "imageGCLowThresholdPercent",
        "kubeReserved",
        "maxPods",
        "podsPerCore",
        "registerWithTaints",
        "featureGates",
        "",
    ]);
    let value = prop_oneof![
        any::<String>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        vec(any::<String>(), 0..3).prop_map(Value::from),
        btree_map(any::<String>(), any::<String>(), 0..3).prop_map(|map| serde_json::to_value(map).unwrap()),
    ];
    vec((name.prop_map(str::to_owned), value), 0..3).prop_map(|fields| fields.into_iter().collect())
}

/// Labels as Kubernetes has them, not of its own domains.
fn labels() -> impl Strategy<Value = BTreeMap<String, String>> {
    let key =
        "([a-z0-9]([-a-z0-9]{0,8}[a-z0-9])?\\.[a-z]{2,4}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?";
    let value = "([A-Za-z0-9]([-A-Za-z0-9_.]{0,20}[A-Za-z0-9])?)?";
    btree_map(key, value, 0..8)
}

/// The labels in `--node-labels="…"`.
fn of_argument(text: &str) -> BTreeMap<String, String> {
    let (_, rest) = text.split_once("--node-labels=\"").unwrap();
    let (list, _) = rest.split_once('"').unwrap();
    list.split(',').map(|pair| pair.split_once('=').unwrap()).map(|(k, v)| (k.into(), v.into())).collect()
}

/// The labels that a machine would give its node, read as the machine reads them.
fn read_back(family: AmiFamily, text: &str) -> BTreeMap<String, String> {
    match family {
        AmiFamily::Al2023 => {
            let config = text.rsplit_once("Content-Type: application/node.eks.aws\n\n").unwrap().1;
            let config: Value = serde_saphyr::from_str(config.strip_suffix("\n--//--\n").unwrap()).unwrap();
            of_argument(config.pointer("/spec/kubelet/flags/0").unwrap().as_str().unwrap())
        }
        AmiFamily::Bottlerocket => {
            let settings: Value = toml::from_str(text).unwrap();
            let labels = settings.pointer("/settings/kubernetes/node-labels").unwrap();
            serde_json::from_value(labels.clone()).unwrap()
        }
        // The argument stands in one word within single quotes, in which only their like has a meaning.
        _ => of_argument(text.split('\'').find(|word| word.starts_with("--node-labels")).unwrap()),
    }
}

proptest! {
    #[test]
    fn whatever_users_write_is_refused_or_rendered(text in texts(), fields in fields()) {
        for family in FAMILIES {
            let mut bootstrap = Bootstrap { user_data: Some(text.clone()), ..bootstrap(family) };
            let _ = bootstrap.user_data();
            bootstrap.kubelet = fields.clone();
            if let Ok(data) = bootstrap.user_data() {
                prop_assert!(family == AmiFamily::Custom || data.text.contains("prod-1"));
            }
        }
    }

    #[test]
    fn labels_and_values_survive_every_format(labels in labels(), text in ".{0,40}") {
        let mut wanted = labels.clone();
        wanted.insert("karpenter.sh/do-not-sync-taints".into(), "true".into());
        for family in FAMILIES.into_iter().filter(|family| *family != AmiFamily::Custom) {
            let data = Bootstrap { labels: labels.clone(), ..bootstrap(family) }.user_data().unwrap();
            prop_assert_eq!(read_back(family, &data.text), wanted.clone(), "{:?}: {}", family, data.text);
        }
        // AL2023 passes any text on.
        let mut bootstrap = bootstrap(AmiFamily::Al2023);
        bootstrap.kubelet.insert("clusterDomain".into(), text.clone().into());
        let data = bootstrap.user_data().unwrap();
        let config = data.text.rsplit_once("aws\n\n").unwrap().1;
        let config: Value = serde_saphyr::from_str(config.strip_suffix("\n--//--\n").unwrap()).unwrap();
        let read = config.pointer("/spec/kubelet/config/clusterDomain").unwrap();
        prop_assert_eq!(read, &Value::from(text));
    }

    #[test]
    fn settings_that_are_not_ours_stay(key in "[a-z]{1,9}", value in any::<String>(), number in any::<i64>()) {
        let settings = toml::Table::from_iter([
            (key.clone(), toml::Value::String(value.clone())),
            ("kernel".into(), toml::Value::Integer(number)),
        ]);
        prop_assume!(key != "kubernetes" && key != "kernel");
        let own = toml::Table::from_iter([("settings".to_owned(), toml::Value::Table(settings))]);
        let own = toml::to_string(&own).unwrap();
        let mut bootstrap = bootstrap(AmiFamily::Bottlerocket);
        bootstrap.user_data = Some(own);
        let read: toml::Table = bootstrap.user_data().unwrap().text.parse().unwrap();
        prop_assert_eq!(read["settings"][&key].as_str(), Some(value.as_str()));
        prop_assert_eq!(read["settings"]["kernel"].as_integer(), Some(number));
    }
}

#[test]
fn bombs_are_put_out() {
    let levels = "abcdefghijklmnopqrst";
    let doubled = levels
        .chars()
        .zip(levels.chars().skip(1))
        .map(|(one, two)| format!("{two}: &{two} [*{one}, *{one}]\n"));
    let aliases = format!("kind: NodeConfig\na: &a [x]\n{}", doubled.collect::<String>());
    let archive = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"x\"\n\n";
    for text in [
        aliases,
        "[".repeat(60_000),
        format!("kind: {}", "[".repeat(60_000)),
        format!("a = {}", "[".repeat(60_000)),
        format!("a{} = 1", ".a".repeat(30_000)),
        format!("{archive}{}", "--x\n\n".repeat(8_000)),
        format!("{archive}{}", " folded\n".repeat(8_000)),
        (0..5_000).map(|number| format!("--//{number}-\n")).collect(),
    ] {
        for family in FAMILIES {
            let bootstrap = Bootstrap { user_data: Some(text.clone()), ..bootstrap(family) };
            let _ = bootstrap.user_data();
        }
    }
}
