//! Launch templates: what the class, the family and the pods change about them.

use catalog::class::{AmiFamily, Kubelet, PlacementGroup};
use cloud::launch::LaunchError;
use model::{CapacityType, Requirement, labels};
use serde_json::json;

use crate::kit::{changes, class, launch, whole};

#[test]
fn the_plain_launch() {
    insta::assert_snapshot!(whole(&launch().plan()));
}

/// 160, 161: what disks a family has unless told otherwise.
#[test]
fn families_have_disks_of_their_own() {
    insta::assert_snapshot!(changes(&launch().family(AmiFamily::Bottlerocket)));
    insta::assert_snapshot!(changes(&launch().family(AmiFamily::Windows2022)));
    insta::assert_snapshot!(changes(&launch().family(AmiFamily::Custom)));
}

#[test]
fn given_disks_replace_the_family_s() {
    insta::assert_snapshot!(changes(&launch().spec(json!({"blockDeviceMappings": [
        {"deviceName": "/dev/xvda", "rootVolume": true, "ebs": {
            "volumeSize": "200G", "volumeType": "io2", "iops": 9000, "throughput": 250, "encrypted": false,
            "deleteOnTermination": true, "kmsKeyID": "key-1", "snapshotID": "snap-1", "volumeInitializationRate": 200,
        }},
        {"deviceName": "/dev/xvdc"},
    ]}))));
}

/// 163, 164.
#[test]
fn metadata_and_monitoring_are_the_class_s() {
    insta::assert_snapshot!(changes(&launch().spec(json!({
        "metadataOptions": {
            "httpEndpoint": "disabled", "httpProtocolIPv6": "enabled", "httpPutResponseHopLimit": 2, "httpTokens": "optional",
        },
        "detailedMonitoring": true,
        "cpuOptions": {"nestedVirtualization": "enabled"},
    }))));
    let mut isolated = launch();
    isolated.region = "us-iso-east-1".into();
    insta::assert_snapshot!(changes(&isolated));
}

/// 167, 168, 170.
#[test]
fn interfaces_are_the_class_s() {
    insta::assert_snapshot!(changes(&launch().spec(json!({
        "associatePublicIPAddress": false,
        "ipPrefixCount": 3,
        "connectionTracking": {"udpTimeout": 40},
        "networkInterfaces": [
            {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
            {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"},
        ],
    }))));
    let mut six = launch().spec(json!({"ipPrefixCount": 1}));
    six.ipv6 = true;
    insta::assert_snapshot!(changes(&six));
}

/// 169: one for each card, and none unless pods ask.
#[test]
fn efas_are_set_up_only_if_asked_for() {
    let many = launch().offers(CapacityType::OnDemand, &[("p4d.24xlarge", "us-east-1a", 32_772_600)]);
    insta::assert_snapshot!(changes(&many));
    let asked = changes(&many.clone().requests("vpc.amazonaws.com/efa"));
    insta::assert_snapshot!(
        asked.lines().filter(|line| line.contains("interfaces")).collect::<Vec<_>>().join("\n")
    );
}

/// 165, 166.
#[test]
fn enclaves_tenancy_and_placement_follow_what_is_asked() {
    let mut asked = launch().requests("eks.amazonaws.com/nitro-sandbox");
    asked.order.requirements.add(labels::TENANCY, Requirement::is_in(["dedicated"]));
    asked.shape.placement_group =
        Some(PlacementGroup { id: "pg-1".into(), strategy: "partition".into(), partitions: 7 });
    let partition = Requirement::is_in(["5", "3"]);
    asked.order.requirements.add("karpenter.k8s.aws/placement-group-partition", partition);
    insta::assert_snapshot!(changes(&asked));
    let mut either = launch();
    either.order.requirements.add(labels::TENANCY, Requirement::is_in(["dedicated", "default"]));
    assert_eq!(changes(&either), "");
}

/// 153.
#[test]
fn tags_of_the_class_are_on_everything() {
    let own = json!({"tags": {"team": "web", "karpenter.sh/nodepool": "not-yours"}});
    insta::assert_snapshot!(changes(&launch().spec(own)));
}

/// 154, 155: the name follows from the contents, and from them alone.
#[test]
fn a_name_stands_for_contents() {
    let names =
        |launch: &crate::kit::Launch| -> Vec<String> { launch.plan().templates.into_keys().collect() };
    let plain = names(&launch());
    assert_eq!(plain, names(&launch()), "the same twice");
    let mut cheaper = launch();
    cheaper.order.offers[0].price = model::MicroUsd(1);
    cheaper.order.group = "other".into();
    cheaper.order.token = "other".into();
    cheaper.subnets.clear();
    cheaper.subnets.push(launch().subnets[2].clone());
    assert_eq!(plain, names(&cheaper), "prices, groups and subnets are the fleet's");
    let mut others = vec![
        launch().spec(json!({"tags": {"a": "b"}})),
        launch().spec(
            json!({"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "30Gi"}}]}),
        ),
        launch().spec(json!({"metadataOptions": {"httpPutResponseHopLimit": 2}})),
    ];
    for change in [
        json!({"securityGroups": [{"id": "sg-3"}]}),
        json!({"instanceProfile": "another"}),
        json!({"amis": [{"id": "ami-newer", "requirements": []}]}),
    ] {
        others.push(crate::kit::Launch { class: class(json!({}), change), ..launch() });
    }
    let mut pool = launch();
    pool.order.pool = Some("other".into());
    others.push(pool);
    let mut twin = launch();
    twin.order.node_class.name = "twin".into();
    others.push(twin);
    let mut kubelet = launch();
    kubelet.shape.kubelet = Kubelet { max_pods: Some(20), ..Kubelet::default() };
    others.push(kubelet);
    for (index, other) in others.iter().enumerate() {
        assert_ne!(plain, names(other), "other {index}");
    }
}

/// 158, 159, 210: a template for each image and each number of pods.
#[test]
fn machines_that_start_alike_share_a_template() {
    let mixed = launch().offers(
        CapacityType::Spot,
        &[
            ("c7g.large", "us-east-1a", 30_000),
            ("m7g.large", "us-east-1a", 31_000),
            ("c6i.large", "us-east-1a", 32_000),
            ("c7g.xlarge", "us-east-1a", 60_000),
            ("c6i.large", "us-east-1b", 70_000),
            ("g4dn.xlarge", "us-east-1b", 200_000),
        ],
    );
    let machines = mixed.machines();
    let told: Vec<String> = machines
        .iter()
        .map(|machine| {
            let types: Vec<_> = machine.offers.iter().map(|offer| offer.instance_type.as_str()).collect();
            format!("{} {} {}", machine.image, machine.max_pods, types.join(" "))
        })
        .collect();
    assert_eq!(
        told,
        [
            "ami-arm 29 c7g.large m7g.large",
            "ami-x86 29 c6i.large c6i.large",
            "ami-arm 58 c7g.xlarge",
            "ami-nvidia 29 g4dn.xlarge",
        ]
    );
    assert_eq!(mixed.plan().templates.len(), 4);
}

/// 162, 211: what the status lacks is told, and nothing is asked of EC2.
#[test]
fn what_is_missing_is_told() {
    let status =
        |status| crate::kit::Launch { class: class(json!({}), status), ..launch() }.try_plan().unwrap_err();
    assert!(
        matches!(status(json!({"instanceProfile": ""})), LaunchError::NoProfile { class } if class == "default")
    );
    assert!(matches!(status(json!({"securityGroups": []})), LaunchError::NoSecurityGroups { .. }));
    assert!(matches!(status(json!({"amis": []})), LaunchError::NoImages { .. }));
    let amd = json!({"amis": [{"id": "ami-x86", "requirements": [
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}]}]});
    assert!(matches!(status(amd), LaunchError::NoImages { .. }));
}
