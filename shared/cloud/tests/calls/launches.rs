//! Carrying a launch out: what is sent, and what each answer means.

use cloud::launch::Launched;
use model::{CapacityType, LaunchFailureKind};

use crate::aws::{Answer, Aws, refusal, wait, xml};
use crate::kit::{Launch, launch};

const CREATED: &str = "<launchTemplate><launchTemplateId>lt-1</launchTemplateId></launchTemplate>";

/// A fleet's machine as EC2 tells of it: the template by id, the override as it was asked for.
fn started(kind: &str, subnet: &str, lifecycle: &str, ids: &[&str]) -> String {
    let ids: String = ids.iter().map(|id| format!("<item>{id}</item>")).collect();
    format!(
        "<item>{}<lifecycle>{lifecycle}</lifecycle><instanceIds>{ids}</instanceIds><instanceType>{kind}</instanceType></item>",
        place(kind, subnet)
    )
}

fn place(kind: &str, subnet: &str) -> String {
    format!(
        "<launchTemplateAndOverrides><launchTemplateSpecification><launchTemplateId>lt-1</launchTemplateId>\
         <version>1</version></launchTemplateSpecification><overrides><instanceType>{kind}</instanceType>\
         <subnetId>{subnet}</subnetId></overrides></launchTemplateAndOverrides>"
    )
}

fn refused(kind: &str, subnet: &str, code: &str) -> String {
    format!(
        "<item>{}<lifecycle>on-demand</lifecycle><errorCode>{code}</errorCode><errorMessage>no</errorMessage></item>",
        place(kind, subnet)
    )
}

fn fleet(instances: &str, errors: &str) -> Answer {
    xml(
        "CreateFleet",
        &format!(
            "<fleetId>fleet-1</fleetId><fleetInstanceSet>{instances}</fleetInstanceSet><errorSet>{errors}</errorSet>"
        ),
    )
}

#[track_caller]
fn carried_out(
    launch: &Launch,
    calls: impl IntoIterator<Item = (&'static str, Answer)>,
) -> (Launched, Vec<String>) {
    let aws = Aws::answering(calls);
    let launched = wait(aws.cloud().launch(&launch.request(&launch.machines())));
    // The SDK makes a template's token up: a template that was deleted must not come back by an old one.
    let made_up = |line: &&str| !(line.starts_with("ClientToken=") && line.len() == 48);
    let told = |body: String| body.lines().filter(made_up).collect::<Vec<_>>().join("\n");
    (launched, aws.asked().into_iter().map(told).collect())
}

fn made() -> (&'static str, Answer) {
    ("CreateLaunchTemplate", xml("CreateLaunchTemplate", CREATED))
}

#[test]
fn what_is_sent_is_what_was_planned() {
    let machines = started("c7g.large", "subnet-a2", "on-demand", &["i-1", "i-2"]);
    let (launched, asked) = carried_out(&launch(), [made(), ("CreateFleet", fleet(&machines, ""))]);
    insta::assert_snapshot!(asked.join("\n\n"));
    let answer = launched.answer;
    assert!(answer.spent && answer.failures.is_empty());
    assert_eq!(answer.machines, ["aws:///us-east-1a/i-1", "aws:///us-east-1a/i-2"]);
    let machine = &launched.instances[1];
    assert_eq!(
        (machine.id.as_str(), machine.zone.as_str(), machine.image.as_str()),
        ("i-2", "us-east-1a", "ami-arm")
    );
    assert_eq!(
        (machine.capacity_type, machine.instance_type.as_str()),
        (CapacityType::OnDemand, "c7g.large")
    );
    assert_eq!(machine.launch_group.as_deref(), Some("general-x7k2p"));
    let spot = launch().offers(CapacityType::Spot, &[("c7g.large", "us-east-1a", 30_000)]);
    let (_, asked) = carried_out(&spot, [made(), ("CreateFleet", fleet("", ""))]);
    assert!(asked[0].contains("TagSpecification.2.ResourceType=spot-instances-request"), "{}", asked[0]);
    assert!(asked[1].contains("SpotOptions.AllocationStrategy=price-capacity-optimized"), "{}", asked[1]);
}

#[test]
fn a_reserved_machine_with_everything_set_is_sent_so() {
    let mut all = launch()
        .offers(CapacityType::Reserved, &[("p4d.24xlarge", "us-east-1a", 3_278)])
        .requests("vpc.amazonaws.com/efa")
        .requests("eks.amazonaws.com/nitro-sandbox")
        .spec(serde_json::json!({
            "associatePublicIPAddress": true, "ipPrefixCount": 2, "context": "c", "detailedMonitoring": true,
            "cpuOptions": {"nestedVirtualization": "disabled"},
            "connectionTracking": {"tcpEstablishedTimeout": 60, "udpStreamTimeout": 61, "udpTimeout": 30},
            "blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "1Ti", "iops": 3000,
                "throughput": 200, "volumeType": "gp3", "kmsKeyID": "k", "snapshotID": "s", "encrypted": true,
                "deleteOnTermination": true, "volumeInitializationRate": 100}}],
        }));
    all.ipv6 = true;
    all.order.reservation_type = Some("interruptible".into());
    all.order.offers[0].reservation = Some("cr-1".into());
    let machines = started("p4d.24xlarge", "subnet-a2", "interruptible-capacity-reservation", &["i-1"]);
    let (launched, asked) = carried_out(&all, [made(), ("CreateFleet", fleet(&machines, ""))]);
    insta::assert_snapshot!(asked.join("\n\n"));
    assert_eq!(launched.instances[0].capacity_type, CapacityType::Reserved);
    assert_eq!(launched.instances[0].reservation.as_deref(), Some("cr-1"));
}

/// A template that is there already is as good as made, and is not made again by the same process.
#[test]
fn templates_are_made_once() {
    let aws = Aws::answering([
        ("CreateLaunchTemplate", refusal(400, "InvalidLaunchTemplateName.AlreadyExistsException", "there")),
        ("CreateFleet", fleet(&started("c7g.large", "subnet-a2", "on-demand", &["i-1"]), "")),
        ("CreateFleet", fleet(&started("c7g.large", "subnet-a2", "on-demand", &["i-2"]), "")),
    ]);
    let (launch, cloud) = (launch(), aws.cloud());
    for id in ["i-1", "i-2"] {
        let launched = wait(cloud.launch(&launch.request(&launch.machines())));
        assert_eq!(launched.instances[0].id, id);
    }
    aws.asked();
}

/// 156: a template deleted behind our back is made again, once.
#[test]
fn a_lost_template_is_made_again_once() {
    let lost = || refusal(400, "InvalidLaunchTemplateName.NotFoundException", "gone");
    let machine = started("c7g.large", "subnet-a2", "on-demand", &["i-1"]);
    let calls = [made(), ("CreateFleet", lost()), made(), ("CreateFleet", fleet(&machine, ""))];
    assert_eq!(carried_out(&launch(), calls).0.instances.len(), 1);
    let calls = [made(), ("CreateFleet", lost()), made(), ("CreateFleet", lost())];
    let answer = carried_out(&launch(), calls).0.answer;
    assert_eq!(answer.failures[0].reason, "LaunchTemplateNotFound");
    let told = fleet("", &refused("c7g.large", "subnet-a2", "InvalidLaunchTemplateName.NotFoundException"));
    let calls = [made(), ("CreateFleet", told), made(), ("CreateFleet", fleet(&machine, ""))];
    assert_eq!(carried_out(&launch(), calls).0.instances.len(), 1, "told in an answer");
}

/// 189, L01: each refusal is about its own offer or subnet, and the same is told once.
#[test]
fn refusals_are_of_offers_and_subnets() {
    let errors = [
        refused("c7g.large", "subnet-a2", "InsufficientInstanceCapacity"),
        refused("c7g.large", "subnet-a2", "InsufficientInstanceCapacity"),
        refused("m7g.large", "subnet-a2", "InsufficientFreeAddressesInSubnet"),
    ];
    let machine = started("c7g.large", "subnet-b1", "on-demand", &["i-1"]);
    let (launched, _) = carried_out(&launch(), [made(), ("CreateFleet", fleet(&machine, &errors.concat()))]);
    let answer = launched.answer;
    assert!(answer.spent);
    assert_eq!(answer.machines, ["aws:///us-east-1b/i-1"]);
    let told: Vec<_> = answer
        .failures
        .iter()
        .map(|failure| {
            let offer =
                failure.offer.as_ref().map(|offer| (offer.instance_type.as_str(), offer.zone.as_str()));
            (failure.kind, offer, failure.subnet.as_deref(), failure.message.as_str())
        })
        .collect();
    assert_eq!(
        told,
        [
            (
                LaunchFailureKind::Capacity,
                Some(("c7g.large", "us-east-1a")),
                Some("subnet-a2"),
                "InsufficientInstanceCapacity: no"
            ),
            (
                LaunchFailureKind::Subnet,
                Some(("m7g.large", "us-east-1a")),
                Some("subnet-a2"),
                "InsufficientFreeAddressesInSubnet: no"
            ),
        ]
    );
}

/// Throttling is not capacity, and the token can be used again.
#[test]
fn a_call_refused_as_a_whole_has_launched_nothing() {
    for (code, kind) in [
        ("RequestLimitExceeded", LaunchFailureKind::Throttled),
        ("UnauthorizedOperation", LaunchFailureKind::Rejected),
        ("AuthFailure.ServiceLinkedRoleCreationNotPermitted", LaunchFailureKind::CapacityType),
        ("MaxFleetCountExceeded", LaunchFailureKind::Capacity),
    ] {
        let (launched, _) = carried_out(&launch(), [made(), ("CreateFleet", refusal(400, code, "no"))]);
        let answer = launched.answer;
        assert_eq!(
            (answer.spent, answer.failures[0].kind, answer.machines.len()),
            (false, kind, 0),
            "{code}"
        );
        assert_eq!(answer.failures[0].offer, None, "{code}");
    }
    for answer in
        [refusal(503, "RequestLimitExceeded", "no"), refusal(500, "InternalError", "no"), Answer::Breaks]
    {
        let (launched, _) = carried_out(&launch(), [("CreateLaunchTemplate", answer)]);
        let failure = &launched.answer.failures[0];
        assert_eq!(failure.kind, LaunchFailureKind::Throttled, "no template, no launch: {failure:?}");
    }
}

fn found(id: &str) -> Answer {
    xml(
        "DescribeInstances",
        &format!(
            "<reservationSet><item><instancesSet><item><instanceId>{id}</instanceId><instanceType>c7g.large</instanceType>\
             <placement><availabilityZone>us-east-1a</availabilityZone></placement>\
             <instanceState><name>pending</name></instanceState></item></instancesSet></item></reservationSet>"
        ),
    )
}

/// A lost answer, a failure of EC2's own, or a token used before: machines of the group are adopted if they are there.
#[test]
fn doubt_is_settled_by_looking() {
    let none = || xml("DescribeInstances", "<reservationSet/>");
    for (answer, kind) in [
        (Answer::Breaks, LaunchFailureKind::Unknown),
        (refusal(500, "InternalError", "no"), LaunchFailureKind::Unknown),
        (Answer::Says(502, "<html/>".into()), LaunchFailureKind::Unknown),
        (refusal(400, "IdempotentParameterMismatch", "no"), LaunchFailureKind::OtherLaunch),
    ] {
        let calls = [made(), ("CreateFleet", answer.clone()), ("DescribeInstances", found("i-9"))];
        let (launched, asked) = carried_out(&launch(), calls);
        assert!(
            asked[2].contains("tag:journeyman.dev/launch-group\nFilter.1.Value.1=general-x7k2p"),
            "{}",
            asked[2]
        );
        assert!(launched.answer.spent && launched.answer.failures.is_empty());
        assert_eq!(launched.answer.machines, ["aws:///us-east-1a/i-9"]);
        let calls = [made(), ("CreateFleet", answer), ("DescribeInstances", none())];
        let (launched, _) = carried_out(&launch(), calls);
        assert!(!launched.answer.spent);
        assert_eq!(launched.answer.failures[0].kind, kind);
    }
}

/// What can't be asked for is not.
#[test]
fn a_launch_without_a_plan_makes_no_call() {
    let mut closed = launch();
    closed.closed = ["subnet-a1", "subnet-a2", "subnet-b1"].map(str::to_owned).into();
    let (launched, asked) = carried_out(&closed, []);
    assert_eq!((asked.len(), launched.answer.failures[0].kind), (0, LaunchFailureKind::Capacity));
}
