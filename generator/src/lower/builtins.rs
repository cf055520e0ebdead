//! The kinds that Kubernetes itself serves.

/// A built-in kind.
pub(super) struct Builtin {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) plural: &'static str,
    pub(super) namespaced: bool,
    pub(super) status: bool,
}

pub(super) fn find(api_version: &str, kind: &str) -> Option<&'static Builtin> {
    BUILTINS
        .iter()
        .find(|builtin| builtin.api_version == api_version && builtin.kind == kind)
}

/// The versions in which a kind is served.
pub(super) fn api_versions(kind: &str) -> Vec<&'static str> {
    BUILTINS
        .iter()
        .filter(|builtin| builtin.kind == kind)
        .map(|builtin| builtin.api_version)
        .collect()
}

pub(super) fn kinds() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|builtin| builtin.kind)
}

/// Short names that kubectl resolves to built-in kinds.
pub(super) const SHORT_NAMES: &[&str] = &[
    "apiservice",
    "cj",
    "cm",
    "cr",
    "crd",
    "crds",
    "cs",
    "csr",
    "deploy",
    "ds",
    "ep",
    "ev",
    "hpa",
    "ing",
    "limits",
    "netpol",
    "no",
    "ns",
    "pc",
    "pdb",
    "po",
    "pv",
    "pvc",
    "quota",
    "rc",
    "rs",
    "sa",
    "sc",
    "sts",
    "svc",
    "vac",
];

const fn builtin(
    api_version: &'static str,
    kind: &'static str,
    plural: &'static str,
    namespaced: bool,
    status: bool,
) -> Builtin {
    Builtin {
        api_version,
        kind,
        plural,
        namespaced,
        status,
    }
}

const BUILTINS: &[Builtin] = &[
    builtin("v1", "ConfigMap", "configmaps", true, false),
    builtin("v1", "Endpoints", "endpoints", true, false),
    builtin("v1", "Event", "events", true, false),
    builtin("v1", "LimitRange", "limitranges", true, false),
    builtin("v1", "Namespace", "namespaces", false, true),
    builtin("v1", "Node", "nodes", false, true),
    builtin("v1", "PersistentVolume", "persistentvolumes", false, true),
    builtin("v1", "PersistentVolumeClaim", "persistentvolumeclaims", true, true),
    builtin("v1", "Pod", "pods", true, true),
    builtin("v1", "PodTemplate", "podtemplates", true, false),
    builtin("v1", "ReplicationController", "replicationcontrollers", true, true),
    builtin("v1", "ResourceQuota", "resourcequotas", true, true),
    builtin("v1", "Secret", "secrets", true, false),
    builtin("v1", "Service", "services", true, true),
    builtin("v1", "ServiceAccount", "serviceaccounts", true, false),
    builtin(
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        false,
        false,
    ),
    builtin(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        false,
        true,
    ),
    builtin(
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        false,
        false,
    ),
    builtin(
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        false,
        false,
    ),
    builtin(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        false,
        true,
    ),
    builtin("apiregistration.k8s.io/v1", "APIService", "apiservices", false, true),
    builtin("apps/v1", "ControllerRevision", "controllerrevisions", true, false),
    builtin("apps/v1", "DaemonSet", "daemonsets", true, true),
    builtin("apps/v1", "Deployment", "deployments", true, true),
    builtin("apps/v1", "ReplicaSet", "replicasets", true, true),
    builtin("apps/v1", "StatefulSet", "statefulsets", true, true),
    builtin(
        "autoscaling/v1",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        true,
        true,
    ),
    builtin(
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "horizontalpodautoscalers",
        true,
        true,
    ),
    builtin("batch/v1", "CronJob", "cronjobs", true, true),
    builtin("batch/v1", "Job", "jobs", true, true),
    builtin(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        false,
        true,
    ),
    builtin("coordination.k8s.io/v1", "Lease", "leases", true, false),
    builtin("discovery.k8s.io/v1", "EndpointSlice", "endpointslices", true, false),
    builtin("events.k8s.io/v1", "Event", "events", true, false),
    builtin(
        "flowcontrol.apiserver.k8s.io/v1",
        "FlowSchema",
        "flowschemas",
        false,
        true,
    ),
    builtin(
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        false,
        true,
    ),
    builtin("networking.k8s.io/v1", "IPAddress", "ipaddresses", false, false),
    builtin("networking.k8s.io/v1", "Ingress", "ingresses", true, true),
    builtin("networking.k8s.io/v1", "IngressClass", "ingressclasses", false, false),
    builtin("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", true, false),
    builtin("networking.k8s.io/v1", "ServiceCIDR", "servicecidrs", false, true),
    builtin("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", false, false),
    builtin("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", true, true),
    builtin(
        "rbac.authorization.k8s.io/v1",
        "ClusterRole",
        "clusterroles",
        false,
        false,
    ),
    builtin(
        "rbac.authorization.k8s.io/v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        false,
        false,
    ),
    builtin("rbac.authorization.k8s.io/v1", "Role", "roles", true, false),
    builtin(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "rolebindings",
        true,
        false,
    ),
    builtin("resource.k8s.io/v1", "DeviceClass", "deviceclasses", false, false),
    builtin("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", true, true),
    builtin(
        "resource.k8s.io/v1",
        "ResourceClaimTemplate",
        "resourceclaimtemplates",
        true,
        false,
    ),
    builtin("resource.k8s.io/v1", "ResourceSlice", "resourceslices", false, false),
    builtin("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", false, false),
    builtin("storage.k8s.io/v1", "CSIDriver", "csidrivers", false, false),
    builtin("storage.k8s.io/v1", "CSINode", "csinodes", false, false),
    builtin(
        "storage.k8s.io/v1",
        "CSIStorageCapacity",
        "csistoragecapacities",
        true,
        false,
    ),
    builtin("storage.k8s.io/v1", "StorageClass", "storageclasses", false, false),
    builtin(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        "volumeattachments",
        false,
        true,
    ),
    builtin(
        "storage.k8s.io/v1",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        false,
        false,
    ),
];
