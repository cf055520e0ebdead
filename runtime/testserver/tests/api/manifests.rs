use std::fs;
use std::path::PathBuf;

use kopf_testserver::{InstallError, Resource, Server};

use crate::support::{GREETINGS, crd, greeting};

/// A folder of this test, with these files in it.
fn folder(test: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    for (name, text) in files {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    folder
}

#[test]
fn kustomizations_are_followed_and_what_others_rest_on_comes_first() {
    let all = "resources:\n- ../objects\n- ../crd.json\nimages:\n- name: x\n";
    let objects = "---\napiVersion: demo.example.com/v1\nkind: Greeting\nmetadata: {name: one, namespace: team}\n\
                   spec: {who: bob}\n---\n# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: team}\n";
    let folder = folder(
        "kustomizations",
        &[
            ("all/kustomization.yaml", all),
            ("objects/b.yaml", objects),
            ("objects/README.md", "no manifest"),
            ("objects/c.yaml", ""),
            ("crd.json", &crd().to_string()),
        ],
    );
    let server = Server::new();
    let installed = server.install(folder.join("all")).unwrap();
    let kinds: Vec<_> = installed
        .iter()
        .map(|object| object["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["Namespace", "CustomResourceDefinition", "Greeting"]);
    assert!(server.get(GREETINGS, Some("team"), "one").is_some());
}

#[test]
fn nothing_is_installed_when_a_file_cannot_be_understood() {
    let (good, bad) = ("apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "kind: [");
    let folder = folder("malformed", &[("a.yaml", good), ("b.yaml", bad)]);
    let server = Server::new();
    let error = server.install(&folder).unwrap_err();
    assert!(
        matches!(&error, InstallError::Malformed { path, .. } if path.ends_with("b.yaml")),
        "{error}"
    );
    assert!(server.get(Resource::new("", "v1", "namespaces"), None, "a").is_none());
    let error = server.install(folder.join("missing.yaml")).unwrap_err();
    assert!(error.to_string().ends_with("missing.yaml"), "{error}");
}

#[test]
fn kustomizations_that_change_things_are_not_misread() {
    let text = "resources: []\nnamePrefix: my-\n";
    let folder = folder("transformed", &[("kustomization.yaml", text)]);
    let error = Server::new().install(folder).unwrap_err().to_string();
    assert!(
        error.contains("`namePrefix`") && error.contains("kubectl kustomize"),
        "{error}"
    );
}

#[test]
fn a_refusal_names_the_file_and_the_object() {
    let folder = folder("refused", &[("greeting.json", &greeting("hello").to_string())]);
    let error = Server::new()
        .install(folder.join("greeting.json"))
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("Greeting hello of ") && error.contains("no matches for kind"),
        "{error}"
    );
}
