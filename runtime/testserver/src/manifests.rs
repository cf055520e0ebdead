//! Installing what a project deploys, from its files.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::Value;

use crate::Server;
use crate::status::Status;

/// Files of a folder without a kustomization that are manifests.
const EXTENSIONS: [&str; 3] = ["yaml", "yml", "json"];

/// What a kustomization may hold besides its resources, as far as that changes nothing here: no image is ever run.
const HARMLESS: [&str; 4] = ["apiVersion", "kind", "images", "metadata"];

/// Kinds that others rest on, in the order in which `kubectl` installs them.
const FIRST: [&str; 6] = [
    "Namespace",
    "CustomResourceDefinition",
    "ServiceAccount",
    "Role",
    "ClusterRole",
    "RoleBinding",
];

/// Manifests could not be installed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// A file or folder cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is no YAML.
    #[error("{path} is no YAML: {message}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What the parser says.
        message: String,
    },
    /// A kustomization changes its resources, which is not done here: render it with `kubectl kustomize` first.
    #[error("{path} has `{field}`, which is not supported: install the output of `kubectl kustomize` instead")]
    Transformed {
        /// The kustomization.
        path: PathBuf,
        /// The field that is not supported.
        field: String,
    },
    /// The server refuses an object.
    #[error("{kind} {name} of {path} is refused: {status}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// Its kind.
        kind: String,
        /// Its name.
        name: String,
        /// The server's answer.
        #[source]
        status: Box<Status>,
    },
}

impl Server {
    /// Installs manifests as [`apply`](Self::apply) does, what others rest on first, and returns the stored objects.
    ///
    /// `path` is a YAML or JSON file, or a folder: with a `kustomization.yaml` its resources are followed, as by
    /// `kubectl apply -k`; without, all manifests right in it are taken.
    ///
    /// # Errors
    /// At the first file that cannot be read or understood, before anything is installed; at the first object that
    /// the server refuses, with those before it installed.
    pub fn install(&self, path: impl AsRef<Path>) -> Result<Vec<Value>, InstallError> {
        let mut manifests = Vec::new();
        collect(path.as_ref(), &mut manifests)?;
        let rank = |object: &Value| {
            let kind = object["kind"].as_str().unwrap_or_default();
            FIRST.iter().position(|first| *first == kind).unwrap_or(FIRST.len())
        };
        manifests.sort_by_key(|(_, object)| rank(object));
        let install = |(path, object): (PathBuf, Value)| {
            let text = |field: &Value| field.as_str().unwrap_or_default().to_owned();
            let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
            self.apply(object).map_err(|status| InstallError::Refused {
                path,
                kind,
                name,
                status: Box::new(status),
            })
        };
        manifests.into_iter().map(install).collect()
    }
}

fn collect(path: &Path, manifests: &mut Vec<(PathBuf, Value)>) -> Result<(), InstallError> {
    if !path.is_dir() {
        let objects = documents(path)?;
        manifests.extend(objects.into_iter().map(|object| (path.to_owned(), object)));
        return Ok(());
    }
    let kustomization = path.join("kustomization.yaml");
    if kustomization.exists() {
        for document in documents(&kustomization)? {
            let fields = document.as_object().into_iter().flatten();
            for (field, value) in fields {
                if field == "resources" {
                    let resources = value.as_array().into_iter().flatten().filter_map(Value::as_str);
                    resources
                        .map(|each| path.join(each))
                        .try_for_each(|each| collect(&each, manifests))?;
                } else if !HARMLESS.contains(&field.as_str()) {
                    let (path, field) = (kustomization, field.clone());
                    return Err(InstallError::Transformed { path, field });
                }
            }
        }
        return Ok(());
    }
    let unreadable = |source| InstallError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let entries: Result<Vec<_>, _> = fs::read_dir(path).map_err(unreadable)?.collect();
    let mut files: Vec<_> = entries.map_err(unreadable)?.iter().map(fs::DirEntry::path).collect();
    files.retain(|file| {
        let extension = file.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| EXTENSIONS.contains(&extension))
    });
    files.sort();
    files.iter().try_for_each(|file| collect(file, manifests))
}

fn documents(path: &Path) -> Result<Vec<Value>, InstallError> {
    let text = fs::read_to_string(path).map_err(|source| InstallError::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let documents: Vec<Value> = serde_yaml::from_multiple(&text).map_err(|error| InstallError::Malformed {
        path: path.to_owned(),
        message: error.to_string(),
    })?;
    Ok(documents.into_iter().filter(|document| !document.is_null()).collect())
}
