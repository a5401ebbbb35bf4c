//! Messages: to SQS queues and from them, and to an EventBridge bus.

use aws_sdk_eventbridge::types::PutEventsRequestEntry;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use jiff::SignedDuration;
use serde::Serialize;

use crate::client::failed;
use crate::{Cloud, CloudError};

/// Neither SQS nor EventBridge takes more at once.
const ENTRIES_A_CALL: usize = 10;
/// SQS holds nothing back for longer.
const LONGEST_DELAY: SignedDuration = SignedDuration::from_mins(15);

/// A message to a queue.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Message {
    /// Its text.
    pub body: String,
    /// How long it is held back, cut to what SQS can do. A FIFO queue takes none.
    pub delay: SignedDuration,
    /// On a FIFO queue: messages of a group are handled one after the other.
    pub group: Option<String>,
    /// On a FIFO queue: for five minutes a second message of that id is none.
    pub deduplication: Option<String>,
}

/// A message from a queue.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Received {
    /// Its text.
    pub body: String,
    /// What it is dealt with by.
    pub receipt: String,
}

/// A domain event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// What happened, such as `journeyman.provision`.
    pub detail_type: String,
    /// What is to be known about it.
    pub detail: serde_json::Value,
    /// ARNs of what it is about.
    pub resources: Vec<String>,
}

impl Cloud {
    /// Sends messages, ten a call. Fails if one of them couldn't be sent; the others have been.
    pub async fn send(&self, queue_url: &str, messages: &[Message]) -> Result<(), CloudError> {
        let operation = "SendMessageBatch";
        let mut lost = None;
        for some in messages.chunks(ENTRIES_A_CALL) {
            let entries = some.iter().enumerate().map(|(index, message)| {
                let delay = message.delay.clamp(SignedDuration::ZERO, LONGEST_DELAY).as_secs();
                let delay =
                    i32::try_from(delay).ok().filter(|seconds| *seconds > 0 && message.group.is_none());
                SendMessageBatchRequestEntry::builder()
                    .id(index.to_string())
                    .message_body(&message.body)
                    .set_delay_seconds(delay)
                    .set_message_group_id(message.group.clone())
                    .set_message_deduplication_id(message.deduplication.clone())
                    .build()
            });
            let entries: Result<Vec<_>, _> = entries.collect();
            let entries = entries.map_err(|error| unsent(operation, "", &error.to_string()))?;
            let request = self.sqs.send_message_batch().queue_url(queue_url).set_entries(Some(entries));
            let answer = request.send().await.map_err(failed(operation))?;
            if let Some(first) = answer.failed().first() {
                lost = Some(unsent(operation, first.code(), first.message().unwrap_or_default()));
            }
        }
        lost.map_or(Ok(()), Err)
    }

    /// Fetches messages, waiting for one for up to 20 s.
    pub async fn receive(&self, queue_url: &str, wait: SignedDuration) -> Result<Vec<Received>, CloudError> {
        let wait = i32::try_from(wait.as_secs().clamp(0, 20)).unwrap_or(20);
        let request = self.sqs.receive_message().queue_url(queue_url).max_number_of_messages(10);
        let answer = request.wait_time_seconds(wait).send().await.map_err(failed("ReceiveMessage"))?;
        let read = answer.messages.unwrap_or_default().into_iter().filter_map(|message| {
            Some(Received { body: message.body.unwrap_or_default(), receipt: message.receipt_handle? })
        });
        Ok(read.collect())
    }

    /// Says that a fetched message is dealt with: else it comes again.
    pub async fn done(&self, queue_url: &str, receipt: &str) -> Result<(), CloudError> {
        let request = self.sqs.delete_message().queue_url(queue_url).receipt_handle(receipt);
        request.send().await.map_err(failed("DeleteMessage"))?;
        Ok(())
    }

    /// Publishes events of `source`, ten a call. Fails if one of them couldn't be published; the others have been.
    pub async fn publish(&self, bus: &str, source: &str, events: &[Event]) -> Result<(), CloudError> {
        let operation = "PutEvents";
        let mut lost = None;
        for some in events.chunks(ENTRIES_A_CALL) {
            let entries = some.iter().map(|event| {
                PutEventsRequestEntry::builder()
                    .event_bus_name(bus)
                    .source(source)
                    .detail_type(&event.detail_type)
                    .detail(event.detail.to_string())
                    .set_resources(Some(event.resources.clone()))
                    .build()
            });
            let request = self.events.put_events().set_entries(Some(entries.collect()));
            let answer = request.send().await.map_err(failed(operation))?;
            let refused = answer.entries().iter().find(|entry| entry.error_code().is_some());
            if let Some(entry) = refused {
                let (code, message) = (entry.error_code(), entry.error_message());
                lost = Some(unsent(operation, code.unwrap_or_default(), message.unwrap_or_default()));
            }
        }
        lost.map_or(Ok(()), Err)
    }
}

fn unsent(operation: &'static str, code: &str, message: &str) -> CloudError {
    CloudError::Request { operation, code: code.to_owned(), message: format!("{code}: {message}") }
}
