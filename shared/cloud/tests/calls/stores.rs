//! Objects, facts, messages and events.

use std::collections::BTreeMap;

use cloud::bus::{Event, Message};
use cloud::store::Fetched;
use jiff::{SignedDuration, Timestamp};
use model::{Avoided, CapacityType};
use serde_json::json;

use crate::aws::{Answer, Aws, json as answer, wait};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

#[test]
fn an_object_is_read_unless_it_is_known() {
    let missing = "<Error><Code>NoSuchKey</Code><Message>no</Message></Error>";
    let aws = Aws::answering([
        ("GET", Answer::Says(200, "hello".into())),
        ("GET", Answer::Says(304, String::new())),
        ("GET", Answer::Says(404, missing.into())),
        ("GET", Answer::Says(200, "no catalogue".into())),
    ]);
    let cloud = aws.cloud();
    let Fetched::New(object) = wait(cloud.get_object("b", "k", None)).unwrap() else { panic!("it is there") };
    assert_eq!((object.body.as_slice(), object.etag.as_str()), (b"hello".as_slice(), "\"e1\""));
    assert_eq!(wait(cloud.get_object("b", "k", Some(&object.etag))).unwrap(), Fetched::Unchanged);
    assert_eq!(wait(cloud.get_object("b", "k", None)).unwrap(), Fetched::Absent);
    let error = wait(cloud.get_catalogue("b", None)).unwrap_err();
    assert!(
        error.to_string().starts_with("s3://b/catalogue/us-east-1.postcard.zst can't be read"),
        "{error}"
    );
    aws.asked();
}

#[test]
fn what_to_avoid_is_kept_and_read_back() {
    let offering = Avoided::Offering {
        instance_type: "m5.large".into(),
        zone: "us-east-1a".into(),
        capacity_type: CapacityType::Spot,
    };
    let kept = serde_json::to_string(&offering).unwrap();
    let refused = json!({"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", "message": "no"});
    let item = json!({
        "kind": {"S": "avoided/us-east-1"}, "key": {"S": "offering/spot/m5.large/us-east-1a"},
        "value": {"S": kept}, "until": {"N": "180"},
    });
    let aws = Aws::answering([
        ("UpdateItem", answer(json!({}))),
        ("UpdateItem", answer(json!({}))),
        ("UpdateItem", Answer::Says(400, refused.to_string())),
        ("Query", answer(json!({"Items": [item], "Count": 1}))),
    ]);
    let cloud = aws.cloud();
    wait(cloud.avoid("t", &offering, at(180))).unwrap();
    wait(cloud.avoid("t", &Avoided::Subnet("subnet-1".into()), at(5))).unwrap();
    let facts = wait(cloud.avoided("t", at(10))).unwrap();
    assert_eq!((&facts[0].value, facts[0].until), (&offering, at(180)));
    let asked: Vec<serde_json::Value> =
        aws.asked().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert_eq!(asked[0]["Key"]["key"]["S"], "offering/spot/m5.large/us-east-1a");
    assert_eq!(asked[0]["ConditionExpression"], "attribute_not_exists(#until) OR #until <= :until");
    assert_eq!(asked[0]["ExpressionAttributeValues"][":until"]["N"], "180");
    assert_eq!(asked[1]["Key"]["kind"]["S"], "unsteady/us-east-1");
    assert_eq!(asked[1]["Key"]["key"]["S"], asked[0]["Key"]["key"]["S"]);
    assert_eq!(asked[1]["ExpressionAttributeValues"][":until"]["N"], (180 + 24 * 3600).to_string());
    assert_eq!(asked[2]["Key"]["key"]["S"], "subnet/subnet-1");
    assert_eq!(asked[3]["ExpressionAttributeValues"][":now"]["N"], "10");
}

#[test]
fn a_fact_that_can_t_be_read_is_told() {
    let item = json!({"key": {"S": "k"}, "value": {"S": "{"}, "until": {"N": "180"}});
    let aws = Aws::answering([("Query", answer(json!({"Items": [item]})))]);
    let read = wait(aws.cloud().remembered::<BTreeMap<String, String>>("t", "memory", at(1)));
    assert!(read.unwrap_err().to_string().starts_with("t/memory can't be read"));
}

#[test]
fn messages_go_ten_a_call_and_a_lost_one_is_told() {
    let messages: Vec<Message> = (0..11)
        .map(|index| Message {
            body: index.to_string(),
            delay: SignedDuration::from_mins(if index == 0 { 60 } else { 0 }),
            ..Message::default()
        })
        .collect();
    let failed = json!({"Successful": [], "Failed": [{"Id": "0", "Code": "InternalError", "SenderFault": false, "Message": "no"}]});
    let aws = Aws::answering([
        ("SendMessageBatch", answer(json!({"Successful": [], "Failed": []}))),
        ("SendMessageBatch", answer(failed)),
    ]);
    let error = wait(aws.cloud().send("https://queue/q", &messages)).unwrap_err();
    assert_eq!(error.code(), "InternalError");
    let asked: Vec<serde_json::Value> =
        aws.asked().iter().map(|body| serde_json::from_str(body).unwrap()).collect();
    assert_eq!(asked[0]["Entries"].as_array().unwrap().len(), 10);
    assert_eq!(asked[0]["Entries"][0]["DelaySeconds"], 900, "SQS holds nothing longer");
    assert_eq!(asked[0]["Entries"][1].get("DelaySeconds"), None, "the queue's own delay holds");
    assert_eq!(asked[1]["Entries"][0]["MessageBody"], "10");
}

/// A FIFO queue refuses delays of single messages.
#[test]
fn a_group_has_no_delay() {
    let message = Message {
        body: "wake".into(),
        delay: SignedDuration::from_secs(5),
        group: Some("prod".into()),
        deduplication: Some("d".into()),
    };
    let aws = Aws::answering([("SendMessageBatch", answer(json!({"Successful": [], "Failed": []})))]);
    wait(aws.cloud().send("https://queue/q.fifo", &[message])).unwrap();
    let asked: serde_json::Value = serde_json::from_str(&aws.asked()[0]).unwrap();
    let entry = &asked["Entries"][0];
    assert_eq!((entry.get("DelaySeconds"), &entry["MessageGroupId"]), (None, &json!("prod")));
    assert_eq!(entry["MessageDeduplicationId"], "d");
}

#[test]
fn an_event_that_is_not_taken_is_told() {
    let event = Event {
        detail_type: "journeyman.provision".into(),
        detail: json!({"cluster": "prod"}),
        resources: vec!["arn:aws:eks:us-east-1:1:cluster/prod".into()],
    };
    let taken = json!({"FailedEntryCount": 0, "Entries": [{"EventId": "1"}]});
    let refused = json!({"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "no"}]});
    let aws = Aws::answering([("PutEvents", answer(taken)), ("PutEvents", answer(refused))]);
    let cloud = aws.cloud();
    wait(cloud.publish("default", "journeyman", std::slice::from_ref(&event))).unwrap();
    assert!(wait(cloud.publish("default", "journeyman", &[event])).unwrap_err().is_throttled());
    insta::assert_snapshot!(aws.asked()[0]);
}
