//! What a real server serves and this one does not, so that it can say so instead of denying that it exists.

use crate::discovery::GROUPS;
use crate::kinds::Kind;
use crate::status::Status;

/// Group, version and plurals.
static KINDS: &[(&str, &str, &[&str])] = &[
    (
        "",
        "v1",
        &[
            "bindings",
            "componentstatuses",
            "podtemplates",
            "replicationcontrollers",
        ],
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        &["validatingadmissionpolicies", "validatingadmissionpolicybindings"],
    ),
    ("apiregistration.k8s.io", "v1", &["apiservices"]),
    ("certificates.k8s.io", "v1", &["certificatesigningrequests"]),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1",
        &["flowschemas", "prioritylevelconfigurations"],
    ),
    // Of a server of their own, which nearly every cluster has beside the main one.
    ("metrics.k8s.io", "v1beta1", &["nodes", "pods"]),
    ("node.k8s.io", "v1", &["runtimeclasses"]),
    (
        "storage.k8s.io",
        "v1",
        &["csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"],
    ),
];

/// Group, plural and subresources.
static SUBRESOURCES: &[(&str, &str, &[&str])] = &[
    ("", "namespaces", &["finalize"]),
    ("", "nodes", &["proxy"]),
    (
        "",
        "pods",
        &[
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
        ],
    ),
    ("", "services", &["proxy"]),
];

/// Why a kind is not found.
pub(crate) fn kind(group: &str, version: &str, plural: &str) -> Status {
    let known = KINDS
        .iter()
        .any(|&(g, v, plurals)| (g, v) == (group, version) && plurals.contains(&plural));
    match (known, group) {
        (false, _) => path(group),
        (true, "") => Status::not_implemented(plural),
        (true, group) => Status::not_implemented(&format!("{plural}.{group}")),
    }
}

/// Why a group has no version of this name; or why there is no group, if the version is empty.
pub(crate) fn group(group: &str, version: &str) -> Status {
    if KINDS
        .iter()
        .any(|&(g, v, _)| g == group && (version.is_empty() || v == version))
    {
        Status::not_implemented(&format!("the group {group}"))
    } else if version.is_empty() {
        Status::no_such_path()
    } else {
        path(group)
    }
}

/// Why there is nothing at a path below a group: known groups have a handler that answers with a status.
pub(crate) fn path(group: &str) -> Status {
    if group.is_empty() || GROUPS.contains(&group) {
        Status::no_such_subresource()
    } else {
        Status::no_such_path()
    }
}

/// Why a kind does not have a subresource.
pub(crate) fn subresource(kind: &Kind, name: &str) -> Status {
    let first = name.split('/').next().unwrap_or_default();
    let known = SUBRESOURCES
        .iter()
        .any(|&(group, plural, names)| group == kind.group && plural == kind.plural && names.contains(&first));
    if known && !kind.custom {
        Status::not_implemented(&format!("{}/{first}", kind.qualified()))
    } else {
        Status::no_such_subresource()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::Kinds;

    #[test]
    fn what_is_served_is_not_called_unserved() {
        let kinds = Kinds::built_in();
        for &(group, version, plurals) in KINDS {
            for plural in plurals {
                let served = kinds
                    .get(group, plural)
                    .is_some_and(|kind| kind.version(version).is_some());
                assert!(!served, "{plural}.{group}");
            }
        }
    }

    #[test]
    fn only_real_kinds_are_unserved() {
        assert_eq!(kind("", "v1", "podtemplates").code, 501);
        assert_eq!(kind("", "v1", "pots").code, 404);
        assert_eq!(group("node.k8s.io", "v1").code, 501);
        assert_eq!(group("node.k8s.io", "v7").code, 404);
    }
}
