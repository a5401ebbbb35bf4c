//! NodePools and EC2NodeClasses.

use jiff::SignedDuration;
use model::{BudgetReason, ConsolidationPolicy, MicroUsd, PoolStatus};

use super::kit::{POOL, faults, lowered};

fn pool(lines: &str) -> model::NodePool {
    let text = POOL.replacen("spec:\n  template:\n", &format!("spec:\n{lines}  template:\n"), 1);
    lowered(&text).cluster.pools.into_iter().next().expect("one")
}

fn requirement(lines: &str) -> String {
    let text = POOL.replacen("requirements: []", &format!("requirements: [{lines}]"), 1);
    lowered(&text).cluster.pools[0].requirements.to_string()
}

#[test]
fn everything_of_a_pool_is_read() {
    let text = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: all}
spec:
  weight: 10
  limits: {cpu: 100, nodes: 5, journeyman.dev/usd-per-hour: '2.5'}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: Never
    budgets: [{nodes: 20%, reasons: [Drifted, Empty], schedule: '0 9 * * *', duration: 8h}]
  template:
    metadata: {labels: {team: a}, annotations: {note: b}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      expireAfter: Never
      terminationGracePeriod: 1h30m
      taints: [{key: team, value: a, effect: NoSchedule}]
      startupTaints: [{key: starting, effect: NoExecute}]
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: Exists, minValues: 2}]
";
    let class = &POOL[POOL.find("---").expect("two documents")..];
    let pool = lowered(&format!("{text}{class}")).cluster.pools.into_iter().next().expect("one");
    assert_eq!((pool.weight, pool.limits.to_string().as_str()), (10, "cpu 100, nodes 5"));
    assert_eq!(pool.price_limit, Some(MicroUsd(2_500_000)));
    assert_eq!(
        (pool.expire_after, pool.termination_grace_period),
        (None, Some(SignedDuration::from_mins(90)))
    );
    assert_eq!((pool.taints.len(), pool.startup_taints.len(), pool.status), (1, 1, PoolStatus::Ready));
    assert_eq!(
        pool.requirements.get("karpenter.k8s.aws/instance-family").and_then(|it| it.min_values),
        Some(2)
    );
    let disruption = pool.disruption;
    assert_eq!((disruption.policy, disruption.consolidate_after), (ConsolidationPolicy::WhenEmpty, None));
    assert_eq!(disruption.budgets[0].reasons, [BudgetReason::Empty, BudgetReason::Drifted]);
    assert_eq!(disruption.budgets[0].duration, Some(SignedDuration::from_hours(8)));
}

#[test]
fn defaults_are_those_of_the_api_server() {
    let pool = pool("");
    assert_eq!(pool.expire_after, Some(SignedDuration::from_hours(720)));
    assert_eq!(pool.disruption.consolidate_after, Some(SignedDuration::ZERO));
    assert_eq!(pool.disruption.budgets[0].nodes, "10%");
    assert_eq!(self::pool("  replicas: 3\n").replicas, Some(3));
}

#[test]
fn requirements_and_price_rules_are_sets() {
    #[rustfmt::skip]
    let table = [
        ("{key: a, operator: In, values: [x, z]}", "a In [x, z]"),
        ("{key: a, operator: In, values: [x, z]}, {key: a, operator: NotIn, values: [x]}", "a In [z]"),
        ("{key: beta.kubernetes.io/arch, operator: In, values: [arm64]}", "kubernetes.io/arch In [arm64]"),
        ("{key: journeyman.dev/usd-per-hour, operator: Lte, values: ['0.25']}", "journeyman.dev/usd-per-hour Lte 250000"),
        ("{key: journeyman.dev/usd-per-hour, operator: Lt, values: ['0.25']}", "journeyman.dev/usd-per-hour Lte 249999"),
    ];
    for (lines, expected) in table {
        assert_eq!(requirement(lines), expected, "{lines}");
    }
}

#[test]
fn a_pool_that_is_not_ready_says_why() {
    let condition = |status: &str, message: &str| {
        format!(
            "status: {{conditions: [{{type: Ready, status: '{status}', reason: Because, message: '{message}', lastTransitionTime: '2026-01-01T00:00:00Z'}}]}}\n"
        )
    };
    let (pool, class) = POOL.split_at(POOL.find("---").expect("two documents"));
    let deleted = class
        .replace("{name: default}\nspec", "{name: default, deletionTimestamp: '2026-01-01T00:00:00Z'}\nspec");
    #[rustfmt::skip]
    let table = [
        (format!("{pool}{class}"), None),
        (format!("{pool}{}{class}", condition("True", "")), None),
        (format!("{pool}{}{class}", condition("False", "no subnets")), Some("no subnets")),
        (format!("{pool}{}{class}", condition("Unknown", "")), Some("Because")),
        (format!("{pool}{class}{}", condition("False", "no AMI")), Some("EC2NodeClass default: no AMI")),
        (format!("{pool}{deleted}"), Some("EC2NodeClass default is being deleted")),
    ];
    for (text, why) in table {
        let status = lowered(&text).cluster.pools[0].status.clone();
        assert_eq!(
            status,
            why.map_or(PoolStatus::Ready, |why| PoolStatus::NotReady(why.to_owned())),
            "{text}"
        );
    }
}

#[test]
fn a_missing_class_is_a_fault() {
    let (pool, class) = POOL.split_at(POOL.find("---").expect("two documents"));
    assert_eq!(
        faults(pool),
        [
            "input.yaml:2:1: NodePool default: EC2NodeClass default does not exist (add the manifest of EC2NodeClass default)"
        ]
    );
    let misspelt = format!("{pool}{}", class.replace("name: default", "name: defualt"));
    assert!(
        faults(&misspelt)[0].ends_with("(did you mean EC2NodeClass defualt?)"),
        "{:?}",
        faults(&misspelt)
    );
}

#[test]
fn every_fault_of_a_pool_has_its_place() {
    let bad = POOL
        .replacen(
            "requirements: []",
            "requirements: [{key: a, operator: Inn, values: [b]}]\n      expireafter: 1h",
            1,
        )
        .replacen("  template:", "  weight: 1000\n  template:", 1);
    let faults = faults(&bad);
    for (line, part) in
        [("input.yaml:6:", "weight"), ("input.yaml:10:", "operator"), ("input.yaml:11:", "expireafter")]
    {
        assert!(
            faults.iter().any(|fault| fault.starts_with(line) && fault.contains(part)),
            "{line} {part}: {faults:#?}"
        );
    }
}

#[test]
fn other_versions_and_unknown_kinds_are_told_apart() {
    let old = POOL.replacen("karpenter.sh/v1", "karpenter.sh/v1beta1", 1);
    assert!(
        faults(&old)[0].contains("karpenter.sh/v1beta1 is not a version of NodePool"),
        "{:?}",
        faults(&old)
    );
    let slip = POOL.replacen("kind: NodePool", "kind: NodePol", 1);
    assert!(faults(&slip)[0].ends_with("(did you mean NodePool?)"), "{:?}", faults(&slip));
    let other = lowered(&format!("{POOL}---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\n"));
    assert!(other.notes.iter().any(|note| note.place == "ConfigMap"), "{:?}", other.notes);
}

#[test]
fn a_class_becomes_the_shape_that_types_depend_on() {
    let class = POOL.replacen("  role: nodes", "  role: nodes\n  instanceStorePolicy: RAID0\n  kubelet: {maxPods: 42, systemReserved: {cpu: 100m}}\n  blockDeviceMappings: [{deviceName: /dev/xvda, rootVolume: true, ebs: {volumeSize: 100Gi}}]", 1);
    let class = format!(
        "{class}status: {{subnets: [{{id: subnet-1, zone: us-east-1b}}, {{id: subnet-2, zone: us-east-1a}}]}}\n"
    );
    let shape = lowered(&class).classes.remove("default").expect("the class");
    assert_eq!(shape.kubelet.max_pods, Some(42));
    assert_eq!(shape.kubelet.system_reserved.get("cpu").map(String::as_str), Some("100m"));
    assert_eq!(shape.ami_family, catalog::class::AmiFamily::Al2023);
    assert_eq!(
        shape.zones.map(|zones| zones.into_iter().collect::<Vec<_>>()),
        Some(vec!["us-east-1a".into(), "us-east-1b".into()])
    );
    assert_eq!(shape.block_devices[0].size, Some(model::Quantity::from_mebibytes(100 << 10)));
    assert!(shape.instance_store_policy.is_some());
    assert_eq!(lowered(POOL).classes["default"].zones, None);
}

/// A class with two reservations, of which EC2 told at twelve, and NodeClaims.
fn drawing(annotation: &str, claims: &[(&str, &str, &str)]) -> String {
    let class = POOL.replacen(
        "kind: EC2NodeClass\nmetadata: {name: default}",
        &format!("kind: EC2NodeClass\nmetadata: {{name: default, annotations: {{{annotation}}}}}"),
        1,
    );
    let reservation = |id: &str, more: &str| {
        format!(
            "{{id: {id}, availabilityZone: us-east-1a, instanceType: m5.large, ownerID: '123456789012', instanceMatchCriteria: targeted{more}}}"
        )
    };
    let (one, two) = (
        reservation("cr-1", ""),
        reservation("cr-2", ", interruptible: true, reservationType: capacity-block, state: expiring"),
    );
    let mut text = format!("{class}status: {{capacityReservations: [{one}, {two}]}}\n");
    for (index, (labels, requirements, status)) in claims.iter().enumerate() {
        text.push_str(&format!(
            "---\napiVersion: karpenter.sh/v1\nkind: NodeClaim\nmetadata: {{name: c{index}, labels: {{{labels}}}}}\n\
             spec: {{nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}, requirements: [{requirements}]}}\n\
             status: {{{status}}}\n"
        ));
    }
    text
}

#[test]
fn aws_c136_each_place_of_a_reservation_is_counted_once() {
    const COUNTED: &str = r#"journeyman.dev/capacity-reservations: '{"asOf":"2026-06-01T12:00:00Z","left":{"cr-1":3,"cr-2":1}}'"#;
    let asks = |id: &str| {
        format!(
            "{{key: karpenter.sh/capacity-type, operator: In, values: [reserved]}}, \
             {{key: karpenter.k8s.aws/capacity-reservation-id, operator: In, values: [{id}]}}"
        )
    };
    let launched = |at: &str| {
        format!(
            "providerID: 'aws:///us-east-1a/i-1', conditions: [{{type: Launched, status: 'True', reason: Launched, message: '', lastTransitionTime: '{at}'}}]"
        )
    };
    let (one, two) = (asks("cr-1"), asks("cr-2"));
    let (before, after) = (launched("2026-06-01T11:59:00Z"), launched("2026-06-01T12:01:00Z"));
    let own = "karpenter.k8s.aws/capacity-reservation-id: cr-1";
    let on_demand = "{key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}";
    #[rustfmt::skip]
    let table = [
        ("nobody has taken any", vec![], [3, 1]),
        ("one is to be launched", vec![("", one.as_str(), "")], [2, 1]),
        ("one in another", vec![("", two.as_str(), "")], [3, 0]),
        ("more than there are", vec![("", two.as_str(), ""), ("", two.as_str(), "")], [3, 0]),
        ("one was launched since", vec![(own, one.as_str(), after.as_str())], [2, 1]),
        ("one was launched before", vec![(own, one.as_str(), before.as_str())], [3, 1]),
        ("one fell back to on-demand", vec![("", one.as_str(), after.as_str())], [3, 1]),
        ("one never was to be", vec![("", on_demand, "")], [3, 1]),
    ];
    for (what, claims, left) in table {
        let text = drawing(COUNTED, &claims);
        let lowered = lowered(&text);
        let held = &lowered.classes["default"].capacity_reservations;
        let remaining: Vec<u32> = held.iter().map(|held| held.remaining).collect();
        assert_eq!(remaining, left, "{what}");
        assert_eq!(lowered.notes, [], "{what}");
        // The launch itself takes the place that was kept for it.
        let class = super::kit::objects(&text).node_class("default").map(api::lower::class_shape);
        let raw: Vec<u32> =
            class.unwrap().0.capacity_reservations.iter().map(|held| held.remaining).collect();
        assert_eq!(raw, [3, 1], "{what}");
    }
    let lowered = lowered(&drawing("a: b", &[]));
    let held = &lowered.classes["default"].capacity_reservations;
    assert_eq!(held.iter().map(|held| held.remaining).collect::<Vec<_>>(), [0, 0]);
    assert_eq!(
        (held[1].kind.as_str(), held[1].interruptible, held[1].expiring),
        ("capacity-block", true, true)
    );
    assert_eq!(lowered.notes.len(), 2, "what is not known is said: {:?}", lowered.notes);
}

#[test]
fn the_placement_group_of_a_class_is_what_was_found() {
    let text = POOL
        .replacen("  role: nodes", "  role: nodes\n  placementGroupSelector: {name: hpc}", 1)
        .replacen(
            "kind: EC2NodeClass\nmetadata: {name: default}",
            r#"kind: EC2NodeClass
metadata: {name: default, annotations: {journeyman.dev/placement-group: '{"id":"pg-1","strategy":"partition","partitions":3}'}}"#,
            1,
        );
    let group = lowered(&text).classes.remove("default").and_then(|shape| shape.placement_group);
    let group = group.expect("one");
    assert_eq!((group.id.as_str(), group.strategy.as_str(), group.partitions), ("pg-1", "partition", 3));
    assert_eq!(lowered(POOL).classes["default"].placement_group, None);
}
