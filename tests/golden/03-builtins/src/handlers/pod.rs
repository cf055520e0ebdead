//! What the operator does for each `Pod`.

use kopf_runtime::{Change, Event, HandlerResult};

use crate::generated::pod::Pod;

/// Runs for each `Pod` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn enrol(Change { name, .. }: Change<Pod>) -> HandlerResult {
    tracing::info!("Created Pod {name}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each watch event of a `Pod`.
pub async fn audit(Event { name, event, .. }: Event<Pod>) -> HandlerResult {
    tracing::info!("Observed an event of Pod {name}: {}", event["type"]);
    // TODO: act on what was observed.
    Ok(())
}
