//! Looks after NodeClaims as a whole, and what of them is in metrics.

use serde_json::{Value, json};

use super::*;
use crate::kit;

const CLASS: &str = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default";
const CLAIM: &str = "/apis/karpenter.sh/v1/nodeclaims/one";

/// A class of this generation whose status says of the one before that it was ready, or not.
fn class(generation: i64, ready: Option<&str>) -> Value {
    let condition = ready.map(|status| {
        json!({"type": "Ready", "status": status, "reason": "Ready", "message": "so it is",
            "lastTransitionTime": "2026-06-01T12:00:00Z", "observedGeneration": 1})
    });
    let mut class = kit::node_class();
    class["metadata"]["generation"] = generation.into();
    class["status"]["conditions"] = condition.into_iter().collect();
    class
}

#[test]
fn aws_d192_a_status_counts_for_its_own_generation_only() {
    let not_ready = |why: &str| ClassStatus::NotReady(why.to_owned());
    for (generation, ready, status) in [
        (1, Some("True"), ClassStatus::Ready),
        (1, Some("False"), not_ready("so it is")),
        (1, Some("Unknown"), ClassStatus::Unknown("so it is".to_owned())),
        (2, Some("True"), not_ready("its status is of an older generation")),
        (2, Some("Unknown"), not_ready("its status is of an older generation")),
        (1, None, ClassStatus::Unknown("its status has not been written yet".to_owned())),
    ] {
        let class: Ec2NodeClass = serde_json::from_value(class(generation, ready)).unwrap();
        assert_eq!(launch_class(&class).status, status, "{generation} {ready:?}");
    }
    let mut leaving = class(1, Some("True"));
    leaving["metadata"]["deletionTimestamp"] = "2026-06-01T12:00:00Z".into();
    let leaving: Ec2NodeClass = serde_json::from_value(leaving).unwrap();
    assert_eq!(launch_class(&leaving).status, ClassStatus::Deleting);
}

/// EC2 with one subnet and no machine to be had in it.
fn ec2(operation: &str) -> (u16, String) {
    let inside = match operation {
        "DescribeInstances" => "<reservationSet/>",
        "DescribeSubnets" => {
            "<subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>us-east-1a</availabilityZone>\
             <availableIpAddressCount>9</availableIpAddressCount></item></subnetSet>"
        }
        "CreateLaunchTemplate" => {
            "<launchTemplate><launchTemplateId>lt-1</launchTemplateId></launchTemplate>"
        }
        "CreateFleet" => {
            "<fleetId>fleet-1</fleetId><fleetInstanceSet/><errorSet><item><launchTemplateAndOverrides>\
             <launchTemplateSpecification><launchTemplateId>lt-1</launchTemplateId></launchTemplateSpecification>\
             <overrides><instanceType>m5.large</instanceType><subnetId>subnet-1</subnetId></overrides>\
             </launchTemplateAndOverrides><lifecycle>on-demand</lifecycle>\
             <errorCode>InsufficientInstanceCapacity</errorCode><errorMessage>no</errorMessage></item></errorSet>"
        }
        _ => return kit::denied(),
    };
    kit::xml(operation, inside)
}

/// What is measured of one look after a NodeClaim that wants a machine.
fn looked_after(ec2: fn(&str) -> (u16, String)) -> Vec<String> {
    let within = |key: &str, value: &str| json!({"key": key, "operator": "In", "values": [value]});
    let requirements = json!([
        within("node.kubernetes.io/instance-type", "m5.large"),
        within("karpenter.sh/capacity-type", "on-demand"),
        within("topology.kubernetes.io/zone", "us-east-1a"),
    ]);
    let claim = kit::node_claim("one", requirements, json!({}));
    kit::wait(async {
        let cluster = kit::holding(&[(CLAIM, claim), (CLASS, class(1, Some("True")))]);
        let (mut world, _hints) = kit::world(ec2, cluster, &[]);
        let tend = Tend::soon("prod", vec!["one".to_owned()], Vec::new());
        world.look_after(&tend, Deadline::after(SignedDuration::ZERO)).await.unwrap();
        world.metrics.told()
    })
}

#[test]
fn aws_d190_launch_failures_are_counted_by_reason_and_place() {
    let failed = |told: Vec<String>| {
        let about =
            |line: &String| line.starts_with("karpenter_cloudprovider_instance_launch_failures_total");
        let told: Vec<String> = told.into_iter().filter(about).collect();
        told.join("\n").replace("karpenter_cloudprovider_instance_launch_failures_total", "")
    };
    assert_eq!(
        failed(looked_after(ec2)),
        "{capacity_type=on-demand,cluster=prod,reason=InsufficientInstanceCapacity,zone=us-east-1a,zone_id=use1-az6} 1"
    );
    // Refused as a whole: it is of no zone.
    let forbidden = |operation: &str| match operation {
        "CreateFleet" => kit::denied(),
        other => ec2(other),
    };
    assert_eq!(
        failed(looked_after(forbidden)),
        "{capacity_type=on-demand,cluster=prod,reason=Unauthorized} 1"
    );
}

#[test]
fn aws_d182_user_data_is_measured_with_each_launch() {
    let told = looked_after(ec2);
    let start = "karpenter_ec2nodeclasses_userdata_bytes{cluster=prod,nodeclass=default} ";
    let bytes = told.iter().find_map(|line| line.strip_prefix(start)).unwrap();
    let bytes: usize = bytes.parse().unwrap();
    assert!((500..cloud::user_data::MAX_BYTES).contains(&bytes), "{bytes}");
}
