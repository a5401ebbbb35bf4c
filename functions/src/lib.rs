//! What the functions share: one world a sandbox, and the contract of a queue's batch.

use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use aws_lambda_events::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use runtime::{Deadline, World};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Mutex;

/// What a handler is handed: the sandbox's world, and the time it has.
pub type Shared = Rc<Mutex<World>>;

/// Kept for writing down what happened, and for the answer.
const RESERVE: Duration = Duration::from_secs(3);

/// Serves a function that is handed events as they are.
pub async fn serve<E, A, H, F>(handle: H) -> Result<(), Error>
where
    E: DeserializeOwned + 'static,
    A: Serialize + 'static,
    H: Fn(Shared, E, Deadline) -> F + Clone + 'static,
    F: Future<Output = Result<A, Error>>,
{
    runtime::telemetry::start();
    let world = World::from_env().await?.shared();
    lambda_runtime::run(service_fn(move |event: LambdaEvent<E>| {
        let (handle, world) = (handle.clone(), world.clone());
        // Boxed: what all of a run is, nested in one type, is too deep for the compiler.
        Box::pin(async move { Box::pin(handle(world, event.payload, deadline(&event.context))).await })
    }))
    .await
}

/// Serves a function that is handed batches of a queue, message by message. Those that fail go back alone.
pub async fn serve_queue<H, F>(handle: H) -> Result<(), Error>
where
    H: Fn(Shared, String, Deadline) -> F + Clone + 'static,
    F: Future<Output = Result<(), Error>>,
{
    serve(move |world: Shared, event: SqsEvent, deadline| {
        let handle = handle.clone();
        async move { batch(event.records, |body| Box::pin(handle(world.clone(), body, deadline))).await }
    })
    .await
}

fn deadline(context: &Context) -> Deadline {
    Deadline::at(context.deadline().checked_sub(RESERVE).unwrap_or_else(|| context.deadline()))
}

/// Handles messages in order. In a FIFO queue those behind one that failed go back with it, or they would overtake it.
async fn batch<H, F>(messages: Vec<SqsMessage>, handle: H) -> Result<SqsBatchResponse, Error>
where
    H: Fn(String) -> F,
    F: Future<Output = Result<(), Error>>,
{
    let mut response = SqsBatchResponse::default();
    let mut stuck = Vec::new();
    for message in messages {
        let id = message.message_id.unwrap_or_default();
        let group = message.attributes.get("MessageGroupId").cloned();
        let held = group.as_ref().is_some_and(|group| stuck.contains(group));
        let failed = held
            || match handle(message.body.unwrap_or_default()).await {
                Ok(()) => false,
                Err(error) => {
                    tracing::error!(id, %error, "the message goes back to its queue");
                    true
                }
            };
        if failed {
            stuck.extend(group);
            let mut failure = BatchItemFailure::default();
            failure.item_identifier = id;
            response.batch_item_failures.push(failure);
        }
    }
    Ok(response)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn message(id: &str, group: Option<&str>) -> SqsMessage {
        let mut message = SqsMessage::default();
        message.message_id = Some(id.to_owned());
        message.body = Some(id.to_owned());
        message.attributes.extend(group.map(|group| ("MessageGroupId".to_owned(), group.to_owned())));
        message
    }

    #[tokio::test]
    async fn what_fails_goes_back_alone_and_in_a_group_with_all_behind_it() {
        let (a, b) = (Some("a"), Some("b"));
        for (messages, failing, handled, back) in [
            (vec![("1", None), ("2", None), ("3", None)], vec!["2"], vec!["1", "2", "3"], vec!["2"]),
            (vec![("1", a), ("2", b), ("3", a), ("4", b)], vec!["1"], vec!["1", "2", "4"], vec!["1", "3"]),
            (vec![], vec![], vec![], vec![]),
        ] {
            let seen = RefCell::new(Vec::new());
            let messages = messages.into_iter().map(|(id, group)| message(id, group)).collect();
            let response = batch(messages, |body| {
                seen.borrow_mut().push(body.clone());
                let fails = failing.contains(&body.as_str());
                async move { if fails { Err("no".into()) } else { Ok(()) } }
            });
            let failures = response.await.unwrap().batch_item_failures;
            let failures: Vec<_> = failures.into_iter().map(|failure| failure.item_identifier).collect();
            assert_eq!(failures, back);
            assert_eq!(seen.into_inner(), handled);
        }
    }
}
