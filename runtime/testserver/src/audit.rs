//! The record of what clients asked.

use std::collections::VecDeque;

use bytes::Bytes;
use http::Request;
use http::header::CONTENT_TYPE;
use serde_json::Value;

/// Requests that are remembered; a long run must not grow without bound.
const KEPT: usize = 100_000;

/// One request that came in, with the code of its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRequest {
    /// The name of the caller, such as `system:serviceaccount:default:operator`; empty if it is not known.
    pub user: String,
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
    /// The code of the answer; nothing while there is none, as after a scripted reset.
    pub status: Option<u16>,
}

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) user: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) content_type: String,
    pub(crate) body: Bytes,
    pub(crate) status: Option<u16>,
}

impl Entry {
    pub(crate) fn new(request: &Request<Bytes>, user: String) -> Self {
        let content_type = request
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok());
        Self {
            user,
            method: request.method().to_string(),
            path: request.uri().path().into(),
            query: request.uri().query().unwrap_or_default().into(),
            content_type: content_type.unwrap_or_default().into(),
            body: request.body().clone(),
            status: None,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    entries: VecDeque<Entry>,
    /// The number of the first entry, for answers that come after the log was cleared or cut.
    first: u64,
}

impl RequestLog {
    /// Notes a request and returns its number.
    pub(crate) fn note(&mut self, entry: Entry) -> u64 {
        self.entries.push_back(entry);
        if self.entries.len() > KEPT {
            self.entries.pop_front();
            self.first += 1;
        }
        self.first + self.entries.len() as u64 - 1
    }

    pub(crate) fn answered(&mut self, number: u64, status: u16) {
        let index = number
            .checked_sub(self.first)
            .and_then(|index| usize::try_from(index).ok());
        if let Some(entry) = index.and_then(|index| self.entries.get_mut(index)) {
            entry.status = Some(status);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.first += self.entries.len() as u64;
        self.entries.clear();
    }

    pub(crate) fn all(&self) -> Vec<RecordedRequest> {
        let requests = self.entries.iter().cloned().map(|entry| RecordedRequest {
            body: serde_json::from_slice(&entry.body).ok(),
            user: entry.user,
            method: entry.method,
            path: entry.path,
            query: entry.query,
            content_type: entry.content_type,
            status: entry.status,
        });
        requests.collect()
    }
}
