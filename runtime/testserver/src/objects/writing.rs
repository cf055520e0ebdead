//! Creating and updating: identity, preconditions, schema, what a request may not touch.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::access;
use crate::admission::configurations;
use crate::cluster::{Cluster, Place};
use crate::discovery::openapi;
use crate::go;
use crate::kinds::{Kind, addresses, crds, defaults, representations, rules};
use crate::objects::identity::{check_identity, check_preconditions, check_type};
use crate::objects::managed::tracking;
use crate::objects::{deletion, metadata, namespaces, scale};
use crate::schema;
use crate::status::{Cause, Status};

/// The part of an object that a request may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    #[default]
    Main,
    Status,
    /// What holds a namespace.
    Finalize,
    /// The number of replicas.
    Scale,
    /// Both at once: no request can do that, but the set-up of a test may.
    All,
}

impl Scope {
    /// The name that it has in paths; empty for the object itself.
    pub(crate) fn subresource(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Finalize => "finalize",
            Self::Main | Self::All => "",
        }
    }
}

/// What becomes of fields that the schema does not know, or that come twice; they are pruned in any case.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    /// The answer warns of them; what servers do unless told otherwise.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

impl FieldValidation {
    pub(crate) fn parse(text: &str) -> Result<Self, Cause> {
        match text {
            "Ignore" => Ok(Self::Ignore),
            "" | "Warn" => Ok(Self::Warn),
            "Strict" => Ok(Self::Strict),
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"].map(|each| json!(each));
                Err(Cause::unsupported("fieldValidation", &json!(other), &supported))
            }
        }
    }
}

/// The fault of a dry run, which is for all stages or none.
pub(crate) fn check_dry_run(stages: &[Value]) -> Option<Cause> {
    let given: Vec<_> = stages.iter().map(go::literal).collect();
    let given = given.join(", ");
    stages.iter().any(|stage| *stage != "All").then(|| Cause {
        field: "dryRun".into(),
        reason: "FieldValueNotSupported",
        message: format!("Unsupported value: []string{{{given}}}: supported values: \"All\""),
    })
}

/// How an object is to be written.
#[derive(Debug, Clone, Default)]
pub(crate) struct How {
    pub(crate) scope: Scope,
    /// Everything but storing.
    pub(crate) dry_run: bool,
    pub(crate) validation: FieldValidation,
    /// Paths of fields that the request has more than once.
    pub(crate) duplicates: Vec<String>,
    /// Who manages the fields that are written; empty for the set-up of a test.
    pub(crate) manager: String,
    /// Whether a configuration is applied, which settles who manages its fields.
    pub(crate) applies: bool,
    /// Whether fields of other managers are taken over when a configuration is applied.
    pub(crate) force: bool,
}

/// A write on its way into the store.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) place: Place,
    pub(crate) name: String,
    pub(crate) how: How,
    /// What is stored, in the version of the place; nothing if the object is to be created.
    pub(crate) current: Option<Arc<Value>>,
    /// What is to be stored.
    pub(crate) object: Value,
    /// What the answer is to warn of.
    pub(crate) warnings: Vec<String>,
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

impl Cluster {
    /// Creates an object without asking the admission chain.
    pub(crate) fn create(&mut self, place: &Place, object: Value, how: How) -> Result<Arc<Value>, Status> {
        let mut draft = self.draft_new(place, object, how)?;
        self.check(&mut draft)?;
        // Nobody else can change anything in between.
        self.commit(draft).map(Option::unwrap_or_default)
    }

    /// Replaces an object by what `make` builds from its current state, without asking the admission chain.
    pub(crate) fn update(
        &mut self,
        place: &Place,
        name: &str,
        how: How,
        make: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Arc<Value>, Status> {
        let mut draft = self.draft_change(place, name, how, make)?;
        self.check(&mut draft)?;
        self.commit(draft).map(Option::unwrap_or_default)
    }

    /// The first step of creating: the object without what it may not decide.
    pub(crate) fn draft_new(&self, place: &Place, mut object: Value, how: How) -> Result<Draft, Status> {
        let kind = &place.kind;
        self.check_definition(kind)?;
        check_identity(place, &mut object)?;
        let metadata = metadata_of(&mut object);
        forget_decided(metadata, kind);
        metadata::tidy(metadata);
        if kind.namespaced {
            metadata.insert("namespace".into(), json!(place.namespace));
        }
        let name = name_of(&object);
        if kind.namespaced {
            let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default();
            self.check_namespace(place, if name.is_empty() { prefix } else { &name })?;
        }
        let place = place.clone();
        let mut draft = Draft {
            place,
            name,
            how,
            current: None,
            object,
            warnings: Vec::new(),
        };
        check_type(&draft.place, &draft.object)?;
        decode(&mut draft)?;
        tracking::track(&mut draft, &self.now())?;
        Ok(draft)
    }

    /// The first step of changing: what `make` builds from the current state, without what it may not touch.
    pub(crate) fn draft_change(
        &self,
        place: &Place,
        name: &str,
        how: How,
        make: impl FnOnce(&Value) -> Result<Value, Status>,
    ) -> Result<Draft, Status> {
        let kind = &place.kind;
        let stored = self.store.get(&kind.key(), &place.namespace, name).cloned();
        let stored = stored.ok_or_else(|| Status::not_found(kind, name))?;
        let current = place.present(&stored);
        let mut object = make(&current)?;
        check_identity(place, &mut object)?;
        check_preconditions(place, name, &current, metadata_of(&mut object))?;
        let (place, name) = (place.clone(), name.to_owned());
        let mut draft = Draft {
            place,
            name,
            how,
            current: Some(current),
            object,
            warnings: Vec::new(),
        };
        restrain(&mut draft)?;
        check_type(&draft.place, &draft.object)?;
        decode(&mut draft)?;
        tracking::track(&mut draft, &self.now())?;
        Ok(draft)
    }

    /// The second step of a write, after objects were mutated on their way: everything that is to hold of them.
    pub(crate) fn check(&mut self, draft: &mut Draft) -> Result<(), Status> {
        match draft.current.clone() {
            None => self.fill(draft)?,
            // Admission must not make another object of it either.
            Some(current) => check_preconditions(&draft.place, &draft.name, &current, metadata_of(&mut draft.object))?,
        }
        restrain(draft)?;
        let kind = Arc::clone(&draft.place.kind);
        let current = draft.current.clone();
        let object = &mut draft.object;
        let mut causes = Vec::new();
        let metadata = metadata_of(object);
        causes.extend(metadata::validate(
            metadata,
            kind.traits.naming,
            kind.traits.standard_finalizers,
        ));
        if let Some(old) = current.as_deref().map(|current| &current["metadata"])
            && let Some(old) = old.as_object().filter(|old| old.contains_key("deletionTimestamp"))
        {
            // Two validations find this: the one of all objects, and the one of the kind.
            let added = metadata::new_finalizers(old, metadata);
            causes.extend(added.clone());
            causes.extend(added);
        }
        if namespaces::is_namespace(&kind) {
            if current.is_none() {
                namespaces::complete(object);
            }
            causes.extend(namespaces::validate(object, current.is_none(), draft.how.scope));
        }
        if let Some(schema) = &draft.place.version()?.schema {
            // Admission may have added anything.
            schema::decode(schema, object).map_err(|cause| cannot_be_handled(&draft.place, &cause.to_string()))?;
            causes.extend(match &current {
                Some(old) if draft.how.scope == Scope::Status => schema::check_status(schema, object, old),
                old => schema::check(schema, object, old.as_deref()),
            });
            if let Some(paths) = &draft.place.version()?.scale {
                let status_only = current.is_some() && draft.how.scope == Scope::Status;
                causes.extend(scale::faults(object, paths, status_only));
            }
        }
        defaults::complete(&draft.place, current.as_deref(), object);
        addresses::allocate(self, &draft.place, current.as_deref(), object, &mut causes);
        causes.extend(rules::validate(&draft.place, current.as_deref(), object));
        causes.extend(configurations::faults(&kind, object));
        causes.extend(access::validation::faults(&kind, object, current.as_deref()));
        if crds::is_crd(&kind) {
            crds::set_defaults(object);
            // A status is taken as it is written.
            if draft.how.scope != Scope::Status {
                causes.extend(crds::faults(object, current.as_deref()));
            }
        }
        if !causes.is_empty() {
            return Err(Status::invalid(&kind, &name_of(object), &causes));
        }
        if crds::is_crd(&kind) {
            crds::check_served(object)?;
            self.settle(object);
        }
        if let Some(current) = &current
            && kind.traits.generation
            && content_differs(current, object, draft.place.version()?.status)
        {
            let generation = current["metadata"]["generation"].as_i64().unwrap_or(1) + 1;
            object["metadata"]["generation"] = json!(generation);
        }
        Ok(())
    }

    /// Gives a new object what the server decides about it, whatever was asked for or added on its way.
    fn fill(&mut self, draft: &mut Draft) -> Result<(), Status> {
        let (place, object) = (&draft.place, &mut draft.object);
        let kind = &place.kind;
        let (now, uid) = (json!(self.now()), json!(self.next_uid()));
        let metadata = metadata_of(object);
        forget_decided(metadata, kind);
        metadata::tidy(metadata);
        let prefix = metadata.get("generateName").and_then(Value::as_str);
        if let Some(prefix) = prefix.filter(|_| !metadata.contains_key("name")) {
            // The server cuts the prefix, so that five more characters fit.
            let prefix: String = prefix.chars().take(58).collect();
            metadata.insert("name".into(), json!(format!("{prefix}{}", self.next_suffix())));
        }
        metadata.insert("creationTimestamp".into(), now);
        metadata.insert("uid".into(), uid);
        if kind.traits.generation {
            metadata.insert("generation".into(), json!(1));
        }
        if kind.namespaced {
            metadata.insert("namespace".into(), json!(place.namespace));
        }
        if place.version()?.status
            && let Some(fields) = object.as_object_mut()
        {
            fields.remove("status");
            if let Some(status) = kind.traits.initial_status {
                fields.insert("status".into(), serde_json::from_str(status).unwrap_or_default());
            }
        }
        draft.name = name_of(object);
        Ok(())
    }

    /// The last step of a write; nothing if the object has changed since the draft was made.
    pub(crate) fn commit(&mut self, draft: Draft) -> Result<Option<Arc<Value>>, Status> {
        let committed = self.commit_alone(draft)?;
        self.reconcile();
        Ok(committed)
    }

    /// Stores a write, and leaves everything else to the controllers.
    pub(crate) fn commit_alone(&mut self, draft: Draft) -> Result<Option<Arc<Value>>, Status> {
        let Draft {
            place,
            name,
            how,
            current,
            object,
            ..
        } = draft;
        let kind = Arc::clone(&place.kind);
        let stored = self.store.get(&kind.key(), &place.namespace, &name);
        let Some(current) = current else {
            let version = object["metadata"]["resourceVersion"].as_str().unwrap_or_default();
            // What is not stored need not be free of it, and what is no number is none.
            if !how.dry_run && version.parse::<u64>().is_ok_and(|version| version != 0) {
                let why = "resourceVersion should not be set on objects to be created";
                return Err(Status::unexpected(why));
            }
            if let Some(stored) = stored {
                let mut status = Status::already_exists(&kind, &name);
                if deletion::is_deleted(stored) {
                    status.message = format!("object is being deleted: {}", status.message);
                }
                return Err(status);
            }
            if how.dry_run {
                return Ok(Some(Arc::new(object)));
            }
            return Ok(Some(self.put(&place, object)));
        };
        let stored = stored.ok_or_else(|| Status::not_found(&kind, &name))?;
        if stored["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"] {
            return Ok(None);
        }
        let unchanged = object == *current || tracking::differ_in_times_only(&object, &current);
        // An object in an old form is stored anew.
        if unchanged && (!kind.revised || crds::as_stored(&kind, &current) == **stored) {
            return Ok(Some(current));
        }
        if how.dry_run {
            return Ok(Some(Arc::new(object)));
        }
        if deletion::goes_with_update(&kind, &current, &object) {
            // As in a cluster: the response shows what was asked for, the event what had been stored.
            self.vanish(&kind, &place.namespace, &name);
            return Ok(Some(Arc::new(object)));
        }
        Ok(Some(self.put(&place, object)))
    }

    /// Stores an object, and serves what it changes in what is served.
    pub(crate) fn put(&mut self, place: &Place, mut object: Value) -> Arc<Value> {
        let kind = &place.kind;
        if kind.custom {
            object = crds::as_stored(kind, &object);
        } else {
            representations::convert(&mut object, &kind.stored_api_version());
        }
        let stored = self.store.put(&kind.key(), object);
        if crds::is_crd(kind) {
            self.serve(&stored);
        }
        access::changed(self, kind, &stored);
        place.present(&stored)
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
}

/// Removes from a new object what the server decides; kinds that count no generations keep a given one.
fn forget_decided(metadata: &mut Map<String, Value>, kind: &Kind) {
    metadata.retain(|field, _| !KEPT.contains(&field.as_str()) || (field == "generation" && !kind.traits.generation));
}

/// Gives an object the form of its kind: unknown fields go, defaults come.
pub(crate) fn decode(draft: &mut Draft) -> Result<(), Status> {
    configurations::check_form(&draft.place.kind, &mut draft.object)?;
    let unknown = openapi::decode(&draft.place, &mut draft.object);
    let mut unknown = unknown.map_err(|fault| cannot_be_handled(&draft.place, &fault))?;
    // What is filled in here belongs to who writes, unlike what is decided later.
    defaults::complete(&draft.place, draft.current.as_deref(), &mut draft.object);
    if let Some(schema) = &draft.place.version()?.schema {
        let pruned = schema::decode(schema, &mut draft.object);
        unknown.extend(pruned.map_err(|cause| cannot_be_handled(&draft.place, &cause.to_string()))?);
    }
    judge(draft, &unknown)
}

/// Fields that are unknown or come twice are gone in any case; whether that is worth a word, is up to the request.
fn judge(draft: &mut Draft, unknown: &[String]) -> Result<(), Status> {
    let duplicates = draft
        .how
        .duplicates
        .iter()
        .map(|path| format!("duplicate field {path:?}"));
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    let words: Vec<_> = duplicates.chain(unknown).collect();
    match draft.how.validation {
        FieldValidation::Strict if !words.is_empty() => {
            let why = format!("strict decoding error: {}", words.join(", "));
            return Err(cannot_be_handled(&draft.place, &why));
        }
        FieldValidation::Warn => draft.warnings.extend(words),
        _ => {}
    }
    Ok(())
}

/// Whether an object can be read as one of its kind.
pub(crate) fn check_readable(place: &Place, object: &Value) -> Result<(), Status> {
    form(place, None, &mut object.clone()).map_err(|why| cannot_be_handled(place, &why))
}

/// Gives an object the form of its kind again, after admission has changed it; otherwise, why it has none.
pub(crate) fn form(place: &Place, current: Option<&Value>, object: &mut Value) -> Result<(), String> {
    if let Some(schema) = place
        .kind
        .version(&place.version)
        .and_then(|version| version.schema.as_ref())
    {
        schema::decode(schema, object).map_err(|cause| cause.to_string())?;
    }
    openapi::decode(place, object)?;
    defaults::complete(place, current, object);
    Ok(())
}

/// Takes back what a request for a part of an object changed in the rest of it.
fn restrain(draft: &mut Draft) -> Result<(), Status> {
    let Some(current) = &draft.current else {
        return Ok(());
    };
    let (object, scope) = (&mut draft.object, draft.how.scope);
    if scope == Scope::Status {
        let mut whole = Value::clone(current);
        copy_field(object, &mut whole, "status");
        copy_field(&object["metadata"], &mut whole["metadata"], "managedFields");
        *object = whole;
    }
    if matches!(scope, Scope::Main | Scope::Scale) && draft.place.version()?.status {
        copy_field(current, object, "status");
    }
    if namespaces::is_namespace(&draft.place.kind) {
        namespaces::restrain(current, object, scope);
    }
    let metadata = metadata_of(object);
    for field in KEPT {
        metadata.remove(field);
        if let Some(value) = current["metadata"].get(field) {
            metadata.insert(field.into(), value.clone());
        }
    }
    metadata.insert("resourceVersion".into(), current["metadata"]["resourceVersion"].clone());
    metadata::tidy(metadata);
    Ok(())
}

fn cannot_be_handled(place: &Place, why: &str) -> Status {
    let (kind, version) = (&place.kind.kind, &place.version);
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
}

pub(crate) fn name_of(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap_or_default().to_owned()
}

/// The metadata of an object whose identity was checked.
pub(crate) fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
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

/// Whether anything but metadata (and a status with an endpoint of its own) differs.
fn content_differs(old: &Value, new: &Value, status_apart: bool) -> bool {
    fn content(object: &Value, status_apart: bool) -> impl Iterator<Item = (&String, &Value)> {
        let fields = object.as_object().into_iter().flatten();
        fields.filter(move |(key, _)| *key != "metadata" && !(status_apart && *key == "status"))
    }
    !content(old, status_apart).eq(content(new, status_apart))
}
