//! What the operator does for each `Greeting`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::greeting::{GreetResult, Greeting};

/// Runs for each `Greeting` that was created.
///
/// The result is stored at `.status.greet`. Any error is retried; `Permanent` ends the attempts.
pub async fn greet(Change { name, .. }: Change<Greeting>) -> HandlerResult<GreetResult> {
    tracing::info!("Created Greeting {name}");
    // TODO: make the world match `spec`.
    Ok(GreetResult {
        message: Some(format!("greet of {name} is done")),
    })
}
