//! Keeps users, their grants and the parameters of databases.

pub mod generated;
pub mod handlers;
