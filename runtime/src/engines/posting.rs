//! Posts Kubernetes events in order, beside the work they are about.
//!
//! Handing an event over never blocks and never fails (EVT-05, B-084): the queue is bounded and drops the newest
//! with a counter; each object has its ration. Errors of the API end the event, never the handling (B-081, EVT-12).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Level;

use super::rationing::{Rations, Verdict};
use crate::clients::api::Api;
use crate::clients::events::{self, NewEvent, Reporter};
use crate::intents::contexts::EventSink;
use crate::structs::events::ObjectReference;

/// Waiting events; at 1 KiB each a bounded amount of memory.
const CAPACITY: usize = 1000;
/// One attempt; a slow server must not pile up events for minutes (EVT-I2).
const LIMIT: Duration = Duration::from_secs(10);

/// What waits in the queue.
#[derive(Debug)]
enum Item {
    Event(NewEvent),
    /// What is to be said in the log: the sink itself must not, for it may be called by the log.
    Note(String),
}

/// The receiving end of the queue.
pub(crate) struct Poster {
    queue: mpsc::Receiver<Item>,
    dropped: Arc<AtomicU64>,
}

/// Makes the queue; what is not to be posted is taken and forgotten (EVT-02).
pub(crate) fn queue(enabled: bool, least: Level) -> (EventSink, Poster) {
    let (sender, receiver) = mpsc::channel(CAPACITY);
    let dropped = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&dropped);
    let rations = Mutex::new(Rations::default());
    let sink: EventSink = Arc::new(move |event: NewEvent| {
        // Events about Events would feed on themselves (EVT-11, B-083).
        if !enabled || event.level > least || event.about.kind == "Event" {
            return;
        }
        let verdict = {
            let mut rations = rations.lock().unwrap_or_else(PoisonError::into_inner);
            rations.take(&event.about, Instant::now())
        };
        let note = note(verdict, &event);
        let event = matches!(verdict, Verdict::Post { .. }).then_some(Item::Event(event));
        for item in note.map(Item::Note).into_iter().chain(event) {
            if sender.try_send(item).is_err() {
                counter.fetch_add(1, Ordering::Relaxed);
            }
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

/// Says once that events of an object are dropped, and once how many were.
fn note(verdict: Verdict, event: &NewEvent) -> Option<String> {
    let ObjectReference {
        kind, name, namespace, ..
    } = &event.about;
    let whole = match namespace {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    };
    match verdict {
        Verdict::Post { refused: 0 } | Verdict::Refuse { first: false } => None,
        Verdict::Post { refused } => Some(format!("Dropped {refused} Kubernetes events about {whole}")),
        Verdict::Refuse { first: true } => {
            Some(format!("Dropping Kubernetes events about {whole}: there are too many"))
        }
    }
}

impl Poster {
    /// Posts until all sinks are gone and the queue is empty.
    pub(crate) async fn run(mut self, api: Api, reporter: Reporter) {
        let mut refused = false;
        while let Some(item) = self.queue.recv().await {
            match item {
                Item::Note(note) => tracing::warn!("{note}"),
                Item::Event(event) => match events::post(&api, &event, &reporter, LIMIT).await {
                    Ok(()) => refused = false,
                    // Said once per outage.
                    Err(error) if !refused => {
                        refused = true;
                        tracing::warn!(%error, "Cannot post Kubernetes events");
                    }
                    Err(error) => tracing::debug!(%error, "Lost a Kubernetes event"),
                },
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

    /// The kind of what the next event is about.
    fn next(poster: &mut Poster) -> Option<String> {
        match poster.queue.try_recv().ok()? {
            Item::Event(event) => Some(event.about.kind),
            Item::Note(note) => Some(note),
        }
    }

    fn event(level: Level, kind: &str) -> NewEvent {
        about(level, kind, "a")
    }

    fn about(level: Level, kind: &str, name: &str) -> NewEvent {
        let about = ObjectReference {
            kind: kind.into(),
            name: name.into(),
            namespace: Some("default".into()),
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
        assert_eq!(next(&mut poster).as_deref(), Some("Cart"));
        assert_eq!(next(&mut poster), None);
        let (sink, mut poster) = queue(false, Level::INFO);
        sink(event(Level::WARN, "Cart"));
        assert_eq!(next(&mut poster), None);
    }

    // EVT-02
    #[test]
    fn the_strictest_level_still_posts_errors() {
        let (sink, mut poster) = queue(true, Level::ERROR);
        sink(event(Level::WARN, "Cart"));
        sink(event(Level::ERROR, "Cart"));
        assert!(matches!(poster.queue.try_recv(), Ok(Item::Event(event)) if event.level == Level::ERROR));
        assert_eq!(next(&mut poster), None);
    }

    // EVT-05, B-084
    #[test]
    fn a_full_queue_drops_and_counts() {
        let (sink, poster) = queue(true, Level::INFO);
        for number in 0..CAPACITY + 5 {
            sink(about(Level::INFO, "Cart", &number.to_string()));
        }
        assert_eq!(poster.dropped.load(Ordering::Relaxed), 5);
    }

    // EVT-13, improved
    #[test]
    fn a_flood_about_one_object_is_cut_short_and_said_once() {
        let (sink, mut poster) = queue(true, Level::INFO);
        for _ in 0..100 {
            sink(event(Level::INFO, "Cart"));
        }
        sink(about(Level::INFO, "Bag", "b"));
        let posted: Vec<String> = std::iter::from_fn(|| next(&mut poster)).collect();
        assert!(posted[..25].iter().all(|kind| kind == "Cart"));
        assert_eq!(
            posted[25..],
            [
                "Dropping Kubernetes events about Cart default/a: there are too many",
                "Bag"
            ]
        );
    }
}
