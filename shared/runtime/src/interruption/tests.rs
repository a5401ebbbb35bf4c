//! What messages and statuses come to.

use model::NoticeKind;
use serde_json::json;

use super::*;
use crate::kit;

#[test]
fn n04_statuses_count_for_machines_that_have_a_nodeclaim_here() {
    let claim = |name: &str, instance: &str| -> Claim {
        api::lower::claim(
            &serde_json::from_value(serde_json::json!({
                "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
                "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-06-01T11:00:00Z"},
                "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": []},
                "status": {"providerID": format!("aws:///a/{instance}")},
            }))
            .unwrap(),
        )
        .unwrap()
    };
    let statuses: Vec<InstanceStatus> = serde_json::from_value(serde_json::json!([
        {"InstanceId": "i-00000001", "SystemStatus": {"Details": [
            {"Status": "failed", "ImpairedSince": "2026-06-01T11:59:30Z"}]}},
        {"InstanceId": "i-00000002", "Events": [
            {"Code": "system-maintenance", "NotBefore": "2026-06-04T12:00:00Z"}]},
        {"InstanceId": "i-00000009", "Events": [{"Code": "instance-stop"}]},
    ]))
    .unwrap();
    let now: Timestamp = "2026-06-01T12:00:00Z".parse().unwrap();
    let scope = Scope { account: None, region: None, now, max_age: MAX_AGE };
    let claims = [claim("one", "i-00000001"), claim("two", "i-00000002"), claim("three", "i-00000003")];
    let impaired = NoticeKind::Impaired { host: true, since: "2026-06-01T11:59:30Z".parse().unwrap() };
    let planned = NoticeKind::ScheduledChange { starts: "2026-06-04T12:00:00Z".parse().ok() };
    let of = |kind, id: &str| Notice { kind, instances: vec![id.to_owned()] };
    assert_eq!(notices(&scope, &statuses, &claims), [of(impaired, "i-00000001"), of(planned, "i-00000002")]);
}

const CLAIM: &str = "/apis/karpenter.sh/v1/nodeclaims/one";

fn written() -> serde_json::Value {
    let status = json!({"providerID": "aws:///us-east-1a/i-00000001", "nodeName": "worker-1"});
    crate::kit::node_claim("one", json!([]), status)
}

/// What is measured of some messages, where one NodeClaim has the machine `i-00000001`.
fn heard(bodies: &[serde_json::Value]) -> Vec<String> {
    kit::wait(async {
        let cluster = kit::holding(&[(CLAIM, written())]);
        let (mut world, _hints) = kit::world(|_| kit::denied(), cluster, &[]);
        for body in bodies {
            world.hear(&body.to_string()).await.unwrap();
        }
        world.metrics.told()
    })
}

fn event(kind: &str, instance: &str) -> serde_json::Value {
    json!({
        "version": "0", "source": "aws.ec2", "detail-type": kind, "id": "1", "account": "123456789012",
        "time": Timestamp::now(), "region": "us-east-1", "detail": {"instance-id": instance, "state": "running"},
        "resources": [format!("arn:aws:ec2:us-east-1:123456789012:instance/{instance}")],
    })
}

#[test]
fn aws_e243_each_message_is_counted_by_its_kind() {
    let rebalance = event("EC2 Instance Rebalance Recommendation", "i-00000009");
    let told = heard(&[
        rebalance.clone(),
        rebalance,
        event("EC2 Fast Launch State-change Notification", "i-00000009"),
        event("EC2 Instance State-change Notification", "i-00000009"),
        json!("no event"),
    ]);
    assert_eq!(
        told,
        [
            "karpenter_interruption_received_messages_total{message_type=no_op} 3",
            "karpenter_interruption_received_messages_total{message_type=rebalance_recommendation} 2",
        ]
    );
}

#[test]
fn aws_e244_how_long_it_took_is_measured_of_messages_that_concern_somebody() {
    let took = |instance: &str| {
        let told = heard(&[event("EC2 Instance Rebalance Recommendation", instance)]);
        told.iter().filter(|line| line.starts_with("karpenter_interruption_message_queue_duration")).count()
    };
    assert_eq!((took("i-00000001"), took("i-00000009")), (1, 0));
}

/// What is measured of two looks at the statuses of the machine of one NodeClaim, which goes by the first if by any.
fn looked_at(statuses: fn(&str) -> (u16, String)) -> Vec<String> {
    kit::wait(async {
        let cluster = kit::holding(&[(CLAIM, written())]);
        let (mut world, _hints) = kit::world(statuses, cluster, &[]);
        let mut claim = api::lower::claim(&serde_json::from_value(written()).unwrap()).unwrap();
        world.look_at_statuses("prod", vec![claim.clone()], Vec::new()).await.unwrap();
        claim.deleting = Some(Timestamp::now());
        world.look_at_statuses("prod", vec![claim], Vec::new()).await.unwrap();
        world.metrics.told()
    })
}

#[test]
fn aws_e238_statuses_that_may_not_be_asked_for_are_done_without() {
    assert_eq!(looked_at(|_| kit::denied()), ["instance_status_failures_total{cluster=prod} 2"]);
}

#[test]
fn aws_e235_a_machine_is_counted_once_by_what_is_wrong_with_it() {
    let failing = |operation: &str| {
        let check = |name: &str| {
            format!(
                "<{name}><status>impaired</status><details><item><name>reachability</name><status>failed</status>\
                 <impairedSince>2026-06-01T10:00:00.000Z</impairedSince></item></details></{name}>"
            )
        };
        let event =
            "<eventsSet><item><code>instance-stop</code><description>moves</description></item></eventsSet>";
        let of = |id: &str, inside: &str| format!("<item><instanceId>{id}</instanceId>{inside}</item>");
        // The second is another cluster's.
        let ours = of("i-00000001", &(check("systemStatus") + event));
        let all = [ours, of("i-00000009", &check("instanceStatus"))];
        kit::xml(operation, &format!("<instanceStatusSet>{}</instanceStatusSet>", all.concat()))
    };
    let told = looked_at(failing);
    let told: Vec<&String> =
        told.iter().filter(|line| line.starts_with("karpenter_interruption_instance_status")).collect();
    let of = |category: &str| {
        format!(
            "karpenter_interruption_instance_status_unhealthy_total{{category={category},cluster=prod}} 1"
        )
    };
    assert_eq!(told, [&of("event_status"), &of("system_status")]);
}
