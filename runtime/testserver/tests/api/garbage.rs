use kopf_testserver::Server;
use serde_json::{Value, json};

use crate::support::{MERGE, delete, get, patch, send, server, version, watch};

const PLACE: &str = "/api/v1/namespaces/default/configmaps";

async fn create(server: &Server, name: &str, owners: &[&Value]) -> Value {
    let references: Vec<_> = owners.iter().map(|owner| reference(owner)).collect();
    let object = json!({"metadata": {"name": name, "ownerReferences": references}});
    let (code, object) = send(server, "POST", PLACE, "application/json", object).await;
    assert_eq!(code, 201, "{object}");
    object
}

fn reference(owner: &Value) -> Value {
    let metadata = &owner["metadata"];
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": metadata["name"], "uid": metadata["uid"],
        "blockOwnerDeletion": true,
    })
}

async fn exists(server: &Server, name: &str) -> bool {
    get(server, &format!("{PLACE}/{name}")).await.0 == 200
}

async fn delete_with(server: &Server, name: &str, policy: &str) -> Value {
    let path = format!("{PLACE}/{name}?propagationPolicy={policy}");
    let (code, answer) = delete(server, &path).await;
    assert_eq!(code, 200, "{answer}");
    answer
}

#[tokio::test(start_paused = true)]
async fn a_long_chain_goes_with_its_first_link() {
    for policy in ["Background", "Foreground"] {
        let server = server();
        let mut last = create(&server, "link-0", &[]).await;
        for number in 1..2_000 {
            last = create(&server, &format!("link-{number}"), &[&last]).await;
        }
        delete_with(&server, "link-0", policy).await;
        assert!(
            !exists(&server, "link-0").await && !exists(&server, "link-1999").await,
            "{policy}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn objects_that_own_each_other_go_together() {
    for policy in ["Background", "Foreground"] {
        let server = server();
        let one = create(&server, "one", &[]).await;
        let other = create(&server, "other", &[&one]).await;
        let owned = json!({"metadata": {"ownerReferences": [reference(&other)]}});
        assert_eq!(patch(&server, &format!("{PLACE}/one"), MERGE, owned).await.0, 200);
        delete_with(&server, "one", policy).await;
        assert!(
            !exists(&server, "one").await && !exists(&server, "other").await,
            "{policy}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_dependent_stays_with_its_last_owner() {
    let server = server();
    let (a, b) = (create(&server, "a", &[]).await, create(&server, "b", &[]).await);
    create(&server, "both", &[&a, &b]).await;
    delete_with(&server, "a", "Background").await;
    let (_, both) = get(&server, &format!("{PLACE}/both")).await;
    assert_eq!(both["metadata"]["ownerReferences"], json!([reference(&b)]));
    delete_with(&server, "b", "Background").await;
    assert!(!exists(&server, "both").await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_in_the_foreground_goes_last() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    let dependent = create(&server, "dependent", &[&owner]).await;
    create(&server, "grandchild", &[&dependent]).await;
    let query = format!("resourceVersion={}", version(&get(&server, PLACE).await.1));
    let mut events = watch(&server, PLACE, &query).await;
    let answer = delete_with(&server, "owner", "Foreground").await;
    assert_eq!(answer["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    let mut gone = Vec::new();
    while gone.len() < 3 {
        let (kind, name) = events.brief().await.unwrap();
        if kind == "DELETED" {
            gone.push(name);
        }
    }
    assert_eq!(gone, ["grandchild", "dependent", "owner"]);
}

#[tokio::test(start_paused = true)]
async fn orphans_lose_their_owner_and_stay() {
    let server = server();
    let owner = create(&server, "owner", &[]).await;
    create(&server, "dependent", &[&owner]).await;
    delete_with(&server, "owner", "Orphan").await;
    assert!(!exists(&server, "owner").await);
    let (_, dependent) = get(&server, &format!("{PLACE}/dependent")).await;
    assert!(dependent["metadata"].get("ownerReferences").is_none());
}

#[tokio::test(start_paused = true)]
async fn dependents_of_custom_objects_go_with_their_definition() {
    let server = server();
    let object = crate::support::create(&server, crate::support::greeting("hello")).await;
    let owner = json!({
        "apiVersion": "demo.example.com/v1", "kind": "Greeting", "name": "hello", "uid": object["metadata"]["uid"],
    });
    let dependent = json!({"metadata": {"name": "dependent", "ownerReferences": [owner]}});
    send(&server, "POST", PLACE, "application/json", dependent).await;
    delete(&server, &format!("{}/greetings.demo.example.com", crate::support::CRDS)).await;
    assert!(!exists(&server, "dependent").await);
}
