//! Changes to an object, gathered while its handlers run and sent once afterwards (A).

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};

use super::bodies::Body;
use super::diffs::equal;

/// A transformation of an object. It may be called several times, so it must be idempotent (A-6).
pub(crate) type PatchFunction = Arc<dyn Fn(&mut Value) + Send + Sync>;

/// Changes to an object. Clones share what they gather.
///
/// Merges follow RFC 7386: null removes, mappings merge, all else replaces.
///
/// ```
/// use kopf_runtime::Patch;
/// use serde_json::json;
///
/// let patch = Patch::default();
/// patch.spec(json!({"size": 3}));
/// patch.status(json!({"phase": "Ready", "error": null}));
/// patch.meta().label("tier", "gold").annotation("example.com/draft", None);
/// patch.then(|object| object["spec"]["size"] = json!(5));
/// assert!(!patch.is_empty());
/// assert_eq!(patch.merged()["spec"], json!({"size": 3}));
/// assert_eq!(patch.applied_to(&json!({}))["spec"], json!({"size": 5}));
/// ```
#[derive(Clone, Default)]
pub struct Patch {
    own: Arc<Mutex<PatchContents>>,
    /// What was gathered before in the same cycle: it is seen, and is not this patch's to send (K-10).
    earlier: Option<Arc<PatchContents>>,
}

impl Patch {
    /// A patch that goes on from what others have gathered.
    pub(crate) fn after(earlier: PatchContents) -> Self {
        Self {
            own: Arc::default(),
            earlier: (!earlier.is_empty()).then(|| Arc::new(earlier)),
        }
    }

    /// Changes below `.spec`.
    pub fn spec(&self, change: Value) {
        self.merge_stanza("spec", change);
    }

    /// Changes below `.status`.
    pub fn status(&self, change: Value) {
        self.merge_stanza("status", change);
    }

    /// Changes of labels and annotations.
    #[must_use]
    pub fn meta(&self) -> MetaPatch<'_> {
        MetaPatch(self)
    }

    /// Changes anywhere in the object. Anything but a mapping changes nothing.
    pub fn merge(&self, change: Value) {
        if let Value::Object(change) = change {
            compose(&mut self.lock().merge, change);
        }
    }

    fn merge_stanza(&self, stanza: &str, change: Value) {
        compose(&mut self.lock().merge, Map::from_iter([(stanza.to_owned(), change)]));
    }

    /// A transformation that is applied to the newest known state of the object, and again if that turns out to be
    /// outdated. So it must be idempotent; what it changed is sent as a JSON patch, guarded by the version (A-6, A-8).
    pub fn then(&self, function: impl Fn(&mut Value) + Send + Sync + 'static) {
        self.lock().functions.push(Arc::new(function));
    }

    /// Whether nothing was gathered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.earlier.is_none() && self.lock().is_empty()
    }

    /// The changes of the object as one merge patch, without the transformations; for tests of handlers.
    #[must_use]
    pub fn merged(&self) -> Value {
        Value::Object(self.all().merge)
    }

    /// The object as it would be after this patch; for tests of handlers.
    ///
    /// # Panics
    /// If a transformation panics.
    #[must_use]
    pub fn applied_to(&self, object: &Value) -> Value {
        let contents = self.all();
        let mut object = object.clone();
        merge_into(&mut object, &Value::Object(contents.merge));
        for function in contents.functions {
            function(&mut object);
        }
        object
    }

    /// Puts a handler's result under `.status.<id>` (R-1).
    pub(crate) fn deliver(&self, id: &str, result: Value) {
        deliver(&mut self.lock().merge, id, result);
    }

    /// Whether its transformations can be made on this object.
    pub(crate) fn check(&self, body: &Body) -> Result<(), FunctionPanicked> {
        // A clone, for the functions may look at this very patch.
        let contents = self.lock().clone();
        contents.check(body.value())
    }

    /// Adds what came later.
    pub(crate) fn absorb(&self, later: PatchContents) {
        self.lock().append(later);
    }

    /// What was gathered, by the handlers before this one in the cycle and by itself.
    pub(crate) fn all(&self) -> PatchContents {
        let mut all = self.earlier.as_deref().cloned().unwrap_or_default();
        all.append(self.lock().clone());
        all
    }

    /// What was gathered by means of this very patch, and is forgotten by it.
    pub(crate) fn take(&self) -> PatchContents {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, PatchContents> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Patch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.all(), f)
    }
}

/// Changes of labels and annotations.
#[derive(Debug)]
pub struct MetaPatch<'a>(&'a Patch);

impl MetaPatch<'_> {
    /// Sets a label, or removes it with `None`.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "the change is made; the chain need not go on"
    )]
    pub fn label(self, key: impl Into<String>, value: impl Into<MetaValue>) -> Self {
        self.set("labels", key.into(), value.into())
    }

    /// Sets an annotation, or removes it with `None`.
    #[expect(
        clippy::return_self_not_must_use,
        reason = "the change is made; the chain need not go on"
    )]
    pub fn annotation(self, key: impl Into<String>, value: impl Into<MetaValue>) -> Self {
        self.set("annotations", key.into(), value.into())
    }

    fn set(self, stanza: &str, key: String, value: MetaValue) -> Self {
        let change = Map::from_iter([(stanza.to_owned(), json!({key: value.into_value()}))]);
        self.0.merge_stanza("metadata", Value::Object(change));
        self
    }
}

/// The value of a label or an annotation: a text, or `None` to remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetaValue(Option<String>);

impl MetaValue {
    /// As it stands in a merge patch.
    pub(crate) fn into_value(self) -> Value {
        self.0.map_or(Value::Null, Value::String)
    }
}

impl From<&str> for MetaValue {
    fn from(value: &str) -> Self {
        Self(Some(value.to_owned()))
    }
}

impl From<String> for MetaValue {
    fn from(value: String) -> Self {
        Self(Some(value))
    }
}

impl From<&String> for MetaValue {
    fn from(value: &String) -> Self {
        Self(Some(value.clone()))
    }
}

impl From<Option<String>> for MetaValue {
    fn from(value: Option<String>) -> Self {
        Self(value)
    }
}

/// What a patch has gathered.
#[derive(Clone, Default)]
pub(crate) struct PatchContents {
    /// A merge patch (RFC 7386).
    pub(crate) merge: Map<String, Value>,
    /// Transformations, in order.
    pub(crate) functions: Vec<PatchFunction>,
}

impl PatchContents {
    /// Adds what came later.
    pub(crate) fn append(&mut self, later: Self) {
        compose(&mut self.merge, later.merge);
        self.functions.extend(later.functions);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.merge.is_empty() && self.functions.is_empty()
    }

    /// Whether the transformations can be made on this object, after the merge.
    pub(crate) fn check(&self, object: &Value) -> Result<(), FunctionPanicked> {
        if self.functions.is_empty() {
            return Ok(());
        }
        self.applied_to(object).map(drop)
    }

    /// The object as it would be after this.
    pub(crate) fn applied_to(&self, object: &Value) -> Result<Value, FunctionPanicked> {
        let mut object = object.clone();
        merge_into(&mut object, &Value::Object(self.merge.clone()));
        transformed(&object, &self.functions)
    }

    /// The merge patches for the main URL and for `/status`; without a status subresource all is main (A-3, A-4).
    pub(crate) fn split_status(self, subresource: bool) -> (Option<Value>, Option<Value>) {
        let mut main = self.merge;
        let status = if subresource { main.remove("status") } else { None };
        let main = (!main.is_empty()).then_some(Value::Object(main));
        (main, status.map(|status| json!({"status": status})))
    }
}

impl fmt::Debug for PatchContents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patch")
            .field("merge", &self.merge)
            .field("functions", &self.functions.len())
            .finish()
    }
}

/// Adds a later merge patch to an earlier one, so that one patch does what both would; nulls stay.
pub(crate) fn compose(earlier: &mut Map<String, Value>, later: Map<String, Value>) {
    for (key, value) in later {
        match (earlier.get_mut(&key), value) {
            (Some(Value::Object(earlier)), Value::Object(later)) => compose(earlier, later),
            (_, value) => {
                earlier.insert(key, value);
            }
        }
    }
}

/// Applies a merge patch to a value (RFC 7386).
pub(crate) fn merge_into(value: &mut Value, patch: &Value) {
    json_patch::merge(value, patch);
}

/// Puts a handler's result under `.status.<id>` of a merge patch (R-1 to R-4).
///
/// The id is one key, slashes included. A mapping is merged shallowly into what the patch holds there; null delivers
/// nothing.
pub(crate) fn deliver(merge: &mut Map<String, Value>, id: &str, result: Value) {
    if result.is_null() {
        return;
    }
    let status = merge.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    let Value::Object(status) = status else {
        return;
    };
    match (status.get_mut(id), result) {
        (Some(Value::Object(held)), Value::Object(result)) => held.extend(result),
        (_, result) => {
            status.insert(id.to_owned(), result);
        }
    }
}

/// The merge patch that leads from one value to another; empty if they are equal (RFC 7386).
pub(crate) fn between(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut patch = Map::new();
    for key in old.keys().filter(|key| new.get(*key).is_none_or(Value::is_null)) {
        if !old[key].is_null() {
            patch.insert(key.clone(), Value::Null);
        }
    }
    for (key, value) in new.iter().filter(|(_, value)| !value.is_null()) {
        match (old.get(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => {
                let inner = between(old, new);
                if !inner.is_empty() {
                    patch.insert(key.clone(), Value::Object(inner));
                }
            }
            (old, new) if equal(old, Some(new)) => {}
            (_, new) => {
                patch.insert(key.clone(), new.clone());
            }
        }
    }
    patch
}

/// The merge patch that takes back what another one does to this value. What that one made is removed, but for the
/// mappings around it.
pub(crate) fn inverse(patch: &Map<String, Value>, value: &Value) -> Map<String, Value> {
    let back = |(key, change): (&String, &Value)| {
        let before = value.get(key).unwrap_or(&Value::Null);
        let back = match change {
            Value::Object(change) if before.is_object() || before.is_null() => Value::Object(inverse(change, before)),
            _ => before.clone(),
        };
        (key.clone(), back)
    };
    patch.iter().map(back).collect()
}

/// The object after the functions.
pub(crate) fn transformed(object: &Value, functions: &[PatchFunction]) -> Result<Value, FunctionPanicked> {
    let mut object = object.clone();
    for function in functions {
        catch_unwind(AssertUnwindSafe(|| function(&mut object))).map_err(|_| FunctionPanicked)?;
    }
    Ok(object)
}

/// The JSON patch that does what the functions do to this state of the object; empty if they do nothing (A-7).
///
/// A function that panics is an error that says so; it must not take the other changes of the cycle with it.
pub(crate) fn json_operations(body: &Value, functions: &[PatchFunction]) -> Result<Vec<Value>, FunctionPanicked> {
    if functions.is_empty() {
        return Ok(Vec::new());
    }
    let changed = transformed(body, functions)?;
    Ok(json_patch::diff(body, &changed)
        .0
        .iter()
        .map(|operation| json!(operation))
        .collect())
}

/// A transformation panicked; its message went to the standard error stream, as of any panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a function of the patch panicked")]
pub(crate) struct FunctionPanicked;

/// Makes a JSON patch fail unless the object is at this version (A-8). A patch that has such a test keeps only this one.
pub(crate) fn with_version_test(mut operations: Vec<Value>, resource_version: Option<&str>) -> Vec<Value> {
    const PATH: &str = "/metadata/resourceVersion";
    operations.retain(|operation| operation["op"] != "test" || operation["path"] != PATH);
    operations.insert(0, json!({"op": "test", "path": PATH, "value": resource_version}));
    operations
}

/// Splits off what goes to the `/status` URL (A-4).
pub(crate) fn split_operations(operations: Vec<Value>, subresource: bool) -> (Vec<Value>, Vec<Value>) {
    let below_status = |operation: &Value| {
        let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
        subresource && (path == "/status" || path.starts_with("/status/"))
    };
    operations.into_iter().partition(|operation| !below_status(operation))
}

#[cfg(test)]
#[path = "patches_tests.rs"]
mod tests;
