//! Posts Kubernetes events in order, beside the work they are about.
//!
//! Handing an event over never blocks and never fails (EVT-05, B-084): the queue is bounded and drops the newest
//! with a counter. Errors of the API end the event, never the handling (B-081, EVT-12).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use kube::Client;
use tokio::sync::mpsc;

use crate::clients::events::{self, NewEvent, Reporter};
use crate::intents::contexts::EventSink;

/// Waiting events; at 1 KiB each a bounded amount of memory.
const CAPACITY: usize = 1000;
/// One attempt; a slow server must not pile up events for minutes (EVT-I2).
const LIMIT: Duration = Duration::from_secs(10);

/// The receiving end of the queue.
pub(crate) struct Poster {
    queue: mpsc::Receiver<NewEvent>,
    dropped: Arc<AtomicU64>,
}

/// Makes the queue; a sink that is off takes events and forgets them.
pub(crate) fn queue(enabled: bool) -> (EventSink, Poster) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    let dropped = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&dropped);
    let sink: EventSink = Arc::new(move |event: NewEvent| {
        // Events about Events would feed on themselves (EVT-11, B-083).
        let about_event = event.about.kind == "Event";
        if enabled && !about_event && sender.try_send(event).is_err() {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    (
        sink,
        Poster {
            queue: receiver,
            dropped,
        },
    )
}

impl Poster {
    /// Posts until all sinks are gone and the queue is empty.
    pub(crate) async fn run(mut self, client: Client, reporter: Reporter) {
        let mut refused = false;
        while let Some(event) = self.queue.recv().await {
            match events::post(&client, &event, &reporter, LIMIT).await {
                Ok(()) => refused = false,
                // Said once per outage.
                Err(error) if !refused => {
                    refused = true;
                    tracing::warn!(%error, "Cannot post Kubernetes events");
                }
                Err(error) => tracing::debug!(%error, "Lost a Kubernetes event"),
            }
            let dropped = self.dropped.swap(0, Ordering::Relaxed);
            if dropped > 0 {
                tracing::warn!(dropped, "Dropped Kubernetes events: more than can be posted");
            }
        }
    }
}
