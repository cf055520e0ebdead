//! What the operator does for each `Tenant`.

use kopf_runtime::{Change, HandlerResult, Timer};

use crate::generated::tenant::{CollectRentResult, FindFlatResult, MoveOutResult, Tenant};

/// Runs for each `Tenant` that was created or was there when the operator started.
/// It is called at least once, since a crash may repeat the call.
///
/// The result is stored at `.status.find_flat`. Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn find_flat(
    Change { name, reason, .. }: Change<Tenant>,
) -> HandlerResult<FindFlatResult> {
    tracing::info!("Handling {reason} of Tenant {name}");
    // TODO: make the world match `spec`.
    Ok(FindFlatResult {
        street: format!("find_flat of {name} is done"),
        floor: None,
    })
}

/// Runs for each `Tenant` that has another `spec.rooms`: at least once, since a crash may repeat the call.
///
/// The result is stored at `.status.moved/spec.rooms`. Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn move_out(
    Change { name, old, new, .. }: Change<Tenant>,
) -> HandlerResult<MoveOutResult> {
    tracing::info!("Changed spec.rooms of Tenant {name}: {old:?} to {new:?}");
    // TODO: act on the new value.
    Ok(MoveOutResult::default())
}

/// Runs every 2 seconds for each `Tenant`.
///
/// The result is stored at `.status.collect_rent`. Any error is retried; `Permanent` ends the attempts.
/// A deletion waits for a running call, by a finalizer, unless the spec says `optional: true`.
pub async fn collect_rent(Timer { name, .. }: Timer<Tenant>) -> HandlerResult<CollectRentResult> {
    tracing::info!("Checking Tenant {name}");
    // TODO: look at the world and act on it.
    Ok(CollectRentResult::default())
}
