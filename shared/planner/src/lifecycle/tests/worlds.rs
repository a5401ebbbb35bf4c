//! Whatever is cut off, doubled, late or refused: every NodeClaim gets one machine and is ready, or goes with a reason, and
//! no machine is left over.

use std::collections::BTreeMap;

use model::{ConditionStatus, InstanceState};
use proptest::prelude::*;

use super::super::care;
use super::kit::lines;
use super::world::{Fault, Run, World};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// One of two runs takes so many steps.
    Run(bool, usize),
    /// One of two runs is cut off.
    Cut(bool),
    Pass(i64),
    DeleteClaim(usize),
    DeleteNode(usize),
    EndMachine(usize),
    Sweep,
    Provision(usize),
    Fault(Fault),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Fault::{Capacity, Partial, Rejected, Subnet, Throttled, Timeout};
    let fault = prop::sample::select(vec![Capacity, Partial, Rejected, Subnet, Throttled, Timeout]);
    let step = prop_oneof![
        10 => (any::<bool>(), 1..6_usize).prop_map(|(which, steps)| Step::Run(which, steps)),
        2 => any::<bool>().prop_map(Step::Cut),
        4 => (1..15_i64).prop_map(Step::Pass),
        1 => (0..8_usize).prop_map(Step::DeleteClaim),
        1 => (0..8_usize).prop_map(Step::DeleteNode),
        1 => (0..8_usize).prop_map(Step::EndMachine),
        1 => Just(Step::Sweep),
        1 => (1..4_usize).prop_map(Step::Provision),
        2 => fault.prop_map(Step::Fault),
    ];
    prop::collection::vec(step, 1..80)
}

fn nth<T: Clone>(items: impl Iterator<Item = T>, index: usize) -> Option<T> {
    let items: Vec<T> = items.collect();
    items.get(index % items.len().max(1)).cloned()
}

fn play(world: &mut World, steps: &[Step]) {
    let mut runs = [Run::default(), Run::default()];
    for &step in steps {
        match step {
            Step::Run(which, count) => (0..count).for_each(|_| world.step(&mut runs[usize::from(which)])),
            Step::Cut(which) => runs[usize::from(which)] = Run::default(),
            Step::Pass(seconds) => world.pass(seconds),
            Step::DeleteClaim(index) => {
                if let Some(name) = nth(world.claims.keys().cloned(), index) {
                    world.delete_claim(&name, "user");
                }
            }
            Step::DeleteNode(index) => {
                if let Some(name) = nth(world.nodes.keys().cloned(), index) {
                    world.delete_node(&name);
                }
            }
            Step::EndMachine(index) => {
                if let Some(id) = nth(world.machines.keys().cloned(), index) {
                    world.end_machine(&id);
                }
            }
            Step::Sweep => world.sweep(),
            Step::Provision(size) => world.provision(size),
            Step::Fault(fault) => world.faults.push_back(fault),
        }
    }
}

/// Half an hour without faults, with a look every ten seconds and a sweep a minute.
fn settle(world: &mut World) {
    world.faults.clear();
    for round in 0..180 {
        world.run_out(&mut Run::default());
        if round % 6 == 0 {
            world.sweep();
        }
        world.pass(10);
    }
}

#[track_caller]
fn check(world: &World, names: &[String]) {
    assert_eq!(world.wrongs, [] as [String; 0]);
    let mut holders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for claim in world.claims.values() {
        assert_eq!(claim.deleting, None, "{} hangs", claim.name);
        assert_eq!(claim.condition("Ready"), ConditionStatus::True, "{}: {:?}", claim.name, claim.conditions);
        holders.entry(claim.provider_id.as_deref().unwrap()).or_default().push(&claim.name);
    }
    for machine in world.machines.values().filter(|machine| !machine.state.is_ending()) {
        let holders = holders.remove(machine.provider_id.as_str()).unwrap_or_default();
        assert_eq!(holders.len(), 1, "{} is held by {holders:?}", machine.id);
    }
    assert!(holders.is_empty(), "held, but not there: {holders:?}");
    for node in world.nodes.values() {
        let owner = world.claims.values().find(|claim| claim.provider_id.as_ref() == Some(&node.provider_id));
        assert!(owner.is_some(), "Node {} is left over", node.name);
    }
    for name in names.iter().filter(|name| !world.claims.contains_key(*name)) {
        assert!(world.reasons.contains_key(name), "{name} went without a reason");
    }
    let mut launched: BTreeMap<&str, usize> = BTreeMap::new();
    for (order, answer) in world.fleets.values() {
        *launched.entry(&order.group).or_default() += usize::from(!answer.machines.is_empty());
    }
    assert!(launched.values().all(|launches| *launches <= 1), "launched twice: {launched:?}");
    let decided = care(&world.observe(BTreeMap::new()));
    assert_eq!(lines(&decided), [] as [&str; 0]);
    assert!(decided.again.is_empty() && decided.again_nodes.is_empty(), "{decided:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_doubled_or_left_over(lag in 0..12_i64, first in 1..5_usize, steps in steps()) {
        let mut world = World::new(lag);
        world.provision(first);
        play(&mut world, &steps);
        let mut names: Vec<String> = world.claims.keys().cloned().collect();
        names.extend(world.reasons.keys().cloned());
        settle(&mut world);
        check(&world, &names);
    }

    /// Looking again and again while no time passes soon finds nothing to do.
    #[test]
    fn deciding_again_gives_nothing_new(steps in steps()) {
        let mut world = World::new(0);
        world.provision(3);
        play(&mut world, &steps);
        world.faults.clear();
        let mut rest = Vec::new();
        for _ in 0..8 {
            world.run_out(&mut Run::default());
            let decided = care(&world.observe(BTreeMap::new()));
            let known = |line: &String| {
                // Asking by a token that was asked by is no new launch: there was another, and nothing shows of it.
                let launch = line.strip_prefix("launch ").and_then(|rest| rest.split(' ').next());
                line.starts_with("event") || launch.is_some_and(|token| world.fleets.contains_key(token))
            };
            rest = lines(&decided).into_iter().filter(|line| !known(line)).collect();
        }
        prop_assert_eq!(&world.wrongs, &[] as &[String]);
        prop_assert_eq!(rest, [] as [&str; 0]);
    }

    /// The order of lists is no part of a decision.
    #[test]
    fn order_does_not_matter(steps in steps()) {
        let mut world = World::new(0);
        world.provision(3);
        play(&mut world, &steps);
        let snapshot = world.observe(BTreeMap::new());
        let mut turned = snapshot.clone();
        turned.claims.reverse();
        turned.nodes.reverse();
        turned.orphans.reverse();
        turned.pods.reverse();
        turned.instances.reverse();
        prop_assert_eq!(care(&snapshot), care(&turned));
    }
}

/// Every place where one run can be cut off, with another that sees it through.
#[test]
fn a_run_may_be_cut_off_anywhere() {
    for fault in
        [None, Some(Fault::Timeout), Some(Fault::Partial), Some(Fault::Subnet), Some(Fault::Capacity)]
    {
        for first in 0..60 {
            let mut world = World::new(3);
            world.provision(3);
            world.faults.extend(fault);
            let names: Vec<String> = world.claims.keys().cloned().collect();
            let mut cut = Run::default();
            for step in 0..first {
                world.step(&mut cut);
                if step % 7 == 6 {
                    world.pass(4);
                }
            }
            settle(&mut world);
            check(&world, &names);
            let left = world.claims.len();
            let expected = match fault {
                Some(Fault::Partial) => 2,
                Some(Fault::Capacity) => 0,
                _ => 3,
            };
            // Without a look there was no launch to go wrong.
            let launched = world.fleets.values().any(|(_, answer)| !answer.machines.is_empty());
            assert!(left == expected || (left == 3 && launched), "{fault:?} after {first} steps: {left}");
        }
    }
}

/// Two runs in step with each other, at every distance.
#[test]
fn two_runs_may_go_on_at_once() {
    for lead in 0..40 {
        for lag in [0, 5] {
            let mut world = World::new(lag);
            world.provision(4);
            let names: Vec<String> = world.claims.keys().cloned().collect();
            let (mut one, mut two) = (Run::default(), Run::default());
            (0..lead).for_each(|_| world.step(&mut one));
            for step in 0..200 {
                world.step(&mut one);
                world.step(&mut two);
                if step % 5 == 4 {
                    world.pass(1);
                }
            }
            settle(&mut world);
            check(&world, &names);
            assert_eq!(world.claims.len(), 4, "lead {lead}, lag {lag}");
            let alive = world.machines.values().filter(|machine| machine.state == InstanceState::Running);
            assert_eq!((alive.count(), world.machines.len()), (4, 4));
        }
    }
}
