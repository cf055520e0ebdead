//! The arguments of handlers: one struct per family, to be taken apart in the parameter list.
//!
//! ```
//! # use kopf_runtime::{Change, HandlerResult};
//! # use serde_json::Value;
//! # struct Cart;
//! # impl kopf_runtime::Kind for Cart {
//! #     type Spec = Value;
//! #     type Status = Value;
//! #     type Memo = ();
//! #     const REFERENCE: kopf_runtime::Reference = kopf_runtime::Reference {
//! #         group: "shop.example.com", version: "v1", kind: "Cart", plural: "carts", namespaced: true,
//! #     };
//! # }
//! async fn fill(Change { name, spec, retry, .. }: Change<Cart>) -> HandlerResult {
//!     println!("filling {name} with {spec:?}, attempt {retry}");
//!     Ok(())
//! }
//! ```
//!
//! The structs are non-exhaustive, so `..` is always there and a new field never breaks anyone. Names are Kopf's
//! (K-1 to K-8). Each has `for_test`, usable in a plain `#[test]` with no runtime and no network; its fields can be
//! set one by one afterwards.

#[macro_use]
mod family;

#[cfg(feature = "cel")]
mod cel;
mod change;
mod common;
mod daemon;
mod delays;
mod event;
mod filters;
mod index;
mod live;
mod plan;
mod timer;

#[cfg(feature = "cel")]
pub use cel::cel;
pub use change::Change;
pub use common::{LazyClient, Raw};
pub use daemon::Daemon;
pub use delays::{Delay, InitialDelay};
pub use event::Event;
pub use filters::{Condition, Filter, Texts};
pub use index::Index;
pub use live::Live;
pub use plan::{Item, Plan};
pub use timer::Timer;
