//! Whole specs, resolved.

mod background;
mod bounds;
mod indexes;
mod names;
mod open;

use serde_json::{Value, json};

use super::lower;
use crate::load::load;
use crate::model::{ChangeType, Field, Operator, Origin, OwnKind, Presence, Shape};

fn resolve(text: &str) -> (Operator, String) {
    let document = load("operator.yaml", text).unwrap_or_else(|faults| panic!("{faults}"));
    let (operator, warnings) = lower(&document).unwrap_or_else(|faults| panic!("{faults}"));
    (operator, warnings.render(false))
}

fn refused(text: &str) -> String {
    match load("operator.yaml", text).and_then(|document| lower(&document)) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(faults) => faults.render(false),
    }
}

const HEAD: &str = "apiVersion: kopf-gen.dev/v1alpha1\nkind: OperatorSpec\nmetadata: {name: pgop}\nresources:\n";

/// A spec of one kind, with `spec` fields one a line.
fn with_fields(fields: &str) -> String {
    let fields = fields.trim().replace('\n', "\n      ");
    format!(
        "{HEAD}  - apiVersion: db.example.com/v1\n    kind: Database\n    types:\n      user:\n        name: string | required=true\n      mode: string | enum=\"a,b\"\n    spec:\n      {fields}\n"
    )
}

fn own(operator: &Operator) -> &OwnKind {
    match &operator.resources[0].origin {
        Origin::Own(own) => own,
        Origin::Builtin => panic!("an own kind"),
    }
}

fn fields(schema: &crate::model::Schema) -> &[Field] {
    match &schema.shape {
        Shape::Object(object) => &object.fields,
        other => panic!("an object, not {other:?}"),
    }
}

fn type_name(schema: &crate::model::Schema) -> &str {
    match &schema.shape {
        Shape::Object(object) => &object.type_name,
        Shape::Enum { type_name, .. } => type_name,
        Shape::List(item) | Shape::Map(item) => type_name(item),
        other => panic!("a named type, not {other:?}"),
    }
}

#[test]
fn ten_lines_are_enough() {
    let (operator, warnings) = resolve(
        "apiVersion: kopf-gen.dev/v1alpha1
kind: OperatorSpec
metadata: {name: greeter}
resources:
  - apiVersion: demo.example.com/v1
    kind: Greeting
    spec:
      who: string | required=true
    handlers:
      - {type: create, fn: greet}
",
    );
    assert_eq!(warnings, "");
    let resource = &operator.resources[0];
    assert_eq!(resource.reference.plural, "greetings");
    assert_eq!(resource.reference.list_kind, "GreetingList");
    assert!(resource.reference.namespaced && resource.reference.status_subresource);
    assert_eq!(type_name(&own(&operator).spec), "GreetingSpec");
    assert_eq!(
        own(&operator).status.openapi(),
        *json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
            .as_object()
            .unwrap()
    );
    assert_eq!(
        resource.samples[0].object,
        json!({
            "apiVersion": "demo.example.com/v1",
            "kind": "Greeting",
            "metadata": {"name": "greeting-sample"},
            "spec": {"who": "example"},
        })
    );
    assert_eq!(operator.deploy.namespace, "greeter-system");
    assert_eq!(
        (operator.deploy.image.as_str(), operator.deploy.tag.as_str()),
        ("greeter", "0.1.0")
    );
    let peering = operator.peering.expect("on by default");
    assert_eq!(
        (peering.name.as_str(), peering.priority, peering.lifetime.as_secs()),
        ("greeter", Some(0), 60)
    );
}

#[test]
fn every_field_syntax_gives_its_schema() {
    let int_or_string = json!({"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true});
    let mut with_default = int_or_string.clone();
    with_default["default"] = json!(5432);
    let immutable = json!([{"rule": "self == oldSelf", "message": "cannot be changed"}]);
    for (line, expected) in [
        ("x: string", json!({"type": "string"})),
        ("x: integer", json!({"type": "integer", "format": "int64"})),
        (
            "x: int32 | minimum=0",
            json!({"type": "integer", "format": "int32", "minimum": 0}),
        ),
        (
            "x: number | minimum=0.5 maximum=1",
            json!({"type": "number", "minimum": 0.5, "maximum": 1}),
        ),
        (
            "x: boolean | default=false",
            json!({"type": "boolean", "default": false}),
        ),
        ("x: int-or-string", int_or_string),
        ("x: int-or-string | default=5432", with_default),
        ("x: datetime", json!({"type": "string", "format": "date-time"})),
        (
            "x: bytes | nullable=true",
            json!({"type": "string", "format": "byte", "nullable": true}),
        ),
        (
            "x: object",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ),
        ("x: any", json!({"x-kubernetes-preserve-unknown-fields": true})),
        (
            "x: embedded",
            json!({"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true}),
        ),
        ("x: mode", json!({"type": "string", "enum": ["a", "b"]})),
        (
            "x: mode | default=b",
            json!({"type": "string", "enum": ["a", "b"], "default": "b"}),
        ),
        (
            "x: integer | enum=\"1,2\"",
            json!({"type": "integer", "format": "int64", "enum": [1, 2]}),
        ),
        (
            "x: '[]string | listType=set maxItems=16'",
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set", "maxItems": 16}),
        ),
        (
            "x: '[]user | listType=map listMapKey=name'",
            json!({
                "type": "array",
                "items": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            }),
        ),
        (
            "x: map[string]integer",
            json!({"type": "object", "additionalProperties": {"type": "integer", "format": "int64"}}),
        ),
        (
            "x: '[]map[string][]boolean | maxItems=2'",
            json!({
                "type": "array",
                "maxItems": 2,
                "items": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "boolean"}}},
            }),
        ),
        (
            "x: 'string | maxLength=9 pattern=\"^[a-z]+$\" example=abc description=\"said: \\\"x\\\"\"'",
            json!({"type": "string", "maxLength": 9, "pattern": "^[a-z]+$", "example": "abc", "description": "said: \"x\""}),
        ),
        (
            "x: string | immutable=true",
            json!({"type": "string", "x-kubernetes-validations": immutable}),
        ),
        (
            "x: 'integer | rule=\"self > 0\" message=\"be positive\"'",
            json!({
                "type": "integer",
                "format": "int64",
                "x-kubernetes-validations": [{"rule": "self > 0", "message": "be positive"}],
            }),
        ),
        (
            "x: string | deprecated=\"use y\" description=\"An x.\"",
            json!({"type": "string", "description": "An x.\n\nDeprecated: use y"}),
        ),
        (
            "x: {$type: string, enum: [none, daily], default: none, description: \"how often: never, or daily\"}",
            json!({
                "type": "string",
                "enum": ["none", "daily"],
                "default": "none",
                "description": "how often: never, or daily",
            }),
        ),
        (
            "x: {$default: {}, $description: Limits., cpu: string, memory: quantity | required=true}",
            Value::Null,
        ),
        (
            "x: {$description: Limits., cpu: string}",
            json!({"type": "object", "properties": {"cpu": {"type": "string"}}, "description": "Limits."}),
        ),
        (
            "x: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}",
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        ),
        (
            "x: {openAPIV3Schema: string, type: string, properties: integer}",
            json!({
                "type": "object",
                "properties": {
                    "openAPIV3Schema": {"type": "string"},
                    "type": {"type": "string"},
                    "properties": {"type": "integer", "format": "int64"},
                },
            }),
        ),
    ] {
        let text = with_fields(line);
        if expected.is_null() {
            assert!(refused(&text).contains("has no `memory`"), "{line}");
            continue;
        }
        let (operator, _) = resolve(&text);
        let field = &fields(&own(&operator).spec)[0];
        assert_eq!(Value::Object(field.schema.openapi()), expected, "{line}");
    }
}

#[test]
fn types_are_named_by_their_path() {
    let (operator, _) = resolve(&with_fields(
        "
engine: string | enum=\"postgres,mysql\"
backup:
  when: string | enum=\"daily\"
  to: {TLSConfig: {key: string}}
users: '[]user | listType=atomic'
mode: mode
databaseSpecBackup: string
",
    ));
    let spec = &own(&operator).spec;
    let names: Vec<&str> = fields(spec)[..4].iter().map(|field| type_name(&field.schema)).collect();
    assert_eq!(names, ["DatabaseSpecEngine", "DatabaseSpecBackup", "User", "Mode"]);
    let backup = fields(&fields(spec)[1].schema);
    assert_eq!(type_name(&backup[0].schema), "DatabaseSpecBackupWhen");
    assert_eq!(
        type_name(&fields(&backup[1].schema)[0].schema),
        "DatabaseSpecBackupToTlsConfig"
    );
}

#[test]
fn presence_follows_required_and_default() {
    let (operator, _) = resolve(&with_fields(
        "a: string | required=true\nb: string | default=x\nc: string",
    ));
    let presence: Vec<Presence> = fields(&own(&operator).spec)
        .iter()
        .map(|field| field.presence)
        .collect();
    assert_eq!(presence, [Presence::Required, Presence::Defaulted, Presence::Optional]);
}

#[test]
fn keywords_are_legal_fields() {
    let names = "type ref match async gen try self super crate yield union dyn virtual box default enum items";
    let lines = names.replace(' ', ": string\n") + ": string";
    let (operator, _) = resolve(&with_fields(&lines));
    for (field, name) in fields(&own(&operator).spec).iter().zip(names.split(' ')) {
        assert_eq!(field.wire_name, name);
        assert!(syn::parse_str::<syn::Ident>(&field.rust_name).is_ok(), "{name}");
    }
}

#[test]
fn a_comment_above_a_field_is_its_description() {
    let (operator, _) = resolve(&with_fields(
        "
# Where it runs.
#
# Cannot move.
region: string
size: integer  # not this one
# Too far away.

zone: string
# Lost to the option.
kind: string | description=Given.
",
    ));
    let descriptions: Vec<Option<&str>> = fields(&own(&operator).spec)
        .iter()
        .map(|field| field.schema.description.as_deref())
        .collect();
    assert_eq!(
        descriptions,
        [Some("Where it runs.\n\nCannot move."), None, None, Some("Given.")]
    );
}

#[test]
fn two_kinds_of_one_name_are_told_apart_by_their_modules() {
    let text = format!(
        "{HEAD}  - {{apiVersion: a.io/v1, kind: Item, spec: {{x: string}}, handlers: [{{type: create, fn: make}}]}}
  - {{apiVersion: b.io/v1, kind: Item, module: other_item, spec: {{x: string}}, handlers: [{{type: create, fn: make}}]}}\n"
    );
    let (operator, _) = resolve(&text);
    let names: Vec<(&str, &str)> = operator
        .resources
        .iter()
        .map(|resource| (resource.module.as_str(), resource.type_name.as_str()))
        .collect();
    assert_eq!(names, [("item", "Item"), ("other_item", "OtherItem")]);
}

// B-049: what the runtime writes there has an entry in the schema.
#[test]
fn a_result_is_a_property_of_the_status() {
    let text = with_fields("size: quantity")
        + "    status:
      phase: string
    handlers:
      - type: [create, update]
        fn: provision
        returns: {host: string | required=true}
      - {type: field, fn: resize, field: spec.size, returns: integer}
      - {type: delete, fn: phase_out, id: phase, returns: string}
";
    let (operator, warnings) = resolve(&text);
    assert_eq!(warnings, "");
    let own = own(&operator);
    let properties = &own.status.openapi()["properties"];
    assert_eq!(properties["provision"]["required"], json!(["host"]));
    assert_eq!(properties["resize/spec.size"]["type"], "integer");
    assert_eq!(
        properties["phase"],
        json!({"type": "string", "description": "Result of `phase`."})
    );
    let names: Vec<&str> = fields(&own.status)
        .iter()
        .map(|field| field.rust_name.as_str())
        .collect();
    assert_eq!(names, ["phase", "provision", "resize_spec_size"]);
    let provision = operator.resources[0].functions[0].returns.as_ref().expect("it returns");
    assert_eq!(type_name(provision), "ProvisionResult");
}

#[test]
fn open_parts_follow_preserve_unknown_fields() {
    for (value, spec, status) in [("status", false, true), ("all", true, true), ("none", false, false)] {
        let text =
            with_fields("a: {b: string}") + &format!("    preserveUnknownFields: {value}\n    status: {{c: string}}\n");
        let (operator, _) = resolve(&text);
        let own = own(&operator);
        let open = |schema: &crate::model::Schema| matches!(&schema.shape, Shape::Object(object) if object.open);
        assert_eq!(
            (open(&own.spec), open(&own.status), open(&fields(&own.spec)[0].schema)),
            (spec, status, false),
            "{value}"
        );
    }
}

#[test]
fn sub_handlers_are_nested_and_their_functions_known() {
    let text = format!(
        "{HEAD}  - apiVersion: db.example.com/v1
    kind: Database
    types: {{user: {{name: string | required=true, grants: '[]string | listType=set'}}}}
    spec: {{users: '[]user | listType=map listMapKey=name'}}
    handlers:
      - type: [create, update]
        fn: provision
        forEach:
          - {{path: spec.users, key: name, fn: add, retries: {{env: RETRIES}}, forEach: [{{path: grants, fn: grant}}]}}
      - {{type: delete, fn: add}}
"
    );
    let (operator, warnings) = resolve(&text);
    assert_eq!(warnings, "");
    let resource = &operator.resources[0];
    for handler in &resource.handlers[..2] {
        let [users] = handler.for_each.as_slice() else {
            panic!("one place, not {:?}", handler.for_each)
        };
        assert_eq!(
            (users.path.join("."), users.key.clone()),
            ("spec.users".into(), Some(vec!["name".into()]))
        );
        assert_eq!(
            (users.for_each[0].path.join("."), &users.for_each[0].key),
            ("grants".into(), &None)
        );
    }
    assert!(resource.handlers[2].for_each.is_empty());
    let functions = resource.functions.iter().map(|function| {
        (
            function.name.as_str(),
            function.change_types.as_slice(),
            function.sub_types.as_slice(),
        )
    });
    let both = [ChangeType::Create, ChangeType::Update];
    assert_eq!(
        functions.collect::<Vec<_>>(),
        [
            ("provision", &both[..], &[][..]),
            ("add", &[ChangeType::Delete], &both),
            ("grant", &[], &both),
        ]
    );
    assert_eq!(operator.needed_variables().into_iter().collect::<Vec<_>>(), ["RETRIES"]);
}
