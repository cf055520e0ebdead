//! CEL conditions: what the operator would refuse at its start is refused here.

use kube_cel::cel::Program;
use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedExpr};

use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean};
use crate::spec::Spanned;

/// What a condition can look at.
const VARIABLES: [&str; 2] = ["object", "oldObject"];

/// The function of the language that conditions do without.
const TYPE: &str = "type";

/// What is wrong with an expression, whose first character stands at `start` if it is in the file as it is.
pub(super) fn fault(expression: &Spanned<String>, start: Option<usize>) -> Option<Diagnostic> {
    let text = expression.value.as_str();
    let error = |message: String| Diagnostic::error(Code::Cel, expression.span, message);
    if text.trim().is_empty() {
        return Some(error("`cel` is empty".to_string()).help("write a condition: object.spec.replicas > 0"));
    }
    let program = match Program::compile(text) {
        Ok(program) => program,
        Err(errors) => {
            let first = errors.errors.first();
            let message = first.map_or_else(|| errors.to_string(), |first| first.msg.clone());
            let mut fault = error(format!("this is no CEL expression: {}", message.trim()));
            if let (Some(first), Some(start)) = (first, start) {
                fault.span = place(text, first.pos, start).unwrap_or(fault.span);
            }
            return Some(fault.help("such as object.spec.replicas > 0, or object.spec.engine == 'postgres'"));
        }
    };
    let unknown = unknown(program.expression(), &mut Vec::new())?;
    let help = if unknown == TYPE {
        "no condition can ask for a type; the schema settles it, and `has(object.spec.size)` tells whether it is there"
            .to_string()
    } else {
        did_you_mean(unknown, VARIABLES).map_or_else(
            || "a condition looks at `object`, and at `oldObject`, which was handled last".to_string(),
            |name| format!("did you mean `{name}`?"),
        )
    };
    Some(error(format!("CEL knows no `{unknown}` here")).help(help))
}

/// The first name that neither the condition is given nor a macro around it has introduced.
fn unknown<'e>(expression: &'e IdedExpr, known: &mut Vec<&'e str>) -> Option<&'e str> {
    match &expression.expr {
        Expr::Unspecified | Expr::Literal(_) => None,
        Expr::Ident(name) => {
            let name = name.as_str();
            (!VARIABLES.contains(&name) && !known.contains(&name)).then_some(name)
        }
        Expr::Select(select) => unknown(&select.operand, known),
        // The library behind the operator's conditions has no types among its values.
        Expr::Call(call) if call.func_name == TYPE && call.target.is_none() => Some(TYPE),
        Expr::Call(call) => {
            let mut parts = call.target.as_deref().into_iter().chain(&call.args);
            parts.find_map(|part| unknown(part, known))
        }
        Expr::List(list) => list.elements.iter().find_map(|element| unknown(element, known)),
        Expr::Map(map) => map
            .entries
            .iter()
            .find_map(|entry| unknown_in_entry(&entry.expr, known)),
        Expr::Struct(fields) => fields
            .entries
            .iter()
            .find_map(|entry| unknown_in_entry(&entry.expr, known)),
        Expr::Comprehension(macro_) => {
            let outside = [&macro_.iter_range, &macro_.accu_init];
            if let Some(name) = outside.into_iter().find_map(|part| unknown(part, known)) {
                return Some(name);
            }
            let depth = known.len();
            known.extend([macro_.iter_var.as_str(), macro_.accu_var.as_str()]);
            known.extend(macro_.iter_var2.as_deref());
            let inside = [&macro_.loop_cond, &macro_.loop_step, &macro_.result];
            let name = inside.into_iter().find_map(|part| unknown(part, known));
            known.truncate(depth);
            name
        }
    }
}

fn unknown_in_entry<'e>(entry: &'e EntryExpr, known: &mut Vec<&'e str>) -> Option<&'e str> {
    match entry {
        EntryExpr::StructField(field) => unknown(&field.value, known),
        EntryExpr::MapEntry(entry) => unknown(&entry.key, known).or_else(|| unknown(&entry.value, known)),
    }
}

/// The character at a line and a column of an expression that stands on one line.
fn place(text: &str, (line, column): (isize, isize), start: usize) -> Option<Span> {
    if line != 1 || text.contains('\n') {
        return None;
    }
    let column = usize::try_from(column).ok()?.saturating_sub(1);
    let (at, found) = text.char_indices().nth(column)?;
    Some(Span::new(start + at, start + at + found.len_utf8()))
}

#[cfg(test)]
mod tests {
    use super::fault;
    use crate::diagnostic::Span;
    use crate::spec::Spanned;

    fn message(expression: &str) -> Option<String> {
        let expression = Spanned {
            value: expression.to_owned(),
            span: Span::new(0, expression.len()),
        };
        fault(&expression, None).map(|fault| fault.message)
    }

    #[test]
    fn macros_introduce_names_of_their_own() {
        for good in [
            "object.spec.l.all(x, x != '')",
            "object.spec.l.exists(x, x == oldObject.spec.l[0])",
            "object.spec.l.exists_one(x, x == 'a')",
            "object.spec.l.filter(x, x > 1).map(y, y * 2).all(z, z < 9)",
            "object.spec.l.map(x, x > 1, x * 2).size() > 0",
            "object.spec.l.all(x, object.spec.l.exists(y, {'k': [x, y]}.size() == 1))",
            "has(object.spec.n) && size(object.spec.l) > 0",
        ] {
            assert_eq!(message(good), None, "{good}");
        }
        for (bad, name) in [
            ("object.spec.l.all(x, y != '')", "y"),
            ("x.all(x, x != '')", "x"),
            ("object.spec.l.all(x, x != '') && x == 1", "x"),
            ("object.spec.l.all(x, x.exists(y, y == 1) && y == 2)", "y"),
            ("{'k': self.x}.size() > 0", "self"),
            ("[object, other].size() > 0", "other"),
            ("type(object.spec.n) == int", "type"),
        ] {
            assert_eq!(message(bad), Some(format!("CEL knows no `{name}` here")), "{bad}");
        }
    }
}
