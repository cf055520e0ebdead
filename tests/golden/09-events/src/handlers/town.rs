//! What the operator does for each `Town`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::town::Town;

/// Runs for each `Town` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn found(Change { name, events, .. }: Change<Town>) -> HandlerResult {
    let message = format!("Created Town {name}");
    tracing::info!("{message}");
    events.info("Created", message);
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Town` that has another `spec.people`: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn count(
    Change {
        name,
        old,
        new,
        events,
        ..
    }: Change<Town>,
) -> HandlerResult {
    let message = format!("Changed spec.people of Town {name}: {old:?} to {new:?}");
    tracing::info!("{message}");
    events.info("Changed", message);
    // TODO: act on the new value.
    Ok(())
}

/// Runs for each `Town` that is being deleted: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn abandon(Change { name, events, .. }: Change<Town>) -> HandlerResult {
    let message = format!("Deleting Town {name}");
    tracing::info!("{message}");
    events.info("Deleting", message);
    // TODO: undo what the other handlers did.
    Ok(())
}
