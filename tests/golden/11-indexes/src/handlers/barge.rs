//! What the operator does for each `Barge`.

use kopf_runtime::{Entries, HandlerResult, Index};

use crate::generated::barge::Barge;

/// Says what the index `at_berth` holds of each `Barge`.
///
/// It is called for each new state. Errors leave what was there; `Temporary` and `Permanent` take it out.
/// Handlers ask it by its type in `crate::generated::indexes`.
pub async fn barge_at_berth(
    Index { name, .. }: Index<Barge>,
) -> HandlerResult<Entries<String, String>> {
    tracing::info!("Indexing Barge {name}");
    // TODO: say what to find under which key, such as `Entries::one(key, value)`.
    Ok(Entries::none())
}
