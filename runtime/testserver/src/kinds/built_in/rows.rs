//! The table of built-in kinds.

use super::Row;
use crate::kinds::Naming;

const ADMISSION: &str = "admissionregistration.k8s.io";
const APPS: &str = "apps";
const AUTHENTICATION: &str = "authentication.k8s.io";
const AUTHORIZATION: &str = "authorization.k8s.io";
const NETWORKING: &str = "networking.k8s.io";
const RBAC: &str = "rbac.authorization.k8s.io";

const ALL: &[&str] = &["all"];
const EXTENSIONS: &[&str] = &["api-extensions"];

pub(super) static ROWS: &[Row] = &[
    Row::new("", "configmaps", "ConfigMap")
        .fields(&["binaryData", "data", "immutable"])
        .short(&["cm"]),
    Row::new("", "endpoints", "Endpoints")
        .fields(&["subsets"])
        .short(&["ep"])
        .created_by_update(),
    Row::new("", "events", "Event")
        .fields(&[
            "action",
            "count",
            "eventTime",
            "firstTimestamp",
            "involvedObject",
            "lastTimestamp",
            "message",
            "reason",
            "related",
            "reportingComponent",
            "reportingInstance",
            "series",
            "source",
            "type",
        ])
        .short(&["ev"])
        .any_finalizers()
        .created_by_update(),
    Row::new("", "limitranges", "LimitRange")
        .short(&["limits"])
        .created_by_update(),
    Row::new("", "namespaces", "Namespace")
        .short(&["ns"])
        .cluster()
        .one_by_one()
        .status(r#"{"phase": "Active"}"#)
        .named(Naming::Label),
    Row::new("", "nodes", "Node").short(&["no"]).cluster().status(
        r#"{"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, "nodeInfo": {"architecture": "", "bootID": "",
            "containerRuntimeVersion": "", "kernelVersion": "", "kubeProxyVersion": "", "kubeletVersion": "",
            "machineID": "", "operatingSystem": "", "osImage": "", "systemUUID": ""}}"#,
    ),
    Row::new("", "persistentvolumeclaims", "PersistentVolumeClaim")
        .short(&["pvc"])
        .status(r#"{"phase": "Pending"}"#),
    Row::new("", "persistentvolumes", "PersistentVolume")
        .short(&["pv"])
        .cluster()
        .status(r#"{"phase": "Pending"}"#),
    Row::new("", "pods", "Pod")
        .short(&["po"])
        .in_category(ALL)
        .status(r#"{"phase": "Pending"}"#),
    Row::new("", "resourcequotas", "ResourceQuota")
        .short(&["quota"])
        .status("{}"),
    Row::new("", "secrets", "Secret").fields(&["data", "immutable", "stringData", "type"]),
    Row::new("", "serviceaccounts", "ServiceAccount")
        .fields(&["automountServiceAccountToken", "imagePullSecrets", "secrets"])
        .short(&["sa"]),
    Row::new("", "services", "Service")
        .short(&["svc"])
        .in_category(ALL)
        .status(r#"{"loadBalancer": {}}"#)
        .created_by_update()
        .named(Naming::ServiceLabel),
    Row::new(
        ADMISSION,
        "mutatingwebhookconfigurations",
        "MutatingWebhookConfiguration",
    )
    .fields(&["webhooks"])
    .cluster()
    .in_category(EXTENSIONS)
    .any_finalizers()
    .generation()
    .conditional(),
    Row::new(
        ADMISSION,
        "validatingwebhookconfigurations",
        "ValidatingWebhookConfiguration",
    )
    .fields(&["webhooks"])
    .cluster()
    .in_category(EXTENSIONS)
    .any_finalizers()
    .generation()
    .conditional(),
    Row::new(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "CustomResourceDefinition",
    )
    .short(&["crd", "crds"])
    .cluster()
    .in_category(EXTENSIONS)
    .status("{}")
    .any_finalizers()
    .generation()
    .conditional(),
    Row::new(APPS, "controllerrevisions", "ControllerRevision").fields(&["data", "revision"]),
    Row::new(APPS, "daemonsets", "DaemonSet")
        .short(&["ds"])
        .in_category(ALL)
        .status(
            r#"{"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0}"#,
        )
        .generation(),
    Row::new(APPS, "deployments", "Deployment")
        .scaled()
        .short(&["deploy"])
        .in_category(ALL)
        .status("{}")
        .generation(),
    Row::new(APPS, "replicasets", "ReplicaSet")
        .scaled()
        .short(&["rs"])
        .in_category(ALL)
        .status(r#"{"replicas": 0}"#)
        .generation(),
    Row::new(APPS, "statefulsets", "StatefulSet")
        .scaled()
        .short(&["sts"])
        .in_category(ALL)
        .status(r#"{"replicas": 0, "availableReplicas": 0}"#)
        .generation(),
    Row::new(AUTHENTICATION, "selfsubjectreviews", "SelfSubjectReview")
        .cluster()
        .asked(),
    Row::new(AUTHENTICATION, "tokenreviews", "TokenReview")
        .cluster()
        .asked(),
    Row::new(AUTHORIZATION, "localsubjectaccessreviews", "LocalSubjectAccessReview").asked(),
    Row::new(AUTHORIZATION, "selfsubjectaccessreviews", "SelfSubjectAccessReview")
        .cluster()
        .asked(),
    Row::new(AUTHORIZATION, "selfsubjectrulesreviews", "SelfSubjectRulesReview")
        .cluster()
        .asked(),
    Row::new(AUTHORIZATION, "subjectaccessreviews", "SubjectAccessReview")
        .cluster()
        .asked(),
    Row::new("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
        .versions(&["v2", "v1"])
        .short(&["hpa"])
        .in_category(ALL)
        .status(r#"{"currentMetrics": null, "desiredReplicas": 0}"#),
    Row::new("batch", "cronjobs", "CronJob")
        .short(&["cj"])
        .in_category(ALL)
        .status("{}")
        .generation(),
    Row::new("batch", "jobs", "Job")
        .in_category(ALL)
        .status("{}")
        .generation(),
    Row::new("coordination.k8s.io", "leases", "Lease")
        .any_finalizers()
        .conditional()
        .created_by_update(),
    Row::new("discovery.k8s.io", "endpointslices", "EndpointSlice")
        .fields(&["addressType", "endpoints", "ports"])
        .generation(),
    Row::new("events.k8s.io", "events", "Event")
        .fields(&[
            "action",
            "deprecatedCount",
            "deprecatedFirstTimestamp",
            "deprecatedLastTimestamp",
            "deprecatedSource",
            "eventTime",
            "note",
            "reason",
            "regarding",
            "related",
            "reportingController",
            "reportingInstance",
            "series",
            "type",
        ])
        .short(&["ev"])
        .created_by_update()
        .stored_as(""),
    Row::new(NETWORKING, "ingressclasses", "IngressClass")
        .cluster()
        .generation(),
    Row::new(NETWORKING, "ingresses", "Ingress")
        .short(&["ing"])
        .status(r#"{"loadBalancer": {}}"#)
        .generation(),
    Row::new(NETWORKING, "networkpolicies", "NetworkPolicy")
        .short(&["netpol"])
        .generation(),
    Row::new("policy", "poddisruptionbudgets", "PodDisruptionBudget")
        .short(&["pdb"])
        .status(r#"{"currentHealthy": 0, "desiredHealthy": 0, "disruptionsAllowed": 0, "expectedPods": 0}"#)
        .any_finalizers()
        .generation()
        .conditional(),
    Row::new(RBAC, "clusterrolebindings", "ClusterRoleBinding")
        .fields(&["roleRef", "subjects"])
        .cluster()
        .created_by_update()
        .named(Naming::PathSegment),
    Row::new(RBAC, "clusterroles", "ClusterRole")
        .fields(&["aggregationRule", "rules"])
        .cluster()
        .created_by_update()
        .named(Naming::PathSegment),
    Row::new(RBAC, "rolebindings", "RoleBinding")
        .fields(&["roleRef", "subjects"])
        .created_by_update()
        .named(Naming::PathSegment),
    Row::new(RBAC, "roles", "Role")
        .fields(&["rules"])
        .created_by_update()
        .named(Naming::PathSegment),
    Row::new("scheduling.k8s.io", "priorityclasses", "PriorityClass")
        .fields(&["description", "globalDefault", "preemptionPolicy", "value"])
        .short(&["pc"])
        .cluster()
        .generation(),
    Row::new("storage.k8s.io", "storageclasses", "StorageClass")
        .fields(&[
            "allowVolumeExpansion",
            "allowedTopologies",
            "mountOptions",
            "parameters",
            "provisioner",
            "reclaimPolicy",
            "volumeBindingMode",
        ])
        .short(&["sc"])
        .cluster(),
];
