//! Kubernetes operators with the semantics of [Kopf](https://kopf.readthedocs.io): handlers for the changes of
//! objects, with retries, persisted progress, finalizers and timers handled underneath.
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
//! A *stream* per kind and namespace lists and watches. Each object it brings goes into the object's own *queue*;
//! a *worker* empties it, one per object, for as long as there is something to do. A *cycle* of the worker calls the
//! handlers of raw events, tends the timers, and asks the *plan* what the state of the object means: which reason,
//! which handlers are due, what to do about the finalizer. It calls what is due, sends what was gathered in *one
//! patch*, and goes on with the answer, which is the freshest state there is. Progress and the last handled state are
//! kept on the object itself, in Kopf's formats, so that a killed operator goes on where it stopped.

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
    pub use crate::intents::filters::{Combine, all, any, none, not};
}

/// The groups of [`Settings`].
pub mod settings {
    pub use tracing::Level;

    pub use crate::configs::persistence::{Former, PersistenceSettings};
    pub use crate::configs::settings::{
        ExecutionSettings, NetworkingSettings, PostingSettings, QueueingSettings, WatchingSettings,
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
pub use crate::arguments::{Change, Condition, Event, Filter, LazyClient, Raw, Texts, Timer};
pub use crate::configs::settings::{Lifecycle, Settings};
pub use crate::configured::{Configured, FromVariable, env, env_or};
pub use crate::intents::causes::Reason;
pub use crate::intents::contexts::Events;
pub use crate::intents::criteria::{ABSENT, Criterion, PRESENT, ValueFilter, by, equals};
pub use crate::intents::stoppers::Stopped;
pub use crate::kind::Kind;
pub use crate::operator::{Operator, RunError, RunOptions, Running};
pub use crate::options::{Backoff, ChangeOptions, EventOptions, TimerOptions, hours, millis, mins, secs};
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
