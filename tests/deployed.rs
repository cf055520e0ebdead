//! Generated operators as programs of their own, on the real control plane: deployed by `kubectl`, under their own
//! rights, killed, and taken over from Kopf.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kopf_tests::control_plane::{self, ControlPlane, in_ci};
use kopf_tests::kopf;
use kopf_tests::programs::{Program, calls};
use kopf_tests::projects::Project;
use kopf_tests::workspace;
use serde_json::{Value, json};

const BUCKETS: &str = "buckets.storage.example.com";

fn spec(name: &str) -> String {
    std::fs::read_to_string(workspace().join("specs").join(name)).unwrap()
}

/// The control plane, if `kubectl` is here too.
fn plane() -> Option<&'static ControlPlane> {
    let plane = control_plane::shared()?;
    let version = Command::new("kubectl").args(["version", "--client"]).output();
    if version.is_ok_and(|output| output.status.success()) {
        return Some(plane);
    }
    assert!(!in_ci(), "no kubectl on the path");
    eprintln!("skipped, since there is no kubectl on the path");
    None
}

/// `kubectl` as administrator.
fn kubectl(plane: &ControlPlane, arguments: &[&str], input: Option<&Value>) -> Result<String, String> {
    use std::io::Write as _;
    let mut command = Command::new("kubectl")
        .args(arguments)
        .env("KUBECONFIG", &plane.kubeconfig)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kubectl is on the path");
    let text = input.map(Value::to_string).unwrap_or_default();
    command.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = command.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(text(&output.stderr))
    }
}

fn get(plane: &ControlPlane, namespace: &str, name: &str) -> Value {
    match kubectl(plane, &["get", BUCKETS, name, "-n", namespace, "-o", "json"], None) {
        Ok(text) => serde_json::from_str(&text).unwrap(),
        Err(error) if error.contains("NotFound") => Value::Null,
        Err(error) => panic!("{error}"),
    }
}

fn wait(what: &str, wanted: impl Fn() -> Option<Value>) -> Value {
    let begin = Instant::now();
    loop {
        if let Some(value) = wanted() {
            return value;
        }
        assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn wait_object(
    plane: &ControlPlane,
    namespace: &str,
    name: &str,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    wait(what, || Some(get(plane, namespace, name)).filter(&wanted))
}

/// A bucket in a namespace of its own.
fn create(plane: &ControlPlane, namespace: &str) {
    let _ = kubectl(plane, &["create", "namespace", namespace], None);
    let bucket = json!({
        "apiVersion": "storage.example.com/v1",
        "kind": "Bucket",
        "metadata": {"name": "reports", "namespace": namespace},
        "spec": {"region": "north"},
    });
    kubectl(plane, &["apply", "-f", "-"], Some(&bucket)).unwrap();
}

fn edit(plane: &ControlPlane, namespace: &str, patch: &Value) {
    let patch = patch.to_string();
    kubectl(
        plane,
        &[
            "patch",
            BUCKETS,
            "reports",
            "-n",
            namespace,
            "--type=merge",
            "-p",
            &patch,
        ],
        None,
    )
    .unwrap();
}

fn delete(plane: &ControlPlane, namespace: &str) {
    kubectl(
        plane,
        &["delete", BUCKETS, "reports", "-n", namespace, "--timeout=60s"],
        None,
    )
    .unwrap();
}

const HANDLERS: &str = r#"
use kopf_runtime::{Change, HandlerResult, Temporary, secs};

use crate::generated::bucket::{Bucket, ProvisionResult};

pub async fn provision(Change { namespace, reason, retry, .. }: Change<Bucket>) -> HandlerResult<ProvisionResult> {
    tracing::info!("call provision {reason} {retry}");
    if retry < 2 && namespace.as_deref() == Some("killed") {
        return Err(Temporary::after(secs(2), "not ready").into());
    }
    Ok(ProvisionResult { endpoint: Some("here".into()) })
}

pub async fn reconfigure(Change { reason, diff, .. }: Change<Bucket>) -> HandlerResult {
    let mut paths: Vec<String> = diff.iter().map(|item| item.path.join(".")).collect();
    paths.sort();
    tracing::info!("call reconfigure {reason} {}", paths.join(" "));
    Ok(())
}

pub async fn resize(Change { reason, new, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("call resize {reason} {new:?}");
    Ok(())
}

pub async fn release(Change { reason, .. }: Change<Bucket>) -> HandlerResult {
    tracing::info!("call release {reason}");
    Ok(())
}
"#;

/// A kubeconfig with the token of a service account, as its pod would have it.
fn account_kubeconfig(plane: &ControlPlane, folder: &Path, namespace: &str, account: &str) -> PathBuf {
    let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token");
    let request = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}});
    let answer = kubectl(plane, &["create", "--raw", &path, "-f", "-"], Some(&request)).unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let token = answer["status"]["token"].as_str().unwrap();
    let authority = plane.folder.join("pki/apiserver.crt");
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": plane.url, "certificate-authority": authority}}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    });
    let file = folder.join("account.kubeconfig");
    std::fs::write(&file, config.to_string()).unwrap();
    file
}

fn annotation(object: &Value, name: &str) -> Value {
    let text = &object["metadata"]["annotations"][format!("bucketeer.storage.example.com/{name}")];
    text.as_str()
        .map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}

/// Three stories of one deployed operator, one after the other, since they share its CRD and its rights.
#[test]
fn a_deployed_operator_works_under_its_own_rights_and_survives_kills() {
    let Some(plane) = plane() else { return };
    let project = Project::of(&spec("02-lifecycle.yaml"));
    project.put("src/handlers/bucket.rs", HANDLERS);
    let program = project.program("bucketeer");
    let log = project.path().join("operator.log");

    let applied = kubectl(
        plane,
        &["apply", "-k", &project.path().join("deploy/all").display().to_string()],
        None,
    );
    applied.expect("everything is applied at the first try");
    kubectl(
        plane,
        &[
            "wait",
            "--for=condition=Established",
            &format!("crd/{BUCKETS}"),
            "--timeout=30s",
        ],
        None,
    )
    .unwrap();
    let kubeconfig = account_kubeconfig(plane, project.path(), "bucketeer-system", "bucketeer");
    let start = || {
        let arguments = [
            "run",
            "--all-namespaces",
            "--standalone",
            "--liveness=http://127.0.0.1:0/healthz",
        ];
        Program::start(&program, &kubeconfig, &arguments, &log)
    };

    let operator = start();
    from_creation_to_deletion(plane, &operator);
    let operator = a_kill_in_the_middle_of_retries(plane, operator, start);
    let operator = changes_during_downtime(plane, operator, start);
    let text = operator.log();
    operator.terminate();
    for word in ["orbidden", "Cannot watch", "Cannot patch"] {
        assert!(
            !text.contains(word),
            "the operator lacks a right or a connection:\n{text}"
        );
    }
}

// Z-3, Z-6, R-1, B-7
fn from_creation_to_deletion(plane: &ControlPlane, operator: &Program) {
    create(plane, "plain");
    let result = json!({"endpoint": "here"});
    let handled = |object: &Value| {
        annotation(object, "last-handled-configuration") != Value::Null && object["status"]["provision"] == result
    };
    let object = wait_object(plane, "plain", "reports", "handled", handled);
    assert_eq!(
        object["metadata"]["finalizers"],
        json!(["bucketeer.storage.example.com/finalizer"])
    );
    let essence = annotation(&object, "last-handled-configuration");
    assert_eq!(
        essence,
        json!({"spec": {"public": false, "quota": "1Gi", "region": "north"}})
    );
    edit(plane, "plain", &json!({"spec": {"public": true}}));
    let edited = |object: &Value| annotation(object, "last-handled-configuration")["spec"]["public"] == true;
    wait_object(plane, "plain", "reports", "update handled", edited);
    delete(plane, "plain");
    assert_eq!(
        calls(&operator.log()),
        [
            "provision create 0",
            "resize create Some(\"1Gi\")",
            "reconfigure update spec.public",
            "release delete",
        ]
    );
}

// P-12, E-6
fn a_kill_in_the_middle_of_retries(plane: &ControlPlane, operator: Program, start: impl Fn() -> Program) -> Program {
    let before = calls(&operator.log()).len();
    create(plane, "killed");
    let halfway = |object: &Value| annotation(object, "provision")["retries"] == 1;
    wait_object(plane, "killed", "reports", "one attempt recorded", halfway);
    // The other handler of the creation has its turn while the first one waits.
    let other = |object: &Value| annotation(object, "resize.spec.quota")["success"] == true;
    wait_object(plane, "killed", "reports", "the other handler recorded", other);
    operator.kill();
    let operator = start();
    let done = |object: &Value| annotation(object, "last-handled-configuration") != Value::Null;
    wait_object(plane, "killed", "reports", "handled", done);
    let calls = calls(&operator.log())[before..].to_vec();
    assert_eq!(
        calls,
        [
            "provision create 0",
            "resize create Some(\"1Gi\")",
            "provision create 1",
            "provision create 2"
        ]
    );
    operator
}

// C-14
fn changes_during_downtime(plane: &ControlPlane, operator: Program, start: impl Fn() -> Program) -> Program {
    operator.kill();
    for days in [1, 2, 3] {
        edit(
            plane,
            "killed",
            &json!({"spec": {"lifecycle": {"expireAfterDays": days}}}),
        );
    }
    edit(plane, "killed", &json!({"spec": {"public": true}}));
    let operator = start();
    let before = calls(&operator.log()).len();
    let handled =
        |object: &Value| annotation(object, "last-handled-configuration")["spec"]["lifecycle"]["expireAfterDays"] == 3;
    wait_object(plane, "killed", "reports", "handled", handled);
    delete(plane, "killed");
    let calls = calls(&operator.log())[before..].to_vec();
    let updates: Vec<_> = calls.iter().filter(|call| call.starts_with("reconfigure")).collect();
    assert_eq!(updates, ["reconfigure update spec.lifecycle spec.public"], "{calls:?}");
    operator
}

const KOPF: &str = r"
import kopf

@kopf.on.create('storage.example.com', 'v1', 'buckets')
def provision(**_):
    return {'endpoint': 'kopf'}

@kopf.on.update('storage.example.com', 'v1', 'buckets')
def reconfigure(**_):
    pass

@kopf.on.delete('storage.example.com', 'v1', 'buckets')
def release(**_):
    pass
";

// Journey 6: with Kopf's default settings, nothing is handled twice and nothing is left behind.
#[test]
fn an_operator_takes_over_from_kopf() {
    let (Some(plane), Some(python)) = (plane(), kopf::python()) else {
        return;
    };
    let taken = "settings:\n  persistence: {prefix: kopf.zalando.org, finalizer: kopf.zalando.org/KopfFinalizerMarker}\n\
                 peering: {name: default}\nresources:";
    // A group of its own: the other test's operator serves the whole cluster.
    let spec = spec("02-lifecycle.yaml")
        .replace("resources:", taken)
        .replace("type: [create, resume]", "type: create")
        .replace("storage.example.com", "taken.example.com");
    let project = Project::of(&spec);
    project.put("src/handlers/bucket.rs", HANDLERS);
    let program = project.program("bucketeer");
    kubectl(
        plane,
        &["apply", "-k", &project.path().join("deploy/crds").display().to_string()],
        None,
    )
    .unwrap();
    let buckets = "buckets.taken.example.com";
    kubectl(
        plane,
        &[
            "wait",
            "--for=condition=Established",
            &format!("crd/{buckets}"),
            "--timeout=30s",
        ],
        None,
    )
    .unwrap();
    kubectl(plane, &["create", "namespace", "taken"], None).unwrap();

    let script = project.path().join("operator.py");
    std::fs::write(&script, KOPF.replace("storage.example.com", "taken.example.com")).unwrap();
    let script = script.display().to_string();
    let arguments = ["-m", "kopf", "run", "-n", "taken", "--standalone", &script];
    let kopf = Program::start(&python, &plane.kubeconfig, &arguments, &project.path().join("kopf.log"));
    let bucket = json!({
        "apiVersion": "taken.example.com/v1",
        "kind": "Bucket",
        "metadata": {"name": "reports", "namespace": "taken"},
        "spec": {"region": "north"},
    });
    kubectl(plane, &["apply", "-f", "-"], Some(&bucket)).unwrap();
    let get = || match kubectl(plane, &["get", buckets, "reports", "-n", "taken", "-o", "json"], None) {
        Ok(text) => serde_json::from_str::<Value>(&text).unwrap(),
        Err(_) => Value::Null,
    };
    let key = "kopf.zalando.org/last-handled-configuration";
    let handled = wait("Kopf has handled it", || {
        Some(get()).filter(|object| {
            object["metadata"]["annotations"][key].is_string()
                && object["status"]["provision"] == json!({"endpoint": "kopf"})
        })
    });
    assert_eq!(
        handled["metadata"]["finalizers"],
        json!(["kopf.zalando.org/KopfFinalizerMarker"])
    );
    kopf.terminate();

    let log = project.path().join("operator.log");
    let operator = Program::start(
        &program,
        &plane.kubeconfig,
        &["run", "-n", "taken", "--standalone", "-v"],
        &log,
    );
    // A new object shows that the operator has listed; the old one came before it.
    let mut other = bucket.clone();
    other["metadata"]["name"] = "other".into();
    kubectl(plane, &["apply", "-f", "-"], Some(&other)).unwrap();
    wait("the new object is handled", || {
        calls(&operator.log()).first().map(|call| json!(call))
    });
    let patch = json!({"spec": {"public": true}}).to_string();
    kubectl(
        plane,
        &["patch", buckets, "reports", "-n", "taken", "--type=merge", "-p", &patch],
        None,
    )
    .unwrap();
    wait("the edit is handled", || {
        calls(&operator.log())
            .iter()
            .any(|call| call.starts_with("reconfigure"))
            .then_some(Value::Null)
    });
    kubectl(
        plane,
        &["delete", buckets, "reports", "-n", "taken", "--timeout=60s"],
        None,
    )
    .unwrap();
    assert_eq!(get(), Value::Null, "Kopf's finalizer is gone");
    let text = operator.log();
    let of_the_old: Vec<String> = calls(
        &text
            .lines()
            .filter(|line| line.contains("[taken/reports]"))
            .collect::<Vec<_>>()
            .join("\n"),
    );
    assert_eq!(
        of_the_old,
        ["reconfigure update spec.public", "release delete"],
        "{text}"
    );
    kubectl(
        plane,
        &["delete", buckets, "other", "-n", "taken", "--timeout=60s"],
        None,
    )
    .unwrap();
    operator.terminate();
}

/// The widest spec, less what the server of Debian's packages is too old for.
#[test]
fn everything_that_is_generated_can_be_applied_at_the_first_try() {
    let Some(plane) = plane() else { return };
    let wide = std::fs::read_to_string(workspace().join("tests/ui/wide/wide.yaml")).unwrap();
    let project = Project::of(&wide.replace(" | immutable=true maxLength=10", ""));
    let folder = |name: &str| project.path().join("deploy").join(name).display().to_string();
    for name in ["all", "peering/crds"] {
        kubectl(plane, &["apply", "-k", &folder(name)], None).unwrap();
    }
    for crd in [
        "httproutes.wide.example.com",
        "policies.wide.example.com",
        "clusterkopfpeerings.kopf.dev",
    ] {
        let crd = format!("crd/{crd}");
        kubectl(
            plane,
            &["wait", "--for=condition=Established", &crd, "--timeout=30s"],
            None,
        )
        .unwrap();
    }
    for name in ["peering/object", "overlays/production"] {
        kubectl(plane, &["apply", "-k", &folder(name)], None).unwrap();
    }
    kubectl(plane, &["apply", "-f", &folder("samples")], None).unwrap();
}
