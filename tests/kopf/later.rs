use serde_json::{Value, json};

use super::stage::{Stage, handled};

kopf_on_both_servers! {
    kinds_and_namespaces_may_come_and_go;
}

async fn kinds_and_namespaces_may_come_and_go(stage: &Stage) {
    let pattern = format!("{}-*", stage.cluster.namespace);
    let kopf = stage.run("later.py", "kopf", &["--standalone", "--namespace", &pattern], &[]);
    for kind in ["customresourcedefinitions", "namespaces"] {
        let watched = |log: &str| log.contains(&format!("Starting the watch-stream for {kind}"));
        kopf.wait("the operator looks around", watched).await;
    }

    stage.define(&stage.group(), "Gadget", "Namespaced").await;
    let early = add_namespace(stage, "early").await;
    let first = create(stage, &early, "first").await;
    let late = add_namespace(stage, "late").await;
    create(stage, &late, "second").await;

    let group = stage.group();
    let crd = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/gadgets.{group}");
    stage.remove(&crd).await;
    assert_eq!(stage.cluster.get(&first).await, Value::Null);
    let stopped = |log: &str| log.matches("Stopping the watch-stream for gadgets").count() == 2;
    kopf.wait("both streams are closed", stopped).await;

    stage.define(&group, "Gadget", "Namespaced").await;
    let third = create(stage, &late, "third").await;
    stage.delete(&format!("/api/v1/namespaces/{late}")).await;
    stage.cluster.wait(&third, Value::is_null).await;
    stage
        .cluster
        .wait(&format!("/api/v1/namespaces/{late}"), Value::is_null)
        .await;
    create(stage, &early, "fourth").await;
    // A kind on its way out cannot be patched any more.
    let complaints = ["Unresolved resources", "Non-patchable resources"];
    assert_eq!(
        kopf.stop(&complaints),
        [
            "find early first",
            "find late second",
            "find late third",
            "find early fourth"
        ]
    );
}

async fn add_namespace(stage: &Stage, suffix: &str) -> String {
    let name = format!("{}-{suffix}", stage.cluster.namespace);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    stage
        .cluster
        .request("POST", "/api/v1/namespaces", &namespace)
        .await
        .unwrap();
    name
}

/// Creates a gadget, and returns its path once it is handled.
async fn create(stage: &Stage, namespace: &str, name: &str) -> String {
    let group = stage.group();
    let collection = format!("/apis/{group}/v1/namespaces/{namespace}/gadgets");
    let gadget = json!({"apiVersion": format!("{group}/v1"), "kind": "Gadget", "metadata": {"name": name}});
    stage.cluster.request("POST", &collection, &gadget).await.unwrap();
    let path = format!("{collection}/{name}");
    stage.cluster.wait(&path, |gadget| handled(gadget) != Value::Null).await;
    path
}
