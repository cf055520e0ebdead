//! Random requests from a seed, to both servers, with the same outcome: code and reason of each answer, and what is
//! stored in the end. And nonsense to the embedded server, which it has to answer.
//!
//! `KOPF_GEN_SEED=n` repeats the run of one seed; a failure names its own.

/// Nonsense of all kinds.
mod nonsense;
/// What is asked.
mod requests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use fastrand::Rng;
use futures::{StreamExt as _, stream};
use kopf_tests::{control_plane, rounds};
use serde_json::{Value, json};

use self::requests::{APPLIED, Ask, GROUP, KINDS, Kind};
use crate::server::{Server, body_of, pause};

/// Requests of one conversation; short enough to be read when it fails.
const TURNS: usize = 50;

/// How many conversations run at once.
const AT_ONCE: usize = 6;

/// Conversations whose difference is shown.
const SHOWN: usize = 12;

/// Where the seeds start.
const SEED: u64 = 1;

/// A server, and what it said last of each object.
struct Party<'a> {
    server: &'a Server,
    namespace: String,
    seen: BTreeMap<String, Value>,
}

/// The class of an answer.
#[derive(Debug, PartialEq)]
struct Outcome {
    code: u16,
    reason: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn random_requests_have_the_same_outcome_on_both_servers() {
    let Some(plane) = control_plane::shared() else {
        return;
    };
    let real = Server::real(plane).await;
    prepare(&real).await;
    let seeds: Vec<u64> = match std::env::var("KOPF_GEN_SEED") {
        Ok(seed) => vec![seed.parse().expect("the seed is a number")],
        Err(_) => (SEED..).take(rounds(10_000).div_ceil(TURNS)).collect(),
    };
    let failures: Vec<String> = stream::iter(&seeds)
        .map(|&seed| converse(&real, seed))
        .buffered(AT_ONCE)
        .filter_map(async |failure| failure)
        .collect()
        .await;
    let requests = seeds.len() * TURNS;
    let text = format!("\nfuzz: {requests} requests, {} conversations differ", failures.len());
    writeln!(std::io::stderr(), "{text}").unwrap();
    assert!(
        failures.is_empty(),
        "{}",
        failures.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n")
    );
}

/// Says the same to both, and returns the first difference.
async fn converse(real: &Server, seed: u64) -> Option<String> {
    let embedded = Server::embedded();
    prepare(&embedded).await;
    let namespace = format!("fuzz-{seed}");
    let mut ours = Party::new(&embedded, &namespace).await;
    let mut theirs = Party::new(real, &namespace).await;
    let mut random = Rng::with_seed(seed);
    let mut asked = Vec::new();
    for _ in 0..TURNS {
        let ask = requests::next(&mut random);
        let ((here, our_answer), (there, their_answer)) = futures::join!(ours.ask(&ask), theirs.ask(&ask));
        asked.push(format!("{ask} -> {} {}", there.code, there.reason));
        if here != there {
            let trace = trace(&asked);
            return Some(format!(
                "seed {seed}: {ask}\n    embedded: {} {}: {}\n    real: {} {}: {}\n{trace}",
                here.code, here.reason, our_answer["message"], there.code, there.reason, their_answer["message"]
            ));
        }
    }
    for kind in KINDS {
        let (here, there) = futures::join!(ours.stored(kind), theirs.stored(kind));
        if here != there {
            let differences = crate::compare::of_answers(&here, &there).join("\n    ");
            return Some(format!(
                "seed {seed}: {} differ\n    {differences}\n{}",
                kind.plural,
                trace(&asked)
            ));
        }
    }
    None
}

fn trace(asked: &[String]) -> String {
    let mut text = String::from("  after:\n");
    for line in asked {
        let _ = writeln!(text, "    {line}");
    }
    text
}

/// Installs the custom kinds that the requests are about.
async fn prepare(server: &Server) {
    let gadgets = include_str!("../crds/typed.yaml").replace("{group}", GROUP);
    let gizmos = gadgets
        .replace("gadget", "gizmo")
        .replace("Gadget", "Gizmo")
        .replace("[ga]", "[gi]");
    for (table, plural) in [(gadgets, "gadgets"), (gizmos, "gizmos")] {
        let mut definition: Value = serde_yaml::from_str(&table).expect("the table is YAML");
        let schema = &mut definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        if plural == APPLIED {
            let spec = schema["properties"]["spec"]["properties"].as_object_mut();
            spec.expect("the spec has fields").remove("port");
        }
        install(server, &definition, plural).await;
    }
}

async fn install(server: &Server, definition: &Value, plural: &str) {
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let (code, answer) = send(server, "POST", path, "application/json", &definition.to_string()).await;
    assert!(code == 201 || code == 409, "{answer}");
    while send(server, "GET", &format!("/apis/{GROUP}/v1/{plural}"), "", "")
        .await
        .0
        != 200
    {
        pause().await;
    }
}

async fn send(server: &Server, method: &str, path: &str, media: &str, body: &str) -> (u16, Value) {
    let request = http::Request::builder().method(method).uri(path);
    let request = if media.is_empty() {
        request
    } else {
        request.header("content-type", media)
    };
    let response = server.send(request, None, body.as_bytes().to_vec()).await;
    let (head, body) = response.expect("the server answers").into_parts();
    (head.status.as_u16(), body_of(body).await.expect("the answer is whole"))
}

impl<'a> Party<'a> {
    async fn new(server: &'a Server, namespace: &str) -> Self {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let (code, answer) = send(
            server,
            "POST",
            "/api/v1/namespaces",
            "application/json",
            &object.to_string(),
        )
        .await;
        assert_eq!(code, 201, "{answer}");
        Self {
            server,
            namespace: namespace.to_owned(),
            seen: BTreeMap::new(),
        }
    }

    async fn ask(&mut self, ask: &Ask) -> (Outcome, Value) {
        let (path, body) = (self.fill(&ask.path), self.fill(&ask.body));
        let (code, answer) = send(self.server, ask.method, &path, ask.media, &body).await;
        let name = answer["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !name.is_empty() && answer["kind"] != "Status" {
            self.seen
                .insert(format!("{}/{name}", ask.kind), answer["metadata"].clone());
        }
        let reason = match answer["reason"].as_str() {
            Some(reason) if answer["kind"] == "Status" => reason.to_owned(),
            _ if answer.is_string() => "text".to_owned(),
            _ => String::new(),
        };
        (Outcome { code, reason }, answer)
    }

    /// Replaces `<version KIND/NAME>` and `<uid KIND/NAME>` by what this server said of the object.
    fn fill(&self, text: &str) -> String {
        let mut text = text.replace("<namespace>", &self.namespace);
        for (word, field) in [("<version ", "resourceVersion"), ("<uid ", "uid")] {
            while let Some(start) = text.find(word) {
                let end = start + text[start..].find('>').expect("placeholders are closed");
                let object = &text[start + word.len()..end];
                let value = self.seen.get(object).and_then(|metadata| metadata[field].as_str());
                text = format!("{}{}{}", &text[..start], value.unwrap_or("1"), &text[end + 1..]);
            }
        }
        text
    }

    /// What is stored of a kind, less what differs on every run.
    async fn stored(&self, kind: &Kind) -> Value {
        let (_, list) = send(self.server, "GET", &kind.path(&self.namespace), "", "").await;
        let items = list["items"].as_array().expect("the kind is listed");
        items
            .iter()
            // What controllers put into every namespace, in their own time.
            .filter(|item| item["metadata"]["name"].as_str().is_some_and(|name| name.len() == 1))
            .map(|item| {
                let mut item = item.clone();
                let metadata = item["metadata"].take();
                item["deleted"] = metadata["deletionTimestamp"].is_string().into();
                for field in ["name", "labels", "annotations", "finalizers", "generation"] {
                    item[field] = metadata[field].clone();
                }
                (metadata["name"].as_str().unwrap_or_default().to_owned(), item)
            })
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}
