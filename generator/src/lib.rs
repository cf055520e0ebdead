//! placeholder
#![allow(missing_docs)]
pub mod model;
