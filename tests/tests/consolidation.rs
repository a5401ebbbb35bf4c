//! Consolidation of small clusters, rich in kinds, held against judges that share no code with it.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use jiff::SignedDuration;
    use model::{Budget, Effect, MicroUsd, Phase, Plan, Snapshot, audit, labels};
    use planner::{Consolidation, DISRUPT, PROVISION, Sweep, Weights, consolidate, decide};
    use proptest::prelude::*;
    use tests::clusters::{apply, overfull, price};
    use tests::kit::{shuffle, snapshots};

    /// No small cluster takes more rounds to come to rest.
    const MOST_ROUNDS: usize = 40;

    /// A cluster at work whose pods obey every rule: what is pending gets its place, then some of the pods leave.
    fn at_work(mut snapshot: Snapshot, leaves: usize, budget: &str) -> Snapshot {
        snapshot.cluster.nodes.retain(|node| !node.deleting);
        let there: BTreeSet<String> = snapshot.cluster.nodes.iter().map(|node| node.name.clone()).collect();
        snapshot.cluster.pods.retain(|pod| pod.node.as_ref().is_none_or(|node| there.contains(node)));
        let plan = decide(&snapshot, PROVISION);
        let place = |snapshot: &mut Snapshot, plan: &Plan| {
            // Who waits is on a node that goes, as far as `apply` is concerned.
            let homes = plan.nodes.iter().flat_map(|node| &node.pods).chain(plan.existing.values().flatten());
            let homes: BTreeSet<_> = homes.cloned().collect();
            for pod in &mut snapshot.cluster.pods {
                if homes.contains(&pod.name) {
                    pod.node = Some("nowhere".to_owned());
                    (pod.phase, pod.unschedulable) = (Phase::Running, false);
                }
            }
            apply(snapshot, &["nowhere".to_owned()], &plan.nodes, &plan.existing);
        };
        place(&mut snapshot, &plan);
        let mut turn = 0;
        let now = snapshot.now;
        snapshot.cluster.pods.retain_mut(|pod| {
            turn += 1;
            // It has run long enough to be worth moving.
            pod.created = now - SignedDuration::from_hours(24);
            pod.node.is_some() && turn % leaves != 0
        });
        for pool in &mut snapshot.cluster.pools {
            let (nodes, schedule, duration, reasons) = (budget.to_owned(), None, None, Vec::new());
            pool.disruption.consolidate_after = Some(SignedDuration::ZERO);
            pool.disruption.budgets = vec![Budget { nodes, schedule, duration, reasons }];
        }
        snapshot
    }

    /// The nodes that are not going yet, in order.
    fn names(snapshot: &Snapshot) -> Vec<String> {
        let nodes = snapshot.cluster.nodes.iter().filter(|node| !node.deleting);
        let mut names: Vec<String> = nodes.map(|node| node.name.clone()).collect();
        names.sort();
        names
    }

    /// Every node that something is said of, in order.
    fn spoken_of(sweep: &Sweep) -> Vec<String> {
        let going = sweep.consolidations.iter().flat_map(|one| one.nodes.iter().cloned());
        let mut names: Vec<String> = going.chain(sweep.kept.iter().map(|kept| kept.node.clone())).collect();
        names.sort();
        names
    }

    /// What a command comes to, as a plan for pods whose nodes are no longer there.
    fn as_plan(commands: &[Consolidation], snapshot: &Snapshot) -> (Plan, Snapshot) {
        let gone: BTreeSet<&String> = commands.iter().flat_map(|command| &command.nodes).collect();
        let mut after = snapshot.clone();
        after.cluster.nodes.retain(|node| !gone.contains(&node.name));
        for pod in &mut after.cluster.pods {
            if pod.node.as_ref().is_some_and(|node| gone.contains(node)) {
                (pod.node, pod.phase, pod.unschedulable) = (None, Phase::Pending, true);
            }
        }
        let mut plan = Plan::default();
        for command in commands {
            for (node, pods) in &command.existing {
                plan.existing.entry(node.clone()).or_default().extend(pods.iter().cloned());
            }
            for (node, draft) in &command.replacements {
                plan.nodes.push(node.clone());
                plan.effects.push(Effect::CreateNodeClaim(draft.clone()));
            }
        }
        plan.existing.values_mut().for_each(|pods| pods.sort());
        (plan, after)
    }

    /// The dearest way in which the fleet may launch what comes instead.
    fn dearest(command: &Consolidation, fee: MicroUsd) -> MicroUsd {
        let dearest = |options: &[model::Offer]| options.iter().map(|offer| offer.price.plus(fee)).max();
        command.replacements.iter().filter_map(|(node, _)| dearest(&node.options)).sum()
    }

    fn price_of(snapshot: &Snapshot, nodes: &[String]) -> MicroUsd {
        let mut only = snapshot.clone();
        only.cluster.nodes.retain(|node| nodes.contains(&node.name));
        MicroUsd((price(&only) * 1e6).round() as u64)
    }

    fn within_budget(commands: &[Consolidation], snapshot: &Snapshot, percent: usize) -> bool {
        let mut nodes: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for node in snapshot.cluster.nodes.iter().filter(|node| node.claim.is_some()) {
            let goes = commands.iter().any(|command| command.nodes.contains(&node.name));
            let pool = node.labels.get(labels::NODEPOOL).map_or("", String::as_str);
            let count = nodes.entry(pool).or_default();
            *count = (count.0 + 1, count.1 + usize::from(goes));
        }
        nodes.values().all(|(all, go)| *go <= (all * percent).div_ceil(100))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// Every step is a right plan that saves, stays within its budget and cannot be launched at a loss; after finitely
        /// many there is nothing to do, and then there is nothing to do again.
        #[test]
        fn cons_02_06_11_12_every_step_saves_and_keeps_every_rule(
            snapshot in snapshots(),
            leaves in 2_usize..5,
            percent in prop::sample::select(vec![20_usize, 50, 100]),
        ) {
            let mut snapshot = at_work(snapshot, leaves, &format!("{percent}%"));
            prop_assume!(overfull(&snapshot).is_none());
            let weights = Weights::default();
            let mut rounds = 0;
            loop {
                let sweep = consolidate(&snapshot, &weights);
                prop_assert!(!sweep.cut_short);
                prop_assert_eq!(spoken_of(&sweep), names(&snapshot));
                if sweep.consolidations.is_empty() {
                    break;
                }
                prop_assert!(within_budget(&sweep.consolidations, &snapshot, percent));
                let (plan, after) = as_plan(&sweep.consolidations, &snapshot);
                prop_assert_eq!(audit(&plan, &after), Vec::<String>::new());
                for command in &sweep.consolidations {
                    let (most, goes) = (dearest(command, snapshot.settings.fee_per_node), price_of(&snapshot, &command.nodes));
                    prop_assert!(most < goes, "{most:?} for {goes:?}: {command:#?}");
                }
                let before = price(&snapshot);
                for one in &sweep.consolidations {
                    let planned = one.replacements.iter().map(|(node, _)| node);
                    apply(&mut snapshot, &one.nodes, planned, &one.existing);
                }
                prop_assert_eq!(overfull(&snapshot), None);
                prop_assert!(price(&snapshot) < before, "{} is not less than {before}", price(&snapshot));
                rounds += 1;
                prop_assert!(rounds < MOST_ROUNDS);
            }
            let again = consolidate(&snapshot, &weights);
            prop_assert_eq!((again.consolidations, again.cut_short), (Vec::new(), false));
        }

        /// Each node goes or stays for one reason, whatever methods and rules it meets.
        #[test]
        fn every_node_has_one_line(mut snapshot in snapshots(), leaves in 0_usize..5, old in any::<bool>()) {
            if leaves > 1 {
                snapshot = at_work(snapshot, leaves, "20%");
            }
            if old {
                for node in &mut snapshot.cluster.nodes {
                    node.disruption.expire_after = Some(SignedDuration::from_secs(1));
                }
            }
            let plan = decide(&snapshot, DISRUPT);
            let going = plan.disruptions.iter().flat_map(|command| command.nodes.iter().cloned());
            let mut lines: Vec<String> = going.chain(plan.kept.iter().map(|kept| kept.node.clone())).collect();
            let mut all: Vec<String> = snapshot.cluster.nodes.iter().map(|node| node.name.clone()).collect();
            lines.sort();
            all.sort();
            prop_assert_eq!(lines, all);
            prop_assert!(plan.kept.iter().all(|kept| !kept.message.is_empty()));
        }

        /// The order of lists means nothing.
        #[test]
        fn the_order_of_lists_means_nothing(snapshot in snapshots(), seed in any::<u64>()) {
            let snapshot = at_work(snapshot, 3, "100%");
            let one = consolidate(&snapshot, &Weights::default());
            let other = consolidate(&shuffle(snapshot, seed), &Weights::default());
            prop_assert_eq!(one, other);
        }
    }
}
