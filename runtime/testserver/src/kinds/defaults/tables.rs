//! The tables of defaults, type by type.

use super::{Table, derived};

const NONE: Table = Table::of("");

static FIELD_REF: Table = Table::of(r#"fieldRef.apiVersion = "v1""#);

static HTTP_GET: Table = Table::of(
    r#"
    path = "/"
    scheme = "HTTP"
    "#,
);

static HANDLER: Table = NONE.parts(&[("httpGet", &HTTP_GET)]);

static PROBE: Table = Table::of(
    r#"
    timeoutSeconds = 1
    periodSeconds = 10
    successThreshold = 1
    failureThreshold = 3
    grpc.service = ""
    "#,
)
.parts(&[("httpGet", &HTTP_GET)]);

static CONTAINER: Table = Table::of(
    r#"
    resources = {}
    terminationMessagePath = "/dev/termination-log"
    terminationMessagePolicy = "File"
    ports[].protocol = "TCP"
    "#,
)
.derive(derived::pull_policy)
.parts(&[
    ("env[].valueFrom", &FIELD_REF),
    ("livenessProbe", &PROBE),
    ("readinessProbe", &PROBE),
    ("startupProbe", &PROBE),
    ("lifecycle.postStart", &HANDLER),
    ("lifecycle.preStop", &HANDLER),
]);

static VOLUME: Table = Table::of(
    r#"
    secret.defaultMode = 420
    configMap.defaultMode = 420
    downwardAPI.defaultMode = 420
    projected.defaultMode = 420
    projected.sources[].serviceAccountToken.expirationSeconds = 3600
    hostPath.type = ""
    iscsi.iscsiInterface = "default"
    rbd.pool = "rbd"
    rbd.user = "admin"
    rbd.keyring = "/etc/ceph/keyring"
    azureDisk.cachingMode = "ReadWrite"
    azureDisk.kind = "Shared"
    azureDisk.fsType = "ext4"
    azureDisk.readOnly = false
    scaleIO.storageMode = "ThinProvisioned"
    scaleIO.fsType = "xfs"
    ephemeral.volumeClaimTemplate.metadata = {"creationTimestamp": null}
    ephemeral.volumeClaimTemplate.metadata.creationTimestamp = null
    ephemeral.volumeClaimTemplate.spec.volumeMode = "Filesystem"
    "#,
)
.derive(derived::volume)
.parts(&[
    ("downwardAPI.items[]", &FIELD_REF),
    ("projected.sources[].downwardAPI.items[]", &FIELD_REF),
]);

static POD_SPEC: Table = Table::of(
    r#"
    restartPolicy = "Always"
    dnsPolicy = "ClusterFirst"
    schedulerName = "default-scheduler"
    securityContext = {}
    terminationGracePeriodSeconds = 30
    "#,
)
.derive(derived::pod_spec)
.parts(&[
    ("containers[]", &CONTAINER),
    ("initContainers[]", &CONTAINER),
    ("ephemeralContainers[]", &CONTAINER),
    ("volumes[]", &VOLUME),
]);

static TEMPLATE: Table = Table::of(
    "
    metadata = {}
    metadata.creationTimestamp = null
    spec = {\"containers\": null}
    ",
)
.parts(&[("spec", &POD_SPEC)]);

static CONTAINER_STATUS: Table = Table::of(
    "
    state = {}
    state.running.startedAt = null
    state.terminated.startedAt = null
    state.terminated.finishedAt = null
    lastState = {}
    lastState.terminated.startedAt = null
    lastState.terminated.finishedAt = null
    ",
);

static POD: Table = Table::of(
    "
    spec.enableServiceLinks = true
    status.conditions[].lastProbeTime = null
    status.conditions[].lastTransitionTime = null
    ",
)
.derive(derived::pod)
.parts(&[
    ("spec", &POD_SPEC),
    ("status.containerStatuses[]", &CONTAINER_STATUS),
    ("status.initContainerStatuses[]", &CONTAINER_STATUS),
    ("status.ephemeralContainerStatuses[]", &CONTAINER_STATUS),
]);

static NODE: Table = Table::of(
    "
    status.conditions[].lastHeartbeatTime = null
    status.conditions[].lastTransitionTime = null
    ",
);

static CLAIM: Table = Table::of(
    r#"
    spec.volumeMode = "Filesystem"
    status = {}
    status.phase = "Pending"
    "#,
);

static CLAIM_TEMPLATE: Table = Table::of(
    r#"
    apiVersion = "v1"
    kind = "PersistentVolumeClaim"
    metadata.creationTimestamp = null
    "#,
)
.parts(&[("", &CLAIM)]);

static DEPLOYMENT: Table = Table::of(
    r#"
    spec.replicas = 1
    spec.progressDeadlineSeconds = 600
    spec.revisionHistoryLimit = 10
    spec.strategy = {}
    spec.strategy.type = "RollingUpdate"
    spec.strategy.rollingUpdate = {} if type=RollingUpdate
    spec.strategy.rollingUpdate.maxSurge = "25%"
    spec.strategy.rollingUpdate.maxUnavailable = "25%"
    status.conditions[].lastUpdateTime = null
    status.conditions[].lastTransitionTime = null
    "#,
)
.parts(&[("spec.template", &TEMPLATE)]);

static STATEFUL_SET: Table = Table::of(
    r#"
    spec.replicas = 1
    spec.podManagementPolicy = "OrderedReady"
    spec.revisionHistoryLimit = 10
    spec.persistentVolumeClaimRetentionPolicy = {}
    spec.persistentVolumeClaimRetentionPolicy.whenDeleted = "Retain"
    spec.persistentVolumeClaimRetentionPolicy.whenScaled = "Retain"
    spec.updateStrategy = {}
    spec.updateStrategy.type = "RollingUpdate"
    spec.updateStrategy.rollingUpdate = {} if type=RollingUpdate
    spec.updateStrategy.rollingUpdate.partition = 0
    status.replicas = 0
    status.availableReplicas = 0
    status.conditions[].lastTransitionTime = null
    "#,
)
.parts(&[
    ("spec.template", &TEMPLATE),
    ("spec.volumeClaimTemplates[]", &CLAIM_TEMPLATE),
]);

static DAEMON_SET: Table = Table::of(
    r#"
    spec.revisionHistoryLimit = 10
    spec.updateStrategy = {}
    spec.updateStrategy.type = "RollingUpdate"
    spec.updateStrategy.rollingUpdate = {} if type=RollingUpdate
    spec.updateStrategy.rollingUpdate.maxSurge = 0
    spec.updateStrategy.rollingUpdate.maxUnavailable = 1
    "#,
)
.parts(&[("spec.template", &TEMPLATE)]);

static REPLICA_SET: Table = Table::of(
    "
    spec.replicas = 1
    status.replicas = 0
    ",
)
.parts(&[("spec.template", &TEMPLATE)]);

static JOB: Table = Table::of(
    r#"
    spec.completions = 1 if !parallelism
    spec.parallelism = 1
    spec.backoffLimit = 2147483647 if backoffLimitPerIndex
    spec.backoffLimit = 6
    spec.completionMode = "NonIndexed"
    spec.manualSelector = false
    spec.suspend = false
    spec.podReplacementPolicy = "Failed" if podFailurePolicy
    spec.podReplacementPolicy = "TerminatingOrFailed"
    status.conditions[].lastProbeTime = null
    status.conditions[].lastTransitionTime = null
    spec.podFailurePolicy.rules[].onPodConditions[].status = "True"
    "#,
)
.derive(derived::job_labels)
.parts(&[("spec.template", &TEMPLATE)]);

static CRON_JOB: Table = Table::of(
    r#"
    spec.concurrencyPolicy = "Allow"
    spec.suspend = false
    spec.successfulJobsHistoryLimit = 3
    spec.failedJobsHistoryLimit = 1
    spec.jobTemplate.metadata = {}
    spec.jobTemplate.metadata.creationTimestamp = null
    "#,
)
.parts(&[("spec.jobTemplate.spec.template", &TEMPLATE)]);

static SERVICE: Table = Table::of(
    r#"
    spec = {}
    spec.sessionAffinity = "None"
    spec.sessionAffinityConfig = {"clientIP": {"timeoutSeconds": 10800}} if sessionAffinity=ClientIP
    spec.type = "ClusterIP"
    spec.ports[].protocol = "TCP"
    spec.externalTrafficPolicy = "Cluster" if type=NodePort
    spec.externalTrafficPolicy = "Cluster" if type=LoadBalancer
    spec.internalTrafficPolicy = "Cluster" if type=ClusterIP
    spec.internalTrafficPolicy = "Cluster" if type=NodePort
    spec.internalTrafficPolicy = "Cluster" if type=LoadBalancer
    spec.allocateLoadBalancerNodePorts = true if type=LoadBalancer
    "#,
)
.derive(derived::target_ports);

static VOLUME_DEFAULTS: Table = Table::of(
    r#"
    spec.volumeMode = "Filesystem"
    spec.persistentVolumeReclaimPolicy = "Retain"
    status.phase = "Pending"
    "#,
)
.parts(&[("spec", &VOLUME)]);

static HPA_V1: Table = Table::of("spec.minReplicas = 1\nspec.targetCPUUtilizationPercentage = 80");

static SCALING_RULES: Table = Table::of(r#"selectPolicy = "Max""#);

static HPA_V2: Table = Table::of(
    r#"
    spec.minReplicas = 1
    spec.metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]
    spec.behavior.scaleUp = {}
    spec.behavior.scaleUp.stabilizationWindowSeconds = 0
    spec.behavior.scaleUp.policies = [{"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]
    spec.behavior.scaleDown = {}
    spec.behavior.scaleDown.policies = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    status.currentMetrics = null
    status.desiredReplicas = 0
    "#,
)
.parts(&[
    ("spec.behavior.scaleUp", &SCALING_RULES),
    ("spec.behavior.scaleDown", &SCALING_RULES),
]);

static NETWORK_POLICY: Table = Table::of(
    r#"
    spec.podSelector = {}
    spec.policyTypes = ["Ingress", "Egress"] if egress
    spec.policyTypes = ["Ingress"]
    spec.ingress[].ports[].protocol = "TCP"
    spec.egress[].ports[].protocol = "TCP"
    "#,
);

static BINDING: Table = Table::of(
    r#"
    roleRef.apiGroup = "rbac.authorization.k8s.io"
    subjects[].apiGroup = "rbac.authorization.k8s.io" if kind=User
    subjects[].apiGroup = "rbac.authorization.k8s.io" if kind=Group
    "#,
);

static ROLE: Table = Table::of("rules = null");

static EVENT: Table = Table::of(
    r#"
    source = {}
    eventTime = null
    firstTimestamp = null
    lastTimestamp = null
    reportingComponent = ""
    reportingInstance = ""
    "#,
);

static NEW_EVENT: Table = Table::of(
    "
    deprecatedSource = {}
    deprecatedFirstTimestamp = null
    deprecatedLastTimestamp = null
    eventTime = null
    ",
);

static WEBHOOKS: Table = Table::of(
    r#"
    webhooks[].failurePolicy = "Fail"
    webhooks[].matchPolicy = "Equivalent"
    webhooks[].namespaceSelector = {}
    webhooks[].objectSelector = {}
    webhooks[].timeoutSeconds = 10
    webhooks[].rules[].scope = "*"
    webhooks[].clientConfig.service.port = 443
    "#,
);

static MUTATING_WEBHOOKS: Table = Table::of(r#"webhooks[].reinvocationPolicy = "Never""#).parts(&[("", &WEBHOOKS)]);

static BUDGET: Table = Table::of(
    "
    status.currentHealthy = 0
    status.desiredHealthy = 0
    status.disruptionsAllowed = 0
    status.expectedPods = 0
    ",
);

/// By `apiVersion` and kind.
pub(super) static KINDS: &[(&str, &Table)] = &[
    ("v1 ConfigMap", &NONE.derive(derived::config_map)),
    ("v1 Endpoints", &Table::of(r#"subsets[].ports[].protocol = "TCP""#)),
    ("v1 Event", &EVENT),
    ("v1 LimitRange", &NONE.derive(derived::limit_range)),
    ("v1 Namespace", &NONE.derive(derived::namespace)),
    ("v1 Node", &NODE),
    ("v1 PersistentVolume", &VOLUME_DEFAULTS),
    ("v1 PersistentVolumeClaim", &CLAIM),
    ("v1 Pod", &POD),
    ("v1 Secret", &Table::of(r#"type = "Opaque""#).derive(derived::secret)),
    ("v1 Service", &SERVICE),
    (
        "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration",
        &MUTATING_WEBHOOKS,
    ),
    (
        "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration",
        &WEBHOOKS,
    ),
    ("apps/v1 DaemonSet", &DAEMON_SET),
    ("apps/v1 Deployment", &DEPLOYMENT),
    ("apps/v1 ReplicaSet", &REPLICA_SET),
    ("apps/v1 StatefulSet", &STATEFUL_SET),
    ("autoscaling/v1 HorizontalPodAutoscaler", &HPA_V1),
    ("autoscaling/v2 HorizontalPodAutoscaler", &HPA_V2),
    ("batch/v1 CronJob", &CRON_JOB),
    ("batch/v1 Job", &JOB),
    ("coordination.k8s.io/v1 Lease", &Table::of("spec = {}")),
    (
        "discovery.k8s.io/v1 EndpointSlice",
        &Table::of("ports[].name = \"\"\nports[].protocol = \"TCP\"\nports = null\nendpoints = null"),
    ),
    ("events.k8s.io/v1 Event", &NEW_EVENT),
    ("networking.k8s.io/v1 Ingress", &Table::of("spec = {}")),
    (
        "networking.k8s.io/v1 IngressClass",
        &Table::of(r#"spec.parameters.scope = "Cluster""#),
    ),
    ("networking.k8s.io/v1 NetworkPolicy", &NETWORK_POLICY),
    ("policy/v1 PodDisruptionBudget", &BUDGET),
    ("rbac.authorization.k8s.io/v1 ClusterRole", &ROLE),
    ("rbac.authorization.k8s.io/v1 ClusterRoleBinding", &BINDING),
    ("rbac.authorization.k8s.io/v1 Role", &ROLE),
    ("rbac.authorization.k8s.io/v1 RoleBinding", &BINDING),
    (
        "scheduling.k8s.io/v1 PriorityClass",
        &Table::of(r#"preemptionPolicy = "PreemptLowerPriority""#),
    ),
    (
        "storage.k8s.io/v1 StorageClass",
        &Table::of("reclaimPolicy = \"Delete\"\nvolumeBindingMode = \"Immediate\""),
    ),
];
