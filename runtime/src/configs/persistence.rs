//! The settings of what is kept on objects (P, B, Z-1).

use std::sync::Arc;

use super::conventions;
use super::diffbase::DiffBaseStorage;
use super::progress::ProgressStorage;

/// What is kept on objects. To change it is to forget all objects, so that each is handled as new (B-11); unless what
/// it was before is told in `formerly`, or the old storage stays in the lists beside the new one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PersistenceSettings {
    /// The prefix of the operator's annotations (P-13, B-7). Default: `kopf.zalando.org`.
    ///
    /// Whatever the storages are, the annotation `<prefix>/kopf-gen` says which object the state belongs to, so that
    /// copies of objects are told apart from them.
    pub prefix: String,
    /// The name of the operator's finalizer (Z-1); kinds of Kubernetes itself take only names with a domain. Default: `kopf.zalando.org/KopfFinalizerMarker`.
    pub finalizer: String,
    /// Where the progress of handlers is kept: the first storage that has a record is read, all are written (P-15).
    /// Default: none, which means Kopf's smart storage: annotations under `prefix`, and records that Kopf may have left
    /// in `status.kopf.progress` (P-16).
    pub progress: Vec<Arc<dyn ProgressStorage>>,
    /// Where the copy of what was handled last is kept: the first one found is read, all are written (B-9).
    /// Default: none, which means an annotation under `prefix`.
    pub diffbase: Vec<Arc<dyn DiffBaseStorage>>,
    /// Prefixes and finalizers that this operator, or the one it takes over from, had before. What is found under them
    /// goes on under the names of now: state is moved, one finalizer is exchanged for the other, and nothing is handled
    /// twice. Default: none.
    pub formerly: Vec<Former>,
}

impl Default for PersistenceSettings {
    fn default() -> Self {
        Self {
            prefix: "kopf.zalando.org".to_owned(),
            finalizer: "kopf.zalando.org/KopfFinalizerMarker".to_owned(),
            progress: Vec::new(),
            diffbase: Vec::new(),
            formerly: Vec::new(),
        }
    }
}

/// Names under which state was kept before.
///
/// ```
/// use kopf_runtime::Operator;
/// use kopf_runtime::settings::Former;
///
/// // Takes over from a Kopf operator with its default settings.
/// let operator = Operator::new("shop").settings(|settings| {
///     settings.persistence.prefix = "shop.example.com".into();
///     settings.persistence.finalizer = "shop.example.com/finalizer".into();
///     settings.persistence.formerly =
///         vec![Former::new("kopf.zalando.org", "kopf.zalando.org/KopfFinalizerMarker")];
/// });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Former {
    /// The prefix of the annotations.
    pub prefix: String,
    /// The name of the finalizer.
    pub finalizer: String,
}

impl Former {
    /// State under this prefix, and this finalizer.
    pub fn new(prefix: impl Into<String>, finalizer: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            finalizer: finalizer.into(),
        }
    }
}

impl PersistenceSettings {
    /// Refuses what the API would refuse in every request (N-8), naming the setting.
    pub(crate) fn check(&self) -> Result<(), String> {
        let prefix = |name: &str, prefix: &str| {
            conventions::validate_prefix(prefix).map_err(|error| format!("settings.persistence.{name}: {error}"))
        };
        let finalizer = |name: &str, finalizer: &str| {
            conventions::validate_qualified_name(finalizer)
                .map_err(|error| format!("settings.persistence.{name}: {error}"))
        };
        prefix("prefix", &self.prefix)?;
        finalizer("finalizer", &self.finalizer)?;
        for (index, storage) in self.progress.iter().enumerate() {
            let refuse = |error| format!("settings.persistence.progress[{index}]: {error}");
            storage.check().map_err(refuse)?;
        }
        for (index, storage) in self.diffbase.iter().enumerate() {
            let refuse = |error| format!("settings.persistence.diffbase[{index}]: {error}");
            storage.check().map_err(refuse)?;
        }
        for (index, former) in self.formerly.iter().enumerate() {
            prefix(&format!("formerly[{index}].prefix"), &former.prefix)?;
            finalizer(&format!("formerly[{index}].finalizer"), &former.finalizer)?;
            if former.prefix == self.prefix && former.finalizer == self.finalizer {
                return Err(format!(
                    "settings.persistence.formerly[{index}]: these are the prefix and the finalizer of now"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "persistence_tests.rs"]
mod tests;
