//! The table of built-in kinds.

use crate::kinds::{ASKED, Column, Kind, Naming, STORED, Traits, Version};

/// All built-in kinds.
pub(crate) fn kinds() -> impl Iterator<Item = Kind> {
    ROWS.iter().map(Row::kind)
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
    verbs: &'static [&'static str],
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
            verbs: STORED,
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

    const fn asked(mut self) -> Self {
        self.verbs = ASKED;
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
            verbs: self.verbs,
            traits: self.traits,
        }
    }
}

const APPS: &str = "apps";
const AUTHORIZATION: &str = "authorization.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";

static ROWS: &[Row] = &[
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
    Row::new("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview").cluster().asked(),
    Row::new("authentication.k8s.io", "v1", "tokenreviews", "TokenReview").cluster().asked(),
    Row::new("authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview").asked(),
    Row::new("authorization.k8s.io", "v1", "selfsubjectrulesreviews", "SelfSubjectRulesReview").cluster().asked(),
    Row::new("authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview").cluster().asked(),
    Row::new(
        AUTHORIZATION,
        "v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
    )
    .cluster()
    .asked(),
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
