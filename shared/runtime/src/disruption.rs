//! Nodes that are not needed, or not as they are, go.

use std::sync::Arc;

use model::Snapshot;

use crate::catalogue::unsettle;
use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;

impl World {
    /// One decision about the whole cluster, carried out.
    pub async fn disrupt(&mut self, name: &str, deadline: Deadline) -> Result<(), RunError> {
        let result = self.alone(name, deadline, async |world| world.give_up(name).await).await;
        self.rest(name);
        result
    }

    async fn give_up(&mut self, name: &str) -> Result<(), RunError> {
        let snapshot = self.observe_with_history(name).await?;
        let findings = planner::findings(&snapshot);
        let result = self.close_and_confirm(name, snapshot).await;
        // What is refused is found again by the next look.
        self.act(name, &findings).await?;
        result
    }

    /// Everything a decision is taken from, and which Spot capacity was short or taken back lately.
    async fn observe_with_history(&mut self, name: &str) -> Result<Snapshot, RunError> {
        let mut snapshot = self.observe(name).await?;
        let unsteady = self.unsteady().await?;
        if !unsteady.is_empty() {
            for types in snapshot.catalogue.types.values_mut() {
                unsettle(Arc::make_mut(types).as_mut_slice(), &unsteady);
            }
        }
        Ok(snapshot)
    }

    /// Nodes are closed to new pods first, then looked at again: what has landed in between stays, and its node with it.
    async fn close_and_confirm(&mut self, name: &str, snapshot: Snapshot) -> Result<(), RunError> {
        let plan = planner::decide(&snapshot, planner::DISRUPT);
        let closing = planner::closing(&plan);
        if closing.is_empty() || !planner::objections(&plan, &snapshot, planner::DISRUPT).is_empty() {
            return self.carry_out(name, "disruption", planner::DISRUPT, snapshot, plan).await;
        }
        self.act(name, &closing).await?.check()?;
        let snapshot = self.observe_with_history(name).await?;
        let plan = planner::decide(&snapshot, planner::CONFIRM);
        self.carry_out(name, "disruption", planner::CONFIRM, snapshot, plan).await
    }
}
