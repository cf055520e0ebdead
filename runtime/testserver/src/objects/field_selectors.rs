//! The language of field selectors, and the fields that each kind can be selected by.

use serde_json::Value;

use crate::kinds::Kind;

/// What a selector demands of one field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    path: Vec<String>,
    /// What an absent field counts as.
    absent: &'static str,
    value: String,
    equal: bool,
}

/// A field that a kind can be selected by: its name, where it is if not there, and what it counts as when absent.
struct Known(&'static str, &'static str, &'static str);

const fn plain(name: &'static str) -> Known {
    Known(name, name, "")
}

const NAME: Known = plain("metadata.name");
const NAMESPACE: Known = plain("metadata.namespace");

const PODS: &[Known] = &[
    NAME,
    NAMESPACE,
    plain("spec.nodeName"),
    Known("spec.host", "spec.nodeName", ""),
    plain("spec.restartPolicy"),
    plain("spec.schedulerName"),
    plain("spec.serviceAccountName"),
    Known("spec.hostNetwork", "spec.hostNetwork", "false"),
    plain("status.phase"),
    plain("status.podIP"),
    plain("status.nominatedNodeName"),
];

const EVENTS: &[Known] = &[
    NAME,
    NAMESPACE,
    plain("involvedObject.kind"),
    plain("involvedObject.namespace"),
    plain("involvedObject.name"),
    plain("involvedObject.uid"),
    plain("involvedObject.apiVersion"),
    plain("involvedObject.resourceVersion"),
    plain("involvedObject.fieldPath"),
    plain("reason"),
    plain("reportingComponent"),
    Known("source", "source.component", ""),
    plain("type"),
];

// Stored as core events, whose fields have other names.
const NEW_EVENTS: &[Known] = &[
    NAME,
    NAMESPACE,
    Known("regarding.kind", "involvedObject.kind", ""),
    Known("regarding.namespace", "involvedObject.namespace", ""),
    Known("regarding.name", "involvedObject.name", ""),
    Known("regarding.uid", "involvedObject.uid", ""),
    Known("regarding.apiVersion", "involvedObject.apiVersion", ""),
    Known("regarding.resourceVersion", "involvedObject.resourceVersion", ""),
    Known("regarding.fieldPath", "involvedObject.fieldPath", ""),
    plain("reason"),
    Known("reportingController", "reportingComponent", ""),
    plain("type"),
];

const NODES: &[Known] = &[NAME, Known("spec.unschedulable", "spec.unschedulable", "false")];
const NAMESPACES: &[Known] = &[NAME, plain("status.phase")];
const SECRETS: &[Known] = &[NAME, NAMESPACE, plain("type")];
const SERVICES: &[Known] = &[NAME, NAMESPACE, plain("spec.clusterIP"), plain("spec.type")];
const CONTROLLERS: &[Known] = &[NAME, NAMESPACE, Known("status.replicas", "status.replicas", "0")];
const JOBS: &[Known] = &[NAME, NAMESPACE, Known("status.successful", "status.succeeded", "0")];
const SIGNING_REQUESTS: &[Known] = &[NAME, plain("spec.signerName")];

/// The kinds with more fields than name and namespace, or other ones.
fn known(kind: &Kind) -> Option<&'static [Known]> {
    Some(match (kind.group.as_str(), kind.plural.as_str()) {
        ("", "pods") => PODS,
        ("", "events") => EVENTS,
        ("events.k8s.io", "events") => NEW_EVENTS,
        ("", "nodes") => NODES,
        ("", "namespaces") => NAMESPACES,
        ("", "secrets") => SECRETS,
        ("", "services") => SERVICES,
        ("", "replicationcontrollers") => CONTROLLERS,
        ("batch", "jobs") => JOBS,
        ("certificates.k8s.io", "certificatesigningrequests") => SIGNING_REQUESTS,
        _ => return None,
    })
}

impl Field {
    /// The field that tells objects of one kind apart.
    pub(crate) fn name(value: &str) -> Self {
        Self::of(&NAME, value, true)
    }

    /// Whether an object of one name is asked for.
    pub(crate) fn is_name(&self) -> bool {
        self.equal && self.path == ["metadata", "name"]
    }

    /// Whether an object is as demanded.
    pub(crate) fn accepts(&self, object: &Value) -> bool {
        let found = self.path.iter().fold(object, |value, key| &value[key.as_str()]);
        let same = match found {
            Value::String(text) => *text == self.value,
            Value::Null => self.absent == self.value,
            other => {
                let text = other.to_string();
                text == self.value
            }
        };
        same == self.equal
    }

    fn of(known: &Known, value: &str, equal: bool) -> Self {
        Self {
            path: known.1.split('.').map(str::to_owned).collect(),
            absent: known.2,
            value: value.into(),
            equal,
        }
    }

    fn find(name: &str, value: &str, equal: bool, kind: &Kind, version: &str) -> Result<Self, String> {
        if let Some(fields) = known(kind) {
            let field = fields.iter().find(|known| known.0 == name);
            return field.map(|known| Self::of(known, value, equal)).ok_or_else(|| {
                if kind.group == "batch" {
                    format!(
                        "field label {name:?} not supported for {}{version}.{}",
                        kind.group, kind.kind
                    )
                } else {
                    format!("field label not supported: {name}")
                }
            });
        }
        if name == NAME.0 {
            return Ok(Self::of(&NAME, value, equal));
        }
        if name == NAMESPACE.0 && (kind.namespaced || !kind.custom || kind.group.ends_with(".k8s.io")) {
            return Ok(Self::of(&NAMESPACE, value, equal));
        }
        if !kind.custom {
            return Err(format!(
                "{name:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            ));
        }
        let selectable = kind
            .version(version)
            .is_some_and(|version| version.selectable.iter().any(|field| field == name));
        if !selectable {
            return Err(format!("field label not supported: {name}"));
        }
        Ok(Self {
            path: name.split('.').map(str::to_owned).collect(),
            absent: "",
            value: value.into(),
            equal,
        })
    }
}

/// Reads a selector; the error is in the words of the server.
pub(crate) fn parse(text: &str, kind: &Kind, version: &str) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    for term in terms(text).into_iter().filter(|term| !term.is_empty()) {
        let split = (0..term.len()).filter(|&at| term.is_char_boundary(at)).find_map(|at| {
            let operator = ["!=", "==", "="]
                .into_iter()
                .find(|operator| term[at..].starts_with(operator))?;
            Some((&term[..at], operator, &term[at + operator.len()..]))
        });
        let Some((name, operator, value)) = split else {
            return Err(format!("invalid selector: '{text}'; can't understand '{term}'"));
        };
        fields.push(Field::find(name, &unescape(value)?, operator != "!=", kind, version)?);
    }
    Ok(fields)
}

/// Splits at commas, unless they are escaped.
fn terms(text: &str) -> Vec<&str> {
    let (mut terms, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms
}

fn unescape(value: &str) -> Result<String, String> {
    let mut plain = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(escaped @ ('\\' | ',' | '=')) => plain.push(escaped),
                Some(other) => return Err(format!("invalid field selector: invalid escape sequence: \\{other}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".into()),
            },
            ',' | '=' => {
                let code = u32::from(c);
                return Err(format!("invalid field selector: unescaped character in value: {code}"));
            }
            other => plain.push(other),
        }
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::kinds::Kinds;

    fn select(group: &str, plural: &str, selector: &str, object: &Value) -> Result<bool, String> {
        let kinds = Kinds::built_in();
        let fields = parse(selector, kinds.get(group, plural).unwrap(), "v1")?;
        Ok(fields.iter().all(|field| field.accepts(object)))
    }

    #[test]
    fn fields_are_compared_by_path() {
        let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n1"}, "status": {}});
        for (selector, expected) in [
            ("metadata.name=a,spec.nodeName!=n2", true),
            ("spec.nodeName==n2", false),
            ("spec.host=n1", true),
            ("spec.hostNetwork=false", true),
            ("status.podIP=", true),
            (",,", true),
            ("metadata.name=a\\,b", false),
        ] {
            assert_eq!(select("", "pods", selector, &pod), Ok(expected), "{selector}");
        }
    }

    #[test]
    fn numbers_are_compared_as_texts() {
        let job = json!({"status": {"succeeded": 2}});
        assert_eq!(select("batch", "jobs", "status.successful=2", &job), Ok(true));
        assert_eq!(select("batch", "jobs", "status.successful=0", &json!({})), Ok(true));
    }

    #[test]
    fn unknown_fields_are_refused_in_the_words_of_each_kind() {
        let refusals = [
            ("", "pods", "x=y", "field label not supported: x"),
            (
                "",
                "namespaces",
                "metadata.namespace=y",
                "field label not supported: metadata.namespace",
            ),
            (
                "",
                "configmaps",
                "spec.x=y",
                "\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
            ),
            (
                "batch",
                "jobs",
                "x=y",
                "field label \"x\" not supported for batchv1.Job",
            ),
            ("", "pods", "a,b", "invalid selector: 'a,b'; can't understand 'a'"),
            (
                "",
                "pods",
                "a=b=c",
                "invalid field selector: unescaped character in value: 61",
            ),
            (
                "",
                "pods",
                "a=\\b",
                "invalid field selector: invalid escape sequence: \\b",
            ),
        ];
        for (group, plural, selector, why) in refusals {
            assert_eq!(
                select(group, plural, selector, &json!({})),
                Err(why.into()),
                "{selector}"
            );
        }
    }
}
