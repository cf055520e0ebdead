use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use kopf_gen::fileset::FileSet;
use kopf_gen::model::RuntimeSource;
use kopf_gen::{Generated, Options};
use serde_json::{Value, json};

/// Each spec with the name of its golden folder.
fn specs() -> Vec<(String, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs");
    let entries = fs::read_dir(folder).expect("the workspace has specs");
    let paths = entries.map(|entry| entry.expect("specs are readable").path());
    let mut specs: Vec<_> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            (
                path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
                path,
            )
        })
        .collect();
    specs.sort();
    assert!(!specs.is_empty());
    specs
}

/// The project as it would stand in the golden folder, where the runtime is three folders up.
fn generated(spec: &Path) -> Generated {
    let text = fs::read_to_string(spec).expect("specs are readable");
    let options = Options::default().runtime(RuntimeSource::Path("../../..".to_owned()));
    kopf_gen::generate("operator.yaml", &text, &options).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

/// `Cargo.lock` changes with every dependency, so that it has a test of its own.
fn compared(files: &FileSet) -> impl Iterator<Item = (&str, &str)> {
    files
        .iter()
        .filter(|(path, _)| *path != "Cargo.lock")
        .map(|(path, file)| (path, file.contents.as_str()))
}

fn extension(path: &str) -> Option<&str> {
    Path::new(path).extension()?.to_str()
}

fn files_below(folder: &Path, prefix: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let entry = entry.expect("golden folders are readable");
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if !entry.path().is_dir() {
            found.insert(name);
        } else if name != "target" {
            files_below(&entry.path(), &format!("{name}/"), found);
        }
    }
}

#[test]
fn every_spec_yields_its_golden_project() {
    let bless = env::var_os("KOPF_GEN_BLESS").is_some();
    let mut differences = Vec::new();
    for (name, spec) in specs() {
        let (generated, folder) = (generated(&spec), golden(&name));
        let mut left = BTreeSet::new();
        files_below(&folder, "", &mut left);
        left.remove("Cargo.lock");
        for (path, contents) in compared(&generated.files) {
            left.remove(path);
            let target = folder.join(path);
            if fs::read_to_string(&target).is_ok_and(|golden| golden == contents) {
                continue;
            }
            if bless {
                fs::create_dir_all(target.parent().expect("it is below the golden folder")).expect("it can be made");
                fs::write(target, contents).expect("golden files can be written");
            } else {
                differences.push(format!("{name}/{path}"));
            }
        }
        for path in left {
            if bless {
                fs::remove_file(folder.join(path)).expect("golden files can be removed");
            } else {
                differences.push(format!("{name}/{path}, which is no longer generated"));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "KOPF_GEN_BLESS=1 renews these:\n{}",
        differences.join("\n")
    );
}

#[test]
fn the_same_spec_gives_the_same_bytes() {
    for (_, spec) in specs() {
        assert_eq!(generated(&spec).files, generated(&spec).files);
    }
}

#[test]
fn all_rust_and_all_yaml_parses() {
    for (name, spec) in specs() {
        for (path, file) in generated(&spec).files.iter() {
            if extension(path) == Some("rs") {
                syn::parse_file(&file.contents).unwrap_or_else(|error| panic!("{name}/{path}: {error}"));
            }
            if extension(path) == Some("yaml") {
                documents(&format!("{name}/{path}"), &file.contents);
            }
        }
    }
}

fn documents(path: &str, text: &str) -> Vec<Value> {
    serde_yaml::from_multiple(text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All objects that are applied with the operator: `deploy` without the samples and without patches.
fn manifests() -> Vec<(String, Value)> {
    let mut manifests = Vec::new();
    for (name, spec) in specs() {
        for (path, file) in generated(&spec).files.iter() {
            let is_authors = path.starts_with("deploy/samples/") || path.starts_with("deploy/overlays/");
            if path.starts_with("deploy/") && !is_authors {
                let place = format!("{name}/{path}");
                let objects = documents(&place, &file.contents);
                manifests.extend(objects.into_iter().map(|object| (place.clone(), object)));
            }
        }
    }
    manifests
}

#[test]
fn no_manifest_asks_for_everything_or_for_anything() {
    for (place, object) in manifests() {
        for rule in object["rules"].as_array().into_iter().flatten() {
            for key in ["apiGroups", "resources", "verbs"] {
                let values = rule[key]
                    .as_array()
                    .unwrap_or_else(|| panic!("{place}: a rule without {key}"));
                assert!(!values.contains(&json!("*")), "{place}: {rule}");
            }
        }
        let text = object.to_string();
        for forbidden in ["latest", "hostPath", "null", "hostNetwork"] {
            assert!(!text.contains(forbidden), "{place} holds {forbidden}");
        }
    }
}

#[test]
fn every_pod_meets_the_restricted_profile() {
    let mut pods = 0;
    for (place, object) in manifests() {
        let pod = &object["spec"]["template"]["spec"];
        if object["kind"] != "Deployment" {
            assert!(pod.is_null(), "{place}: an unexpected workload");
            continue;
        }
        pods += 1;
        for field in [
            "hostNetwork",
            "hostPID",
            "hostIPC",
            "volumes",
            "initContainers",
            "ephemeralContainers",
        ] {
            assert!(pod.get(field).is_none(), "{place}: {field}");
        }
        let context = &pod["securityContext"];
        assert_eq!(context["runAsNonRoot"], true, "{place}");
        assert_eq!(context["runAsUser"], 65532, "{place}");
        assert_eq!(context["runAsGroup"], 65532, "{place}");
        assert_eq!(context["seccompProfile"], json!({"type": "RuntimeDefault"}), "{place}");
        assert!(
            context.get("sysctls").is_none() && context.get("seLinuxOptions").is_none(),
            "{place}"
        );
        let containers = pod["containers"]
            .as_array()
            .unwrap_or_else(|| panic!("{place}: no containers"));
        for container in containers {
            assert_eq!(
                container["securityContext"],
                json!({
                    "allowPrivilegeEscalation": false,
                    "readOnlyRootFilesystem": true,
                    "capabilities": {"drop": ["ALL"]},
                }),
                "{place}"
            );
            for port in container["ports"].as_array().into_iter().flatten() {
                assert!(port.get("hostPort").is_none(), "{place}: {port}");
            }
            for quantity in ["cpu", "memory", "ephemeral-storage"] {
                for side in ["requests", "limits"] {
                    assert!(
                        container["resources"][side][quantity].is_string(),
                        "{place}: no {quantity} in {side}"
                    );
                }
            }
        }
    }
    assert_eq!(pods, specs().len());
}

#[test]
fn every_rule_says_for_whom_it_is() {
    for (name, spec) in specs() {
        for (path, file) in generated(&spec)
            .files
            .iter()
            .filter(|(path, _)| path.starts_with("deploy/"))
        {
            let lines: Vec<&str> = file.contents.lines().collect();
            for (at, line) in lines
                .iter()
                .enumerate()
                .filter(|(_, line)| line.starts_with("- apiGroups:"))
            {
                assert!(lines[at - 1].starts_with("# "), "{name}/{path}:{}: {line}", at + 1);
            }
        }
    }
}

#[test]
fn nothing_tells_when_where_or_by_which_version_it_was_made() {
    let version = format!("kopf-gen {}", env!("CARGO_PKG_VERSION"));
    for (name, spec) in specs() {
        for (path, file) in generated(&spec).files.iter() {
            for trace in [&version, "/home/", "/root/", "/tmp/", env!("CARGO_MANIFEST_DIR")] {
                assert!(!file.contents.contains(trace), "{name}/{path} holds {trace}");
            }
        }
    }
}
