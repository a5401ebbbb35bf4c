//! Laws that hold in every world, over seeds.

mod kit;

use jiff::SignedDuration;
use kit::{jobs, mixed, pool, scenario, spec, steps, workload};
use model::{Budget, CapacityType, Code, ConsolidationPolicy, MicroUsd, Phase, Requirement, labels};
use simulation::{MoveKind, Report, World, run};

#[track_caller]
fn simulate(scenario: &simulation::Scenario, seed: u64) -> Report {
    let report = run(scenario, seed, &mut |_| {});
    assert_eq!(report.audit_faults, [], "seed {seed}");
    report
}

#[test]
fn equal_seeds_give_equal_reports_and_others_do_not() {
    let scenario = mixed();
    assert_eq!(simulate(&scenario, 7), simulate(&scenario, 7));
    assert_ne!(simulate(&scenario, 7).waits, simulate(&scenario, 8).waits);
}

#[test]
fn no_pod_is_lost_and_every_pod_gets_a_node() {
    let mut scenario = mixed();
    for pool in &mut scenario.snapshot.cluster.pools {
        pool.disruption.policy = ConsolidationPolicy::WhenEmpty;
    }
    for seed in 0..8 {
        let report = simulate(&scenario, seed);
        let accounted = report.pods_finished
            + report.pods_scaled_down
            + report.pods_evicted
            + report.pods_running
            + report.pods_pending;
        assert_eq!(report.pods_created, accounted, "seed {seed}");
        assert_eq!(
            (report.pods_created, report.pods_finished, report.pods_running),
            (32, 12, 6),
            "seed {seed}"
        );
        assert_eq!(
            (report.pods_pending, report.pods_evicted, report.launch_failures),
            (0, 0, 0),
            "seed {seed}"
        );
        assert_eq!(report.waits.pods, 32, "seed {seed}");
        // Batch window, launch, registration and initialization.
        assert!((28_000..80_000).contains(&report.waits.p50_ms), "seed {seed}: {:?}", report.waits);
    }
}

#[test]
fn pods_that_are_moved_to_save_are_not_lost() {
    let mut moved = 0;
    for seed in 0..8 {
        let report = simulate(&mixed(), seed);
        let there = (report.pods_finished, report.pods_running, report.pods_pending);
        assert_eq!((report.pods_created - report.pods_evicted, there), (32, (12, 6, 0)), "seed {seed}");
        moved += report.pods_evicted;
    }
    assert!(moved > 0, "something was moved");
}

#[test]
fn the_bill_is_the_sum_of_lives_at_their_prices() {
    for seed in 0..4 {
        let scenario = mixed();
        let mut world = World::new(&scenario, seed);
        while world.step() {}
        let report = world.report("small", seed, scenario.snapshot.now);
        let by_hand = |charge: &simulation::Charge| {
            let life = charge.until.unwrap_or(report.end).duration_since(charge.from).as_millis().max(60_000);
            u64::try_from((i128::from(charge.price.0) * life + 3_599_999) / 3_600_000).unwrap()
        };
        let sum: u64 = world.charges().iter().map(by_hand).sum();
        assert!(sum > 0);
        assert_eq!(report.cost, MicroUsd(sum), "seed {seed}");
        let launched = report.moves.iter().filter(|step| step.kind == MoveKind::Launched).count();
        assert_eq!(world.charges().len(), launched, "seed {seed}");
        // No life here is shorter than a minute, so the hours must add up to the same, but for rounding.
        let hours: u64 = report.hours.iter().map(|hour| hour.cost.0).sum();
        assert!(sum.abs_diff(hours) < 100, "{sum} by charges, {hours} by hours");
        assert!(report.cost < report.always_on_peak);
    }
}

#[test]
fn a_cluster_at_rest_causes_no_effects() {
    let web = workload("web", spec("web", "500m", "1Gi"), steps(&[("00:00", 10)]));
    let report = simulate(&scenario(vec![pool("default", CapacityType::Spot)], vec![web], 6), 3);
    let last = report.last_effect.unwrap().duration_since(report.start);
    assert!(last < SignedDuration::from_mins(3), "{last:?}");
    assert_eq!(report.repeated_effects, 0);
    assert!(report.moves.iter().all(|step| step.kind == MoveKind::Launched));
}

#[test]
fn nodes_go_once_they_are_empty_and_the_last_pod_has_been_gone_long_enough() {
    let batch = workload("batch", spec("batch", "1", "2Gi"), jobs("06:10", 6, (10, 10)));
    let report = simulate(&scenario(vec![pool("default", CapacityType::Spot)], vec![batch], 2), 1);
    let last = report.hours.last().unwrap();
    assert_eq!((last.nodes, last.coming, last.going, last.usd_per_hour), (0, 0, 0, MicroUsd::ZERO));
    for step in report.moves.iter().filter(|step| step.kind == MoveKind::Removed) {
        let since = step.at.duration_since(report.start);
        assert_eq!(step.reason, "Empty");
        // Ten minutes to come, half a minute to boot at least, ten to run, one to be left alone.
        assert!(since > SignedDuration::from_secs(10 * 60 + 27 + 600 + 60), "{since:?}");
        assert!(since < SignedDuration::from_mins(25), "{since:?}");
    }
}

#[test]
fn a_budget_of_one_takes_a_node_at_a_time_and_a_closed_window_none() {
    let web = || workload("web", spec("web", "1500m", "1Gi"), steps(&[("00:00", 8), ("06:30", 0)]));
    let with = |budgets: Vec<Budget>| {
        let mut pool = pool("default", CapacityType::Spot);
        // One pod a node.
        pool.requirements.add(labels::INSTANCE_TYPE, Requirement::is_in(["t.large"]));
        pool.disruption.budgets = budgets;
        simulate(&scenario(vec![pool], vec![web()], 2), 5)
    };
    let budget = |nodes: &str, schedule: Option<&str>| Budget {
        nodes: nodes.into(),
        schedule: schedule.map(Into::into),
        duration: schedule.map(|_| SignedDuration::from_hours(1)),
        reasons: Vec::new(),
    };
    let removals = |report: &Report| -> Vec<i64> {
        let removed = report.moves.iter().filter(|step| step.kind == MoveKind::Removed);
        removed.map(|step| step.at.duration_since(report.start).as_mins()).collect()
    };
    let one = removals(&with(vec![budget("1", None)]));
    assert_eq!(one.len(), 8);
    assert!(one.is_sorted_by(|a, b| a < b), "{one:?}");
    let all = removals(&with(Vec::new()));
    assert_eq!(all.len(), 8);
    assert!(all.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{all:?}");
    // Closed from half past six to half past seven.
    let later = removals(&with(vec![budget("0", Some("30 6 * * *"))]));
    assert!(later.len() == 8 && later.iter().all(|minute| *minute >= 90), "{later:?}");
}

#[test]
fn what_fits_nowhere_is_told_with_its_reason_and_buys_nothing() {
    let huge = workload("huge", spec("huge", "64", "1Gi"), steps(&[("00:00", 2)]));
    let report = simulate(&scenario(vec![pool("default", CapacityType::Spot)], vec![huge], 1), 1);
    assert_eq!((report.pods_pending, report.cost), (2, MicroUsd::ZERO));
    let [unplaced] = report.unplaced.as_slice() else { panic!("{:?}", report.unplaced) };
    assert_eq!((unplaced.code, unplaced.pods), (Some(Code::Resources), 2));
}

#[test]
fn spread_holds_at_every_moment() {
    let scenario = mixed();
    let mut world = World::new(&scenario, 11);
    let mut most = 0;
    while world.step() {
        let cluster = &world.snapshot().cluster;
        let mut by_zone = [("a", 0), ("b", 0), ("c", 0)];
        for pod in cluster.pods.iter().filter(|pod| pod.spec.labels["app"] == "web" && !pod.terminating) {
            let node = cluster.nodes.iter().find(|node| Some(&node.name) == pod.node.as_ref());
            let zone = node.and_then(|node| node.domain(labels::ZONE));
            if let Some((_, count)) = by_zone.iter_mut().find(|(name, _)| Some(*name) == zone) {
                *count += 1;
            }
        }
        let bound: usize = by_zone.iter().map(|(_, count)| count).sum();
        // Only while it grows: scaling down doesn't look at zones, neither here nor in Kubernetes.
        if bound == 20 {
            most = most.max(bound);
            let counts = by_zone.map(|(_, count)| count);
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        }
    }
    assert_eq!(most, 20);
}

#[test]
fn no_node_is_ever_overfull() {
    let scenario = mixed();
    for seed in 0..3 {
        let mut world = World::new(&scenario, seed);
        while world.step() {
            let cluster = &world.snapshot().cluster;
            for node in cluster.nodes.iter().filter(|node| node.has_node) {
                let mut used = model::Resources::new();
                for pod in cluster.pods.iter().filter(|pod| pod.node.as_ref() == Some(&node.name)) {
                    if pod.phase != Phase::Terminal {
                        used.add(&pod.spec.requests);
                    }
                }
                assert_eq!(used.exceeds(&node.allocatable), None, "{} at {}", node.name, world.now());
            }
        }
    }
}

#[test]
fn nodes_born_together_are_renewed_within_the_budget() {
    let mut default = pool("default", CapacityType::OnDemand);
    default.requirements.add(labels::INSTANCE_TYPE, Requirement::is_in(["t.large"]));
    default.expire_after = Some(SignedDuration::from_hours(2));
    let budget = Budget { nodes: "10%".into(), schedule: None, duration: None, reasons: Vec::new() };
    default.disruption.budgets = vec![budget];
    // A pod a node.
    let web = workload("web", spec("web", "1200m", "1Gi"), steps(&[("00:00", 50)]));
    let scenario = scenario(vec![default], vec![web], 5);
    let mut world = World::new(&scenario, 5);
    let mut most = 0;
    while world.step() {
        let nodes = &world.snapshot().cluster.nodes;
        most = most.max(nodes.iter().filter(|node| node.initialized && node.is_going()).count());
    }
    let report = world.report("renewal", 5, scenario.snapshot.now);
    assert_eq!(report.audit_faults, []);
    assert_eq!(most, 5, "ten per cent of fifty");
    let expired = report.moves.iter().filter(|step| step.kind == MoveKind::Removed);
    assert!(expired.clone().all(|step| step.reason == "Expired"));
    assert!(expired.count() >= 50, "each was renewed");
    assert_eq!((report.pods_running, report.pods_pending), (50, 0), "every pod is back on a node");
    let oldest = world.snapshot().cluster.nodes.iter().map(|node| node.created).min().unwrap();
    assert!(
        world.now().duration_since(oldest) < SignedDuration::from_mins(132),
        "none outlives its latest age"
    );
}

#[test]
fn fifty_drifted_nodes_are_replaced_within_the_budget() {
    let mut default = pool("default", CapacityType::OnDemand);
    default.requirements.add(labels::INSTANCE_TYPE, Requirement::is_in(["t.large"]));
    let budget = Budget { nodes: "10%".into(), schedule: None, duration: None, reasons: Vec::new() };
    default.disruption.budgets = vec![budget];
    // Saving is not what this is about.
    default.disruption.consolidate_after = None;
    // A pod a node.
    let web = workload("web", spec("web", "1200m", "1Gi"), steps(&[("00:00", 50)]));
    let scenario = scenario(vec![default], vec![web], 3);
    let mut world = World::new(&scenario, 5);
    let changed = scenario.snapshot.now.checked_add(SignedDuration::from_mins(30)).unwrap();
    let (mut most, mut least_running, mut all_new) = (0, usize::MAX, None);
    while world.step() {
        let after = world.now() >= changed;
        world.edit_pools(|pools| {
            let way = if after { CapacityType::Spot } else { CapacityType::OnDemand };
            pools[0].requirements.replace(labels::CAPACITY_TYPE, Requirement::is_in([way.as_str()]));
        });
        if !after {
            continue;
        }
        let cluster = &world.snapshot().cluster;
        let at_work = || cluster.nodes.iter().filter(|node| node.initialized);
        most = most.max(at_work().filter(|node| node.is_going()).count());
        let running = cluster.pods.iter().filter(|pod| pod.node.is_some() && !pod.daemon && !pod.terminating);
        least_running = least_running.min(running.count());
        let old = at_work().filter(|node| node.labels[labels::CAPACITY_TYPE] == "on-demand").count();
        if old == 0 {
            all_new.get_or_insert(world.now());
        }
    }
    let report = world.report("drift", 5, scenario.snapshot.now);
    assert_eq!(report.audit_faults, []);
    assert_eq!(most, 5, "ten per cent of fifty");
    let removed = || report.moves.iter().filter(|step| step.kind == MoveKind::Removed);
    assert!(removed().all(|step| step.reason == "Drifted"));
    assert_eq!(removed().count(), 50, "each was replaced once");
    assert!(least_running >= 45, "{least_running} pods were on a node");
    assert_eq!((report.pods_running, report.pods_pending), (50, 0), "every pod is back on a node");
    let took = all_new.unwrap().duration_since(changed);
    assert!(took < SignedDuration::from_mins(60), "{took:#}");
}

#[test]
fn a_pool_of_four_has_four_nodes_through_drift_and_three_when_it_is_to_have_three() {
    let mut fixed = pool("fixed", CapacityType::OnDemand);
    fixed.replicas = Some(4);
    fixed.disruption.budgets =
        vec![Budget { nodes: "1".into(), schedule: None, duration: None, reasons: Vec::new() }];
    let scenario = scenario(vec![fixed], Vec::new(), 2);
    let mut world = World::new(&scenario, 5);
    let minutes = |world: &World| world.now().duration_since(scenario.snapshot.now).as_mins();
    let (mut least, mut most, mut going) = (usize::MAX, 0, 0);
    while world.step() {
        let passed = minutes(&world);
        world.edit_pools(|pools| {
            let way = if passed >= 20 { CapacityType::Spot } else { CapacityType::OnDemand };
            pools[0].requirements.replace(labels::CAPACITY_TYPE, Requirement::is_in([way.as_str()]));
            pools[0].replicas = Some(if passed >= 90 { 3 } else { 4 });
        });
        if (10..90).contains(&passed) {
            let nodes = || world.snapshot().cluster.nodes.iter().filter(|node| node.initialized);
            least = least.min(nodes().filter(|node| !node.deleting).count());
            most = most.max(nodes().count());
            going = going.max(nodes().filter(|node| node.is_going()).count());
        }
    }
    let report = world.report("static", 5, scenario.snapshot.now);
    assert_eq!(report.audit_faults, []);
    assert_eq!((least, most, going), (4, 5, 1), "one more while one is replaced");
    let nodes = &world.snapshot().cluster.nodes;
    assert_eq!(nodes.len(), 3);
    assert!(nodes.iter().all(|node| node.labels[labels::CAPACITY_TYPE] == "spot"));
    let count = |reason: &str| {
        report.moves.iter().filter(|step| step.kind == MoveKind::Removed && step.reason == reason).count()
    };
    assert_eq!((count("Drifted"), count("ScaledDown")), (4, 1));
}
