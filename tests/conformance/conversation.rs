//! A check's steps with one server: requests are sent, answers are collected and held against what is expected.

use std::collections::BTreeMap;
use std::time::Duration;

use http::Request;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use crate::checks::{Check, Expect, Step};
use crate::compare;
use crate::normal::Normaliser;
use crate::server::{Line, Server, Watch, body_of, pause};
use crate::webhooks;

/// How long a state may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was said, and what was wrong about it.
#[derive(Debug, Default)]
pub(crate) struct Conversation {
    pub(crate) answers: Vec<Answer>,
    pub(crate) failed: Vec<Failed>,
}

/// An answer in comparable form.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The index of its step.
    pub(crate) index: usize,
    /// The step in a few words.
    pub(crate) step: String,
    /// The code, and the body or the events.
    pub(crate) normal: Value,
}

/// A step that did not go as the check demands.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) step: String,
    pub(crate) why: String,
}

/// An answer as it came.
struct Raw {
    code: u16,
    headers: BTreeMap<String, String>,
    /// Of a watch, its events.
    body: Value,
    /// Whether the server ended a watch.
    ended: bool,
}

struct Speaker<'a> {
    server: &'a Server,
    variables: BTreeMap<String, String>,
    watches: BTreeMap<String, Watch>,
}

/// Takes the steps of a check, up to the first that is impossible.
pub(crate) async fn hold(server: &Server, check: &Check, place: &str) -> Conversation {
    let group = format!("{place}.example.com");
    let variables = [("ns", place), ("group", &group)].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let webhooks = webhooks::serve(place, &check.webhooks);
    let mut speaker = Speaker {
        server,
        variables: variables.into_iter().chain(webhooks).collect(),
        watches: BTreeMap::new(),
    };
    let mut conversation = Conversation::default();
    let mut normaliser = Normaliser::new(check.managed_fields);
    let prepared = timeout(2 * PATIENCE, speaker.prepare(check)).await;
    if let Err(why) = prepared.unwrap_or_else(|_| Err("does not answer in time".into())) {
        let step = "preparation".into();
        conversation.failed.push(Failed { step, why });
        return conversation;
    }
    for (index, step) in check.steps.iter().enumerate() {
        let rounds = if step.each.is_empty() {
            vec![String::new()]
        } else {
            step.each.clone()
        };
        for each in rounds {
            let title = match each.as_str() {
                "" => step.title(index),
                each => format!("{}, for {each}", step.title(index)),
            };
            speaker.variables.insert("each".into(), each);
            let title = speaker.filled(&title);
            let failed = |why: String| Failed {
                step: title.clone(),
                why,
            };
            let taken = timeout(2 * PATIENCE, speaker.take(step)).await;
            let raw = match taken.unwrap_or_else(|_| Err("does not answer in time".into())) {
                Ok(Some(raw)) => raw,
                Ok(None) => continue,
                Err(why) => {
                    conversation.failed.push(failed(why));
                    return conversation;
                }
            };
            let expect = step.expect.as_ref();
            let faults = expect.map(|expect| speaker.faults(expect, &raw)).unwrap_or_default();
            conversation.failed.extend(faults.into_iter().map(failed));
            for (name, pointer) in &step.save {
                match raw.body.pointer(pointer) {
                    Some(Value::String(text)) => speaker.variables.insert(name.clone(), text.clone()),
                    Some(Value::Null) | None => {
                        conversation
                            .failed
                            .push(failed(format!("has no {pointer} in its answer: {}", raw.body)));
                        return conversation;
                    }
                    Some(other) => speaker.variables.insert(name.clone(), other.to_string()),
                };
            }
            let mut body = normaliser.normal(&raw.body);
            if step.unordered {
                sort(&mut body);
            }
            let normal = json!({"code": raw.code, "headers": raw.headers, "body": body, "ended": raw.ended});
            conversation.answers.push(Answer {
                index,
                step: title,
                normal,
            });
        }
    }
    conversation
}

impl Speaker<'_> {
    /// The check's namespace and its kinds.
    async fn prepare(&self, check: &Check) -> Result<(), String> {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "{ns}"}});
        self.create("/api/v1/namespaces", namespace).await?;
        for crd in check.definitions() {
            let crd = self.filled_all(&crd);
            self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", crd.clone())
                .await?;
            // The real server serves a kind already before it takes the definition for established.
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let established = Step {
                request: Some(format!(
                    "GET /apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
                )),
                until: Some(Expect {
                    contains: [("/status/conditions/1/status".to_owned(), "True".to_owned())].into(),
                    ..Expect::default()
                }),
                ..Step::default()
            };
            self.request(&established).await?;
            let (group, plural) = (&crd["spec"]["group"], &crd["spec"]["names"]["plural"]);
            for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
                if version["served"] == true {
                    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                    let path = format!("/apis/{}/{}/{}", text(group), text(&version["name"]), text(plural));
                    let served = Step {
                        request: Some(format!("GET {path}")),
                        until: Some(Expect {
                            code: Some(200),
                            ..Expect::default()
                        }),
                        ..Step::default()
                    };
                    self.request(&served).await?;
                }
            }
        }
        Ok(())
    }

    async fn create(&self, path: &str, object: Value) -> Result<(), String> {
        let step = Step {
            request: Some(format!("POST {path}")),
            body: object,
            ..Step::default()
        };
        let answer = self.request(&step).await?;
        if answer.code == 201 {
            Ok(())
        } else {
            Err(format!("refuses: {}", answer.body))
        }
    }

    async fn take(&mut self, step: &Step) -> Result<Option<Raw>, String> {
        if let Some(path) = &step.watch {
            let response = self.send(step, "GET", path).await?;
            let code = response.status().as_u16();
            if code != 200 {
                let body = body_of(response.into_body()).await?;
                let headers = BTreeMap::new();
                let ended = false;
                return Ok(Some(Raw {
                    code,
                    headers,
                    body,
                    ended,
                }));
            }
            let mut watch = Watch::new(response.into_body());
            return match &step.name {
                Some(name) => {
                    self.watches.insert(name.clone(), watch);
                    Ok(None)
                }
                None => read(step, &mut watch).await.map(Some),
            };
        }
        if let Some(name) = &step.read {
            let watch = self
                .watches
                .get_mut(name)
                .ok_or_else(|| format!("has no watch {name}"))?;
            return read(step, watch).await.map(Some);
        }
        self.request(step).await.map(Some)
    }

    /// Sends a request, repeatedly if need be.
    async fn request(&self, step: &Step) -> Result<Raw, String> {
        let request = step.request.as_deref().unwrap_or_default();
        let (method, path) = request
            .split_once(' ')
            .ok_or("cannot be asked without a method and a path")?;
        let begin = Instant::now();
        loop {
            let response = self.send(step, method, path).await?;
            let code = response.status().as_u16();
            let text = |name: &str| {
                response
                    .headers()
                    .get_all(name)
                    .iter()
                    .map(|value| value.to_str().unwrap_or("?"))
                    .collect::<Vec<_>>()
                    .join(", ")
            };
            let headers = step
                .with_headers
                .iter()
                .map(|name| (name.clone(), text(name)))
                .collect();
            let body = body_of(response.into_body()).await?;
            let ended = false;
            let raw = Raw {
                code,
                headers,
                body,
                ended,
            };
            let faults = step
                .until
                .as_ref()
                .map(|until| self.faults(until, &raw))
                .unwrap_or_default();
            if faults.is_empty() {
                return Ok(raw);
            }
            if begin.elapsed() > PATIENCE {
                return Err(format!("never answers as awaited: {}", faults.join("; ")));
            }
            pause().await;
        }
    }

    async fn send(
        &self,
        step: &Step,
        method: &str,
        path: &str,
    ) -> Result<http::Response<kopf_runtime::kube::client::Body>, String> {
        let path = self.filled(path);
        if path.contains('{') {
            return Err(format!("cannot be asked for {path}: a variable is unknown"));
        }
        let path = encoded(&path);
        let watching = if step.watch.is_none() {
            ""
        } else if path.contains('?') {
            "&watch=true"
        } else {
            "?watch=true"
        };
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{path}{watching}"))
            .header("accept", step.accept.as_deref().unwrap_or("application/json"))
            // The server takes the name of the field manager from here.
            .header("user-agent", "conformance/1");
        for (name, value) in &step.headers {
            request = request.header(name, self.filled(value));
        }
        let body = match &step.raw {
            Some(raw) => self.filled(raw).into_bytes(),
            None if step.body.is_null() => Vec::new(),
            None => self.filled_all(&step.body).to_string().into_bytes(),
        };
        let media = match step.media.as_deref() {
            Some("merge") => "application/merge-patch+json",
            Some("json") => "application/json-patch+json",
            Some("strategic") => "application/strategic-merge-patch+json",
            Some("apply") => "application/apply-patch+yaml",
            Some("yaml") => "application/yaml",
            Some(other) => other,
            None => "application/json",
        };
        if !body.is_empty() || step.media.is_some() {
            request = request.header("content-type", media);
        }
        let token = step.token.as_ref().map(|token| self.filled(token));
        self.server.send(request, token.as_deref(), body).await
    }

    /// What of an answer is not as expected.
    fn faults(&self, expect: &Expect, raw: &Raw) -> Vec<String> {
        let mut faults = Vec::new();
        if let Some(code) = expect.code.filter(|&code| code != raw.code) {
            let said = raw.body["message"].as_str().unwrap_or_default();
            faults.push(format!("answers {}, not {code}: {said}", raw.code));
        }
        if !expect.body.is_null() {
            faults.extend(compare::lacks(&self.filled_all(&expect.body), &raw.body));
        }
        if let Some(events) = &expect.events {
            faults.extend(compare::lacks(&self.filled_all(events), &raw.body));
        }
        for (pointer, piece) in &expect.contains {
            let text = raw.body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            if !text.contains(&self.filled(piece)) {
                faults.push(format!("{pointer} is {text:?}, expected {piece:?} in it"));
            }
        }
        faults
    }

    /// A text with variables in it.
    fn filled(&self, text: &str) -> String {
        let variables = self.variables.iter();
        variables.fold(text.to_owned(), |text, (name, value)| {
            text.replace(&format!("{{{name}}}"), value)
        })
    }

    fn filled_all(&self, value: &Value) -> Value {
        match value {
            Value::Object(fields) => fields
                .iter()
                .map(|(key, value)| (self.filled(key), self.filled_all(value)))
                .collect(),
            Value::Array(items) => items.iter().map(|item| self.filled_all(item)).collect(),
            Value::String(text) => Value::String(self.filled(text)),
            other => other.clone(),
        }
    }
}

/// A path in which blanks and what else may not stand in a path is encoded.
fn encoded(path: &str) -> String {
    let encoded = path.chars().map(|c| match c {
        ' ' | '<' | '>' | '"' | '^' | '`' | '|' | '\\' => format!("%{:02X}", u32::from(c)),
        other => other.to_string(),
    });
    encoded.collect()
}

/// Reads the events that a step asks for.
async fn read(step: &Step, watch: &mut Watch) -> Result<Raw, String> {
    let deadline = Instant::now() + Duration::from_secs(step.seconds.unwrap_or(10));
    let mut events: Vec<Value> = Vec::new();
    let mut ended = false;
    while step.events.is_none_or(|wanted| events.len() < wanted) {
        match watch.next(deadline).await? {
            Line::Event(event) if event["type"] == "BOOKMARK" && !step.bookmarks => {}
            Line::Event(event) => events.push(event),
            Line::End => {
                ended = true;
                break;
            }
            Line::Silence if step.until_end => return Err("does not end the watch".into()),
            Line::Silence => break,
        }
    }
    Ok(Raw {
        code: 200,
        headers: BTreeMap::new(),
        body: Value::Array(events),
        ended,
    })
}

/// Brings events into an order of ours.
fn sort(events: &mut Value) {
    if let Some(events) = events.as_array_mut() {
        events.sort_by_cached_key(|event| {
            (
                event["object"]["metadata"]["name"].to_string(),
                event["type"].to_string(),
            )
        });
    }
}
