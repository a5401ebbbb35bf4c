//! A refresh as a whole: what it reads of AWS and of the cluster, and what it writes. Nothing leaves the process.

use std::sync::{Arc, Mutex};

use http::Method;
use serde_json::json;

use super::*;
use crate::hints::Hint;
use crate::kit;

/// What EKS says of the cluster, since the process knows it.
const EKS: &str = r#"{"cluster": {"endpoint": "https://prod", "certificateAuthority": {"data": "authority"}, "version": "1.36"}}"#;

/// EC2 with one reservation and one of everything else, whatever is selected. Any other call is refused.
fn aws(operation: &str) -> (u16, String) {
    if operation.ends_with("/clusters/prod") {
        return (200, EKS.to_owned());
    }
    answer(operation).map_or_else(kit::denied, |inside| kit::xml(operation, inside))
}

fn answer(operation: &str) -> Option<&'static str> {
    Some(match operation {
        "DescribeSubnets" => {
            "<subnetSet><item><subnetId>subnet-1</subnetId><availabilityZone>us-east-1a</availabilityZone>\
             <availableIpAddressCount>9</availableIpAddressCount></item></subnetSet>"
        }
        "DescribeSecurityGroups" => {
            "<securityGroupInfo><item><groupId>sg-1</groupId></item></securityGroupInfo>"
        }
        "DescribeImages" => {
            "<imagesSet><item><imageId>ami-1</imageId><name>image</name><creationDate>2026-01-01</creationDate>\
             <architecture>x86_64</architecture><imageState>available</imageState></item></imagesSet>"
        }
        "DescribeCapacityReservations" => {
            "<capacityReservationSet><item><capacityReservationId>cr-1</capacityReservationId>\
             <ownerId>123456789012</ownerId><instanceType>m5.large</instanceType><availabilityZone>us-east-1a</availabilityZone>\
             <availableInstanceCount>2</availableInstanceCount><state>active</state>\
             <instanceMatchCriteria>targeted</instanceMatchCriteria></item></capacityReservationSet>"
        }
        "DescribeLaunchTemplates" => "<launchTemplates/>",
        "DescribePlacementGroups" => {
            "<placementGroupSet><item><groupName>hpc</groupName><groupId>pg-1</groupId><strategy>cluster</strategy>\
             <state>available</state></item></placementGroupSet>"
        }
        _ => return None,
    })
}

/// An API server with one class, and what was written to it: path and body each.
#[derive(Clone, Debug)]
struct Server {
    class: Value,
    /// Whether somebody else has written in between.
    conflicts: bool,
    written: Arc<Mutex<Vec<(String, Value)>>>,
}

impl Server {
    fn answer(&self, method: &Method, path: &str, body: &[u8]) -> (u16, Value) {
        let list = |items: &[&Value]| json!({"metadata": {"resourceVersion": "5"}, "items": items});
        if *method == Method::GET {
            let found = match path.rsplit('/').next() {
                Some("ec2nodeclasses") => list(&[&self.class]),
                Some("default") => self.class.clone(),
                _ => list(&[]),
            };
            return (200, found);
        }
        let body: Value = serde_json::from_slice(body).unwrap();
        self.written.lock().unwrap().push((path.to_owned(), body));
        if self.conflicts {
            let status = json!({"kind": "Status", "status": "Failure", "code": 409, "reason": "Conflict",
                "message": "the object has been modified"});
            return (409, status);
        }
        (200, json!({"metadata": {"name": "default", "resourceVersion": "6"}}))
    }

    fn cluster(&self) -> Cluster {
        let server = self.clone();
        kit::cluster(move |method, path, body| server.answer(method, path, body))
    }
}

/// A class that selects reservations and a placement group, with a profile of the user's own.
fn class() -> Value {
    json!({
        "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass",
        "metadata": {"name": "default", "uid": "uid-1", "resourceVersion": "5", "generation": 1},
        "spec": {
            "amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-1"}],
            "subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}],
            "instanceProfile": "mine",
            "capacityReservationSelectorTerms": [{"id": "cr-1"}], "placementGroupSelector": {"name": "hpc"},
        },
    })
}

/// What came of a refresh.
struct Refreshed {
    /// Path and body each.
    written: Vec<(String, Value)>,
    /// Operations of AWS.
    asked: Vec<String>,
    hints: Vec<Hint>,
    /// The Kubernetes version that is known then.
    kubernetes: String,
    result: Result<(), RunError>,
}

fn refreshed(class: Value, conflicts: bool) -> Refreshed {
    refreshed_with(&[], class, conflicts)
}

/// The same with variables set.
fn refreshed_with(variables: &[(&str, &str)], class: Value, conflicts: bool) -> Refreshed {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let server = Server { class, conflicts, written: Arc::default() };
    let (result, kubernetes, mut hints) = kit::wait(async {
        let asked = asked.clone();
        let ec2 = move |operation: &str| {
            asked.lock().unwrap().push(operation.to_owned());
            aws(operation)
        };
        let (mut world, hints) = kit::world(ec2, server.cluster(), variables);
        let result = world.refresh_statuses("prod").await;
        (result, world.sites["prod"].eks.kubernetes.clone(), hints)
    });
    let written = server.written.lock().unwrap().clone();
    let asked = asked.lock().unwrap().clone();
    let hints = std::iter::from_fn(|| hints.try_recv().ok()).collect();
    Refreshed { written, asked, hints, kubernetes, result }
}

const PATH: &str = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default";

#[test]
fn aws_b57_what_a_class_draws_on_is_found_and_written() {
    let Refreshed { written, asked, hints, result, .. } = refreshed(class(), false);
    result.unwrap();
    assert_eq!(hints, []);
    let [(marked, metadata), (judged, status)] = written.as_slice() else { panic!("{written:#?}") };
    assert_eq!((marked.as_str(), judged.as_str()), (PATH, format!("{PATH}/status").as_str()));
    let annotations = &metadata["metadata"]["annotations"];
    assert!(annotations["karpenter.k8s.aws/ec2nodeclass-hash"].is_string(), "in one write: {metadata}");
    assert!(metadata["metadata"]["finalizers"].is_array(), "{metadata}");
    let counts: Value =
        serde_json::from_str(annotations["journeyman.dev/capacity-reservations"].as_str().unwrap()).unwrap();
    assert_eq!(counts["left"], json!({"cr-1": 2}));
    let group = r#"{"id":"pg-1","strategy":"cluster","partitions":0}"#;
    assert_eq!(annotations["journeyman.dev/placement-group"], group);
    assert_eq!(status["metadata"]["resourceVersion"], "6", "the version that the first write made");
    let status = &status["status"];
    assert_eq!(
        status["capacityReservations"],
        json!([{"id": "cr-1", "availabilityZone": "us-east-1a", "instanceType": "m5.large", "ownerID": "123456789012",
            "instanceMatchCriteria": "targeted", "reservationType": "default", "state": "active"}])
    );
    let conditions = status["conditions"].as_array().unwrap().iter();
    let conditions: Vec<(&str, &str)> = conditions
        .map(|known| (known["type"].as_str().unwrap(), known["status"].as_str().unwrap()))
        .collect();
    assert!(conditions.contains(&("CapacityReservationsReady", "True")), "{conditions:?}");
    assert!(conditions.contains(&("PlacementGroupReady", "True")), "{conditions:?}");
    assert_eq!(conditions.last(), Some(&("Ready", "True")));
    // What is stored so is not written again.
    let mut stored = class();
    for (field, value) in metadata["metadata"].as_object().unwrap() {
        if field != "resourceVersion" {
            stored["metadata"][field] = value.clone();
        }
    }
    stored["status"] = status.clone();
    let Refreshed { written, result, .. } = refreshed(stored, false);
    result.unwrap();
    assert_eq!(written, []);
    assert_eq!(asked.iter().filter(|asked| asked.contains("Profile")).count(), 0, "{asked:?}");
}

#[test]
fn aws_b63_a_profile_of_the_user_s_own_is_taken_as_it_is() {
    let Refreshed { written, asked, .. } = refreshed(class(), false);
    assert_eq!(written[1].1["status"]["instanceProfile"], "mine");
    assert!(!asked.iter().any(|operation| operation.contains("InstanceProfile")), "{asked:?}");
    let mut both = class();
    both["spec"]["role"] = "nodes".into();
    let both: Ec2NodeClass = serde_json::from_value(both).unwrap();
    assert!(matches!(profile("prod", &both), Profile::Named("mine")));
    let mut made = class();
    made["spec"].as_object_mut().unwrap().remove("instanceProfile");
    made["spec"]["role"] = "nodes".into();
    let Refreshed { written, asked, .. } = refreshed(made, false);
    assert_eq!(written[1].1["status"].get("instanceProfile"), None);
    assert!(asked.iter().any(|operation| operation == "GetInstanceProfile"), "{asked:?}");
}

#[test]
fn aws_b90_what_somebody_else_changed_meanwhile_is_looked_at_again() {
    let Refreshed { written, hints, result, .. } = refreshed(class(), true);
    result.unwrap();
    assert_eq!(written.len(), 1, "no status without the mark: {written:?}");
    assert!(matches!(hints.as_slice(), [Hint::Refresh(wake)] if wake.cluster == "prod"), "{hints:?}");
}

/// What is selected no more is taken out of a stored status: a merge would keep it.
#[test]
fn what_a_status_had_and_has_no_more_is_taken_out() {
    let mut class = class();
    class["spec"]["capacityReservationSelectorTerms"] = json!([]);
    class["metadata"]["annotations"] = json!({"journeyman.dev/capacity-reservations": "{}"});
    class["status"] = json!({"capacityReservations": [{"id": "cr-1", "availabilityZone": "us-east-1a",
        "instanceType": "m5.large", "ownerID": "123456789012", "instanceMatchCriteria": "targeted"}]});
    let Refreshed { written, asked, result, .. } = refreshed(class, false);
    result.unwrap();
    let [(_, metadata), (_, status)] = written.as_slice() else { panic!("{written:#?}") };
    let null = |value: &Value, field: &str| value.get(field).is_some_and(Value::is_null);
    assert!(null(&metadata["metadata"]["annotations"], "journeyman.dev/capacity-reservations"), "{metadata}");
    assert!(null(&status["status"], "capacityReservations"), "{status}");
    assert!(!asked.iter().any(|operation| operation == "DescribeCapacityReservations"), "{asked:?}");
}

#[test]
fn aws_b83_where_there_is_no_way_to_iam_it_is_not_called() {
    let isolated = [("ISOLATED_VPC", "true")];
    let about_profiles = |asked: &[String]| asked.iter().filter(|asked| asked.contains("Profile")).count();
    let mut made = class();
    made["spec"].as_object_mut().unwrap().remove("instanceProfile");
    made["spec"]["role"] = "nodes".into();
    let Refreshed { written, asked, .. } = refreshed_with(&isolated, made, false);
    assert_eq!(about_profiles(&asked), 0, "{asked:?}");
    assert!(
        written[1].1.to_string().contains("name an instance profile in spec.instanceProfile"),
        "{written:#?}"
    );
    let mut leaving = class();
    leaving["metadata"]["deletionTimestamp"] = "2026-12-01T10:00:00Z".into();
    leaving["metadata"]["finalizers"] = json!(["karpenter.k8s.aws/termination"]);
    let Refreshed { written, asked, result, .. } = refreshed_with(&isolated, leaving.clone(), false);
    result.unwrap();
    assert_eq!(about_profiles(&asked), 0, "{asked:?}");
    assert_eq!(written.len(), 1, "the finalizer goes: {written:#?}");
    let Refreshed { result, written, .. } = refreshed(leaving, false);
    assert!(result.is_err(), "elsewhere IAM is asked, and here it refuses");
    assert_eq!(written, [], "what may have profiles left stays");
}

#[test]
fn aws_d206_the_version_of_the_control_plane_is_asked_anew() {
    let Refreshed { kubernetes, result, .. } = refreshed(class(), false);
    result.unwrap();
    assert_eq!(kubernetes, "1.36");
}
