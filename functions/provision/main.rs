//! `provision`: pending pods become NodeClaims. Woken by its queue and, each minute, by the schedule.

use lambda_runtime::Error;
use runtime::message::{Wake, read};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    functions::serve_queue(async |world, body, deadline| {
        let mut world = world.lock().await;
        match read::<Wake>(&body) {
            Ok(wake) => world.provision(&wake.cluster, deadline).await?,
            Err(foreign) => world.ignore(&foreign),
        }
        Ok(())
    })
    .await
}
