use serde_json::{Value, json};

use super::stage::{Kopf, Stage};

kopf_on_both_servers! {
    an_index_is_filled_before_the_first_call_and_follows_its_objects;
}

async fn an_index_is_filled_before_the_first_call_and_follows_its_objects(stage: &Stage) {
    look_up(stage, || stage.start("shelves.py", "kopf")).await;
}

/// Newer servers only: the list comes as the first events of the watch, up to a bookmark.
#[tokio::test(flavor = "multi_thread")]
async fn an_index_is_filled_from_a_streamed_list() {
    let Some(stage) = Stage::embedded().await else { return };
    let namespace = stage.cluster.namespace.clone();
    let arguments = ["--standalone", "--namespace", &namespace];
    let start = || stage.run("shelves.py", "kopf", &arguments, &[("STREAMING", "yes")]);
    look_up(&stage, start).await;
}

async fn look_up(stage: &Stage, start: impl FnOnce() -> Kopf) {
    // More than one chunk of the list.
    for (name, pages) in [("a", "1"), ("b", "2"), ("c", "3"), ("broken", "4")] {
        stage.create_map(name, json!({"shelf": "top"}), pages).await;
    }
    stage.create_map("d", json!({"shelf": "bottom"}), "5").await;
    stage.create_map("lost", json!({}), "6").await;
    let path = stage.create("robot", json!({"shelf": "top"})).await;

    let kopf = start();
    let chosen = |toy: &Value| toy["status"]["choose"].is_string();
    let toy = stage.cluster.wait(&path, chosen).await;
    assert_eq!(toy["status"]["choose"], "a:1 b:2 c:3");
    let maps = format!("/api/v1/namespaces/{}/configmaps", stage.cluster.namespace);
    let shown = |content: &'static str, shelves: u32| async move {
        let wanted = json!({"content": content, "shelves": shelves});
        stage
            .cluster
            .wait(&stage.toy("robot"), |toy| toy["status"]["look"] == wanted)
            .await
    };
    shown("a:1 b:2 c:3", 2).await;
    stage.create_map("e", json!({"shelf": "top"}), "7").await;
    shown("a:1 b:2 c:3 e:7", 2).await;
    stage
        .cluster
        .patch(&format!("{maps}/a"), &json!({"data": {"pages": "10"}}))
        .await;
    shown("a:10 b:2 c:3 e:7", 2).await;
    stage
        .cluster
        .patch(&format!("{maps}/b"), &json!({"metadata": {"labels": {"shelf": null}}}))
        .await;
    shown("a:10 c:3 e:7", 2).await;
    stage
        .cluster
        .patch(
            &format!("{maps}/c"),
            &json!({"metadata": {"labels": {"shelf": "middle"}}}),
        )
        .await;
    shown("a:10 e:7", 3).await;
    stage.remove(&format!("{maps}/d")).await;
    shown("a:10 e:7", 2).await;
    let map = stage.cluster.get(&format!("{maps}/a")).await;
    assert_eq!(
        map["metadata"]["finalizers"],
        Value::Null,
        "an index needs no finalizer"
    );
    stage.remove(&path).await;
    assert_eq!(kopf.stop(&["cannot be indexed"]), ["choose a:1 b:2 c:3"]);
}
