//! The roles that every cluster has, as far as operators are bound to them or need them for discovery. Those of the
//! control plane's own parts are left out.

use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::access::{RBAC, aggregation};
use crate::cluster::Cluster;

const READ: &str = "get list watch";
const WRITE: &str = "create delete deletecollection patch update";
const BOTH: &str = "create delete deletecollection get list patch update watch";
const APPS: &str = "apps";
const AUTHENTICATED: &str = "system:authenticated";

/// A plural and its objects without what sets those of one cluster apart; made once for all servers of a process.
static OBJECTS: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
    let mut objects: Vec<_> = ROLES.iter().map(|role| ("clusterroles", role.object())).collect();
    let mut roles: Vec<_> = objects.iter_mut().map(|(_, role)| role).collect();
    aggregation::aggregate(&mut roles);
    objects.extend(
        BINDINGS
            .iter()
            .map(|(role, groups)| ("clusterrolebindings", binding(role, groups))),
    );
    let mut reader = READER.object();
    reader["kind"] = json!("Role");
    reader["metadata"]["namespace"] = json!("kube-system");
    objects.push(("roles", reader));
    objects
});

/// Stores the built-in objects.
pub(crate) fn install(cluster: &mut Cluster) {
    let now = json!(cluster.now());
    for (plural, object) in OBJECTS.iter() {
        let mut object = object.clone();
        object["metadata"]["uid"] = json!(cluster.next_uid());
        object["metadata"]["creationTimestamp"] = now.clone();
        cluster.store.put(&(RBAC.to_owned(), (*plural).to_owned()), object);
    }
}

struct Role {
    name: &'static str,
    /// What its label says that it is a part of.
    part_of: &'static str,
    /// What other roles are put together in it.
    whole: &'static str,
    rules: &'static [Rule],
}

/// Lists are words; an empty group is the core one.
struct Rule {
    verbs: &'static str,
    group: &'static str,
    resources: &'static str,
    names: &'static str,
    paths: &'static str,
}

const fn resources(verbs: &'static str, group: &'static str, resources: &'static str) -> Rule {
    Rule {
        verbs,
        group,
        resources,
        names: "",
        paths: "",
    }
}

const fn paths(verbs: &'static str, paths: &'static str) -> Rule {
    Rule {
        verbs,
        group: "",
        resources: "",
        names: "",
        paths,
    }
}

impl Role {
    const fn new(name: &'static str) -> Self {
        Self {
            name,
            part_of: "",
            whole: "",
            rules: &[],
        }
    }

    const fn part_of(mut self, whole: &'static str) -> Self {
        self.part_of = whole;
        self
    }

    const fn whole(mut self, name: &'static str) -> Self {
        self.whole = name;
        self
    }

    const fn rules(mut self, rules: &'static [Rule]) -> Self {
        self.rules = rules;
        self
    }

    fn object(&self) -> Value {
        let label = |name: &str| format!("{RBAC}/aggregate-to-{name}");
        let rules: Vec<_> = self.rules.iter().map(Rule::value).collect();
        let mut object = described("ClusterRole", self.name);
        object["rules"] = json!(rules);
        if !self.part_of.is_empty() {
            object["metadata"]["labels"][label(self.part_of)] = json!("true");
        }
        if !self.whole.is_empty() {
            let labels = json!({label(self.whole): "true"});
            object["aggregationRule"] = json!({"clusterRoleSelectors": [{"matchLabels": labels}]});
        }
        object
    }
}

impl Rule {
    fn value(&self) -> Value {
        let words = |text: &'static str| text.split_whitespace().collect::<Vec<_>>();
        if !self.paths.is_empty() {
            return json!({"verbs": words(self.verbs), "nonResourceURLs": words(self.paths)});
        }
        let (verbs, resources) = (words(self.verbs), words(self.resources));
        let mut rule = json!({"verbs": verbs, "apiGroups": [self.group], "resources": resources});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(words(self.names));
        }
        rule
    }
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subjects = groups
        .iter()
        .map(|name| json!({"kind": "Group", "apiGroup": RBAC, "name": name}));
    let subjects: Vec<_> = subjects.collect();
    let mut object = described("ClusterRoleBinding", role);
    object["roleRef"] = json!({"kind": "ClusterRole", "apiGroup": RBAC, "name": role});
    object["subjects"] = json!(subjects);
    object
}

fn described(kind: &str, name: &str) -> Value {
    json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind,
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
    })
}

static BINDINGS: &[(&str, &[&str])] = &[
    ("cluster-admin", &["system:masters"]),
    ("system:basic-user", &[AUTHENTICATED]),
    ("system:discovery", &[AUTHENTICATED]),
    ("system:monitoring", &["system:monitoring"]),
    ("system:public-info-viewer", &[AUTHENTICATED, "system:unauthenticated"]),
    ("system:service-account-issuer-discovery", &["system:serviceaccounts"]),
];

/// A role of the system's namespace, for servers behind the main one.
static READER: Role = Role::new("extension-apiserver-authentication-reader").rules(&[Rule {
    names: "extension-apiserver-authentication",
    ..resources(READ, "", "configmaps")
}]);

static ROLES: &[Role] = &[
    Role::new("cluster-admin").rules(&[resources("*", "*", "*"), paths("*", "*")]),
    Role::new("admin").whole("admin"),
    Role::new("edit").whole("edit").part_of("admin"),
    Role::new("view").whole("view").part_of("edit"),
    Role::new("system:aggregate-to-admin").part_of("admin").rules(&[
        resources("create", "authorization.k8s.io", "localsubjectaccessreviews"),
        resources(BOTH, RBAC, "rolebindings roles"),
    ]),
    Role::new("system:aggregate-to-edit").part_of("edit").rules(&[
        resources(
            READ,
            "",
            "pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy",
        ),
        resources("impersonate", "", "serviceaccounts"),
        resources(WRITE, "", "pods pods/attach pods/exec pods/portforward pods/proxy"),
        resources("create", "", "pods/eviction"),
        resources(
            WRITE,
            "",
            "configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets \
             serviceaccounts services services/proxy",
        ),
        resources("create", "", "serviceaccounts/token"),
        resources(
            WRITE,
            APPS,
            "daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets \
             statefulsets/scale",
        ),
        resources(WRITE, "autoscaling", "horizontalpodautoscalers"),
        resources(WRITE, "batch", "cronjobs jobs"),
        resources(
            WRITE,
            "extensions",
            "daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets \
             replicasets/scale replicationcontrollers/scale",
        ),
        resources(WRITE, "policy", "poddisruptionbudgets"),
        resources(WRITE, "networking.k8s.io", "ingresses networkpolicies"),
        resources(BOTH, "coordination.k8s.io", "leases"),
    ]),
    Role::new("system:aggregate-to-view").part_of("view").rules(&[
        resources(
            READ,
            "",
            "configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers \
             replicationcontrollers/scale serviceaccounts services services/status",
        ),
        resources(
            READ,
            "",
            "bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status \
             resourcequotas resourcequotas/status",
        ),
        resources(READ, "", "namespaces"),
        resources(READ, "discovery.k8s.io", "endpointslices"),
        resources(
            READ,
            APPS,
            "controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status \
             replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status",
        ),
        resources(
            READ,
            "autoscaling",
            "horizontalpodautoscalers horizontalpodautoscalers/status",
        ),
        resources(READ, "batch", "cronjobs cronjobs/status jobs jobs/status"),
        resources(
            READ,
            "extensions",
            "daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses \
             ingresses/status networkpolicies replicasets replicasets/scale replicasets/status \
             replicationcontrollers/scale",
        ),
        resources(READ, "policy", "poddisruptionbudgets poddisruptionbudgets/status"),
        resources(READ, "networking.k8s.io", "ingresses ingresses/status networkpolicies"),
    ]),
    Role::new("system:auth-delegator").rules(&[
        resources("create", "authentication.k8s.io", "tokenreviews"),
        resources("create", "authorization.k8s.io", "subjectaccessreviews"),
    ]),
    Role::new("system:basic-user").rules(&[
        resources(
            "create",
            "authorization.k8s.io",
            "selfsubjectaccessreviews selfsubjectrulesreviews",
        ),
        resources("create", "authentication.k8s.io", "selfsubjectreviews"),
    ]),
    Role::new("system:discovery").rules(&[paths(
        "get",
        "/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/",
    )]),
    Role::new("system:monitoring").rules(&[paths(
        "get",
        "/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*",
    )]),
    Role::new("system:public-info-viewer").rules(&[paths("get", "/healthz /livez /readyz /version /version/")]),
    Role::new("system:service-account-issuer-discovery")
        .rules(&[paths("get", "/.well-known/openid-configuration /openid/v1/jwks")]),
];
