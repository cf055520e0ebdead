//! CEL conditions: what the operator would refuse at its start is refused here.

use kube_cel::cel::Program;

use crate::diagnostic::{Code, Diagnostic, Span, did_you_mean};
use crate::spec::Spanned;

/// What a condition can look at.
const VARIABLES: [&str; 2] = ["object", "oldObject"];

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
    let references = program.references();
    let unknown = references
        .variables()
        .into_iter()
        .find(|name| !VARIABLES.contains(name))?;
    let help = did_you_mean(unknown, VARIABLES).map_or_else(
        || "a condition looks at `object`, and at `oldObject`, which was handled last".to_string(),
        |name| format!("did you mean `{name}`?"),
    );
    Some(error(format!("CEL knows no `{unknown}` here")).help(help))
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
