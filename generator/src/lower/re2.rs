//! Patterns as the API server compiles them, which is with Go's `regexp`, in the syntax of Rust's.
//!
//! The two differ in brackets, braces, escapes and in what `\d`, `\w` and `\s` stand for, hence the translation; what
//! only Rust takes is refused.

mod rules;
#[cfg(test)]
mod tests;

use regex_syntax::ast;

const POSIX: &[&str] = &[
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

const CATEGORIES: &[&str] = &[
    "Any", "C", "Cc", "Cf", "Co", "Cs", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl", "Zp", "Zs",
];

/// Scripts whose name is as short as the codes of others, which Go does not know.
const SHORT_SCRIPTS: &[&str] = &["Ahom", "Cham", "Kawi", "Lisu", "Modi", "Newa", "Thai", "Toto"];

type Translated<T> = Result<T, String>;

/// The pattern for Rust, or why it is none of RE2.
pub(super) fn translate(pattern: &str) -> Translated<String> {
    let mut reader = Reader {
        rest: pattern,
        out: String::new(),
    };
    while !reader.rest.is_empty() {
        reader.piece()?;
    }
    let tree = ast::parse::Parser::new()
        .parse(&reader.out)
        .map_err(|error| reason(&error.kind().to_string()))?;
    rules::check(&tree)?;
    regex_syntax::Parser::new()
        .parse(&reader.out)
        .map_err(|error| match error {
            regex_syntax::Error::Parse(error) => reason(&error.kind().to_string()),
            regex_syntax::Error::Translate(error) => reason(&error.kind().to_string()),
            other => other.to_string(),
        })?;
    Ok(reader.out)
}

fn reason(text: &str) -> String {
    text.replace(
        "look-around, including look-ahead and look-behind, is",
        "look-around is",
    )
}

struct Reader<'p> {
    rest: &'p str,
    out: String,
}

impl Reader<'_> {
    fn take(&mut self) -> Option<char> {
        let character = self.rest.chars().next()?;
        self.rest = &self.rest[character.len_utf8()..];
        Some(character)
    }

    fn keep(&mut self) {
        let character = self.take();
        self.out.extend(character);
    }

    fn literal(&mut self, character: char) {
        if regex_syntax::is_meta_character(character) {
            self.out.push('\\');
        }
        self.out.push(character);
    }

    fn piece(&mut self) -> Translated<()> {
        match self.take() {
            Some('[') => self.class()?,
            Some('\\') => self.escape()?,
            Some('{') if !is_count(self.rest) => self.out.push_str(r"\{"),
            Some('(')
                if self.rest.starts_with("?<") && !self.rest.starts_with("?<=") && !self.rest.starts_with("?<!") =>
            {
                return Err("a named group is written `(?P<name>…)`".to_string());
            }
            Some(character) => self.out.push(character),
            None => {}
        }
        Ok(())
    }

    fn escape(&mut self) -> Translated<()> {
        if let Some(rest) = self.rest.strip_prefix('Q') {
            let (text, rest) = rest.split_once(r"\E").unwrap_or((rest, ""));
            self.out.push_str(&regex_syntax::escape(text));
            self.rest = rest;
            return Ok(());
        }
        let first = self.rest.chars().next();
        match first {
            Some('A' | 'b' | 'B' | 'z') => {
                self.out.push('\\');
                self.keep();
            }
            _ => {
                if let Some(set) = self.set()? {
                    self.out.push_str(&set);
                } else {
                    let character = self.escaped()?;
                    self.literal(character);
                }
            }
        }
        Ok(())
    }

    /// `\d`, `\pL` and their like, whose backslash has been read; Go's hold ASCII alone.
    fn set(&mut self) -> Translated<Option<String>> {
        let set = match self.rest.chars().next() {
            Some('d') => "[0-9]",
            Some('D') => "[^0-9]",
            Some('w') => "[0-9A-Za-z_]",
            Some('W') => "[^0-9A-Za-z_]",
            Some('s') => r"[\t\n\f\r\x20]",
            Some('S') => r"[^\t\n\f\r\x20]",
            Some('p' | 'P') => return self.property().map(Some),
            _ => return Ok(None),
        };
        self.take();
        Ok(Some(set.to_string()))
    }

    fn property(&mut self) -> Translated<String> {
        let mut negated = self.take() == Some('P');
        let written = match self.rest.strip_prefix('{') {
            Some(inner) => match inner.split_once('}') {
                Some((name, rest)) => {
                    self.rest = rest;
                    name.to_string()
                }
                None => return Err("`\\p{` is not closed".to_string()),
            },
            None => self.take().map(String::from).unwrap_or_default(),
        };
        let name = written.strip_prefix('^').unwrap_or(&written);
        negated ^= name.len() != written.len();
        if !is_property(name) {
            return Err(format!("`\\p{{{name}}}` is no category or script that it knows"));
        }
        Ok(format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' }))
    }

    /// A character behind a backslash.
    fn escaped(&mut self) -> Translated<char> {
        let Some(character) = self.take() else {
            return Err("a backslash ends it".to_string());
        };
        match character {
            '0'..='7' => {
                let more = self
                    .rest
                    .chars()
                    .take_while(|c| ('0'..='7').contains(c))
                    .take(2)
                    .count();
                if character != '0' && more == 0 {
                    return Err("backreferences are not part of it".to_string());
                }
                let digits = format!("{character}{}", &self.rest[..more]);
                self.rest = &self.rest[more..];
                code_point(&digits, 8)
            }
            'x' => {
                let digits = match self.rest.strip_prefix('{') {
                    Some(inner) => inner.split_once('}'),
                    None => self.rest.split_at_checked(2),
                };
                let Some((digits, rest)) = digits else {
                    return Err(r"`\x` needs two digits, or more in braces".to_string());
                };
                self.rest = rest;
                code_point(digits, 16)
            }
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
            '8' | '9' => Err("backreferences are not part of it".to_string()),
            other => Err(format!(r"the escape `\{other}` is not part of it")),
        }
    }

    /// What follows an opening bracket.
    fn class(&mut self) -> Translated<()> {
        const UNCLOSED: &str = "unclosed character class";
        self.out.push('[');
        if self.rest.starts_with('^') {
            self.keep();
        }
        let mut first = true;
        loop {
            if self.rest.is_empty() {
                return Err(UNCLOSED.to_string());
            }
            if self.rest.starts_with(']') && !first {
                self.keep();
                return Ok(());
            }
            first = false;
            // Go takes them for characters, which whoever writes them does not mean.
            if let Some(operator) = ["&&", "~~", "--["].into_iter().find(|one| self.rest.starts_with(one)) {
                let operator = operator.trim_end_matches('[');
                return Err(format!("`{operator}` within brackets is not part of it"));
            }
            if let Some((name, rest)) = self.rest.strip_prefix("[:").and_then(|inner| inner.split_once(":]")) {
                if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
                    return Err(format!("there is no class `[:{name}:]`"));
                }
                self.out.extend(["[:", name, ":]"]);
                self.rest = rest;
                continue;
            }
            let low = match self.member()? {
                Member::Set(set) => {
                    self.out.push_str(&set);
                    continue;
                }
                Member::One(character) => character,
            };
            self.literal(low);
            if let Some(rest) = self.rest.strip_prefix('-').filter(|rest| !rest.starts_with(']')) {
                self.rest = rest;
                if rest.is_empty() {
                    return Err(UNCLOSED.to_string());
                }
                let Member::One(high) = self.member()? else {
                    return Err("a range ends in a character".to_string());
                };
                self.out.push('-');
                self.literal(high);
            }
        }
    }

    fn member(&mut self) -> Translated<Member> {
        match self.take() {
            Some('\\') => match self.set()? {
                Some(set) => Ok(Member::Set(set)),
                None => self.escaped().map(Member::One),
            },
            Some(character) => Ok(Member::One(character)),
            None => Err("a backslash ends it".to_string()),
        }
    }
}

enum Member {
    Set(String),
    One(char),
}

fn code_point(digits: &str, radix: u32) -> Translated<char> {
    u32::from_str_radix(digits, radix)
        .ok()
        .and_then(char::from_u32)
        .ok_or_else(|| format!("`{digits}` is no code of a character"))
}

/// Whether an opening brace starts a repetition; other braces stand for themselves.
fn is_count(rest: &str) -> bool {
    let number = |text: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
    };
    let Some((inner, _)) = rest.split_once('}') else {
        return false;
    };
    match inner.split_once(',') {
        Some((least, most)) => number(least) && (most.is_empty() || number(most)),
        None => number(inner),
    }
}

fn is_property(name: &str) -> bool {
    let script = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphabetic() || c == '_')
        && (name.len() != 4 || SHORT_SCRIPTS.contains(&name))
        && regex_syntax::parse(&format!(r"\p{{Script={name}}}")).is_ok();
    script || CATEGORIES.contains(&name)
}
