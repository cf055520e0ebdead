use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::Service as _;

use crate::support::{ALL, HELLO, HERE, create, get, greeting, request, send, server};

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_says_what_it_is_and_when_it_was() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let (_, list) = get(&server, ALL).await;
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (&json!("GreetingList"), &json!("demo.example.com/v1"))
    );
    assert_eq!(
        list["metadata"],
        json!({"resourceVersion": object["metadata"]["resourceVersion"], "continue": ""})
    );
    assert_eq!(list["items"], json!([object]));
    let (_, list) = get(&server, "/api/v1/namespaces").await;
    assert_eq!(names(&list), ["default", "kube-system"]);
    assert!(
        list["items"][0].get("kind").is_none(),
        "items of built-in kinds do not say what they are"
    );
}

#[tokio::test(start_paused = true)]
async fn lists_are_limited_to_namespaces_and_selectors() {
    let server = server();
    let other = "/apis/demo.example.com/v1/namespaces/kube-system/greetings";
    create(&server, greeting("a")).await;
    send(&server, "POST", other, "application/json", greeting("b")).await;
    assert_eq!(names(&get(&server, ALL).await.1), ["a", "b"]);
    assert_eq!(names(&get(&server, other).await.1), ["b"]);
    assert_eq!(
        names(
            &get(&server, &format!("{ALL}?fieldSelector=metadata.namespace%3Ddefault"))
                .await
                .1
        ),
        ["a"]
    );
    assert_eq!(
        get(&server, &format!("{ALL}?fieldSelector=spec.who%3Dbob")).await.0,
        400
    );
}

#[tokio::test(start_paused = true)]
async fn events_are_selected_by_what_they_are_about() {
    let server = server();
    let place = "/api/v1/namespaces/default/events";
    for name in ["a", "b"] {
        let event = json!({"metadata": {"name": name}, "involvedObject": {"name": name}});
        send(&server, "POST", place, "application/json", event).await;
    }
    assert_eq!(
        names(
            &get(&server, &format!("{place}?fieldSelector=involvedObject.name%3Db"))
                .await
                .1
        ),
        ["b"]
    );
}

#[tokio::test(start_paused = true)]
async fn pages_show_the_state_of_the_first_one() {
    let server = server();
    for name in ["a", "b", "c", "d", "e"] {
        create(&server, greeting(name)).await;
    }
    let (_, first) = get(&server, &format!("{HERE}?limit=2")).await;
    assert_eq!(
        (names(&first), &first["metadata"]["remainingItemCount"]),
        (vec!["a", "b"], &json!(3))
    );
    create(&server, greeting("bb")).await;
    let next = |page: &Value| {
        format!(
            "{HERE}?limit=2&continue={}",
            page["metadata"]["continue"].as_str().unwrap()
        )
    };
    let (_, second) = get(&server, &next(&first)).await;
    let (_, third) = get(&server, &next(&second)).await;
    assert_eq!((names(&second), names(&third)), (vec!["c", "d"], vec!["e"]));
    assert_eq!(
        third["metadata"],
        json!({"resourceVersion": first["metadata"]["resourceVersion"], "continue": ""})
    );

    server.faults().compact();
    let (code, status) = get(&server, &next(&first)).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    assert_eq!(get(&server, &format!("{HERE}?continue=nonsense")).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn versions_of_lists_are_checked() {
    let server = server();
    assert_eq!(get(&server, &format!("{HERE}?resourceVersion=0")).await.0, 200);
    assert_eq!(get(&server, &format!("{HERE}?resourceVersion=x")).await.0, 500);
    let (code, status) = get(&server, &format!("{HERE}?resourceVersion=999")).await;
    assert_eq!((code, &status["details"]["retryAfterSeconds"]), (504, &json!(1)));
    let exactly = format!("{HERE}?resourceVersion=1&resourceVersionMatch=Exact");
    create(&server, greeting("hello")).await;
    let (code, list) = get(&server, &exactly).await;
    assert_eq!((code, &list["items"]), (200, &json!([])), "the past can be listed");
    server.faults().compact();
    assert_eq!(get(&server, &exactly).await.0, 410, "until it is forgotten");
}

#[tokio::test(start_paused = true)]
async fn an_expired_list_goes_on_with_what_there_is() {
    let server = server();
    for name in ["a", "b", "c"] {
        create(&server, greeting(name)).await;
    }
    let (_, first) = get(&server, &format!("{HERE}?limit=1")).await;
    let next = |page: &Value| format!("{HERE}?continue={}", page["metadata"]["continue"].as_str().unwrap());
    create(&server, greeting("bb")).await;
    server.faults().compact();
    let (code, status) = get(&server, &next(&first)).await;
    assert_eq!((code, &status["reason"]), (410, &json!("Expired")));
    assert_eq!(names(&get(&server, &next(&status)).await.1), ["b", "bb", "c"]);
}

async fn accepting(server: &kopf_testserver::Server, path: &str, accept: &str) -> Value {
    let mut request = request("GET", path, "", "");
    request.headers_mut().insert("accept", accept.parse().unwrap());
    let response = server.service().call(request).await.unwrap();
    serde_json::from_slice(&response.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn tables_show_printer_columns() {
    let server = server();
    create(&server, greeting("hello")).await;
    let accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    for path in [ALL, HELLO] {
        let table = accepting(&server, path, accept).await;
        let columns = table["columnDefinitions"]
            .as_array()
            .unwrap()
            .iter()
            .map(|column| &column["name"]);
        assert_eq!(columns.collect::<Vec<_>>(), ["Name", "Who"]);
        let row = &table["rows"][0];
        assert_eq!((&row["cells"][0], &row["cells"][1]), (&json!("hello"), &json!("bob")));
        assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    }
}

#[tokio::test(start_paused = true)]
async fn metadata_is_shown_alone() {
    let server = server();
    let object = create(&server, greeting("hello")).await;
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let list = accepting(&server, ALL, accept).await;
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["metadata"], object["metadata"]);
    assert!(list["items"][0].get("spec").is_none());
}

#[tokio::test(start_paused = true)]
async fn many_objects_are_paged_without_loss() {
    let server = server();
    for number in 0..1_250 {
        server.apply(greeting(&format!("g{number:05}"))).unwrap();
    }
    let (mut token, mut count) = (String::new(), 0);
    loop {
        let (_, page) = get(&server, &format!("{ALL}?limit=500&continue={token}")).await;
        count += page["items"].as_array().unwrap().len();
        match page["metadata"]["continue"].as_str() {
            Some(next) if !next.is_empty() => token = next.to_owned(),
            _ => break,
        }
    }
    assert_eq!(count, 1_250);
}
