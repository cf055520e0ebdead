//! Whole-object conditions in CEL, the expressions that Kubernetes has in its own rules.

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::Key;
use kube_cel::cel::{self, Context, Program};
use serde_json::Value;

use super::filters::Condition;
use crate::intents::filters::{Answer, Asked, When};

/// The object as it is now, raw.
const OBJECT: &str = "object";
/// The essence before the change (K-7); null where there is none.
const OLD_OBJECT: &str = "oldObject";

/// A condition in CEL: `object` is the whole object as it is now, `oldObject` the essence before the change (K-7),
/// which is null on creation, and for handlers that are not about changes.
///
/// There are the functions that Kubernetes adds to the language, such as `quantity`. An expression that does not parse
/// keeps the operator from starting. One that fails for an object, by asking for a key that is not there for
/// instance, or that is neither true nor false, fails its handler, as a function that panics does (F-15). Unlike a
/// function, it is given copies: of `object` and `oldObject`, as far as it mentions them.
///
/// ```
/// use kopf_runtime::{ChangeOptions, Kind, filters::cel};
///
/// fn options<K: Kind>(o: ChangeOptions<K>) -> ChangeOptions<K> {
///     o.when(cel("has(object.spec.replicas) && object.spec.replicas > 0"))
/// }
/// ```
pub fn cel<K>(expression: &str) -> Condition<K> {
    Condition::erased(match Program::compile(expression) {
        Ok(program) => when(program),
        Err(error) => When {
            fault: Some(format!("is no CEL expression: `{expression}`: {}", one_line(&error))),
            ..When::new(|_| Ok(false))
        },
    })
}

fn when(program: Program) -> When {
    let mut functions = Context::default();
    functions.register_all();
    When::new(move |asked| evaluate(&program, &functions, asked))
}

fn evaluate(program: &Program, functions: &Context<'_>, asked: &Asked<'_>) -> Answer {
    let mut context = functions.new_inner_scope();
    let old = asked.view.and_then(|view| view.old.as_deref());
    for (name, value) in [(OBJECT, Some(asked.body.value())), (OLD_OBJECT, old)] {
        if program.references().has_variable(name) {
            context.add_variable_from_value(name, value.map_or(cel::Value::Null, convert));
        }
    }
    match program.execute(&context) {
        Ok(cel::Value::Bool(holds)) => Ok(holds),
        Ok(other) => Err(format!("it is of the type {}, neither true nor false", other.type_of())),
        Err(error) => Err(one_line(&error)),
    }
}

fn one_line(error: &dyn std::fmt::Display) -> String {
    let text = error.to_string();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whole numbers are `int` wherever that is possible, as in Kubernetes; the crate's own conversion makes them `uint`.
fn convert(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(whole), ..) => cel::Value::Int(whole),
            (_, Some(whole), _) => cel::Value::UInt(whole),
            (_, _, real) => real.map_or(cel::Value::Null, cel::Value::Float),
        },
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(convert).collect())),
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .map(|(key, value)| (Key::from(key.as_str()), convert(value)));
            let fields: HashMap<Key, cel::Value> = fields.collect();
            cel::Value::Map(fields.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use serde_json::json;

    use super::*;
    use crate::configured::Reading;
    use crate::intents::essences::View;
    use crate::intents::filters::{Filters, not};
    use crate::structs::bodies::Body;
    use crate::structs::diffs::diff;

    fn ask(expression: &str) -> Answer {
        let old = json!({"spec": {"replicas": 1}});
        let new = json!({"spec": {"replicas": 3}});
        let view = View {
            diff: diff(Some(&old), Some(&new)),
            old: Some(Arc::new(old)),
            new: Some(Arc::new(new)),
        };
        ask_about(expression, Some(&view))
    }

    fn ask_about(expression: &str, view: Option<&View>) -> Answer {
        let body = Body::new(json!({
            "metadata": {"name": "w", "labels": {"a.b/c": "x"}},
            "spec": {"replicas": 3, "ratio": 0.5, "memory": "2Gi", "items": [1, 2], "nothing": null},
        }));
        let spec: Arc<dyn Any + Send + Sync> = Arc::new(());
        let filters = Filters {
            when: vec![cel::<()>(expression).erased],
            ..Filters::default()
        };
        filters.when(&Asked {
            body: &body,
            spec: &spec,
            memo: &spec,
            view,
        })
    }

    #[test]
    fn expressions_see_the_object_and_what_it_was() {
        for (expression, holds) in [
            ("object.spec.replicas > 0", true),
            ("object.spec.replicas + 1 == 4 && object.spec.ratio < 1.0", true),
            ("object.spec.replicas > oldObject.spec.replicas", true),
            ("object.metadata.labels['a.b/c'] == 'y'", false),
            ("has(object.spec.absent)", false),
            ("object.spec.items.exists(item, item == 2)", true),
            ("object.spec.nothing == null", true),
            ("quantity(object.spec.memory).isGreaterThan(quantity('1Gi'))", true),
            ("oldObject == null", false),
        ] {
            assert_eq!(ask(expression), Ok(holds), "{expression}");
        }
        assert_eq!(ask_about("oldObject == null", None), Ok(true));
    }

    // F-15
    #[test]
    fn an_expression_without_an_answer_fails_its_handler() {
        let missing = ask("object.spec.absent > 0").unwrap_err();
        assert!(
            missing.starts_with("the filter `when` failed: ") && missing.contains("absent"),
            "{missing}"
        );
        let unknown = ask("objet.spec.replicas > 0").unwrap_err();
        assert!(unknown.contains("objet"), "{unknown}");
        assert_eq!(
            ask("object.spec.replicas"),
            Err("the filter `when` failed: it is of the type int, neither true nor false".into())
        );
    }

    // F-15, F-16
    #[test]
    fn what_does_not_parse_refuses_the_start() {
        let mut reading = Reading::of("h", &|_| None);
        let filters = Filters {
            when: vec![not(cel::<()>("object.spec.replicas >")).erased],
            ..Filters::default()
        };
        let _ = filters.read(None, false, &mut reading);
        let faults = reading.into_faults().join("; ");
        let expected = "the handler `h`: `when` is no CEL expression: `object.spec.replicas >`: ";
        assert!(faults.starts_with(expected), "{faults}");
    }
}
