//! What the server serves: the table of built-in kinds, and the shape that custom ones take too.

pub(crate) mod addresses;
mod built_in;
pub(crate) mod columns;
pub(crate) mod crds;
pub(crate) mod defaults;
pub(crate) mod jsonpath;
pub(crate) mod paths;
pub(crate) mod representations;
pub(crate) mod rules;
pub(crate) mod unserved;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

/// One resource as served: the names it has, and its versions.
#[expect(clippy::struct_field_names, reason = "`kind` and `listKind` are the API's own words")]
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// Served versions, the preferred one first.
    pub(crate) versions: Vec<Version>,
    /// Versions that are not served; objects may have been stored in them.
    pub(crate) unserved: Vec<Version>,
    /// Whether objects may have been stored when there was another schema, or another version to store them in.
    pub(crate) revised: bool,
    /// The version in which objects are stored.
    pub(crate) storage: String,
    /// Whether a CRD defines it.
    pub(crate) custom: bool,
    /// What discovery says that may be done.
    pub(crate) verbs: &'static [&'static str],
    pub(crate) traits: Traits,
}

/// What can be done with custom objects, in the order in which discovery lists it.
pub(crate) const CUSTOM: &[&str] = &[
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// What can be done with objects that are stored.
pub(crate) const STORED: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];

/// What can still be done with objects whose kind is about to go.
pub(crate) const ENDING: &[&str] = &["delete", "deletecollection", "get", "list", "watch"];

/// What can be done with questions, which are answered and forgotten.
pub(crate) const ASKED: &[&str] = &["create"];

/// What sets one served version apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// Whether there is a `/status` subresource.
    pub(crate) status: bool,
    /// The structural schema; built-in kinds have none here and are stored as they come.
    pub(crate) schema: Option<Value>,
    pub(crate) columns: Vec<Column>,
    /// Fields that objects can be selected by, beside name and namespace, such as `spec.color`.
    pub(crate) selectable: Vec<String>,
    /// Where objects say how many replicas there are, if there is a `/scale` subresource.
    pub(crate) scale: Option<Scale>,
    /// What clients are told if they should use another version.
    pub(crate) deprecation: Option<String>,
}

/// Paths such as `.spec.replicas`.
#[derive(Debug, Clone)]
pub(crate) struct Scale {
    pub(crate) wanted: String,
    pub(crate) found: String,
    /// Where the selector of the replicas stands, as a text.
    pub(crate) selector: Option<String>,
}

/// A column of a table, beside name and age.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) format: String,
    pub(crate) description: String,
    pub(crate) priority: i64,
}

/// How names of a kind are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    Subdomain,
    Label,
    /// A label that starts with a letter.
    ServiceLabel,
    PathSegment,
}

/// Habits of a kind that differ between the built-in ones.
#[expect(clippy::struct_excessive_bools, reason = "habits are independent of each other")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// Whether `metadata.generation` is kept.
    pub(crate) generation: bool,
    /// Whether an update may come without a resource version.
    pub(crate) unconditional: bool,
    /// Whether an update of an object that does not exist creates it.
    pub(crate) created_by_update: bool,
    pub(crate) naming: Naming,
    /// Whether finalizers have to be qualified by a domain, unless they are the server's own.
    pub(crate) standard_finalizers: bool,
    /// The status of a new object, as JSON text.
    pub(crate) initial_status: Option<&'static str>,
    /// The fields of a whole object beside its metadata; custom kinds have schemas instead.
    pub(crate) fields: &'static [&'static str],
    /// The group whose kind of the same plural keeps the objects, if not its own.
    pub(crate) stored_as: Option<&'static str>,
}

impl Traits {
    pub(crate) const CUSTOM: Self = Self {
        generation: true,
        unconditional: false,
        created_by_update: false,
        naming: Naming::Subdomain,
        standard_finalizers: false,
        initial_status: None,
        fields: &[],
        stored_as: None,
    };
}

impl Kind {
    /// The name in messages, such as `greetings.demo.example.com`.
    pub(crate) fn qualified(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// Whether objects of this kind are kept; reviews, for example, are only answered.
    pub(crate) fn is_stored(&self) -> bool {
        self.verbs.contains(&"get")
    }

    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }

    pub(crate) fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() {
            version.into()
        } else {
            format!("{}/{version}", self.group)
        }
    }

    /// The `apiVersion` that stored objects have.
    pub(crate) fn stored_api_version(&self) -> String {
        match self.traits.stored_as {
            None => self.api_version(&self.storage),
            Some("") => self.storage.clone(),
            Some(group) => format!("{group}/{}", self.storage),
        }
    }

    /// Where objects of this kind are kept.
    pub(crate) fn key(&self) -> Key {
        let group = self.traits.stored_as.unwrap_or(&self.group);
        (group.to_owned(), self.plural.clone())
    }

    /// Removes the fields that a built-in kind does not have from an object of it, and tells which.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut unknown = Vec::new();
        if let (false, Some(fields)) = (self.custom || self.traits.fields.is_empty(), object.as_object_mut()) {
            fields.retain(|key, _| {
                let known = matches!(key.as_str(), "apiVersion" | "kind" | "metadata")
                    || self.traits.fields.contains(&key.as_str());
                if !known {
                    unknown.push(key.clone());
                }
                known
            });
        }
        unknown
    }

    fn name(&self) -> Key {
        (self.group.clone(), self.plural.clone())
    }
}

/// Group and plural.
pub(crate) type Key = (String, String);

/// All kinds that are served now.
#[derive(Debug)]
pub(crate) struct Kinds {
    by_key: BTreeMap<Key, Arc<Kind>>,
}

impl Kinds {
    pub(crate) fn built_in() -> Self {
        let kinds = built_in::kinds().map(|kind| (kind.name(), Arc::new(kind)));
        Self {
            by_key: kinds.collect(),
        }
    }

    pub(crate) fn get(&self, group: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.by_key.get(&(group.to_owned(), plural.to_owned()))
    }

    /// The kind that an object names by its `apiVersion` and `kind`, and the version.
    pub(crate) fn of_object(&self, object: &Value) -> Option<(Arc<Kind>, String)> {
        let api_version = object["apiVersion"].as_str()?;
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let kind = object["kind"].as_str()?;
        let found = self
            .all()
            .find(|each| each.group == group && each.kind == kind && each.version(version).is_some());
        found.map(|kind| (Arc::clone(kind), version.to_owned()))
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<Kind>> {
        self.by_key.values()
    }

    pub(crate) fn insert(&mut self, kind: Kind) {
        self.by_key.insert(kind.name(), Arc::new(kind));
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.by_key.remove(key);
    }
}
