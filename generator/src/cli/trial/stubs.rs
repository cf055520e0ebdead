//! What each stub logs, so that a log line can be led back to its handler.
//!
//! A record names its object, but not the handler that it comes from.

use kopf_gen::fileset::{FileSet, Part};
use kopf_gen::model::{Family, Operator, Resource};

/// A function of the operator, as far as its log lines tell it apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stub {
    /// The kind that it handles.
    pub(super) kind: String,
    /// The id that it is registered under; the function's name if there are several.
    pub(super) label: String,
    /// It handles raw events, whose handlers leave no word of success.
    pub(super) is_for_events: bool,
    pattern: Pattern,
}

impl Stub {
    /// Whether the stub may have logged this.
    pub(super) fn logs(&self, text: &str) -> bool {
        self.pattern.matches(text)
    }
}

/// The functions of all resources, in order of registration.
pub(super) fn stubs(operator: &Operator, files: &FileSet) -> Vec<Stub> {
    let mut stubs = Vec::new();
    for resource in &operator.resources {
        let file = files.get(&format!("src/handlers/{}.rs", resource.module));
        for function in &resource.functions {
            let text = file
                .into_iter()
                .flat_map(|file| &file.parts)
                .find_map(|part| match part {
                    Part::Function { name, text, .. } if *name == function.name => Some(text.as_str()),
                    _ => None,
                });
            stubs.extend(text.and_then(Pattern::of_stub).map(|pattern| Stub {
                kind: resource.reference.kind.clone(),
                label: label(resource, &function.name),
                is_for_events: function.family == Family::Event,
                pattern,
            }));
        }
    }
    stubs
}

fn label(resource: &Resource, function: &str) -> String {
    let handlers = resource.handlers.iter().map(|entry| (&entry.function, &entry.id));
    let timers = resource.timers.iter().map(|entry| (&entry.function, &entry.id));
    let mut ids = handlers
        .chain(timers)
        .filter(|(name, _)| *name == function)
        .map(|(_, id)| id);
    match ids.next() {
        Some(first) if ids.all(|id| id == first) => first.clone(),
        _ => function.to_owned(),
    }
}

/// A format string, as the pieces between its placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Pattern(Vec<String>);

impl Pattern {
    /// The pattern of the first line that a function logs.
    fn of_stub(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("tracing::info!(")?;
        let literal = rest.trim_start().strip_prefix('"')?;
        let mut pieces = vec![String::new()];
        let mut chars = literal.chars().peekable();
        while let Some(char) = chars.next() {
            let piece = pieces.last_mut()?;
            match char {
                '"' => return Some(Self(pieces)),
                '\\' => piece.push(chars.next()?),
                '{' | '}' if chars.peek() == Some(&char) => piece.extend(chars.next()),
                '{' => {
                    chars.find(|char| *char == '}')?;
                    pieces.push(String::new());
                }
                char => piece.push(char),
            }
        }
        None
    }

    fn matches(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| only == text);
        };
        let Some(mut rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        for piece in middle {
            match rest.split_once(piece.as_str()) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        rest.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(line: &str) -> Pattern {
        Pattern::of_stub(&format!("pub async fn f() {{\n    tracing::info!({line});\n}}")).expect("a pattern")
    }

    #[test]
    fn placeholders_stand_for_anything() {
        let created = pattern("\"Created Greeting {name}\"");
        assert!(created.matches("Created Greeting hello"));
        assert!(!created.matches("Deleting Greeting hello"));
        let observed = pattern("\n        \"Observed an event of Pod {name}: {}\",\n        event[\"type\"]\n    ");
        assert!(observed.matches("Observed an event of Pod audited: \"ADDED\""));
        assert!(!observed.matches("Observed an event"));
        let changed = pattern(r#""Changed spec.{{a}} of B {name}: {old:?} to {new:?}""#);
        assert!(changed.matches("Changed spec.{a} of B b: Some(1) to None"));
    }

    #[test]
    fn texts_without_placeholders_match_as_a_whole() {
        let done = pattern(r#""It is \"done\"""#);
        assert!(done.matches("It is \"done\""));
        assert!(!done.matches("It is \"done\" now"));
    }
}
