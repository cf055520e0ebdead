//! What callers asked, in the order of arrival.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::ops::Deref;

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use serde_json::Value;
use tokio::sync::watch;

use crate::access::Attributes;

/// Requests that are remembered; a long run must not grow without bound.
const KEPT: usize = 100_000;

/// One request that came in, with the code of its answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RecordedRequest {
    /// The name of the caller, such as `system:serviceaccount:default:operator`; empty if it is not known.
    pub caller: String,
    /// What was to be done, in the words of RBAC: `get`, `list`, `watch`, `create`, `patch`, …
    pub verb: String,
    /// The plural of the kind, with the subresource: `pods`, `widgets/status`; empty for paths that are no resources.
    pub resource: String,
    /// The namespace; empty for cluster-scoped kinds and for all namespaces.
    pub namespace: String,
    /// The name of the object; empty for collections.
    pub name: String,
    /// The HTTP method.
    pub method: String,
    /// The path, without the query.
    pub path: String,
    /// The query as sent, without the question mark.
    pub query: String,
    /// The content type as sent; empty if there was none.
    pub content_type: String,
    /// The body, if it was JSON.
    pub body: Option<Value>,
    /// The code of the answer; nothing while there is none, as after a planned reset.
    pub status: Option<u16>,
}

/// Requests in the order of arrival: a slice of them, with ways to narrow and to count them. It prints one line each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Audit(Vec<RecordedRequest>);

impl Audit {
    /// Those of one caller.
    #[must_use]
    pub fn of_caller(self, name: &str) -> Self {
        self.retain(|request| request.caller == name)
    }

    /// Those with one verb, in the words of RBAC.
    #[must_use]
    pub fn with_verb(self, verb: &str) -> Self {
        self.retain(|request| request.verb == verb)
    }

    /// Those for one resource, such as `widgets` or `widgets/status`.
    #[must_use]
    pub fn for_resource(self, resource: &str) -> Self {
        self.retain(|request| request.resource == resource)
    }

    /// How many there were of each verb and resource.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<(String, String), usize> {
        let mut counts = BTreeMap::new();
        for request in &self.0 {
            *counts
                .entry((request.verb.clone(), request.resource.clone()))
                .or_default() += 1;
        }
        counts
    }

    fn retain(mut self, wanted: impl Fn(&RecordedRequest) -> bool) -> Self {
        self.0.retain(|request| wanted(request));
        self
    }
}

impl Deref for Audit {
    type Target = [RecordedRequest];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl IntoIterator for Audit {
    type Item = RecordedRequest;
    type IntoIter = std::vec::IntoIter<RecordedRequest>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Audit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for request in &self.0 {
            writeln!(formatter, "{request}")?;
        }
        Ok(())
    }
}

impl fmt::Display for RecordedRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status.map_or_else(|| "-".to_owned(), |code| code.to_string());
        let mark = if self.query.is_empty() { "" } else { "?" };
        let (method, path, query) = (&self.method, &self.path, &self.query);
        write!(formatter, "{status:>3} {method} {path}{mark}{query}")
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    caller: String,
    wanted: Attributes,
    method: String,
    path: String,
    query: String,
    content_type: String,
    body: Bytes,
    status: Option<u16>,
}

impl Entry {
    pub(crate) fn new(request: &Request<Bytes>, caller: String, wanted: Attributes) -> Self {
        let content_type = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        Self {
            caller,
            wanted,
            method: request.method().to_string(),
            path: request.uri().path().into(),
            query: request.uri().query().unwrap_or_default().into(),
            content_type: content_type.unwrap_or_default().into(),
            body: request.body().clone(),
            status: None,
        }
    }

    fn shown(self) -> RecordedRequest {
        let Attributes {
            verb,
            mut resource,
            subresource,
            namespace,
            name,
            ..
        } = self.wanted;
        if !subresource.is_empty() {
            resource = format!("{resource}/{subresource}");
        }
        RecordedRequest {
            caller: self.caller,
            verb,
            resource,
            namespace,
            name,
            method: self.method,
            path: self.path,
            query: self.query,
            content_type: self.content_type,
            body: serde_json::from_slice(&self.body).ok(),
            status: self.status,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    /// The number of the first entry, for answers that come after the log was cleared or cut.
    first: u64,
    changed: watch::Sender<u64>,
}

impl Log {
    /// Fires after every request and every answer.
    pub(crate) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Notes a request and returns its number.
    pub(crate) fn note(&mut self, entry: Entry) -> u64 {
        self.entries.push_back(entry);
        if self.entries.len() > KEPT {
            self.entries.pop_front();
            self.first += 1;
        }
        self.changed.send_modify(|count| *count += 1);
        self.first + self.entries.len() as u64 - 1
    }

    pub(crate) fn answered(&mut self, number: u64, status: u16) {
        let index = number
            .checked_sub(self.first)
            .and_then(|index| usize::try_from(index).ok());
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            entry.status = Some(status);
            self.changed.send_modify(|count| *count += 1);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.first += self.entries.len() as u64;
        self.entries.clear();
    }

    pub(crate) fn all(&self) -> Audit {
        Audit(self.entries.iter().cloned().map(Entry::shown).collect())
    }
}
