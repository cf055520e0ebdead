//! The API as clients see it: raw requests through the service, on a paused clock.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

/// Requests, watches and the custom kind that most tests use.
mod support;

/// Creating, reading, replacing; identity and preconditions.
mod objects;

/// Merge patches, JSON patches, strategic ones; the status subresource.
mod patches;

/// Finalizers, collections, containers.
mod deletion;

/// Selection, pages, tables.
mod lists;

/// Streams: where they start, what they tell, how they end.
mod watches;

/// Custom kinds: schemas, versions, coming and going.
mod customs;

/// Who asks, and what they may do.
mod access;

/// Webhooks: who is asked what, and what becomes of the answers.
mod admission;

/// The same webhooks over HTTPS.
mod webhooks;

/// What clients learn about the server.
mod discovery;

/// Scripted failures, and the record of requests.
mod faults;

/// The helpers of the server itself.
mod garbage;
mod helpers;

/// Installing what a project deploys.
mod manifests;

/// The same through a real connection.
mod sockets;
