//! The table of rules, kind by kind, in the order in which the server reports faults.

use super::{Check, Rule, pods, rule, special};

const NONE: &str = "";

const MAY_NOT_CHANGE: &str = "may not be changed in an update.";

static CONFIG_MAP: &[Rule] = &[
    rule("", Check::Also(special::config_map)),
    rule("data", Check::Also(special::keys)),
    rule("binaryData", Check::Also(special::keys)),
    rule("", Check::Change(special::sealed)),
];

static SECRET: &[Rule] = &[
    rule("data", Check::Also(special::keys)),
    rule("", Check::Also(special::secret)),
    rule("type", Check::Immutable),
    rule("", Check::Change(special::sealed)),
];

static POD: &[Rule] = &[
    rule("spec", Check::Part(pods::SPEC)),
    rule("spec", Check::Change(pods::update)),
];

static SERVICE: &[Rule] = &[
    rule("spec", Check::Also(special::service)),
    rule("spec.sessionAffinity", Check::OneOf(&["ClientIP", "None"])),
    rule(
        "spec.type",
        Check::OneOf(&["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]),
    ),
    rule("spec", Check::Change(special::service_address)),
];

static CLAIM: &[Rule] = &[
    rule(
        "spec.accessModes",
        Check::Required("at least 1 access mode is required"),
    ),
    rule("spec", Check::Also(special::claim_spec)),
    rule("spec.volumeMode", Check::OneOf(&["Block", "Filesystem"])),
    rule("spec", Check::Change(special::claim)),
];

static VOLUME: &[Rule] = &[
    rule("spec.accessModes", Check::Required(NONE)),
    rule("spec.capacity", Check::Required(NONE)),
    rule("spec.volumeMode", Check::OneOf(&["Block", "Filesystem"])),
];

static EVENT: &[Rule] = &[rule("", Check::Also(special::event))];

static NEW_EVENT: &[Rule] = &[
    rule("eventTime", Check::Required(NONE)),
    rule("", Check::Also(special::new_event)),
    rule("type", Check::Also(special::event_type)),
];

static DEPLOYMENT: &[Rule] = &[
    rule("spec.replicas", Check::AtLeast(0)),
    rule("spec.selector", Check::Present),
    rule("spec.selector", Check::Also(special::selector_of_deployment)),
    rule("spec", Check::Also(special::template_labels)),
    rule("spec.template.spec", Check::Part(pods::SPEC)),
    rule(
        "spec.template.spec.restartPolicy",
        Check::Also(special::restarts_always),
    ),
    rule("spec.strategy", Check::Also(special::strategy)),
    rule("spec.strategy", Check::Also(special::recreated)),
    rule("spec.minReadySeconds", Check::AtLeast(0)),
    rule("spec.revisionHistoryLimit", Check::AtLeast(0)),
    rule("spec.progressDeadlineSeconds", Check::AtLeast(0)),
    rule("spec.selector", Check::Immutable),
];

static REPLICA_SET: &[Rule] = &[
    rule("spec.replicas", Check::AtLeast(0)),
    rule("spec.minReadySeconds", Check::AtLeast(0)),
    rule("spec.selector", Check::Present),
    rule("spec.selector", Check::Also(special::selector_of_replica_set)),
    rule("spec", Check::Also(special::template_labels)),
    rule("spec.template.spec", Check::Part(pods::SPEC)),
    rule(
        "spec.template.spec.restartPolicy",
        Check::Also(special::restarts_always),
    ),
    rule("spec.selector", Check::Immutable),
];

static STATEFUL_SET: &[Rule] = &[
    rule("spec.podManagementPolicy", Check::Also(special::pod_management)),
    rule("spec.updateStrategy", Check::Also(special::stateful_update)),
    rule("spec.replicas", Check::AtLeast(0)),
    rule("spec.selector", Check::Present),
    rule("spec.selector", Check::Also(special::selector_of_stateful_set)),
    rule("spec", Check::Also(special::template_labels)),
    rule(
        "spec.template.spec.restartPolicy",
        Check::Also(special::restarts_always),
    ),
    rule("spec", Check::Change(special::stateful_set)),
];

static DAEMON_SET: &[Rule] = &[
    rule("spec.selector", Check::Also(special::selector_of_daemon_set)),
    rule("spec", Check::Also(special::template_labels)),
    rule("spec.template.spec", Check::Part(pods::SPEC)),
    rule(
        "spec.template.spec.restartPolicy",
        Check::Also(special::restarts_always),
    ),
    rule("spec.updateStrategy", Check::Also(special::daemon_update)),
    rule("spec.selector", Check::Immutable),
];

static JOB_SPEC: &[Rule] = &[
    rule("parallelism", Check::AtLeast(0)),
    rule("completions", Check::AtLeast(0)),
    rule("activeDeadlineSeconds", Check::AtLeast(0)),
    rule("backoffLimit", Check::AtLeast(0)),
    rule("ttlSecondsAfterFinished", Check::AtLeast(0)),
    rule("completionMode", Check::OneOf(&["Indexed", "NonIndexed"])),
    rule("template.spec", Check::Part(pods::SPEC)),
    rule(
        "template.spec.restartPolicy",
        Check::Also(special::restarts_at_most_on_failure),
    ),
];

static JOB: &[Rule] = &[
    rule("spec", Check::Part(JOB_SPEC)),
    rule("spec.completions", Check::Immutable),
    rule("spec.selector", Check::Immutable),
    rule("spec.template", Check::Change(special::template_stays)),
    rule("spec.completionMode", Check::Immutable),
];

static CRON_JOB: &[Rule] = &[
    rule("spec.schedule", Check::Required(NONE)),
    rule("spec.schedule", Check::Also(special::schedule)),
    rule("spec.startingDeadlineSeconds", Check::AtLeast(0)),
    rule("spec.concurrencyPolicy", Check::OneOf(&["Allow", "Forbid", "Replace"])),
    rule("spec.jobTemplate.spec", Check::Part(JOB_SPEC)),
    rule("spec.successfulJobsHistoryLimit", Check::AtLeast(0)),
    rule("spec.failedJobsHistoryLimit", Check::AtLeast(0)),
];

static INGRESS: &[Rule] = &[
    rule("spec", Check::Also(special::some_backend)),
    rule("spec.rules[].http.paths[]", Check::Also(special::ingress_path)),
];

static NETWORK_POLICY: &[Rule] = &[
    rule("spec.ingress[].from[]", Check::Also(special::peer)),
    rule("spec.egress[].to[]", Check::Also(special::peer)),
    rule("spec.policyTypes[]", Check::OneOf(&["Ingress", "Egress"])),
];

static AUTOSCALER: &[Rule] = &[
    rule("spec.minReplicas", Check::AtLeast(1)),
    rule("spec", Check::Also(special::replica_bounds)),
    rule("spec.scaleTargetRef.kind", Check::Required(NONE)),
    rule("spec.scaleTargetRef.name", Check::Required(NONE)),
];

static LEASE: &[Rule] = &[
    rule("spec.leaseDurationSeconds", Check::AtLeast(1)),
    rule("spec.leaseTransitions", Check::Also(special::transitions)),
];

static PRIORITY_CLASS: &[Rule] = &[
    rule("value", Check::AtMost(1_000_000_000)),
    rule("preemptionPolicy", Check::OneOf(&["Never", "PreemptLowerPriority"])),
    rule("value", Check::Frozen(MAY_NOT_CHANGE)),
    rule("preemptionPolicy", Check::Immutable),
];

static STORAGE_CLASS: &[Rule] = &[
    rule("provisioner", Check::Required(NONE)),
    rule("reclaimPolicy", Check::OneOf(&["Delete", "Retain"])),
    rule(
        "volumeBindingMode",
        Check::OneOf(&["Immediate", "WaitForFirstConsumer"]),
    ),
    rule("parameters", Check::Frozen("updates to parameters are forbidden.")),
    rule("provisioner", Check::Frozen("updates to provisioner are forbidden.")),
    rule(
        "reclaimPolicy",
        Check::Frozen("updates to reclaimPolicy are forbidden."),
    ),
    rule("volumeBindingMode", Check::Immutable),
];

static ENDPOINTS: &[Rule] = &[
    rule("subsets[].addresses[].ip", Check::Required(NONE)),
    rule("subsets[].ports[].port", Check::Port),
    rule("subsets[].ports[].protocol", Check::OneOf(&["SCTP", "TCP", "UDP"])),
];

static ENDPOINT_SLICE: &[Rule] = &[
    rule("addressType", Check::Required(NONE)),
    rule("addressType", Check::OneOf(&["FQDN", "IPv4", "IPv6"])),
    rule(
        "endpoints[].addresses",
        Check::Required("must contain at least 1 address"),
    ),
    rule("addressType", Check::Immutable),
];

/// By `apiVersion` and kind.
pub(super) static KINDS: &[(&str, &[Rule])] = &[
    ("v1 ConfigMap", CONFIG_MAP),
    ("v1 Endpoints", ENDPOINTS),
    ("v1 Event", EVENT),
    ("v1 PersistentVolume", VOLUME),
    ("v1 PersistentVolumeClaim", CLAIM),
    ("v1 Pod", POD),
    ("v1 Secret", SECRET),
    ("v1 Service", SERVICE),
    (
        "apps/v1 ControllerRevision",
        &[
            rule("data", Check::Required("data is mandatory")),
            rule("data", Check::Immutable),
        ],
    ),
    ("apps/v1 DaemonSet", DAEMON_SET),
    ("apps/v1 Deployment", DEPLOYMENT),
    ("apps/v1 ReplicaSet", REPLICA_SET),
    ("apps/v1 StatefulSet", STATEFUL_SET),
    ("autoscaling/v1 HorizontalPodAutoscaler", AUTOSCALER),
    ("autoscaling/v2 HorizontalPodAutoscaler", AUTOSCALER),
    ("batch/v1 CronJob", CRON_JOB),
    ("batch/v1 Job", JOB),
    ("coordination.k8s.io/v1 Lease", LEASE),
    ("discovery.k8s.io/v1 EndpointSlice", ENDPOINT_SLICE),
    ("events.k8s.io/v1 Event", NEW_EVENT),
    ("networking.k8s.io/v1 Ingress", INGRESS),
    (
        "networking.k8s.io/v1 IngressClass",
        &[
            rule("spec.controller", Check::Required(NONE)),
            rule("spec.controller", Check::Immutable),
        ],
    ),
    ("networking.k8s.io/v1 NetworkPolicy", NETWORK_POLICY),
    (
        "policy/v1 PodDisruptionBudget",
        &[rule("spec", Check::Also(special::either_bound))],
    ),
    ("scheduling.k8s.io/v1 PriorityClass", PRIORITY_CLASS),
    ("storage.k8s.io/v1 StorageClass", STORAGE_CLASS),
];
