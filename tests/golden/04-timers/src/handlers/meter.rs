//! What the operator does for each `Meter`.

use kopf_runtime::{HandlerResult, Timer};

use crate::generated::meter::{MeasureResult, Meter};

/// Runs every 2 seconds for each `Meter`.
///
/// The result is stored at `.status.measure`. Any error is retried; `Permanent` ends the attempts.
/// A deletion waits for a running call, by a finalizer, unless the spec says `optional: true`.
pub async fn measure(Timer { name, .. }: Timer<Meter>) -> HandlerResult<MeasureResult> {
    tracing::info!("Checking Meter {name}");
    // TODO: look at the world and act on it.
    Ok(MeasureResult {
        reading: Some(format!("measure of {name} is done")),
    })
}

/// Runs every minute, once nothing has changed it for 3 seconds, for each `Meter`.
///
/// Any error is retried; `Permanent` ends the attempts.
/// A deletion waits for a running call, by a finalizer, unless the spec says `optional: true`.
pub async fn tidy_up(Timer { name, .. }: Timer<Meter>) -> HandlerResult {
    tracing::info!("Checking Meter {name}");
    // TODO: look at the world and act on it.
    Ok(())
}
