//! What the operator does for each `Desk`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::desk::Desk;

/// Runs for each `Desk` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn set_up(Change { name, memo, .. }: Change<Desk>) -> HandlerResult {
    tracing::info!("Created Desk {name}, memo {memo:?}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Desk` that was there when the operator started: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn recall(Change { name, memo, .. }: Change<Desk>) -> HandlerResult {
    tracing::info!("Resumed Desk {name}, memo {memo:?}");
    // TODO: make the world match `spec`.
    Ok(())
}
