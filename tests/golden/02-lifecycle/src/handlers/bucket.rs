//! What the operator does for each `Bucket`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::bucket::{Bucket, ProvisionResult};

/// Runs for each `Bucket` that was created or was there when the operator started.
///
/// The result is stored at `.status.provision`. Any error is retried; `Permanent` ends the attempts.
pub async fn provision(
    Change { name, reason, .. }: Change<Bucket>,
) -> HandlerResult<ProvisionResult> {
    tracing::info!("Handling {reason} of Bucket {name}");
    // TODO: make the world match `spec`.
    Ok(ProvisionResult {
        endpoint: Some(format!("provision of {name} is done")),
    })
}

/// Runs for each `Bucket` that has changed.
///
/// Any error is retried; `Permanent` ends the attempts.
pub async fn reconfigure(Change { name, diff, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("Updated Bucket {name}: {diff}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Bucket` that has another `spec.quota`.
///
/// Any error ends the attempts; `Temporary` is retried.
pub async fn resize(Change { name, old, new, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("Changed spec.quota of Bucket {name}: {old:?} to {new:?}");
    // TODO: act on the new value.
    Ok(())
}

/// Runs for each `Bucket` that is being deleted.
///
/// Any error is retried; `Permanent` ends the attempts.
pub async fn release(Change { name, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("Deleting Bucket {name}");
    // TODO: undo what the other handlers did.
    Ok(())
}
