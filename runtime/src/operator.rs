//! The operator: what it handles, its settings, and how it is run.

use std::process::ExitCode;
use std::time::Duration;

use kube::Client;
use tokio_util::sync::CancellationToken;

use crate::configs::settings::Settings;
use crate::engines::probing::Endpoint;
use crate::intents::indexes::Indexes;
use crate::intents::memos::OperatorMemo;
use crate::intents::registries::Registry;
use crate::kind::Kind;
use crate::reactor::running::{self, Plan};
use crate::resource::Resource;
use crate::structs::clocks::Clock;

/// An operator: kinds with their handlers, and settings.
#[must_use = "run it with `main` or `run`"]
pub struct Operator {
    name: String,
    settings: Settings,
    memo: OperatorMemo,
    registries: Vec<Registry>,
}

/// Why an operator could not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The handlers, settings or options contradict each other; found before any request is made.
    #[error("the operator is not well-formed: {0}")]
    Malformed(String),
    /// The address of the liveness endpoint cannot be used.
    #[error("cannot serve the liveness endpoint")]
    Liveness(#[source] std::io::Error),
}

/// Where and how an operator runs.
#[derive(Clone)]
#[must_use]
pub struct RunOptions {
    client: Client,
    namespaces: Vec<String>,
    liveness: Option<Endpoint>,
    stopping: CancellationToken,
    clock: Clock,
}

impl RunOptions {
    /// In the whole cluster of this client, until the future is dropped or [`RunOptions::stop_on`] says so.
    pub fn new(client: Client) -> Self {
        Self {
            client,
            namespaces: Vec::new(),
            liveness: None,
            stopping: CancellationToken::new(),
            clock: Clock::System,
        }
    }

    /// In these namespaces only; objects of cluster-scoped kinds are watched all the same. Without any, in all.
    pub fn namespaces(mut self, namespaces: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.namespaces = namespaces.into_iter().map(Into::into).collect();
        self
    }

    /// Stops cleanly when this token is cancelled.
    pub fn stop_on(mut self, token: CancellationToken) -> Self {
        self.stopping = token;
        self
    }

    /// Takes the time of day from tokio's clock, so that tests which pause the one pause the other.
    pub fn follow_tokio_time(mut self) -> Self {
        self.clock = Clock::tokio();
        self
    }

    /// Serves `/healthz` and `/readyz` there, and the URL's own path like `/healthz`, as in
    /// `http://0.0.0.0:8081/healthz`.
    ///
    /// # Errors
    /// If it is not an `http://` URL.
    pub fn liveness(self, url: &str) -> Result<Self, RunError> {
        let endpoint = url
            .parse()
            .map_err(|error| RunError::Malformed(format!("the liveness endpoint `{url}`: {error}")))?;
        Ok(self.probed_at(Some(endpoint)))
    }

    pub(crate) fn probed_at(mut self, endpoint: Option<Endpoint>) -> Self {
        self.liveness = endpoint;
        self
    }
}

impl Operator {
    /// An operator without handlers. `name` is that of its crate; log records of that crate are its own.
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        let mut settings = Settings::default();
        settings.posting.reporting_component.clone_from(&name);
        Self {
            name,
            settings,
            memo: OperatorMemo::new(()),
            registries: Vec::new(),
        }
    }

    /// Changes settings; the defaults are Kopf's.
    pub fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    /// The operator's memo: what the memos of objects are made from, or share, by
    /// [`Resource::with_memo`](crate::Resource::with_memo) (M-4). Without it, it is `()`.
    pub fn memo<O: Send + Sync + 'static>(mut self, memo: O) -> Self {
        self.memo = OperatorMemo::new(memo);
        self
    }

    /// Adds a kind with its handlers.
    pub fn resource<K: Kind>(mut self, resource: Resource<K>) -> Self {
        self.registries.push(resource.into_registry());
        self
    }

    /// Runs as a program: reads the command line, connects as `kubectl` or the pod's account would, logs to the
    /// standard error stream, and ends cleanly on SIGTERM and SIGINT.
    ///
    /// The exit code is 0 after a clean end, 1 after an error, 2 for a wrong command line.
    pub fn main(self) -> ExitCode {
        crate::cli::main(self)
    }

    /// Runs until it is stopped, which lets handlers finish; to drop the future ends everything at once.
    ///
    /// # Errors
    /// At once, before any request, if ids, settings or options contradict each other.
    pub async fn run(self, options: RunOptions) -> Result<(), RunError> {
        let plan = self.plan(options)?;
        running::run(plan).await.map_err(RunError::Liveness)
    }

    /// Starts in the background, for tests: time is tokio's, so that a paused clock pauses delays and timers.
    ///
    /// ```no_run
    /// # async fn test(operator: kopf_runtime::Operator, client: kopf_runtime::kube::Client) {
    /// let running = operator.start(client);
    /// // … create objects, wait for what the handlers do …
    /// running.stop().await;
    /// # }
    /// ```
    ///
    /// # Panics
    /// If the operator is not well-formed; outside of a tokio runtime.
    pub fn start(self, client: Client) -> Running {
        self.start_with(RunOptions::new(client).follow_tokio_time())
    }

    /// Starts in the background with options of one's own. On a paused clock they want
    /// [`follow_tokio_time`](RunOptions::follow_tokio_time), which [`start`](Self::start) sees to by itself.
    ///
    /// # Panics
    /// If the operator is not well-formed; outside of a tokio runtime.
    pub fn start_with(self, options: RunOptions) -> Running {
        let stopping = options.stopping.child_token();
        let plan = match self.plan(options.stop_on(stopping.clone())) {
            Ok(plan) => plan,
            Err(error) => panic!("{error}"),
        };
        let ready = plan.ready.clone();
        let task = tokio::spawn(async move {
            if let Err(error) = running::run(plan).await {
                panic!("cannot serve the liveness endpoint: {error}");
            }
        });
        Running { stopping, ready, task }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// `settings.networking.connect_timeout`, for whoever makes the client.
    pub(crate) fn connect_timeout(&self) -> Option<Duration> {
        self.settings.networking.connect_timeout
    }

    fn plan(self, options: RunOptions) -> Result<Plan, RunError> {
        let faults: Vec<String> = self
            .registries
            .iter()
            .flat_map(|registry| {
                registry
                    .faults
                    .iter()
                    .map(|fault| format!("{}: {fault}", registry.reference.kind))
            })
            .collect();
        if !faults.is_empty() {
            return Err(RunError::Malformed(faults.join("; ")));
        }
        for registry in &self.registries {
            registry.check().map_err(RunError::Malformed)?;
            let memos = registry.memos.check(&self.memo);
            memos.map_err(|error| RunError::Malformed(format!("{}: {error}", registry.reference.kind)))?;
        }
        // All versions of a kind bring the same objects.
        let mut kinds = std::collections::BTreeMap::new();
        for Registry { reference, .. } in &self.registries {
            let Some(version) = kinds.insert((reference.group, reference.plural), reference.version) else {
                continue;
            };
            let versions = if version == reference.version {
                String::new()
            } else {
                format!(", in the versions {version} and {}", reference.version)
            };
            let message = format!(
                "{} is registered twice{versions}; put all its handlers into one resource",
                reference.kind
            );
            return Err(RunError::Malformed(message));
        }
        let declarations = self.registries.iter().flat_map(|registry| &registry.indexes);
        let indexes = Indexes::declared(declarations.map(|handler| handler.index)).map_err(RunError::Malformed)?;
        self.settings.check().map_err(RunError::Malformed)?;
        let mut namespaces = options.namespaces;
        if namespaces.iter().any(String::is_empty) {
            return Err(RunError::Malformed("the name of a namespace is empty".to_owned()));
        }
        // Two streams of one namespace would handle each object twice.
        namespaces.sort();
        namespaces.dedup();
        Ok(Plan {
            crate_name: self.name.replace('-', "_"),
            registries: self.registries,
            settings: self.settings,
            memo: self.memo.memo,
            indexes,
            client: options.client,
            namespaces,
            liveness: options.liveness,
            clock: options.clock,
            stopping: options.stopping,
            ready: CancellationToken::new(),
        })
    }
}

/// An operator that runs in the background; dropping it stops it without waiting.
#[derive(Debug)]
#[must_use = "dropping it stops the operator"]
pub struct Running {
    stopping: CancellationToken,
    ready: CancellationToken,
    task: tokio::task::JoinHandle<()>,
}

impl Running {
    /// Waits until the operator watches, and has seen, every object that was there when it started (TEST-I1); or
    /// until it stops.
    ///
    /// Their handlers may still be at work. As long as a kind is not served, or its list is refused, this waits.
    pub async fn ready(&self) {
        tokio::select! {
            () = self.ready.cancelled() => {}
            () = self.stopping.cancelled() => {}
        }
    }

    /// Stops the operator and waits for its handlers to finish.
    ///
    /// # Panics
    /// If the operator did.
    pub async fn stop(mut self) {
        self.stopping.cancel();
        // A panic of the operator itself is the caller's business.
        if let Err(error) = (&mut self.task).await
            && let Ok(panic) = error.try_into_panic()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopping.cancel();
    }
}

#[cfg(test)]
mod leftovers;
