//! EC2NodeClasses on their way out.

use std::collections::{BTreeMap, BTreeSet};

use model::{Claim, Effect, LeavingClass, SweepSnapshot};

use super::super::{release, sweep};
use super::kit::*;

fn class() -> LeavingClass {
    LeavingClass { name: "class".into(), uid: "u".into() }
}

fn swept(minute: i64, leaving: Vec<LeavingClass>, claims: Vec<Claim>, complete: bool) -> Vec<Effect> {
    let snapshot = SweepSnapshot {
        now: in_secs(60 * minute),
        claims,
        nodes: Vec::new(),
        instances: (1..8).map(|number| machine(&number.to_string())).collect(),
        complete,
        leaving,
        pools: BTreeMap::new(),
        classes: BTreeMap::new(),
        expiring: BTreeSet::new(),
    };
    sweep(&snapshot).effects
}

#[test]
fn b81_a_class_that_is_used_waits_and_says_for_whom() {
    let claims = |count: i32| -> Vec<Claim> {
        (1..=count).map(|number| at_rest(&format!("c{number}"), &number.to_string())).collect()
    };
    let other = |mut claim: Claim| {
        claim.node_class.name = "other".into();
        claim
    };
    for (what, claims, told) in [
        ("one", claims(1), "WaitingOnNodeClaimTermination: NodeClaims are still of it: c1"),
        (
            "many",
            claims(7),
            "WaitingOnNodeClaimTermination: NodeClaims are still of it: c1, c2, c3, c4, c5 and 2 more",
        ),
        ("none", Vec::new(), "forget class"),
        ("another's", claims(1).into_iter().map(other).collect(), "forget class"),
    ] {
        let effects = swept(0, vec![class()], claims.clone(), true);
        let lines = effects.iter().filter_map(|effect| match effect {
            Effect::PublishEvent { reason, message, .. } => Some(format!("{reason}: {message}")),
            Effect::ForgetLaunchTemplates { class, age } if age.is_zero() => {
                Some(format!("forget {}", class.clone().unwrap_or_default()))
            }
            _ => None,
        });
        assert_eq!(lines.collect::<Vec<_>>(), [told], "{what}");
        let goes = release(&class(), &claims, 0);
        let expected = Effect::ReleaseNodeClass { class: "class".into(), uid: "u".into() };
        assert_eq!(goes, told.starts_with("forget").then_some(expected), "{what}");
        assert_eq!(release(&class(), &claims, 1), None, "{what}: its launch templates are still there");
    }
    let broken = swept(0, vec![class()], Vec::new(), false);
    assert_eq!(broken, [], "a list that is not whole says nothing");
}

#[test]
fn launch_templates_of_yesterday_go_once_an_hour() {
    let all = |effects: Vec<Effect>| {
        effects.iter().filter(|effect| matches!(effect, Effect::ForgetLaunchTemplates { .. })).count()
    };
    let sum: usize = (0..120).map(|minute| all(swept(minute, Vec::new(), Vec::new(), true))).sum();
    assert_eq!(sum, 2);
}
