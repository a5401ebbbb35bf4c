//! Case files.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::case::{self, Action, Case};
use api::read::read_documents;
use api::report::plan_json;
use model::{
    CapacityType, Care, Effect, MicroUsd, ObjectName, Offer, Plan, PlannedNode, Quantity, Reason, Resources,
    Unschedulable,
};

const HEAD: &str = "name: a case\ninstanceTypes:\n- {name: c.large, cpu: 2, memory: 4Gi, pods: 29, zones: [a, b], onDemand: 0.10, spot: {a: 0.03}, unavailable: [{zone: a, capacityType: spot}]}\n";
const POOL: &str = "- {apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: default}, spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}}}}\n";

fn read(text: &str) -> Result<Case, case::CaseError> {
    Case::read(&read_documents("case.yaml", text).expect("readable")[0])
}

#[track_caller]
fn case(objects: &str, rest: &str) -> Case {
    read(&format!("{HEAD}objects:\n{POOL}{objects}{rest}")).unwrap_or_else(|error| panic!("{error:?}"))
}

fn faults(text: &str) -> Vec<String> {
    match read(text) {
        Err(case::CaseError::Invalid { faults }) => faults.iter().map(ToString::to_string).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_case_becomes_a_snapshot() {
    let pods = "- {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 2, selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}}\n";
    let case = case(
        pods,
        "now: 2026-06-02T00:00:00Z\nsettings: {preferences: Ignore, feePerNode: 0.01}\nexpect: {nodeCount: 1}\n",
    );
    let snapshot = case.snapshot().expect("a snapshot");
    assert_eq!(snapshot.now.to_string(), "2026-06-02T00:00:00Z");
    assert_eq!(snapshot.settings.fee_per_node, MicroUsd(10_000));
    assert_eq!(snapshot.cluster.pods.len(), 2);
    let types = &snapshot.catalogue.types["default"];
    let offers: Vec<String> = types[0]
        .offerings
        .iter()
        .map(|it| format!("{} {} {} {}", it.zone, it.capacity_type, it.price, it.available))
        .collect();
    assert_eq!(offers, ["a spot 0.0300 false", "a on-demand 0.1000 true", "b on-demand 0.1000 true"]);
    // 11 x 29 + 255 + 100 MiB; 60 + 10 millicores.
    assert_eq!(types[0].overhead.get("memory"), Quantity::from_mebibytes(674));
    assert_eq!(types[0].overhead.get("cpu").to_string(), "70m");
    assert_eq!(
        types[0].requirements.get("karpenter.k8s.aws/instance-size").and_then(|it| it.single()),
        Some("large")
    );
}

#[test]
fn instance_types_have_a_long_form() {
    let text = "name: c\ninstanceTypes:\n- name: x\n  labels: {team: a}\n  capacity: {cpu: 4, memory: 8Gi, pods: 10, ephemeral-storage: 50Gi}\n  overhead: {cpu: 100m}\n  offerings:\n  - {zone: a, capacityType: reserved, price: 0, reservation: {id: cr-1, remaining: 2}}\n  - {zone: a, zoneId: use1-az1, capacityType: on-demand, price: '0.5', available: false}\n";
    let snapshot = read(&format!("{text}objects:\n{POOL}expect: {{unschedulable: {{}}}}\n"))
        .expect("a case")
        .snapshot()
        .expect("a snapshot");
    let kind = &snapshot.catalogue.types["default"][0];
    assert_eq!(kind.overhead.to_string(), "cpu 100m");
    assert_eq!(kind.offerings[0].reservation.as_ref().map(|it| it.remaining), Some(2));
    assert!(!kind.offerings[1].available);
    assert_eq!(kind.requirements.get("team").and_then(|it| it.single()), Some("a"));
}

#[test]
fn without_instance_types_the_embedded_catalogue_counts() {
    let snapshot = read(&format!("name: c\nobjects:\n{POOL}expect: {{unschedulable: {{}}}}\n"))
        .expect("a case")
        .snapshot()
        .expect("a snapshot");
    let types = &snapshot.catalogue.types["default"];
    assert!(types.iter().any(|kind| kind.name == "m5.large"), "{} types", types.len());
}

#[test]
fn workloads_say_where_their_pods_run() {
    let set = |placed: &str| {
        format!(
            "- {{apiVersion: apps/v1, kind: StatefulSet, metadata: {{name: db}}, placed: {placed}, spec: {{serviceName: s, replicas: 2, selector: {{matchLabels: {{a: b}}}}, template: {{metadata: {{labels: {{a: b}}}}, spec: {{containers: []}}}}}}}}\n"
        )
    };
    for (placed, nodes) in [("n1", [Some("n1"), Some("n1")]), ("{db-1: n2}", [None, Some("n2")])] {
        let snapshot = case(&set(placed), "expect: {nodeCount: 0}\n").snapshot().expect("a snapshot");
        let seen: Vec<Option<&str>> = snapshot.cluster.pods.iter().map(|pod| pod.node.as_deref()).collect();
        assert_eq!(seen, nodes, "{placed}");
    }
}

#[test]
fn every_fault_of_a_case_has_its_place() {
    #[rustfmt::skip]
    let table = [
        ("name: c\nobjects: []\nexpekt: {}\nexpect: {nodeCount: 1}\n", "case.yaml:3:1: expekt: unknown field expekt"),
        ("name: c\nobjects: []\n", "case.yaml:1:1: missing field `expect`"),
        ("name: c\nobjects: []\nexpect: {}\n", "expects nothing"),
        ("name: c\nobjects: []\nexpect:\n  nodes:\n  - {zoen: a}\n", "case.yaml:5:6: expect.nodes[0].zoen"),
        ("name: c\nobjects: []\nexpect:\n  unschedulable: {p: limitss}\n", "case.yaml:4:19: expect.unschedulable[p]: \"limitss\" is not a reason code; did you mean limits?"),
        ("name: c\nobjects: []\nnow: soon\nexpect: {nodeCount: 1}\n", "case.yaml:3:1: now"),
        ("name: c\nobjects: []\naction: provsion\nexpect: {nodeCount: 1}\n", "case.yaml:3:1: action"),
        ("name: c\ninstanceTypes: [{name: x, cpu: 1, memory: 1Gb, zones: [a], onDemand: 1}]\nobjects: []\nexpect: {nodeCount: 1}\n", "instanceTypes[0].memory"),
        ("name: c\ninstanceTypes: [{name: x, cpu: 1, memory: 1Gi}]\nobjects: []\nexpect: {nodeCount: 1}\n", "can't be bought"),
        ("name: c\ninstanceTypes: [{name: x, cpu: 1, memory: 1Gi, zones: [a], onDemand: 1, unavailable: [{zone: b}]}]\nobjects: []\nexpect: {nodeCount: 1}\n", "names no offering"),
        ("name: c\nobjects: []\nexpect: {nodeCount: -1}\n", "case.yaml:3:10: expect.nodeCount"),
    ];
    for (text, part) in table {
        let faults = faults(text);
        assert!(faults.iter().any(|fault| fault.contains(part)), "{part}: {faults:#?}");
    }
}

#[test]
fn faults_of_objects_come_with_the_snapshot() {
    let bad = case(
        "- {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {nodeSelecter: {a: b}, containers: []}}\n",
        "expect: {nodeCount: 0}\n",
    );
    let error = bad.snapshot().expect_err("a fault");
    let case::CaseError::Objects(error) = error else { panic!("{error:?}") };
    assert_eq!(
        error.faults()[0].to_string(),
        "case.yaml:6:59: spec.nodeSelecter: unknown field nodeSelecter"
    );
}

#[test]
fn what_an_action_cannot_meet_or_miss_is_a_fault() {
    let text = |rest: &str| format!("{HEAD}objects: []\n{rest}");
    for (rest, fault) in [
        ("action: interrupt\nexpect: {keep: {n: pdb}, ignored: 0}\n", "expect.keep: nothing of the kind"),
        ("action: provision\nexpect: {nodeCount: 0, closed: []}\n", "expect.closed: nothing of the kind"),
        ("action: disrupt\nevents: [{}]\nexpect: {disrupt: []}\n", "events: are for action interrupt alone"),
        ("action: interrupt\nexpect: {deadlines: {n: soon}}\n", "expect.deadlines[n]: "),
        ("action: interrupt\nexpect: {}\n", "expect: expects nothing"),
    ] {
        let faults = faults(&text(rest)).join("\n");
        assert!(faults.contains(fault), "{rest}: {faults}");
    }
    let keep = case("", "action: disrupt\nexpect: {keep: {n: pdb}}\n");
    assert!(keep.check(&Plan::default())[0].0.contains("the plan does not mention it"));
}

#[test]
fn an_interruption_misses_in_words() {
    let interrupt = case(
        "",
        "action: interrupt\nevents: [{hello: world}]\nexpect: {disrupt: [{node: n1}], closed: [n1], deadlines: {n1: '2026-06-01T12:02:00Z'}, avoid: [x], events: {n1: [Gone]}, ignored: 0}\n",
    );
    assert_eq!((interrupt.action, interrupt.events().len()), (Action::Interrupt, 1));
    let snapshot = interrupt.interruption(Vec::new()).expect("a snapshot");
    let misses = interrupt.check_care(&snapshot, &Care::default(), 1);
    let misses: Vec<&str> = misses.iter().map(|miss| miss.0.as_str()).collect();
    let expected = [
        "closed: n1 expected, it is not there",
        "deadlines: n1 at 2026-06-01T12:02:00Z expected, it is not there",
        "avoid: x expected, it is not there",
        "events[n1]: Gone expected, it is not there",
        "ignored: 0 expected, it is 1",
        "disrupt: n1 expected to go, it stays",
    ];
    assert_eq!(misses, expected);
}

fn offer(zone: &str) -> Offer {
    Offer {
        instance_type: "c.large".into(),
        zone: zone.into(),
        capacity_type: CapacityType::OnDemand,
        price: MicroUsd(100_000),
        reservation: None,
    }
}

fn plan() -> Plan {
    let node = |zone: &str, pods: &[&str]| PlannedNode {
        name: format!("default-{zone}"),
        pool: "default".into(),
        offer: offer(zone),
        price: MicroUsd(100_000),
        pods: pods.iter().map(|pod| ObjectName::new("default", *pod)).collect(),
        requests: [("cpu", Quantity::from_units(1))].into_iter().collect(),
        allocatable: Resources::new(),
        options: Arc::new(vec![offer(zone)]),
        pinned: BTreeMap::new(),
    };
    Plan {
        nodes: vec![node("a", &["web-0", "web-1"]), node("b", &["web-2"])],
        existing: [("n1".to_owned(), vec![ObjectName::new("default", "db-0")])].into(),
        unschedulable: vec![Unschedulable {
            pod: ObjectName::new("ops", "big"),
            reason: Arc::new(Reason::NoNodePool),
            funnels: Arc::default(),
        }],
        effects: vec![Effect::DeleteNodeClaim { claim: "old".into(), uid: None, reason: "Empty".into() }],
        ..Plan::default()
    }
}

#[test]
fn expectations_hold_or_are_missed() {
    #[rustfmt::skip]
    let table: [(&str, &[&str]); 22] = [
        ("{nodes: [{zone: b}, {zone: a}]}", &[]),
        ("{nodes: [{count: 2, nodePool: default}]}", &[]),
        ("{nodes: [{count: 2, pods: [web-0, web-1, web-2]}]}", &[]),
        ("{nodes: [{}, {zone: a, capacityType: on-demand, instanceType: c.large, maxUsdPerHour: 0.1, pods: [web-1, web-0]}]}", &[]),
        ("{nodes: [{zone: a}]}", &["not expected: c.large b"]),
        ("{nodes: []}", &["not expected: c.large a", "not expected: c.large b"]),
        ("{nodes: [{zone: a}, {zone: c}]}", &["expected c, no planned node is like that", "not expected: c.large b"]),
        ("{nodes: [{zone: a, maxUsdPerHour: 0.05}, {zone: b}]}", &["for at most $0.0500", "not expected"]),
        ("{nodes: [{zone: a, pods: [web-0, web-1, web-9]}, {}]}", &["lacks default/web-9"]),
        ("{nodeCount: 2}", &[]),
        ("{nodeCount: {max: 1}}", &["at most 1 expected, 2 planned"]),
        ("{nodeCount: {min: 3}}", &["at least 3 expected"]),
        ("{usdPerHour: 0.2}", &[]),
        ("{usdPerHour: {max: 0.15}}", &["at most $0.1500 expected, the plan costs $0.2000"]),
        ("{placed: {db-0: n1}}", &[]),
        ("{placed: {db-0: n2, web-0: n1, lost: n1}}", &["it goes to n1", "it goes to a new node", "does not mention it"]),
        ("{unschedulable: {ops/big: no-nodepool}}", &[]),
        ("{unschedulable: {}}", &["ops/big is not expected"]),
        ("{unschedulable: {ops/big: limits, web-0: taints}}", &["ops/big expected with limits", "web-0 expected with taints"]),
        ("{disrupt: [{node: old, reason: Empty}]}", &[]),
        ("{disrupt: []}", &["old is not expected to go"]),
        ("{disrupt: [{node: n1}, {node: old, reason: Drifted, replacement: {}}]}", &["n1 expected to go, it stays", "goes as Empty", "replaced by a node, its replacements are:"]),
    ];
    for (expect, parts) in table {
        let case = case("", &format!("expect: {expect}\n"));
        let misses: Vec<String> = case.check(&plan()).iter().map(ToString::to_string).collect();
        assert!(
            parts.iter().all(|part| misses.iter().any(|miss| miss.contains(part))),
            "{expect}: {misses:#?}"
        );
        assert_eq!(misses.len(), parts.len(), "{expect}: {misses:#?}");
    }
}

#[test]
fn plans_are_reported_by_stable_names() {
    let snapshot = case("", "expect: {nodeCount: 0}\n").snapshot().expect("a snapshot");
    let mut plan = plan();
    let report = plan_json(&plan, &snapshot);
    assert_eq!(report["usdPerHour"], 0.2);
    assert!(report.get("lowerBoundUsdPerHour").is_none());
    assert_eq!(report["nodes"][0]["pods"][1], "default/web-1");
    assert_eq!(report["nodes"][0]["requests"]["cpu"], "1");
    assert_eq!(
        report["nodes"][1]["options"][0],
        serde_json::json!({ "instanceType": "c.large", "zone": "b", "capacityType": "on-demand", "usdPerHour": 0.1 })
    );
    assert_eq!(report["existing"]["n1"][0], "default/db-0");
    assert_eq!(report["unschedulable"][0]["code"], "no-nodepool");
    assert!(report["unschedulable"][0]["help"].is_string());
    let fields: Vec<&String> = report["nodes"][0].as_object().expect("an object").keys().collect();
    assert_eq!(
        fields,
        [
            "allocatable",
            "capacityType",
            "instanceType",
            "name",
            "nodePool",
            "options",
            "pods",
            "requests",
            "usdPerHour",
            "zone"
        ]
    );
    plan.lower_bound = Some(MicroUsd(150_000));
    assert_eq!(plan_json(&plan, &snapshot)["lowerBoundUsdPerHour"], 0.15);
}

#[test]
fn the_committed_schema_is_current() {
    let committed: serde_json::Value =
        serde_json::from_str(include_str!("../../schema/case.json")).expect("JSON");
    let current = case::schema();
    assert_eq!(
        committed,
        current,
        "write it anew: {}",
        serde_json::to_string_pretty(&current).unwrap_or_default()
    );
}
