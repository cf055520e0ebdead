//! What the operator does for each `Parcel`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::parcel::Parcel;

/// Runs for each `Parcel` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn deliver(Change { name, retry, .. }: Change<Parcel>) -> HandlerResult {
    tracing::info!("Created Parcel {name}, retry {retry}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Parcel` that has another `spec.address`: at least once, since a crash may repeat the call.
///
/// Any error ends the attempts; `Temporary` is retried.
/// `retry` and `status` tell what was done before.
pub async fn redirect(Change { name, old, new, .. }: Change<Parcel>) -> HandlerResult {
    tracing::info!("Changed spec.address of Parcel {name}: {old:?} to {new:?}");
    // TODO: act on the new value.
    Ok(())
}

/// Runs for each `Parcel` that has changed: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn weigh(
    Change {
        name, diff, retry, ..
    }: Change<Parcel>,
) -> HandlerResult {
    tracing::info!("Updated Parcel {name}: {diff}, retry {retry}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Parcel` that is being deleted: at least once, since a crash may repeat the call.
///
/// Errors are logged and count as success; `Temporary` is retried.
/// `retry` and `status` tell what was done before.
pub async fn take_back(Change { name, .. }: Change<Parcel>) -> HandlerResult {
    tracing::info!("Deleting Parcel {name}");
    // TODO: undo what the other handlers did.
    Ok(())
}
