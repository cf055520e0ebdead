//! What the operator does for each `Bucket`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::bucket::{Bucket, ProvisionResult};

/// Runs for each `Bucket` that was created or was there when the operator started.
/// It is called at least once, since a crash may repeat the call.
///
/// The result is stored at `.status.provision`. Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn provision(
    Change {
        name,
        reason,
        retry,
        ..
    }: Change<Bucket>,
) -> HandlerResult<ProvisionResult> {
    tracing::info!("Handling {reason} of Bucket {name}, retry {retry}");
    // TODO: make the world match `spec`.
    Ok(ProvisionResult {
        endpoint: Some(format!("provision of {name} is done")),
    })
}

/// Runs for each `Bucket` that has changed: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn reconfigure(Change { name, diff, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("Updated Bucket {name}: {diff}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Bucket` that has another `spec.quota`: at least once, since a crash may repeat the call.
///
/// Any error ends the attempts; `Temporary` is retried.
/// `retry` and `status` tell what was done before.
pub async fn resize(Change { name, old, new, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("Changed spec.quota of Bucket {name}: {old:?} to {new:?}");
    // TODO: act on the new value.
    Ok(())
}

/// Runs for each `Bucket` that is being deleted: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn release(Change { name, retry, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("Deleting Bucket {name}, retry {retry}");
    // TODO: undo what the other handlers did.
    Ok(())
}
