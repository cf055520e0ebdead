//! Which kind of objects is meant, as the API serves it.

use std::fmt;

/// One served kind. It is a constant, so it can be written into generated code.
///
/// ```
/// use kopf_runtime::Reference;
///
/// const CARTS: Reference =
///     Reference { group: "shop.example.com", version: "v1", kind: "Cart", plural: "carts", namespaced: true };
/// assert_eq!(CARTS.api_version(), "shop.example.com/v1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reference {
    /// The API group; empty for the core group.
    pub group: &'static str,
    /// The version within the group.
    pub version: &'static str,
    /// The kind as in `.kind` of an object.
    pub kind: &'static str,
    /// The plural as in URLs.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

impl Reference {
    /// The value of `.apiVersion` of its objects.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }
}

impl fmt::Display for Reference {
    /// As Kopf logs it: `plural.version.group`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.plural, self.version)?;
        if self.group.is_empty() {
            Ok(())
        } else {
            write!(f, ".{}", self.group)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PODS: Reference = Reference {
        group: "",
        version: "v1",
        kind: "Pod",
        plural: "pods",
        namespaced: true,
    };
    const JOBS: Reference = Reference {
        group: "batch",
        kind: "Job",
        plural: "jobs",
        ..PODS
    };

    #[test]
    fn the_core_group_is_left_out() {
        assert_eq!(PODS.api_version(), "v1");
        assert_eq!(PODS.to_string(), "pods.v1");
        assert_eq!(JOBS.api_version(), "batch/v1");
        assert_eq!(JOBS.to_string(), "jobs.v1.batch");
    }
}
