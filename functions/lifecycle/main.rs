//! `lifecycle`: NodeClaims become nodes, and nodes go. The only function that may change anything in EC2.

use lambda_runtime::Error;
use runtime::message::{Tend, read};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    functions::serve_queue(async |world, body, deadline| {
        let mut world = world.lock().await;
        match read::<Tend>(&body) {
            Ok(tend) => world.tend(&tend, deadline).await?,
            Err(foreign) => world.ignore(&foreign),
        }
        Ok(())
    })
    .await
}
