//! What the operator does for each `ConfigMap`.

use kopf_runtime::{Entries, HandlerResult, Index};

use crate::generated::config_map::ConfigMap;

/// Says what the index `tides` holds of each `ConfigMap`.
///
/// It is called for each new state. Errors leave what was there; `Temporary` and `Permanent` take it out.
/// Handlers ask it by its type in `crate::generated::indexes`.
pub async fn tides(
    Index { name, .. }: Index<ConfigMap>,
) -> HandlerResult<Entries<(), serde_json::Value>> {
    tracing::info!("Indexing ConfigMap {name}");
    // TODO: say what to keep, such as `Entries::flat(value)`.
    Ok(Entries::none())
}
