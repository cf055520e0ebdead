//! What is to be done about an object: causes, handlers and their filters, and the plan of a cycle.

pub(crate) mod background;
pub(crate) mod calling;
pub(crate) mod causes;
pub(crate) mod contexts;
pub(crate) mod criteria;
pub(crate) mod environment;
pub(crate) mod essences;
mod families;
pub(crate) mod filters;
pub(crate) mod handlers;
pub(crate) mod index_stores;
pub(crate) mod indexes;
pub(crate) mod invocation;
pub(crate) mod live;
pub(crate) mod memos;
pub(crate) mod planning;
pub(crate) mod plans;
pub(crate) mod registries;
mod selection;
pub(crate) mod settling;
mod steps;
pub(crate) mod stoppers;
