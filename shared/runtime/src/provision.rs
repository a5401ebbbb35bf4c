//! Pending pods become NodeClaims.

use api::record::Decision;
use jiff::SignedDuration;
use model::{Effect, Plan, Snapshot};

use crate::deadline::Deadline;
use crate::error::RunError;
use crate::message::Tend;
use crate::world::World;

impl World {
    /// Looks for pending pods, and goes on looking for as long as the linger says.
    pub async fn provision(&mut self, name: &str, deadline: Deadline) -> Result<(), RunError> {
        let linger = Deadline::after(self.config.batching.linger).min(deadline);
        let result = self.watch(name, linger, deadline).await;
        self.rest(name);
        result
    }

    async fn watch(&mut self, name: &str, linger: Deadline, deadline: Deadline) -> Result<(), RunError> {
        loop {
            let rest = self.site(name).await?.observer.at_rest().await?;
            if !rest.pending.is_empty() {
                self.batch(name, deadline).await?;
                self.alone(name, deadline, async |world| world.make_room(name).await).await?;
            }
            loop {
                if linger.is_over() {
                    return Ok(());
                }
                let changed = self.site(name).await?.observer.changed(linger.instant()).await?;
                if changed.any() {
                    break;
                }
            }
        }
    }

    /// Waits until no more pods come: one decision about a hundred pods is better than a hundred about one.
    async fn batch(&mut self, name: &str, deadline: Deadline) -> Result<(), RunError> {
        let batching = self.config.batching;
        let longest = Deadline::after(batching.longest).min(deadline);
        loop {
            let idle = Deadline::after(batching.idle).min(longest);
            let changed = self.site(name).await?.observer.changed(idle.instant()).await?;
            if changed.pending == 0 && idle.is_over() || longest.is_over() {
                return Ok(());
            }
        }
    }

    /// One decision, carried out.
    async fn make_room(&mut self, name: &str) -> Result<(), RunError> {
        let started = std::time::Instant::now();
        let snapshot = self.observe(name).await?;
        let steps = planner::PROVISION;
        let plan = planner::decide(&snapshot, steps);
        let labels = [("cluster", name)];
        self.metrics.seconds(
            "karpenter_scheduler_scheduling_duration_seconds",
            &labels,
            started.elapsed().as_secs_f64(),
        );
        self.metrics.gauge(
            "karpenter_scheduler_unschedulable_pods_count",
            &labels,
            plan.unschedulable.len() as f64,
        );
        self.carry_out(name, "provision", steps, snapshot, plan).await
    }

    /// Has a plan judged, carries it out, and keeps it.
    pub(crate) async fn carry_out(
        &mut self,
        name: &str,
        function: &'static str,
        steps: &[planner::Step],
        snapshot: Snapshot,
        plan: Plan,
    ) -> Result<(), RunError> {
        let objections = planner::objections(&plan, &snapshot, steps);
        let acted = if objections.is_empty() {
            let acted = self.act(name, &plan.effects).await?;
            self.metrics.plan(name, &snapshot, &plan);
            self.hand_over(name, &plan).await?;
            self.tell(name, function, &plan).await;
            Some(acted)
        } else {
            self.metrics.count("audit_objections_total", &[("cluster", name)], objections.len());
            tracing::error!(?objections, "the plan breaks a rule and is not carried out");
            None
        };
        let first = objections.first().cloned();
        if !plan.effects.is_empty() {
            let steps = steps.iter().map(|step| step.name().to_owned()).collect();
            let decision = Decision::Plan { steps, snapshot: Box::new(snapshot), plan: Box::new(plan) };
            let outcomes = acted.as_ref().map(|acted| acted.outcomes.clone()).unwrap_or_default();
            self.keep(name, function, decision, objections, outcomes).await;
        }
        match (acted, first) {
            (Some(acted), _) => acted.check(),
            (None, first) => Err(RunError::Objections { first: first.unwrap_or_default() }),
        }
    }

    /// Sends the plan's new and leaving NodeClaims to be looked after, those of a launch group together.
    async fn hand_over(&mut self, name: &str, plan: &Plan) -> Result<(), RunError> {
        let mut groups = std::collections::BTreeMap::<String, Vec<String>>::new();
        for effect in &plan.effects {
            match effect {
                Effect::CreateNodeClaim(draft) => {
                    let group = draft.annotations.get(model::labels::LAUNCH_GROUP).unwrap_or(&draft.name);
                    groups.entry(group.clone()).or_default().push(draft.name.clone());
                }
                Effect::DeleteNodeClaim { claim, .. } => {
                    groups.entry(claim.clone()).or_default().push(claim.clone());
                }
                _ => {}
            }
        }
        for claims in groups.into_values() {
            self.hints.tend(&self.cloud, Tend::soon(name, claims, Vec::new()), SignedDuration::ZERO).await?;
        }
        Ok(())
    }
}
