//! The settings of an operator: Kopf's groups, names and defaults (S, SET).

use std::time::Duration;

use tracing::Level;

use super::lifecycles::Lifecycle;
use super::persistence::PersistenceSettings;

/// All settings of an operator.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// Kubernetes events about objects.
    pub posting: PostingSettings,
    /// Watch streams.
    pub watching: WatchingSettings,
    /// The queues and workers of single objects.
    pub queueing: QueueingSettings,
    /// Calls of handlers.
    pub execution: ExecutionSettings,
    /// Daemons and timers.
    pub background: BackgroundSettings,
    /// Requests to the Kubernetes API other than watches.
    pub networking: NetworkingSettings,
    /// What is kept on objects.
    pub persistence: PersistenceSettings,
}

impl Settings {
    /// Refuses what the API would refuse in every request (N-8), and what would leave everything undone.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.queueing.worker_limit == Some(0) {
            return Err("settings.queueing.worker_limit: with no worker at all, nothing is done".to_owned());
        }
        if self.execution.max_workers == Some(0) {
            return Err(
                "settings.execution.max_workers: with no thread at all, blocking functions never run".to_owned(),
            );
        }
        if self.background.timer_limit == Some(0) {
            return Err("settings.background.timer_limit: with no timer at all, none is ever called".to_owned());
        }
        if self.background.cancellation_polling.is_zero() {
            let fault = "with no time between, the log says nothing else";
            return Err(format!("settings.background.cancellation_polling: {fault}"));
        }
        self.persistence.check()
    }
}

/// Kubernetes events about objects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PostingSettings {
    /// Whether there are any. Default: true.
    pub enabled: bool,
    /// The least severe level that is posted. Default: info.
    pub level: Level,
    /// Whether log records of handlers become events on the object. Default: false.
    pub loggers: bool,
    /// Beginning of the events' names. Default: `kopf-event-`.
    pub event_name_prefix: String,
    /// Who reports. Default: `kopf`.
    pub reporting_component: String,
    /// Which instance of it. Default: `dev`.
    pub reporting_instance: String,
}

impl Default for PostingSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            level: Level::INFO,
            loggers: false,
            event_name_prefix: "kopf-event-".to_owned(),
            reporting_component: "kopf".to_owned(),
            reporting_instance: "dev".to_owned(),
        }
    }
}

/// Watch streams.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct WatchingSettings {
    /// How long the server is asked to keep one watch open; `None` leaves it to the server. Default: none.
    pub server_timeout: Option<Duration>,
    /// A stream without any sign of life for so long is opened anew; `None` for never. Default: 70 seconds.
    pub inactivity_timeout: Option<Duration>,
    /// The pause before a stream is opened anew. Default: 0.1 seconds.
    pub reconnect_backoff: Duration,
}

impl Default for WatchingSettings {
    fn default() -> Self {
        Self {
            server_timeout: None,
            inactivity_timeout: Some(Duration::from_secs(70)),
            reconnect_backoff: Duration::from_millis(100),
        }
    }
}

/// The queues and workers of single objects.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct QueueingSettings {
    /// Waits after errors of the framework itself, one after another; the last one repeats, and a success begins the
    /// row anew. Without any, there is no waiting, and the object is looked at again at its next event. Patches
    /// that the API server does not take yet wait at most a minute, so that little is lost once it does. Default: 1,
    /// 1, 2, 3, 5, … 610 seconds.
    pub error_delays: Vec<Duration>,
    /// How many objects of one kind, in each of the namespaces that are watched one by one, are processed at once;
    /// `None` for no limit, and zero is refused. An object that has nothing to do, or waits for a retry, does
    /// not count, nor does one that is indexed. Default: none.
    pub worker_limit: Option<usize>,
    /// How long running handlers, daemons and timers may go on once the operator is to stop; then they are dropped
    /// . Daemons and timers with a `cancellation_timeout` have that and their `cancellation_backoff` instead, be
    /// it longer (G-20). Handlers that run longer need more, and so does then the pod's
    /// `terminationGracePeriodSeconds`. Default: 10 seconds; Kopf's is 2.
    pub exit_timeout: Duration,
}

impl Default for QueueingSettings {
    fn default() -> Self {
        let seconds = [1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610];
        Self {
            error_delays: seconds.map(Duration::from_secs).to_vec(),
            worker_limit: None,
            exit_timeout: Duration::from_secs(10),
        }
    }
}

/// Calls of handlers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExecutionSettings {
    /// The wait after an arbitrary error of a handler without a `backoff` of its own (E-5). Default: 60 seconds.
    pub default_backoff: Duration,
    /// Which of the waiting handlers are called in one cycle (L-3). Default: as soon as possible, the least retried
    /// first.
    pub lifecycle: Lifecycle,
    /// How many blocking functions may run at once in the whole operator; others wait, without a thread. A handler
    /// whose `timeout` ends while it waits fails without having been called. `None` for no limit; 0 is refused (K-12).
    /// Default: none.
    pub max_workers: Option<usize>,
}

impl Default for ExecutionSettings {
    fn default() -> Self {
        Self {
            default_backoff: Duration::from_secs(60),
            lifecycle: Lifecycle::default(),
            max_workers: None,
        }
    }
}

/// Daemons and timers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BackgroundSettings {
    /// How often the log says of a handler that it was asked to stop and is still ending, where it has no
    /// `cancellation_timeout` (G-12). Default: 60 seconds.
    pub cancellation_polling: Duration,
    /// How many timers may be called at once in the whole operator; the others wait, and stopping cuts that short. 0
    /// is refused. Default: none.
    pub timer_limit: Option<usize>,
}

impl Default for BackgroundSettings {
    fn default() -> Self {
        Self {
            cancellation_polling: Duration::from_secs(60),
            timer_limit: None,
        }
    }
}

/// Requests to the Kubernetes API other than watches.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NetworkingSettings {
    /// Limit of one request. Default: 5 minutes.
    pub request_timeout: Duration,
    /// How long connecting may take, within the limit of the request; `None` leaves it to the client, which gives up
    /// after 30 seconds. It holds for the client that the operator makes itself; one that is handed over connects as
    /// it was built. Default: none.
    pub connect_timeout: Option<Duration>,
    /// Waits between the first attempts of a request that may succeed later, one after another: no connection, no
    /// answer, and the statuses 5xx, 401, 403 and 429. The waits of `queueing.error_delays` follow. Half of
    /// each wait is random. Default: 1, 1, 2, 3, 5, 8, 13, 21 seconds.
    pub error_backoffs: Vec<Duration>,
    /// What a `Retry-After` of the API server means: true takes it as it is, even if it is shorter than the wait
    /// would be; false never waits less, but perhaps longer. Default: false.
    pub enforce_retry_after: bool,
}

impl Default for NetworkingSettings {
    fn default() -> Self {
        Self {
            request_timeout: Duration::from_secs(300),
            connect_timeout: None,
            error_backoffs: [1, 1, 2, 3, 5, 8, 13, 21].map(Duration::from_secs).to_vec(),
            enforce_retry_after: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // S
    #[test]
    fn defaults_are_kopfs() {
        let settings = Settings::default();
        assert_eq!(settings.queueing.error_delays.len(), 15);
        assert_eq!(settings.queueing.error_delays.last(), Some(&Duration::from_secs(610)));
        assert_eq!(settings.queueing.worker_limit, None);
        assert_eq!(settings.persistence.finalizer, "kopf.zalando.org/KopfFinalizerMarker");
        let backoffs: Vec<u64> = settings
            .networking
            .error_backoffs
            .iter()
            .map(Duration::as_secs)
            .collect();
        assert_eq!(backoffs, [1, 1, 2, 3, 5, 8, 13, 21]);
        assert_eq!(settings.networking.request_timeout, Duration::from_secs(300));
        assert_eq!(settings.networking.connect_timeout, None);
        assert!(!settings.networking.enforce_retry_after);
        assert_eq!(settings.watching.inactivity_timeout, Some(Duration::from_secs(70)));
        assert_eq!(settings.execution.lifecycle, Lifecycle::Asap);
        assert_eq!(settings.execution.default_backoff, Duration::from_secs(60));
        assert_eq!(settings.execution.max_workers, None);
        assert_eq!(settings.background.cancellation_polling, Duration::from_secs(60));
        assert_eq!(settings.background.timer_limit, None);
        assert_eq!(settings.check(), Ok(()));
    }

    // K-12
    #[test]
    fn no_thread_at_all_is_refused_and_no_delays_are_accepted() {
        let mut settings = Settings::default();
        settings.queueing.error_delays.clear();
        settings.execution.max_workers = Some(1);
        assert_eq!(settings.check(), Ok(()));
        settings.execution.max_workers = Some(0);
        assert!(
            settings
                .check()
                .unwrap_err()
                .starts_with("settings.execution.max_workers: ")
        );
    }

    // T, *Improve on*
    #[test]
    fn no_timer_at_all_is_refused() {
        let mut settings = Settings::default();
        settings.background.timer_limit = Some(0);
        let message = settings.check().unwrap_err();
        assert!(message.starts_with("settings.background.timer_limit: "));
        settings.background.timer_limit = Some(1);
        assert_eq!(settings.check(), Ok(()));
    }

    // G-12: an ending that is spoken of again and again takes the whole processor.
    #[test]
    fn an_ending_is_not_spoken_of_all_the_time() {
        let mut settings = Settings::default();
        settings.background.cancellation_polling = Duration::ZERO;
        let message = settings.check().unwrap_err();
        assert!(message.starts_with("settings.background.cancellation_polling: "));
    }

    //
    #[test]
    fn no_worker_at_all_is_refused() {
        let mut settings = Settings::default();
        settings.queueing.worker_limit = Some(0);
        assert!(
            settings
                .check()
                .unwrap_err()
                .starts_with("settings.queueing.worker_limit: ")
        );
        settings.queueing.worker_limit = Some(1);
        assert_eq!(settings.check(), Ok(()));
    }
}
