//! Whether the defaults in a schema are what the schema allows.

use serde_json::{Value, json};

use crate::schema::{META, check_embedded, coerce, is_embedded, properties, prune, validate};
use crate::status::Cause;

/// The faults of all defaults.
pub(super) fn faults(schema: &Value, path: &str) -> Vec<Cause> {
    let mut root = schema.clone();
    root["x-kubernetes-embedded-resource"] = json!(true);
    let mut causes = Vec::new();
    check(&root, path, None, &mut causes);
    causes
}

/// A way from a resource to a default in its metadata.
#[derive(Debug, Clone)]
struct Around<'a> {
    resource: &'a Value,
    /// Names of fields; an empty one stands for an item of a list.
    way: Vec<&'a str>,
}

impl Around<'_> {
    /// A resource that has nothing but this value.
    fn wrap(&self, value: &Value) -> Value {
        let inner = self.way.iter().rev().fold(value.clone(), |value, step| match *step {
            "" => json!([value]),
            name => json!({name: value}),
        });
        let mut resource = json!({"apiVersion": "validation/v1", "kind": "Validation"});
        for (key, value) in inner.as_object().into_iter().flatten() {
            resource[key] = value.clone();
        }
        resource
    }
}

fn check<'a>(schema: &'a Value, path: &str, around: Option<&Around<'a>>, causes: &mut Vec<Cause>) {
    let around = around.filter(|_| !is_embedded(schema));
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        let path = format!("{path}.default");
        match around {
            Some(around) => check_in_metadata(schema, default, &path, around, causes),
            None => check_default(schema, default, &path, causes),
        }
    }
    let step = |name: &'a str| {
        around.map(|around| {
            let mut around = around.clone();
            around.way.push(name);
            around
        })
    };
    // Values of maps have no defaults of their own there.
    if schema["items"].is_object() {
        check(&schema["items"], &format!("{path}.items"), step("").as_ref(), causes);
    }
    for (name, property) in properties(schema).into_iter().flatten() {
        let meta = is_embedded(schema) && META.contains(&name.as_str());
        let around = if meta {
            Some(Around {
                resource: schema,
                way: vec![name],
            })
        } else {
            step(name)
        };
        check(property, &format!("{path}.properties[{name}]"), around.as_ref(), causes);
    }
}

fn check_default(schema: &Value, default: &Value, path: &str, causes: &mut Vec<Cause>) {
    let mut pruned = default.clone();
    prune(schema, &mut pruned, is_embedded(schema), &mut Vec::new());
    if pruned != *default {
        causes.push(Cause::invalid(path, default, "must not have unknown fields"));
    }
    if let Err(cause) = coerce(schema, &mut default.clone(), path, &mut Vec::new()) {
        return causes.push(cause);
    }
    let faults = check_embedded(schema, default, path);
    causes.extend(if faults.is_empty() {
        validate(schema, default, path)
    } else {
        faults
    });
}

fn check_in_metadata(schema: &Value, default: &Value, path: &str, around: &Around<'_>, causes: &mut Vec<Cause>) {
    let mut resource = around.wrap(default);
    let unread = coerce(around.resource, &mut resource, "", &mut Vec::new()).err();
    let faults = unread.map_or_else(|| check_embedded(around.resource, &resource, ""), |cause| vec![cause]);
    if faults.is_empty() {
        causes.extend(validate(schema, default, path));
        return;
    }
    let texts: Vec<_> = faults.iter().map(ToString::to_string).collect();
    let text = if texts.len() == 1 {
        texts.concat()
    } else {
        format!("[{}]", texts.join(", "))
    };
    causes.push(Cause::invalid(
        path,
        default,
        &format!("must result in valid metadata: {text}"),
    ));
}
