//! Kubernetes operators with the semantics of Kopf.

mod actions;
mod clients;
mod configs;
mod engines;
mod intents;
mod reactor;
mod structs;
