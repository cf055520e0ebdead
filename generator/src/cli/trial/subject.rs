//! The life of one sample: created, edited, watched, deleted.

use std::time::{Duration, Instant};

use kopf_gen::matching::{is_for, sub_handlers};
use kopf_gen::model::{Reference, Resource as Kind, Sample};
use kopf_testserver::{Resource, Server, Status};
use serde_json::{Value, json};

use super::journal::{Journal, label};
use super::record::ObjectName;
use super::screen::{Tone, blank, duration};
use super::settling::{self, Standing, standing};
use super::stage::{Gone, Stage};
use super::waiting::{self, Expected};
use super::{events, flow};

/// How long one step may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How long an object must be left alone until nothing more is expected.
const QUIET: Duration = Duration::from_millis(800);

/// How long an object that is settled, but written again and again, is looked at: timers may do that.
const BUSY: Duration = Duration::from_secs(4);

/// How long the log may be behind the server.
const LAG: Duration = Duration::from_millis(400);

const EVENTS: Resource<'_> = Resource::new("", "v1", "events");
const NAMESPACES: Resource<'_> = Resource::new("", "v1", "namespaces");

/// A sample on its stage.
pub(super) struct Subject<'a, 's> {
    stage: &'s mut Stage<'a>,
    kind: &'a Kind,
    sample: &'a Sample,
    name: ObjectName,
    uid: Value,
    /// The status as it was shown last.
    status: Value,
}

impl<'a, 's> Subject<'a, 's> {
    pub(super) fn new(stage: &'s mut Stage<'a>, kind: &'a Kind, sample: &'a Sample) -> Self {
        let mut name = ObjectName::of(&sample.object);
        if kind.reference.namespaced {
            name.namespace.get_or_insert_with(|| "default".to_owned());
        }
        stage.current = Some(name.clone());
        Self {
            stage,
            kind,
            sample,
            name,
            uid: Value::Null,
            status: Value::Null,
        }
    }

    /// The whole life; an object that is kept is not deleted.
    pub(super) async fn live(mut self, keep: bool) -> Result<(), Gone> {
        self.stage
            .screen
            .heading(&format!("{} {}", self.name.kind, self.name.path()), "");
        if self.create().await? {
            for patch in &self.sample.then {
                self.edit(patch).await?;
            }
            self.background().await?;
            if !keep {
                self.delete().await?;
            }
        }
        self.events().await?;
        blank();
        Ok(())
    }

    async fn create(&mut self) -> Result<bool, Gone> {
        self.stage.step("create", "");
        let answer = self
            .create_namespace()
            .and_then(|()| self.stage.server.apply(self.sample.object.clone()));
        let object = match answer {
            Ok(object) => object,
            Err(status) => {
                self.refused("the sample", &status);
                return Ok(false);
            }
        };
        self.uid = object["metadata"]["uid"].clone();
        let calls = self.sub_calls(&[&object]);
        self.settle(&calls).await?;
        Ok(true)
    }

    /// A sample may live in a namespace of its own.
    fn create_namespace(&self) -> Result<(), Status> {
        match &self.name.namespace {
            Some(name) if self.stage.server.get(NAMESPACES, None, name).is_none() => {
                let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
                self.stage.server.apply(namespace).map(drop)
            }
            _ => Ok(()),
        }
    }

    async fn edit(&mut self, patch: &Value) -> Result<(), Gone> {
        self.stage.step("edit", &flow::flow(patch));
        let before = self.object().unwrap_or_default();
        match self.send(patch) {
            Ok(()) => {
                let after = self.object().unwrap_or_default();
                let calls = self.sub_calls(&[&after, &before]);
                self.settle(&calls).await
            }
            Err(status) => {
                self.refused("the edit", &status);
                Ok(())
            }
        }
    }

    /// Sends a merge patch; the status has an endpoint of its own where the kind says so.
    fn send(&self, patch: &Value) -> Result<(), Status> {
        let (server, namespace, name) = (self.stage.server, self.name.namespace.as_deref(), &self.name.name);
        let resource = resource(&self.kind.reference);
        let mut rest = patch.clone();
        let status = match rest.as_object_mut() {
            Some(rest) if self.kind.reference.status_subresource => rest.remove("status"),
            _ => None,
        };
        if rest.as_object().is_none_or(|rest| !rest.is_empty()) {
            server.patch(resource, namespace, name, rest)?;
        }
        if let Some(status) = status {
            server.patch_status(resource, namespace, name, json!({"status": status}))?;
        }
        Ok(())
    }

    /// The sub-handlers that a change has, with the calls that they had before.
    fn sub_calls(&self, sides: &[&Value]) -> Vec<(String, usize)> {
        let ids = sub_handlers(self.kind, sides).into_iter();
        ids.map(|id| {
            let calls = self.stage.journal.calls(&self.name, &id);
            (id, calls)
        })
        .collect()
    }

    /// Waits until the operator is done with the object and has called these sub-handlers, and shows its status.
    async fn settle(&mut self, calls: &[(String, usize)]) -> Result<(), Gone> {
        let (kind, operator) = (self.kind, self.stage.operator);
        let name = self.name.clone();
        let mut why = String::new();
        let (mut version, mut written, mut settled) = (Value::Null, Instant::now(), None);
        let is_settled = |server: &Server, _: &Journal<'_>| {
            let Some(object) = get(server, kind, &name) else {
                return true;
            };
            if object["metadata"]["resourceVersion"] != version {
                version = object["metadata"]["resourceVersion"].clone();
                written = Instant::now();
            }
            match standing(operator, kind, &object) {
                Standing::Settled => {
                    let since = settled.get_or_insert_with(Instant::now);
                    written.elapsed() >= QUIET || since.elapsed() >= BUSY
                }
                Standing::Waiting(reason) => {
                    (why, settled) = (reason, None);
                    false
                }
            }
        };
        if !self.stage.wait(LIMIT, is_settled).await? {
            let text = format!("the operator was not done with it within {}: {why}", duration(LIMIT));
            self.fault(&text);
        }
        let name = self.name.clone();
        let is_missing = |journal: &Journal<'_>, (id, before): &(String, usize)| journal.calls(&name, id) <= *before;
        let are_called = |_: &Server, journal: &Journal<'_>| !calls.iter().any(|one| is_missing(journal, one));
        self.stage.wait(LAG, are_called).await?;
        for one in calls {
            if is_missing(&self.stage.journal, one) {
                let label = label(self.kind, &one.0);
                self.fault(&format!("sub-handler {label} was not called"));
            }
        }
        self.stage.end_step();
        self.show_status();
        Ok(())
    }

    fn object(&self) -> Option<Value> {
        get(self.stage.server, self.kind, &self.name)
    }

    fn show_status(&mut self) {
        let mut object = self.object().unwrap_or_default();
        let status = object["status"].take();
        let empty = status.is_null() || status.as_object().is_some_and(serde_json::Map::is_empty);
        let (text, tone) = match (empty, status == self.status) {
            (true, _) => ("none".to_owned(), Tone::Quiet),
            (false, true) => ("as before".to_owned(), Tone::Quiet),
            (false, false) => (flow::lines(&status), Tone::Plain),
        };
        self.stage.screen.row("status", &text, tone);
        self.status = status;
    }

    /// Waits for the calls of timers, daemons and indexes, within reason.
    async fn background(&mut self) -> Result<(), Gone> {
        let object = self.object().unwrap_or_default();
        let awaited: Vec<(&str, &str, Expected)> = waiting::all(self.kind)
            .filter(|(_, entry, _)| is_for(entry, &[&object]))
            .map(|(list, entry, expected)| (list, entry.full_id.as_str(), expected))
            .collect();
        let name = self.name.clone();
        let are_called = |_: &Server, journal: &Journal<'_>| {
            let mut awaited = awaited.iter();
            awaited.all(|(_, id, expected)| journal.calls(&name, id) >= expected.calls)
        };
        // Most daemons and indexes are called as soon as the object is there.
        let are_done = are_called(self.stage.server, &self.stage.journal);
        let has_note = awaited.iter().any(|(_, _, expected)| expected.note.is_some());
        let limit = awaited.iter().map(|(_, _, expected)| expected.within).max();
        let (Some(limit), true) = (limit, has_note || !are_done) else {
            return Ok(());
        };
        self.stage.step(&lists(&awaited), "");
        self.stage.wait(limit, are_called).await?;
        self.stage.wait(LAG, |_, _| false).await?;
        self.stage.end_step();
        for (list, id, expected) in &awaited {
            let label = label(self.kind, id);
            let (calls, wanted) = (self.stage.journal.calls(&name, id), expected.calls);
            if calls < wanted {
                let limit = duration(limit);
                self.fault(&format!(
                    "{list} {label} was called {calls} instead of {wanted} times in {limit}"
                ));
            }
            if let Some(note) = &expected.note {
                self.stage.screen.row(&label, note, Tone::Quiet);
            }
        }
        self.show_status();
        Ok(())
    }

    async fn delete(&mut self) -> Result<(), Gone> {
        self.stage.step("delete", "");
        let (server, kind, name) = (self.stage.server, self.kind, self.name.clone());
        let deleted = server.delete(resource(&kind.reference), name.namespace.as_deref(), &name.name);
        if let Err(status) = deleted {
            self.refused("the deletion", &status);
            return Ok(());
        }
        let own = self.stage.operator.persistence.finalizer.clone();
        let begin = Instant::now();
        let is_over = |server: &Server, _: &Journal<'_>| {
            let is_held = |object: &Value| settling::foreign_finalizers(object, &own).is_some();
            get(server, kind, &name).is_none_or(|object| begin.elapsed() >= QUIET && is_held(&object))
        };
        self.stage.wait(LIMIT, is_over).await?;
        self.stage.wait(LAG, |_, _| false).await?;
        self.stage.end_step();
        let Some(object) = self.object() else {
            self.stage.screen.row("object", "is gone", Tone::Plain);
            for id in self.stage.journal.running(&self.name) {
                self.fault(&format!("daemon {} goes on without its object", label(self.kind, &id)));
            }
            return Ok(());
        };
        if let Some(others) = settling::foreign_finalizers(&object, &own) {
            let text = format!("stays, held by {}", others.join(", "));
            self.stage.screen.row("object", &text, Tone::Careful);
        } else {
            let held = flow::flow(&object["metadata"]["finalizers"]);
            let text = format!("the object was not gone within {}, held by {held}", duration(LIMIT));
            self.fault(&text);
        }
        Ok(())
    }

    async fn events(&mut self) -> Result<(), Gone> {
        if self.uid.is_null() {
            return Ok(());
        }
        self.stage.wait(LAG, |_, _| false).await?;
        let mut events = self.stage.server.list(EVENTS, None);
        events.retain(|event| event["involvedObject"]["uid"] == self.uid);
        self.stage.step("events", "");
        let screen = self.stage.screen;
        let rows = events::table(&events);
        if rows.is_empty() {
            let advice = if self.stage.operator.posting.loggers {
                "none"
            } else {
                "none; with settings.posting.loggers: true, log lines become events"
            };
            screen.line(advice, Tone::Quiet);
        }
        for row in rows {
            let is_warning = row.starts_with("Warning");
            screen.line(&row, if is_warning { Tone::Careful } else { Tone::Plain });
        }
        Ok(())
    }

    fn refused(&mut self, what: &str, status: &Status) {
        let text = format!("the API server refused {what}: {status}");
        self.fault(&text);
        self.stage.end_step();
    }

    fn fault(&mut self, text: &str) {
        self.stage.screen.row("failed", text, Tone::Bad);
        self.stage.journal.fail(Some(&self.name), text);
    }
}

/// The lists that entries are from, in words.
fn lists(entries: &[(&str, &str, Expected)]) -> String {
    let names = [("timer", "timers"), ("daemon", "daemons"), ("index", "indexes")];
    let names = names
        .iter()
        .filter(|(one, _)| entries.iter().any(|(list, _, _)| list == one));
    names.map(|(_, many)| *many).collect::<Vec<_>>().join(" and ")
}

fn resource(reference: &Reference) -> Resource<'_> {
    Resource::new(&reference.group, &reference.version, &reference.plural)
}

fn get(server: &Server, kind: &Kind, name: &ObjectName) -> Option<Value> {
    server.get(resource(&kind.reference), name.namespace.as_deref(), &name.name)
}
