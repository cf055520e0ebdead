//! What the operator does for each `Database`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::database::Database;

/// Runs for each `Database` that was created: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// While its sub-handlers have not finished, it is called again before each of them.
/// `retry` and `status` tell what was done before.
pub async fn create_database(Change { name, .. }: Change<Database>) -> HandlerResult {
    tracing::info!("Created Database {name}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each item of `spec.users` of a `Database` that was created or has changed.
/// It is called at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `item` is the one that the call is for.
/// While its sub-handlers have not finished, it is called again before each of them.
/// `retry` and `status` tell what was done before.
pub async fn create_user(
    Change {
        name, item, retry, ..
    }: Change<Database>,
) -> HandlerResult {
    let key = item.as_ref().map_or("", |item| item.key.as_str());
    tracing::info!("Handling {key} of Database {name}, retry {retry}");
    // TODO: make the world match the item, `item.typed()`.
    Ok(())
}

/// Runs for each item of `spec.users[].grants` of a `Database` that was created.
/// It is called at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// `item` is the one that the call is for.
/// `retry` and `status` tell what was done before.
pub async fn grant(Change { name, item, .. }: Change<Database>) -> HandlerResult {
    let key = item.as_ref().map_or("", |item| item.key.as_str());
    tracing::info!("Created {key} of Database {name}");
    // TODO: make the world match the item, `item.typed()`.
    Ok(())
}

/// Runs for each `Database` that has changed: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// While its sub-handlers have not finished, it is called again before each of them.
/// `retry` and `status` tell what was done before.
pub async fn change_users(Change { name, diff, .. }: Change<Database>) -> HandlerResult {
    tracing::info!("Updated Database {name}: {diff}");
    // TODO: make the world match `spec`.
    Ok(())
}

/// Runs for each `Database` that has another `spec.parameters`: at least once, since a crash may repeat the call.
///
/// Any error is retried; `Permanent` ends the attempts.
/// While its sub-handlers have not finished, it is called again before each of them.
/// `retry` and `status` tell what was done before.
pub async fn configure(Change { name, old, new, .. }: Change<Database>) -> HandlerResult {
    tracing::info!("Changed spec.parameters of Database {name}: {old:?} to {new:?}");
    // TODO: act on the new value.
    Ok(())
}

/// Runs for each item of `spec.parameters` of a `Database` that has another `spec.parameters`.
/// It is called at least once, since a crash may repeat the call.
///
/// Any error ends the attempts; `Temporary` is retried.
/// `item` is the one that the call is for.
/// `retry` and `status` tell what was done before.
pub async fn set_parameter(Change { name, item, .. }: Change<Database>) -> HandlerResult {
    let key = item.as_ref().map_or("", |item| item.key.as_str());
    tracing::info!("Handling {key} of Database {name}");
    // TODO: make the world match the item, `item.typed()`.
    Ok(())
}
