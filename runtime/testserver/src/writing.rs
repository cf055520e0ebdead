//! Creating and updating: identity, preconditions, schema, what a request may not touch.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, Place};
use crate::crds;
use crate::metadata;
use crate::schema;
use crate::status::{Cause, Status};

/// The part of an object that a request may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Main,
    Status,
    /// Both at once: no request can do that, but the set-up of a test may.
    All,
}

/// How an object is to be written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct How {
    pub(crate) scope: Scope,
    /// Everything but storing.
    pub(crate) dry_run: bool,
    /// Unknown fields are refused instead of pruned.
    pub(crate) strict: bool,
}

/// Metadata that clients send back but cannot change.
const KEPT: [&str; 6] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "namespace",
];

const MODIFIED: &str = "the object has been modified; please apply your changes to the latest version and try again";

impl Cluster {
    pub(crate) fn create(&mut self, place: &Place, mut object: Value, how: How) -> Result<Arc<Value>, Status> {
        let kind = Arc::clone(&place.kind);
        check_identity(place, &mut object)?;
        let now = json!(self.now());
        let metadata = metadata_of(&mut object);
        if metadata
            .get("resourceVersion")
            .is_some_and(|version| version.as_str().is_some_and(|text| !text.is_empty()))
        {
            return Err(Status::new(
                500,
                "InternalError",
                "resourceVersion should not be set on objects to be created",
            ));
        }
        for field in KEPT {
            metadata.remove(field);
        }
        metadata::tidy(metadata);
        let prefix = metadata.get("generateName").and_then(Value::as_str).map(str::to_owned);
        let generated = !metadata.contains_key("name") && prefix.is_some();
        if let Some(prefix) = prefix.filter(|_| generated) {
            // The server cuts the prefix, so that five more characters fit.
            let prefix: String = prefix.chars().take(58).collect();
            metadata.insert("name".into(), json!(format!("{prefix}{}", self.next_suffix())));
        }
        let metadata = metadata_of(&mut object);
        metadata.insert("creationTimestamp".into(), now);
        metadata.insert("uid".into(), json!(self.next_uid()));
        if kind.traits.generation {
            metadata.insert("generation".into(), json!(1));
        }
        if kind.namespaced {
            metadata.insert("namespace".into(), json!(place.namespace));
        }
        let name = name_of(&object);
        if kind.namespaced {
            self.check_namespace(place, &name)?;
        }
        if place.version()?.status
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
            if let Some(status) = kind.traits.initial_status {
                fields.insert("status".into(), serde_json::from_str(status).unwrap_or_default());
            }
        }
        self.complete(place, None, &mut object, how)?;
        if self.store.get(&kind.key(), &place.namespace, &name).is_some() {
            return Err(Status::already_exists(&kind, &name));
        }
        if how.dry_run {
            return Ok(Arc::new(object));
        }
        object["apiVersion"] = json!(kind.api_version(&kind.storage));
        let stored = self.store.put(&kind.key(), object);
        self.served_anew(place, &stored);
        Ok(place.present(&stored))
    }

    /// Replaces an object by what `make` builds from its current state.
    pub(crate) fn update(
        &mut self,
        place: &Place,
        name: &str,
        how: How,
        make: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Arc<Value>, Status> {
        let kind = Arc::clone(&place.kind);
        let key = kind.key();
        let stored = self.store.get(&key, &place.namespace, name).cloned();
        let stored = stored.ok_or_else(|| Status::not_found(&kind, name))?;
        let current = place.present(&stored);
        let mut object = make(&current)?;
        check_identity(place, &mut object)?;
        check_preconditions(place, name, &current, metadata_of(&mut object))?;
        let mut object = if how.scope == Scope::Status {
            let mut whole = Value::clone(&current);
            copy_field(&object, &mut whole, "status");
            whole
        } else {
            object
        };
        if how.scope == Scope::Main && place.version()?.status {
            copy_field(&current, &mut object, "status");
        }
        let metadata = metadata_of(&mut object);
        for field in KEPT {
            metadata.remove(field);
            if let Some(value) = current["metadata"].get(field) {
                metadata.insert(field.into(), value.clone());
            }
        }
        metadata.insert("resourceVersion".into(), current["metadata"]["resourceVersion"].clone());
        metadata::tidy(metadata);
        self.complete(place, Some(&current), &mut object, how)?;
        if object == *current {
            return Ok(current);
        }
        if kind.traits.generation && content_differs(&current, &object, place.version()?.status) {
            let generation = current["metadata"]["generation"].as_i64().unwrap_or(1) + 1;
            object["metadata"]["generation"] = json!(generation);
        }
        if how.dry_run {
            return Ok(Arc::new(object));
        }
        if object["metadata"].get("deletionTimestamp").is_some()
            && object["metadata"].get("finalizers").is_none()
            && self.is_vacant(&kind, name)
        {
            // As in a cluster: the response shows what was asked for, the event what had been stored.
            self.vanish(&kind, &place.namespace, name);
            return Ok(Arc::new(object));
        }
        object["apiVersion"] = json!(kind.api_version(&kind.storage));
        let stored = self.store.put(&key, object);
        self.served_anew(place, &stored);
        Ok(place.present(&stored))
    }

    /// Prunes, defaults and checks an object that is about to be stored.
    fn complete(&mut self, place: &Place, current: Option<&Value>, object: &mut Value, how: How) -> Result<(), Status> {
        let kind = &place.kind;
        let mut causes = Vec::new();
        let metadata = metadata_of(object);
        causes.extend(metadata::validate(metadata, kind.traits.naming));
        if let Some(old) = current.map(|current| &current["metadata"])
            && let Some(old) = old.as_object().filter(|old| old.contains_key("deletionTimestamp"))
        {
            causes.extend(metadata::new_finalizers(old, metadata));
        }
        if let Some(schema) = &place.version()?.schema {
            let found = schema::admit(schema, object);
            if how.strict && !found.unknown.is_empty() {
                return Err(unknown_fields(place, &found.unknown));
            }
            causes.extend(found.causes);
        }
        if kind.plural == "namespaces" && kind.group.is_empty() {
            let name = json!(name_of(object));
            metadata_of(object).entry("labels").or_insert_with(|| json!({}))["kubernetes.io/metadata.name"] = name;
        }
        if crds::is_crd(kind) {
            causes.extend(crds::complete(object, current, &self.now()));
        }
        if causes.is_empty() {
            Ok(())
        } else {
            Err(Status::invalid(kind, &name_of(object), &causes))
        }
    }

    fn check_namespace(&self, place: &Place, name: &str) -> Result<(), Status> {
        let namespaces = self.place("", "v1", "namespaces", None)?;
        let namespace = self.store.get(&namespaces.kind.key(), "", &place.namespace);
        let namespace = namespace.ok_or_else(|| Status::not_found(&namespaces.kind, &place.namespace))?;
        if namespace["metadata"].get("deletionTimestamp").is_some() {
            let why = format!(
                "unable to create new content in namespace {} because it is being terminated",
                place.namespace
            );
            let mut status = Status::forbidden(&place.kind, name, &why);
            status.details["causes"] = json!([{
                "reason": "NamespaceTerminating",
                "message": format!("namespace {} is being terminated", place.namespace),
                "field": "metadata.namespace",
            }]);
            return Err(status);
        }
        Ok(())
    }

    /// A stored CRD changes what is served.
    fn served_anew(&mut self, place: &Place, stored: &Value) {
        if crds::is_crd(&place.kind) {
            let kind = crds::kind_of(stored);
            if self.kinds.get(&kind.group, &kind.plural).is_none() {
                self.store.begin(&kind.key());
            }
            self.kinds.insert(kind);
        }
    }
}

fn unknown_fields(place: &Place, paths: &[String]) -> Status {
    let (kind, version) = (&place.kind.kind, &place.version);
    let fields: Vec<_> = paths.iter().map(|path| format!("unknown field {path:?}")).collect();
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {}",
        fields.join(", ")
    ))
}

pub(crate) fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The metadata of an object whose identity was checked.
fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"].as_object_mut().expect("metadata was made an object")
}

fn copy_field(from: &Value, to: &mut Value, field: &str) {
    if let Some(fields) = to.as_object_mut() {
        match from.get(field) {
            Some(value) => fields.insert(field.into(), value.clone()),
            None => fields.remove(field),
        };
    }
}

/// Whether an object claims to be what its path says.
fn check_identity(place: &Place, object: &mut Value) -> Result<(), Status> {
    let kind = &place.kind;
    if !object.is_object() {
        let message = format!("the object provided is unrecognized (must be of type {})", kind.kind);
        return Err(Status::bad_request(message));
    }
    metadata::check_shape(object)?;
    if kind.custom && object["kind"].as_str().is_none_or(str::is_empty) {
        return Err(Status::bad_request(format!("Object 'Kind' is missing in '{object}'")));
    }
    for (field, wanted) in [("apiVersion", place.api_version()), ("kind", kind.kind.clone())] {
        match object.get(field).and_then(Value::as_str).unwrap_or_default() {
            // Requests for built-in kinds may leave out what the path says already.
            "" if !kind.custom => object[field] = json!(wanted),
            given if given == wanted => {}
            given if field == "apiVersion" => {
                return Err(Status::bad_request(format!(
                    "the API version in the data ({given}) does not match the expected API version ({wanted})"
                )));
            }
            given if kind.custom => {
                let cause = Cause::invalid("kind", &json!(given), &format!("must be {wanted}"));
                return Err(Status::invalid(kind, &name_of(object), &[cause]));
            }
            given => {
                let version = &place.version;
                let message = format!("{given} in version \"{version}\" cannot be handled as a {wanted}");
                return Err(Status::bad_request(message));
            }
        }
    }
    let metadata = metadata_of(object);
    let given = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    if !given.is_empty() && given != place.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Whether an update is of the object, and of the version of it, that the client has seen.
fn check_preconditions(
    place: &Place,
    name: &str,
    current: &Value,
    metadata: &Map<String, Value>,
) -> Result<(), Status> {
    let given = |field: &str| {
        metadata
            .get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    match given("name") {
        None => {
            return Err(Status::bad_request(format!(
                "the name of the object ({name} based on URL) was undeterminable: name must be provided"
            )));
        }
        Some(other) if other != name => {
            return Err(Status::bad_request(format!(
                "the name of the object ({other}) does not match the name on the URL ({name})"
            )));
        }
        Some(_) => {}
    }
    let current = &current["metadata"];
    for field in ["uid", "deletionTimestamp"] {
        let may_differ = field == "deletionTimestamp" && current.get(field).is_some();
        if let Some(value) = given(field).filter(|&value| !may_differ && current[field] != *value) {
            let cause = Cause::invalid(format!("metadata.{field}"), &json!(value), "field is immutable");
            return Err(Status::invalid(&place.kind, name, &[cause]));
        }
    }
    match given("resourceVersion") {
        Some(version) if current["resourceVersion"] != *version => Err(Status::conflict(&place.kind, name, MODIFIED)),
        None if !place.kind.traits.unconditional => {
            let message = "Invalid value: 0x0: must be specified for an update".into();
            let field = "metadata.resourceVersion".into();
            Err(Status::invalid(
                &place.kind,
                name,
                &[Cause {
                    field,
                    reason: "FieldValueInvalid",
                    message,
                }],
            ))
        }
        _ => Ok(()),
    }
}

/// Whether anything but metadata (and a status with an endpoint of its own) differs.
fn content_differs(old: &Value, new: &Value, status_apart: bool) -> bool {
    fn content(object: &Value, status_apart: bool) -> impl Iterator<Item = (&String, &Value)> {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(move |(key, _)| *key != "metadata" && !(status_apart && *key == "status"))
    }
    !content(old, status_apart).eq(content(new, status_apart))
}
