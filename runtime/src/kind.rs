//! Kinds of objects, as handlers see them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::intents::invocation::Call;
use crate::intents::registries::Misfit;
use crate::structs::bodies::Body;
use crate::structs::errors::HandlerResult;
use crate::structs::references::Reference;

/// A kind of objects as handlers see it.
///
/// Generated kinds implement it, and a one-line type does for any other kind: with [`Value`] as spec and status it
/// is a kind without a schema.
pub trait Kind: Send + Sync + Sized + 'static {
    /// `.spec`. An object whose spec does not deserialize is reported and left alone until it is mended.
    type Spec: DeserializeOwned + fmt::Debug + Send + Sync + 'static;
    /// `.status`, viewed on demand.
    type Status: DeserializeOwned + 'static;
    /// What is kept in memory for each object, shared by its handlers (M-1); `()` for nothing.
    type Memo: Send + Sync + 'static;
    /// How the API serves the kind.
    const REFERENCE: Reference;
}

/// Turns the raw spec into the kind's own; an absent one reads as an empty object.
pub(crate) fn parse_spec<K: Kind>(body: &Body) -> Result<Arc<dyn Any + Send + Sync>, Misfit> {
    let empty = Value::Object(serde_json::Map::new());
    let spec = body.spec().unwrap_or(&empty);
    match serde_path_to_error::deserialize::<_, K::Spec>(spec) {
        Ok(spec) => Ok(Arc::new(spec)),
        Err(error) => {
            let inner = error.path().to_string();
            let path = if inner == "." {
                "spec".to_owned()
            } else {
                format!("spec.{inner}")
            };
            Err(Misfit {
                path,
                message: error.into_inner().to_string(),
            })
        }
    }
}

/// Generics end here: below, a handler takes a raw call and returns raw JSON.
pub(crate) fn erase<C, A, F, Fut, T>(handler: F) -> Call<C>
where
    C: Send + 'static,
    A: From<C> + 'static,
    F: Fn(A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = HandlerResult<T>> + Send + 'static,
    T: Serialize + 'static,
{
    Arc::new(move |call| {
        // No room but its own is taken by the function's future, which may live as long as its object.
        let running = handler(A::from(call));
        running
            .map(|answer| match serde_json::to_value(answer?)? {
                Value::Null => Ok(None),
                result => Ok(Some(result)),
            })
            .boxed()
    })
}
