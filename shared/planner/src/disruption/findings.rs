//! What NodeClaims and NodePools are told of themselves: that they have drifted, that they may be consolidated, when a pod
//! last came or went, how the next image does. It is decided anew at each look, so nothing here depends on it but what
//! people and programs read, and the time at which pods left that nobody remembers any more.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use model::{ClaimChange, Condition, ConditionStatus, Effect, Node, NodePool, Snapshot};

use super::candidate::left_alone;
use super::{canary, drift};

const DRIFTED: &str = "Drifted";
const CONSOLIDATABLE: &str = "Consolidatable";
/// Pods' coming and going is written at most so often.
const POD_EVENTS_APART: SignedDuration = SignedDuration::from_secs(10);
/// So many NodeClaims are written to in one look; the rest has its turn in the next.
const MOST: usize = 200;

/// What is to be written, only where it has changed: drift first, then what was written longest ago.
pub(crate) fn findings(snapshot: &Snapshot) -> Vec<Effect> {
    let pools: BTreeMap<&str, &NodePool> =
        snapshot.cluster.pools.iter().map(|pool| (pool.name.as_str(), pool)).collect();
    let events = pod_events(snapshot);
    let mut changes = Vec::new();
    for node in snapshot.cluster.nodes.iter().filter(|node| !node.deleting) {
        let pool = node.pool().and_then(|pool| pools.get(pool));
        let (Some(claim), Some(pool)) = (&node.claim, pool) else { continue };
        let mut change = ClaimChange { claim: claim.clone(), ..ClaimChange::default() };
        let drift = node.provider_id.as_ref().and_then(|_| drift::reason(snapshot, node, pool));
        find(snapshot.now, node, DRIFTED, drift, &mut change);
        let is_left_alone = node.initialized && left_alone(snapshot, node, pool).is_ok();
        let alone = is_left_alone.then(|| (CONSOLIDATABLE, String::new()));
        find(snapshot.now, node, CONSOLIDATABLE, alone, &mut change);
        let written = node.disruption.pod_event;
        let event = events.get(node.name.as_str()).copied();
        let is_news = |event: &Timestamp| {
            written.is_none_or(|written| event.duration_since(written) >= POD_EVENTS_APART)
        };
        change.pod_event = event.filter(is_news);
        if !change.is_empty() {
            let drifts = change.conditions.contains_key(DRIFTED) || change.off.contains(DRIFTED);
            changes.push(((!drifts, written, claim.clone()), change));
        }
    }
    changes.sort_by(|(a, _), (b, _)| a.cmp(b));
    changes.truncate(MOST);
    let changes = changes.into_iter().map(|(_, change)| Effect::ChangeNodeClaim(Box::new(change)));
    changes.chain(canary::findings(snapshot)).collect()
}

/// Sets a condition, or takes it away, unless it is so already.
fn find(
    now: Timestamp,
    node: &Node,
    kind: &str,
    found: Option<(&'static str, String)>,
    change: &mut ClaimChange,
) {
    let known = node.disruption.findings.get(kind).map(String::as_str);
    match found {
        Some((reason, message)) if known != Some(reason) => {
            let condition = Condition {
                status: ConditionStatus::True,
                reason: reason.to_owned(),
                message,
                since: now,
                generation: node.disruption.generation,
            };
            change.conditions.insert(kind.to_owned(), condition);
        }
        None if known.is_some() => drop(change.off.insert(kind.to_owned())),
        _ => {}
    }
}

/// When a pod last came to, ended on or began to leave each node, DaemonSets' apart.
fn pod_events(snapshot: &Snapshot) -> BTreeMap<&str, Timestamp> {
    let mut events = BTreeMap::new();
    for pod in snapshot.cluster.pods.iter().filter(|pod| !pod.daemon) {
        if let (Some(node), Some(event)) = (pod.node.as_deref(), pod.disruption.event) {
            let last = events.entry(node).or_insert(event);
            *last = event.max(*last);
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use model::{Catalogue, Cluster, Disruption, NodeFacts, PodFacts, Settings, labels};

    use super::*;
    use crate::kit;

    const NOW: &str = "2026-06-01T12:00:00Z";

    fn ago(seconds: i64) -> Timestamp {
        NOW.parse::<Timestamp>().unwrap() - SignedDuration::from_secs(seconds)
    }

    /// A node at work for an hour, of a pool that waits a minute.
    fn node(facts: NodeFacts) -> Node {
        Node {
            name: "n1".into(),
            claim: Some("c1".into()),
            provider_id: Some("cloud:///a/i-1".into()),
            labels: [(labels::NODEPOOL.to_owned(), "default".to_owned())].into(),
            taints: Vec::new(),
            capacity: Default::default(),
            allocatable: Default::default(),
            registered: true,
            initialized: true,
            has_node: true,
            deleting: false,
            created: ago(3600),
            last_pod_event: Some(ago(60)),
            do_not_disrupt: false,
            volume_limits: Default::default(),
            disruption: facts,
        }
    }

    fn pool() -> NodePool {
        let disruption =
            Disruption { consolidate_after: Some(SignedDuration::from_mins(1)), ..Disruption::default() };
        let hashes = [(labels::HASH_VERSION.to_owned(), "1".to_owned())].into();
        NodePool { name: "default".into(), disruption, hashes, ..NodePool::default() }
    }

    fn hashed(hash: &str) -> NodeFacts {
        let written = [(labels::NODEPOOL_HASH, hash), (labels::NODEPOOL_HASH_VERSION, labels::HASH_VERSION)];
        let written = written.map(|(key, value)| (key.to_owned(), value.to_owned()));
        NodeFacts { annotations: written.into(), ..NodeFacts::default() }
    }

    fn with(mut facts: NodeFacts, findings: &[(&str, &str)]) -> NodeFacts {
        facts.findings =
            findings.iter().map(|(kind, reason)| ((*kind).to_owned(), (*reason).to_owned())).collect();
        facts
    }

    fn told(node: Node, pool: Option<NodePool>, pods: Vec<model::Pod>) -> String {
        let snapshot = Snapshot {
            now: NOW.parse().unwrap(),
            settings: Settings::default(),
            cluster: Cluster {
                pools: pool.into_iter().collect(),
                nodes: vec![node],
                pods,
                ..Cluster::default()
            },
            catalogue: Catalogue::default(),
        };
        let line = |effect: &Effect| match effect {
            Effect::ChangeNodeClaim(change) => {
                let set = change.conditions.iter().map(|(kind, it)| format!("+{kind}/{}", it.reason));
                let event = change
                    .pod_event
                    .iter()
                    .map(|event| format!("event {}", snapshot.now.duration_since(*event).as_secs()));
                set.chain(change.off.iter().map(|kind| format!("-{kind}"))).chain(event).collect::<Vec<_>>()
            }
            _ => vec![format!("{effect:?}")],
        };
        findings(&snapshot).iter().flat_map(line).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn drfc_09_drifted_is_written_once_and_taken_back() {
        let fine = [("Consolidatable", "Consolidatable")];
        let both = [fine[0], ("Drifted", "NodePoolDrifted")];
        let other = [fine[0], ("Drifted", "AMIDrift")];
        for (what, node, pool, expected) in [
            ("drifted", node(with(hashed("2"), &fine)), Some(pool()), "+Drifted/NodePoolDrifted"),
            ("known", node(with(hashed("2"), &both)), Some(pool()), ""),
            ("by something else", node(with(hashed("2"), &other)), Some(pool()), "+Drifted/NodePoolDrifted"),
            ("no longer", node(with(hashed("1"), &both)), Some(pool()), "-Drifted"),
            (
                "not launched",
                Node { provider_id: None, ..node(with(hashed("2"), &both)) },
                Some(pool()),
                "-Drifted",
            ),
            ("no pool", node(with(hashed("2"), &fine)), None, ""),
            ("going", Node { deleting: true, ..node(hashed("2")) }, Some(pool()), ""),
            (
                "static",
                node(hashed("2")),
                Some(NodePool { replicas: Some(1), ..pool() }),
                "+Drifted/NodePoolDrifted",
            ),
        ] {
            assert_eq!(told(node, pool, Vec::new()), expected, "{what}");
        }
    }

    #[test]
    fn nc_07_consolidatable_is_a_node_that_was_left_alone_for_long_enough() {
        let known = || with(hashed("1"), &[("Consolidatable", "Consolidatable")]);
        let on = "+Consolidatable/Consolidatable";
        let never = || Some(NodePool { disruption: Disruption::default(), ..pool() });
        let young = |facts| Node { last_pod_event: Some(ago(59)), ..node(facts) };
        let unready = |facts| Node { initialized: false, ..node(facts) };
        let fixed = || Some(NodePool { replicas: Some(1), ..pool() });
        for (what, node, pool, expected) in [
            ("for a minute", node(hashed("1")), Some(pool()), on),
            ("known", node(known()), Some(pool()), ""),
            ("a pod came", young(known()), Some(pool()), "-Consolidatable"),
            ("not yet", young(hashed("1")), Some(pool()), ""),
            ("never", node(known()), never(), "-Consolidatable"),
            ("not initialized", unready(known()), Some(pool()), "-Consolidatable"),
            ("a fixed number", node(known()), fixed(), "-Consolidatable"),
        ] {
            assert_eq!(told(node, pool, Vec::new()), expected, "{what}");
        }
    }

    #[test]
    fn nc_05_when_a_pod_last_came_or_went_is_written_unless_it_was_just_before() {
        let facts = |written: Option<i64>| NodeFacts {
            pod_event: written.map(ago),
            ..with(hashed("1"), &[("Consolidatable", "Consolidatable")])
        };
        let pod = |event: i64, daemon: bool| model::Pod {
            node: Some("n1".into()),
            daemon,
            disruption: PodFacts { event: Some(ago(event)), ..PodFacts::default() },
            ..kit::pod("p")
        };
        for (what, written, pods, expected) in [
            ("the first", None, vec![pod(300, false)], "event 300"),
            ("the last of two", None, vec![pod(300, false), pod(200, false)], "event 200"),
            ("known", Some(300), vec![pod(300, false)], ""),
            ("within ten seconds", Some(300), vec![pod(291, false)], ""),
            ("after ten seconds", Some(300), vec![pod(290, false)], "event 290"),
            ("a DaemonSet's", Some(300), vec![pod(200, true)], ""),
            ("earlier than what is written", Some(100), vec![pod(200, false)], ""),
            ("on no node of ours", None, vec![model::Pod { node: Some("x".into()), ..pod(9, false) }], ""),
        ] {
            assert_eq!(told(node(facts(written)), Some(pool()), pods), expected, "{what}");
        }
    }
}
