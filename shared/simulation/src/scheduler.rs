//! A simulated kube-scheduler: takes pending pods in the order of its queue, filters nodes, scores them, binds.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Cluster, ObjectName, Pod, PodSpec, Resources, TaintEffect};

use crate::chance::Chance;
use crate::filters::{Board, Seat};

/// What one pass came to.
#[derive(Debug, Default)]
pub(crate) struct Pass {
    /// Pods and the nodes they are bound to, in that order.
    pub bound: Vec<(ObjectName, String)>,
    /// Pods for which there is no place.
    pub refused: Vec<ObjectName>,
}

/// Finds a place for each pod that waits.
pub(crate) fn pass(cluster: &Cluster, ties: &mut Chance) -> Pass {
    let mut queue: Vec<&Pod> = cluster.pods.iter().filter(|pod| waits(pod)).collect();
    let mut pass = Pass::default();
    if queue.is_empty() {
        return pass;
    }
    queue.sort_by(|a, b| {
        let priority = b.spec.priority.cmp(&a.spec.priority);
        priority.then(a.created.cmp(&b.created)).then_with(|| a.name.cmp(&b.name))
    });
    let mut board = Board::new(cluster);
    // Pods that are alike fail alike, until a neighbour comes that some of them may look at.
    let mut failed: BTreeSet<*const PodSpec> = BTreeSet::new();
    for pod in queue {
        let alike = Arc::as_ptr(&pod.spec);
        let sociable = !pod.spec.affinity.is_empty() || pod.spec.spread.iter().any(|spread| spread.hard);
        let seats =
            if failed.contains(&alike) && pod.volumes.is_empty() { Vec::new() } else { board.feasible(pod) };
        match best(&board, pod, &seats, ties) {
            Some(seat) => {
                pass.bound.push((pod.name.clone(), board.seats[seat].node.name.clone()));
                board.sit(seat, pod);
            }
            None => {
                if !sociable {
                    failed.insert(alike);
                }
                pass.refused.push(pod.name.clone());
            }
        }
    }
    pass
}

fn waits(pod: &Pod) -> bool {
    pod.node.is_none() && pod.phase == model::Phase::Pending && !pod.terminating && !pod.daemon && !pod.mirror
}

/// The seat with the highest score; of several, one that chance picks.
fn best(board: &Board<'_>, pod: &Pod, seats: &[usize], ties: &mut Chance) -> Option<usize> {
    let zones = seats.iter().filter_map(|&seat| board.seats[seat].node.domain(model::labels::ZONE));
    let zones: BTreeSet<&str> = zones.collect();
    let siblings = |there: &dyn Fn(&Seat<'_>) -> bool| {
        let same = |seat: &&Seat<'_>| there(seat);
        let like = |other: &&&Pod| other.owner.is_some() && other.owner == pod.owner;
        board.seats.iter().filter(same).map(|seat| seat.pods.iter().filter(like).count()).sum::<usize>()
    };
    let in_zone: Vec<(&str, usize)> = zones
        .into_iter()
        .map(|zone| (zone, siblings(&|seat| seat.node.domain(model::labels::ZONE) == Some(zone))))
        .collect();
    let mut best: Option<(i64, usize)> = None;
    let mut equals = 0;
    for &index in seats {
        let seat = &board.seats[index];
        let zone = seat.node.domain(model::labels::ZONE);
        let in_zone = in_zone.iter().find(|(name, _)| Some(*name) == zone).map_or(0, |(_, count)| *count);
        let on_node =
            seat.pods.iter().filter(|other| other.owner.is_some() && other.owner == pod.owner).count();
        let score = score(seat, pod, on_node, in_zone);
        match best {
            Some((highest, _)) if score < highest => {}
            Some((highest, _)) if score == highest => {
                equals += 1;
                if ties.one_in(equals) {
                    best = Some((score, index));
                }
            }
            _ => {
                equals = 1;
                best = Some((score, index));
            }
        }
    }
    best.map(|(_, seat)| seat)
}

/// The default profile in short: free room counts once, siblings elsewhere and preferred affinity twice, taints that
/// would rather not have the pod thrice.
fn score(seat: &Seat<'_>, pod: &Pod, on_node: usize, in_zone: usize) -> i64 {
    let spec = &pod.spec;
    let free = (free(seat, &spec.requests, "cpu") + free(seat, &spec.requests, "memory")) / 2;
    let crowd = i64::try_from(on_node * 10 + in_zone).unwrap_or(i64::MAX).min(100);
    let preferred = spec.preferred.iter().filter(|wish| wish.term.match_labels(&seat.node.labels));
    let preferred: i64 = preferred.map(|wish| i64::from(wish.weight)).sum();
    let unwelcome = seat.node.taints.iter().filter(|taint| {
        taint.effect == TaintEffect::PreferNoSchedule
            && !spec.tolerations.iter().any(|toleration| toleration.tolerates(taint))
    });
    let unwelcome = i64::try_from(unwelcome.count()).unwrap_or(0);
    free + 2 * (100 - crowd) + 2 * preferred.min(100) - 300 * unwelcome
}

/// What would be left of a resource, in hundredths.
fn free(seat: &Seat<'_>, asks: &Resources, resource: &str) -> i64 {
    let all = i128::from(seat.node.allocatable.get(resource).milli());
    let used = i128::from(seat.used.get(resource).plus(asks.get(resource)).milli());
    if all <= 0 { 0 } else { i64::try_from((100 * (all - used) / all).clamp(0, 100)).unwrap_or(0) }
}
