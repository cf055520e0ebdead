//! Kubernetes operators with the semantics of [Kopf](https://kopf.readthedocs.io): handlers for the changes of
//! objects, with retries, persisted progress, finalizers, daemons and timers handled underneath.
//!
//! Generated operators link this library; it can be used by hand through the same builder:
//!
//! ```no_run
//! use kopf_runtime::{Change, HandlerResult, Kind, Operator, Reference, Resource, Timer, secs};
//! use serde_json::{Value, json};
//!
//! struct Cart;
//!
//! impl Kind for Cart {
//!     type Spec = Value;
//!     type Status = Value;
//!     type Memo = ();
//!     const REFERENCE: Reference = Reference {
//!         group: "shop.example.com",
//!         version: "v1",
//!         kind: "Cart",
//!         plural: "carts",
//!         namespaced: true,
//!     };
//! }
//!
//! async fn fill(Change { name, spec, retry, .. }: Change<Cart>) -> HandlerResult<Value> {
//!     println!("filling {name} with {}, attempt {retry}", spec["items"]);
//!     Ok(json!({"filled": true}))            // stored at .status.fill
//! }
//!
//! async fn look_after(Timer { name, .. }: Timer<Cart>) -> HandlerResult {
//!     println!("looking after {name}");
//!     Ok(())
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     Operator::new("shop")
//!         .resource(
//!             Resource::of::<Cart>()
//!                 .on_create("fill", fill, |o| o.retries(5).backoff(secs(15)))
//!                 .timer("look_after", look_after, |o| o.interval(secs(60))),
//!         )
//!         .main()
//! }
//! ```
//!
//! # How a watch event travels to a patch
//!
//! One object's way through the crate, with the module at each station. The letters are the sections of Kopf's
//! behaviour that a station keeps to; the ids in the documentation (`C-4`, `Z-8`) are its rules.
//!
//! 1. **Stream** (`clients::watching`). Lists and then watches one kind in one namespace or in all. It knows no
//!    handlers: it hands over each object with the kind of its event, says when a listing begins and ends, and opens
//!    itself anew whenever it breaks.
//! 2. **Queue** (`reactor::inventory`, Q, M). Each object has a queue of its own, by its uid. At rest, an object costs
//!    a few flags in memory, and no task. What a complete listing lacks has vanished.
//! 3. **Worker** (`reactor::queueing`, `reactor::throttling`, Q, X). The first entry of a queue starts the object's
//!    worker, which runs one *cycle* after the other until nothing is left to do. Two cycles of one object never
//!    overlap, those of different objects do. A cycle that breaks is waited out and made again; no other object notices.
//! 4. **Indexing** (`reactor::indexing`, `engines::indexing`, `intents::indexes`, I). Before anything else, the index
//!    handlers are shown the newest state. When the operator starts, the worker waits here until all indexes are complete
//!    (`engines::readiness`).
//! 5. **Cycle** (`reactor::processing`, C-1). Takes all that is queued. Handlers of raw events see every event of it;
//!    all else looks at the newest state only. The spec is parsed into its type once for each state
//!    (`reactor::fitting`). Daemons and timers are started, shown the new state, or asked to stop (`engines::background`,
//!    G, T).
//! 6. **Plan** (`intents::planning`, a pure function). From the object, what is stored on it (`configs`: B, P, N), the
//!    handlers with their filters (`intents::filters`, F; `intents::selection`, H) and one reading of the clock follow:
//!    the reason (`intents::causes`, C-4), what is to be done about the finalizer (Z), and for each selected handler
//!    whether it is due, sleeps, has finished, or has used up its attempts. A finalizer that has to come or go is a
//!    guarded patch of its own, and ends the cycle: handlers run in the next one.
//! 7. **Calls** (`reactor::handling`, `actions::lifecycles`, `intents::calling`, L, K). The lifecycle picks from the
//!    handlers that are due: by default one, so that its success is stored before the next one is called. The call is
//!    typed at the last moment (`arguments`), runs in its own span, and ends as one of a few outcomes, also by a
//!    panic or when its time is up (`actions::invocation`, `actions::classification`).
//!    The sub-handlers that a call wants (`intents::plans`, U) join the plan and are called right after it
//!    (`intents::families`).
//! 8. **Conclusion** (`actions::execution`, `intents::settling`, pure functions, E, R, P). From the outcomes follow the
//!    records of the handlers, the results, and the time of the next attempt; once all have finished, the records go
//!    and the essence that was handled is stored.
//! 9. **Patch** (`actions::application`, `clients::patching`, A). All of it is sent at once: as a merge patch of the
//!    object, then of its status, then the transformations as JSON patches that hold for one version only. What the
//!    server refuses is taken apart, so that progress is stored whatever a handler wanted; what it cannot take now is
//!    kept and sent again, without calling any handler again.
//! 10. **On** (W). The answer to the patch is the freshest state there is, so the next cycle starts from it; the echo of
//!     it in the stream is recognised by its version, and older states are never looked at. Where nothing is due yet,
//!     the worker sleeps until then, or until the next event.
//!
//! Nothing but flags is kept in memory: progress and the last handled state are on the object itself, in Kopf's
//! formats. So an operator that was killed goes on where it stopped, and one that took over from Kopf where Kopf did. A
//! handler may be called twice for one change if the operator is killed between the call and the patch; never
//! otherwise.

mod actions;
mod arguments;
mod cli;
mod clients;
mod configs;
mod configured;
mod engines;
mod intents;
mod kind;
pub mod logging;
mod operator;
mod options;
mod reactor;
mod resource;
mod served;
mod structs;

/// Combinations of criteria, and of conditions (F-16); [`not`](filters::not) is a combination of one.
pub mod filters {
    #[cfg(feature = "cel")]
    pub use crate::arguments::cel;
    pub use crate::intents::filters::{Combine, all, any, none, not};
}

/// The groups of [`Settings`].
pub mod settings {
    pub use tracing::Level;

    pub use crate::configs::persistence::{Former, PersistenceSettings};
    pub use crate::configs::settings::{
        BackgroundSettings, ExecutionSettings, NetworkingSettings, PostingSettings, QueueingSettings, WatchingSettings,
    };
}

/// Where state is kept: the storages there are, and the traits of those that you write yourself.
pub mod storages {
    pub use crate::configs::diffbase::{AnnotationsDiffBase, DiffBaseStorage, Essence, StatusDiffBase};
    pub use crate::configs::progress::{AnnotationsProgress, ProgressStorage, Record, StatusProgress};
    pub use crate::structs::state_patches::StatePatch;
}

pub use tokio_util::sync::CancellationToken;
pub use {jiff, k8s_openapi, kube};

pub use crate::actions::execution::ErrorsMode;
pub use crate::arguments::{
    Change, Condition, Daemon, Delay, Event, Filter, Index, InitialDelay, Item, LazyClient, Live, Plan, Raw, Texts,
    Timer,
};
pub use crate::configs::lifecycles::{Lifecycle, Waiting};
pub use crate::configs::settings::Settings;
pub use crate::configured::{Configured, FromVariable, env, env_or};
pub use crate::intents::background::{OnPermanent, Restart};
pub use crate::intents::causes::Reason;
pub use crate::intents::contexts::Events;
pub use crate::intents::criteria::{ABSENT, Criterion, PRESENT, ValueFilter, by, equals};
pub use crate::intents::indexes::{Entries, IndexKey, IndexView, Indexes};
pub use crate::intents::plans::EachKey;
pub use crate::intents::stoppers::{StopReason, Stopped};
pub use crate::kind::Kind;
pub use crate::operator::{Operator, RunError, RunOptions, Running};
pub use crate::options::{
    Backoff, ChangeOptions, DaemonOptions, EventOptions, IndexOptions, TimerOptions, hours, millis, mins, secs,
};
pub use crate::resource::{Resource, blocking};
pub use crate::served::Served;
pub use crate::structs::bodies::Body;
pub use crate::structs::diffs::{Diff, DiffItem, Operation};
pub use crate::structs::errors::{HandlerResult, OrRetry, Permanent, Temporary};
pub use crate::structs::events::EventType;
pub use crate::structs::fields::FieldPath;
pub use crate::structs::patches::{MetaPatch, MetaValue, Patch};
pub use crate::structs::references::Reference;
pub use crate::structs::values::IntOrString;
