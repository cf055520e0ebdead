//! From a stream to workers: a queue for each object, and a task that lives while there is something in it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::inventory::{Inventory, Start};
use super::processing::{Next, Processor};
use crate::clients::watching::{self, Notice, Source};

/// One stream: its objects, and what is done with them.
pub(crate) struct Stream {
    pub(crate) source: Source,
    pub(crate) processor: Arc<Processor>,
    /// Cancelled when everything that was there at the start is queued.
    pub(crate) listed: CancellationToken,
}

impl Stream {
    /// Watches until `stopping`; workers go on by themselves.
    ///
    /// A panic in the stream itself is reported and the stream starts anew: it never dies silently (Q-12, B-004).
    pub(crate) async fn run(self, stopping: CancellationToken) {
        let stream = Arc::new(self);
        while !stopping.is_cancelled() {
            let task = tokio::spawn(Arc::clone(&stream).follow(stopping.clone()));
            let ended = task.await;
            if stopping.is_cancelled() {
                return;
            }
            tracing::error!(
                resource = stream.source.reference.plural,
                ?ended,
                "A stream broke; starting it anew"
            );
            stream.source.heartbeat.rest(std::time::Duration::from_secs(1)).await;
        }
    }

    async fn follow(self: Arc<Self>, stopping: CancellationToken) {
        let notices = watching::stream(&self.source, |notice| self.take(notice));
        tokio::select! {
            () = notices => {}
            () = stopping.cancelled() => {}
        }
    }

    fn take(&self, notice: Notice) {
        let inventory = &self.processor.inventory;
        match notice {
            Notice::Serving(serving) => self.processor.serve(serving),
            Notice::ListingStarted => inventory.begin_listing(),
            Notice::Object(event_type, body) => {
                let skip_known = self.processor.registry.events.is_empty();
                if let Some(start) = inventory.put(event_type, body, skip_known) {
                    spawn(&self.processor, start);
                }
            }
            Notice::ListingEnded => {
                for start in inventory.end_listing() {
                    spawn(&self.processor, start);
                }
                self.listed.cancel();
            }
        }
    }
}

/// Starts the worker of one object.
pub(crate) fn spawn(processor: &Arc<Processor>, start: Start) {
    let key = start.key.clone();
    let worker = AssertUnwindSafe(work(Arc::clone(processor), start)).catch_unwind();
    let processor = Arc::clone(processor);
    let tasks = processor.environment.tasks.clone();
    tasks.spawn(async move {
        // A fault in here must not leave the object without a worker for ever.
        if worker.await.is_err() {
            tracing::error!(
                resource = processor.registry.reference.plural,
                "A worker broke; its object starts anew"
            );
            if let Some(start) = processor.inventory.revive(&key) {
                spawn(&processor, start);
            }
        }
    });
}

/// Empties one object's queue, then ends: an idle object costs no task.
async fn work(processor: Arc<Processor>, start: Start) {
    let Start {
        key,
        mut memory,
        notify,
    } = start;
    let stopping = &processor.environment.stopping;
    let mut object = super::processing::Object::new(key.clone());
    let inventory: &Inventory = &processor.inventory;
    let mut next = Next::Rest;
    loop {
        // Whatever else comes, an interrupted wait or an unfinished handling goes on.
        let pending = !matches!(next, Next::Rest);
        let batch = match next {
            Next::Gone => return inventory.forget(&key),
            Next::Rest => match inventory.take(&key, memory) {
                Ok((batch, back)) => {
                    memory = back;
                    batch
                }
                Err(()) => return,
            },
            Next::Again => inventory.poll(&key),
            Next::After(delay) => {
                // A newer event or an ended timer cuts the wait short.
                tokio::select! {
                    () = tokio::time::sleep(delay) => {}
                    () = notify.notified() => {}
                    () = stopping.cancelled() => return,
                }
                inventory.poll(&key)
            }
        };
        if stopping.is_cancelled() {
            return;
        }
        next = processor.process(&mut object, &mut memory, batch, pending).await;
    }
}
