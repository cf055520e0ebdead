//! Free-form parts, and what comes behind them.

use super::*;

#[test]
fn a_free_form_kind_has_a_sample_and_any_path() {
    let text = format!(
        "{HEAD}  - apiVersion: db.example.com/v1
    kind: Database
    spec: any
    status: {{openAPIV3Schema: {{type: object, properties: {{phase: {{type: string}}}}}}}}
    handlers:
      - {{type: field, fn: look, field: spec.deep.down, returns: {{seen: boolean}}}}
"
    );
    let (operator, warnings) = resolve(&text);
    assert_eq!(warnings, "");
    assert_eq!(
        operator.resources[0].samples[0].object["spec"],
        json!({"deep": {"down": "example"}})
    );
    let status = own(&operator).status.openapi();
    assert_eq!(status["properties"]["look/spec.deep.down"]["type"], "object");
}

#[test]
fn samples_are_derived_within_the_limits() {
    let (operator, _) = resolve(&with_fields(
        "
name: 'string | required=true maxLength=3 pattern=\"^[a-z]+$\"'
size: integer | required=true minimum=10 multipleOf=4
share: number | required=true minimum=0 exclusiveMinimum=true maximum=1
memory: quantity | required=true
mode: mode | required=true
users: '[]user | required=true minItems=1 listType=map listMapKey=name'
since: datetime | required=true
secret: secretKeyRef | required=true
ignored: string
",
    ));
    let spec = &operator.resources[0].samples[0].object["spec"];
    assert_eq!(
        *spec,
        json!({
            "name": "exa",
            "size": 12,
            "share": 1,
            "memory": "1Gi",
            "mode": "a",
            "users": [{"name": "example"}],
            "since": "2026-01-31T12:00:00Z",
            "secret": {"key": "example"},
        })
    );
}

#[test]
fn one_run_shows_all_faults_of_its_phase() {
    let text = refused(
        &(with_fields("a: strng\nb: integer | default=x")
            + "    handlers:\n      - {type: field, fn: match, field: spec.c}\n"),
    );
    for part in [
        "unknown type `strng`",
        "`x` is no value",
        "`match` is a keyword",
        "`spec` has no field `c`",
        "error: 4 faults",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}
