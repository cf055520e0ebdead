//! What the operator does for each `Beacon`.

use std::time::Duration;

use kopf_runtime::{Daemon, Delay, HandlerResult, secs};

use crate::generated::beacon::Beacon;

/// Runs beside each `Beacon` for as long as that is there.
///
/// Any error is retried; `Permanent` ends the attempts.
/// It is called again when it has failed for good, but not when it has returned.
/// A deletion waits for its end, by a finalizer, unless the spec says `optional: true`.
/// `live` is the object as it is now; all else is as it was when the attempt began.
pub async fn shine(Daemon { name, stopped, .. }: Daemon<Beacon>) -> HandlerResult {
    tracing::info!("Looking after Beacon {name}");
    while !stopped.wait_for(secs(60)).await {
        // TODO: look at the world and act on it; `live.spec()` is the newest.
    }
    tracing::info!("Done with Beacon {name}: {}", stopped.reason());
    Ok(())
}

/// Runs beside each `Beacon` for as long as that is there.
///
/// Any error is retried; `Permanent` ends the attempts.
/// Once it has returned, it is not called again for this object.
/// A deletion waits for its end, by a finalizer, unless the spec says `optional: true`.
/// `live` is the object as it is now; all else is as it was when the attempt began.
pub fn turn(Daemon { name, stopped, .. }: Daemon<Beacon>) -> HandlerResult {
    tracing::info!("Looking after Beacon {name}");
    while !stopped.block_for(secs(60)) {
        // TODO: look at the world and act on it; `live.spec()` is the newest.
    }
    tracing::info!("Done with Beacon {name}: {}", stopped.reason());
    Ok(())
}

/// Runs beside each `Beacon` for as long as that is there.
///
/// Any error is retried; `Permanent` ends the attempts.
/// Once it has returned, it is not called again for this object.
/// `live` is the object as it is now; all else is as it was when the attempt began.
pub async fn listen(
    Daemon {
        name,
        stopped,
        param,
        ..
    }: Daemon<Beacon>,
) -> HandlerResult {
    tracing::info!("Looking after Beacon {name}, param {param}");
    while !stopped.wait_for(secs(60)).await {
        // TODO: look at the world and act on it; `live.spec()` is the newest.
    }
    tracing::info!("Done with Beacon {name}: {}", stopped.reason());
    Ok(())
}

/// Says how long the first call of `listen` for a `Beacon` waits.
pub fn warm_up(Delay { name, spec, .. }: Delay<Beacon>) -> Duration {
    tracing::trace!("Delaying {name}: {spec:?}");
    // TODO: decide by `spec`, `labels` and the like.
    Duration::ZERO
}
