//! Nodes that are not needed go.

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
        let snapshot = self.observe(name).await?;
        let steps = planner::DISRUPT;
        let plan = planner::decide(&snapshot, steps);
        self.carry_out(name, "disruption", steps, snapshot, plan).await
    }
}
