//! Posts Kubernetes events in order, beside the work they are about.
//!
//! Handing an event over never blocks and never fails (EVT-05, B-084): the queue is bounded and drops the newest
//! with a counter. Errors of the API end the event, never the handling (B-081, EVT-12).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::mpsc;
use tracing::Level;

use crate::clients::api::Api;
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

/// Makes the queue; what is not to be posted is taken and forgotten (EVT-02).
pub(crate) fn queue(enabled: bool, least: Level) -> (EventSink, Poster) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    let dropped = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&dropped);
    let sink: EventSink = Arc::new(move |event: NewEvent| {
        // Events about Events would feed on themselves (EVT-11, B-083).
        let about_event = event.about.kind == "Event";
        if enabled && event.level <= least && !about_event && sender.try_send(event).is_err() {
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
    pub(crate) async fn run(mut self, api: Api, reporter: Reporter) {
        let mut refused = false;
        while let Some(event) = self.queue.recv().await {
            match events::post(&api, &event, &reporter, LIMIT).await {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::events::EventType;
    use crate::structs::events::ObjectReference;

    fn event(level: Level, kind: &str) -> NewEvent {
        let about = ObjectReference {
            kind: kind.into(),
            ..ObjectReference::default()
        };
        let at = jiff::Timestamp::UNIX_EPOCH;
        NewEvent {
            about,
            event_type: EventType::Warning,
            level,
            reason: "R".into(),
            message: "m".into(),
            at,
        }
    }

    // EVT-02, EVT-11, EVT-I1
    #[test]
    fn what_is_not_to_be_posted_is_forgotten() {
        let (sink, mut poster) = queue(true, Level::WARN);
        sink(event(Level::INFO, "Cart"));
        sink(event(Level::WARN, "Event"));
        sink(event(Level::WARN, "Cart"));
        assert_eq!(poster.queue.try_recv().unwrap().about.kind, "Cart");
        assert!(poster.queue.try_recv().is_err());
        let (sink, mut poster) = queue(false, Level::INFO);
        sink(event(Level::WARN, "Cart"));
        assert!(poster.queue.try_recv().is_err());
    }

    // EVT-02
    #[test]
    fn the_strictest_level_still_posts_errors() {
        let (sink, mut poster) = queue(true, Level::ERROR);
        sink(event(Level::WARN, "Cart"));
        sink(event(Level::ERROR, "Cart"));
        assert_eq!(poster.queue.try_recv().unwrap().level, Level::ERROR);
        assert!(poster.queue.try_recv().is_err());
    }

    // EVT-05, B-084
    #[test]
    fn a_full_queue_drops_and_counts() {
        let (sink, poster) = queue(true, Level::INFO);
        for _ in 0..CAPACITY + 5 {
            sink(event(Level::INFO, "Cart"));
        }
        assert_eq!(poster.dropped.load(Ordering::Relaxed), 5);
    }
}
