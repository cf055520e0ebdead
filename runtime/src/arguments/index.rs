//! Arguments of index handlers.

use std::sync::Arc;

use serde_json::Value;

use super::common;
use crate::intents::invocation::Common;
use crate::kind::Kind;

arguments! {
    /// Arguments of index handlers. What they put into the patch is not sent (I-13).
    Index {}
}

impl<K: Kind> From<Common> for Index<K> {
    fn from(common: Common) -> Self {
        Self::from_common(common)
    }
}

impl<K: Kind> Index<K> {
    /// The arguments of a call for this object, with a default memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test(object: impl Into<Value>) -> Self
    where
        K::Memo: Default,
    {
        Self::for_test_with(object, K::Memo::default())
    }

    /// The arguments of a call for this object, with this memo.
    ///
    /// # Panics
    /// If the object's spec does not fit `K::Spec`.
    #[must_use]
    pub fn for_test_with(object: impl Into<Value>, memo: impl Into<Arc<K::Memo>>) -> Self {
        common::for_test::<K>(object.into(), memo.into()).into()
    }
}
