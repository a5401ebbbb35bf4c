//! `catalog`: what can be bought, and what each EC2NodeClass comes to. Invoked by schedules and hints.

use lambda_runtime::Error;
use runtime::message::Wake;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    functions::serve(async |world, wake: Wake, deadline| {
        Ok(world.lock().await.refresh(&wake.cluster, deadline).await?)
    })
    .await
}
