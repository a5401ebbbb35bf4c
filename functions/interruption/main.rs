//! `interruption`: what EventBridge tells of instances becomes tainted nodes, NodeClaims that go, and room asked for.

use lambda_runtime::Error;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    functions::serve_queue(async |world, body, deadline| {
        Ok(world.lock().await.interrupt(&body, deadline).await?)
    })
    .await
}
