//! What the server serves: the table of built-in kinds, and the shape that custom ones take too.

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
    /// The version in which objects are stored.
    pub(crate) storage: String,
    /// Whether a CRD defines it.
    pub(crate) custom: bool,
    pub(crate) traits: Traits,
}

/// What sets one served version apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct Version {
    pub(crate) name: String,
    /// Whether there is a `/status` subresource.
    pub(crate) status: bool,
    /// The structural schema; built-in kinds have none here and are stored as they come.
    pub(crate) schema: Option<Value>,
    pub(crate) columns: Vec<Column>,
}

/// A column of a table, beside name and age.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) path: String,
    pub(crate) priority: i64,
}

/// How names of a kind are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    Subdomain,
    Label,
    PathSegment,
}

/// Habits of a kind that differ between the built-in ones.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Traits {
    /// Whether `metadata.generation` is kept.
    pub(crate) generation: bool,
    /// Whether an update may come without a resource version.
    pub(crate) unconditional: bool,
    pub(crate) naming: Naming,
    /// The status of a new object, as JSON text.
    pub(crate) initial_status: Option<&'static str>,
}

impl Traits {
    pub(crate) const CUSTOM: Self = Self {
        generation: true,
        unconditional: false,
        naming: Naming::Subdomain,
        initial_status: None,
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

    pub(crate) fn key(&self) -> Key {
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
        let kinds = BUILT_IN.iter().map(Row::kind).map(|kind| (kind.key(), Arc::new(kind)));
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
        self.by_key.insert(kind.key(), Arc::new(kind));
    }

    pub(crate) fn remove(&mut self, key: &Key) {
        self.by_key.remove(key);
    }
}

struct Row {
    group: &'static str,
    version: &'static str,
    plural: &'static str,
    kind: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    namespaced: bool,
    status: bool,
    columns: &'static [(&'static str, &'static str)],
    traits: Traits,
}

impl Row {
    const fn new(group: &'static str, version: &'static str, plural: &'static str, kind: &'static str) -> Self {
        let traits = Traits {
            generation: false,
            unconditional: true,
            naming: Naming::Subdomain,
            initial_status: None,
        };
        Self {
            group,
            version,
            plural,
            kind,
            short_names: &[],
            categories: &[],
            namespaced: true,
            status: false,
            columns: &[],
            traits,
        }
    }

    const fn short(mut self, names: &'static [&'static str]) -> Self {
        self.short_names = names;
        self
    }

    const fn in_all(mut self) -> Self {
        self.categories = &["all"];
        self
    }

    const fn cluster(mut self) -> Self {
        self.namespaced = false;
        self
    }

    const fn status(mut self, initial: &'static str) -> Self {
        self.status = true;
        self.traits.initial_status = Some(initial);
        self
    }

    const fn generation(mut self) -> Self {
        self.traits.generation = true;
        self
    }

    const fn conditional(mut self) -> Self {
        self.traits.unconditional = false;
        self
    }

    const fn named(mut self, naming: Naming) -> Self {
        self.traits.naming = naming;
        self
    }

    const fn columns(mut self, columns: &'static [(&'static str, &'static str)]) -> Self {
        self.columns = columns;
        self
    }

    fn kind(&self) -> Kind {
        let columns = self.columns.iter().map(|(name, path)| Column {
            name: (*name).into(),
            kind: "string".into(),
            path: (*path).into(),
            priority: 0,
        });
        let columns = columns.collect();
        let version = Version {
            name: self.version.into(),
            status: self.status,
            schema: None,
            columns,
        };
        Kind {
            group: self.group.into(),
            plural: self.plural.into(),
            singular: self.kind.to_lowercase(),
            kind: self.kind.into(),
            list_kind: format!("{}List", self.kind),
            short_names: self.short_names.iter().map(|&name| name.into()).collect(),
            categories: self.categories.iter().map(|&name| name.into()).collect(),
            namespaced: self.namespaced,
            storage: self.version.into(),
            versions: vec![version],
            custom: false,
            traits: self.traits,
        }
    }
}

const APPS: &str = "apps";
const RBAC: &str = "rbac.authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";

static BUILT_IN: &[Row] = &[
    Row::new("", "v1", "namespaces", "Namespace")
        .short(&["ns"])
        .cluster()
        .status(r#"{"phase": "Active"}"#)
        .named(Naming::Label)
        .columns(&[("Status", ".status.phase")]),
    Row::new("", "v1", "pods", "Pod")
        .short(&["po"])
        .in_all()
        .status(r#"{"phase": "Pending", "qosClass": "BestEffort"}"#)
        .columns(&[("Status", ".status.phase")]),
    Row::new("", "v1", "services", "Service")
        .short(&["svc"])
        .in_all()
        .status(r#"{"loadBalancer": {}}"#)
        .named(Naming::Label)
        .columns(&[("Type", ".spec.type"), ("Cluster-IP", ".spec.clusterIP")]),
    Row::new("", "v1", "configmaps", "ConfigMap").short(&["cm"]),
    Row::new("", "v1", "secrets", "Secret").columns(&[("Type", ".type")]),
    Row::new("", "v1", "serviceaccounts", "ServiceAccount").short(&["sa"]),
    Row::new("", "v1", "events", "Event").short(&["ev"]).columns(&[
        ("Type", ".type"),
        ("Reason", ".reason"),
        ("Kind", ".involvedObject.kind"),
        ("Object", ".involvedObject.name"),
        ("Message", ".message"),
    ]),
    Row::new("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
        .short(&["pvc"])
        .status(r#"{"phase": "Pending"}"#)
        .columns(&[("Status", ".status.phase")]),
    Row::new("", "v1", "nodes", "Node")
        .short(&["no"])
        .cluster()
        .status("{}"),
    Row::new(APPS, "v1", "deployments", "Deployment")
        .short(&["deploy"])
        .in_all()
        .status("{}")
        .generation()
        .columns(&[("Replicas", ".spec.replicas")]),
    Row::new(APPS, "v1", "statefulsets", "StatefulSet")
        .short(&["sts"])
        .in_all()
        .status("{}")
        .generation(),
    Row::new(APPS, "v1", "daemonsets", "DaemonSet")
        .short(&["ds"])
        .in_all()
        .status("{}")
        .generation(),
    Row::new(APPS, "v1", "replicasets", "ReplicaSet")
        .short(&["rs"])
        .in_all()
        .status("{}")
        .generation(),
    Row::new("batch", "v1", "jobs", "Job")
        .in_all()
        .status("{}")
        .generation(),
    Row::new("batch", "v1", "cronjobs", "CronJob")
        .short(&["cj"])
        .in_all()
        .status("{}")
        .generation(),
    Row::new(NETWORKING, "v1", "ingresses", "Ingress")
        .short(&["ing"])
        .status("{}")
        .generation(),
    Row::new(NETWORKING, "v1", "networkpolicies", "NetworkPolicy")
        .short(&["netpol"])
        .generation(),
    Row::new("coordination.k8s.io", "v1", "leases", "Lease")
        .conditional()
        .columns(&[("Holder", ".spec.holderIdentity")]),
    Row::new("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
        .short(&["pdb"])
        .status("{}")
        .generation()
        .conditional(),
    Row::new(RBAC, "v1", "roles", "Role").named(Naming::PathSegment),
    Row::new(RBAC, "v1", "rolebindings", "RoleBinding").named(Naming::PathSegment),
    Row::new(RBAC, "v1", "clusterroles", "ClusterRole")
        .cluster()
        .named(Naming::PathSegment),
    Row::new(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding")
        .cluster()
        .named(Naming::PathSegment),
    Row::new(
        "apiextensions.k8s.io",
        "v1",
        "customresourcedefinitions",
        "CustomResourceDefinition",
    )
    .short(&["crd", "crds"])
    .cluster()
    .status("{}")
    .generation()
    .conditional()
    .columns(&[("Created kind", ".spec.names.kind")]),
];
