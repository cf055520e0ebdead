//! What has happened so far, as the operator's log tells it: which handler said what, how often each was called, and
//! what has failed.

use std::collections::{BTreeMap, BTreeSet};

use kopf_gen::matching::sub_handlers;
use kopf_gen::model::{Operator, Resource};

use super::record::{ObjectName, Record, Severity};
use super::screen::Tone;

/// A line to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) object: Option<ObjectName>,
    /// The handler, or what else speaks; may be empty.
    pub(super) label: String,
    pub(super) text: String,
    pub(super) tone: Tone,
}

/// An object, and the full id of one of its handlers.
type Call = (ObjectName, String);

/// The log so far.
#[derive(Debug)]
pub(super) struct Journal<'a> {
    operator: &'a Operator,
    calls: BTreeMap<Call, usize>,
    /// The daemons that have begun and not ended.
    running: BTreeSet<Call>,
    /// What has not recovered from its last failure.
    retried: BTreeMap<Call, String>,
    failures: Vec<String>,
}

impl<'a> Journal<'a> {
    pub(super) fn new(operator: &'a Operator) -> Self {
        Self {
            operator,
            calls: BTreeMap::new(),
            running: BTreeSet::new(),
            retried: BTreeMap::new(),
            failures: Vec::new(),
        }
    }

    /// Takes in a record; gives the line to show, if there is anything to see in it.
    pub(super) fn take(&mut self, record: &Record) -> Option<Line> {
        let is_own = record.logger.split("::").next() == Some(&self.operator.crate_name.replace('-', "_"));
        let mut text = record.text();
        let mut failure = text.clone();
        let mut label = String::new();
        match (&record.object, &record.handler) {
            (None, _) => "operator".clone_into(&mut label),
            (Some(_), None) => {}
            (Some(object), Some(id)) => {
                let call = (object.clone(), id.clone());
                label = self.label(&call);
                if is_own {
                    self.note(call);
                } else if let Some(outcome) = record.outcome() {
                    outcome.clone_into(&mut text);
                    failure = format!("handler {label} {outcome}");
                    self.retried.remove(&call);
                    self.running.remove(&call);
                    if record.severity == Severity::Warn {
                        self.retried.insert(call, about(Some(object), &failure));
                    }
                }
            }
        }
        let tone = match record.severity {
            Severity::Info if is_own && record.object.is_some() => Tone::Plain,
            Severity::Debug | Severity::Info => return None,
            Severity::Warn => Tone::Careful,
            Severity::Error => Tone::Bad,
        };
        // Handlers wait for an object that does not fit, perhaps for ever.
        if tone == Tone::Bad || !is_own && text.contains("does not fit its type") {
            self.fail(record.object.as_ref(), &failure);
        }
        Some(Line {
            object: record.object.clone(),
            label,
            text,
            tone,
        })
    }

    /// The handlers are stubs as generated: each logs one line a call, and daemons another one when they end.
    fn note(&mut self, call: Call) {
        if self.running.remove(&call) {
            return;
        }
        if self.is_daemon(&call) {
            self.running.insert(call.clone());
        }
        *self.calls.entry(call).or_default() += 1;
    }

    fn is_daemon(&self, (object, id): &Call) -> bool {
        let resources = self.operator.resources.iter();
        resources
            .filter(|resource| resource.reference.kind == object.kind)
            .any(|resource| resource.daemons.iter().any(|daemon| daemon.entry.full_id == *id))
    }

    /// The daemons of an object that have begun and not ended, by their full ids.
    pub(super) fn running(&self, object: &ObjectName) -> Vec<String> {
        let of_it = self.running.iter().filter(|(other, _)| other == object);
        of_it.map(|(_, id)| id.clone()).collect()
    }

    /// Notes a failure.
    pub(super) fn fail(&mut self, object: Option<&ObjectName>, text: &str) {
        self.failures.push(about(object, text));
    }

    /// How often a handler was called for an object, by its full id.
    pub(super) fn calls(&self, object: &ObjectName, id: &str) -> usize {
        let call = (object.clone(), id.to_owned());
        self.calls.get(&call).copied().unwrap_or_default()
    }

    /// How often any handler was called.
    pub(super) fn all_calls(&self) -> usize {
        self.calls.values().sum()
    }

    /// What has failed for good, and what had not recovered so far.
    pub(super) fn failures(&self) -> Vec<String> {
        self.failures.iter().chain(self.retried.values()).cloned().collect()
    }

    fn label(&self, (object, id): &Call) -> String {
        let mut resources = self.operator.resources.iter();
        let resource = resources.find(|resource| resource.reference.kind == object.kind);
        resource.map_or_else(|| id.clone(), |resource| label(resource, id))
    }
}

fn about(object: Option<&ObjectName>, text: &str) -> String {
    match object {
        Some(object) => format!("{} {}: {text}", object.kind, object.path()),
        None => text.to_owned(),
    }
}

/// What all handlers are called on the screen, and the sub-handlers of the samples.
pub(super) fn labels(operator: &Operator) -> impl Iterator<Item = String> {
    let resources = operator.resources.iter();
    resources.flat_map(|resource| {
        let handlers = ids(resource).map(|(_, id)| label(resource, id));
        let samples = resource.samples.iter();
        let subs = samples.flat_map(|sample| sub_handlers(resource, &[&sample.object]));
        handlers.chain(subs.map(|id| label(resource, &id)))
    })
}

/// What a handler is called on the screen: by its id in the spec, or in full where others of the kind share that.
pub(super) fn label(resource: &Resource, id: &str) -> String {
    if let Some(handler) = handler_of(resource, id) {
        return label(resource, handler) + &id[handler.len()..];
    }
    let short = ids(resource)
        .find(|(_, full)| *full == id)
        .map_or(id, |(short, _)| short);
    let is_shared = ids(resource).any(|(other, full)| other == short && full != id);
    if is_shared { id } else { short }.to_owned()
}

/// The full id of the handler that a sub-handler belongs to.
fn handler_of<'r>(resource: &'r Resource, id: &str) -> Option<&'r str> {
    if ids(resource).any(|(_, full)| full == id) {
        return None;
    }
    let handlers = resource.handlers.iter().map(|handler| handler.entry.full_id.as_str());
    let above = handlers.filter(|full| id.strip_prefix(full).is_some_and(|rest| rest.starts_with('/')));
    above.max_by_key(|full| full.len())
}

/// The ids of a kind's handlers: in the spec, and in full.
fn ids(resource: &Resource) -> impl Iterator<Item = (&str, &str)> {
    let entries = resource.entries();
    entries.map(|entry| (entry.id.as_str(), entry.full_id.as_str()))
}

#[cfg(test)]
mod tests {
    use kopf_gen::{Options, generate};
    use serde_json::json;

    use super::*;

    const SPEC: &str = "
apiVersion: kopf-gen.dev/v1alpha1
kind: OperatorSpec
metadata: {name: minder}
resources:
  - apiVersion: demo.example.com/v1
    kind: Cart
    spec: {size: integer, color: string}
    handlers:
      - {type: create, fn: fill}
      - {type: create, fn: stack, id: fill/top}
      - {type: field, fn: resize, field: spec.size}
      - {type: field, fn: note, field: spec.size}
      - {type: field, fn: note, field: spec.color}
    daemons:
      - {fn: guard, cancellationTimeout: 5s}
";

    fn operator() -> Operator {
        let generated = generate("operator.yaml", SPEC, &Options::default());
        generated.expect("the spec is good").operator
    }

    /// What is shown of a record about one and the same cart.
    fn shown(journal: &mut Journal<'_>, severity: &str, logger: &str, handler: Option<&str>, message: &str) -> String {
        let line = json!({
            "object": {"kind": "Cart", "namespace": "default", "name": "c"},
            "severity": severity, "logger": logger, "handler": handler, "message": message,
        });
        let line = journal.take(&Record::parse(&line.to_string()).expect("a record"));
        line.map_or_else(String::new, |line| format!("{}: {}", line.label, line.text))
    }

    #[test]
    fn ids_are_shown_as_in_the_spec_unless_several_handlers_share_one() {
        let operator = operator();
        let label = |id| label(&operator.resources[0], id);
        for id in [
            "fill",
            "fill/top",
            "note/spec.size",
            "note/spec.color",
            "strange/spec.size",
        ] {
            assert_eq!(label(id), id);
        }
        assert_eq!(label("resize/spec.size"), "resize");
        assert_eq!(label("resize/spec.size/3"), "resize/3");
        assert_eq!(label("note/spec.size/3/4"), "note/spec.size/3/4");
    }

    #[test]
    fn a_line_of_a_handler_is_a_call() {
        let operator = operator();
        let mut journal = Journal::new(&operator);
        let (own, id) = ("minder::handlers::cart", "resize/spec.size");
        let succeeded = "Handler resize/spec.size succeeded";
        assert_eq!(shown(&mut journal, "info", own, Some(id), "Resized"), "resize: Resized");
        assert_eq!(shown(&mut journal, "info", "kopf_runtime", Some(id), succeeded), "");
        assert_eq!(shown(&mut journal, "info", own, Some("fill"), "Filled"), "fill: Filled");
        assert_eq!(shown(&mut journal, "info", "kopf_runtime::cli", None, "Stopped"), "");
        let kept = shown(&mut journal, "warn", "kopf_runtime::actions", Some(id), "Not kept");
        assert_eq!(kept, "resize: Not kept");
        let cart = ObjectName::of(&json!({"kind": "Cart", "metadata": {"namespace": "default", "name": "c"}}));
        assert_eq!(journal.calls(&cart, id), 1);
        assert_eq!(journal.all_calls(), 2);
        assert_eq!(journal.failures(), Vec::<String>::new());
    }

    #[test]
    fn a_daemon_runs_from_its_first_line_to_its_second() {
        let operator = operator();
        let mut journal = Journal::new(&operator);
        let cart = ObjectName::of(&json!({"kind": "Cart", "metadata": {"namespace": "default", "name": "c"}}));
        let own = "minder::handlers::cart";
        for (text, running, calls) in [
            ("Looking after Cart c", Some("guard"), 1),
            ("Stopping beside Cart c", None, 1),
            ("Looking after Cart c", Some("guard"), 2),
        ] {
            shown(&mut journal, "info", own, Some("guard"), text);
            assert_eq!(journal.running(&cart).first().map(String::as_str), running, "{text}");
            assert_eq!(journal.all_calls(), calls, "{text}");
        }
        let failed = "Handler guard failed for good: broken";
        shown(&mut journal, "error", "kopf_runtime::failures", Some("guard"), failed);
        assert_eq!(journal.running(&cart), Vec::<String>::new());
    }

    #[test]
    fn failures_that_are_made_good_are_forgotten() {
        let operator = operator();
        let mut journal = Journal::new(&operator);
        let mut shown = |severity: &str, message: &str| {
            let text = shown(&mut journal, severity, "kopf_runtime::failures", Some("fill"), message);
            (text, journal.failures())
        };
        let (retried, failed) = ("failed and is tried again in 1 s: busy", "failed for good: broken");
        let failure = |text: &str| vec![format!("Cart default/c: handler fill {text}")];
        assert_eq!(
            shown("warn", &format!("Handler fill {retried}")),
            (format!("fill: {retried}"), failure(retried))
        );
        assert_eq!(shown("info", "Handler fill succeeded"), (String::new(), Vec::new()));
        assert_eq!(
            shown("error", &format!("Handler fill {failed}")),
            (format!("fill: {failed}"), failure(failed))
        );
    }

    #[test]
    fn errors_and_misfits_count_as_failures() {
        let operator = operator();
        let mut journal = Journal::new(&operator);
        let text = "The object does not fit its type at spec.size: expected i64";
        assert_eq!(
            shown(&mut journal, "warn", "kopf_runtime::reactor", None, text),
            format!(": {text}")
        );
        let lost = r#"{"severity":"error","logger":"kopf_runtime::cli","message":"cannot connect"}"#;
        let line = journal.take(&Record::parse(lost).expect("a record"));
        assert_eq!(line.expect("it is shown").label, "operator");
        assert_eq!(
            journal.failures(),
            [format!("Cart default/c: {text}"), "cannot connect".into()]
        );
    }
}
