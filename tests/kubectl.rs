//! kubectl on the embedded server, as people use it after `kopf-gen try --keep`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kopf_tests::control_plane::in_ci;
use kopf_testserver::{Listening, Server};
use serde_json::{Value, json};

/// A server that kubectl can reach, with a kind of its own.
struct Kubectl {
    folder: tempfile::TempDir,
    server: Server,
    _listening: Listening,
}

/// How a command ended.
struct Ran {
    ok: bool,
    stdout: String,
    stderr: String,
}

impl Ran {
    /// What a command printed that must have succeeded.
    #[track_caller]
    fn printed(self) -> String {
        assert!(self.ok, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// What a command complained of that must have failed.
    #[track_caller]
    fn complaint(self) -> String {
        assert!(!self.ok, "{}", self.stdout);
        self.stderr
    }
}

impl Kubectl {
    /// Nothing, if this machine has no kubectl.
    async fn new() -> Option<Self> {
        let found = Command::new("kubectl")
            .args(["version", "--client"])
            .stdout(Stdio::null())
            .status();
        if !found.is_ok_and(|status| status.success()) {
            assert!(!in_ci(), "there is no kubectl");
            eprintln!("skipped, since there is no kubectl");
            return None;
        }
        let server = Server::new();
        server.apply(definition()).unwrap();
        let listening = server.listen("127.0.0.1:0").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), listening.kubeconfig()).unwrap();
        Some(Self {
            folder,
            server,
            _listening: listening,
        })
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[]).await
    }

    async fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        let mut command = tokio::process::Command::new("kubectl");
        command
            .args(arguments)
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("HOME", self.folder.path())
            .envs(environment.iter().copied())
            .stdin(Stdio::null());
        let output = command.output().await.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            ok: output.status.success(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Writes an object into a file of this name.
    fn file(&self, name: &str, object: &Value) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, serde_yaml::to_string(object).unwrap()).unwrap();
        path
    }
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "kites.demo.example.com"},
        "spec": {
            "group": "demo.example.com", "scope": "Namespaced",
            "names": {"kind": "Kite", "plural": "kites", "shortNames": ["ki"], "categories": ["all"]},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": {"specReplicasPath": ".spec.tails", "statusReplicasPath": ".status.tails"},
                },
                "additionalPrinterColumns": [
                    {"name": "Colour", "type": "string", "jsonPath": ".spec.colour"},
                    {"name": "Tails", "type": "integer", "jsonPath": ".spec.tails", "priority": 1},
                ],
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                    "spec": {"type": "object", "properties": {
                        "colour": {"type": "string", "enum": ["red", "green"], "description": "What it looks like."},
                        "tails": {"type": "integer"},
                    }},
                    "status": {"type": "object", "properties": {
                        "tails": {"type": "integer"}, "phase": {"type": "string"},
                    }},
                }}},
            }],
        },
    })
}

fn kite(colour: &str) -> Value {
    json!({
        "apiVersion": "demo.example.com/v1", "kind": "Kite", "metadata": {"name": "k", "labels": {"app": "k"}},
        "spec": {"colour": colour, "tails": 1},
    })
}

fn deployment(image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"app": "d"}},
        "spec": {
            "selector": {"matchLabels": {"app": "d"}},
            "template": {
                "metadata": {"labels": {"app": "d"}},
                "spec": {"containers": [{"name": "main", "image": image}, {"name": "side", "image": "side:1"}]},
            },
        },
    })
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The words of the lines.
fn words(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split_whitespace().collect()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_lists_objects_in_tables() {
    let Some(kubectl) = Kubectl::new().await else { return };
    kubectl.server.apply(kite("red")).unwrap();
    kubectl.server.apply(deployment("main:1")).unwrap();

    let kites = kubectl.run(&["get", "kites"]).await.printed();
    assert_eq!(words(&kites), [vec!["NAME", "COLOUR"], vec!["k", "red"]]);
    let kites = kubectl.run(&["get", "ki", "-A", "-o", "wide"]).await.printed();
    assert_eq!(
        words(&kites),
        [
            vec!["NAMESPACE", "NAME", "COLOUR", "TAILS"],
            vec!["default", "k", "red", "1"]
        ]
    );
    let deployments = kubectl.run(&["get", "deploy", "-o", "wide"]).await.printed();
    let [head, row] = &words(&deployments)[..] else {
        panic!("{deployments}")
    };
    assert_eq!(
        head,
        &[
            "NAME",
            "READY",
            "UP-TO-DATE",
            "AVAILABLE",
            "AGE",
            "CONTAINERS",
            "IMAGES",
            "SELECTOR"
        ]
    );
    assert_eq!(
        [&row[..4], &row[5..]].concat(),
        ["d", "0/1", "0", "0", "main,side", "main:1,side:1", "app=d"]
    );
    let all = kubectl.run(&["get", "all"]).await.printed();
    assert!(
        all.contains("deployment.apps/d") && all.contains("kite.demo.example.com/k"),
        "{all}"
    );
    let yaml = kubectl.run(&["get", "kite", "k", "-o", "yaml"]).await.printed();
    let object: Value = serde_yaml::from_str(&yaml).unwrap();
    assert_eq!(object["spec"], kite("red")["spec"]);
    let names = kubectl.run(&["get", "kites", "-o", "name", "-l", "app=other"]).await;
    assert_eq!(names.printed(), "");
    let field = ["get", "kites", "-o", "name", "--field-selector", "metadata.name=k"];
    assert_eq!(kubectl.run(&field).await.printed(), "kite.demo.example.com/k\n");
    let missing = kubectl.run(&["get", "kite", "none"]).await.complaint();
    assert!(
        missing.contains("kites.demo.example.com \"none\" not found"),
        "{missing}"
    );
    let unserved = kubectl.run(&["get", "--raw", "/api/v1/podtemplates"]).await.complaint();
    assert!(unserved.contains("does not serve podtemplates"), "{unserved}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_applies_configurations_by_itself() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let file = kubectl.file("object.yaml", &deployment("main:1"));
    let apply = ["apply", "-f", path(&file)];
    assert_eq!(kubectl.run(&apply).await.printed(), "deployment.apps/d created\n");
    assert_eq!(kubectl.run(&apply).await.printed(), "deployment.apps/d unchanged\n");

    let mut changed = deployment("main:2");
    changed["spec"]["template"]["spec"]["containers"]
        .as_array_mut()
        .unwrap()
        .pop();
    kubectl.file("object.yaml", &changed);
    let difference = kubectl.run(&["diff", "-f", path(&file)]).await;
    assert!(
        !difference.ok && difference.stdout.contains("+      - image: main:2"),
        "{}",
        difference.stdout
    );
    assert_eq!(kubectl.run(&apply).await.printed(), "deployment.apps/d configured\n");
    let containers = [
        "get",
        "deploy",
        "d",
        "-o",
        "jsonpath={.spec.template.spec.containers[*].image}",
    ];
    assert_eq!(kubectl.run(&containers).await.printed(), "main:2");

    kubectl.file("object.yaml", &kite("green"));
    assert_eq!(kubectl.run(&apply).await.printed(), "kite.demo.example.com/k created\n");
    kubectl.file("object.yaml", &kite("blue"));
    let refused = kubectl.run(&apply).await.complaint();
    assert!(
        refused.contains("spec.colour: Unsupported value: \"blue\""),
        "{refused}"
    );
    let mut unknown = kite("green");
    unknown["spec"]["weight"] = json!(1);
    kubectl.file("object.yaml", &unknown);
    let refused = kubectl.run(&apply).await.complaint();
    assert!(refused.contains("unknown field \"spec.weight\""), "{refused}");
    let mut wrong = deployment("main:3");
    wrong["spec"]["replicas"] = json!("many");
    kubectl.file("object.yaml", &wrong);
    let refused = kubectl.run(&apply).await.complaint();
    assert!(refused.contains("replicas"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_applies_configurations_on_the_server() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let file = kubectl.file("object.yaml", &kite("red"));
    let apply = |more: &'static [&'static str]| {
        let file = file.clone();
        let kubectl = &kubectl;
        async move {
            let arguments = [&["apply", "--server-side", "-f", path(&file)], more].concat();
            kubectl.run(&arguments).await
        }
    };
    assert_eq!(
        apply(&[]).await.printed(),
        "kite.demo.example.com/k serverside-applied\n"
    );
    kubectl.file("object.yaml", &kite("green"));
    let conflict = apply(&["--field-manager=other"]).await.complaint();
    assert!(conflict.contains(".spec.colour"), "{conflict}");
    apply(&["--field-manager=other", "--force-conflicts"]).await.printed();
    let colour = ["get", "kite", "k", "-o", "jsonpath={.spec.colour}"];
    assert_eq!(kubectl.run(&colour).await.printed(), "green");
    kubectl.file("object.yaml", &deployment("main:1"));
    assert_eq!(apply(&[]).await.printed(), "deployment.apps/d serverside-applied\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_changes_objects() {
    let Some(kubectl) = Kubectl::new().await else { return };
    kubectl.server.apply(kite("red")).unwrap();
    kubectl.server.apply(deployment("main:1")).unwrap();
    for arguments in [
        &["label", "kite", "k", "a=b"][..],
        &["annotate", "kite", "k", "note=x"],
        &["patch", "kite", "k", "--type=merge", "-p", r#"{"spec": {"tails": 2}}"#],
        &[
            "patch",
            "kite",
            "k",
            "--type=json",
            "-p",
            r#"[{"op": "test", "path": "/spec/tails", "value": 2}]"#,
        ],
        &[
            "patch",
            "kite",
            "k",
            "--subresource=status",
            "--type=merge",
            "-p",
            r#"{"status": {"phase": "Up"}}"#,
        ],
        &[
            "patch",
            "deploy",
            "d",
            "-p",
            r#"{"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}}}"#,
        ],
        &["set", "image", "deploy/d", "main=main:2"],
        &["scale", "deploy", "d", "--replicas=3"],
        &["scale", "kite", "k", "--replicas=4"],
    ] {
        kubectl.run(arguments).await.printed();
    }
    let editor = [("KUBE_EDITOR", "sed -i 's/colour: red/colour: green/'")];
    kubectl.run_with(&["edit", "kite", "k"], &editor).await.printed();

    let object = kubectl.run(&["get", "kite", "k", "-o", "json"]).await.printed();
    let object: Value = serde_json::from_str(&object).unwrap();
    assert_eq!(object["metadata"]["labels"], json!({"app": "k", "a": "b"}));
    assert_eq!(object["metadata"]["annotations"]["note"], "x");
    assert_eq!(object["spec"], json!({"colour": "green", "tails": 4}));
    assert_eq!(object["status"], json!({"phase": "Up"}));
    let object = kubectl.run(&["get", "deploy", "d", "-o", "json"]).await.printed();
    let object: Value = serde_json::from_str(&object).unwrap();
    let containers = object["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    let images: Vec<_> = containers
        .iter()
        .map(|container| container["image"].as_str().unwrap())
        .collect();
    assert_eq!(
        (images, &object["spec"]["replicas"]),
        (vec!["main:2", "side:2"], &json!(3))
    );

    let file = kubectl.file("object.yaml", &kite("red"));
    let replaced = kubectl.run(&["replace", "-f", path(&file)]).await.printed();
    assert_eq!(replaced, "kite.demo.example.com/k replaced\n");
    let created = kubectl.run(&["create", "-f", path(&file)]).await.complaint();
    assert!(created.contains("AlreadyExists"), "{created}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_creates_what_it_makes_up() {
    let Some(kubectl) = Kubectl::new().await else { return };
    for arguments in [
        &["create", "namespace", "other"][..],
        &["create", "configmap", "c", "--from-literal=a=b"],
        &["create", "secret", "generic", "s", "--from-literal=a=b"],
        &["create", "serviceaccount", "reader"],
        &["create", "role", "reader", "--verb=get,list", "--resource=pods"],
        &[
            "create",
            "rolebinding",
            "reader",
            "--role=reader",
            "--serviceaccount=default:reader",
        ],
        &[
            "create",
            "deployment",
            "web",
            "--image=web:1",
            "--replicas=2",
            "--port=80",
        ],
    ] {
        kubectl.run(arguments).await.printed();
    }
    let read = |what: &'static str, path: &'static str| {
        let kubectl = &kubectl;
        async move { kubectl.run(&["get", what, "-o", path]).await.printed() }
    };
    assert_eq!(read("configmap/c", "jsonpath={.data}").await, r#"{"a":"b"}"#);
    assert_eq!(
        read("secret/s", "jsonpath={.data} {.type}").await,
        r#"{"a":"Yg=="} Opaque"#
    );
    let web = "jsonpath={.spec.replicas} {.spec.template.spec.containers[0].ports[0].containerPort}";
    assert_eq!(read("deploy/web", web).await, "2 80");
    assert_eq!(read("namespace/other", "jsonpath={.status.phase}").await, "Active");

    let may = |verb: &'static str| {
        let kubectl = &kubectl;
        async move {
            let caller = "--as=system:serviceaccount:default:reader";
            kubectl.run(&["auth", "can-i", verb, "pods", caller]).await
        }
    };
    assert_eq!(may("get").await.printed(), "yes\n");
    let refused = may("delete").await;
    assert_eq!((refused.ok, refused.stdout.as_str()), (false, "no\n"));
    let list = kubectl.run(&["auth", "can-i", "--list"]).await.printed();
    assert!(list.contains("[*]"), "{list}");
    let refused = kubectl
        .run(&["create", "quota", "q", "--hard=pods=1"])
        .await
        .complaint();
    assert!(refused.contains("in protobuf"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_waits_and_deletes() {
    let Some(kubectl) = Kubectl::new().await else { return };
    kubectl.server.apply(kite("red")).unwrap();
    let kites = kopf_testserver::Resource::new("demo.example.com", "v1", "kites");
    let condition = ["wait", "--for=jsonpath={.status.phase}=Up", "kite/k", "--timeout=30s"];
    let up = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let status = json!({"status": {"phase": "Up"}});
        kubectl
            .server
            .patch_status(kites, Some("default"), "k", status)
            .unwrap();
    };
    let (waited, ()) = tokio::join!(kubectl.run(&condition), up);
    assert_eq!(waited.printed(), "kite.demo.example.com/k condition met\n");

    let finalizer = json!({"metadata": {"finalizers": ["demo.example.com/hold"]}});
    kubectl.server.patch(kites, Some("default"), "k", finalizer).unwrap();
    let released = async {
        let going =
            |object: Option<&Value>| object.is_some_and(|object| object["metadata"].get("deletionTimestamp").is_some());
        kubectl
            .server
            .wait_for(kites, Some("default"), "k", going)
            .await
            .unwrap();
        let none = json!({"metadata": {"finalizers": null}});
        kubectl.server.patch(kites, Some("default"), "k", none).unwrap();
    };
    let delete = ["delete", "kite", "k", "--wait", "--timeout=30s"];
    let (deleted, ()) = tokio::join!(kubectl.run(&delete), released);
    let text = deleted.printed();
    assert!(text.starts_with("kite.demo.example.com \"k\" deleted"), "{text}");
    kubectl
        .run(&["wait", "--for=delete", "kite/k", "--timeout=30s"])
        .await
        .printed();
    assert!(kubectl.server.get(kites, Some("default"), "k").is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_describes_objects_with_their_events() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let stored = kubectl.server.apply(kite("red")).unwrap();
    kubectl.server.apply(deployment("main:1")).unwrap();
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": "k.1", "namespace": "default"},
        "involvedObject": {
            "apiVersion": "demo.example.com/v1", "kind": "Kite", "name": "k", "namespace": "default",
            "uid": stored["metadata"]["uid"],
        },
        "type": "Normal", "reason": "Flown", "message": "It flies", "count": 1, "source": {"component": "wind"},
        "firstTimestamp": "2020-01-01T00:00:00Z", "lastTimestamp": "2020-01-01T00:00:00Z",
    });
    kubectl.server.apply(event).unwrap();

    let described = kubectl.run(&["describe", "kite", "k"]).await.printed();
    assert!(described.contains("Colour:  red"), "{described}");
    let events = described.lines().last().unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(
        (events[1], &events[4..]),
        ("Flown", &["It", "flies"][..]),
        "{described}"
    );
    let events = kubectl.run(&["get", "events"]).await.printed();
    assert!(events.contains("kite/k") && events.contains("It flies"), "{events}");
    let events = kubectl.run(&["events", "--for=kite/k"]).await.printed();
    assert!(events.contains("Flown"), "{events}");
    let described = kubectl.run(&["describe", "deploy", "d"]).await.printed();
    assert!(
        described.contains("StrategyType:           RollingUpdate"),
        "{described}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn kubectl_learns_what_is_served() {
    let Some(kubectl) = Kubectl::new().await else { return };
    let versions = kubectl.run(&["api-versions"]).await.printed();
    for version in ["apps/v1", "demo.example.com/v1", "v1"] {
        assert!(versions.lines().any(|line| line == version), "{versions}");
    }
    let resources = kubectl.run(&["api-resources", "--no-headers"]).await.printed();
    let rows = words(&resources);
    for row in [
        &["deployments", "deploy", "apps/v1", "true", "Deployment"][..],
        &["namespaces", "ns", "v1", "false", "Namespace"],
        &["kites", "ki", "demo.example.com/v1", "true", "Kite"],
        &["leases", "coordination.k8s.io/v1", "true", "Lease"],
    ] {
        assert!(rows.iter().any(|each| each == row), "{row:?} in\n{resources}");
    }
    let explained = kubectl.run(&["explain", "kite.spec.colour"]).await.printed();
    assert!(explained.contains("What it looks like."), "{explained}");
    let explained = kubectl.run(&["explain", "deployment", "--recursive"]).await.printed();
    for field in [
        "revisionHistoryLimit\t<integer>",
        "maxSurge\t<IntOrString>",
        "containerPort\t<integer>",
    ] {
        assert!(explained.contains(field), "{field} in\n{explained}");
    }
    let explained = kubectl.run(&["explain", "ingress.spec.rules.host"]).await.printed();
    assert!(explained.contains("FIELD: host <string>"), "{explained}");
}
