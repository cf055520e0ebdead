//! `apiVersion` and `kind` of typed objects.

use std::fmt;
use std::marker::PhantomData;

use serde::de::Deserializer;
use serde::ser::{SerializeStruct as _, Serializer};
use serde::{Deserialize, Serialize};

use crate::kind::Kind;

/// Stands for `apiVersion` and `kind` in a typed object, to be flattened into it.
///
/// It always writes those of `K`, and reads any: items of lists come without them.
pub struct Served<K>(PhantomData<fn() -> K>);

impl<K> Default for Served<K> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<K> Clone for Served<K> {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl<K: Kind> fmt::Debug for Served<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", K::REFERENCE.api_version(), K::REFERENCE.kind)
    }
}

impl<K: Kind> Serialize for Served<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Served", 2)?;
        fields.serialize_field("apiVersion", &K::REFERENCE.api_version())?;
        fields.serialize_field("kind", K::REFERENCE.kind)?;
        fields.end()
    }
}

impl<'de, K: Kind> Deserialize<'de> for Served<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Ignored {}
        Ignored::deserialize(deserializer)?;
        Ok(Self::default())
    }
}
