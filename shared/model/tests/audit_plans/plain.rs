//! Placement, pools, claims, offers, flexibility, taints, labels.

use std::sync::Arc;

use jiff::SignedDuration;
use model::{
    Code, Effect, LaunchTrouble, MicroUsd, MinValuesPolicy, Phase, PoolStatus, Reason, Requirement,
    Requirements, Snapshot, Taint, TaintEffect, Toleration, TolerationOperator, Unschedulable, labels,
};

use crate::judge;
use crate::world::{self, ask, bound, name, node, one, plan, redraft, retype, snapshot};

fn two() -> (Snapshot, model::Plan) {
    let snapshot = snapshot(&["p1", "p2"]);
    let plan = plan(&snapshot, &[(&["p1"], &["a", "b"]), (&["p2"], &["b"])]);
    (snapshot, plan)
}

fn explain(pod: &str) -> Unschedulable {
    let reason = Arc::new(Reason::NoNodePool);
    assert_eq!(reason.code(), Code::NoNodePool);
    Unschedulable { pod: name(pod), reason, funnels: Arc::default() }
}

fn taint(effect: TaintEffect) -> Taint {
    Taint { key: "dedicated".into(), value: String::new(), effect }
}

#[test]
fn every_pod_due_is_placed_or_explained_once() {
    #[rustfmt::skip]
    judge(two, &[
        ("a pod is forgotten", "p2 is neither placed nor explained", |_, plan| plan.nodes[1].pods.clear()),
        ("a node has no pods", "new-1 has no pods", |_, plan| plan.nodes[1].pods.clear()),
        ("a pod is placed twice", "p1 is placed 2 times", |_, plan| plan.nodes[1].pods.insert(0, name("p1"))),
        ("a pod is placed and explained", "p1 is both", |_, plan| plan.unschedulable.push(explain("p1"))),
        ("a pod nobody knows", "ghost is in the plan but", |_, plan| plan.unschedulable.push(explain("ghost"))),
        ("a running pod is placed", "needs no new place", |snapshot, _| {
            snapshot.cluster.pods[0].unschedulable = false;
        }),
        ("a pod of a node that goes is forgotten", "p3 is neither", |snapshot, _| {
            let mut old = node("old", "a");
            old.deleting = true;
            snapshot.cluster.nodes.push(old);
            snapshot.cluster.pods.push(bound(world::pod("p3"), "old"));
        }),
        ("its finished pods need nothing", "", |snapshot, _| {
            let mut old = node("old", "a");
            old.deleting = true;
            snapshot.cluster.nodes.push(old);
            snapshot.cluster.pods.push(bound(world::pod("p3"), "old"));
            snapshot.cluster.pods[2].phase = Phase::Terminal;
        }),
        ("an unknown node", "does not exist", |_, plan| {
            plan.existing.insert("nowhere".into(), vec![plan.nodes[0].pods.remove(0)]);
        }),
        ("a node that goes", "is going away", |snapshot, plan| {
            let mut old = node("old", "a");
            old.deleting = true;
            snapshot.cluster.nodes.push(old);
            plan.existing.insert("old".into(), vec![plan.nodes[0].pods.remove(0)]);
        }),
        ("an invalid pod", "though invalid", |snapshot, _| ask(snapshot, |spec| spec.faults.push("bad".into()))),
    ]);
}

/// The launches of the first pool are held for so many seconds.
fn hold(snapshot: &mut Snapshot, seconds: i64) {
    let until = snapshot.now + SignedDuration::from_secs(seconds);
    snapshot.cluster.pools[0].trouble =
        Some(LaunchTrouble { cause: "for".into(), image: None, held_until: Some(until) });
}

#[test]
fn pools_and_claims_are_right() {
    #[rustfmt::skip]
    judge(two, &[
        ("no such pool", "which does not exist", |snapshot, _| snapshot.cluster.pools.clear()),
        ("not ready", "not ready: broken", |snapshot, _| {
            snapshot.cluster.pools[0].status = PoolStatus::NotReady("broken".into());
        }),
        ("static", "is for pods, but NodePool pool is static", |snapshot, _| snapshot.cluster.pools[0].replicas = Some(3)),
        ("held", "gets 2 nodes, its launches are held", |snapshot, _| hold(snapshot, 60)),
        ("held, and more than one is tried", "gets 2 nodes, its launches are held", |snapshot, _| hold(snapshot, -60)),
        ("deleting", "being deleted", |snapshot, _| snapshot.cluster.pools[0].deleting = true),
        ("no class", "class has no types", |snapshot, _| snapshot.catalogue.types.clear()),
        ("no claim", "new-0 has no NodeClaim", |_, plan| drop(plan.effects.remove(0))),
        ("a claim for nothing", "for no node", |_, plan| drop(plan.nodes.remove(0))),
        ("a claim twice", "created twice", |_, plan| plan.effects.push(plan.effects[0].clone())),
        ("a node twice", "planned twice", |_, plan| plan.nodes.push(plan.nodes[0].clone())),
        ("a name that is taken", "one that exists", |snapshot, _| snapshot.cluster.nodes.push(node("new-0", "a"))),
        ("a type too few", "not those of the options (big)", |_, plan| redraft(plan, |draft| {
            Arc::make_mut(&mut draft.requirements).replace(labels::INSTANCE_TYPE, Requirement::is_in(["small"]));
        })),
        ("a zone not allowed", "among the options but not allowed", |_, plan| redraft(plan, |draft| {
            Arc::make_mut(&mut draft.requirements).replace(labels::ZONE, Requirement::is_in(["a"]));
        })),
        ("a capacity type too many", "reserved is allowed but not", |_, plan| redraft(plan, |draft| {
            let ways = Requirement::is_in(["reserved", "spot", "on-demand"]);
            Arc::make_mut(&mut draft.requirements).replace(labels::CAPACITY_TYPE, ways);
        })),
        ("a pin the claim lacks", "is pinned to a, which", |_, plan| {
            plan.nodes[0].pinned.insert(labels::ZONE.into(), "a".into());
        }),
        ("a label lost", "label team: a", |_, plan| redraft(plan, |draft| drop(draft.labels.remove("team")))),
        ("another label", "disagree on team", |_, plan| redraft(plan, |draft| {
            draft.labels.insert("team".into(), "b".into());
        })),
        ("other taints", "its taints are not", |_, plan| redraft(plan, |draft| {
            draft.taints.push(taint(TaintEffect::NoSchedule));
        })),
        ("other requests", "its requests are not", |_, plan| redraft(plan, |draft| draft.requests.0.clear())),
        ("a claim that is not there", "does not exist", |_, plan| {
            plan.effects.push(Effect::DeleteNodeClaim { claim: "ghost".into(), uid: None, reason: "Empty".into() });
        }),
    ]);
}

#[test]
fn offers_can_be_had_at_their_price() {
    #[rustfmt::skip]
    judge(two, &[
        ("sold out", "small in a spot is not available", |snapshot, _| {
            retype(snapshot, |kind| kind.offerings[0].available = false);
        }),
        ("unknown", "not in the catalogue", |snapshot, _| retype(snapshot, |kind| drop(kind.offerings.remove(0)))),
        ("another price", "costs", |snapshot, _| retype(snapshot, |kind| kind.offerings[0].price.0 += 1)),
        ("the fee forgotten", "offer and fee come to", |_, plan| plan.nodes[0].price = plan.nodes[0].offer.price),
        ("not the first", "not its first option", |_, plan| plan.nodes[0].offer = plan.nodes[0].options[1].clone()),
        ("not sorted", "not sorted", |_, plan| Arc::make_mut(&mut plan.nodes[0].options).reverse()),
        ("twice", "among the options twice", |_, plan| {
            let options = Arc::make_mut(&mut plan.nodes[0].options);
            options.insert(0, options[0].clone());
        }),
        ("none", "it has no options", |_, plan| plan.nodes[0].options = Arc::default()),
        ("allocatable", "allocatable is not", |_, plan| plan.nodes[0].allocatable.0.clear()),
        ("against the pool", "is not what NodePool pool", |snapshot, _| {
            snapshot.cluster.pools[0].requirements = one(labels::ARCH, &["arm64"]);
        }),
        ("above the price rule", "is not what NodePool pool", |snapshot, _| {
            let rule = Requirement::within(None, Some(100_000));
            snapshot.cluster.pools[0].requirements.add(labels::USD_PER_HOUR, rule);
        }),
        ("below its bound", "lower bound", |_, plan| plan.lower_bound = Some(MicroUsd(u64::MAX))),
        ("pods not in order", "not in name order", |_, plan| {
            plan.nodes[0].pods = vec![name("p2"), name("p1")];
        }),
    ]);
}

#[test]
fn min_values_are_met_or_said_not_to_be() {
    fn want(snapshot: &mut Snapshot, least: u32) {
        let some = Requirement::exists().with_min_values(Some(least));
        snapshot.cluster.pools[0].requirements.add(labels::INSTANCE_TYPE, some);
    }
    #[rustfmt::skip]
    judge(two, &[
        ("met", "", |snapshot, _| want(snapshot, 2)),
        ("short", "2 values of node.kubernetes.io/instance-type are left, minValues is 3", |snapshot, _| want(snapshot, 3)),
        ("short and silent", "minValues is 3", |snapshot, _| {
            want(snapshot, 3);
            snapshot.settings.min_values = MinValuesPolicy::BestEffort;
        }),
        ("strict, though said", "minValues is 3", |snapshot, plan| {
            want(snapshot, 3);
            redraft(plan, |draft| {
                draft.annotations.insert("karpenter.sh/nodeclaim-min-values-relaxed".into(), "true".into());
            });
        }),
    ]);
}

#[test]
fn taints_are_tolerated() {
    fn stain(snapshot: &mut Snapshot, plan: &mut model::Plan, effect: TaintEffect) {
        snapshot.cluster.pools[0].taints.push(taint(effect));
        for effect_of in &mut plan.effects {
            if let Effect::CreateNodeClaim(draft) = effect_of {
                Arc::make_mut(draft).taints.push(taint(effect));
            }
        }
    }
    #[rustfmt::skip]
    judge(two, &[
        ("NoSchedule", "do not tolerate dedicated", |snapshot, plan| stain(snapshot, plan, TaintEffect::NoSchedule)),
        ("NoExecute", "do not tolerate", |snapshot, plan| stain(snapshot, plan, TaintEffect::NoExecute)),
        ("a preference", "", |snapshot, plan| stain(snapshot, plan, TaintEffect::PreferNoSchedule)),
        ("tolerated", "", |snapshot, plan| {
            stain(snapshot, plan, TaintEffect::NoSchedule);
            let operator = TolerationOperator::Exists;
            let toleration = Toleration { key: None, operator, value: String::new(), effect: None };
            ask(snapshot, |spec| spec.tolerations.push(toleration.clone()));
        }),
        ("on a node that is", "are on old but", |snapshot, plan| {
            let mut old = node("old", "a");
            old.taints.push(taint(TaintEffect::NoSchedule));
            snapshot.cluster.nodes.push(old);
            plan.existing.insert("old".into(), vec![name("p1")]);
        }),
    ]);
}

#[test]
fn labels_are_what_pods_ask() {
    fn select(snapshot: &mut Snapshot, key: &str, requirement: Requirement) {
        ask(snapshot, |spec| spec.node_selector.add(key, requirement.clone()));
    }
    fn narrow(plan: &mut model::Plan) {
        for effect in &mut plan.effects {
            if let Effect::CreateNodeClaim(draft) = effect {
                let requirements = &mut Arc::make_mut(draft).requirements;
                Arc::make_mut(requirements).add("disk", Requirement::is_in(["ssd"]));
            }
        }
    }
    #[rustfmt::skip]
    judge(two, &[
        ("the pool's label", "", |snapshot, _| select(snapshot, "team", Requirement::is_in(["a"]))),
        ("another value", "need not have", |snapshot, _| select(snapshot, "team", Requirement::is_in(["b"]))),
        ("a label nobody sets", "need not have", |snapshot, _| select(snapshot, "x", Requirement::is_in(["y"]))),
        ("a label to be absent", "", |snapshot, _| select(snapshot, "x", Requirement::not_in(["y"]))),
        ("the type's label", "", |snapshot, _| select(snapshot, labels::ARCH, Requirement::is_in(["amd64"]))),
        ("a type's missing label", "need not have", |snapshot, _| {
            select(snapshot, "karpenter.k8s.aws/instance-gpu-name", Requirement::exists());
        }),
        ("one zone of two", "need not have", |snapshot, _| select(snapshot, labels::ZONE, Requirement::is_in(["b"]))),
        ("both zones", "", |snapshot, _| select(snapshot, labels::ZONE, Requirement::is_in(["a", "b"]))),
        ("a choice left open", "need not have", |snapshot, _| {
            snapshot.cluster.pools[0].requirements = one("disk", &["ssd", "hdd"]);
            select(snapshot, "disk", Requirement::is_in(["ssd"]));
        }),
        ("a choice made by the claim", "", |snapshot, plan| {
            snapshot.cluster.pools[0].requirements = one("disk", &["ssd", "hdd"]);
            select(snapshot, "disk", Requirement::is_in(["ssd"]));
            narrow(plan);
        }),
        ("one term of two", "", |snapshot, _| ask(snapshot, |spec| {
            spec.required = vec![one("team", &["b"]), one("team", &["a"])];
        })),
        ("no term", "need not have", |snapshot, _| ask(snapshot, |spec| spec.required = vec![one("team", &["b"])])),
        ("an empty term", "", |snapshot, _| ask(snapshot, |spec| spec.required = vec![Requirements::new()])),
        ("a node that is, without the label", "does not have", |snapshot, plan| {
            snapshot.cluster.nodes.push(node("old", "a"));
            select(snapshot, "team", Requirement::is_in(["a"]));
            snapshot.cluster.nodes[0].labels.remove("team");
            plan.existing.insert("old".into(), vec![name("p1")]);
        }),
    ]);
}
