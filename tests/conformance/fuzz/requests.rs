//! Random requests: mostly sensible ones, about a handful of names, so that they get in each other's way.

use std::fmt;

use fastrand::Rng;
use serde_json::{Value, json};

pub(crate) const GROUP: &str = "fuzz.kopf-gen.example.com";

/// The custom kind whose configurations are applied. It has no field that is an integer or a string: where there is
/// one, servers of the first releases did not hold configurations against the schema at all.
pub(crate) const APPLIED: &str = "gizmos";

const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";

/// What requests are about.
#[expect(clippy::struct_field_names, reason = "`kind` is the API's own word")]
pub(crate) struct Kind {
    pub(crate) plural: &'static str,
    kind: &'static str,
    api_version: &'static str,
    root: &'static str,
}

pub(crate) static KINDS: &[Kind] = &[
    Kind {
        plural: "gadgets",
        kind: "Gadget",
        api_version: "fuzz.kopf-gen.example.com/v1",
        root: "/apis/fuzz.kopf-gen.example.com/v1",
    },
    Kind {
        plural: APPLIED,
        kind: "Gizmo",
        api_version: "fuzz.kopf-gen.example.com/v1",
        root: "/apis/fuzz.kopf-gen.example.com/v1",
    },
    Kind {
        plural: "configmaps",
        kind: "ConfigMap",
        api_version: "v1",
        root: "/api/v1",
    },
    Kind {
        plural: "leases",
        kind: "Lease",
        api_version: "coordination.k8s.io/v1",
        root: "/apis/coordination.k8s.io/v1",
    },
];

impl Kind {
    /// The collection in a namespace.
    pub(crate) fn path(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}", self.root, self.plural)
    }
}

/// One request, with placeholders for what only a server knows.
pub(crate) struct Ask {
    pub(crate) kind: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) media: &'static str,
    pub(crate) body: String,
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.media.split(['/', ';']).nth(1).unwrap_or_default();
        write!(f, "{} {} {kind} {}", self.method, self.path, self.body)
    }
}

/// The next request of a conversation.
pub(crate) fn next(random: &mut Rng) -> Ask {
    let kind = &KINDS[[0, 0, 1, 1, 2, 2, 3][random.usize(..7)]];
    let name = pick(random, &["a", "b", "c", "d"]);
    let collection = kind.path("<namespace>");
    let object = format!("{collection}/{name}");
    let ask = |method, path: String, media, body: String| Ask {
        kind: kind.plural,
        method,
        path,
        media,
        body,
    };
    let status = if random.u8(..8) == 0 { "/status" } else { "" };
    let changed = format!("{object}{status}{}", options(random));
    match random.u8(..100) {
        0..24 => {
            let body = body(random, kind, name);
            ask(
                "POST",
                format!("{collection}{}", options(random)),
                JSON,
                body.to_string(),
            )
        }
        24..30 => ask("GET", object, "", String::new()),
        30..38 => ask(
            "GET",
            format!("{collection}{}", listing(random, kind)),
            "",
            String::new(),
        ),
        38..50 => {
            let mut body = body(random, kind, name);
            version(random, kind, name, &mut body);
            ask("PUT", changed, JSON, body.to_string())
        }
        50..63 => ask("PATCH", changed, MERGE, merge(random, kind, name).to_string()),
        63..73 => ask("PATCH", changed, JSON_PATCH, operations(random).to_string()),
        73..80 => {
            // No nulls: where there is nothing to remove, older servers store them.
            let patch = merge(random, kind, name).to_string().replace("null", "[]");
            ask("PATCH", changed, STRATEGIC, patch)
        }
        80..86 if kind.plural != "gadgets" => {
            let body = body(random, kind, name).to_string();
            let manager = pick(
                random,
                &["fieldManager=one", "fieldManager=two&force=true", "force=true"],
            );
            ask("PATCH", format!("{object}?{manager}"), APPLY, body)
        }
        86..95 => ask(
            "DELETE",
            format!("{object}{}", options(random)),
            JSON,
            deletion(random, kind, name),
        ),
        95 => {
            let rest = listing(random, kind);
            // The version is a precondition of each object, and older servers take them in no order.
            let rest = if rest.starts_with("?resourceVersion") {
                ""
            } else {
                &rest
            };
            ask("DELETE", format!("{collection}{rest}"), "", String::new())
        }
        _ => strange(random, kind, &collection, &object),
    }
}

/// An object, for the most part a valid one.
fn body(random: &mut Rng, kind: &Kind, name: &str) -> Value {
    let mut object = json!({
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": metadata(random, name),
    });
    match kind.plural {
        "gadgets" | APPLIED => {
            object["spec"] = spec(random);
            if random.u8(..4) == 0 {
                object["status"] = json!({"phase": pick(random, &["Ready", "Lost"]), "ready": true});
            }
        }
        "configmaps" => {
            object["data"] =
                json!({pick(random, &["x", "y", "z"]): value(random, &[json!("1"), json!("2"), json!("")])});
            if random.u8(..12) == 0 {
                object["immutable"] = json!(true);
            }
        }
        _ => object["spec"] = json!({"holderIdentity": pick(random, &["me", "you"]), "leaseDurationSeconds": 15}),
    }
    if random.u8(..25) == 0 {
        let field = pick(random, &["apiVersion", "kind", "metadata", "spec"]);
        object[field] = value(
            random,
            &[Value::Null, json!(""), json!("other/v1"), json!({}), json!("Other")],
        );
    }
    object
}

fn metadata(random: &mut Rng, name: &str) -> Value {
    let mut metadata = json!({"name": name});
    if random.bool() {
        metadata["labels"] =
            json!({"app": value(random, &[json!("web"), json!("db"), json!("web"), json!("no good!")])});
    }
    if random.u8(..4) == 0 {
        metadata["annotations"] = json!({"example.com/note": pick(random, &["", "some text", "other"])});
    }
    if random.u8(..6) == 0 {
        let holds = [
            json!(["example.com/hold"]),
            json!([]),
            json!(["example.com/hold", "example.com/more"]),
        ];
        metadata["finalizers"] = value(random, &holds);
    }
    match random.u8(..40) {
        0 => metadata["namespace"] = json!("elsewhere"),
        1 => metadata["name"] = json!("Not_A_Name"),
        // Without a name: to a taken one older servers say that they had no time to find another.
        2 => metadata = json!({"generateName": "long-"}),
        3 => metadata["uid"] = json!("00000000-0000-4000-8000-000000000000"),
        4 => metadata["labels"] = json!({"bad key": "x"}),
        5 => metadata["finalizers"] = json!(["unqualified"]),
        6 => drop(metadata.as_object_mut().and_then(|metadata| metadata.remove("name"))),
        _ => {}
    }
    metadata
}

fn spec(random: &mut Rng) -> Value {
    let mut spec = json!({"size": value(random, &[json!(1), json!(2), json!(9), json!(3), json!(4), json!(10), json!("1"), Value::Null])});
    for _ in 0..random.usize(..4) {
        let (field, choices) = random
            .choice([
                ("colour", vec![json!("red"), json!("green"), json!("blue"), Value::Null]),
                // Not the empty text: some builds of older servers take it for null.
                ("label", vec![json!("short"), json!("too long"), json!(5)]),
                (
                    "parts",
                    vec![
                        json!([{"name": "one"}]),
                        json!([{"name": "one", "count": 2}, {"name": "two"}]),
                        json!([{}]),
                        json!([]),
                        json!([1]),
                        json!({}),
                    ],
                ),
                (
                    "options",
                    vec![json!({"a": "b"}), json!({}), json!({"a": 1}), json!({"a": null})],
                ),
                ("extra", vec![json!({"any": [1, {"x": null}]}), json!("text")]),
                ("port", vec![json!(80), json!("http"), json!(true), json!(1.5)]),
                ("note", vec![json!("x"), Value::Null, json!(1)]),
                ("unknown", vec![json!(1), json!({"a": 1})]),
            ])
            .expect("there are fields");
        spec[field] = value(random, &choices);
    }
    spec
}

fn merge(random: &mut Rng, kind: &Kind, name: &str) -> Value {
    match random.u8(..14) {
        0 => json!({"metadata": {"labels": {"app": value(random, &[Value::Null, json!("web"), json!(1)])}}}),
        1 => json!({"metadata": {"finalizers": value(random, &[Value::Null, json!([]), json!(["example.com/hold"])])}}),
        2 => json!({"metadata": {"annotations": {"example.com/note": pick(random, &["x", "y"])}}}),
        3 => {
            let mut patch = json!({"metadata": {}, "spec": {"size": 5}});
            version(random, kind, name, &mut patch);
            patch
        }
        4 => json!({"metadata": {"name": "other"}}),
        5 => json!({"spec": value(random, &[Value::Null, json!("text"), json!([])])}),
        6 => {
            json!({"status": {"phase": pick(random, &["Ready", "Lost"]), "ready": value(random, &[json!(true), json!(1)])}})
        }
        7 => json!({"data": {"x": value(random, &[json!("3"), Value::Null, json!(3)])}}),
        8 => json!({}),
        _ => json!({"spec": spec(random)}),
    }
}

fn operations(random: &mut Rng) -> Value {
    let mut operations = Vec::new();
    for _ in 0..=random.usize(..3) {
        let path = pick(
            random,
            &[
                "/spec/size",
                "/spec/parts/-",
                "/spec/parts/0",
                "/metadata/labels/app",
                "/metadata/finalizers",
                "/metadata/annotations/example.com~1note",
                "/data/x",
                "/status",
                "/nowhere/at/all",
            ],
        );
        // What is there, or not even its parent: a missing field alone is null to older servers.
        let there = pick(
            random,
            &[
                "/spec/parts/0",
                "/metadata/labels/app",
                "/metadata/annotations/example.com~1note",
                "/metadata/name",
                "/nowhere/at/all",
            ],
        );
        let new = value(
            random,
            &[json!(1), json!("x"), json!({"name": "n"}), json!([]), Value::Null],
        );
        operations.push(match random.u8(..8) {
            0..3 => json!({"op": "add", "path": path, "value": new}),
            3 => json!({"op": "replace", "path": there, "value": new}),
            4 => json!({"op": "remove", "path": path}),
            5 => json!({"op": "test", "path": path, "value": new}),
            6 => json!({"op": "copy", "from": there, "path": "/metadata/labels"}),
            _ => json!({"op": pick(random, &["move", "nonsense"]), "from": path, "path": "/spec/note"}),
        });
    }
    json!(operations)
}

/// The version that the object was seen in, an old one, or none.
fn version(random: &mut Rng, kind: &Kind, name: &str, body: &mut Value) {
    if !body["metadata"].is_object() {
        return;
    }
    match random.u8(..6) {
        0..3 => body["metadata"]["resourceVersion"] = json!(format!("<version {}/{name}>", kind.plural)),
        3 => body["metadata"]["resourceVersion"] = json!("1"),
        4 => body["metadata"]["uid"] = json!(format!("<uid {}/{name}>", kind.plural)),
        _ => {}
    }
}

fn deletion(random: &mut Rng, kind: &Kind, name: &str) -> String {
    let options = match random.u8(..8) {
        0 => json!({"preconditions": {"uid": format!("<uid {}/{name}>", kind.plural)}}),
        1 => json!({"preconditions": {"resourceVersion": format!("<version {}/{name}>", kind.plural)}}),
        2 => json!({"preconditions": {"uid": "other"}}),
        3 => json!({"gracePeriodSeconds": 0}),
        4 => json!({"propagationPolicy": pick(random, &["Background", "Sideways"])}),
        _ => return String::new(),
    };
    let mut options = options;
    options["kind"] = json!("DeleteOptions");
    options["apiVersion"] = json!("v1");
    options.to_string()
}

fn options(random: &mut Rng) -> &'static str {
    match random.u8(..20) {
        0 => "?dryRun=All",
        1 => "?dryRun=Some",
        2 => "?fieldManager=tester",
        _ => "",
    }
}

fn listing(random: &mut Rng, kind: &Kind) -> String {
    let rest = match random.u8(..12) {
        0 => "labelSelector=app%3Dweb".to_owned(),
        1 => "labelSelector=app+in+(web,db),!other".to_owned(),
        2 => "labelSelector=app+in".to_owned(),
        3 => "labelSelector=%3D%3D".to_owned(),
        4 => "fieldSelector=metadata.name%3Da".to_owned(),
        5 => "fieldSelector=spec.size%3D1".to_owned(),
        6 => "limit=1".to_owned(),
        7 => "resourceVersion=0".to_owned(),
        8 => "resourceVersion=abc".to_owned(),
        9 => format!("resourceVersion=<version {}/a>", kind.plural),
        10 => "continue=nonsense".to_owned(),
        _ => return String::new(),
    };
    format!("?{rest}")
}

/// What no sensible client sends.
fn strange(random: &mut Rng, kind: &'static Kind, collection: &str, object: &str) -> Ask {
    let (method, path, media, body) = match random.u8(..10) {
        0 => ("POST", object.to_owned(), JSON, "{}"),
        1 => ("PUT", collection.to_owned(), JSON, "{}"),
        2 => ("PATCH", object.to_owned(), "text/plain", "{}"),
        3 => ("POST", collection.to_owned(), JSON, "{\"kind\": "),
        4 => ("POST", collection.to_owned(), JSON, "[]"),
        5 => ("GET", format!("{object}/nonsense"), "", ""),
        6 => ("GET", format!("{}/nonsense", kind.root), "", ""),
        // No merge patch: to one that is no object older servers say 422 or 500.
        7 => ("PATCH", object.to_owned(), JSON_PATCH, "{"),
        8 => ("DELETE", object.to_owned(), JSON, "{\"preconditions\": 5}"),
        _ => ("POST", format!("{}/{}", kind.root, kind.plural), JSON, "{}"),
    };
    Ask {
        kind: kind.plural,
        method,
        path,
        media,
        body: body.to_owned(),
    }
}

fn pick(random: &mut Rng, choices: &[&'static str]) -> &'static str {
    choices[random.usize(..choices.len())]
}

fn value(random: &mut Rng, choices: &[Value]) -> Value {
    choices[random.usize(..choices.len())].clone()
}
