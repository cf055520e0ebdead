//! What the operator does for each `Shelf`.

use kopf_runtime::{Change, Filter, HandlerResult, ValueFilter};

use crate::generated::shelf::Shelf;

/// Runs for each `Shelf` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn build(Change { name, .. }: Change<Shelf>) -> HandlerResult {
    tracing::info!("Created Shelf {name}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Shelf` that has another `spec.books`: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn reinforce(Change { name, old, new, .. }: Change<Shelf>) -> HandlerResult {
    tracing::info!("Changed spec.books of Shelf {name}: {old:?} to {new:?}");
    // TODO: act on the new value.
    Ok(())
}

/// Runs for each `Shelf` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn weld(Change { name, .. }: Change<Shelf>) -> HandlerResult {
    tracing::info!("Created Shelf {name}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Shelf` that has changed: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn move_books(Change { name, diff, .. }: Change<Shelf>) -> HandlerResult {
    tracing::info!("Updated Shelf {name}: {diff}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Decides whether a value is right for `build`.
///
/// It is asked often, also several times for one change: it decides fast and changes nothing.
pub fn is_known_team(ValueFilter { value, .. }: ValueFilter) -> bool {
    // TODO: decide by the value; `None` stands for an absent one.
    value.is_some()
}

/// Decides whether a value is right for `reinforce`.
///
/// It is asked often, also several times for one change: it decides fast and changes nothing.
pub fn is_heavy(ValueFilter { value, .. }: ValueFilter) -> bool {
    // TODO: decide by the value; `None` stands for an absent one.
    value.is_some()
}

/// Decides whether a `Shelf` is for `move_books`.
///
/// It is asked often, also several times for one change: it decides fast and changes nothing.
pub fn is_open(Filter { name, spec, .. }: Filter<Shelf>) -> bool {
    tracing::trace!("Filtering {name}: {spec:?}");
    // TODO: decide by `spec`, `labels` and the like.
    true
}
