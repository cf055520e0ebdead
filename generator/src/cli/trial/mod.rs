//! A trial of an operator: generated, built, and run on an embedded API server with the samples of its spec.

mod build;
mod cache;
mod events;
mod flow;
mod journal;
mod keeping;
mod process;
mod progress;
mod record;
mod screen;
mod settling;
mod stage;
mod subject;
mod waiting;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use kopf_gen::fileset::FileSet;
use kopf_gen::model::RuntimeSource;
use kopf_gen::{Generated, Options};
use kopf_testserver::Server;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};

use self::cache::Cache;
use self::journal::Journal;
use self::keeping::{Kubeconfig, keep};
use self::process::Process;
use self::progress::Meter;
use self::screen::{Screen, Tone, blank, count};
use self::stage::{Gone, Stage};
use self::subject::Subject;
use super::{Status, output};

/// What is tried, and how.
pub(crate) struct Trial<'a> {
    pub(crate) spec: &'a Path,
    pub(crate) text: &'a str,
    pub(crate) keep: bool,
    pub(crate) generated: Generated,
}

/// Tries it.
pub(crate) fn run(trial: &Trial<'_>) -> anyhow::Result<Status> {
    let cache = Cache::locate()?;
    let screen = Screen::new();
    let operator = &trial.generated.operator;
    screen.heading(&operator.name, &trial.spec.display().to_string());
    let lock = cache.lock(|| output::tell("  waiting for another try to be built"))?;
    let files = generate(trial, &cache, screen)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the async runtime")?;
    runtime.block_on(async {
        let begin = Instant::now();
        let project = cache.project(&operator.name);
        if !cache.target().exists() {
            output::tell("  the first build takes a few minutes, later ones take seconds");
        }
        let mut meter = Meter::new(format!("building {}", operator.name));
        let built = tokio::select! {
            built = build::build(&project, cache.target(), &operator.crate_name, &mut meter) => Some(built),
            () = interrupted() => None,
        };
        // Else its line would stand before what is said next.
        drop(meter);
        let binary = match built {
            Some(Ok(binary)) => binary,
            Some(Err(failure)) => return Ok(not_built(screen, failure)),
            None => return Ok(given_up()),
        };
        screen.done("built", &format!("in {}", screen::duration(rounded(begin.elapsed()))));
        perform(trial, &cache, screen, &files, &binary, lock).await
    })
}

/// Writes the project, and the runtime beside it; gives the files of the project.
fn generate(trial: &Trial<'_>, cache: &Cache, screen: Screen) -> anyhow::Result<FileSet> {
    let operator = &trial.generated.operator;
    let runtime = match &operator.runtime {
        RuntimeSource::Vendored => {
            cache.write_runtime(&trial.generated.files)?;
            Cache::runtime_of_project().to_owned()
        }
        RuntimeSource::Path(path) => {
            let path = trial.spec.parent().unwrap_or(Path::new("")).join(path);
            let found = path.canonicalize();
            let found = found.with_context(|| format!("cannot find the runtime in {}", path.display()))?;
            let text = found.to_str().map(str::to_owned);
            text.with_context(|| format!("{} is not UTF-8", found.display()))?
        }
    };
    let options = Options::default().runtime(RuntimeSource::Path(runtime));
    let name = trial.spec.display().to_string();
    let generated = kopf_gen::generate(&name, trial.text, &options);
    let files = generated
        .map_err(|faults| anyhow!("the spec is good at first and bad at second sight:\n{faults}"))?
        .files;
    cache.write_project(&operator.name, trial.text, &files)?;
    let folder = cache::shown(&cache.project(&operator.name));
    let number = count(files.iter().count(), "file");
    screen.done("generated", &format!("{number} in {folder}"));
    Ok(files)
}

/// Runs the operator on its samples.
async fn perform(
    trial: &Trial<'_>,
    cache: &Cache,
    mut screen: Screen,
    files: &FileSet,
    binary: &Path,
    lock: File,
) -> anyhow::Result<Status> {
    let operator = &trial.generated.operator;
    let server = Server::new();
    for definition in definitions(files)? {
        let name = definition["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        server
            .apply(definition)
            .with_context(|| format!("the API server refused the definition of {name}"))?;
    }
    let listening = server
        .listen("127.0.0.1:0")
        .await
        .context("cannot listen on 127.0.0.1")?;
    let kubeconfig = Kubeconfig::write(cache, &operator.name, &listening)?;
    screen.done("serving", &format!("a Kubernetes API at {}", listening.url()));
    let process = Process::start(binary, kubeconfig.path())?;
    drop(lock);

    screen.fit_labels(journal::labels(operator));
    let mut stage = Stage::new(operator, &server, process, screen);
    blank();
    let ended = tokio::select! {
        played = play(&mut stage, trial.keep) => match played {
            Ok(()) if trial.keep => tokio::select! {
                kept = keep(&mut stage, &kubeconfig) => kept.err(),
                () = interrupted() => None,
            },
            played => played.err(),
        },
        () = interrupted() => {
            stage.stop().await?;
            return Ok(given_up());
        }
    };
    if let Some(gone) = &ended {
        stage.journal.fail(None, &gone.to_string());
    }
    let journal = stage.stop().await?;
    if trial.keep || ended.is_some() {
        blank();
    }
    Ok(summary(trial, screen, &journal))
}

/// Every sample, one after the other.
async fn play(stage: &mut Stage<'_>, keep: bool) -> Result<(), Gone> {
    if !stage.started().await? {
        return Ok(());
    }
    let operator = stage.operator;
    for resource in &operator.resources {
        for sample in &resource.samples {
            Subject::new(stage, resource, sample).live(keep).await?;
        }
        if resource.samples.is_empty() {
            stage.screen.heading(
                &resource.reference.kind,
                "has no samples in the spec, so nothing is tried",
            );
            blank();
        }
    }
    Ok(())
}

fn summary(trial: &Trial<'_>, screen: Screen, journal: &Journal<'_>) -> Status {
    let resources = trial.generated.operator.resources.iter();
    let objects = count(resources.map(|resource| resource.samples.len()).sum(), "object");
    let calls = count(journal.all_calls(), "handler call");
    let done = format!("{objects}, {calls}");
    let failures = journal.failures();
    if failures.is_empty() {
        screen.verdict(true, &format!("done: {done}, no failures"));
        if journal.all_calls() == 0 {
            output::warn("no handler was called: give `samples` an object that the filters of a handler let through");
        }
        let next = format!("  make it yours: kopf-gen new {}", trial.spec.display());
        output::say(&screen.paint(&next, Tone::Quiet));
        return Status::Done;
    }
    screen.verdict(false, &format!("failed: {done}, {}", count(failures.len(), "failure")));
    for failure in &failures {
        output::refuse(failure);
    }
    Status::HandlerFailed
}

fn not_built(screen: Screen, failure: build::Failure) -> Status {
    screen.failed("built", "no");
    if let build::Failure::Refused { messages, .. } = &failure
        && !messages.is_empty()
    {
        output::tell(messages.trim_end());
    }
    output::error(&failure.into());
    Status::BuildFailed
}

fn given_up() -> Status {
    output::refuse("interrupted");
    Status::Failed
}

/// Ends with the first signal that asks for it.
async fn interrupted() {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [Ok(mut interrupt), Ok(mut terminate), Ok(mut hangup)] = kinds.map(signal) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// The custom resource definitions among the manifests.
fn definitions(files: &FileSet) -> anyhow::Result<Vec<Value>> {
    let manifests = files.iter().filter(|(path, file)| {
        path.starts_with("deploy/crds/") && file.contents.contains("\nkind: CustomResourceDefinition\n")
    });
    manifests
        .map(|(path, file)| serde_yaml::from_str(&file.contents).with_context(|| format!("cannot read {path}")))
        .collect()
}

/// Tenths of a second, and only seconds where there are many.
fn rounded(duration: Duration) -> Duration {
    let step = if duration < Duration::from_secs(10) { 100 } else { 1000 };
    Duration::from_millis(u64::try_from(duration.as_millis()).unwrap_or_default() / step * step)
}
