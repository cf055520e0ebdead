//! The numbers of fields.

use super::Form::{BytesMap, Flag, Number, Part, Parts, PlainNumber, Text, TextMap, Texts};
use super::Message;

pub(super) static TYPE_META: Message = Message(&[(1, "apiVersion", Text), (2, "kind", Text)]);

static OWNER: Message = Message(&[
    (1, "kind", Text),
    (3, "name", Text),
    (4, "uid", Text),
    (5, "apiVersion", Text),
    (6, "controller", Flag),
    (7, "blockOwnerDeletion", Flag),
]);

static METADATA: Message = Message(&[
    (1, "name", Text),
    (2, "generateName", Text),
    (3, "namespace", Text),
    (5, "uid", Text),
    (6, "resourceVersion", Text),
    (7, "generation", PlainNumber),
    (11, "labels", TextMap),
    (12, "annotations", TextMap),
    (13, "ownerReferences", Parts(&OWNER)),
    (14, "finalizers", Texts),
]);

static CONFIG_MAP: Message = Message(&[
    (1, "metadata", Part(&METADATA)),
    (2, "data", TextMap),
    (3, "binaryData", BytesMap),
    (4, "immutable", Flag),
]);

static SECRET: Message = Message(&[
    (1, "metadata", Part(&METADATA)),
    (2, "data", BytesMap),
    (3, "type", Text),
    (4, "stringData", TextMap),
    (5, "immutable", Flag),
]);

static NAMESPACE: Message = Message(&[(1, "metadata", Part(&METADATA))]);

static REFERENCE: Message = Message(&[(1, "name", Text)]);

static ACCOUNT: Message = Message(&[
    (1, "metadata", Part(&METADATA)),
    (3, "imagePullSecrets", Parts(&REFERENCE)),
    (4, "automountServiceAccountToken", Flag),
]);

static RULE: Message = Message(&[
    (1, "verbs", Texts),
    (2, "apiGroups", Texts),
    (3, "resources", Texts),
    (4, "resourceNames", Texts),
    (5, "nonResourceURLs", Texts),
]);

static REQUIREMENT: Message = Message(&[(1, "key", Text), (2, "operator", Text), (3, "values", Texts)]);

static SELECTOR: Message = Message(&[
    (1, "matchLabels", TextMap),
    (2, "matchExpressions", Parts(&REQUIREMENT)),
]);

static AGGREGATION: Message = Message(&[(1, "clusterRoleSelectors", Parts(&SELECTOR))]);

static ROLE: Message = Message(&[
    (1, "metadata", Part(&METADATA)),
    (2, "rules", Parts(&RULE)),
    (3, "aggregationRule", Part(&AGGREGATION)),
]);

static SUBJECT: Message = Message(&[
    (1, "kind", Text),
    (2, "apiGroup", Text),
    (3, "name", Text),
    (4, "namespace", Text),
]);

static ROLE_REFERENCE: Message = Message(&[(1, "apiGroup", Text), (2, "kind", Text), (3, "name", Text)]);

static BINDING: Message = Message(&[
    (1, "metadata", Part(&METADATA)),
    (2, "subjects", Parts(&SUBJECT)),
    (3, "roleRef", Part(&ROLE_REFERENCE)),
]);

static RESOURCE_ATTRIBUTES: Message = Message(&[
    (1, "namespace", Text),
    (2, "verb", Text),
    (3, "group", Text),
    (4, "version", Text),
    (5, "resource", Text),
    (6, "subresource", Text),
    (7, "name", Text),
]);

static PATH_ATTRIBUTES: Message = Message(&[(1, "path", Text), (2, "verb", Text)]);

static ACCESS: Message = Message(&[
    (1, "resourceAttributes", Part(&RESOURCE_ATTRIBUTES)),
    (2, "nonResourceAttributes", Part(&PATH_ATTRIBUTES)),
    (3, "user", Text),
    (4, "groups", Texts),
    (6, "uid", Text),
]);

static ACCESS_REVIEW: Message = Message(&[(1, "metadata", Part(&METADATA)), (2, "spec", Part(&ACCESS))]);

static RULES: Message = Message(&[(1, "namespace", Text)]);

static RULES_REVIEW: Message = Message(&[(1, "metadata", Part(&METADATA)), (2, "spec", Part(&RULES))]);

static SELF_REVIEW: Message = Message(&[(1, "metadata", Part(&METADATA))]);

static BOUND: Message = Message(&[
    (1, "kind", Text),
    (2, "apiVersion", Text),
    (3, "name", Text),
    (4, "uid", Text),
]);

static TOKEN: Message = Message(&[
    (1, "audiences", Texts),
    (3, "boundObjectRef", Part(&BOUND)),
    (4, "expirationSeconds", Number),
]);

static TOKEN_REQUEST: Message = Message(&[(1, "metadata", Part(&METADATA)), (2, "spec", Part(&TOKEN))]);

static PORT: Message = Message(&[
    (1, "name", Text),
    (2, "hostPort", PlainNumber),
    (3, "containerPort", PlainNumber),
    (4, "protocol", Text),
    (5, "hostIP", Text),
]);

static VARIABLE: Message = Message(&[(1, "name", Text), (2, "value", Text)]);

static CONTAINER: Message = Message(&[
    (1, "name", Text),
    (2, "image", Text),
    (3, "command", Texts),
    (4, "args", Texts),
    (5, "workingDir", Text),
    (6, "ports", Parts(&PORT)),
    (7, "env", Parts(&VARIABLE)),
    (14, "imagePullPolicy", Text),
]);

static POD_SPEC: Message = Message(&[
    (2, "containers", Parts(&CONTAINER)),
    (3, "restartPolicy", Text),
    (4, "terminationGracePeriodSeconds", Number),
    (6, "dnsPolicy", Text),
    (7, "nodeSelector", TextMap),
    (8, "serviceAccountName", Text),
    (9, "serviceAccount", Text),
    (10, "nodeName", Text),
]);

static POD: Message = Message(&[(1, "metadata", Part(&METADATA)), (2, "spec", Part(&POD_SPEC))]);

static STRATEGY: Message = Message(&[(1, "type", Text)]);

static DEPLOYMENT_SPEC: Message = Message(&[
    (1, "replicas", Number),
    (2, "selector", Part(&SELECTOR)),
    (3, "template", Part(&POD)),
    (4, "strategy", Part(&STRATEGY)),
    (5, "minReadySeconds", PlainNumber),
    (6, "revisionHistoryLimit", Number),
]);

static DEPLOYMENT: Message = Message(&[(1, "metadata", Part(&METADATA)), (2, "spec", Part(&DEPLOYMENT_SPEC))]);

static PRECONDITIONS: Message = Message(&[(1, "uid", Text), (2, "resourceVersion", Text)]);

static DELETE_OPTIONS: Message = Message(&[
    (1, "gracePeriodSeconds", Number),
    (2, "preconditions", Part(&PRECONDITIONS)),
    (3, "orphanDependents", Flag),
    (4, "propagationPolicy", Text),
    (5, "dryRun", Texts),
]);

/// By `apiVersion` and kind.
pub(super) static KINDS: &[(&str, &Message)] = &[
    ("v1 ConfigMap", &CONFIG_MAP),
    ("v1 DeleteOptions", &DELETE_OPTIONS),
    ("v1 Namespace", &NAMESPACE),
    ("v1 Pod", &POD),
    ("v1 Secret", &SECRET),
    ("v1 ServiceAccount", &ACCOUNT),
    ("apps/v1 Deployment", &DEPLOYMENT),
    ("authentication.k8s.io/v1 SelfSubjectReview", &SELF_REVIEW),
    ("authentication.k8s.io/v1 TokenRequest", &TOKEN_REQUEST),
    ("authorization.k8s.io/v1 LocalSubjectAccessReview", &ACCESS_REVIEW),
    ("authorization.k8s.io/v1 SelfSubjectAccessReview", &ACCESS_REVIEW),
    ("authorization.k8s.io/v1 SelfSubjectRulesReview", &RULES_REVIEW),
    ("authorization.k8s.io/v1 SubjectAccessReview", &ACCESS_REVIEW),
    ("rbac.authorization.k8s.io/v1 ClusterRole", &ROLE),
    ("rbac.authorization.k8s.io/v1 ClusterRoleBinding", &BINDING),
    ("rbac.authorization.k8s.io/v1 Role", &ROLE),
    ("rbac.authorization.k8s.io/v1 RoleBinding", &BINDING),
];
