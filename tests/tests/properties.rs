//! What must hold of every plan, on snapshots made by chance.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    AffinityTerm, InstanceType, MicroUsd, MinValuesPolicy, NodePool, ObjectName, Offering, Plan, Pod,
    PodSpec, PoolStatus, Quantity, Reason, Requirement, Requirements, Resources, Snapshot, Taint,
    TaintEffect, Undefined, audit, labels,
};
use planner::{PROVISION, decide};
use proptest::prelude::*;
use tests::kit;

fn unschedulable(plan: &Plan) -> BTreeSet<&ObjectName> {
    plan.unschedulable.iter().map(|entry| &entry.pod).collect()
}

/// A pool like the first, which no pod can use: none tolerates its taint.
fn unrelated(snapshot: &Snapshot) -> Option<NodePool> {
    let first = snapshot.cluster.pools.iter().find(|pool| pool.status == PoolStatus::Ready)?;
    let mut pool = first.clone();
    pool.name = "unrelated".into();
    pool.taints = vec![kit::taint("unrelated", TaintEffect::NoSchedule)];
    pool.labels.insert("unrelated".into(), "true".into());
    Some(pool)
}

fn has_neighbours(pod: &Pod, snapshot: &Snapshot) -> bool {
    let spec = &pod.spec;
    let hard = spec.spread.iter().any(|spread| spread.hard);
    let meant = |term: &AffinityTerm| term.selects(&pod.name.namespace, &spec.labels);
    let shunned = snapshot.cluster.pods.iter().flat_map(|pod| &pod.spec.anti_affinity).any(meant);
    hard || shunned || !spec.affinity.is_empty() || !spec.anti_affinity.is_empty()
}

/// What the nodes that are and those planned leave of each of the pool's limits, whichever of its options a planned one
/// becomes.
struct Left {
    resources: Vec<(String, Quantity)>,
    price: Option<MicroUsd>,
    /// Counts for each node.
    fee: MicroUsd,
}

impl Left {
    fn new(snapshot: &Snapshot, plan: &Plan, pool: &NodePool) -> Self {
        let kinds = &snapshot.catalogue.types[&pool.node_class.name];
        let of_pool = |name: Option<&str>| name == Some(pool.name.as_str());
        let nodes = snapshot.cluster.nodes.iter().filter(|node| !node.deleting && of_pool(node.pool()));
        let mut used = Resources::new();
        let fee = snapshot.settings.fee_per_node;
        let mut paid = MicroUsd::ZERO;
        for node in nodes {
            used.add(&counted(node.capacity.clone()));
            let offered =
                kinds.iter().filter(|kind| node.labels.get(labels::INSTANCE_TYPE) == Some(&kind.name));
            let offered = offered.flat_map(|kind| &kind.offerings).filter(|offering| {
                let labels = offering.labels();
                [labels::ZONE, labels::CAPACITY_TYPE]
                    .iter()
                    .all(|key| labels.get(*key) == node.labels.get(*key))
            });
            paid = paid.plus(offered.map(|offering| offering.price).max().unwrap_or_default()).plus(fee);
        }
        for node in plan.nodes.iter().filter(|node| node.pool == pool.name) {
            let mut largest = Resources::new();
            let named =
                |kind: &&InstanceType| node.options.iter().any(|offer| offer.instance_type == kind.name);
            kinds.iter().filter(named).for_each(|kind| largest.raise_to(&kind.capacity));
            used.add(&counted(largest));
            paid =
                paid.plus(node.options.iter().map(|offer| offer.price).max().unwrap_or_default()).plus(fee);
        }
        let resources =
            pool.limits.iter().map(|(name, limit)| (name.to_owned(), limit.minus(used.get(name))));
        let price = pool.price_limit.map(|limit| MicroUsd(limit.0.saturating_sub(paid.0)));
        Self { resources: resources.collect(), price, fee }
    }

    fn affords(&self, kind: &InstanceType, offering: &Offering) -> bool {
        let takes = counted(kind.capacity.clone());
        self.resources.iter().all(|(name, left)| takes.get(name).is_zero() || takes.get(name) <= *left)
            && self.price.is_none_or(|left| offering.price.plus(self.fee) <= left)
    }
}

/// Limits may count nodes.
fn counted(mut capacity: Resources) -> Resources {
    capacity.set("nodes", Quantity::from_units(1));
    capacity
}

/// A way to house the pod alone on one more node than planned, found by trying every offering of every pool. Where rules
/// between pods decide, what a pool's limits leave depends on who was tried first: only pools without count there.
fn brute_force(snapshot: &Snapshot, plan: &Plan, spec: &PodSpec) -> Option<String> {
    let mut asks = spec.requests.clone();
    snapshot.cluster.daemon_sets.iter().for_each(|set| asks.add(&set.spec.requests));
    let bound = snapshot.cluster.pods.iter().any(|pod| {
        has_neighbours(pod, snapshot) || !pod.spec.spread.is_empty() || !pod.spec.host_ports.is_empty()
    });
    for pool in &snapshot.cluster.pools {
        let keeps_out = |taint: &&Taint| taint.effect != TaintEffect::PreferNoSchedule;
        let taints: Vec<Taint> = pool.taints.iter().filter(keeps_out).cloned().collect();
        let limited = !pool.limits.0.is_empty() || pool.price_limit.is_some();
        if (bound && limited)
            || pool.hold().is_some()
            || pool.status != PoolStatus::Ready
            || Taint::first_untolerated(&taints, &spec.tolerations).is_some()
        {
            continue;
        }
        let left = Left::new(snapshot, plan, pool);
        // A claim names so many types, all to be had in one place.
        let choice = pool.requirements.iter().filter_map(|(_, requirement)| requirement.min_values).max();
        let choice =
            if snapshot.settings.min_values == MinValuesPolicy::Strict { choice.unwrap_or(1) } else { 1 };
        let mut fitting: BTreeMap<BTreeMap<String, String>, BTreeSet<&str>> = BTreeMap::new();
        for kind in snapshot.catalogue.types[&pool.node_class.name].iter() {
            if asks.exceeds(&kind.allocatable()).is_some() {
                continue;
            }
            for offering in kind.offerings.iter().filter(|offering| offering.available) {
                if !left.affords(kind, offering) || is_used_up(plan, offering) {
                    continue;
                }
                let mut has = kind.requirements.clone();
                for (key, requirement) in offering.requirements().iter() {
                    has.replace(key, requirement.clone());
                }
                let needs = pool.node_requirements();
                if has.intersects(&needs).is_err() {
                    continue;
                }
                has.add_all(&needs);
                let any = [Requirements::new()];
                let terms = if spec.required.is_empty() { &any[..] } else { &spec.required };
                let fits = terms.iter().any(|term| {
                    let mut wants = spec.node_selector.clone();
                    wants.add_all(term);
                    has.compatible(&wants, Undefined::WellKnownAllowed).is_ok()
                });
                if fits {
                    let place = fitting.entry(offering.labels()).or_default();
                    place.insert(&kind.name);
                    if place.len() >= choice as usize {
                        return Some(format!("{place:?} of {} in {}", pool.name, offering.zone));
                    }
                }
            }
        }
    }
    None
}

fn is_used_up(plan: &Plan, offering: &Offering) -> bool {
    offering.reservation.as_ref().is_some_and(|reservation| {
        let id = Some(&reservation.id);
        let drawing = plan
            .nodes
            .iter()
            .filter(|node| node.options.iter().any(|offer| offer.reservation.as_ref() == id));
        drawing.count() >= reservation.remaining as usize
    })
}

/// The snapshot with the advice "raise limit cpu of NodePool default by 8 and limit memory by 4Gi" taken, and with the
/// pool's limits lifted altogether.
#[expect(clippy::unwrap_used, reason = "advice that can't be read fails the test")]
fn with_limits_raised(snapshot: &Snapshot, pool: &str, help: &str) -> (Snapshot, Snapshot) {
    let (mut raised, mut lifted) = (snapshot.clone(), snapshot.clone());
    let find =
        |snapshot: &Snapshot| snapshot.cluster.pools.iter().position(|known| known.name == pool).unwrap();
    let place = find(snapshot);
    lifted.cluster.pools[place].limits = Default::default();
    lifted.cluster.pools[place].price_limit = None;
    let raised_pool = &mut raised.cluster.pools[place];
    for part in help.trim_start_matches("raise limit ").split(" and limit ") {
        let (resource, _) = part.split_once(' ').unwrap();
        let (_, amount) = part.split_once(" by ").unwrap();
        match resource {
            labels::USD_PER_HOUR => {
                let limit = raised_pool.price_limit.unwrap();
                raised_pool.price_limit = Some(limit.plus(amount.parse().unwrap()));
            }
            _ => {
                let limit = raised_pool.limits.get(resource).plus(amount.parse().unwrap());
                raised_pool.limits.set(resource, limit);
            }
        }
    }
    (raised, lifted)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_is_sound(snapshot in kit::snapshots()) {
        let plan = decide(&snapshot, PROVISION);
        let faults = audit(&plan, &snapshot);
        prop_assert!(faults.is_empty(), "{}\n{plan:#?}", faults.join("\n"));
    }

    #[test]
    fn the_order_of_inputs_does_not_matter(snapshot in kit::snapshots(), seed in any::<u64>()) {
        let shuffled = kit::shuffle(snapshot.clone(), seed);
        prop_assert_eq!(decide(&snapshot, PROVISION), decide(&shuffled, PROVISION));
    }

    #[test]
    fn an_unrelated_pool_changes_nothing(snapshot in kit::snapshots()) {
        let Some(pool) = unrelated(&snapshot) else { return Ok(()) };
        let mut more = snapshot.clone();
        more.cluster.pools.push(pool);
        let (without, with) = (decide(&snapshot, PROVISION), decide(&more, PROVISION));
        prop_assert_eq!(&without.nodes, &with.nodes);
        prop_assert_eq!(&without.existing, &with.existing);
        prop_assert_eq!(unschedulable(&without), unschedulable(&with));
    }

    #[test]
    fn a_refused_pod_fits_no_offering(snapshot in kit::snapshots()) {
        let plan = decide(&snapshot, PROVISION);
        for name in unschedulable(&plan) {
            let pod = snapshot.cluster.pods.iter().find(|pod| pod.name == *name).unwrap();
            if !has_neighbours(pod, &snapshot) && pod.volumes.is_empty() {
                prop_assert_eq!(brute_force(&snapshot, &plan, &pod.spec), None, "pod {}", name);
            }
        }
    }

    #[test]
    fn raising_limits_by_what_is_said_helps_all_that_it_can(snapshot in kit::snapshots()) {
        let plan = decide(&snapshot, PROVISION);
        let mut advice: BTreeMap<(&str, String), BTreeSet<&ObjectName>> = BTreeMap::new();
        for entry in &plan.unschedulable {
            if let Reason::Limits { pool, .. } = &*entry.reason {
                let help = entry.reason.help().unwrap().to_string();
                advice.entry((pool, help)).or_default().insert(&entry.pod);
            }
        }
        for ((pool, help), pods) in advice {
            let (raised, lifted) = with_limits_raised(&snapshot, pool, &help);
            let (raised, lifted) = (decide(&raised, PROVISION), decide(&lifted, PROVISION));
            let (left, hopeless) = (unschedulable(&raised), unschedulable(&lifted));
            let unhelped: Vec<_> = pods.iter().filter(|pod| left.contains(*pod) && !hopeless.contains(*pod)).collect();
            prop_assert!(unhelped.is_empty(), "{}: {:?}", help, unhelped);
        }
    }

    #[test]
    fn no_plan_costs_less_than_its_bound(snapshot in kit::snapshots()) {
        let plan = decide(&snapshot, PROVISION);
        if let Some(bound) = plan.lower_bound {
            prop_assert!(plan.price() >= bound, "{} is below {bound}", plan.price());
        }
    }
}

/// The snapshots must hold what they are for: some plans with nodes, with refusals, and on nodes that exist.
#[test]
fn the_snapshots_are_rich() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut nodes, mut refused, mut existing, mut pinned) = (0, 0, 0, 0);
    for _ in 0..100 {
        let snapshot = kit::snapshots().new_tree(&mut runner).unwrap().current();
        let plan = decide(&snapshot, PROVISION);
        nodes += plan.nodes.len();
        refused += plan.unschedulable.len();
        existing += plan.existing.values().map(Vec::len).sum::<usize>();
        pinned += plan.nodes.iter().filter(|node| node.pinned.contains_key(labels::ZONE)).count();
    }
    assert!(
        nodes > 100 && refused > 100 && existing > 50 && pinned > 10,
        "{nodes} {refused} {existing} {pinned}"
    );
}

/// The brute force itself finds a place where there is one, and none where there is none.
#[test]
fn brute_force_tells_a_place_from_none() {
    let types = vec![kit::instance_type("m5.large", 2, 8, 96_000, &kit::ZONES)];
    let snapshot = kit::snapshot(vec![kit::pool("a")], types, Vec::new());
    let none = Plan::default();
    let fits = kit::pod("p", "1", "1Gi");
    let large = kit::pod("p", "4", "1Gi");
    let arm = kit::with(kit::pod("p", "1", "1Gi"), |spec| {
        spec.node_selector.add(labels::ARCH, Requirement::is_in(["arm64"]));
    });
    assert!(brute_force(&snapshot, &none, &fits.spec).is_some());
    assert!(brute_force(&snapshot, &none, &large.spec).is_none());
    assert!(brute_force(&snapshot, &none, &arm.spec).is_none());
}
