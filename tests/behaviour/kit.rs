//! What the testing kit gives to authors of operators: each ability of Kopf's runner, and time that costs nothing.

use kopf_runtime::jiff::Timestamp;
use kopf_runtime::kube::Client;
use kopf_runtime::logging::{Verbosity, capture};
use kopf_runtime::{Change, HandlerResult, Operator, Permanent, Resource, RunOptions, Temporary, secs};
use kopf_tests::widgets::{self, Widget};
use kopf_testserver::{Failure, Resource as Plural, Server, Traffic, User};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

const WIDGETS: Plural = Plural::new("tests.kopf-gen.example.com", "v1", "widgets");
const HERE: Option<&str> = Some("default");
const HOUR: u64 = 3600;

/// A server that knows widgets.
fn server() -> Server {
    let server = Server::new();
    server.apply(widgets::definition()).unwrap();
    server
}

fn widget(name: &str) -> Value {
    json!({
        "apiVersion": "tests.kopf-gen.example.com/v1", "kind": "Widget",
        "metadata": {"name": name}, "spec": {"size": 1},
    })
}

/// Fails once, and again an hour later.
async fn patient(Change { name, retry, .. }: Change<Widget>) -> HandlerResult<u32> {
    tracing::info!("Attempt {retry} of {name}");
    if retry == 0 {
        return Err(Temporary::after(secs(HOUR), "not yet").into());
    }
    Ok(retry)
}

fn operator() -> Operator {
    Operator::new("suite").resource(Resource::of::<Widget>().on_create("patient", patient, |o| o))
}

fn is_done(object: Option<&Value>) -> bool {
    object.is_some_and(|object| object["status"]["patient"] == 1)
}

// The rules that the operator of these tests needs.
fn grant(server: &Server, account: &str) {
    let rules = json!([
        {"apiGroups": ["tests.kopf-gen.example.com"], "resources": ["widgets", "widgets/status"],
         "verbs": ["get", "list", "watch", "patch"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    ]);
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "op"}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "op"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "op"},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    });
    server.apply(role).unwrap();
    server.apply(binding).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_hour_passes_at_once_and_for_everybody() {
    let server = server().with_patience(secs(2 * HOUR));
    let operator = operator().start(Client::new(server.service(), "default"));
    operator.ready().await;
    let (began, in_truth) = (Instant::now(), std::time::Instant::now());
    server.apply(widget("a")).unwrap();
    server.wait_for(WIDGETS, HERE, "a", is_done).await.unwrap();
    assert!(began.elapsed() >= secs(HOUR), "{:?}", began.elapsed());
    // Far from an hour, however slow the machine.
    assert!(in_truth.elapsed() < secs(60), "{:?}", in_truth.elapsed());
    // The server's time of day went along.
    let stamp = |name: &str| -> Timestamp {
        let object = server.get(WIDGETS, HERE, name).unwrap();
        object["metadata"]["creationTimestamp"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap()
    };
    server.apply(widget("b")).unwrap();
    let between = stamp("b").duration_since(stamp("a"));
    assert!((3599..=3602).contains(&between.as_secs()), "{between}");
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_has_the_rights_of_its_account_and_no_more() {
    let server = server();
    let account = User::service_account("default", "op");
    let operator = operator().start(Client::new(server.service_as(account.clone()), "default"));
    assert!(timeout(secs(30), operator.ready()).await.is_err(), "it may not list");
    let refused = server.audit().of_caller(&account.name).for_resource("widgets");
    assert!(refused.iter().all(|request| request.status == Some(403)) && !refused.is_empty());
    grant(&server, "op");
    timeout(secs(120), operator.ready()).await.unwrap();
    operator.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_log_of_the_operator_is_kept() {
    let log = capture(Verbosity::Normal);
    let server = server().with_patience(secs(2 * HOUR));
    let operator = operator().start(Client::new(server.service(), "default"));
    server.apply(widget("a")).unwrap();
    server.wait_for(WIDGETS, HERE, "a", is_done).await.unwrap();
    operator.stop().await;
    let text = log.text();
    for line in ["[default/a] Attempt 0 of a", "[default/a] Attempt 1 of a"] {
        assert!(text.lines().any(|each| each.starts_with(line)), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn options_and_ends_are_those_of_the_program() {
    let server = server();
    let client = Client::new(server.service(), "default");
    let malformed = operator()
        .run(RunOptions::new(client.clone()).namespaces([""]))
        .await
        .unwrap_err();
    assert!(malformed.to_string().contains("namespace"), "{malformed}");
    // One namespace only.
    let elsewhere = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "elsewhere"}});
    server.apply(elsewhere).unwrap();
    let options = RunOptions::new(client).namespaces(["elsewhere"]).follow_tokio_time();
    let operator = operator().start_with(options);
    operator.ready().await;
    server.apply(widget("a")).unwrap();
    tokio::time::sleep(secs(2 * HOUR)).await;
    assert!(server.get(WIDGETS, HERE, "a").unwrap()["status"].is_null());
    timeout(secs(10), operator.stop()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_operator_outlives_refused_credentials_and_a_stopped_server() {
    let server = server().with_patience(secs(2 * HOUR));
    let operator = operator().start(Client::new(server.service(), "default"));
    operator.ready().await;
    server.faults().stop();
    tokio::time::sleep(secs(600)).await;
    server.apply(widget("a")).unwrap();
    server.faults().restart();
    server.faults().plan(Traffic::any(), 3, Failure::status(401));
    server.wait_for(WIDGETS, HERE, "a", is_done).await.unwrap();
    operator.stop().await;
}

/// A handler alone: no runtime, no network.
#[test]
fn a_handler_is_called_like_any_function() {
    fn check(Change { spec, name, .. }: Change<Widget>) -> HandlerResult<i64> {
        if spec.size > 10 {
            return Err(Permanent::new(format!("{name} is too big")).into());
        }
        Ok(spec.size)
    }
    assert_eq!(check(Change::for_test(widget("a"))).unwrap(), 1);
    let mut big = widget("b");
    big["spec"]["size"] = json!(11);
    assert_eq!(check(Change::for_test(big)).unwrap_err().to_string(), "b is too big");
}
