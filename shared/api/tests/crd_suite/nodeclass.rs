//! EC2NodeClasses: selectors, images, roles, tags, disks, interfaces, options.

use api::crd::Kind::Ec2NodeClass;
use api::crd::{Ec2NodeClass as Class, apply_defaults};
use serde_json::{Value, json};

use crate::kit::{Table, check, with};

const SUBNETS: &str = "/spec/subnetSelectorTerms";
const GROUPS: &str = "/spec/securityGroupSelectorTerms";
const RESERVATIONS: &str = "/spec/capacityReservationSelectorTerms";
const AMIS: &str = "/spec/amiSelectorTerms";
const FAMILY: &str = "/spec/amiFamily";
const ROLE: &str = "/spec/role";
const PROFILE: &str = "/spec/instanceProfile";
const DISKS: &str = "/spec/blockDeviceMappings";
const OPTIONS: &str = "/spec/metadataOptions";

/// One field of a node class, good or refused.
struct Field<'a>(&'a mut Table, &'static str);

impl Field<'_> {
    fn good(&mut self, id: &'static str, value: Value) {
        self.0.good(id, Ec2NodeClass, &[(self.1, value)]);
    }

    fn refused(&mut self, id: &'static str, value: Value, paths: &[&'static str]) {
        self.0.refused(id, Ec2NodeClass, &[(self.1, value)], paths);
    }
}

pub fn cases(t: &mut Table) {
    let tags = || json!({ "a": "b" });
    let mut subnets = Field(t, SUBNETS);
    subnets.good("aws-01", json!(vec![json!({ "id": "subnet-12345abc" }); 30]));
    subnets.refused("aws-01", Value::Null, &["spec.subnetSelectorTerms"]);
    subnets.refused(
        "aws-01",
        json!(vec![json!({ "id": "subnet-12345abc" }); 31]),
        &["spec.subnetSelectorTerms"],
    );
    subnets.refused("aws-02", json!([{}]), &["spec.subnetSelectorTerms[0]"]);
    subnets.refused("aws-02", json!([]), &["spec.subnetSelectorTerms"]);
    subnets.refused("aws-02", json!([{ "id": "subnet_1" }]), &["spec.subnetSelectorTerms[0].id"]);
    subnets.good("aws-03", json!([{ "tags": { "a": "*" } }]));
    subnets.refused("aws-03", json!([{ "tags": { "": "b" } }]), &["spec.subnetSelectorTerms[0].tags[]"]);
    subnets.refused("aws-03", json!([{ "tags": { "a": "" } }]), &["spec.subnetSelectorTerms[0].tags.a"]);
    let many: serde_json::Map<String, Value> = (0..21).map(|i| (format!("t{i}"), json!("a"))).collect();
    subnets.refused("aws-03", json!([{ "tags": many }]), &["spec.subnetSelectorTerms[0].tags"]);
    let both = json!({ "id": "subnet-1", "tags": tags() });
    subnets.refused("aws-04", json!([both]), &["spec.subnetSelectorTerms[0]"]);
    subnets.good("aws-04", json!([both, { "tags": tags() }]));

    let mut groups = Field(t, GROUPS);
    for term in [json!({ "id": "sg-1a" }), json!({ "name": "a" }), json!({ "tags": tags() })] {
        groups.good("aws-05", json!([term]));
    }
    for term in [
        json!({ "id": "sg-1a", "tags": tags() }),
        json!({ "id": "sg-1a", "name": "a" }),
        json!({ "name": "a", "tags": tags() }),
        json!({}),
    ] {
        groups.refused("aws-05", json!([term]), &["spec.securityGroupSelectorTerms[0]"]);
    }
    groups.good("aws-05", json!([{ "name": "a", "tags": tags() }, { "id": "sg-1a" }]));
    groups.refused("aws-05", json!([{ "id": "1a" }]), &["spec.securityGroupSelectorTerms[0].id"]);
    groups.refused("aws-05", json!([]), &["spec.securityGroupSelectorTerms"]);

    let mut reservations = Field(t, RESERVATIONS);
    let owner = "123456789012";
    reservations.good("aws-06", json!([]));
    reservations.good("aws-06", json!([{ "id": "cr-1a" }]));
    reservations.good("aws-06", json!([{ "tags": tags(), "ownerID": owner }]));
    for term in [
        json!({ "id": "cr-1a", "tags": tags() }),
        json!({ "id": "cr-1a", "ownerID": owner }),
        json!({ "id": "cr-1a", "instanceMatchCriteria": "open" }),
        json!({ "ownerID": owner }),
    ] {
        reservations.refused("aws-06", json!([term]), &["spec.capacityReservationSelectorTerms[0]"]);
    }
    for bad in ["12345678901", "1234567890123", "12345678901a"] {
        let terms = json!([{ "tags": tags(), "ownerID": bad }]);
        reservations.refused("aws-06", terms, &["spec.capacityReservationSelectorTerms[0].ownerID"]);
    }
    for criteria in ["open", "targeted"] {
        reservations.good("aws-07", json!([{ "instanceMatchCriteria": criteria }]));
    }
    for criteria in ["Open", "any", ""] {
        let terms = json!([{ "instanceMatchCriteria": criteria }]);
        let path = "spec.capacityReservationSelectorTerms[0].instanceMatchCriteria";
        reservations.refused("aws-07", terms, &[path]);
    }
    for (list, name) in [
        (GROUPS, "securityGroupSelectorTerms"),
        (RESERVATIONS, "capacityReservationSelectorTerms"),
        (AMIS, "amiSelectorTerms"),
    ] {
        for (tags, path) in [(json!({ "": "b" }), "[]"), (json!({ "a": "" }), ".a")] {
            let path = format!("spec.{name}[0].tags{path}").leak();
            let changes = [(list, json!([{ "tags": tags }])), (FAMILY, json!("AL2023"))];
            t.refused("aws-03", Ec2NodeClass, &changes, &[path]);
        }
    }
    images(t);
    identity(t);
}

fn images(t: &mut Table) {
    let tags = || json!({ "a": "b" });
    let al2023 = |terms: Value| [(AMIS, terms), (FAMILY, json!("AL2023"))];
    const FIRST: &str = "spec.amiSelectorTerms[0]";
    for term in [
        json!({ "id": "ami-1a" }),
        json!({ "name": "a", "owner": "self" }),
        json!({ "tags": tags(), "owner": "amazon" }),
        json!({ "ssmParameter": "/a/b" }),
    ] {
        t.good("aws-08", Ec2NodeClass, &al2023(json!([term])));
        t.refused("aws-11", Ec2NodeClass, &[(AMIS, json!([term]))], &["spec"]);
    }
    t.refused("aws-08", Ec2NodeClass, &al2023(json!([{ "owner": "self" }])), &[FIRST]);
    t.refused("aws-08", Ec2NodeClass, &al2023(json!([{}])), &[FIRST]);
    for other in [json!({ "name": "a" }), json!({ "owner": "self" }), json!({ "tags": tags() })] {
        let mut term = other;
        term["id"] = json!("ami-1a");
        t.refused("aws-08", Ec2NodeClass, &al2023(json!([term])), &["spec.amiSelectorTerms[0].id"]);
        term.as_object_mut().map(|term| term.remove("id"));
        term["alias"] = json!("al2023@latest");
        t.refused("aws-09", Ec2NodeClass, &[(AMIS, json!([term]))], &["spec.amiSelectorTerms[0].alias"]);
    }
    t.refused("aws-08", Ec2NodeClass, &al2023(json!([{ "id": "1a" }])), &["spec.amiSelectorTerms[0].id"]);
    t.refused("aws-08", Ec2NodeClass, &al2023(json!([])), &["spec.amiSelectorTerms"]);
    t.refused("aws-08", Ec2NodeClass, &al2023(Value::Null), &["spec.amiSelectorTerms"]);

    let alias = |alias: &str| json!([{ "alias": alias }]);
    const ALIAS: &str = "spec.amiSelectorTerms[0].alias";
    let terms = json!([{ "alias": "al2023@latest" }, { "id": "ami-1a" }]);
    t.refused("aws-09", Ec2NodeClass, &[(AMIS, terms)], &["spec.amiSelectorTerms"]);
    let pinned = ["al2@v20240807", "al2023@v20240807", "bottlerocket@v1.20.3", "bottlerocket@1.20.3"];
    for good in pinned.iter().chain(&["al2@latest", "bottlerocket@latest"]) {
        t.good("aws-09", Ec2NodeClass, &[(AMIS, alias(good))]);
    }
    for bad in ["al2023", "al2023@", "AL2023@latest", "ubuntu@latest", "@latest"] {
        t.refused("aws-09", Ec2NodeClass, &[(AMIS, alias(bad))], &[ALIAS]);
    }
    for family in ["windows2019", "windows2022", "windows2025"] {
        t.good("aws-10", Ec2NodeClass, &[(AMIS, alias(&format!("{family}@latest")))]);
        t.refused("aws-10", Ec2NodeClass, &[(AMIS, alias(&format!("{family}@v1")))], &[ALIAS]);
    }
    t.refused("aws-10", Ec2NodeClass, &[(AMIS, alias(&format!("al2023@v{}", "1".repeat(23))))], &[ALIAS]);
    t.good("aws-10", Ec2NodeClass, &[(AMIS, alias(&format!("al2023@v{}", "1".repeat(22))))]);
    for (family, name) in [
        ("AL2", "al2"),
        ("AL2023", "al2023"),
        ("Bottlerocket", "bottlerocket"),
        ("Windows2019", "windows2019"),
        ("Windows2022", "windows2022"),
        ("Windows2025", "windows2025"),
    ] {
        let of = |family: &str| [(AMIS, alias(&format!("{name}@latest"))), (FAMILY, json!(family))];
        t.good("aws-11", Ec2NodeClass, &of(family));
        t.good("aws-11", Ec2NodeClass, &of("Custom"));
        let other = if family == "AL2" { "AL2023" } else { "AL2" };
        t.refused("aws-11", Ec2NodeClass, &of(other), &["spec"]);
        t.good("aws-11", Ec2NodeClass, &[(AMIS, json!([{ "id": "ami-1a" }])), (FAMILY, json!(family))]);
    }
    t.good("aws-11", Ec2NodeClass, &[(AMIS, json!([{ "id": "ami-1a" }])), (FAMILY, json!("Custom"))]);
    for family in ["Ubuntu", "al2023", ""] {
        t.refused(
            "aws-12",
            Ec2NodeClass,
            &al2023(json!([{ "id": "ami-1a" }]))
                .map(|(at, value)| (at, if at == FAMILY { json!(family) } else { value })),
            &["spec.amiFamily"],
        );
    }
}

fn identity(t: &mut Table) {
    t.good("aws-13", Ec2NodeClass, &[(ROLE, Value::Null), (PROFILE, json!("p"))]);
    t.refused("aws-13", Ec2NodeClass, &[(PROFILE, json!("p"))], &["spec"]);
    t.refused("aws-13", Ec2NodeClass, &[(ROLE, Value::Null)], &["spec"]);
    t.refused("aws-13", Ec2NodeClass, &[(ROLE, json!(""))], &["spec.role"]);
    t.refused(
        "aws-13",
        Ec2NodeClass,
        &[(ROLE, Value::Null), (PROFILE, json!(""))],
        &["spec.instanceProfile"],
    );
    t.update("aws-14", Ec2NodeClass, &[], &[(ROLE, json!("other"))], &[]);
    t.update("aws-14", Ec2NodeClass, &[], &[(ROLE, Value::Null), (PROFILE, json!("p"))], &[]);
    for key in [
        "kubernetes.io/cluster/x",
        "karpenter.sh/nodepool",
        "karpenter.sh/nodeclaim",
        "eks:eks-cluster-name",
        "karpenter.k8s.aws/ec2nodeclass",
        "",
    ] {
        let path = if key.contains(['/', '.']) || key.is_empty() {
            format!("spec.tags[{key}]").leak()
        } else {
            format!("spec.tags.{key}").leak()
        };
        t.refused("aws-15", Ec2NodeClass, &[("/spec/tags", json!({ key: "a" }))], &[path]);
    }
    t.good("aws-15", Ec2NodeClass, &[("/spec/tags", json!({ "team": "a", "karpenter.sh/discovery": "" }))]);
}

pub fn machine_cases(t: &mut Table) {
    let disk = |ebs: Value| json!([{ "deviceName": "/dev/xvda", "ebs": ebs }]);
    let mut disks = Field(t, DISKS);
    let root = json!({ "ebs": { "volumeSize": "20Gi" }, "rootVolume": true });
    disks.good("aws-16", json!([root, { "ebs": { "volumeSize": "20Gi" } }]));
    disks.refused("aws-16", json!([root, root]), &["spec.blockDeviceMappings"]);
    disks.good("aws-16", json!(vec![json!({ "deviceName": "a" }); 50]));
    disks.refused("aws-16", json!(vec![json!({ "deviceName": "a" }); 51]), &["spec.blockDeviceMappings"]);
    disks.good("aws-17", disk(json!({ "snapshotID": "snap-1" })));
    for ebs in [json!({}), json!({ "encrypted": true, "volumeType": "gp3" })] {
        disks.refused("aws-17", disk(ebs), &["spec.blockDeviceMappings[0].ebs"]);
    }
    for kind in ["standard", "io1", "io2", "gp2", "sc1", "st1", "gp3"] {
        disks.good("aws-17", disk(json!({ "volumeSize": "1Ti", "volumeType": kind })));
    }
    let bad = disk(json!({ "volumeSize": "1Ti", "volumeType": "gp4" }));
    disks.refused("aws-17", bad, &["spec.blockDeviceMappings[0].ebs.volumeType"]);
    let sizes = ["1Gi", "1G", "59000Gi", "64000G", "64T", "58Ti", "18Ti", "19Ti", "28Ti", "49Ti", "63999G"];
    for size in sizes {
        disks.good("aws-18", disk(json!({ "volumeSize": size })));
    }
    let sizes =
        ["64001G", "65T", "59Ti", "59001Gi", "0Gi", "0", "512Mi", "1.5Ti", "Gi", "large", "20", "-1Gi", ""];
    for size in sizes {
        let path = "spec.blockDeviceMappings[0].ebs.volumeSize";
        disks.refused("aws-18", disk(json!({ "volumeSize": size })), &[path]);
    }
    const RATE: &str = "spec.blockDeviceMappings[0].ebs.volumeInitializationRate";
    for (rate, good) in [(99, false), (100, true), (300, true), (301, false)] {
        let ebs = disk(json!({ "snapshotID": "snap-1", "volumeInitializationRate": rate }));
        if good { disks.good("aws-19", ebs) } else { disks.refused("aws-19", ebs, &[RATE]) }
    }
    for ebs in [
        json!({ "volumeSize": "1Gi", "volumeInitializationRate": 100 }),
        json!({ "volumeSize": "1Gi", "snapshotID": "", "volumeInitializationRate": 100 }),
    ] {
        disks.refused("aws-19", disk(ebs), &["spec.blockDeviceMappings[0].ebs"]);
    }

    let nic = |card: i32, device: i32, kind: &str| json!({ "networkCardIndex": card, "deviceIndex": device, "interfaceType": kind });
    let (main, efa) = (nic(0, 0, "interface"), nic(1, 0, "efa-only"));
    let mut nics = Field(t, "/spec/networkInterfaces");
    nics.good("aws-20", json!([]));
    nics.good("aws-20", json!([main, nic(0, 1, "efa-only"), efa]));
    for list in [
        json!([efa]),
        json!([nic(0, 0, "efa-only")]),
        json!([main, main]),
        json!([main, efa, nic(1, 1, "efa-only")]),
        json!([main, nic(0, 0, "efa-only")]),
    ] {
        nics.refused("aws-20", list, &["spec.networkInterfaces"]);
    }
    nics.refused("aws-20", json!([main, nic(1, 0, "efa")]), &["spec.networkInterfaces[1].interfaceType"]);
    nics.refused(
        "aws-20",
        json!([main, nic(-1, 0, "interface")]),
        &["spec.networkInterfaces[1].networkCardIndex"],
    );
    nics.refused(
        "aws-20",
        json!([main, { "networkCardIndex": 1, "interfaceType": "interface" }]),
        &["spec.networkInterfaces[1].deviceIndex"],
    );

    for (limit, good) in [(0, false), (1, true), (64, true), (65, false)] {
        let changes = [(OPTIONS, json!({ "httpPutResponseHopLimit": limit }))];
        match good {
            true => t.good("aws-22", Ec2NodeClass, &changes),
            false => {
                t.refused("aws-22", Ec2NodeClass, &changes, &["spec.metadataOptions.httpPutResponseHopLimit"])
            }
        }
    }
    for (field, good) in
        [("httpEndpoint", "disabled"), ("httpProtocolIPv6", "enabled"), ("httpTokens", "optional")]
    {
        t.good("aws-22", Ec2NodeClass, &[(OPTIONS, json!({ field: good }))]);
        let path = format!("spec.metadataOptions.{field}").leak();
        t.refused("aws-22", Ec2NodeClass, &[(OPTIONS, json!({ field: "on" }))], &[path]);
    }
    const TRACKING: &str = "/spec/connectionTracking";
    t.refused("aws-23", Ec2NodeClass, &[(TRACKING, json!({}))], &["spec.connectionTracking"]);
    for (field, least, most) in
        [("tcpEstablishedTimeout", 60, 432_000), ("udpStreamTimeout", 60, 180), ("udpTimeout", 30, 60)]
    {
        let path = format!("spec.connectionTracking.{field}").leak();
        for good in [least, most] {
            t.good("aws-23", Ec2NodeClass, &[(TRACKING, json!({ field: good }))]);
        }
        for bad in [least - 1, most + 1] {
            t.refused("aws-23", Ec2NodeClass, &[(TRACKING, json!({ field: bad }))], &[path]);
        }
    }
    let mut group = Field(t, "/spec/placementGroupSelector");
    group.good("aws-24", json!({ "name": "a" }));
    group.good("aws-24", json!({ "id": "pg-1a" }));
    group.refused("aws-24", json!({ "name": "a", "id": "pg-1a" }), &["spec.placementGroupSelector"]);
    group.refused("aws-24", json!({}), &["spec.placementGroupSelector"]);
    group.refused("aws-24", json!({ "name": "" }), &["spec.placementGroupSelector.name"]);
    group.refused("aws-24", json!({ "id": "1a" }), &["spec.placementGroupSelector.id"]);
    t.good("aws-25", Ec2NodeClass, &[("/spec/instanceStorePolicy", json!("RAID0"))]);
    for policy in ["RAID1", "raid0", ""] {
        t.refused(
            "aws-25",
            Ec2NodeClass,
            &[("/spec/instanceStorePolicy", json!(policy))],
            &["spec.instanceStorePolicy"],
        );
    }
    t.good("aws-25", Ec2NodeClass, &[("/spec/ipPrefixCount", json!(0))]);
    t.refused("aws-25", Ec2NodeClass, &[("/spec/ipPrefixCount", json!(-1))], &["spec.ipPrefixCount"]);
    for (value, good) in [("enabled", true), ("disabled", true), ("true", false), ("", false)] {
        let changes = [("/spec/cpuOptions", json!({ "nestedVirtualization": value }))];
        match good {
            true => t.good("aws-26", Ec2NodeClass, &changes),
            false => t.refused("aws-26", Ec2NodeClass, &changes, &["spec.cpuOptions.nestedVirtualization"]),
        }
    }
}

macro_rules! held {
    ($($name:ident => $id:literal),* $(,)?) => {
        $(#[test] fn $name() { check($id); })*
    };
}

held! {
    aws_a01_subnet_terms => "aws-01",
    aws_a02_subnet_term_selects_something => "aws-02",
    aws_a03_subnet_tags => "aws-03",
    aws_a04_subnet_id_with_tags => "aws-04",
    aws_a05_security_group_terms => "aws-05",
    aws_a06_capacity_reservation_terms => "aws-06",
    aws_a07_instance_match_criteria => "aws-07",
    aws_a08_ami_terms => "aws-08",
    aws_a09_alias_alone_and_well_formed => "aws-09",
    aws_a10_windows_alias_and_length => "aws-10",
    aws_a11_ami_family_and_alias => "aws-11",
    aws_a12_ami_family_names => "aws-12",
    aws_a13_role_or_instance_profile => "aws-13",
    aws_a14_role_may_change => "aws-14",
    aws_a15_restricted_tags => "aws-15",
    aws_a16_root_volume => "aws-16",
    aws_a17_ebs_needs_size_or_snapshot => "aws-17",
    aws_a18_volume_size => "aws-18",
    aws_a19_volume_initialization_rate => "aws-19",
    aws_a20_network_interfaces => "aws-20",
    aws_a22_metadata_options => "aws-22",
    aws_a23_connection_tracking => "aws-23",
    aws_a24_placement_group_selector => "aws-24",
    aws_a25_instance_store_and_prefixes => "aws-25",
    aws_a26_nested_virtualization => "aws-26",
}

#[test]
fn aws_a21_metadata_options_are_filled_in() {
    let filled = json!({
        "httpEndpoint": "enabled", "httpProtocolIPv6": "disabled",
        "httpPutResponseHopLimit": 1, "httpTokens": "required",
    });
    for options in [Value::Null, json!({}), json!({ "httpTokens": null })] {
        let raw = with(Ec2NodeClass, &[(OPTIONS, options)]);
        let mut class = raw.clone();
        apply_defaults(Ec2NodeClass, &mut class);
        assert_eq!(class["spec"]["metadataOptions"], filled);
    }
    let raw = with(Ec2NodeClass, &[(OPTIONS, json!({ "httpTokens": "optional" }))]);
    let mut class = raw.clone();
    apply_defaults(Ec2NodeClass, &mut class);
    assert_eq!(class["spec"]["metadataOptions"]["httpPutResponseHopLimit"], 1);
    let typed: Class = serde_json::from_value(raw).expect("a class");
    assert_eq!(serde_json::to_value(&typed).expect("json")["spec"], class["spec"]);
}
