//! Kopf itself, unchanged, as a client of the embedded and of the real API server: whatever its operators do on the
//! one, they do on the other.

/// Runs a scenario on the embedded server behind a socket and on the real control plane.
macro_rules! kopf_on_both_servers {
    ($($scenario:ident;)*) => {$(
        mod $scenario {
            #[tokio::test(flavor = "multi_thread")]
            async fn embedded() {
                if let Some(stage) = $crate::kopf::stage::Stage::embedded().await {
                    super::$scenario(&stage).await;
                }
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn real() {
                if let Some(stage) = $crate::kopf::stage::Stage::real().await {
                    super::$scenario(&stage).await;
                }
            }
        }
    )*};
}

/// Objects that own others, and handlers of built-in kinds.
mod children;
/// Functions that run beside an object.
mod daemons;
/// Errors and retries.
mod failures;
/// Kinds and namespaces that the operator does not find at its start.
mod later;
/// From creation to deletion, and restarts in between.
mod life;
/// Several operators for the same objects.
mod peers;
/// Admission webhooks.
mod reviews;
/// Indices.
mod shelves;
/// Where a scenario is played.
mod stage;
/// Timers.
mod ticks;
