//! Pieces of the argument structs.

use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::intents::contexts::Context;
use crate::intents::invocation::Common;
use crate::kind::Kind;
use crate::structs::bodies::Body;
use crate::structs::patches::Patch;

/// Raw JSON with a fallible typed view. It reads as the [`Value`] that it holds.
pub struct Raw<T = Value> {
    value: Arc<Value>,
    /// What it is of the value; `None` for all of it.
    stanza: Option<&'static str>,
    view: PhantomData<fn() -> T>,
}

impl<T> Raw<T> {
    pub(crate) fn shared(value: Arc<Value>) -> Self {
        Self {
            value,
            stanza: None,
            view: PhantomData,
        }
    }

    /// A stanza of an object, which is shared and not copied.
    pub(crate) fn stanza(body: &Body, stanza: &'static str) -> Self {
        Self {
            value: body.shared(),
            stanza: Some(stanza),
            view: PhantomData,
        }
    }

    /// The JSON value; null if there is none.
    #[must_use]
    pub fn value(&self) -> &Value {
        match self.stanza {
            Some(stanza) => self.value.get(stanza).unwrap_or(&Value::Null),
            None => &self.value,
        }
    }
}

impl<T: DeserializeOwned> Raw<T> {
    /// The typed view; an absent value reads as an empty object.
    ///
    /// # Errors
    /// If the value does not fit; the message names the path.
    pub fn typed(&self) -> anyhow::Result<T> {
        view(self.value())
    }
}

impl Raw<Value> {
    /// A typed view of any fitting type.
    ///
    /// # Errors
    /// If the value does not fit; the message names the path.
    pub fn view<V: DeserializeOwned>(&self) -> anyhow::Result<V> {
        view(self.value())
    }
}

fn view<V: DeserializeOwned>(value: &Value) -> anyhow::Result<V> {
    let empty = Value::Object(serde_json::Map::new());
    let value = if value.is_null() { &empty } else { value };
    serde_path_to_error::deserialize(value).context("the value does not fit its type")
}

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        Self {
            value: Arc::clone(&self.value),
            ..*self
        }
    }
}

impl<T> Deref for Raw<T> {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.value()
    }
}

impl<T> std::fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.value())
    }
}

impl<T> std::fmt::Display for Raw<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.value())
    }
}

/// The operator's client, if the handler runs in an operator.
#[derive(Clone)]
pub struct LazyClient(Option<kube::Client>);

impl LazyClient {
    pub(crate) fn new(client: Option<kube::Client>) -> Self {
        Self(client)
    }

    /// The client.
    ///
    /// # Errors
    /// In unit tests, where arguments come from `for_test` and there is no cluster.
    pub fn get(&self) -> anyhow::Result<kube::Client> {
        self.0
            .clone()
            .context("there is no cluster: the arguments come from `for_test`")
    }
}

impl std::fmt::Debug for LazyClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("LazyClient").field(&self.0.is_some()).finish()
    }
}

/// Labels or annotations of one's own.
pub(super) fn texts<'a>(texts: impl Iterator<Item = (&'a str, &'a str)>) -> BTreeMap<String, String> {
    texts.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// What `for_test` puts into the shared fields.
pub(super) fn for_test<K: Kind>(object: Value, memo: Arc<K::Memo>) -> Common {
    let body = Body::new(object);
    let spec = match crate::kind::parse_spec::<K>(&body) {
        Ok(spec) => spec,
        Err(misfit) => panic!("the object does not fit `{}`: {misfit}", K::REFERENCE.kind),
    };
    Common {
        body,
        patch: Patch::default(),
        retry: 0,
        started: jiff::Timestamp::now(),
        runtime: Duration::ZERO,
        param: Value::Null,
        context: Context {
            spec: Some(spec),
            memo: Some(memo),
            ..Context::default()
        },
    }
}
