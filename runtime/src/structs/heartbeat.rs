//! Signs of life of long-running tasks, for the liveness probe (B-002).

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// How often a waiting task shows that it lives.
const PULSE: Duration = Duration::from_secs(15);

/// One task's sign of life; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat(Arc<Mutex<Beat>>);

#[derive(Debug)]
struct Beat {
    name: String,
    last: Instant,
    failure: Option<String>,
}

/// What the probe says of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sign {
    pub(crate) name: String,
    /// Since the loop last turned.
    pub(crate) age: Duration,
    /// What it is waiting out, if it is.
    pub(crate) failure: Option<String>,
}

impl Heartbeat {
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self(Arc::new(Mutex::new(Beat {
            name: name.into(),
            last: Instant::now(),
            failure: None,
        })))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Beat) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The loop turned.
    pub(crate) fn tick(&self) {
        self.with(|beat| beat.last = Instant::now());
    }

    /// The task cannot do its work for now.
    pub(crate) fn failed(&self, failure: &str) {
        self.with(|beat| beat.failure = Some(failure.to_owned()));
    }

    /// The task does its work again.
    pub(crate) fn recovered(&self) {
        self.with(|beat| {
            beat.failure = None;
            beat.last = Instant::now();
        });
    }

    pub(crate) fn sign(&self) -> Sign {
        self.with(|beat| Sign {
            name: beat.name.clone(),
            age: beat.last.elapsed(),
            failure: beat.failure.clone(),
        })
    }

    /// Awaits something of bounded length, ticking all the while.
    pub(crate) async fn attend<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            self.tick();
            if let Ok(done) = tokio::time::timeout(PULSE, &mut work).await {
                self.tick();
                return done;
            }
        }
    }

    /// Sleeps, ticking all the while.
    pub(crate) async fn rest(&self, duration: Duration) {
        self.attend(tokio::time::sleep(duration)).await;
    }
}
