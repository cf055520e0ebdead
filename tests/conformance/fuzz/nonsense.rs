//! Requests that make no sense, to the embedded server alone: it answers each, and goes on serving.

use fastrand::Rng;
use kopf_tests::rounds;

use crate::server::{Server, body_of};

const METHODS: [&str; 8] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT"];

/// Pieces of paths and queries that mean something somewhere.
const PIECES: [&str; 48] = [
    "api",
    "apis",
    "v1",
    "apps",
    "namespaces",
    "default",
    "configmaps",
    "pods",
    "status",
    "scale",
    "token",
    "openapi",
    "v2",
    "v3",
    "watch",
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "healthz",
    "version",
    "eviction",
    "%2F",
    "%",
    "..",
    "",
    "a",
    "finalize",
    "customresourcedefinitions.apiextensions.k8s.io",
    "rbac.authorization.k8s.io",
    "clusterroles",
    "log",
    "-1",
    "18446744073709551616",
    "true",
    "All",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "Exact",
    "sendInitialEvents",
    "labelSelector",
    "fieldSelector",
    "a in (b",
    "!",
    "=",
    "metadata.name",
    "dryRun",
    "timeoutSeconds",
];

const MEDIA: [&str; 8] = [
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    ";;;",
];

#[tokio::test(start_paused = true)]
async fn nonsense_is_answered() {
    let server = Server::embedded();
    let mut random = Rng::with_seed(7);
    for number in 0..rounds(10_000) {
        let (method, path) = (choose(&mut random, &METHODS), path(&mut random));
        let body = body(&mut random);
        let shown = format!("{number}: {method} {path} {body:?}");
        let Ok(request) = http::Request::builder().method(method).uri(&path).body(()) else {
            continue;
        };
        let (head, ()) = request.into_parts();
        let mut builder = http::Request::builder().method(head.method).uri(head.uri);
        for (header, values) in [("content-type", &MEDIA), ("accept", &MEDIA)] {
            if random.bool() {
                builder = builder.header(header, choose(&mut random, values));
            }
        }
        let answer = server.send(builder, None, body.into_bytes()).await;
        let (head, body) = answer.unwrap_or_else(|why| panic!("{shown}: {why}")).into_parts();
        let code = head.status.as_u16();
        assert!((200..=599).contains(&code) && code != 500, "{shown}: {code}");
        if !path.contains("watch") {
            body_of(body).await.unwrap_or_else(|why| panic!("{shown}: {why}"));
        }
    }
}

fn path(random: &mut Rng) -> String {
    let mut path = String::new();
    for _ in 0..random.usize(..9) {
        path.push('/');
        path.push_str(choose(random, &PIECES));
    }
    let mut path = path.replace(' ', "+");
    for number in 0..random.usize(..4) {
        path.push(if number == 0 { '?' } else { '&' });
        path.push_str(&choose(random, &PIECES).replace(' ', "+"));
        path.push('=');
        path.push_str(&choose(random, &PIECES).replace(' ', "+"));
    }
    if path.starts_with('/') {
        path
    } else {
        format!("/{path}")
    }
}

/// JSON of random shape, sometimes cut.
fn body(random: &mut Rng) -> String {
    if random.u8(..4) == 0 {
        return String::new();
    }
    let mut text = json(random, 4);
    if random.u8(..6) == 0 {
        let mut cut = random.usize(..=text.len());
        while !text.is_char_boundary(cut) {
            cut -= 1;
        }
        text.truncate(cut);
    }
    text
}

fn json(random: &mut Rng, depth: usize) -> String {
    const FIELDS: [&str; 20] = [
        "apiVersion",
        "kind",
        "metadata",
        "name",
        "namespace",
        "spec",
        "status",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
        "managedFields",
        "op",
        "path",
        "value",
        "group",
        "versions",
        "schema",
        "resourceVersion",
        "uid",
    ];
    const LEAVES: [&str; 12] = [
        "null",
        "true",
        "0",
        "-1",
        "1e400",
        "18446744073709551616",
        "\"\"",
        "\"v1\"",
        "\"Pod\"",
        "\"/spec\"",
        "\"\u{1F600}\"",
        "\"a\"",
    ];
    match random.u8(..5) {
        0 if depth > 0 => {
            let items: Vec<_> = (0..random.usize(..4)).map(|_| json(random, depth - 1)).collect();
            format!("[{}]", items.join(","))
        }
        1..4 if depth > 0 => {
            let fields = (0..random.usize(..6)).map(|_| {
                let field = choose(random, &FIELDS);
                format!("\"{field}\":{}", json(random, depth - 1))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        _ => choose(random, &LEAVES).to_owned(),
    }
}

fn choose<'a>(random: &mut Rng, choices: &[&'a str]) -> &'a str {
    choices[random.usize(..choices.len())]
}
