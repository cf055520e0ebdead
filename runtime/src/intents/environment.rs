//! What all handlers of an operator share.

use std::any::Any;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::contexts::{Context, EventSink, Events};
use super::indexes::Indexes;
use super::memos::Memo;
use super::stoppers::Stopped;
use crate::actions::application::Patience;
use crate::clients::api::Api;
use crate::clients::fetching::Serving;
use crate::clients::patching::Target;
use crate::configs::settings::Settings;
use crate::structs::bodies::Body;
use crate::structs::clocks::Clock;
use crate::structs::events::ObjectReference;
use crate::structs::references::Reference;
use crate::structs::slots::Slot;

/// One running operator, as seen from a handler.
#[derive(Clone)]
pub(crate) struct Environment {
    pub(crate) api: Api,
    pub(crate) settings: Arc<Settings>,
    /// The operator's memo.
    pub(crate) memo: Memo,
    pub(crate) indexes: Indexes,
    pub(crate) clock: Clock,
    pub(crate) sink: EventSink,
    /// Goes into the spans of calls, so that their log records can be posted.
    pub(crate) number: u64,
    /// The threads of blocking functions; `None` for no limit (K-12).
    pub(crate) workers: Option<Arc<Semaphore>>,
    /// How many timers may be called at once; `None` for no limit.
    pub(crate) timer_calls: Option<Arc<Semaphore>>,
    /// Workers, daemons and timers, waited for at the end.
    pub(crate) tasks: TaskTracker,
    /// The operator is to end: nothing new begins.
    pub(crate) stopping: CancellationToken,
    /// The operator ends now: what still runs is dropped.
    pub(crate) abort: CancellationToken,
}

impl Environment {
    pub(crate) fn context(
        &self,
        about: ObjectReference,
        spec: Arc<dyn Any + Send + Sync>,
        memo: Memo,
        stopped: Stopped,
    ) -> Context {
        let events = Events {
            sink: Some(Arc::clone(&self.sink)),
            about,
        };
        Context {
            client: Some(self.api.client.clone()),
            spec: Some(spec),
            memo: Some(memo),
            indexes: self.indexes.clone(),
            events,
            stopped,
        }
    }

    pub(crate) fn target(&self, reference: Reference, serving: Serving, body: &Body) -> Target {
        Target {
            api: self.api.clone(),
            reference,
            namespace: body.namespace().map(str::to_owned),
            name: body.name().unwrap_or_default().to_owned(),
            status_subresource: serving.status_subresource,
            limit: self.settings.networking.request_timeout,
        }
    }

    pub(crate) fn patience(&self) -> Patience {
        let Settings {
            networking, queueing, ..
        } = &*self.settings;
        Patience {
            delays: [&networking.error_backoffs[..], &queueing.error_delays[..]].concat(),
            enforce_retry_after: networking.enforce_retry_after,
            stopping: self.stopping.clone(),
            abort: self.abort.clone(),
            slot: Slot::default(),
        }
    }
}
