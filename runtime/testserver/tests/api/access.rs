use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use http::Request;
use http_body_util::{BodyExt, Full};
use kopf_testserver::{Resource, Server, User};
use serde_json::{Value, json};
use tower::Service as _;

use crate::support::{delete, get, request, send, server};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const ACCOUNTS: Resource = Resource::new("", "v1", "serviceaccounts");

/// The answer to a request of somebody.
async fn as_user(server: &Server, user: User, method: &str, path: &str, body: Value) -> (u16, Value) {
    let body = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let request = request(method, path, "application/json", &body);
    let response = server.service_as(user).call(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

/// The answer to a request with these headers.
async fn with(server: &Server, headers: &[(&str, &str)], path: &str) -> (u16, Value) {
    let mut request = Request::builder().uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = server
        .service()
        .call(request.body(Full::default()).unwrap())
        .await
        .unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or_default())
}

async fn with_token(server: &Server, token: &str, path: &str) -> u16 {
    with(server, &[("authorization", &format!("Bearer {token}"))], path)
        .await
        .0
}

fn account(server: &Server) -> User {
    server
        .apply(json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "op"}}))
        .unwrap();
    User::service_account("default", "op")
}

fn grant(server: &Server, rules: &Value) {
    server
        .apply(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "op"}, "rules": rules,
        }))
        .unwrap();
    server
        .apply(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": "op"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "op"},
            "subjects": [{"kind": "ServiceAccount", "name": "op", "namespace": "default"}],
        }))
        .unwrap();
}

#[tokio::test(start_paused = true)]
async fn rights_follow_roles_at_once() {
    let server = server();
    let op = account(&server);
    let read = || as_user(&server, op.clone(), "GET", MAPS, Value::Null);
    let (code, status) = read().await;
    assert_eq!((code, &status["details"]), (403, &json!({"kind": "configmaps"})));
    grant(
        &server,
        &json!([{"verbs": ["list"], "apiGroups": [""], "resources": ["configmaps"]}]),
    );
    assert_eq!(read().await.0, 200);
    grant(
        &server,
        &json!([{"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}]),
    );
    assert_eq!(read().await.0, 403);
}

#[tokio::test(start_paused = true)]
async fn everybody_may_discover_but_not_the_anonymous() {
    let server = server();
    for (user, code) in [(User::named("somebody"), 200), (User::anonymous(), 403)] {
        assert_eq!(
            as_user(&server, user, "GET", "/apis/apps/v1", Value::Null).await.0,
            code
        );
    }
    assert_eq!(
        as_user(&server, User::anonymous(), "GET", "/healthz", Value::Null)
            .await
            .0,
        200
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_hold_until_they_are_ended() {
    let server = server();
    account(&server);
    assert_eq!(server.token_for("default", "nobody").unwrap_err().code, 404);
    let token = server.token_for("default", "op").unwrap();
    assert_eq!(with_token(&server, &token, "/api/v1").await, 200);
    assert_eq!(with_token(&server, &token, MAPS).await, 403);
    server.expire_tokens();
    assert_eq!(with_token(&server, &token, "/api/v1").await, 401);
    let renewed = server.token_for("default", "op").unwrap();
    assert_eq!(with_token(&server, &renewed, "/api/v1").await, 200);
}

#[tokio::test(start_paused = true)]
async fn tokens_end_with_their_account() {
    let server = server();
    account(&server);
    let token = server.token_for("default", "op").unwrap();
    server.delete(ACCOUNTS, Some("default"), "op").unwrap();
    account(&server);
    assert_eq!(with_token(&server, &token, "/api/v1").await, 401);
}

#[tokio::test(start_paused = true)]
async fn tokens_end_by_the_clock_of_the_server() {
    let time = Arc::new(AtomicI64::new(1_800_000_000));
    let clock = Arc::clone(&time);
    let server = Server::with_clock(move || jiff::Timestamp::from_second(clock.load(Ordering::Relaxed)).unwrap());
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let body = json!({"spec": {"expirationSeconds": 600}});
    let (_, answer) = send(&server, "POST", path, "application/json", body).await;
    assert_eq!(answer["status"]["expirationTimestamp"], "2027-01-15T08:10:00Z");
    let token = answer["status"]["token"].as_str().unwrap();
    time.fetch_add(600, Ordering::Relaxed);
    assert_eq!(with_token(&server, token, "/api/v1").await, 200);
    time.fetch_add(1, Ordering::Relaxed);
    let (code, status) = with(&server, &[("authorization", &format!("Bearer {token}"))], "/api/v1").await;
    assert_eq!(code, 401);
    assert_eq!(
        status,
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "Unauthorized",
            "reason": "Unauthorized", "code": 401,
        })
    );
}

#[tokio::test(start_paused = true)]
async fn tokens_of_pods_end_with_them() {
    let server = server();
    let pods = Resource::new("", "v1", "pods");
    server
        .apply(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}))
        .unwrap();
    let path = "/api/v1/namespaces/default/serviceaccounts/default/token";
    let body = json!({"spec": {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "a"}}});
    let (_, answer) = send(&server, "POST", path, "application/json", body).await;
    let token = answer["status"]["token"].as_str().unwrap().to_owned();
    let review = json!({"spec": {"token": token}});
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let (_, answer) = send(&server, "POST", reviews, "application/json", review.clone()).await;
    assert_eq!(
        answer["status"]["user"]["extra"]["authentication.kubernetes.io/pod-name"],
        json!(["a"])
    );
    server.delete(pods, Some("default"), "a").unwrap();
    let (_, answer) = send(&server, "POST", reviews, "application/json", review).await;
    assert_eq!(
        answer["status"],
        json!({"user": {}, "error": "[invalid bearer token, service account token has been invalidated]"})
    );
}

#[tokio::test(start_paused = true)]
async fn an_administrator_may_act_as_anybody() {
    let server = server();
    let (code, status) = with(&server, &[("impersonate-user", "jane")], MAPS).await;
    assert_eq!(code, 403);
    assert!(
        status["message"]
            .as_str()
            .unwrap()
            .contains(r#"User "jane" cannot list"#),
        "{status}"
    );
    let masters = [("impersonate-user", "jane"), ("impersonate-group", "system:masters")];
    assert_eq!(with(&server, &masters, MAPS).await.0, 200);
    assert_eq!(with(&server, &[("impersonate-group", "g")], MAPS).await.0, 500);
    assert_eq!(server.audit()[0].caller, "jane");
}

#[tokio::test(start_paused = true)]
async fn an_update_that_creates_needs_the_right_to_create() {
    let server = server();
    let op = account(&server);
    grant(
        &server,
        &json!([{"verbs": ["update", "patch"], "apiGroups": ["coordination.k8s.io"], "resources": ["leases"]}]),
    );
    let path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/a";
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}});
    let (code, status) = as_user(&server, op, "PUT", path, lease).await;
    let message = "leases.coordination.k8s.io \"a\" is forbidden: ";
    assert_eq!((code, &status["message"]), (403, &json!(message)));
}

#[tokio::test(start_paused = true)]
async fn nobody_grants_more_than_they_have() {
    let server = server();
    let op = account(&server);
    let rule = |verbs: &[&str], resource: &str| json!({"verbs": verbs, "apiGroups": [""], "resources": [resource]});
    let roles = json!({"verbs": ["*"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]});
    let may = json!({"verbs": ["create"], "apiGroups": roles["apiGroups"], "resources": roles["resources"]});
    grant(&server, &json!([may, rule(&["get"], "pods")]));
    let role = |name: &str, rules: Value| json!({"metadata": {"name": name}, "rules": rules});
    let create = |role: Value| as_user(&server, op.clone(), "POST", ROLES, role);
    assert_eq!(create(role("a", json!([rule(&["get"], "pods")]))).await.0, 201);
    let (code, status) = create(role("b", json!([rule(&["get", "list"], "pods")]))).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "roles.rbac.authorization.k8s.io \"b\" is forbidden: user \"system:serviceaccount:default:op\" \
         (groups=[\"system:serviceaccounts\" \"system:serviceaccounts:default\" \"system:authenticated\"]) is \
         attempting to grant RBAC permissions not currently held:\n\
         {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"list\"]}"
    );
    grant(&server, &json!([roles]));
    assert_eq!(create(role("b", json!([rule(&["get", "list"], "pods")]))).await.0, 201);
}

#[tokio::test(start_paused = true)]
async fn each_namespace_has_an_account_and_certificates() {
    let server = server();
    server
        .apply(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}}))
        .unwrap();
    for path in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
        let path = format!("/api/v1/namespaces/lab/{path}");
        let (_, before) = get(&server, &path).await;
        assert_eq!(delete(&server, &path).await.0, 200);
        let (code, after) = get(&server, &path).await;
        assert_eq!(code, 200);
        assert_ne!(before["metadata"]["uid"], after["metadata"]["uid"]);
    }
    let maps = Resource::new("", "v1", "configmaps");
    let patched = server.patch(maps, Some("lab"), "kube-root-ca.crt", json!({"data": {"x": "y"}}));
    assert_eq!(patched.unwrap()["data"]["x"], "y");
    let restored = server.get(maps, Some("lab"), "kube-root-ca.crt").unwrap();
    assert_eq!(restored["data"].get("x"), None);
    assert_eq!(delete(&server, "/api/v1/namespaces/lab").await.0, 200);
    assert_eq!(get(&server, "/api/v1/namespaces/lab").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn pods_get_their_account_and_its_credentials() {
    let server = server();
    let pods = "/api/v1/namespaces/default/pods";
    let pod = |name: &str, account: &str| {
        json!({
            "metadata": {"name": name},
            "spec": {"serviceAccountName": account, "containers": [{"name": "c", "image": "i"}]},
        })
    };
    let (code, status) = send(&server, "POST", pods, "application/json", pod("a", "nobody")).await;
    assert_eq!(code, 403);
    assert_eq!(
        status["message"],
        "pods \"a\" is forbidden: error looking up service account default/nobody: serviceaccount \"nobody\" not found"
    );
    let (code, pod) = send(&server, "POST", pods, "application/json", pod("a", "")).await;
    assert_eq!(code, 201, "{pod}");
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    let (volume, mount) = (
        &pod["spec"]["volumes"][0],
        &pod["spec"]["containers"][0]["volumeMounts"][0],
    );
    assert_eq!(volume["name"], mount["name"]);
    assert_eq!(mount["mountPath"], "/var/run/secrets/kubernetes.io/serviceaccount");
}

#[tokio::test(start_paused = true)]
async fn built_in_roles_are_objects_that_can_be_extended() {
    let server = server();
    let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    let selected = format!("{roles}?labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults");
    let (_, list) = get(&server, &selected).await;
    let names: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|role| &role["metadata"]["name"])
        .collect();
    assert!(
        names.contains(&&json!("cluster-admin")) && names.contains(&&json!("view")),
        "{names:?}"
    );
    let rule = json!({"verbs": ["get"], "apiGroups": ["demo.example.com"], "resources": ["greetings"]});
    server
        .apply(json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": "greetings", "labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}},
            "rules": [rule],
        }))
        .unwrap();
    for name in ["view", "edit", "admin"] {
        let (_, role) = get(&server, &format!("{roles}/{name}")).await;
        assert!(role["rules"].as_array().unwrap().contains(&rule), "{name}");
    }
    delete(&server, &format!("{roles}/greetings")).await;
    let (_, role) = get(&server, &format!("{roles}/admin")).await;
    assert!(!role["rules"].as_array().unwrap().contains(&rule));
}

#[tokio::test]
async fn kubeconfigs_are_of_the_administrator_of_a_token_or_of_somebody_else() {
    let listening = server().listen("127.0.0.1:0").await.unwrap();
    let plain = listening.kubeconfig();
    let credentials = "  user: {}\n";
    assert!(plain.contains(credentials), "{plain}");
    let with = |text: &str| plain.replace(credentials, &format!("  user: {text}\n"));
    assert_eq!(listening.kubeconfig_for("a.b.c"), with(r#"{token: "a.b.c"}"#));
    assert_eq!(
        listening.kubeconfig_as("system:anonymous"),
        with(r#"{as: "system:anonymous"}"#)
    );
}
