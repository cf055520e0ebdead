//! Moors vessels where there is room.

pub mod generated;
pub mod handlers;
