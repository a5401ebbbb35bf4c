//! One decider at a time: decisions are taken and carried out under a Lease.

use std::time::Duration;

use cluster::{LeaseSpec, Leased};
use jiff::SignedDuration;

use crate::deadline::Deadline;
use crate::error::RunError;
use crate::world::World;

/// How long to wait for another decider; a decision takes seconds at most.
const PATIENCE: SignedDuration = SignedDuration::from_millis(500);

impl World {
    /// Works under the Lease, waiting for whoever holds it until the deadline. Not getting it is no failure: the holder
    /// sees what we would have seen, and what it misses the schedule finds.
    pub(crate) async fn alone(
        &mut self,
        name: &str,
        deadline: Deadline,
        work: impl AsyncFn(&mut Self) -> Result<(), RunError>,
    ) -> Result<(), RunError> {
        let lease = lease();
        let cluster = self.site(name).await?.cluster.clone();
        loop {
            match cluster.with_lease(&lease, Box::pin(work(self))).await? {
                Leased::Done(done) => return done,
                Leased::Lost => {
                    tracing::warn!("the lease was lost: the next look decides anew");
                    return Ok(());
                }
                Leased::Held { by } if deadline.is_over() => {
                    tracing::warn!(by, "somebody else is still deciding");
                    return Ok(());
                }
                Leased::Held { .. } => {
                    let wait = Deadline::after(PATIENCE).min(deadline);
                    tokio::time::sleep_until(wait.instant()).await;
                }
            }
        }
    }
}

fn lease() -> LeaseSpec {
    LeaseSpec {
        namespace: "kube-system".to_owned(),
        name: "journeyman".to_owned(),
        holder: holder(),
        duration: Duration::from_secs(15),
    }
}

/// Who holds it: the sandbox by its log stream, or the process.
fn holder() -> String {
    std::env::var("AWS_LAMBDA_LOG_STREAM_NAME")
        .unwrap_or_else(|_| format!("journeyman-{}", std::process::id()))
}
