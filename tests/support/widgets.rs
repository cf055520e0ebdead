//! A kind to be handled, and a place where its handlers note their calls.

use std::sync::{Arc, Mutex};

use kopf_runtime::{Kind, Reference};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// A kind with a typed spec.
#[derive(Debug)]
pub struct Widget;

/// The spec of a [`Widget`].
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
pub struct WidgetSpec {
    /// Required: an object without it does not fit.
    pub size: i64,
    /// Optional.
    #[serde(default)]
    pub colour: Option<String>,
}

impl Kind for Widget {
    type Spec = WidgetSpec;
    type Status = Value;
    type Memo = ();
    const REFERENCE: Reference = Reference {
        group: "tests.kopf-gen.example.com",
        version: "v1",
        kind: "Widget",
        plural: "widgets",
        namespaced: true,
    };
}

/// The CRD of [`Widget`]: open, with the status subresource.
#[must_use]
pub fn definition() -> Value {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.tests.kopf-gen.example.com"},
        "spec": {
            "group": "tests.kopf-gen.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
            }],
        },
    })
}

/// Installs the CRD and waits until it is served.
///
/// # Panics
/// If that fails.
pub async fn install(cluster: &Cluster) {
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    match cluster.request("POST", crds, &definition()).await {
        Ok(_) => {}
        Err(kopf_runtime::kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("cannot install the CRD: {error}"),
    }
    let served = |list: &Value| list["kind"] == "WidgetList";
    cluster.wait(&collection(cluster), served).await;
}

/// The collection in the scenario's namespace.
#[must_use]
pub fn collection(cluster: &Cluster) -> String {
    format!(
        "/apis/tests.kopf-gen.example.com/v1/namespaces/{}/widgets",
        cluster.namespace
    )
}

/// One widget in it.
#[must_use]
pub fn path(cluster: &Cluster, name: &str) -> String {
    format!("{}/{name}", collection(cluster))
}

/// Creates a widget.
///
/// # Panics
/// If the server refuses it.
pub async fn create(cluster: &Cluster, name: &str, spec: Value) -> Value {
    create_with(cluster, name, json!({}), spec).await
}

/// Creates a widget with more metadata.
///
/// # Panics
/// If the server refuses it.
pub async fn create_with(cluster: &Cluster, name: &str, mut metadata: Value, spec: Value) -> Value {
    metadata["name"] = name.into();
    let widget = json!({
        "apiVersion": "tests.kopf-gen.example.com/v1",
        "kind": "Widget",
        "metadata": metadata,
        "spec": spec,
    });
    cluster
        .request("POST", &collection(cluster), &widget)
        .await
        .expect("the widget can be created")
}

/// Notes of what handlers were called with, in order.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Adds one.
    ///
    /// # Panics
    /// If a handler panicked while it noted something.
    pub fn add(&self, note: impl Into<String>) {
        self.0.lock().unwrap().push(note.into());
    }

    /// All notes so far.
    ///
    /// # Panics
    /// If a handler panicked while it noted something.
    #[must_use]
    pub fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }

    /// Waits until there are as many.
    ///
    /// # Panics
    /// If there never are.
    pub async fn wait_for(&self, count: usize) -> Vec<String> {
        let begin = tokio::time::Instant::now();
        while self.all().len() < count {
            assert!(
                begin.elapsed().as_secs() < 120,
                "only these notes came: {:#?}",
                self.all()
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        self.all()
    }
}
