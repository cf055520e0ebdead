//! The tables of checks, as written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

/// One behaviour, in requests.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Check {
    /// The name of its file.
    #[serde(skip)]
    pub(crate) group: String,
    /// The behaviour in a sentence.
    #[serde(rename = "check")]
    pub(crate) sentence: String,
    /// The oldest server that has it.
    #[serde(default = "oldest", deserialize_with = "release")]
    pub(crate) since: (u32, u32),
    /// Names of files in `crds/`, whole definitions, or only their schemas.
    #[serde(default)]
    pub(crate) crds: Vec<Value>,
    /// Whether ownership of fields is compared too.
    #[serde(default, rename = "managedFields")]
    pub(crate) managed_fields: bool,
    /// What webhooks of the suite answer, by name.
    #[serde(default)]
    pub(crate) webhooks: BTreeMap<String, Value>,
    pub(crate) steps: Vec<Step>,
}

/// A request, a watch that is opened, or one that is read on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Method and path.
    pub(crate) request: Option<String>,
    /// The path of a watch.
    pub(crate) watch: Option<String>,
    /// Opens the watch without reading it, under this name.
    #[serde(rename = "as")]
    pub(crate) name: Option<String>,
    /// The name of the watch to read on.
    pub(crate) read: Option<String>,
    /// How many events to read.
    pub(crate) events: Option<usize>,
    /// Reads until the server ends the watch.
    #[serde(default)]
    pub(crate) until_end: bool,
    /// Bookmarks count as events.
    #[serde(default)]
    pub(crate) bookmarks: bool,
    /// The order of the events does not matter.
    #[serde(default)]
    pub(crate) unordered: bool,
    /// The most time that reading may take.
    pub(crate) seconds: Option<u64>,
    /// The body's media type: in short for patches, or as such.
    #[serde(rename = "type")]
    pub(crate) media: Option<String>,
    pub(crate) accept: Option<String>,
    /// Whose request it is: a bearer token.
    pub(crate) token: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) body: Value,
    /// The body as a text.
    pub(crate) raw: Option<String>,
    /// Repeats the step for each of these, with `{each}`.
    #[serde(default, rename = "for")]
    pub(crate) each: Vec<String>,
    /// Repeats the request until the answer is like this.
    pub(crate) until: Option<Expect>,
    /// Names for parts of the answer's body.
    #[serde(default)]
    pub(crate) save: BTreeMap<String, String>,
    /// Headers of the answer that are compared.
    #[serde(default)]
    pub(crate) with_headers: Vec<String>,
    /// Why messages are not compared.
    pub(crate) wording: Option<String>,
    /// What in the answer's body is not compared, and why.
    #[serde(default)]
    pub(crate) ignore: BTreeMap<String, String>,
    pub(crate) expect: Option<Expect>,
}

/// What an answer is to be like; a number stands for its code alone.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "CodeOrExpect")]
pub(crate) struct Expect {
    pub(crate) code: Option<u16>,
    /// What is in the body, besides other things; null is for what is not there.
    pub(crate) body: Value,
    /// Pieces of texts in the body.
    pub(crate) contains: BTreeMap<String, String>,
    /// The events of a watch, each in part.
    pub(crate) events: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum CodeOrExpect {
    Code(u16),
    Expect(WholeExpect),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WholeExpect {
    code: Option<u16>,
    #[serde(default)]
    body: Value,
    #[serde(default)]
    contains: BTreeMap<String, String>,
    events: Option<Value>,
}

impl From<CodeOrExpect> for Expect {
    fn from(written: CodeOrExpect) -> Self {
        match written {
            CodeOrExpect::Code(code) => Self {
                code: Some(code),
                ..Self::default()
            },
            CodeOrExpect::Expect(whole) => Self {
                code: whole.code,
                body: whole.body,
                contains: whole.contains,
                events: whole.events,
            },
        }
    }
}

impl Check {
    /// Group and sentence.
    pub(crate) fn title(&self) -> String {
        format!("{}: {}", self.group, self.sentence)
    }

    /// The definitions to install, with their variables as written.
    pub(crate) fn definitions(&self) -> Vec<Value> {
        self.crds.iter().map(definition).collect()
    }
}

impl Step {
    /// The step in a few words.
    pub(crate) fn title(&self, index: usize) -> String {
        let watch = self.watch.as_ref().map(|path| format!("watch {path}"));
        let read = self.read.as_ref().map(|name| format!("read {name}"));
        let what = self.request.clone().or(watch).or(read).unwrap_or_default();
        format!("step {}, {what}", index + 1)
    }

    /// Pointers to what is not compared, later items of a list first, since earlier ones move them when removed.
    pub(crate) fn ignored(&self) -> impl Iterator<Item = &str> {
        let messages: &[&str] = match self.wording {
            Some(_) => &["/message", "/details/causes/*/message", "/*/object/message"],
            None => &[],
        };
        let ignored = self.ignore.keys().rev().map(String::as_str);
        ignored.chain(messages.iter().copied())
    }

    fn fault(&self, newer: bool) -> Option<&'static str> {
        let kinds = [&self.request, &self.watch, &self.read];
        let reads = self.read.is_some() || (self.watch.is_some() && self.name.is_none());
        if kinds.iter().filter(|kind| kind.is_some()).count() != 1 {
            Some("a step is either a request, a watch or a read")
        } else if reads != (self.events.is_some() || self.until_end) {
            Some("what is read ends after a number of events or until_end, and nothing else does")
        } else if newer && self.name.is_none() && self.expect.is_none() && self.until.is_none() {
            Some("what no server is compared with needs to say what it expects")
        } else if self
            .wording
            .iter()
            .chain(self.ignore.values())
            .any(|reason| reason.len() < 10)
        {
            Some("what is not compared needs a reason")
        } else {
            None
        }
    }
}

/// The checks of all files, and what is wrong with the rows that are none.
pub(crate) fn all() -> (Vec<Check>, Vec<String>) {
    let files = fs::read_dir(folder().join("checks")).expect("the tables are there");
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let (mut checks, mut faults): (Vec<Check>, _) = (Vec::new(), Vec::new());
    for row in files.iter().flat_map(|file| read(file)) {
        match row {
            Ok(check) if checks.iter().any(|other| other.title() == check.title()) => {
                faults.push(format!("{}: there are two of it", check.title()));
            }
            Ok(check) => checks.push(check),
            Err(fault) => faults.push(fault),
        }
    }
    (checks, faults)
}

fn read(file: &Path) -> Vec<Result<Check, String>> {
    let group = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(file).expect("a table is a text");
    match yaml::<Vec<Value>>(&text) {
        Ok(rows) => rows.into_iter().map(|row| parse(&group, row)).collect(),
        Err(error) => vec![Err(format!("{group}: {error}"))],
    }
}

/// Of YAML 1.2, to which `y` and `no` are words.
fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_yaml::Error> {
    let options = serde_yaml::options! { strict_booleans: true };
    serde_yaml::from_str_with_options(text, options)
}

fn parse(group: &str, row: Value) -> Result<Check, String> {
    let title = format!(
        "{group}: {}",
        row["check"].as_str().unwrap_or("a check without a sentence")
    );
    let mut check: Check = serde_json::from_value(row).map_err(|error| format!("{title}: {error}"))?;
    check.group = group.into();
    let newer = check.since > oldest();
    for (index, step) in check.steps.iter().enumerate() {
        if let Some(fault) = step.fault(newer) {
            return Err(format!("{title}: {}: {fault}", step.title(index)));
        }
    }
    Ok(check)
}

fn definition(written: &Value) -> Value {
    if written.get("apiVersion").is_some() {
        return written.clone();
    }
    let name = written.as_str().unwrap_or("open");
    let file = folder().join(format!("crds/{name}.yaml"));
    let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut crd: Value = yaml(&text).expect("a definition is YAML");
    if let Some(schema) = written.get("schema") {
        crd["spec"]["versions"][0]["schema"] = json!({"openAPIV3Schema": schema});
    }
    crd
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance")
}

/// The oldest server that checks are compared with.
fn oldest() -> (u32, u32) {
    (1, 20)
}

fn release<'de, D: serde::Deserializer<'de>>(from: D) -> Result<(u32, u32), D::Error> {
    let text = String::deserialize(from)?;
    let parts = text
        .split_once('.')
        .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    parts.ok_or_else(|| serde::de::Error::custom(format!("a release is written like \"1.20\", not {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault_of(row: Value) -> String {
        parse("group", row)
            .map(|check| check.title())
            .expect_err("the row is faulty")
    }

    #[test]
    fn misspelt_fields_are_refused() {
        let fault = fault_of(json!({"check": "a", "steps": [{"request": "GET /", "expct": 200}]}));
        assert!(fault.contains("expct"), "{fault}");
    }

    #[test]
    fn what_is_not_compared_has_expectations() {
        let fault = fault_of(json!({"check": "a", "since": "1.27", "steps": [{"request": "GET /"}]}));
        assert!(fault.contains("needs to say what it expects"), "{fault}");
    }

    #[test]
    fn releases_are_numbers_not_fractions() {
        let row = json!({"check": "a", "since": "1.9", "steps": []});
        assert!(parse("group", row).unwrap().since < oldest());
        fault_of(json!({"check": "a", "since": 1.2, "steps": []}));
    }

    #[test]
    fn words_are_no_booleans() {
        let read: Value = yaml("{a: y, b: no, c: on, d: true}").unwrap();
        assert_eq!(read, json!({"a": "y", "b": "no", "c": "on", "d": true}));
    }

    #[test]
    fn excuses_have_reasons() {
        let fault = fault_of(json!({"check": "a", "steps": [{"request": "GET /", "wording": "so"}]}));
        assert!(fault.contains("reason"), "{fault}");
    }
}
