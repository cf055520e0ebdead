//! One running operator: its streams, workers, poster and probe, and the order in which they end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::processing::Processor;
use super::queueing::Stream;
use crate::clients::api::Api;
use crate::clients::events::Reporter;
use crate::clients::watching::Source;
use crate::configs::settings::Settings;
use crate::engines::posting::{self, Poster};
use crate::engines::probing::{self, Endpoint};
use crate::engines::readiness::Gate;
use crate::engines::spans;
use crate::intents::environment::Environment;
use crate::intents::indexes::Indexes;
use crate::intents::memos::Memo;
use crate::intents::registries::Registry;
use crate::structs::clocks::Clock;
use crate::structs::heartbeat::Heartbeat;

/// How long the last Kubernetes events may take (EVT-I3).
const LAST_EVENTS: Duration = Duration::from_secs(3);
/// How long what was dropped may take to be gone. Blocking functions cannot be dropped; the process does not wait for
/// them.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// All that an operator is made of.
pub(crate) struct Plan {
    pub(crate) crate_name: String,
    pub(crate) registries: Vec<Registry>,
    pub(crate) settings: Settings,
    pub(crate) memo: Memo,
    pub(crate) indexes: Indexes,
    pub(crate) client: Client,
    /// Empty for the whole cluster.
    pub(crate) namespaces: Vec<String>,
    pub(crate) liveness: Option<Endpoint>,
    pub(crate) clock: Clock,
    pub(crate) stopping: CancellationToken,
    /// Cancelled when every stream has listed what was there at the start.
    pub(crate) ready: CancellationToken,
}

/// What an operator consists of, before any of it runs.
pub(crate) struct Assembly {
    pub(crate) environment: Environment,
    pub(crate) streams: Vec<Stream>,
    /// The longest time that a daemon or a timer may take to stop.
    longest: Duration,
    gate: Gate,
    poster: Poster,
    registered: spans::Registered,
    liveness: Option<Endpoint>,
    ready: CancellationToken,
}

/// Puts everything together; nothing runs yet.
pub(crate) fn assemble(plan: Plan) -> Assembly {
    let Plan {
        crate_name,
        registries,
        settings,
        memo,
        indexes,
        client,
        namespaces,
        liveness,
        clock,
        stopping,
        ready,
    } = plan;
    let settings = Arc::new(settings);
    let (sink, poster) = posting::queue(settings.posting.enabled, settings.posting.level);
    let loggers = settings.posting.loggers.then(|| spans::Posting {
        crate_name,
        level: settings.posting.level,
        sink: Arc::clone(&sink),
    });
    let registered = spans::register(loggers);
    let room = |limit: Option<usize>| limit.map(|count| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))));
    let (workers, timer_calls) = (
        room(settings.execution.max_workers),
        room(settings.background.timer_limit),
    );
    let environment = Environment {
        api: Api::new(client),
        settings,
        memo,
        indexes,
        clock,
        sink,
        number: registered.number(),
        workers,
        timer_calls,
        tasks: TaskTracker::new(),
        stopping: stopping.child_token(),
        abort: CancellationToken::new(),
    };
    let limits = registries.iter().flat_map(|registry| &registry.background);
    let longest = limits.filter_map(|handler| handler.cancellation.limit()).max();
    let (gate, starting) = Gate::closed();
    let streams = streams(registries, &namespaces, &environment, &gate);
    drop(starting);
    Assembly {
        environment,
        streams,
        longest: longest.unwrap_or_default(),
        gate,
        poster,
        registered,
        liveness,
        ready,
    }
}

/// Runs until the plan's `stopping`; then lets handlers finish, within limits. Dropping the future ends everything at
/// once.
pub(crate) async fn run(plan: Plan) -> std::io::Result<()> {
    let Assembly {
        environment,
        streams,
        longest,
        gate,
        poster,
        registered,
        liveness,
        ready,
    } = assemble(plan);
    let stopping = environment.stopping.clone();
    let done = CancellationToken::new();
    // Tasks of their own do not end with this future unless they are told.
    let _dropped = [&stopping, &environment.abort, &done].map(|token| token.clone().drop_guard());
    let heartbeats: Vec<_> = streams.iter().map(|stream| stream.source.heartbeat.clone()).collect();
    let side = TaskTracker::new();
    if let Some(endpoint) = liveness {
        let (address, serving) = probing::serve(&endpoint, Arc::new(heartbeats)).await?;
        tracing::info!("Serving /healthz and /readyz on {address}");
        side.spawn(done.clone().run_until_cancelled_owned(serving));
    }
    let posting = &environment.settings.posting;
    let reporter = Reporter {
        name_prefix: posting.event_name_prefix.clone(),
        component: posting.reporting_component.clone(),
        instance: posting.reporting_instance.clone(),
    };
    let poster = tokio::spawn(poster.run(environment.api.clone(), reporter));

    let listed: Vec<_> = streams.iter().map(|stream| stream.listed.clone()).collect();
    side.spawn(done.clone().run_until_cancelled_owned(async move {
        for stream in listed {
            stream.cancelled().await;
        }
        ready.cancel();
    }));
    side.spawn(stopping.clone().run_until_cancelled_owned(gate.report()));
    let watching = TaskTracker::new();
    for stream in streams {
        watching.spawn(stream.run(stopping.clone()));
    }
    stopping.cancelled().await;
    watching.close();
    watching.wait().await;
    finish(environment, longest).await;
    drop(registered);
    // All sinks are gone by now, save those that handlers gave to tasks of their own.
    if tokio::time::timeout(LAST_EVENTS, poster).await.is_err() {
        tracing::warn!("Left Kubernetes events unposted");
    }
    done.cancel();
    side.close();
    side.wait().await;
    Ok(())
}

fn streams(registries: Vec<Registry>, namespaces: &[String], environment: &Environment, gate: &Gate) -> Vec<Stream> {
    let mut streams = Vec::new();
    for registry in registries {
        let registry = Arc::new(registry);
        let scopes: Vec<Option<&String>> = if namespaces.is_empty() || !registry.reference.namespaced {
            vec![None]
        } else {
            namespaces.iter().map(Some).collect()
        };
        for namespace in scopes {
            let name = match namespace {
                Some(namespace) => format!("{} in {namespace}", registry.reference.plural),
                None => registry.reference.plural.to_owned(),
            };
            let is_indexed = !registry.indexes.is_empty();
            let hold = is_indexed.then(|| gate.hold_for_listing(&name)).flatten();
            let source = Source {
                api: environment.api.clone(),
                reference: registry.reference,
                namespace: namespace.cloned(),
                settings: Arc::clone(&environment.settings),
                heartbeat: Heartbeat::new(name),
            };
            let processor = Arc::new(Processor::new(Arc::clone(&registry), environment.clone(), gate.clone()));
            streams.push(Stream {
                source,
                processor,
                listed: CancellationToken::new(),
                hold: Mutex::new(hold),
            });
        }
    }
    streams
}

/// Lets workers, daemons and timers end by themselves, then drops what does not.
///
/// They were all told by one token. What has a time limit of its own is ended by that, be it later (G-20).
async fn finish(environment: Environment, longest: Duration) {
    environment.tasks.close();
    let grace = environment.settings.queueing.exit_timeout;
    if tokio::time::timeout(grace, environment.tasks.wait()).await.is_ok() {
        return;
    }
    tracing::warn!(
        left = environment.tasks.len(),
        "Handlers are still running; dropping those without a time limit of their own"
    );
    environment.abort.cancel();
    let left = longest.saturating_sub(grace).saturating_add(LAST_WORDS);
    if tokio::time::timeout(left, environment.tasks.wait()).await.is_err() {
        let left = environment.tasks.len();
        tracing::warn!(
            left,
            "Blocking functions are still running; the operator ends without them"
        );
    }
}
