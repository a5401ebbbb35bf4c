//! EC2NodeClasses that were asked to go stay for as long as a NodeClaim is of them, and until nothing is left of what was
//! made for them. Launch templates go by age too, since classes change.

use jiff::{SignedDuration, Timestamp};
use model::{Claim, Effect, EventKind, LeavingClass, ObjectRef};

/// Launch templates are deleted once they are so old.
const TEMPLATE_AGE: SignedDuration = SignedDuration::from_hours(24);
/// The minute of each hour in which that is looked after.
const TEMPLATE_MINUTE: i64 = 37;
/// So many NodeClaims are named.
const NAMED: usize = 5;

/// What is done for classes in a look at everything. The one that lets a class go has no right to its launch templates,
/// and waits until there are none.
pub(super) fn tend(now: Timestamp, leaving: &[LeavingClass], claims: &[&Claim], effects: &mut Vec<Effect>) {
    let mut leaving: Vec<&LeavingClass> = leaving.iter().collect();
    leaving.sort_by(|a, b| a.name.cmp(&b.name));
    for class in leaving {
        let users: Vec<&str> = users(class, claims.iter().copied()).collect();
        effects.push(if users.is_empty() {
            Effect::ForgetLaunchTemplates { class: Some(class.name.clone()), age: SignedDuration::ZERO }
        } else {
            Effect::PublishEvent {
                about: ObjectRef::NodeClass(class.name.clone()),
                kind: EventKind::Normal,
                reason: "WaitingOnNodeClaimTermination".to_owned(),
                message: format!("NodeClaims are still of it: {}", names(&users)),
            }
        });
    }
    if now.as_second().div_euclid(60).rem_euclid(60) == TEMPLATE_MINUTE {
        effects.push(Effect::ForgetLaunchTemplates { class: None, age: TEMPLATE_AGE });
    }
}

/// Whether a class can go: no NodeClaim is of it, and of its launch templates none is left.
pub fn release(class: &LeavingClass, claims: &[Claim], launch_templates: usize) -> Option<Effect> {
    let used = users(class, claims).next().is_some() || launch_templates > 0;
    (!used).then(|| Effect::ReleaseNodeClass { class: class.name.clone(), uid: class.uid.clone() })
}

fn users<'a>(
    class: &LeavingClass,
    claims: impl IntoIterator<Item = &'a Claim>,
) -> impl Iterator<Item = &'a str> {
    let of = |claim: &&Claim| claim.node_class.name == class.name;
    claims.into_iter().filter(of).map(|claim| claim.name.as_str())
}

fn names(users: &[&str]) -> String {
    let (named, more) = users.split_at(users.len().min(NAMED));
    let named = named.join(", ");
    if more.is_empty() { named } else { format!("{named} and {} more", more.len()) }
}
