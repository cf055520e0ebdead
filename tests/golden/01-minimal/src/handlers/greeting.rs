//! What the operator does for each `Greeting`.

use kopf_runtime::{Change, HandlerResult};

use crate::generated::greeting::{GreetResult, Greeting};

/// Runs for each `Greeting` that was created: at least once, since a crash may repeat the call.
///
/// The result is stored at `.status.greet`. Any error is retried; `Permanent` ends the attempts.
/// `retry` and `status` tell what was done before.
pub async fn greet(Change { name, .. }: Change<Greeting>) -> HandlerResult<GreetResult> {
    tracing::info!("Created Greeting {name}");
    // TODO: make the world match `spec`.
    Ok(GreetResult {
        message: Some(format!("greet of {name} is done")),
    })
}
