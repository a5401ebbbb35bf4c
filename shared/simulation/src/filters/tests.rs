//! One table a filter: who may sit where.

use std::sync::Arc;

use model::{
    LabelSelector, Namespaces, ObjectName, Phase, Requirement, TaintEffect, Toleration, TolerationOperator,
    labels,
};

use super::*;

fn node(name: &str, zone: &str) -> Node {
    let labels = [(labels::ZONE, zone), (labels::HOSTNAME, name)];
    Node {
        name: name.into(),
        claim: None,
        provider_id: None,
        labels: labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
        taints: Vec::new(),
        capacity: Resources::new(),
        allocatable: amounts("4", "10"),
        registered: true,
        initialized: true,
        has_node: true,
        deleting: false,
        created: "2026-06-01T00:00:00Z".parse().unwrap(),
        last_pod_event: None,
        do_not_disrupt: false,
        volume_limits: BTreeMap::new(),
        disruption: Default::default(),
    }
}

fn amounts(cpu: &str, pods: &str) -> Resources {
    [("cpu", cpu.parse().unwrap()), ("pods", pods.parse().unwrap())].into_iter().collect()
}

fn spec(app: &str) -> PodSpec {
    PodSpec { labels: [("app".into(), app.into())].into(), requests: amounts("1", "1"), ..PodSpec::default() }
}

fn pod(name: &str, node: Option<&str>, spec: PodSpec) -> Pod {
    Pod {
        name: ObjectName::new("default", name),
        uid: name.into(),
        created: "2026-06-01T00:00:00Z".parse().unwrap(),
        node: node.map(Into::into),
        phase: if node.is_some() { Phase::Running } else { Phase::Pending },
        terminating: false,
        unschedulable: node.is_none(),
        owner: None,
        daemon: false,
        mirror: false,
        do_not_disrupt: None,
        disruption: Default::default(),
        volumes: Vec::new(),
        spec: Arc::new(spec),
    }
}

fn term(key: &str, app: &str) -> AffinityTerm {
    AffinityTerm { key: key.into(), selector: Some(selector(app)), namespaces: Namespaces::All }
}

fn selector(app: &str) -> LabelSelector {
    LabelSelector::from_labels([(&"app".to_owned(), &app.to_owned())])
}

#[track_caller]
fn check(nodes: &[Node], there: &[Pod], spec: PodSpec, free: &[&str]) {
    let cluster = Cluster { nodes: nodes.to_vec(), pods: there.to_vec(), ..Cluster::default() };
    let board = Board::new(&cluster);
    let coming = pod("coming", None, spec);
    let seats = board.feasible(&coming).into_iter().map(|seat| board.seats[seat].node.name.as_str());
    assert_eq!(seats.collect::<Vec<_>>(), free);
}

fn two() -> [Node; 2] {
    [node("n1", "a"), node("n2", "b")]
}

#[test]
fn only_nodes_ready_for_work_take_pods() {
    let ready = node("ready", "a");
    let nodes = [
        Node { initialized: false, ..node("booting", "a") },
        Node { has_node: false, ..node("claim", "a") },
        Node { deleting: true, ..node("leaving", "a") },
        ready,
    ];
    check(&nodes, &[], spec("web"), &["ready"]);
}

#[test]
fn a_pod_needs_room_for_all_it_asks() {
    let there = [pod("p1", Some("n1"), PodSpec { requests: amounts("3500m", "1"), ..spec("web") })];
    check(&two(), &there, spec("web"), &["n2"]);
    check(&two(), &there, PodSpec { requests: amounts("500m", "1"), ..spec("web") }, &["n1", "n2"]);
    let done = [Pod { phase: Phase::Terminal, ..there[0].clone() }];
    check(&two(), &done, spec("web"), &["n1", "n2"]);
    let gpu = [("nvidia.com/gpu", "1".parse().unwrap())].into_iter().collect();
    check(&two(), &there, PodSpec { requests: gpu, ..spec("web") }, &[]);
    // What is overdrawn only matters to those who ask for it.
    check(&two(), &there, PodSpec { requests: amounts("0", "1"), ..spec("web") }, &["n1", "n2"]);
}

#[test]
fn hard_taints_and_labels_keep_pods_away() {
    let mut nodes = two();
    let taint = |effect| Taint { key: "k".into(), value: "v".into(), effect };
    nodes[0].taints = vec![taint(TaintEffect::PreferNoSchedule)];
    nodes[1].taints = vec![taint(TaintEffect::NoSchedule)];
    check(&nodes, &[], spec("web"), &["n1"]);
    let toleration = Toleration {
        key: Some("k".into()),
        operator: TolerationOperator::Exists,
        value: String::new(),
        effect: None,
    };
    check(&nodes, &[], PodSpec { tolerations: vec![toleration], ..spec("web") }, &["n1", "n2"]);

    let zone = |zone: &str| {
        let mut wants = Requirements::new();
        wants.add(labels::ZONE, Requirement::is_in([zone]));
        wants
    };
    check(&two(), &[], PodSpec { node_selector: zone("b"), ..spec("web") }, &["n2"]);
    check(&two(), &[], PodSpec { required: vec![zone("c"), zone("a")], ..spec("web") }, &["n1"]);
    let both = PodSpec { node_selector: zone("b"), required: vec![zone("a")], ..spec("web") };
    check(&two(), &[], both, &[]);
    check(&two(), &[], PodSpec { faults: vec!["matchFields".into()], ..spec("web") }, &[]);
}

#[test]
fn a_port_is_taken_once_a_node() {
    let port = |port| HostPort { ip: "0.0.0.0".into(), port, protocol: "TCP".into() };
    let with = |number| PodSpec { host_ports: [port(number)].into(), ..spec("web") };
    check(&two(), &[pod("p1", Some("n1"), with(80))], with(80), &["n2"]);
    check(&two(), &[pod("p1", Some("n1"), with(80))], with(81), &["n1", "n2"]);
}

#[test]
fn anti_affinity_holds_both_ways() {
    let apart =
        |key: &str, from: &str, app: &str| PodSpec { anti_affinity: vec![term(key, from)], ..spec(app) };
    let web = [pod("p1", Some("n1"), spec("web"))];
    check(&two(), &web, apart(labels::ZONE, "web", "db"), &["n2"]);
    check(&two(), &web, apart(labels::ZONE, "api", "db"), &["n1", "n2"]);
    let shy = [pod("p1", Some("n1"), apart(labels::HOSTNAME, "db", "web"))];
    check(&two(), &shy, spec("db"), &["n2"]);
    check(&two(), &shy, spec("web"), &["n1", "n2"]);
    // A node without the key has no domain to share.
    check(&two(), &web, apart("rack", "web", "db"), &["n1", "n2"]);
}

#[test]
fn affinity_follows_and_the_first_of_its_kind_may_start_anywhere() {
    let near = |key: &str, to: &str, app: &str| PodSpec { affinity: vec![term(key, to)], ..spec(app) };
    let web = [pod("p1", Some("n1"), spec("web"))];
    check(&two(), &web, near(labels::ZONE, "web", "db"), &["n1"]);
    check(&two(), &web, near(labels::ZONE, "db", "db"), &["n1", "n2"]);
    check(&two(), &web, near(labels::ZONE, "api", "db"), &[]);
    check(&two(), &[], near("rack", "db", "db"), &[]);
}

#[test]
fn spread_counts_the_pods_of_eligible_domains() {
    let spread = |key: &str| Spread {
        key: key.into(),
        max_skew: 1,
        hard: true,
        min_domains: None,
        selector: Some(selector("web")),
        honor_affinity: true,
        honor_taints: false,
    };
    let with = |spread: Spread| PodSpec { spread: vec![spread], ..spec("web") };
    let there = [pod("p1", Some("n1"), spec("web"))];
    check(&two(), &there, with(spread(labels::ZONE)), &["n2"]);
    check(&two(), &there, with(Spread { max_skew: 2, ..spread(labels::ZONE) }), &["n1", "n2"]);
    check(&two(), &there, with(Spread { hard: false, ..spread(labels::ZONE) }), &["n1", "n2"]);
    check(
        &two(),
        &there,
        with(Spread { selector: Some(selector("api")), ..spread(labels::ZONE) }),
        &["n1", "n2"],
    );
    check(&two(), &there, with(spread("rack")), &[]);
    // Fewer domains than asked for count as one more that is empty.
    check(&two(), &there, with(Spread { min_domains: Some(3), ..spread(labels::ZONE) }), &["n2"]);
    let both = [there[0].clone(), pod("p2", Some("n2"), spec("web"))];
    check(&two(), &both, with(spread(labels::ZONE)), &["n1", "n2"]);
    check(&two(), &both, with(Spread { min_domains: Some(3), ..spread(labels::ZONE) }), &[]);
    // A pod on its way out doesn't count.
    let leaving = [Pod { terminating: true, ..there[0].clone() }];
    check(&two(), &leaving, with(spread(labels::ZONE)), &["n1", "n2"]);
    // A node that takes no pods yet is a domain nevertheless, as it is for kube-scheduler.
    let mut booting = two();
    booting[1].initialized = false;
    check(&booting, &there, with(spread(labels::ZONE)), &[]);
    // A domain out of the pod's reach counts only where policies are ignored.
    let mut tainted = two();
    tainted[1].taints =
        vec![Taint { key: "k".into(), value: String::new(), effect: TaintEffect::NoSchedule }];
    check(&tainted, &there, with(spread(labels::ZONE)), &[]);
    check(&tainted, &there, with(Spread { honor_taints: true, ..spread(labels::ZONE) }), &["n1"]);
}
