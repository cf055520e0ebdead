//! What the operator does for each `Call`.

use kopf_runtime::{Change, HandlerResult, Timer};

use crate::generated::call::Call;

/// Runs for each `Call` that was created or was there when the operator started.
/// It is called at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn connect(
    Change {
        name, reason, memo, ..
    }: Change<Call>,
) -> HandlerResult {
    tracing::info!("Handling {reason} of Call {name}, memo {memo:?}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Call` that is being deleted: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn hang_up(Change { name, memo, .. }: Change<Call>) -> HandlerResult {
    tracing::info!("Deleting Call {name}, memo {memo:?}");
    // TODO: undo what the other handlers did.
    Ok(())
}

/// Runs every 2 seconds for each `Call`.
///
/// Any error is retried; `Permanent` ends the attempts.
/// A deletion waits for a running call, by a finalizer, unless the spec says `optional: true`.
pub async fn listen(Timer { name, memo, .. }: Timer<Call>) -> HandlerResult {
    tracing::info!("Checking Call {name}, memo {memo:?}");
    // TODO: look at the world and act on it.
    Ok(())
}
