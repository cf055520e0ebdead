//! Paths into objects as columns of tables have them, such as `.status.conditions[?(@.type=="Ready")].status`.
//!
//! The syntax is that of `kubectl`, without texts around paths, and without loops.

use serde_json::Value;

/// A path that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path(Vec<Step>);

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Field(String),
    /// Items of a list: the first and the one after the last, counted from the end if negative, and the distance.
    Slice(Option<i64>, Option<i64>, i64),
    Index(i64),
    /// All items of a list, or all values of a map.
    All,
    /// A value and everything in it.
    Deep,
    Union(Vec<Path>),
    Filter(Term, Option<(Comparison, Term)>),
}

#[derive(Debug, Clone, PartialEq)]
enum Term {
    Path(Path),
    Literal(Value),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The values that a path leads to; nothing too if the path cannot be read, or does not fit the object.
pub(crate) fn evaluate<'a>(path: &str, object: &'a Value) -> Vec<&'a Value> {
    let path = parse(path);
    path.ok().and_then(|path| path.follow(object)).unwrap_or_default()
}

/// Reads a path, which begins with a dot or a bracket.
pub(crate) fn parse(text: &str) -> Result<Path, String> {
    let mut reader = Reader { rest: text };
    let mut steps = Vec::new();
    while let Some(step) = reader.step()? {
        steps.push(step);
    }
    Ok(Path(steps))
}

impl Path {
    /// The values at the end; nothing if a step does not fit.
    fn follow<'a>(&self, object: &'a Value) -> Option<Vec<&'a Value>> {
        let mut values = vec![object];
        for step in &self.0 {
            let mut next = Vec::new();
            for value in values {
                step.take(value, &mut next)?;
            }
            values = next;
        }
        Some(values)
    }
}

impl Step {
    fn take<'a>(&self, value: &'a Value, found: &mut Vec<&'a Value>) -> Option<()> {
        match self {
            Self::Field(name) => found.extend(value.get(name)),
            Self::All => match value {
                Value::Array(items) => found.extend(items),
                Value::Object(fields) => found.extend(fields.values()),
                _ => {}
            },
            Self::Deep => deep(value, found),
            Self::Index(index) => {
                if value.is_null() {
                    return Some(());
                }
                let items = value.as_array()?;
                found.push(items.get(place(*index, items.len())?)?);
            }
            Self::Slice(start, end, step) => {
                if value.is_null() {
                    return Some(());
                }
                let items = value.as_array()?;
                let (start, end) = (
                    place(start.unwrap_or(0), items.len())?,
                    end.map(|end| place(end, items.len())),
                );
                let end = end.unwrap_or(Some(items.len()))?;
                let step = usize::try_from(*step).ok().filter(|&step| step > 0)?;
                found.extend(items.get(start..end)?.iter().step_by(step));
            }
            Self::Union(paths) => {
                for path in paths {
                    found.extend(path.follow(value)?);
                }
            }
            Self::Filter(left, comparison) => {
                if value.is_null() {
                    return Some(());
                }
                for item in value.as_array()? {
                    if passes(left, comparison.as_ref(), item)? {
                        found.push(item);
                    }
                }
            }
        }
        Some(())
    }
}

fn deep<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    found.push(value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| deep(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| deep(value, found)),
        _ => {}
    }
}

/// A place in a list, from its end if negative.
fn place(index: i64, length: usize) -> Option<usize> {
    let from_end = i64::try_from(length).ok()? + index;
    usize::try_from(if index < 0 { from_end } else { index }).ok()
}

/// Whether an item passes a filter; nothing if the values cannot be compared.
fn passes(left: &Term, comparison: Option<&(Comparison, Term)>, item: &Value) -> Option<bool> {
    let left = left.values(item)?;
    let Some((comparison, right)) = comparison else {
        return Some(!left.is_empty());
    };
    let right = right.values(item)?;
    match (&left[..], &right[..]) {
        ([], _) => Some(false),
        ([left], [right]) => comparison.holds(left, right),
        _ => None,
    }
}

impl Term {
    fn values<'a>(&'a self, item: &'a Value) -> Option<Vec<&'a Value>> {
        match self {
            Self::Path(path) => path.follow(item),
            Self::Literal(value) => Some(vec![value]),
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> Option<bool> {
        let order = match (left, right) {
            (Value::String(left), Value::String(right)) => left.cmp(right),
            (Value::Number(left), Value::Number(right)) if left.is_f64() == right.is_f64() => {
                left.as_f64()?.total_cmp(&right.as_f64()?)
            }
            (Value::Bool(left), Value::Bool(right)) if matches!(self, Self::Equal | Self::Unequal) => left.cmp(right),
            _ => return None,
        };
        Some(match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        })
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<Option<Step>, String> {
        loop {
            if let Some(rest) = self.rest.strip_prefix("[?(") {
                self.rest = rest;
                return self.filter().map(Some);
            }
            if let Some(rest) = self.rest.strip_prefix("..") {
                // What follows is a field even without a dot of its own.
                let bare = rest
                    .chars()
                    .next()
                    .is_some_and(|next| next.is_alphanumeric() || "_*".contains(next));
                self.rest = if bare { &self.rest[1..] } else { rest };
                return Ok(Some(Step::Deep));
            }
            let mut characters = self.rest.chars();
            let Some(first) = characters.next() else {
                return Ok(None);
            };
            self.rest = characters.as_str();
            match first {
                ' ' | '@' | '$' => {}
                '.' => return self.field().map(Some),
                '[' => return self.list().map(Some),
                other => return Err(format!("unrecognized character in action: {other:?}")),
            }
        }
    }

    fn field(&mut self) -> Result<Step, String> {
        let mut name = String::new();
        let mut characters = self.rest.chars();
        loop {
            let before = characters.as_str();
            match characters.next() {
                Some('\\') => name.extend(characters.next()),
                Some(end) if end.is_whitespace() || ".,[]$@{}".contains(end) => {
                    self.rest = before;
                    break;
                }
                Some(other) => name.push(other),
                None => {
                    self.rest = "";
                    break;
                }
            }
        }
        match name.as_str() {
            "" if self.rest.is_empty() => Err("unclosed action".into()),
            "*" => Ok(Step::All),
            _ => Ok(Step::Field(name)),
        }
    }

    fn list(&mut self) -> Result<Step, String> {
        let (inner, rest) = self.rest.split_once(']').ok_or("unterminated array")?;
        self.rest = rest;
        let options: Vec<_> = inner.split(',').map(str::trim).collect();
        if options.len() > 1 {
            let options = options.into_iter().map(|option| parse(&format!("[{option}]")));
            return Ok(Step::Union(options.collect::<Result<_, _>>()?));
        }
        let inner = options[0];
        if inner == "*" {
            return Ok(Step::All);
        }
        if let Some(name) = unquote(inner) {
            return Ok(Step::Field(name));
        }
        let parts: Vec<_> = inner.split(':').collect();
        let numbers: Result<Vec<Option<i64>>, _> = parts
            .iter()
            .map(|part| {
                if part.is_empty() {
                    Ok(None)
                } else {
                    part.parse().map(Some)
                }
            })
            .collect();
        match numbers.as_deref() {
            Ok([Some(index)]) => Ok(Step::Index(*index)),
            Ok([start, end]) => Ok(Step::Slice(*start, *end, 1)),
            Ok([start, end, step]) => Ok(Step::Slice(*start, *end, step.unwrap_or(1))),
            _ => Err(format!("invalid array index {inner}")),
        }
    }

    fn filter(&mut self) -> Result<Step, String> {
        let mut quote = None;
        let end = self
            .rest
            .char_indices()
            .find_map(|(index, character)| match (character, quote) {
                ('"' | '\'', None) => {
                    quote = Some(character);
                    None
                }
                (_, Some(open)) => {
                    if character == open {
                        quote = None;
                    }
                    None
                }
                (')', None) => Some(index),
                _ => None,
            });
        let (inner, rest) = self.rest.split_at(end.ok_or("unterminated filter")?);
        self.rest = rest[1..].strip_prefix(']').ok_or("unclosed array expect ]")?;
        let operator = |character: char| "!<>=".contains(character);
        let Some(start) = inner.find(operator) else {
            return Ok(Step::Filter(term(inner)?, None));
        };
        let (left, rest) = inner.split_at(start);
        let length = rest.find(|character| !operator(character)).unwrap_or(rest.len());
        let (operator, right) = rest.split_at(length);
        let comparison = match operator {
            "==" => Comparison::Equal,
            "!=" => Comparison::Unequal,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            other => return Err(format!("unrecognized filter operator {other}")),
        };
        Ok(Step::Filter(term(left)?, Some((comparison, term(right)?))))
    }
}

fn term(text: &str) -> Result<Term, String> {
    let text = text.trim();
    if let Some(literal) = unquote(text) {
        return Ok(Term::Literal(literal.into()));
    }
    match text {
        "true" => Ok(Term::Literal(true.into())),
        "false" => Ok(Term::Literal(false.into())),
        number if number.starts_with(|first: char| first.is_ascii_digit() || "+-".contains(first)) => {
            let value = serde_json::from_str(number.trim_start_matches('+'));
            value
                .map(Term::Literal)
                .map_err(|_| format!("cannot parse number {number}"))
        }
        path if path.starts_with(['@', '$', '.', '[']) => parse(path).map(Term::Path),
        other => Err(format!("unrecognized identifier {other}")),
    }
}

fn unquote(text: &str) -> Option<String> {
    let inner = ['\'', '"']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
    inner.map(|inner| inner.replace("\\\"", "\"").replace("\\'", "'"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Value {
        json!({
            "metadata": {"labels": {"a.b/c": "x"}},
            "spec": {"list": [{"n": 1, "t": "a"}, {"n": 2, "t": "b"}, {"n": 3}], "none": null, "flag": true},
        })
    }

    #[test]
    fn paths_lead_to_values() {
        for (path, values) in [
            (".spec.flag", json!([true])),
            (".metadata.labels.a\\.b/c", json!(["x"])),
            (".metadata.labels['a.b/c']", json!(["x"])),
            (".spec.list[0].n", json!([1])),
            (".spec.list[-1].n", json!([3])),
            (".spec.list[1:].n", json!([2, 3])),
            (".spec.list[0:3:2].n", json!([1, 3])),
            (".spec.list[0,2].n", json!([1, 3])),
            (".spec.list[*].n", json!([1, 2, 3])),
            (".spec.list.*.n", json!([1, 2, 3])),
            ("..t", json!(["a", "b"])),
            (".spec.none", json!([null])),
            (".spec.missing.more", json!([])),
            (".spec['flag','none']", json!([true, null])),
        ] {
            assert_eq!(json!(evaluate(path, &object())), values, "{path}");
        }
    }

    #[test]
    fn filters_choose_items() {
        for (path, values) in [
            (r#".spec.list[?(@.t=="b")].n"#, json!([2])),
            (".spec.list[?(@.t == 'a')].n", json!([1])),
            (".spec.list[?(@.t!='a')].n", json!([2])),
            (".spec.list[?(@.n>=2)].n", json!([2, 3])),
            (".spec.list[?(@.t)].n", json!([1, 2])),
            (r#".spec.list[?(@.t==")")].n"#, json!([])),
        ] {
            assert_eq!(json!(evaluate(path, &object())), values, "{path}");
        }
    }

    #[test]
    fn what_does_not_fit_leads_nowhere() {
        for path in [
            ".spec[0]",
            ".spec.list[9]",
            ".spec.list[?(@.n=='x')]",
            ".spec.flag[?(@.x)]",
        ] {
            assert_eq!(evaluate(path, &object()), Vec::<&Value>::new(), "{path}");
        }
    }

    #[test]
    fn other_texts_are_no_paths() {
        for path in [".a[", ".a[?(@.x", ".a[?(@.x=='y')", ".a[x]", ".a.", ".a[?(@.x~='y')]"] {
            assert!(parse(path).is_err(), "{path}");
        }
    }
}
