use kopf_gen::{Options, generate};

use super::*;
use crate::cli::trial::stubs::stubs;

const SPEC: &str = "
apiVersion: kopf-gen.dev/v1alpha1
kind: OperatorSpec
metadata: {name: minder}
resources:
  - apiVersion: demo.example.com/v1
    kind: Cart
    spec: {size: integer}
    handlers:
      - {type: event, fn: watch_it}
      - {type: create, fn: first}
      - {type: create, fn: second}
      - {type: field, fn: resize, field: spec.size}
";

fn journal() -> Journal {
    let generated = generate("operator.yaml", SPEC, &Options::default()).expect("the spec is good");
    Journal::new(stubs(&generated.operator, &generated.files))
}

fn record(logger: &str, severity: Severity, text: &str) -> Record {
    Record {
        severity,
        logger: logger.into(),
        text: text.into(),
        object: Some(cart()),
    }
}

fn cart() -> ObjectName {
    ObjectName {
        kind: "Cart".into(),
        namespace: Some("default".into()),
        name: "c".into(),
    }
}

fn said(text: &str) -> Record {
    record("minder::handlers::cart", Severity::Info, text)
}

fn reported(text: &str) -> Record {
    record("kopf_runtime::failures", Severity::Warning, text)
}

fn shown(lines: &[Line]) -> Vec<(&str, &str)> {
    lines
        .iter()
        .map(|line| (line.label.as_str(), line.text.as_str()))
        .collect()
}

#[test]
fn a_line_that_only_one_stub_logs_is_shown_at_once() {
    let mut journal = journal();
    let now = Instant::now();
    let text = "Observed an event of Cart c: \"ADDED\"";
    assert_eq!(shown(&journal.take(said(text), now)), [("watch_it", text)]);
    assert_eq!(journal.calls(&cart(), "watch_it"), 1);
    let text = "Changed spec.size of Cart c: None to Some(1)";
    assert_eq!(shown(&journal.take(said(text), now)), [("resize", text)]);
    assert_eq!(
        shown(&journal.take(reported("Handler resize/spec.size succeeded"), now)),
        []
    );
    assert_eq!(journal.calls(&cart(), "resize"), 1);
    assert_eq!(journal.all_calls(), 2);
}

#[test]
fn a_line_that_several_stubs_log_waits_for_the_outcome() {
    let mut journal = journal();
    let now = Instant::now();
    assert_eq!(shown(&journal.take(said("Created Cart c"), now)), []);
    assert_eq!(shown(&journal.take(said("Created Cart c"), now)), []);
    let lines = journal.take(reported("Handler second succeeded"), now);
    assert_eq!(shown(&lines), [("second", "Created Cart c")]);
    assert_eq!(shown(&journal.overdue(now)), []);
    assert_eq!(shown(&journal.overdue(now + PATIENCE)), [("first", "Created Cart c")]);
}

#[test]
fn failures_that_are_made_good_are_forgotten() {
    let mut journal = journal();
    let now = Instant::now();
    let lines = journal.take(reported("Handler first failed and is tried again in 1 s: busy"), now);
    assert_eq!(shown(&lines), [("first", "failed and is tried again in 1 s: busy")]);
    assert_eq!(journal.failures().len(), 1);
    journal.take(reported("Handler first succeeded"), now);
    assert_eq!(journal.failures(), Vec::<String>::new());
    journal.take(reported("Handler first failed for good: broken"), now);
    assert_eq!(
        journal.failures(),
        ["Cart default/c: handler first failed for good: broken"]
    );
}

#[test]
fn errors_and_misfits_count_as_failures() {
    let mut journal = journal();
    let now = Instant::now();
    let text = "The object does not fit its type at spec.size: expected i64";
    let misfit = record("kopf_runtime::reactor::processing", Severity::Warning, text);
    assert_eq!(shown(&journal.take(misfit, now)), [("", text)]);
    let lost = Record {
        object: None,
        ..record("kopf_runtime::cli", Severity::Error, "cannot connect")
    };
    assert_eq!(shown(&journal.take(lost, now)), [("operator", "cannot connect")]);
    assert_eq!(
        journal.failures(),
        [format!("Cart default/c: {text}"), "cannot connect".into()]
    );
}

#[test]
fn what_the_runtime_does_is_not_shown() {
    let mut journal = journal();
    let line = record("kopf_runtime::cli", Severity::Info, "Starting minder standalone");
    assert_eq!(shown(&journal.take(line, Instant::now())), []);
    assert_eq!(shown(&journal.overdue(Instant::now() + PATIENCE)), []);
}
