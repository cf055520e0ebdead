//! The test's grip on the faults of its server.

use std::sync::Arc;

use crate::Server;
use crate::admission::network::Breakage;
use crate::faults::{Chaos, Entry, Failure, Mischief, Traffic, chaos};
use crate::http::{Api, lock};

/// Makes a server misbehave; from [`Server::faults`].
///
/// ```
/// use kopf_testserver::{Disturbance, Failure, Server, Traffic};
///
/// let server = Server::new();
/// let faults = server.faults();
/// faults.plan(Traffic::any().verb("patch").resource("widgets"), 2, Failure::retry_after(503, 1));
/// faults.plan(Traffic::any().verb("watch"), 1, Disturbance::Stall);
/// ```
#[derive(Clone)]
#[must_use]
pub struct Faults {
    api: Arc<Api>,
}

impl Server {
    /// The faults of this server, planned or at random.
    pub fn faults(&self) -> Faults {
        Faults {
            api: Arc::clone(&self.api),
        }
    }
}

impl Faults {
    /// Lets the next `times` such requests go wrong (`usize::MAX`: all of them). What was planned earlier goes first.
    pub fn plan(&self, traffic: Traffic, times: usize, failure: impl Into<Failure>) {
        let failure = failure.into();
        if times > 0 {
            lock(&self.api.faults).entries.push(Entry {
                traffic,
                failure,
                times,
            });
        }
    }

    /// Lets requests go wrong at random, until the returned value is dropped. The seed goes to the standard error
    /// stream, which the test runner shows of failed tests.
    pub fn at_random(&self, chaos: Chaos) -> Mischief {
        let seed = chaos.seed();
        eprintln!(
            "random faults from seed {seed}; repeat them with {}={seed}",
            chaos::SEED
        );
        lock(&self.api.faults).chaos = Some(chaos);
        Mischief::new(Arc::clone(&self.api), seed)
    }

    /// Lets the next calls of the webhook with this name fail, `times` times, before anything is sent.
    pub fn break_webhook(&self, name: &str, times: usize, how: Breakage) {
        lock(&self.api.cluster).network.break_webhook(name, how, times);
    }

    /// Forgets what was planned.
    pub fn clear(&self) {
        lock(&self.api.faults).entries.clear();
        lock(&self.api.cluster).network.mend_webhooks();
    }

    /// Ends all open watches, as a server does after a while.
    pub fn drop_watches(&self) {
        self.api.signals.send_modify(|signals| signals.drops += 1);
    }

    /// Ends all open watches with an error event of this code.
    pub fn send_watch_error(&self, code: u16) {
        self.api.signals.send_modify(|signals| signals.errors.push(code));
    }

    /// Keeps back the events of all watches, until they are released.
    pub fn hold_events(&self) {
        self.api.signals.send_modify(|signals| signals.held = true);
    }

    /// Delivers the events that were kept back, and all later ones.
    pub fn release_events(&self) {
        self.api.signals.send_modify(|signals| signals.held = false);
    }

    /// Forgets all history, as etcd does every few minutes: a watch from an earlier version, and the next page of a
    /// list, are answered with 410.
    pub fn compact(&self) {
        lock(&self.api.cluster).store.compact();
    }

    /// Chooses how a watch from a forgotten version is refused: by an error event in the stream (the default), or by
    /// the response itself. Clusters do either.
    pub fn refuse_old_watches(&self, by_response: bool) {
        self.api.signals.send_modify(|signals| signals.refuse_old = by_response);
    }

    /// Stops the server: open watches end, and connections are refused; those of sockets break at their next request.
    /// Its state stays.
    pub fn stop(&self) {
        self.api.signals.send_modify(|signals| {
            signals.stopped = true;
            signals.drops += 1;
        });
    }

    /// Starts the server again, with the state it had.
    pub fn restart(&self) {
        self.api.signals.send_modify(|signals| signals.stopped = false);
    }
}

impl std::fmt::Debug for Faults {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_tuple("Faults").field(&lock(&self.api.faults)).finish()
    }
}
