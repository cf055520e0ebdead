//! The operator's workload: account, Deployment, network policy.

use super::{add, annotations, grace, labels, metadata, selector};
use crate::fileset::FileSet;
use crate::model::Operator;
use crate::render::yaml::{Yaml, list, map};

/// The user of distroless images that are not to run as root.
const USER: i64 = 65532;

/// Adds the files.
pub(super) fn render(operator: &Operator, files: &mut FileSet) {
    let own = |name: &str| metadata(operator, name, Some(&operator.deploy.namespace));
    let account = map! {
        "apiVersion" => "v1",
        "kind" => "ServiceAccount",
        "metadata" => own(&operator.name),
        "automountServiceAccountToken" => false,
    };
    add(files, "operator/service_account.yaml", &[account]);
    let deployment = map! {
        "apiVersion" => "apps/v1",
        "kind" => "Deployment",
        "metadata" => own(&operator.name),
        "spec" => map! {
            "replicas" => 1_i64,
            "selector" => map! { "matchLabels" => selector(operator) },
            "strategy" => map! { "type" => "Recreate" }
                .comment("two replicas at once would handle each object twice"),
            "template" => map! {
                "metadata" => map! { "labels" => labels(operator, "operator") }
                    .with_some("annotations", annotations(operator)),
                "spec" => pod(operator),
            },
        },
    };
    add(files, "operator/deployment.yaml", &[deployment]);
    let policy = map! {
        "apiVersion" => "networking.k8s.io/v1",
        "kind" => "NetworkPolicy",
        "metadata" => own(&operator.name),
        "spec" => map! {
            "podSelector" => map! { "matchLabels" => selector(operator) },
            "policyTypes" => list!["Ingress"],
            "ingress" => list![
                map! { "ports" => list![map! { "port" => operator.deploy.health_port, "protocol" => "TCP" }] }
                    .comment("the kubelet's probes")
            ],
        },
    };
    add(files, "operator/network_policy.yaml", &[policy]);
}

fn pod(operator: &Operator) -> Yaml {
    map! {
        "serviceAccountName" => &operator.name,
        "automountServiceAccountToken" => true,
        "enableServiceLinks" => false,
        "terminationGracePeriodSeconds" => grace::period(operator),
        "securityContext" => map! {
            "runAsNonRoot" => true,
            "runAsUser" => USER,
            "runAsGroup" => USER,
            "seccompProfile" => map! { "type" => "RuntimeDefault" },
        },
        "containers" => list![container(operator)],
    }
}

fn container(operator: &Operator) -> Yaml {
    let port = operator.deploy.health_port;
    map! {
        "name" => "operator",
        "image" => format!("{}:{}", operator.deploy.image, operator.deploy.tag),
        "imagePullPolicy" => "IfNotPresent",
        "args" => list![
            "run",
            "--all-namespaces",
            "--standalone",
            "--log-format=json",
            format!("--liveness=http://0.0.0.0:{port}/healthz"),
        ],
        "env" => list![from_pod("POD_ID", "metadata.name"), from_pod("POD_NAMESPACE", "metadata.namespace")],
        "ports" => list![map! { "name" => "health", "containerPort" => port, "protocol" => "TCP" }],
        "startupProbe" => probe("/healthz").with("periodSeconds", 2_i64).with("failureThreshold", 30_i64),
        "livenessProbe" => probe("/healthz").with("periodSeconds", 10_i64).with("failureThreshold", 3_i64),
        "readinessProbe" => probe("/readyz").with("periodSeconds", 5_i64).with("failureThreshold", 3_i64),
        "resources" => map! {
            "requests" => map! { "cpu" => "10m", "memory" => "32Mi", "ephemeral-storage" => "16Mi" },
            "limits" => map! { "cpu" => "500m", "memory" => "128Mi", "ephemeral-storage" => "256Mi" },
        },
        "securityContext" => map! {
            "allowPrivilegeEscalation" => false,
            "readOnlyRootFilesystem" => true,
            "capabilities" => map! { "drop" => list!["ALL"] },
        },
    }
}

fn from_pod(name: &str, path: &str) -> Yaml {
    map! { "name" => name, "valueFrom" => map! { "fieldRef" => map! { "fieldPath" => path } } }
}

fn probe(path: &str) -> Yaml {
    map! { "httpGet" => map! { "path" => path, "port" => "health" }, "timeoutSeconds" => 5_i64 }
}
