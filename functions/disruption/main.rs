//! `disruption`: nodes that are not needed go. Invoked by a cluster's schedule.

use lambda_runtime::Error;
use runtime::message::Wake;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    functions::serve(async |world, wake: Wake, deadline| {
        Ok(world.lock().await.disrupt(&wake.cluster, deadline).await?)
    })
    .await
}
