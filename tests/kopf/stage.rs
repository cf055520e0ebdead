use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use kopf_tests::cluster::Cluster;
use kopf_tests::control_plane;
use kopf_tests::kopf;
use kopf_tests::programs::{Program, calls};
use kopf_tests::workspace;
use kopf_testserver::Listening;
use serde_json::{Value, json};

/// A cluster with a kind of its own for one scenario, and Kopf at hand.
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    kubeconfig: PathBuf,
    python: PathBuf,
    folder: tempfile::TempDir,
    /// The embedded server serves for as long as this lives.
    _listening: Option<Listening>,
}

/// A process of `kopf run`.
pub(super) struct Kopf {
    program: Program,
    log: PathBuf,
}

impl Stage {
    /// `None` if there is no Kopf here.
    pub(super) async fn embedded() -> Option<Self> {
        let python = kopf::python()?;
        let cluster = Cluster::embedded().await;
        let server = cluster.embedded.as_ref().unwrap();
        let listening = server.listen("127.0.0.1:0").await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, listening.kubeconfig()).unwrap();
        Some(Self::set(cluster, kubeconfig, python, folder, Some(listening)).await)
    }

    /// `None` if there is no Kopf or no control plane here.
    pub(super) async fn real() -> Option<Self> {
        let python = kopf::python()?;
        let cluster = Cluster::real().await?;
        let kubeconfig = control_plane::shared()?.kubeconfig.clone();
        let folder = tempfile::tempdir().unwrap();
        Some(Self::set(cluster, kubeconfig, python, folder, None).await)
    }

    async fn set(
        cluster: Cluster,
        kubeconfig: PathBuf,
        python: PathBuf,
        folder: tempfile::TempDir,
        listening: Option<Listening>,
    ) -> Self {
        let stage = Self {
            cluster,
            kubeconfig,
            python,
            folder,
            _listening: listening,
        };
        stage.define(&stage.group(), "Toy", "Namespaced").await;
        stage
    }

    /// The scenario's own group, so that Kopf processes of other scenarios do not care for its objects.
    pub(super) fn group(&self) -> String {
        format!("{}.kopf-gen.example.com", self.cluster.namespace)
    }

    /// Installs an open CRD with the status subresource, unless it is there, and waits until it is served.
    pub(super) async fn define(&self, group: &str, kind: &str, scope: &str) {
        let (singular, plural) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
        let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "scope": scope,
                "names": {"kind": kind, "plural": plural, "singular": singular},
                "versions": [{
                    "name": "v1",
                    "served": true,
                    "storage": true,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": open, "status": open}}},
                }],
            },
        });
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        match self.cluster.request("POST", crds, &definition).await {
            Ok(_) => {}
            Err(kopf_runtime::kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("cannot install the CRD: {error}"),
        }
        let list = format!("{kind}List");
        let served = |found: &Value| found["kind"] == list.as_str();
        self.cluster.wait(&format!("/apis/{group}/v1/{plural}"), served).await;
    }

    /// A process of Kopf that runs one of the operators beside this file, in the scenario's namespace. Its name is for
    /// its log.
    pub(super) fn start(&self, operator: &str, name: &str) -> Kopf {
        let namespace = self.cluster.namespace.clone();
        self.run(operator, name, &["--standalone", "--namespace", &namespace], &[])
    }

    /// The same with arguments and an environment.
    pub(super) fn run(&self, operator: &str, name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> Kopf {
        let log = self.folder.path().join(format!("{name}.log"));
        let script = workspace().join("tests/kopf").join(operator);
        let mut command = Command::new(&self.python);
        command
            .args(["-B", "-m", "kopf", "run", "--verbose"])
            .args(arguments)
            .arg(script)
            .current_dir(self.folder.path())
            .env("GROUP", self.group())
            .envs(environment.iter().copied());
        Kopf {
            program: Program::run(&mut command, &self.kubeconfig, &log),
            log,
        }
    }

    /// A file of this scenario.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The collection of toys.
    pub(super) fn toys(&self) -> String {
        format!("/apis/{}/v1/namespaces/{}/toys", self.group(), self.cluster.namespace)
    }

    /// One toy.
    pub(super) fn toy(&self, name: &str) -> String {
        format!("{}/{name}", self.toys())
    }

    /// A toy as it is posted.
    pub(super) fn new_toy(&self, name: &str, spec: &Value) -> Value {
        json!({
            "apiVersion": format!("{}/v1", self.group()),
            "kind": "Toy",
            "metadata": {"name": name},
            "spec": spec,
        })
    }

    /// Creates a toy, and returns its path.
    pub(super) async fn create(&self, name: &str, spec: Value) -> String {
        let toy = self.new_toy(name, &spec);
        self.cluster.request("POST", &self.toys(), &toy).await.unwrap();
        self.toy(name)
    }

    /// Creates a labelled config map, and returns its path.
    pub(super) async fn create_map(&self, name: &str, labels: Value, pages: &str) -> String {
        let maps = format!("/api/v1/namespaces/{}/configmaps", self.cluster.namespace);
        let map = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "labels": labels},
            "data": {"pages": pages},
        });
        self.cluster.request("POST", &maps, &map).await.unwrap();
        format!("{maps}/{name}")
    }

    /// Deletes what is there.
    pub(super) async fn delete(&self, path: &str) {
        self.cluster.request("DELETE", path, &Value::Null).await.unwrap();
    }

    /// Deletes what is there, and waits until it is gone.
    pub(super) async fn remove(&self, path: &str) {
        self.delete(path).await;
        self.cluster.wait(path, Value::is_null).await;
    }
}

impl Kopf {
    pub(super) fn log(&self) -> String {
        self.program.log()
    }

    /// The handler calls so far.
    pub(super) fn calls(&self) -> Vec<String> {
        calls(&self.log())
    }

    /// Waits until the log is as wanted.
    pub(super) async fn wait(&self, what: &str, wanted: impl Fn(&str) -> bool) {
        let begin = Instant::now();
        while !wanted(&self.log()) {
            assert!(begin.elapsed() < Duration::from_secs(60), "never: {what}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits for a handler call.
    pub(super) async fn wait_call(&self, call: &str) {
        let wanted = |log: &str| calls(log).iter().any(|other| other == call);
        self.wait(&format!("the call {call:?}"), wanted).await;
    }

    /// SIGKILL.
    pub(super) fn kill(self) {
        self.program.kill();
    }

    /// Ends the process well, and returns its handler calls. It must not have complained of anything but this.
    pub(super) fn stop(self, complaints: &[&str]) -> Vec<String> {
        self.program.terminate();
        let log = std::fs::read_to_string(&self.log).unwrap();
        let complaint = |line: &&str| {
            ["[WARNING ]", "[ERROR ", "[CRITICAL]"]
                .iter()
                .any(|level| line.contains(level))
        };
        let unexpected: Vec<_> = log
            .lines()
            .filter(complaint)
            // Kopf gives its workers two seconds at its end, which a busy machine can use up (WATCH-18).
            .filter(|line| !line.contains("Unprocessed streams left"))
            .filter(|line| !complaints.iter().any(|expected| line.contains(expected)))
            .collect();
        assert!(unexpected.is_empty(), "{unexpected:#?} in\n{log}");
        calls(&log)
    }
}

/// What Kopf noted when it was done with an object: the essence of it.
pub(super) fn handled(object: &Value) -> Value {
    let text = object["metadata"]["annotations"]["kopf.zalando.org/last-handled-configuration"].as_str();
    text.map_or(Value::Null, |text| serde_json::from_str(text).unwrap())
}
