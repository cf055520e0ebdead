//! The language of label selectors: `a=b, c!=d, e in (f, g), h notin (i), j, !k, l>1, m<2`.

use std::iter::Peekable;
use std::str::CharIndices;

use serde_json::Value;

use crate::objects::metadata::{check_label_value, check_qualified};

/// What a selector demands of one label.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Requirement {
    key: String,
    rule: Rule,
}

#[derive(Debug, Clone, PartialEq)]
enum Rule {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

impl Requirement {
    /// Whether these labels are as demanded.
    pub(crate) fn accepts(&self, labels: &Value) -> bool {
        let value = labels.get(&self.key).and_then(Value::as_str);
        let among = |values: &[String]| value.is_some_and(|value| values.iter().any(|each| each == value));
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match &self.rule {
            Rule::In(values) => among(values),
            Rule::NotIn(values) => !among(values),
            Rule::Exists => value.is_some(),
            Rule::Absent => value.is_none(),
            Rule::Above(limit) => number().is_some_and(|number| number > *limit),
            Rule::Below(limit) => number().is_some_and(|number| number < *limit),
        }
    }
}

/// Reads a selector; the error is in the words of the server.
pub(crate) fn parse(text: &str) -> Result<Vec<Requirement>, String> {
    let mut parser = Parser {
        tokens: tokens(text),
        next: 0,
    };
    let mut requirements = Vec::new();
    loop {
        let token = parser.peek();
        match token {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {
                let requirement = parser.requirement();
                requirements.push(requirement.map_err(|why| format!("unable to parse requirement: {why}"))?);
                match parser.take() {
                    Token::End => return Ok(requirements),
                    Token::Symbol(",") => match parser.peek() {
                        Token::Word(_) | Token::Symbol("!") => {}
                        other => return Err(format!("found '{}', expected: identifier after ','", other.text())),
                    },
                    other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.text())),
                }
            }
            other => {
                return Err(format!(
                    "found '{}', expected: !, identifier, or 'end of string'",
                    other.text()
                ));
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    /// Symbols that mean nothing together.
    Nonsense(String),
    End,
}

impl Token {
    fn text(&self) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Symbol(symbol) => (*symbol).to_owned(),
            Self::Nonsense(text) => format!("error expected: keyword found '{text}'"),
            Self::End => String::new(),
        }
    }
}

const SYMBOLS: [&str; 9] = [")", ",", "!", "==", "=", ">", "!=", "(", "<"];

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn tokens(text: &str) -> Vec<Token> {
    let mut chars = text.char_indices().peekable();
    let mut tokens = Vec::new();
    while let Some(&(start, c)) = chars.peek() {
        if is_space(c) {
            chars.next();
        } else if is_symbol(c) {
            tokens.push(symbol(text, start, &mut chars));
        } else {
            while chars.next_if(|&(_, c)| !is_symbol(c) && !is_space(c)).is_some() {}
            let end = chars.peek().map_or(text.len(), |&(end, _)| end);
            tokens.push(Token::Word(text[start..end].to_owned()));
        }
    }
    tokens.push(Token::End);
    tokens
}

/// The longest symbol that begins here.
fn symbol(text: &str, start: usize, chars: &mut Peekable<CharIndices>) -> Token {
    let mut found = None;
    while let Some(&(at, c)) = chars.peek().filter(|&&(_, c)| is_symbol(c)) {
        let known = SYMBOLS
            .into_iter()
            .find(|&symbol| symbol == &text[start..at + c.len_utf8()]);
        if known.is_none() && found.is_some() {
            break;
        }
        found = known.or(found);
        chars.next();
    }
    let end = chars.peek().map_or(text.len(), |&(end, _)| end);
    found.map_or_else(|| Token::Nonsense(text[start..end].to_owned()), Token::Symbol)
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
}

impl Parser {
    fn peek(&self) -> Token {
        self.tokens.get(self.next).cloned().unwrap_or(Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == Token::Symbol("!");
        if absent {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other => return Err(format!("found '{}', expected: identifier", other.text())),
        };
        if let Some(why) = check_qualified(&key) {
            return Err(format!("<nil>: Invalid value: {key:?}: {why}"));
        }
        let rule = match self.peek() {
            _ if absent => Rule::Absent,
            Token::End | Token::Symbol(",") => Rule::Exists,
            _ => self.rule(&key)?,
        };
        Ok(Requirement { key, rule })
    }

    fn rule(&mut self, key: &str) -> Result<Rule, String> {
        let operator = match self.take() {
            Token::Symbol(symbol @ ("=" | "==" | "!=" | ">" | "<")) => symbol,
            Token::Word(word) if word == "in" => "in",
            Token::Word(word) if word == "notin" => "notin",
            other => {
                let found = other.text();
                return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        let values = if matches!(operator, "in" | "notin") {
            self.values()?
        } else {
            vec![self.value()?]
        };
        if matches!(operator, ">" | "<") {
            let Ok(limit) = values[0].parse() else {
                let why = "for 'Gt', 'Lt' operators, the value must be an integer";
                return Err(format!("values[0]: Invalid value: {:?}: {why}", values[0]));
            };
            return Ok(if operator == ">" {
                Rule::Above(limit)
            } else {
                Rule::Below(limit)
            });
        }
        let faults = values.iter().enumerate().filter_map(|(index, value)| {
            let why = check_label_value(value)?;
            Some(format!("values[{index}][{key}]: Invalid value: {value:?}: {why}"))
        });
        let faults: Vec<_> = faults.collect();
        match (&faults[..], operator) {
            ([], "!=" | "notin") => Ok(Rule::NotIn(values)),
            ([], _) => Ok(Rule::In(values)),
            ([fault], _) => Err(fault.clone()),
            (faults, _) => Err(format!("[{}]", faults.join(", "))),
        }
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(String::new());
        }
        match self.take() {
            Token::Word(word) => Ok(word),
            other => Err(format!("found '{}', expected: identifier", other.text())),
        }
    }

    /// The values in parentheses, sorted; where one is left out, it is empty.
    fn values(&mut self) -> Result<Vec<String>, String> {
        match self.take() {
            Token::Symbol("(") => {}
            other => return Err(format!("found '{}' expected: '('", other.text())),
        }
        match self.peek() {
            Token::Word(_) | Token::Symbol("," | ")") => {}
            other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.text())),
        }
        let mut values = Vec::new();
        loop {
            let value = match self.peek() {
                Token::Word(word) => {
                    self.take();
                    word
                }
                Token::Symbol("," | ")") => String::new(),
                other => return Err(format!("found '{}', expected: ',', or identifier", other.text())),
            };
            values.push(value);
            match self.take() {
                Token::Symbol(",") => {}
                Token::Symbol(")") => break,
                other => return Err(format!("found '{}', expected: ',' or ')'", other.text())),
            }
        }
        values.sort();
        values.dedup();
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn matches(selector: &str) -> bool {
        let labels = json!({"app": "web", "tier": "front", "size": "7"});
        let requirements = parse(selector).unwrap_or_else(|why| panic!("{selector}: {why}"));
        requirements.iter().all(|requirement| requirement.accepts(&labels))
    }

    #[test]
    fn labels_are_compared_by_equality() {
        assert!(matches("app=web,tier==front,app!=db,other!=x"));
        assert!(!matches("app=db"));
        assert!(!matches("app="));
        assert!(matches("app!="));
    }

    #[test]
    fn labels_are_compared_by_sets() {
        assert!(matches(
            "app in (web, db),tier notin (back),app,!other, other notin (x)"
        ));
        assert!(!matches("app notin (web)"));
        assert!(!matches("!app"));
        assert!(!matches("other"));
        assert!(!matches("app in ()"));
        assert!(matches("app notin (,)"));
    }

    #[test]
    fn labels_are_compared_as_numbers() {
        assert!(matches("size>6,size<8"));
        assert!(!matches("size>7"));
        assert!(!matches("app>1"), "not a number");
        assert!(!matches("other<1"), "not there");
    }

    #[test]
    fn words_may_be_keys_and_values() {
        assert_eq!(parse("in in (in,notin)").unwrap().len(), 1);
        assert_eq!(parse("notin").unwrap()[0].rule, Rule::Exists);
        assert_eq!(parse(" ").unwrap(), []);
    }

    #[test]
    fn nonsense_is_refused_in_the_words_of_the_server() {
        let refusals = [
            ("a in", "unable to parse requirement: found '' expected: '('"),
            ("a in (x", "unable to parse requirement: found '', expected: ',' or ')'"),
            (
                "a of (x)",
                "unable to parse requirement: found 'of', expected: in, notin, =, ==, !=, gt, lt",
            ),
            (",", "found ',', expected: !, identifier, or 'end of string'"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("a=b,", "found '', expected: identifier after ','"),
            ("(a)", "found '(', expected: !, identifier, or 'end of string'"),
            ("a=b=c", "found '=', expected: ',' or 'end of string'"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            (
                "a in (b c)",
                "unable to parse requirement: found 'c', expected: ',' or ')'",
            ),
            (
                "a>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value \
                 must be an integer",
            ),
        ];
        for (selector, why) in refusals {
            assert_eq!(parse(selector).unwrap_err(), why, "{selector}");
        }
    }

    #[test]
    fn keys_and_values_have_to_be_possible() {
        assert!(
            parse("-a")
                .unwrap_err()
                .contains("<nil>: Invalid value: \"-a\": name part must")
        );
        assert!(
            parse("a=-b")
                .unwrap_err()
                .contains("values[0][a]: Invalid value: \"-b\": a valid label must")
        );
        for odd in ["=", "a>", "a<>b", "ä=ö", "a==!", "!!a", "a in (((", "\u{0}"] {
            assert!(parse(odd).is_err(), "{odd}");
        }
    }
}
