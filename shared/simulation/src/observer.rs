//! Looks at the world as the functions would, asks the real planner, has its plans judged, and does what they say.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use model::{Effect, ObjectName, Plan, Reason};

use crate::world::{Event, World};

/// A batch ends when no pod has come for this long…
const IDLE: SignedDuration = SignedDuration::from_secs(1);
/// …but no later than this.
const LONGEST: SignedDuration = SignedDuration::from_secs(10);

/// What is remembered between looks.
#[derive(Debug, Default)]
pub(crate) struct Observer {
    batch: Option<Batch>,
    /// Why pods had no place when last looked at.
    pub refusals: BTreeMap<ObjectName, Arc<Reason>>,
}

#[derive(Debug)]
struct Batch {
    first: Timestamp,
    last: Timestamp,
}

impl World {
    /// A pod has no place: look once no more are coming.
    pub(crate) fn open_batch(&mut self) {
        let now = self.now();
        match &mut self.observer.batch {
            Some(batch) => batch.last = now,
            None => {
                self.observer.batch = Some(Batch { first: now, last: now });
                self.after(IDLE, Event::Provision);
            }
        }
    }

    /// Nodes have changed: pods that still have no place are looked at again, unless more nodes are coming, which they
    /// may be waiting for.
    pub(crate) fn look_again(&mut self) {
        if self.any_pending() && !self.coming() {
            self.open_batch();
        }
    }

    pub(crate) fn batch_closes(&mut self) {
        self.settle_pods();
        let Some(Batch { first, last }) = self.observer.batch else { return };
        let (now, zero) = (self.now(), SignedDuration::ZERO);
        let left = (IDLE - now.duration_since(last)).min(LONGEST - now.duration_since(first));
        if left > zero {
            self.after(left, Event::Provision);
        } else if self.launching() {
            // What a NodeClaim will be is not known yet; deciding now would buy the same room twice.
            self.after(IDLE, Event::Provision);
        } else {
            self.observer.batch = None;
            self.provision();
        }
    }

    /// What the schedule does each minute, hints or not.
    pub(crate) fn minute(&mut self) {
        self.settle_pods();
        if self.observer.batch.is_none() && !self.launching() {
            self.provision();
        }
        self.disrupt();
    }

    fn provision(&mut self) {
        if !self.any_pending() {
            self.observer.refusals.clear();
            return;
        }
        let plan = planner::decide(&self.snapshot, planner::PROVISION);
        self.judge(planner::objections(&plan, &self.snapshot, planner::PROVISION));
        let refused = plan.unschedulable.iter();
        self.observer.refusals =
            refused.map(|refused| (refused.pod.clone(), refused.reason.clone())).collect();
        self.act(&plan);
    }

    fn disrupt(&mut self) {
        let plan = planner::decide(&self.snapshot, planner::DISRUPT);
        self.judge(planner::objections(&plan, &self.snapshot, planner::DISRUPT));
        self.act(&plan);
    }

    fn judge(&mut self, faults: Vec<String>) {
        self.records.decisions += 1;
        let now = self.now();
        self.records.audit_faults.extend(faults.into_iter().map(|fault| (now, fault)));
    }

    fn act(&mut self, plan: &Plan) {
        for effect in &plan.effects {
            match effect {
                Effect::CreateNodeClaim(draft) => self.create_claim(draft),
                Effect::DeleteNodeClaim { claim, reason, .. } => self.delete_claim(claim, reason),
                Effect::MarkDisrupted(order) => self.mark_disrupted(order),
                Effect::UnmarkDisrupted { claim, .. } => self.unmark_disrupted(claim),
                Effect::PublishEvent { .. } => self.records.events += 1,
                // Machines here live by themselves; a decision about pods has no business with them.
                other => self.judge(vec![format!("a plan does what is not its to do: {other:?}")]),
            }
        }
        if !plan.effects.is_empty() {
            self.records.last_effect = Some(self.now());
        }
    }

    fn any_pending(&self) -> bool {
        self.snapshot.cluster.pods.iter().any(model::Pod::is_pending)
    }

    /// Whether some node is on its way.
    fn coming(&self) -> bool {
        self.snapshot
            .cluster
            .nodes
            .iter()
            .any(|node| node.claim.is_some() && !node.initialized && !node.deleting)
    }

    /// Whether some NodeClaim has no instance yet.
    fn launching(&self) -> bool {
        self.snapshot.cluster.nodes.iter().any(|node| {
            node.claim.is_some() && node.provider_id.is_none() && !node.has_node && !node.deleting
        })
    }
}
