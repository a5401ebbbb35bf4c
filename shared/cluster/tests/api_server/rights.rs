//! What each function asks of the server, whatever it answers, against what `infra/kubernetes` lets the function do: no less,
//! and no more; what only some clusters' owners want is let by `infra/kubernetes/optional`. Which effects and reads are a function's is read off the planner's and the runtime's sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::crd::Kind;
use cluster::{Cause, ClaimIndex, Cluster, LeaseSpec, Observer};
use http::{Method, Request};
use kube::client::Body;
use model::{
    ClaimChange, Condition, ConditionStatus, DisruptionReason, Effect, EventKind, MarkOrder, NodeChange,
    ObjectName, ObjectRef, Registration, RegistrationFailure, RestartOrder, StartStage,
};
use serde_json::{Value, json};

use crate::effects::draft;
use crate::kit::{Answer, NOW, claim, list, node, now, pod, running, silent, status, whole};

/// Files whose effects a function carries out, and whose reads it makes.
const FUNCTIONS: [(&str, &[&str], &[&str]); 5] = [
    ("provision", &["planner/src/provision"], &["provision.rs", "catalogue.rs", "alone.rs"]),
    ("lifecycle", &["planner/src/lifecycle"], &["lifecycle.rs"]),
    ("interruption", &["planner/src/interruption.rs"], &["interruption.rs"]),
    (
        "disruption",
        &["planner/src/disruption", "planner/src/lib.rs"],
        &["disruption.rs", "catalogue.rs", "alone.rs"],
    ),
    ("catalog", &[], &["refresh"]),
];

/// Manifests that a cluster's owner may add, and whom they are for.
const OPTIONAL: [(&str, &str); 1] = [("lifecycle", "optional/surge")];

/// Groups whose objects are workloads and what scales them.
const WORKLOADS: [&str; 3] = ["apps", "autoscaling", "batch"];

/// What stands among the files of `catalog` and is done by `lifecycle`.
const OF_LIFECYCLE: &str = "fn look_at_pools(";

/// Effects that ask nothing of the server.
const OF_THE_CLOUD: [&str; 8] = [
    "Launch",
    "Terminate",
    "TagInstance",
    "Avoid",
    "ForgetLaunchTemplates",
    "ReleaseNodeClass",
    "HintLifecycle",
    "HintProvision",
];

/// Methods that ask nothing by themselves; `act` is asked for effect by effect.
const SILENT: [&str; 3] = ["act", "clone", "suspend"];

/// A verb, a group and a resource, as roles name them.
type Right = (String, String, String);

/// How many requests of a run are answered in every way there is; those after them, in the first.
const DEPTH: usize = 5;

/// The ways to answer.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Way {
    Bare,
    Marked,
    Going,
    Missing,
    Conflict,
}

const WAYS: [Way; 5] = [Way::Bare, Way::Marked, Way::Going, Way::Missing, Way::Conflict];

fn shared(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

/// The sources at a path below `shared`, without their tests.
fn sources(path: &str) -> String {
    let path = shared(path);
    if path.is_file() {
        let text = std::fs::read_to_string(&path).unwrap();
        return text.split("#[cfg(test)]").next().unwrap().to_owned();
    }
    let entries = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let entries = entries.map(|entry| entry.unwrap().path()).filter(|path| !path.ends_with("tests"));
    entries.map(|path| sources(path.to_str().unwrap())).collect()
}

/// The words that follow `start` in `text`, where `fits` the line before and after them.
fn words(text: &str, start: &str, fits: impl Fn(&str, &str) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for (at, _) in line.match_indices(start) {
            let rest = &line[at + start.len()..];
            let word: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            if !word.is_empty() && fits(&line[..at], &rest[word.len()..]) {
                found.insert(word);
            }
        }
    }
    found
}

/// The effects that sources make: names in patterns are none.
fn effects_in(text: &str) -> BTreeSet<String> {
    let made = |before: &str, after: &str| {
        let inner = before.chars().next_back().is_some_and(char::is_alphanumeric);
        let pattern = before.contains("let ") && !before.contains('=')
            || after.contains("=>")
            || before.contains("matches!(")
            || before.trim_start().starts_with('|');
        !inner && !pattern
    };
    words(text, "Effect::", made)
}

fn reads_in(text: &str) -> BTreeSet<String> {
    let called = |_: &str, after: &str| after.starts_with('(');
    let mut found = BTreeSet::new();
    for owner in ["cluster.", "observer.", "index."] {
        found.extend(words(text, owner, called));
    }
    found.retain(|name| !SILENT.contains(&name.as_str()));
    found
}

/// A function's body.
fn body<'a>(text: &'a str, start: &str) -> &'a str {
    let at = text.find(start).unwrap_or_else(|| panic!("{start} has gone"));
    let end = text[at..].find("\n    }\n").unwrap();
    &text[at..at + end]
}

/// Every effect of a name that asks something of its own.
fn effects(name: &str, subjects: &BTreeSet<String>) -> Vec<Effect> {
    let (claim, uid, node) = ("a".to_owned(), "uid-a".to_owned(), "a".to_owned());
    let pod = ObjectName::new("default", "a");
    let one = match name {
        "CreateNodeClaim" => Effect::CreateNodeClaim(Arc::new(draft())),
        "DeleteNodeClaim" => Effect::DeleteNodeClaim { claim, uid: None, reason: "Drifted".into() },
        "MarkDisrupted" => Effect::MarkDisrupted(Box::new(MarkOrder {
            claim,
            uid: None,
            node: Some(node),
            reason: DisruptionReason::Drifted,
            replaced_by: vec!["b".into()],
            since: now(),
        })),
        "UnmarkDisrupted" => Effect::UnmarkDisrupted { claim, uid: None, node: Some(node) },
        "ChangeNodeClaim" => Effect::ChangeNodeClaim(Box::new(ClaimChange {
            claim,
            annotations: BTreeMap::from([("new".into(), "1".into())]),
            pod_event: Some(now()),
            ..ClaimChange::default()
        })),
        "ReleaseNodeClaim" => Effect::ReleaseNodeClaim { claim, uid },
        "ChangeNode" => Effect::ChangeNode(Box::new(NodeChange {
            node,
            version: "5".into(),
            labels: BTreeMap::from([("new".into(), "1".into())]),
            ..NodeChange::default()
        })),
        "DeleteNode" => Effect::DeleteNode { node, uid },
        "ReleaseNode" => Effect::ReleaseNode { node, uid },
        "EvictPod" => Effect::EvictPod { pod, uid, node, remark: None },
        "RestartRollout" => Effect::RestartRollout(Box::new(RestartOrder {
            deployment: pod,
            uid: "uid-a".into(),
            restarted: None,
            at: now(),
            pod: "a".into(),
            pod_uid: "uid-a".into(),
            node,
        })),
        "DeletePod" => Effect::DeletePod { pod, uid, grace_seconds: 1 },
        "NominateNode" => Effect::NominateNode { pod, uid, node },
        "TellNodePool" => {
            let condition = Condition {
                status: ConditionStatus::False,
                reason: "Slow".into(),
                message: String::new(),
                since: now(),
                generation: 1,
            };
            Effect::TellNodePool { pool: "web".into(), kind: "Told".into(), condition: Some(condition) }
        }
        "NoteRegistrations" => {
            let failure = RegistrationFailure { reason: "Slow".into(), message: String::new() };
            let failed = Registration {
                claimed: now(),
                stage: StartStage::Launch,
                image: None,
                failure: Some(failure),
            };
            // So many that launches are held, which is told.
            Effect::NoteRegistrations { pool: "web".into(), outcomes: vec![failed; 5] }
        }
        "PublishEvent" => {
            let about = |subject: &String| match subject.as_str() {
                "Pod" => ObjectRef::Pod(ObjectName::new("default", "a")),
                "Node" => ObjectRef::Node("a".into()),
                "NodeClaim" => ObjectRef::NodeClaim("a".into()),
                "NodePool" => ObjectRef::NodePool("a".into()),
                "NodeClass" => ObjectRef::NodeClass("a".into()),
                other => panic!("what is {other}?"),
            };
            assert!(!subjects.is_empty(), "an event about nothing");
            let publish = |about| Effect::PublishEvent {
                about,
                kind: EventKind::Normal,
                reason: "Told".into(),
                message: "told".into(),
            };
            return subjects.iter().map(about).map(publish).collect();
        }
        cloud if OF_THE_CLOUD.contains(&cloud) => return Vec::new(),
        other => panic!("say here what {other} is"),
    };
    vec![one]
}

/// Makes one of the reads and direct writes of the runtime. What comes of it is of no interest here.
async fn read(cluster: &Cluster, name: &str, kinds: &BTreeSet<String>) {
    let one = || vec!["a".to_owned()];
    let deadline = || tokio::time::Instant::now() + Duration::from_secs(5);
    let kinds = kinds.iter().map(|kind| match kind.as_str() {
        "NodePool" => Kind::NodePool,
        "Ec2NodeClass" => Kind::Ec2NodeClass,
        other => panic!("what is {other}?"),
    });
    match name {
        // Twice: what a first look has listed, a later one watches.
        "at_rest" => {
            let mut observer = Observer::new(cluster);
            let _ = (observer.at_rest().await, observer.at_rest().await);
        }
        "observe" => {
            let mut observer = Observer::new(cluster);
            let _ = (observer.observe().await, observer.observe().await);
        }
        "changed" => {
            let mut observer = Observer::new(cluster);
            let _ = (observer.observe().await, observer.changed(deadline()).await);
        }
        "lifecycle" => {
            let mut index = ClaimIndex::new(cluster);
            let _ = (index.lifecycle(&one(), &one()).await, index.lifecycle(&one(), &one()).await);
        }
        "by_instance_ids" => {
            let (mut index, ids) = (ClaimIndex::new(cluster), ["i-a".to_owned()]);
            let _ = (index.by_instance_ids(&ids).await, index.by_instance_ids(&ids).await);
        }
        "claims" => drop(cluster.claims().await),
        "nodes" => drop(cluster.nodes().await),
        "unbound_pods" => drop(cluster.unbound_pods().await),
        "pool_annotations" => drop(cluster.pool_annotations().await),
        "node_pools" => drop(cluster.node_pools().await),
        "node_classes" => drop(cluster.node_classes().await),
        "node_class" => drop(cluster.node_class("a").await),
        "release_node_class" => drop(cluster.release_node_class("a", "uid-a").await),
        "set_status" => {
            for kind in kinds {
                let _ = cluster.set_status(kind, "a", "5", &json!({})).await;
            }
        }
        "set_metadata" => {
            for kind in kinds {
                let _ = cluster.set_metadata(kind, "a", "5", &json!({})).await;
            }
        }
        "with_lease" => {
            let spec = LeaseSpec {
                namespace: "kube-system".into(),
                name: "journeyman".into(),
                holder: "me".into(),
                duration: Duration::from_secs(15),
            };
            let _ = cluster.with_lease(&spec, async {}).await;
        }
        other => panic!("say here what {other} is"),
    }
}

/// A path's group, resource with subresource, and name.
fn place(path: &str) -> (String, String, Option<String>) {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let (group, mut rest) = match parts[0] {
        "api" => ("", &parts[2..]),
        _ => (parts[1], &parts[3..]),
    };
    if rest[0] == "namespaces" && rest.len() > 2 {
        rest = &rest[2..];
    }
    let resource = rest.get(2).map_or(rest[0].to_owned(), |part| format!("{}/{part}", rest[0]));
    (group.to_owned(), resource, rest.get(1).map(|name| (*name).to_owned()))
}

fn right(request: &Request<Body>) -> Right {
    let (group, resource, name) = place(request.uri().path());
    let watches = request.uri().query().is_some_and(|query| query.contains("watch=1"));
    let verb = match (request.method(), name) {
        (&Method::GET, None) if watches => "watch",
        (&Method::GET, None) => "list",
        (&Method::GET, Some(_)) => "get",
        (&Method::POST, _) => "create",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, _) => "delete",
        (method, _) => panic!("what is {method}?"),
    };
    (verb.to_owned(), group, resource)
}

/// An object as it may be found.
fn object(resource: &str, name: &str, way: Way) -> Value {
    let going = if way == Way::Going { json!({ "deletionTimestamp": NOW }) } else { json!({}) };
    let mut found = match resource.split('/').next().unwrap() {
        "nodeclaims" if way == Way::Marked => {
            let mut marked = running(name, "5");
            let annotations =
                json!({ "journeyman.dev/replaced-by": "b", "journeyman.dev/disrupted-since": NOW });
            marked["metadata"]["annotations"] = annotations;
            let condition = json!({ "type": "DisruptionReason", "status": "True", "reason": "Drifted",
                "message": "", "lastTransitionTime": NOW, "observedGeneration": 1 });
            marked["status"]["conditions"].as_array_mut().unwrap().push(condition);
            marked
        }
        // Launched, and no node yet.
        "nodeclaims" if way == Way::Missing => {
            claim(name, "5", json!({ "status": { "providerID": format!("aws:///eu-west-1a/i-{name}") } }))
        }
        "nodeclaims" => running(name, "5"),
        "nodes" => {
            let taints = json!([{ "key": "karpenter.sh/disrupted", "effect": "NoSchedule" }]);
            let spec = if way == Way::Marked { json!({ "taints": taints }) } else { json!({}) };
            node(name, "5", json!({ "spec": spec }))
        }
        "pods" => {
            let volumes = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
            let owners = json!([{ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u",
                "controller": true }]);
            let metadata = json!({ "labels": { "pod-template-hash": "1" }, "ownerReferences": owners,
                "annotations": { "journeyman.dev/surge": "true" } });
            pod(name, "5", json!({ "metadata": metadata, "spec": { "nodeName": "a", "volumes": volumes } }))
        }
        "volumeattachments" => json!({ "metadata": { "name": name }, "spec": { "attacher": "ebs.csi.aws.com",
            "nodeName": "a", "source": { "persistentVolumeName": "v" } }, "status": { "attached": true } }),
        "deployments" => json!({ "metadata": { "name": name, "uid": "uid-a", "resourceVersion": "5" } }),
        "events" => json!({ "count": 1, "lastTimestamp": "2020-01-01T00:00:00Z" }),
        "leases" if way == Way::Marked => {
            json!({ "metadata": { "resourceVersion": "5" }, "spec": { "holderIdentity": "you", "renewTime": NOW,
                "leaseDurationSeconds": 15 } })
        }
        "nodepools" => json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": { "name": name, "uid": "uid-a", "resourceVersion": "5", "generation": 1 },
            "spec": { "template": { "spec": {
                "nodeClassRef": { "group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default" },
                "requirements": [],
            } } },
        }),
        "ec2nodeclasses" => json!({ "metadata": { "name": name, "uid": "uid-a", "resourceVersion": "5",
            "finalizers": ["karpenter.k8s.aws/termination"] } }),
        _ => json!({ "metadata": { "name": name, "resourceVersion": "5" }, "spec": {} }),
    };
    if let (Some(metadata), Some(going)) = (found["metadata"].as_object_mut(), going.as_object()) {
        metadata.extend(going.clone());
    }
    found
}

fn answer(right: &Right, path: &str, way: Way) -> Answer {
    let (verb, _, resource) = right;
    let (_, _, name) = place(path);
    match (verb.as_str(), way) {
        ("watch", Way::Bare | Way::Marked | Way::Going) => silent(),
        ("list", Way::Conflict) | ("watch", _) => whole(403, status(403, "Forbidden", "no").to_string()),
        // A list is found in any case; what is in it differs.
        ("list", way) => whole(200, list("5", &[object(resource, "a", way)]).to_string()),
        (_, Way::Missing) => whole(404, status(404, "NotFound", "not found").to_string()),
        // A read is in nobody's way.
        ("get", Way::Conflict) => whole(404, status(404, "NotFound", "not found").to_string()),
        (_, Way::Conflict) => whole(409, status(409, "Conflict", "modified").to_string()),
        (_, way) => whole(200, object(resource, name.as_deref().unwrap_or("a"), way).to_string()),
    }
}

/// All that `what` asks of a server, over every course that its answers may take.
async fn asked(what: impl AsyncFn(Cluster)) -> BTreeSet<Right> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let mut course: Vec<usize> = Vec::new();
    loop {
        let made = Arc::new(Mutex::new(0));
        let service = {
            let (seen, made, course) = (seen.clone(), made.clone(), course.clone());
            tower::service_fn(move |request: Request<Body>| {
                let right = right(&request);
                let mut made = made.lock().unwrap();
                let way = WAYS[course.get(*made).copied().unwrap_or_default()];
                *made += 1;
                let answer = answer(&right, request.uri().path(), way);
                seen.lock().unwrap().insert(right);
                std::future::ready(Ok::<_, Cause>(answer))
            })
        };
        what(Cluster::over(service).with_clock(now)).await;
        // The next course: the last step that was taken and can be taken otherwise.
        let made = *made.lock().unwrap();
        course.resize(made.min(DEPTH), 0);
        while course.last().is_some_and(|way| way + 1 == WAYS.len()) {
            course.pop();
        }
        match course.last_mut() {
            Some(way) => *way += 1,
            None => return seen.lock().unwrap().clone(),
        }
    }
}

fn manifest(name: &str) -> String {
    std::fs::read_to_string(shared(&format!("../infra/kubernetes/{name}.yaml"))).unwrap()
}

/// What a function's manifest lets it do, and those that may be added. The Lease is every decider's.
fn granted(function: &str, optional: bool) -> BTreeSet<Right> {
    let mut manifests = vec![manifest(function)];
    if manifests[0].contains("name: journeyman-lease") {
        manifests.push(manifest("lease"));
    }
    let added = OPTIONAL.iter().filter(|(of, _)| optional && *of == function);
    manifests.extend(added.map(|(_, name)| manifest(name)));
    let manifest = manifests.join("\n---\n");
    let mut rights = BTreeSet::new();
    for document in manifest.split("\n---\n") {
        let role: Value = serde_saphyr::from_str(document).unwrap();
        for rule in role["rules"].as_array().into_iter().flatten() {
            let texts = |field: &str| -> Vec<String> {
                rule[field].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
            };
            for verb in texts("verbs") {
                for group in texts("apiGroups") {
                    let new = texts("resources").into_iter().map(|it| (verb.clone(), group.clone(), it));
                    for right in new {
                        assert!(rights.insert(right.clone()), "{function}: {right:?} twice");
                    }
                }
            }
        }
    }
    rights
}

#[tokio::test(start_paused = true)]
async fn each_function_is_let_do_what_it_does_and_nothing_else() {
    let catalog = sources("runtime/src/refresh");
    let mut faults = Vec::new();
    for (function, planner, runtime) in FUNCTIONS {
        let decides: String = planner.iter().map(|path| sources(path)).collect();
        let reads: String = runtime.iter().map(|path| sources(&format!("runtime/src/{path}"))).collect();
        let reads = match function {
            "catalog" => reads.replace(body(&catalog, OF_LIFECYCLE), ""),
            "lifecycle" => reads + body(&catalog, OF_LIFECYCLE),
            _ => reads,
        };
        let subjects = words(&decides, "ObjectRef::", |_, _| true);
        let kinds = words(&reads, "Kind::", |before, _| !before.ends_with(char::is_alphanumeric));
        let kinds: BTreeSet<String> = kinds.into_iter().filter(|kind| kind.starts_with(['N', 'E'])).collect();

        let mut asks = BTreeSet::new();
        for effect in effects_in(&decides).iter().flat_map(|name| effects(name, &subjects)) {
            asks.extend(asked(async |cluster: Cluster| drop(cluster.act(&effect).await)).await);
        }
        for name in reads_in(&reads) {
            asks.extend(asked(async |cluster: Cluster| read(&cluster, &name, &kinds).await).await);
        }
        let granted = granted(function, true);
        let told = |what: &str, rights: Vec<&Right>| -> Vec<String> {
            let told =
                |(verb, group, resource): &Right| format!("{function} {what} {verb} {resource}.{group}");
            rights.into_iter().map(told).collect()
        };
        faults.extend(told("may not", asks.difference(&granted).collect()));
        faults.extend(told("need not", granted.difference(&asks).collect()));
    }
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn workloads_are_left_alone_unless_their_owner_lets_us() {
    let listed = std::fs::read_dir(shared("../infra/kubernetes/optional")).unwrap();
    let listed: BTreeSet<String> =
        listed.map(|entry| format!("optional/{}", entry.unwrap().file_name().to_str().unwrap())).collect();
    let known: BTreeSet<String> = OPTIONAL.iter().map(|(_, name)| format!("{name}.yaml")).collect();
    assert_eq!(listed, known);
    assert!(!manifest("kustomization").contains("optional"));
    for (function, ..) in FUNCTIONS {
        let writes = granted(function, false).into_iter().filter(|(verb, group, _)| {
            WORKLOADS.contains(&group.as_str()) && !["get", "list", "watch"].contains(&verb.as_str())
        });
        assert_eq!(writes.collect::<Vec<_>>(), Vec::<Right>::new(), "{function}");
    }
}
