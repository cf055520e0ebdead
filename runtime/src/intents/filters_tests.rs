#![expect(clippy::needless_pass_by_value, reason = "tests read better so")]

use serde_json::json;

use super::*;
use crate::intents::criteria::{ABSENT, by, equals};

fn labelled(criterion: impl Into<Criterion>) -> Filters {
    Filters {
        labels: vec![("a".into(), criterion.into())],
        ..Filters::default()
    }
}

fn annotated(criterion: impl Into<Criterion>) -> Filters {
    Filters {
        annotations: vec![("a".into(), criterion.into())],
        ..Filters::default()
    }
}

fn object(labels: Value, annotations: Value) -> Body {
    Body::new(json!({"metadata": {"labels": labels, "annotations": annotations}, "spec": {"f": 1}}))
}

/// Whether labels and annotations satisfy alike.
fn accepts(criterion: &Criterion, texts: &Value) -> bool {
    let by_label = labelled(criterion.clone()).metadata(&object(texts.clone(), json!({"a": "other"})));
    let by_annotation = annotated(criterion.clone()).metadata(&object(json!({"a": "other"}), texts.clone()));
    assert_eq!(by_label, by_annotation);
    by_label.unwrap()
}

// F-2, F-3
#[test]
fn labels_and_annotations_are_compared_as_texts() {
    assert!(accepts(&"x".into(), &json!({"a": "x"})));
    assert!(!accepts(&"x".into(), &json!({"a": "y"})));
    // The edge case: an empty text is a value.
    assert!(!accepts(&ABSENT, &json!({"a": ""})));
    assert!(accepts(&PRESENT, &json!({"a": ""})) && accepts(&"".into(), &json!({"a": ""})));
    for without in [json!({}), json!({"b": "x"}), json!({"a": null}), Value::Null] {
        assert!(accepts(&ABSENT, &without));
        assert!(!accepts(&PRESENT, &without) && !accepts(&"x".into(), &without));
    }
}

// F-2, F-8
#[test]
fn functions_are_asked_about_keys_that_are_not_there() {
    let absent = by(|question| question.value.is_none());
    assert!(accepts(&absent, &json!({"b": "x"})) && accepts(&absent, &Value::Null));
    assert!(!accepts(&absent, &json!({"a": ""})));
    let text = by(|question| question.value == Some(&json!("x")));
    assert!(accepts(&text, &json!({"a": "x"})) && !accepts(&text, &json!({"a": "y"})));
}

// F-1, F-3
#[test]
fn all_criteria_must_hold_and_none_always_does() {
    let both = Filters {
        labels: vec![("a".into(), "1".into()), ("b".into(), PRESENT)],
        annotations: vec![("c".into(), ABSENT)],
        ..Filters::default()
    };
    let matches = |labels, annotations| both.metadata(&object(labels, annotations)).unwrap();
    assert!(matches(json!({"a": "1", "b": "x"}), json!({})));
    assert!(!matches(json!({"a": "1"}), json!({})));
    assert!(!matches(json!({"a": "1", "b": "x"}), json!({"c": "x"})));
    assert_eq!(Filters::default().metadata(&object(Value::Null, Value::Null)), Ok(true));
}

// F-5, F-6
#[test]
fn a_field_must_be_there_or_be_as_the_value_says_in_the_current_body() {
    let matches = |filters: &Filters, field: &str| {
        filters
            .matches_body(Some(&field.into()), &object(Value::Null, Value::Null))
            .unwrap()
    };
    let valued = |criterion| Filters {
        value: Some(criterion),
        ..Filters::default()
    };
    assert!(matches(&Filters::default(), "spec.f") && !matches(&Filters::default(), "spec.g"));
    assert!(matches(&valued(1.into()), "spec.f") && !matches(&valued(2.into()), "spec.f"));
    assert!(matches(&valued(ABSENT), "spec.g") && !matches(&valued(ABSENT), "spec.f"));
    assert!(
        !matches(&valued(PRESENT), "spec.f.below"),
        "nothing is below a number (F-11)"
    );
}

// F-15
#[test]
fn a_function_that_panics_is_named_with_what_it_said() {
    let body = object(Value::Null, Value::Null);
    let broken = || by(|_| panic!("too bad"));
    let on_label = labelled(broken()).metadata(&body).unwrap_err();
    assert_eq!(on_label, "the filter on the label `a` panicked: too bad");
    let on_annotation = annotated(broken()).metadata(&body).unwrap_err();
    assert_eq!(on_annotation, "the filter on the annotation `a` panicked: too bad");
    let broken = Filters {
        value: Some(broken()),
        old: Some(broken()),
        ..Filters::default()
    };
    assert_eq!(
        broken.value([None], &body).unwrap_err(),
        "the filter `value` panicked: too bad"
    );
    assert_eq!(
        broken.change(None, None, &body).unwrap_err(),
        "the filter `old` panicked: too bad"
    );
}

fn ask(when: When) -> Answer {
    let filters = Filters {
        when: vec![when],
        ..Filters::default()
    };
    let spec: Arc<dyn Any + Send + Sync> = Arc::new(());
    filters.when(&Asked {
        body: &object(Value::Null, Value::Null),
        spec: &spec,
        memo: &spec,
        view: None,
    })
}

fn says(answer: bool) -> When {
    When::new(move |_| Ok(answer))
}

// F-16
#[test]
fn combinations_of_conditions() {
    for (answers, [of_all, of_any, of_none]) in [
        (vec![], [true, false, true]),
        (vec![true], [true, true, false]),
        (vec![false], [false, false, true]),
        (vec![true, true], [true, true, false]),
        (vec![true, false], [false, true, false]),
        (vec![false, false], [false, false, true]),
    ] {
        let conditions = || answers.iter().map(|&answer| says(answer)).collect::<Vec<_>>();
        let found = [all(conditions()), any(conditions()), none(conditions())].map(|it| ask(it).unwrap());
        assert_eq!(found, [of_all, of_any, of_none], "{answers:?}");
    }
    assert_eq!((ask(not(says(true))), ask(not(says(false)))), (Ok(false), Ok(true)));
}

// F-15, F-16: where the answer is known before, the broken one is not asked.
#[test]
fn a_failure_within_a_combination_is_the_failure_of_the_whole() {
    let broken = || When::new(|_| Err("no such key".into()));
    for joined in [not(broken()), all([says(true), broken()]), any([says(false), broken()])] {
        assert_eq!(ask(joined), Err("the filter `when` failed: no such key".into()));
    }
    assert_eq!(ask(all([says(false), broken()])), Ok(false));
    assert_eq!(ask(any([says(true), broken()])), Ok(true));
    assert_eq!(ask(none([says(true), broken()])), Ok(false));
}

/// What the start says of these filters of a handler `h`.
fn faults(filters: Filters, field: Option<&str>, about_changes: bool) -> Vec<String> {
    let mut reading = Reading::of("h", &|_| None);
    let _ = filters.read(field.map(FieldPath::from).as_ref(), about_changes, &mut reading);
    reading.into_faults()
}

// H-14
#[test]
fn options_that_contradict_each_other_are_refused() {
    let filters = |options: &[&str]| {
        let given = |option| options.contains(&option).then(|| Criterion::from(1));
        Filters {
            value: given("value"),
            old: given("old"),
            new: given("new"),
            ..Filters::default()
        }
    };
    let field = Some("spec.f");
    for (options, field, about_changes, expected) in [
        (&["value"][..], field, false, None),
        (&["value"], field, true, None),
        (&["old", "new"], field, true, None),
        (&[], None, false, None),
        (&["value"], None, true, Some("`value` needs `field`, whose value it is")),
        (&["old"], None, true, Some("`old` needs `field`, whose value it is")),
        (&["new"], None, true, Some("`new` needs `field`, whose value it is")),
        (
            &["value", "old"],
            field,
            true,
            Some("`old` cannot stand beside `value`"),
        ),
        (
            &["value", "new"],
            field,
            true,
            Some("`new` cannot stand beside `value`"),
        ),
        (
            &["old"],
            field,
            false,
            Some("`old` is for update and field handlers only"),
        ),
        (
            &["new"],
            None,
            false,
            Some("`new` is for update and field handlers only"),
        ),
        (&[], Some(""), true, Some("`field` is empty")),
    ] {
        let expected: Vec<String> = expected
            .map(|fault| format!("the handler `h`: {fault}"))
            .into_iter()
            .collect();
        assert_eq!(
            faults(filters(options), field, about_changes),
            expected,
            "{options:?} {field:?}"
        );
    }
}

// H-14
#[test]
fn null_is_no_criterion_and_keys_are_not_empty() {
    let says = |filters| faults(filters, Some("spec.f"), true).join("; ");
    assert_eq!(
        says(labelled(equals(Value::Null))),
        "the handler `h`: `label` `a` is always a text, never null"
    );
    assert_eq!(
        says(annotated(3)),
        "the handler `h`: `annotation` `a` is always a text, never 3"
    );
    let unnamed = Filters {
        labels: vec![(String::new(), PRESENT)],
        annotations: vec![(String::new(), PRESENT)],
        ..Filters::default()
    };
    assert_eq!(
        says(unnamed),
        "the handler `h`: `label` has an empty key; the handler `h`: `annotation` has an empty key"
    );
    let null = Filters {
        old: Some(Value::Null.into()),
        ..Filters::default()
    };
    assert_eq!(
        says(null),
        "the handler `h`: `old` is never null; `ABSENT` is for what is not there"
    );
}

#[test]
fn conditions_that_can_never_be_answered_are_refused() {
    let broken = || When {
        fault: Some("does not parse".into()),
        ..says(true)
    };
    let filters = Filters {
        when: vec![says(true), all([says(true), not(broken())])],
        ..Filters::default()
    };
    assert_eq!(faults(filters, None, false), ["the handler `h`: `when` does not parse"]);
}

#[test]
fn texts_come_from_the_environment() {
    use crate::configured::{env, env_or};
    let mut reading = Reading::of("h", &|name| (name == "COLOUR").then(|| "red".into()));
    let filters = Filters {
        labels: vec![("a".into(), any([env("COLOUR").into(), ABSENT]))],
        annotations: vec![("a".into(), env_or("NOTHING", "blue".to_owned()).into())],
        ..Filters::default()
    };
    let filters = filters.read(None, false, &mut reading);
    let matches = |label, annotation| {
        filters
            .metadata(&object(json!({"a": label}), json!({"a": annotation})))
            .unwrap()
    };
    assert!(matches(json!("red"), "blue") && matches(Value::Null, "blue"));
    assert!(!matches(json!("green"), "blue") && !matches(json!("red"), "red"));
    assert_eq!(reading.into_faults(), Vec::<String>::new());
    assert!(faults(labelled(env("COLOUR")), None, false)[0].contains("COLOUR, which is not set"));
}
