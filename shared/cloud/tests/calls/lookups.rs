//! What a class selects, and what machines there are.

use std::collections::BTreeMap;

use api::crd::{AmiSelectorTerm, SecurityGroupSelectorTerm, SubnetSelectorTerm};
use cloud::images::ImageContext;
use cloud::profiles::ProfileSpec;
use model::{CapacityType, InstanceState};
use serde_json::json;

use crate::aws::{Answer, Aws, json as answer, refusal, wait, xml};

fn instances(inside: &str) -> Answer {
    xml(
        "DescribeInstances",
        &format!("<reservationSet><item><instancesSet>{inside}</instancesSet></item></reservationSet>"),
    )
}

fn instance(id: &str, more: &str) -> String {
    format!(
        "<item><instanceId>{id}</instanceId><imageId>ami-1</imageId><instanceType>m5.large</instanceType>\
         <instanceState><name>running</name></instanceState><launchTime>2026-12-01T10:00:00.000Z</launchTime>\
         <placement><availabilityZone>us-east-1a</availabilityZone><tenancy>default</tenancy></placement>{more}</item>"
    )
}

#[test]
fn machines_are_read_whole() {
    let spot = "<instanceLifecycle>spot</instanceLifecycle><subnetId>subnet-1</subnetId>\
        <privateDnsName>ip-10-0-0-1.ec2.internal</privateDnsName>\
        <groupSet><item><groupId>sg-1</groupId></item></groupSet>\
        <networkInterfaceSet><item><groupSet><item><groupId>sg-2</groupId></item></groupSet></item></networkInterfaceSet>\
        <tagSet><item><key>karpenter.sh/nodeclaim</key><value>general-1</value></item>\
        <item><key>journeyman.dev/launch-group</key><value>g</value></item></tagSet>";
    let reservation = |preference: &str| {
        format!(
            "<capacityReservationId>cr-1</capacityReservationId><capacityReservationSpecification>\
             <capacityReservationPreference>{preference}</capacityReservationPreference></capacityReservationSpecification>"
        )
    };
    let aws = Aws::answering([(
        "DescribeInstances",
        instances(
            &[
                instance("i-1", spot),
                instance("i-2", &reservation("capacity-reservations-only")),
                instance("i-3", &reservation("open")),
            ]
            .concat(),
        ),
    )]);
    let found = wait(aws.cloud().instances_of_cluster("prod")).unwrap();
    insta::assert_snapshot!(aws.asked()[0]);
    let one = &found[0];
    assert_eq!(one.instance.provider_id, "aws:///us-east-1a/i-1");
    assert_eq!(
        (one.instance.state, one.instance.capacity_type),
        (InstanceState::Running, CapacityType::Spot)
    );
    assert_eq!(one.instance.launched, "2026-12-01T10:00:00Z".parse().unwrap());
    assert_eq!(
        (one.instance.claim.as_deref(), one.instance.launch_group.as_deref()),
        (Some("general-1"), Some("g"))
    );
    assert_eq!(one.instance.subnet.as_deref(), Some("subnet-1"));
    assert_eq!(one.instance.security_groups, ["sg-1".to_owned()].into(), "not those of pods' interfaces");
    assert_eq!(one.private_dns_name.as_deref(), Some("ip-10-0-0-1.ec2.internal"));
    let bought: Vec<_> = found[1..]
        .iter()
        .map(|machine| (machine.instance.capacity_type, machine.instance.reservation.as_deref()))
        .collect();
    assert_eq!(
        bought,
        [(CapacityType::Reserved, Some("cr-1")), (CapacityType::OnDemand, None)],
        "what merely lands in an open reservation is on demand"
    );
}

/// Ids that EC2 doesn't know are no error, and no more than 200 go in a filter.
#[test]
fn many_ids_are_asked_for_in_turns() {
    let ids: Vec<String> = (0..201).map(|index| format!("i-{index}")).collect();
    let aws = Aws::answering([
        ("DescribeInstances", instances(&instance("i-0", ""))),
        ("DescribeInstances", instances("")),
    ]);
    assert_eq!(wait(aws.cloud().instances_by_id(&ids)).unwrap().len(), 1);
    let asked = aws.asked();
    assert!(asked[0].contains("Filter.1.Value.200=i-199") && !asked[0].contains("Value.201"));
    assert!(asked[1].contains("Filter.1.Value.1=i-200"));
}

/// N04: one call a question, page by page; a machine that two questions find is one.
#[test]
fn statuses_are_asked_for_by_what_is_wrong() {
    let statuses = |of: &[&str], next: &str| {
        let more = format!("<instanceStatusSet>{}</instanceStatusSet>{next}", of.concat());
        xml("DescribeInstanceStatus", &more)
    };
    let check = |name: &str, status: &str| {
        format!(
            "<{name}><status>{status}</status><details><item><name>reachability</name><status>{status}</status>\
             <impairedSince>2026-12-01T10:00:00.000Z</impairedSince></item></details></{name}>"
        )
    };
    let event = "<eventsSet><item><code>system-maintenance</code><description>moves</description>\
        <notBefore>2026-12-04T10:00:00.000Z</notBefore><notAfter>2026-12-04T12:00:00.000Z</notAfter></item></eventsSet>";
    let of = |id: &str, inside: &str| format!("<item><instanceId>{id}</instanceId>{inside}</item>");
    let one = of("i-1", &check("instanceStatus", "failed"));
    let both = of("i-2", &[check("systemStatus", "failed"), event.to_owned()].concat());
    let aws = Aws::answering([
        ("DescribeInstanceStatus", statuses(&[&one], "<nextToken>more</nextToken>")),
        ("DescribeInstanceStatus", statuses(&[], "")),
        ("DescribeInstanceStatus", statuses(&[&both], "")),
        ("DescribeInstanceStatus", statuses(&[&both], "")),
    ]);
    let found = wait(aws.cloud().statuses()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&found).unwrap());
    insta::assert_snapshot!(aws.asked().join("\n\n"));
}

fn ending(id: &str) -> Answer {
    let state = "<currentState><name>shutting-down</name></currentState>";
    let change = format!("<item><instanceId>{id}</instanceId>{state}</item>");
    xml("TerminateInstances", &format!("<instancesSet>{change}</instancesSet>"))
}

/// 195: one unknown id does not keep the others from being ended.
#[test]
fn what_is_gone_does_not_keep_others_alive() {
    let aws = Aws::answering([
        ("TerminateInstances", refusal(400, "InvalidInstanceID.NotFound", "i-2")),
        ("TerminateInstances", ending("i-1")),
        ("TerminateInstances", refusal(400, "InvalidInstanceID.NotFound", "i-2")),
    ]);
    let ended = wait(aws.cloud().terminate(&["i-1".into(), "i-2".into()])).unwrap();
    assert_eq!((ended.ending, ended.gone), (["i-1".to_owned()].into(), ["i-2".to_owned()].into()));
    aws.asked();
}

/// 205: only what is absent is written.
#[test]
fn tags_that_are_there_stay() {
    let tags: BTreeMap<String, String> = [("Name", "node-1"), ("karpenter.sh/nodeclaim", "general-1")]
        .map(|(k, v)| (k.into(), v.into()))
        .into();
    let named = "<tagSet><item><key>Name</key><value>mine</value></item></tagSet>";
    let aws = Aws::answering([
        ("DescribeInstances", instances(&instance("i-1", named))),
        ("CreateTags", xml("CreateTags", "<return>true</return>")),
        ("DescribeInstances", instances("")),
    ]);
    let cloud = aws.cloud();
    assert!(wait(cloud.tag_instance("i-1", &tags)).unwrap());
    assert!(!wait(cloud.tag_instance("i-2", &tags)).unwrap(), "no machine, no tags");
    let asked = aws.asked();
    assert!(
        asked[1].contains("Tag.1.Key=karpenter.sh/nodeclaim") && !asked[1].contains("Name"),
        "{}",
        asked[1]
    );
}

fn image(id: &str, created: &str, architecture: &str) -> String {
    format!(
        "<item><imageId>{id}</imageId><name>{id}</name><creationDate>{created}</creationDate>\
         <architecture>{architecture}</architecture><imageState>available</imageState>\
         <deprecationTime>2027-01-01T00:00:00.000Z</deprecationTime></item>"
    )
}

fn images(of: &[String]) -> Answer {
    xml("DescribeImages", &format!("<imagesSet>{}</imagesSet>", of.concat()))
}

#[track_caller]
fn chosen(aws: &Aws, terms: &[AmiSelectorTerm], now: &str) -> Vec<String> {
    let context =
        ImageContext { kubernetes: "1.35", parameter_prefix: Some("/test"), now: now.parse().unwrap() };
    let amis = wait(aws.cloud().images(terms, context)).unwrap();
    let told = amis.iter().map(|ami| {
        let keys: Vec<_> =
            ami.requirements.iter().map(|one| format!("{} {}", one.key, one.operator)).collect();
        format!("{}{} {}", ami.id, if ami.deprecated { " deprecated" } else { "" }, keys.join(", "))
    });
    told.collect()
}

#[test]
fn an_alias_is_looked_up_by_its_parameters() {
    let root = "/test/eks/optimized-ami/1.35/amazon-linux-2023";
    let values = json!({"Parameters": [
        {"Name": format!("{root}/x86_64/standard/recommended/image_id"), "Value": "ami-x86"},
        {"Name": format!("{root}/arm64/standard/recommended/image_id"), "Value": "ami-arm"},
        {"Name": format!("{root}/x86_64/nvidia/recommended/image_id"), "Value": "ami-gpu"},
    ], "InvalidParameters": [format!("{root}/x86_64/neuron/recommended/image_id")]});
    let found = [
        image("ami-x86", "2026-11-01", "x86_64"),
        image("ami-arm", "2026-11-01", "arm64"),
        image("ami-gpu", "2026-11-02", "x86_64"),
    ];
    let aws = Aws::answering([("GetParameters", answer(values)), ("DescribeImages", images(&found))]);
    let term = AmiSelectorTerm { alias: Some("al2023@latest".into()), ..AmiSelectorTerm::default() };
    insta::assert_snapshot!(chosen(&aws, &[term], "2026-12-01T00:00:00Z").join("\n"));
    insta::assert_snapshot!(aws.asked()[1]);
}

#[test]
fn aws_b52_some_parameters_of_an_alias_may_be_missing_but_not_all() {
    let term = || AmiSelectorTerm { alias: Some("al2023@v20260901".into()), ..AmiSelectorTerm::default() };
    let folder = "/test/eks/optimized-ami/1.35/amazon-linux-2023/arm64/standard";
    let release = "amazon-eks-node-al2023-arm64-standard-1.35-v20260901";
    let one = json!({"Parameters": [{"Name": format!("{folder}/{release}/image_id"), "Value": "ami-arm"}]});
    let aws = Aws::answering([
        ("GetParameters", answer(one)),
        ("DescribeImages", images(&[image("ami-arm", "2026-09-01", "arm64")])),
    ]);
    let told = chosen(&aws, &[term()], "2026-12-01T00:00:00Z");
    assert!(told.len() == 1 && told[0].starts_with("ami-arm "), "{told:?}");
    aws.asked();
    let aws = Aws::answering([("GetParameters", answer(json!({"Parameters": []})))]);
    let now = "2026-12-01T00:00:00Z".parse().unwrap();
    let context = ImageContext { kubernetes: "1.35", parameter_prefix: None, now };
    let error = wait(aws.cloud().images(&[term()], context)).unwrap_err();
    assert_eq!(error.to_string(), "AWS keeps no images of AL2023 v20260901 for Kubernetes 1.35");
    aws.asked();
}

/// 208, 209: owners default by what is selected; a parameter that holds no image selects nothing.
#[test]
fn terms_are_asked_for_each_in_its_way() {
    let term = |term: serde_json::Value| serde_json::from_value::<AmiSelectorTerm>(term).unwrap();
    let terms = [
        term(json!({"name": "mine-*"})),
        term(json!({"tags": {"team": "web", "any": "*"}})),
        term(json!({"id": "ami-3"})),
        term(json!({"ssmParameter": "/mine/image"})),
        term(json!({"ssmParameter": "/mine/text"})),
        term(json!({"ssmParameter": "/mine/none"})),
    ];
    let values = json!({"Parameters": [
        {"Name": "/mine/image", "Value": "ami-4"}, {"Name": "/mine/text", "Value": "hello"}]});
    let aws = Aws::answering([
        ("DescribeImages", images(&[image("ami-1", "2026-01-01", "x86_64")])),
        ("DescribeImages", images(&[image("ami-2", "2026-02-01", "x86_64")])),
        ("GetParameters", answer(values)),
        (
            "DescribeImages",
            images(&[image("ami-3", "2026-03-01", "arm64"), image("ami-4", "2026-01-02", "arm64")]),
        ),
    ]);
    let told = chosen(&aws, &terms, "2027-06-01T00:00:00Z");
    assert_eq!(told, ["ami-3 deprecated kubernetes.io/arch In", "ami-2 deprecated kubernetes.io/arch In"]);
    insta::assert_snapshot!(aws.asked().join("\n\n"));
}

#[test]
fn subnets_and_groups_are_found_once_and_in_order() {
    let subnet = |id: &str, free: u32| {
        format!(
            "<item><subnetId>{id}</subnetId><availabilityZone>us-east-1a</availabilityZone>\
             <availabilityZoneId>use1-az1</availabilityZoneId><availableIpAddressCount>{free}</availableIpAddressCount></item>"
        )
    };
    let subnets = |of: &[String]| xml("DescribeSubnets", &format!("<subnetSet>{}</subnetSet>", of.concat()));
    let group =
        "<item><groupId>sg-2</groupId><groupName>two</groupName></item><item><groupId>sg-1</groupId></item>";
    let groups = || xml("DescribeSecurityGroups", &format!("<securityGroupInfo>{group}</securityGroupInfo>"));
    let aws = Aws::answering([
        ("DescribeSubnets", subnets(&[subnet("subnet-1", 5), subnet("subnet-2", 9)])),
        ("DescribeSubnets", subnets(&[subnet("subnet-2", 9), subnet("subnet-0", 5)])),
        ("DescribeSecurityGroups", groups()),
        ("DescribeSecurityGroups", groups()),
        ("DescribeSecurityGroups", groups()),
    ]);
    let cloud = aws.cloud();
    let terms: Vec<SubnetSelectorTerm> =
        serde_json::from_value(json!([{"id": "subnet-2"}, {"tags": {"k": "v"}}, {"id": "subnet-0"}]))
            .unwrap();
    let found = wait(cloud.subnets(&terms)).unwrap();
    let read: Vec<_> = found.iter().map(|subnet| (subnet.id.as_str(), subnet.free)).collect();
    assert_eq!(read, [("subnet-2", 9), ("subnet-0", 5), ("subnet-1", 5)]);
    let terms: Vec<SecurityGroupSelectorTerm> =
        serde_json::from_value(json!([{"id": "sg-1"}, {"name": "two"}, {"tags": {"k": "*"}}])).unwrap();
    let found = wait(cloud.security_groups(&terms)).unwrap();
    assert_eq!(found.iter().map(|group| group.id.as_str()).collect::<Vec<_>>(), ["sg-1", "sg-2"]);
    insta::assert_snapshot!(aws.asked().join("\n\n"));
}

const PROFILE: ProfileSpec<'static> = ProfileSpec {
    cluster: "prod",
    class: "default",
    class_uid: "uid-1",
    role: "/path/nodes",
    tags: &BTreeMap::new(),
};

fn profile(roles: &str) -> Answer {
    let profile = format!(
        "<InstanceProfile><Path>/</Path><InstanceProfileName>p</InstanceProfileName><InstanceProfileId>i</InstanceProfileId>\
         <Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles>{roles}</Roles></InstanceProfile>"
    );
    xml("GetInstanceProfile", &format!("<GetInstanceProfileResult>{profile}</GetInstanceProfileResult>"))
}

fn role(name: &str) -> String {
    format!(
        "<member><Path>/</Path><RoleName>{name}</RoleName><RoleId>i</RoleId><Arn>a</Arn>\
         <CreateDate>2026-01-01T00:00:00Z</CreateDate></member>"
    )
}

/// IAM's refusals have another form than EC2's.
fn iam_refusal(status: u16, code: &str) -> Answer {
    Answer::Says(
        status,
        format!(
            "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>no</Message></Error></ErrorResponse>"
        ),
    )
}

#[test]
fn a_profile_is_made_once_and_has_its_role() {
    let done = |operation: &'static str| (operation, xml(operation, ""));
    let made = || {
        let profile = "<CreateInstanceProfileResult><InstanceProfile><Path>/</Path><InstanceProfileName>p</InstanceProfileName>\
            <InstanceProfileId>i</InstanceProfileId><Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate>\
            <Roles/></InstanceProfile></CreateInstanceProfileResult>";
        ("CreateInstanceProfile", xml("CreateInstanceProfile", profile))
    };
    let missing = || ("GetInstanceProfile", iam_refusal(404, "NoSuchEntity"));
    let has = |roles: &str| ("GetInstanceProfile", profile(roles));
    let cases: [Vec<(&str, Answer)>; 4] = [
        vec![missing(), made(), done("AddRoleToInstanceProfile")],
        vec![has(&role("nodes"))],
        vec![has(""), done("AddRoleToInstanceProfile")],
        vec![has(&role("other")), done("RemoveRoleFromInstanceProfile"), done("AddRoleToInstanceProfile")],
    ];
    for case in cases {
        let aws = Aws::answering(case);
        let name = wait(aws.cloud().ensure_instance_profile(&PROFILE)).unwrap();
        assert_eq!(name, PROFILE.name("us-east-1"));
        aws.asked();
    }
    let aws = Aws::answering([
        missing(),
        made(),
        ("AddRoleToInstanceProfile", iam_refusal(404, "NoSuchEntity")),
        has(""),
        done("DeleteInstanceProfile"),
    ]);
    let error = wait(aws.cloud().ensure_instance_profile(&PROFILE)).unwrap_err();
    assert!(error.is_not_found(), "a role that isn't there: {error}");
    let asked = aws.asked();
    assert!(asked[1].contains("Path=/karpenter/us-east-1/prod/uid-1/"), "{}", asked[1]);
}

#[test]
fn another_role_has_another_profile() {
    let name = PROFILE.name("us-east-1");
    assert!(name.starts_with("prod_") && name.len() == 25, "{name}");
    assert_eq!(name, ProfileSpec { role: "nodes", ..PROFILE }.name("us-east-1"), "a path is no other role");
    assert_ne!(name, ProfileSpec { role: "others", ..PROFILE }.name("us-east-1"));
    assert_ne!(name, ProfileSpec { class_uid: "uid-2", ..PROFILE }.name("us-east-1"));
    assert_ne!(name, PROFILE.name("eu-west-1"));
}

fn listed(names: &[&str]) -> Answer {
    let profile = |name: &&str| {
        format!(
            "<member><Path>/</Path><InstanceProfileName>{name}</InstanceProfileName><InstanceProfileId>i</InstanceProfileId>\
             <Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles/></member>"
        )
    };
    let names: String = names.iter().map(profile).collect();
    let result = format!("<IsTruncated>false</IsTruncated><InstanceProfiles>{names}</InstanceProfiles>");
    xml("ListInstanceProfiles", &format!("<ListInstanceProfilesResult>{result}</ListInstanceProfilesResult>"))
}

/// Whatever roles it has had, and whether or not they are still there.
#[test]
fn aws_b82_aws_b84_aws_b87_all_profiles_below_the_uid_of_a_class_are_deleted() {
    let done = |operation: &'static str| (operation, xml(operation, ""));
    let missing = || iam_refusal(404, "NoSuchEntity");
    let cases: [Vec<(&str, Answer)>; 4] = [
        vec![("ListInstanceProfiles", listed(&[]))],
        vec![
            ("ListInstanceProfiles", listed(&["p1", "p2"])),
            ("GetInstanceProfile", profile(&role("nodes"))),
            done("RemoveRoleFromInstanceProfile"),
            done("DeleteInstanceProfile"),
            ("GetInstanceProfile", profile("")),
            done("DeleteInstanceProfile"),
        ],
        vec![("ListInstanceProfiles", listed(&["p1"])), ("GetInstanceProfile", missing())],
        vec![
            ("ListInstanceProfiles", listed(&["p1"])),
            ("GetInstanceProfile", profile(&role("nodes"))),
            ("RemoveRoleFromInstanceProfile", missing()),
            ("DeleteInstanceProfile", missing()),
        ],
    ];
    for case in cases {
        let aws = Aws::answering(case);
        wait(aws.cloud().delete_instance_profiles("prod", "uid-1")).unwrap();
        let asked = aws.asked();
        assert!(asked[0].contains("PathPrefix=/karpenter/us-east-1/prod/uid-1/"), "{}", asked[0]);
    }
    let refused = Aws::answering([
        ("ListInstanceProfiles", listed(&["p1"])),
        ("GetInstanceProfile", iam_refusal(403, "AccessDenied")),
    ]);
    assert!(wait(refused.cloud().delete_instance_profiles("prod", "uid-1")).is_err());
}

fn template(name: &str, made: &str) -> String {
    format!("<item><launchTemplateName>{name}</launchTemplateName><createTime>{made}</createTime></item>")
}

#[test]
fn launch_templates_go_by_class_or_by_age_and_another_s_stay() {
    let now: jiff::Timestamp = "2026-06-02T12:00:00Z".parse().unwrap();
    let found = [
        template("journeyman.dev/old", "2026-06-01T12:00:00Z"),
        template("journeyman.dev/new", "2026-06-02T12:00:00Z"),
        template("karpenter.k8s.aws/1", "2026-05-01T12:00:00Z"),
    ]
    .concat();
    let listed = || {
        (
            "DescribeLaunchTemplates",
            xml("DescribeLaunchTemplates", &format!("<launchTemplates>{found}</launchTemplates>")),
        )
    };
    let deleted = || ("DeleteLaunchTemplate", xml("DeleteLaunchTemplate", ""));
    let gone = || ("DeleteLaunchTemplate", refusal(400, "InvalidLaunchTemplateName.NotFoundException", "no"));
    let day = jiff::SignedDuration::from_hours(24);
    let aws = Aws::answering([listed(), deleted()]);
    assert_eq!(
        wait(aws.cloud().delete_launch_templates("prod", None, now, day)).unwrap(),
        ["journeyman.dev/old"]
    );
    assert!(!aws.asked()[0].contains("ec2nodeclass"));
    let aws = Aws::answering([listed(), gone(), deleted()]);
    let all =
        wait(aws.cloud().delete_launch_templates("prod", Some("default"), now, jiff::SignedDuration::ZERO));
    assert_eq!(all.unwrap(), ["journeyman.dev/old", "journeyman.dev/new"], "one was gone already");
    assert!(aws.asked()[0].contains("ec2nodeclass"), "{}", aws.asked()[0]);
}
