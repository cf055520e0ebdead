//! The operator on its server, watched: log lines are shown as they come while something is waited for.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use kopf_gen::model::{Operator, Reference};
use kopf_testserver::Server;
use tokio::time::timeout;

use super::journal::{Journal, Line};
use super::process::Process;
use super::record::{ObjectName, Record};
use super::screen::{Screen, Tone};

/// How often the server is looked at while the log is silent.
const TICK: Duration = Duration::from_millis(40);

/// How long the operator may take until it watches.
const STARTUP: Duration = Duration::from_secs(30);

/// How many equal lines of one step are shown; a quick timer would bury everything else.
const REPEATS: usize = 3;

/// The operator ended although nobody asked it to.
#[derive(Debug, thiserror::Error)]
#[error("the operator ended by itself ({0})")]
pub(super) struct Gone(String);

/// All that takes part.
pub(super) struct Stage<'a> {
    pub(super) operator: &'a Operator,
    pub(super) server: &'a Server,
    pub(super) process: Process,
    pub(super) journal: Journal<'a>,
    pub(super) screen: Screen,
    /// The object that the present section is about.
    pub(super) current: Option<ObjectName>,
    /// How often each line came in this step; nothing if all are shown.
    repeats: Option<BTreeMap<(String, String), usize>>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(operator: &'a Operator, server: &'a Server, process: Process, screen: Screen) -> Self {
        Self {
            operator,
            server,
            process,
            journal: Journal::new(operator),
            screen,
            current: None,
            repeats: None,
        }
    }

    /// Waits until every kind is watched, and says whether it is: what happens from then on reaches the operator at once.
    pub(super) async fn started(&mut self) -> Result<bool, Gone> {
        let operator = self.operator;
        let all = |server: &Server, _: &Journal<'_>| {
            let requests = server.audit();
            operator.resources.iter().all(|resource| {
                let path = list_path(&resource.reference);
                let mut requests = requests.iter();
                requests.any(|request| request.path == path && request.query.contains("watch=true"))
            })
        };
        let started = self.wait(STARTUP, all).await?;
        if !started {
            let text = format!("the operator did not start to watch within {} s", STARTUP.as_secs());
            self.journal.fail(None, &text);
        }
        Ok(started)
    }

    /// Ends the operator, if it is still there, and gives all that is known of it.
    pub(super) async fn stop(mut self) -> anyhow::Result<Journal<'a>> {
        let fault = self.process.stop().await?;
        while let Some(line) = self.process.line().await {
            self.take(&line);
        }
        if let Some(fault) = fault {
            self.journal.fail(None, &fault);
        }
        Ok(self.journal)
    }

    /// Begins a step.
    pub(super) fn step(&mut self, name: &str, details: &str) {
        self.screen.step(name, details);
        self.repeats = Some(BTreeMap::new());
    }

    /// Shows all lines from now on, however often they come.
    pub(super) fn show_all(&mut self) {
        self.repeats = None;
    }

    /// Ends a step: says what was not shown of it.
    pub(super) fn end_step(&mut self) {
        for ((label, _), times) in self.repeats.take().unwrap_or_default() {
            if times > REPEATS {
                self.screen
                    .row(&label, &format!("… and {} more", times - REPEATS), Tone::Quiet);
            }
        }
    }

    /// Shows the log until something is true, and says whether it is; at most for some time.
    pub(super) async fn wait(
        &mut self,
        limit: Duration,
        mut until: impl FnMut(&Server, &Journal<'_>) -> bool,
    ) -> Result<bool, Gone> {
        let begin = Instant::now();
        loop {
            if until(self.server, &self.journal) {
                return Ok(true);
            }
            if begin.elapsed() >= limit {
                return Ok(false);
            }
            match timeout(TICK, self.process.line()).await {
                Ok(Some(line)) => self.take(&line),
                Ok(None) => return Err(Gone(self.process.ended().await)),
                Err(_) => {}
            }
        }
    }

    fn take(&mut self, line: &str) {
        match Record::parse(line) {
            Some(record) => {
                if let Some(line) = self.journal.take(&record) {
                    self.show(&line);
                }
            }
            // A panic, or whatever else the program prints.
            None => self.screen.row("operator", line, Tone::Careful),
        }
    }

    fn show(&mut self, line: &Line) {
        let text = match &line.object {
            Some(object) if self.current.as_ref() != Some(object) => format!("{}: {}", object.path(), line.text),
            _ => line.text.clone(),
        };
        if let Some(repeats) = &mut self.repeats {
            let times = repeats.entry((line.label.clone(), text.clone())).or_default();
            *times += 1;
            if *times > REPEATS {
                return;
            }
        }
        self.screen.row(&line.label, &text, line.tone);
    }
}

/// Where the objects of a kind are listed, over all namespaces.
fn list_path(reference: &Reference) -> String {
    let root = if reference.group.is_empty() { "/api" } else { "/apis" };
    format!("{root}/{}/{}", reference.api_version(), reference.plural)
}
