//! Arguments of index handlers.

use crate::intents::invocation::Common;
use crate::kind::Kind;

arguments! {
    /// Arguments of index handlers. What they put into the patch is not sent (I-13).
    Index {}, for test: "a call for this object" = std::convert::identity::<Common>
}

impl<K: Kind> From<Common> for Index<K> {
    fn from(common: Common) -> Self {
        Self::from_common(common)
    }
}
