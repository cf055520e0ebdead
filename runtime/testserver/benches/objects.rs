//! The time that objects cost, one by one, among few and among many: nothing may grow with their number.

use std::future::Future;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use kopf_testserver::{ResponseBody, Server, Service};
use serde_json::{Value, json};
use tower::Service as _;

const PLACE: &str = "/api/v1/namespaces/default/configmaps";

/// How much more an object may cost among ten times as many.
const TOLERANCE: f64 = 3.0;

const COUNTS: [usize; 2] = [1_000, 10_000];

#[tokio::main(flavor = "current_thread")]
async fn main() {
    println!(
        "{:<38}{:>14}{:>14}{:>8}",
        "time per object", COUNTS[0], COUNTS[1], "ratio"
    );
    let mut slow = Vec::new();
    slow.extend(row("create", create).await);
    slow.extend(row("create, with an owner", create_owned).await);
    slow.extend(row("list", list).await);
    slow.extend(row("list in pages of 500", list_paged).await);
    slow.extend(row("list in pages of 500, amid changes", list_paged_amid_changes).await);
    slow.extend(row("watch from the start", watch_state).await);
    slow.extend(row("watch as they are created", watch_changes).await);
    slow.extend(row("watch another kind meanwhile", watch_others).await);
    slow.extend(row("delete", delete).await);
    slow.extend(row("delete with the owner", delete_owned).await);
    slow.extend(row("delete with the namespace", delete_namespace).await);
    assert!(slow.is_empty(), "more than linear: {}", slow.join(", "));
}

/// Measures an operation among few and among many objects; its name, if it takes more than linear time.
async fn row<F: Future<Output = Duration>>(name: &'static str, operation: impl Fn(usize) -> F) -> Option<&'static str> {
    let (mut few, mut many) = (f64::MAX, f64::MAX);
    // Whatever else the machine does disturbs some of the measurements, not the best of each.
    for round in 0..6 {
        few = few.min(per_object(COUNTS[0], &operation).await);
        many = many.min(per_object(COUNTS[1], &operation).await);
        if round > 0 && many / few <= TOLERANCE {
            break;
        }
    }
    let ratio = many / few;
    println!("{name:<38}{few:>11.2} µs{many:>11.2} µs{ratio:>8.2}");
    (ratio > TOLERANCE).then_some(name)
}

async fn per_object<F: Future<Output = Duration>>(count: usize, operation: &impl Fn(usize) -> F) -> f64 {
    let time = operation(count).await;
    time.as_secs_f64() * 1e6 / f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

async fn create(count: usize) -> Duration {
    let mut service = Server::new().service();
    let start = Instant::now();
    fill(&mut service, count, &Value::Null).await;
    start.elapsed()
}

async fn create_owned(count: usize) -> Duration {
    let mut service = Server::new().service();
    let owner = owner(&mut service).await;
    let start = Instant::now();
    fill(&mut service, count, &owner).await;
    start.elapsed()
}

async fn list(count: usize) -> Duration {
    let mut service = filled(count).await;
    let start = Instant::now();
    let list = send(&mut service, "GET", PLACE, Value::Null).await;
    assert!(list["items"].as_array().is_some_and(|items| items.len() >= count));
    start.elapsed()
}

async fn list_paged(count: usize) -> Duration {
    let mut service = filled(count).await;
    pages(&mut service, count, false).await
}

async fn list_paged_amid_changes(count: usize) -> Duration {
    let mut service = filled(count).await;
    pages(&mut service, count, true).await
}

async fn pages(service: &mut Service, count: usize, changing: bool) -> Duration {
    let (start, mut token, mut seen) = (Instant::now(), String::new(), 0);
    loop {
        let page = send(
            service,
            "GET",
            &format!("{PLACE}?limit=500&continue={token}"),
            Value::Null,
        )
        .await;
        seen += page["items"].as_array().map_or(0, Vec::len);
        let Some(next) = page["metadata"]["continue"].as_str() else {
            break;
        };
        next.clone_into(&mut token);
        if changing {
            let name = format!("extra-{seen}");
            send(service, "POST", PLACE, json!({"metadata": {"name": name}})).await;
        }
    }
    assert!(seen >= count && seen < count + 10);
    start.elapsed()
}

async fn watch_state(count: usize) -> Duration {
    let mut service = filled(count).await;
    let start = Instant::now();
    let mut events = watch(&mut service, PLACE).await;
    read(&mut events, count).await;
    start.elapsed()
}

async fn watch_changes(count: usize) -> Duration {
    let mut service = Server::new().service();
    let mut events = watch(&mut service, PLACE).await;
    let start = Instant::now();
    let ((), ()) = tokio::join!(fill(&mut service, count, &Value::Null), read(&mut events, count));
    start.elapsed()
}

async fn watch_others(count: usize) -> Duration {
    let mut service = Server::new().service();
    let mut idle = Vec::new();
    for _ in 0..100 {
        idle.push(watch(&mut service, "/apis/coordination.k8s.io/v1/leases").await);
    }
    let readers: Vec<_> = idle
        .into_iter()
        .map(|mut events| tokio::spawn(async move { events.frame().await.is_some() }))
        .collect();
    let start = Instant::now();
    fill(&mut service, count, &Value::Null).await;
    let time = start.elapsed();
    for reader in readers {
        reader.abort();
    }
    time
}

async fn delete(count: usize) -> Duration {
    let mut service = filled(count).await;
    let start = Instant::now();
    for number in 0..count {
        send(
            &mut service,
            "DELETE",
            &format!("{PLACE}/{}", name(number)),
            Value::Null,
        )
        .await;
    }
    start.elapsed()
}

async fn delete_owned(count: usize) -> Duration {
    let mut service = Server::new().service();
    let owner = owner(&mut service).await;
    fill(&mut service, count, &owner).await;
    let start = Instant::now();
    send(&mut service, "DELETE", &format!("{PLACE}/owner"), Value::Null).await;
    let left = send(&mut service, "GET", &format!("{PLACE}/{}", name(0)), Value::Null).await;
    assert_eq!(left["code"], 404);
    start.elapsed()
}

async fn delete_namespace(count: usize) -> Duration {
    let mut service = Server::new().service();
    send(
        &mut service,
        "POST",
        "/api/v1/namespaces",
        json!({"metadata": {"name": "full"}}),
    )
    .await;
    for number in 0..count {
        let object = json!({"metadata": {"name": name(number)}});
        send(&mut service, "POST", "/api/v1/namespaces/full/configmaps", object).await;
    }
    let start = Instant::now();
    send(&mut service, "DELETE", "/api/v1/namespaces/full", Value::Null).await;
    let left = send(&mut service, "GET", "/api/v1/namespaces/full", Value::Null).await;
    assert_eq!(left["code"], 404);
    start.elapsed()
}

async fn filled(count: usize) -> Service {
    let mut service = Server::new().service();
    fill(&mut service, count, &Value::Null).await;
    service
}

async fn fill(service: &mut Service, count: usize, owner: &Value) {
    for number in 0..count {
        let mut object = json!({"metadata": {"name": name(number)}, "data": {"number": number.to_string()}});
        if !owner.is_null() {
            object["metadata"]["ownerReferences"] = json!([owner]);
        }
        send(service, "POST", PLACE, object).await;
        tokio::task::yield_now().await;
    }
}

async fn owner(service: &mut Service) -> Value {
    let owner = send(service, "POST", PLACE, json!({"metadata": {"name": "owner"}})).await;
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]})
}

fn name(number: usize) -> String {
    format!("object-{number:05}")
}

async fn send(service: &mut Service, method: &str, path: &str, body: Value) -> Value {
    let body = if body.is_null() {
        Bytes::new()
    } else {
        Bytes::from(body.to_string())
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/json");
    let request = request
        .body(Full::new(body))
        .expect("the parts of the request are valid");
    let response = service.call(request).await.expect("the server answers");
    let body = response
        .into_body()
        .collect()
        .await
        .expect("the answer comes whole")
        .to_bytes();
    serde_json::from_slice(&body).expect("the answer is JSON")
}

async fn watch(service: &mut Service, path: &str) -> ResponseBody {
    let request = Request::get(format!("{path}?watch=true")).body(Full::new(Bytes::new()));
    let request = request.expect("the parts of the request are valid");
    service.call(request).await.expect("the server answers").into_body()
}

async fn read(events: &mut ResponseBody, count: usize) {
    for _ in 0..count {
        events
            .frame()
            .await
            .expect("the watch is open")
            .expect("the watch goes well");
    }
}
