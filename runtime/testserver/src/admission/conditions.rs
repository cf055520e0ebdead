//! Further conditions of webhooks, in CEL.

#[cfg(feature = "cel")]
pub(super) use with_cel::{check, check_served, hold};
#[cfg(not(feature = "cel"))]
pub(super) use without_cel::{check, check_served, hold};

#[cfg(not(feature = "cel"))]
mod without_cel {
    use serde_json::Value;

    use crate::admission::Attempt;
    use crate::admission::hooks::{Hook, MatchCondition};
    use crate::cluster::Place;
    use crate::status::{Cause, Status};

    /// Refuses all conditions.
    pub(crate) fn check_served(_condition: &MatchCondition) -> Result<(), Status> {
        let what = "match conditions of webhooks unless it is built with its feature `cel`";
        Err(Status::not_implemented(what))
    }

    /// None comes this far.
    pub(crate) fn check(_path: &str, _condition: &MatchCondition) -> Option<Cause> {
        None
    }

    /// Conditions were never stored.
    #[expect(clippy::unnecessary_wraps, reason = "it is different with the feature")]
    pub(crate) fn hold(_hook: &Hook, _attempt: &Attempt<'_>, _place: &Place, _object: &Value) -> Result<bool, Status> {
        Ok(true)
    }
}

#[cfg(feature = "cel")]
mod with_cel {
    use kube_cel::KubeCelExt as _;
    use kube_cel::cel::{self, Context, Program};
    use serde_json::{Value, json};

    use crate::admission::hooks::{Hook, MatchCondition};
    use crate::admission::relevance::convert;
    use crate::admission::{Attempt, reviews};
    use crate::cluster::Place;
    use crate::status::{Cause, Status};

    /// Refuses what is correct but cannot be answered here.
    pub(crate) fn check_served(condition: &MatchCondition) -> Result<(), Status> {
        let program = Program::compile(&condition.expression);
        if program.is_ok_and(|program| program.references().has_variable("authorizer")) {
            return Err(Status::not_implemented("match conditions that ask the authorizer"));
        }
        Ok(())
    }

    /// The fault of an expression.
    pub(crate) fn check(path: &str, condition: &MatchCondition) -> Option<Cause> {
        let text = &condition.expression;
        if text.trim().is_empty() {
            return Some(Cause::required(path, ""));
        }
        let why = match Program::compile(text) {
            Ok(program) => {
                let references = program.references();
                let name = references
                    .variables()
                    .into_iter()
                    .find(|name| !VARIABLES.contains(name))?;
                format!("undeclared reference to '{name}' (in container '')")
            }
            Err(error) => error.to_string(),
        };
        Some(Cause::invalid(
            path,
            &json!(text),
            &format!("compilation failed: ERROR: {why}"),
        ))
    }

    const VARIABLES: [&str; 3] = ["object", "oldObject", "request"];

    /// Whether a webhook is to be called as far as its conditions go.
    pub(crate) fn hold(hook: &Hook, attempt: &Attempt<'_>, place: &Place, object: &Value) -> Result<bool, Status> {
        if hook.match_conditions.is_empty() {
            return Ok(true);
        }
        let new = convert(object, place, attempt);
        let old = attempt.old.map(|old| convert(old, place, attempt));
        let mut review = reviews::question(attempt, ("v1", ""), place, old.as_ref(), &new);
        let mut request = review["request"].take();
        if let Some(fields) = request.as_object_mut() {
            fields.retain(|field, _| !matches!(field.as_str(), "object" | "oldObject" | "uid"));
        }
        let mut context = Context::default();
        context.register_all();
        let old = old.unwrap_or_default();
        for (name, value) in VARIABLES.into_iter().zip([&new, &old, &request]) {
            let added = context.add_variable(name, value);
            added.map_err(|error| Status::new(500, "InternalError", error.to_string()))?;
        }
        let mut faults = Vec::new();
        for condition in &hook.match_conditions {
            match evaluate(&condition.expression, &context) {
                Ok(false) => return Ok(false),
                Ok(true) => {}
                Err(why) => faults.push(why),
            }
        }
        if faults.is_empty() || hook.fails_open() {
            return Ok(faults.is_empty());
        }
        let why = if faults.len() == 1 {
            faults.concat()
        } else {
            format!("[{}]", faults.join(", "))
        };
        Err(Status::forbidden(&attempt.place.kind, attempt.name, &why))
    }

    fn evaluate(expression: &str, context: &Context<'_>) -> Result<bool, String> {
        let fault = |why: &dyn std::fmt::Display| format!("expression '{expression}' resulted in error: {why}");
        let program = Program::compile(expression).map_err(|error| fault(&error))?;
        match program.execute(context).map_err(|error| fault(&error))? {
            cel::Value::Bool(holds) => Ok(holds),
            other => Err(fault(&format!("a condition is true or false, not {other:?}"))),
        }
    }
}
