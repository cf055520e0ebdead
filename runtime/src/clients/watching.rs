//! One endless stream of notices about one kind in one namespace: list, then watch, for ever.
//!
//! Nothing here ends by itself. A broken list or watch is opened again after a capped, jittered back-off
//! (WATCH-I2, B-003, B-010); a silent one after the inactivity limit (WATCH-10, B-001); history that the server has
//! forgotten leads to a new list (WATCH-07, B-007). Kinds of events stay apart: an item of a listing is not an
//! addition.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::TryStreamExt as _;
use kube::core::WatchEvent;
use serde_json::Value;
use tokio::time::Instant;

use super::api::{self, Api};
use super::errors::ApiError;
use super::fetching::{self, Serving};
use crate::configs::settings::Settings;
use crate::structs::bodies::Body;
use crate::structs::events::EventType;
use crate::structs::heartbeat::Heartbeat;
use crate::structs::references::Reference;

/// What the stream tells.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A listing begins, or begins again: what it does not bring from here to its end is gone.
    ListingStarted,
    /// An item of a listing, or an event of the watch.
    Object(EventType, Body),
    /// The listing is complete.
    ListingEnded,
    /// The cluster does not serve the kind, so that there are no objects of it.
    Unserved,
    /// How the kind is served was found out, before each listing and each reopened watch.
    Serving(Serving),
}

/// What a stream is about.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) api: Api,
    pub(crate) reference: Reference,
    /// `None` watches the whole cluster.
    pub(crate) namespace: Option<String>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) heartbeat: Heartbeat,
}

/// Items per page: large enough for few requests, and small enough that the pages under way, which the allocator keeps
/// for later, are little beside what is remembered of all the objects.
const PAGE: usize = 100;
/// The first wait after a failure.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// The longest wait between two attempts; B-010 allows a handful of requests per minute.
const LONGEST_BACKOFF: Duration = Duration::from_secs(30);
/// How long a reopened watch may be held up by discovery.
const REDISCOVERY: Duration = Duration::from_secs(5);
/// A watch that lives shorter than this without an event counts as a failure (WATCH-I1).
const SHORT_LIVED: Duration = Duration::from_secs(1);

/// Runs until it is dropped.
pub(crate) async fn stream(source: &Source, mut notify: impl FnMut(Notice) + Send) {
    let mut outage = Outage::new(source);
    loop {
        match list(source, &mut notify).await {
            Ok(Some(version)) => {
                outage.over();
                let opened = Instant::now();
                watch(source, version, &mut outage, &mut notify).await;
                // A server that forgets at once must not be asked for everything at once again.
                let short_lived = opened.elapsed() < SHORT_LIVED;
                source
                    .heartbeat
                    .rest(if short_lived {
                        FIRST_BACKOFF
                    } else {
                        source.settings.watching.reconnect_backoff
                    })
                    .await;
            }
            Ok(None) => {
                notify(Notice::Unserved);
                outage.wait(&ApiError::from_status(404, None, None)).await;
            }
            Err(error) => outage.wait(&error).await,
        }
    }
}

/// Brings every object as a listed one; returns the version to watch from, or `None` if the kind is not served.
async fn list(source: &Source, notify: &mut (impl FnMut(Notice) + Send)) -> Result<Option<String>, ApiError> {
    let limit = source.settings.networking.request_timeout;
    let Some(serving) = discover(source, limit).await? else {
        return Ok(None);
    };
    notify(Notice::Serving(serving));
    notify(Notice::ListingStarted);
    let path = api::path(&source.reference, source.namespace.as_deref(), None, None);
    let mut token = String::new();
    loop {
        let page = if token.is_empty() {
            format!("{path}?limit={PAGE}")
        } else {
            format!("{path}?limit={PAGE}&continue={}", encode(&token))
        };
        let mut page = match source
            .heartbeat
            .attend(api::request(&source.api, api::get(&page)?, limit))
            .await
        {
            // An expired token: the list starts again. What was brought already is brought once more, or is gone
            // (B-007, B-009).
            Err(error) if error.is_gone() && !token.is_empty() => {
                token.clear();
                notify(Notice::ListingStarted);
                continue;
            }
            answer => answer?,
        };
        for item in take_items(&mut page) {
            notify(Notice::Object(
                EventType::Listed,
                Body::new(complete(item, &source.reference)),
            ));
        }
        let metadata = |key: &str| {
            page.pointer(&format!("/metadata/{key}"))
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        token = metadata("continue").unwrap_or_default();
        if token.is_empty() {
            notify(Notice::ListingEnded);
            return Ok(Some(metadata("resourceVersion").unwrap_or_default()));
        }
    }
}

async fn discover(source: &Source, limit: Duration) -> Result<Option<Serving>, ApiError> {
    let answer = fetching::discover(&source.api, &source.reference, limit);
    source.heartbeat.attend(answer).await
}

/// Follows the changes since `version`, over as many requests as it takes; returns when a new listing is needed.
async fn watch(
    source: &Source,
    mut version: String,
    outage: &mut Outage<'_>,
    notify: &mut (impl FnMut(Notice) + Send),
) {
    let mut stale = false;
    loop {
        // What ended the last watch may have changed how the kind is served. Nobody waits long for the answer, and
        // nothing follows from a failure that the watch itself would not meet.
        if stale && let Ok(Some(serving)) = discover(source, REDISCOVERY).await {
            notify(Notice::Serving(serving));
            stale = false;
        }
        let opened = Instant::now();
        let before = version.clone();
        match follow(source, &mut version, &mut stale, notify).await {
            Ok(ControlFlow::Break(())) => return,
            Ok(ControlFlow::Continue(())) if version != before || opened.elapsed() >= SHORT_LIVED => outage.over(),
            Ok(ControlFlow::Continue(())) => {
                outage
                    .wait(&ApiError::transport("the server ends watches at once"))
                    .await;
            }
            Err(error) if error.is_gone() => return,
            // The kind or the right to it went away: only a new discovery and listing can tell.
            Err(error) if error.is_not_found() => return,
            Err(error) => outage.wait(&error).await,
        }
    }
}

/// One watch request; `Break` asks for a new listing. Says in `answered` whether the watch was open at all.
async fn follow(
    source: &Source,
    version: &mut String,
    answered: &mut bool,
    notify: &mut (impl FnMut(Notice) + Send),
) -> Result<ControlFlow<()>, ApiError> {
    let watching = &source.settings.watching;
    let mut path = api::path(&source.reference, source.namespace.as_deref(), None, None);
    path.push_str("?watch=true&allowWatchBookmarks=true");
    if !version.is_empty() {
        let _ = write!(path, "&resourceVersion={}", encode(version));
    }
    if let Some(timeout) = watching.server_timeout {
        let _ = write!(path, "&timeoutSeconds={}", timeout.as_secs());
    }
    // For never, a year: longer than any server keeps a watch open.
    let silence = watching
        .inactivity_timeout
        .unwrap_or(Duration::from_secs(365 * 24 * 3600));
    let stream = match tokio::time::timeout(silence, source.api.client.request_events::<Value>(api::get(&path)?)).await
    {
        Ok(stream) => stream?,
        Err(_) => return Err(ApiError::transport("the watch was not answered")),
    };
    *answered = true;
    let mut stream = std::pin::pin!(stream);
    loop {
        source.heartbeat.tick();
        let event = match tokio::time::timeout(silence, stream.try_next()).await {
            Ok(Ok(Some(event))) => event,
            Ok(Ok(None)) => return Ok(ControlFlow::Continue(())),
            // An unknown kind of event, or a broken line: the next ones may be fine (WATCH-05).
            Ok(Err(kube::Error::SerdeError(error))) => {
                tracing::warn!(%error, resource = source.reference.plural, "Skipped an unreadable watch event");
                continue;
            }
            Ok(Err(error)) => return Err(error.into()),
            Err(_) => {
                tracing::debug!(resource = source.reference.plural, "Reopening a silent watch");
                return Ok(ControlFlow::Continue(()));
            }
        };
        let (event_type, object) = match event {
            WatchEvent::Added(object) => (EventType::Added, object),
            WatchEvent::Modified(object) => (EventType::Modified, object),
            WatchEvent::Deleted(object) => (EventType::Deleted, object),
            WatchEvent::Bookmark(bookmark) => {
                *version = bookmark.metadata.resource_version;
                continue;
            }
            WatchEvent::Error(status) => {
                return match ApiError::from_status(status.code, Some(&status), None) {
                    error if error.is_gone() => Ok(ControlFlow::Break(())),
                    error => Err(error),
                };
            }
        };
        let body = Body::new(complete(object, &source.reference));
        if let Some(seen) = body.resource_version() {
            seen.clone_into(version);
        }
        notify(Notice::Object(event_type, body));
    }
}

fn take_items(page: &mut Value) -> Vec<Value> {
    match page.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Items of lists lack `kind` and `apiVersion` (WATCH-02).
fn complete(mut object: Value, reference: &Reference) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.entry("kind").or_insert_with(|| reference.kind.into());
        fields
            .entry("apiVersion")
            .or_insert_with(|| reference.api_version().into());
    }
    object
}

/// Versions and tokens are opaque: everything but the plain characters of a query is escaped.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

/// A run of failures: says so once when it begins and once when it is over (B-005).
struct Outage<'a> {
    source: &'a Source,
    backoff: Duration,
    failures: u32,
}

impl<'a> Outage<'a> {
    fn new(source: &'a Source) -> Self {
        Self {
            source,
            backoff: FIRST_BACKOFF,
            failures: 0,
        }
    }

    fn over(&mut self) {
        if self.failures > 0 {
            tracing::info!(resource = self.source.reference.plural, "Watching again");
        }
        self.failures = 0;
        self.backoff = FIRST_BACKOFF;
        self.source.heartbeat.recovered();
    }

    async fn wait(&mut self, error: &ApiError) {
        let resource = self.source.reference.plural;
        if self.failures == 0 {
            match error.code {
                Some(404) => tracing::warn!(resource, "Not served by the cluster yet; trying again until it is"),
                Some(403) => tracing::warn!(resource, %error, "Not allowed to watch; trying again until it is"),
                _ => tracing::warn!(resource, %error, "Cannot watch; trying again"),
            }
        } else {
            tracing::debug!(resource, %error, failures = self.failures, "Still cannot watch");
        }
        self.failures += 1;
        self.source.heartbeat.failed(&error.message);
        // Half of the wait is random, so that many operators do not come back at the same moment.
        let jittered = self.backoff.mul_f64(0.5 + fastrand::f64() / 2.0);
        self.source
            .heartbeat
            .rest(error.wait(jittered, self.source.settings.networking.enforce_retry_after))
            .await;
        self.backoff = (self.backoff * 2).min(LONGEST_BACKOFF);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // WATCH-02
    #[test]
    fn items_get_the_kind_they_lack_and_keep_the_one_they_have() {
        let cart = Reference {
            group: "g.io",
            version: "v1",
            kind: "Cart",
            plural: "carts",
            namespaced: true,
        };
        assert_eq!(
            complete(json!({}), &cart),
            json!({"apiVersion": "g.io/v1", "kind": "Cart"})
        );
        assert_eq!(
            complete(json!({"kind": "Bag"}), &cart),
            json!({"apiVersion": "g.io/v1", "kind": "Bag"})
        );
    }

    #[test]
    fn opaque_text_is_escaped_in_queries() {
        assert_eq!(encode("12"), "12");
        assert_eq!(encode("a+b/c="), "a%2Bb%2Fc%3D");
    }
}
