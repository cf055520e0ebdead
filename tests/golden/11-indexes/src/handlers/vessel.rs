//! What the operator does for each `Vessel`.

use kopf_runtime::{Change, Entries, HandlerResult, Index};

use crate::generated::vessel::{Cargo, Vessel, VesselSpec};

/// Runs for each `Vessel` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn moor(Change { name, .. }: Change<Vessel>) -> HandlerResult {
    tracing::info!("Created Vessel {name}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Says what the index `at_berth` holds of each `Vessel`.
///
/// It is called for each new state. Errors leave what was there; `Temporary` and `Permanent` take it out.
/// Handlers ask it by its type in `crate::generated::indexes`.
pub async fn at_berth(Index { name, .. }: Index<Vessel>) -> HandlerResult<Entries<String, String>> {
    tracing::info!("Indexing Vessel {name}");
    // TODO: say what to find under which key, such as `Entries::one(key, value)`.
    Ok(Entries::none())
}

/// Says what the index `by_cargo` holds of each `Vessel`.
///
/// It is called for each new state. Errors leave what was there; `Temporary` and `Permanent` take it out.
/// Handlers ask it by its type in `crate::generated::indexes`.
pub async fn by_cargo(
    Index { name, .. }: Index<Vessel>,
) -> HandlerResult<Entries<Cargo, VesselSpec>> {
    tracing::info!("Indexing Vessel {name}");
    // TODO: say what to find under which key, such as `Entries::one(key, value)`.
    Ok(Entries::none())
}
