use serde_json::{Value, json};

use super::stage::{Stage, handled};

kopf_on_both_servers! {
    children_are_handled_and_go_with_their_owner;
    handlers_of_a_built_in_kind_are_chosen_by_filters;
}

async fn children_are_handled_and_go_with_their_owner(stage: &Stage) {
    let kopf = stage.start("children.py", "kopf");
    let path = stage.create("rocket", json!({"size": 3})).await;
    let toy = stage
        .cluster
        .wait(&path, |toy| toy["status"]["manual"].is_string())
        .await;
    let name = toy["status"]["manual"].as_str().unwrap();
    assert!(name.starts_with("rocket-"), "{name}");
    let child = format!("/api/v1/namespaces/{}/configmaps/{name}", stage.cluster.namespace);
    let map = stage.cluster.wait(&child, |map| handled(map) != Value::Null).await;
    assert_eq!(handled(&map)["data"], json!({"pages": "3"}));
    assert_eq!(map["status"], Value::Null, "what the kind does not have is dropped");
    let owner = &map["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], toy["metadata"]["uid"]);
    assert_eq!(owner["controller"], true);

    stage.remove(&path).await;
    stage.cluster.wait(&child, Value::is_null).await;
    kopf.wait_call("seen DELETED rocket").await;
    let calls = kopf.stop(&["finished with inconsistencies"]);
    let others: Vec<_> = calls.iter().filter(|call| !call.starts_with("seen")).collect();
    assert_eq!(others, ["manual rocket-", "printed"]);
    let seen: Vec<_> = calls.iter().filter(|call| call.starts_with("seen")).collect();
    assert_eq!(seen.first().unwrap().as_str(), "seen ADDED rocket");
    assert_eq!(seen.last().unwrap().as_str(), "seen DELETED rocket");
}

async fn handlers_of_a_built_in_kind_are_chosen_by_filters(stage: &Stage) {
    let old = stage.create_map("old", json!({"manual": "rocket"}), "1").await;
    stage.create_map("unlabelled", json!({}), "1").await;
    let kopf = stage.start("children.py", "kopf");
    stage.cluster.wait(&old, |map| handled(map) != Value::Null).await;
    let other = stage.create_map("other", json!({"manual": "kite"}), "1").await;
    kopf.wait_call("seen ADDED kite").await;
    let pages = |path: String, pages: &'static str| async move {
        stage.cluster.patch(&path, &json!({"data": {"pages": pages}})).await;
    };
    pages(other.clone(), "9").await;
    kopf.wait_call("seen MODIFIED kite").await;
    stage.remove(&other).await;
    kopf.wait_call("seen DELETED kite").await;
    for count in ["2", "7", "8"] {
        pages(old.clone(), count).await;
        stage
            .cluster
            .wait(&old, |map| handled(map)["data"]["pages"] == count)
            .await;
    }
    stage
        .cluster
        .patch(&old, &json!({"metadata": {"labels": {"manual": null}}}))
        .await;
    pages(old.clone(), "10").await;
    stage.remove(&old).await;

    let calls = kopf.stop(&["finished with inconsistencies"]);
    let others: Vec<_> = calls.iter().filter(|call| !call.starts_with("seen")).collect();
    assert_eq!(others, ["printed", "thick 2->7", "thick 7->8"]);
    assert!(calls.contains(&"seen None rocket".to_owned()), "{calls:?}");
    let of_the_kite: Vec<_> = calls.iter().filter(|call| call.ends_with("kite")).collect();
    assert_eq!(
        of_the_kite,
        ["seen ADDED kite", "seen MODIFIED kite", "seen DELETED kite"]
    );
}
