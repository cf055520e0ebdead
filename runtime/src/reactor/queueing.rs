//! From a stream to workers: a queue for each object, and a task that lives while there is something in it.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio_util::sync::CancellationToken;

use super::inventory::{Inventory, Start};
use super::processing::{Next, Processor};
use super::throttling::{Fault, Throttle};
use crate::actions::invocation::describe;
use crate::clients::watching::{self, Notice, Source};
use crate::engines::readiness::Hold;
use crate::structs::bodies::Body;

/// One stream: its objects, and what is done with them.
pub(crate) struct Stream {
    pub(crate) source: Source,
    pub(crate) processor: Arc<Processor>,
    /// Cancelled when everything that was there at the start is queued.
    pub(crate) listed: CancellationToken,
    /// Keeps all handlers waiting until the first listing has ended, if the kind is indexed (I-14), or until it turns out
    /// that there is nothing to be listed.
    pub(crate) hold: Mutex<Option<Hold>>,
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
            stream.source.heartbeat.rest(Duration::from_secs(1)).await;
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
            Notice::Unserved => self.release(),
            Notice::ListingStarted => inventory.begin_listing(),
            Notice::Object(event_type, body) => {
                let is_observed = |body: &Body| self.processor.may_be_observed(body);
                if let Some(start) = inventory.put(event_type, body, is_observed) {
                    spawn(&self.processor, start);
                }
            }
            Notice::ListingEnded => {
                for start in inventory.end_listing() {
                    spawn(&self.processor, start);
                }
                self.release();
                self.listed.cancel();
            }
        }
    }

    /// The indexes have, or will have, all objects of the stream that were there at the start.
    fn release(&self) {
        drop(self.hold.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

/// Starts the worker of one object.
pub(crate) fn spawn(processor: &Arc<Processor>, start: Start) {
    // Taken before the listing, which brought the object, can end.
    let hold = processor
        .has_indexes()
        .then(|| processor.gate.hold_for_object())
        .flatten();
    let worker = work(Arc::clone(processor), start, hold);
    drop(processor.environment.tasks.spawn(worker));
}

/// Empties one object's queue, then ends: an idle object costs no task.
///
/// Whatever breaks in a cycle is said, and the object waits for a while; its worker never ends by that.
async fn work(processor: Arc<Processor>, start: Start, mut hold: Option<Hold>) {
    let Start {
        key,
        mut memory,
        notify,
    } = start;
    let stopping = &processor.environment.stopping;
    let inventory: &Inventory = &processor.inventory;
    let mut object = processor.object(key.clone());
    let mut throttle = Throttle::default();
    let mut next = Next::Rest;
    loop {
        match next {
            Next::Gone => {
                // First, for what is in an index is its author's: whatever breaks there, nothing waits for this worker.
                inventory.forget(&key);
                return memory.leave_indexes();
            }
            Next::Rest => match inventory.take(&key, memory) {
                Ok((batch, back)) => {
                    memory = back;
                    if batch.is_empty() {
                        // An index handler is to be called again.
                        tokio::select! {
                            () = notify.notified() => {}
                            () = processor.reindexing(&memory) => {}
                            () = stopping.cancelled() => return,
                        }
                    }
                    object.receive(batch);
                }
                Err(()) => return,
            },
            // Others have their turn, however many cycles follow each other.
            Next::Again => tokio::task::yield_now().await,
            Next::After(delay) => {
                // A newer event or an ended timer cuts the wait short.
                let mut wait = pin!(tokio::time::sleep(delay));
                loop {
                    tokio::select! {
                        () = &mut wait => break,
                        () = notify.notified() => break,
                        () = processor.reindexing(&memory) => processor.index(&mut object, &mut memory).await,
                        () = stopping.cancelled() => return,
                    }
                }
            }
            Next::Throttled(delay) => {
                // Newer events wait too, for they would most likely meet the same error, or are its echo; but not
                // the last one, nor whatever ends a timer. Indexes have no part in the error (I-19, *Improve on*).
                let mut wait = pin!(tokio::time::sleep(delay));
                while !inventory.has_ended(&key) {
                    processor.glance(&mut object, &mut memory);
                    tokio::select! {
                        () = &mut wait => break,
                        () = notify.notified() => {}
                        () = processor.reindexing(&memory) => {}
                        () = stopping.cancelled() => return,
                    }
                    processor.index(&mut object, &mut memory).await;
                }
            }
        }
        if processor.has_indexes() {
            object.receive(inventory.poll(&key));
            processor.index(&mut object, &mut memory).await;
        }
        drop(hold.take());
        while !processor.gate.is_open() {
            // All objects that there are may wait here.
            object.rest();
            tokio::select! {
                biased;
                () = stopping.cancelled() => return,
                () = processor.gate.opened() => {}
                () = notify.notified() => {}
                () = processor.reindexing(&memory) => {}
            }
            processor.index(&mut object, &mut memory).await;
        }
        tokio::select! {
            biased;
            () = stopping.cancelled() => return,
            () = object.slot.take() => {}
        }
        // What came while this one waited for its turn; unless it has to be indexed first, without holding the place.
        if processor.is_indexed(&object, &memory) {
            object.receive(inventory.poll(&key));
        }
        // Whatever else comes, an interrupted wait or an unfinished handling goes on.
        object.due |= !matches!(next, Next::Rest);
        // Boxed, for it is large: thousands may wait for their turn while a listing comes in.
        let cycle = Box::pin(processor.process(&mut object, &mut memory));
        let cycle = AssertUnwindSafe(cycle).catch_unwind().await;
        object.slot.give_back();
        let fault = match cycle {
            Ok(Ok(then)) => {
                throttle.reset();
                next = then;
                continue;
            }
            Ok(Err(fault)) => fault,
            Err(panic) => Fault(describe(panic.as_ref())),
        };
        next = match processor.complain(&object, &mut throttle, &fault) {
            _ if object.has_ended() => Next::Again,
            Some(delay) => Next::Throttled(delay),
            None => Next::After(Duration::MAX),
        };
    }
}
