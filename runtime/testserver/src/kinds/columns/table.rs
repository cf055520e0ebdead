//! The table of columns, kind by kind.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Column, age, cells, pods};
use crate::kinds::paths::at;

type Cell = fn(&Value, Timestamp) -> Value;

const fn column(name: &'static str, kind: &'static str, cell: Cell) -> Column {
    Column {
        name,
        kind,
        priority: 0,
        cell,
    }
}

const fn wide(name: &'static str, kind: &'static str, cell: Cell) -> Column {
    Column {
        priority: 1,
        ..column(name, kind, cell)
    }
}

const NAME: Column = column("Name", "string", |object, _| object["metadata"]["name"].clone());
const AGE: Column = column("Age", "string", |object, now| {
    json!(age(&object["metadata"]["creationTimestamp"], now))
});
const CREATED: Column = column("Created At", "date", |object, _| {
    object["metadata"]["creationTimestamp"].clone()
});
const CONTAINERS: Column = wide("Containers", "string", cells::containers);
const IMAGES: Column = wide("Images", "string", cells::images);
const SELECTOR: Column = wide("Selector", "string", |object, _| {
    cells::selector(&object["spec"]["selector"])
});

/// The columns of kinds without any of their own.
pub(super) static PLAIN: &[Column] = &[NAME, AGE];

fn number(object: &Value, path: &str) -> Value {
    json!(at(object, path).as_i64().unwrap_or_default())
}

fn string(object: &Value, path: &str) -> Value {
    json!(at(object, path).as_str().unwrap_or_default())
}

/// A text, or a word that says that there is none.
fn or(object: &Value, path: &str, nothing: &str) -> Value {
    let text = at(object, path).as_str().filter(|text| !text.is_empty());
    json!(text.unwrap_or(nothing))
}

fn count(value: &Value) -> Value {
    match value {
        Value::Array(items) => json!(items.len()),
        Value::Object(fields) => json!(fields.len()),
        _ => json!(0),
    }
}

static WEBHOOKS: &[Column] = &[
    NAME,
    column("Webhooks", "integer", |object, _| count(&object["webhooks"])),
    AGE,
];

static BINDINGS: &[Column] = &[
    NAME,
    column("Role", "string", |object, _| {
        let reference = &object["roleRef"];
        json!(format!(
            "{}/{}",
            reference["kind"].as_str().unwrap_or_default(),
            reference["name"].as_str().unwrap_or_default()
        ))
    }),
    AGE,
    wide("Users", "string", |object, _| cells::subjects(object, "User")),
    wide("Groups", "string", |object, _| cells::subjects(object, "Group")),
    wide("ServiceAccounts", "string", |object, _| {
        cells::subjects(object, "ServiceAccount")
    }),
];

/// By plural; kinds of the same plural are faces of one.
pub(super) static KINDS: &[(&str, &[Column])] = &[
    (
        "namespaces",
        &[
            NAME,
            column("Status", "string", |object, _| string(object, "status.phase")),
            AGE,
        ],
    ),
    (
        "nodes",
        &[
            NAME,
            column("Status", "string", cells::node_status),
            column("Roles", "string", cells::node_roles),
            AGE,
            column("Version", "string", |object, _| {
                string(object, "status.nodeInfo.kubeletVersion")
            }),
            wide("Internal-IP", "string", |object, _| {
                cells::node_address(object, "InternalIP")
            }),
            wide("External-IP", "string", |object, _| {
                cells::node_address(object, "ExternalIP")
            }),
            wide("OS-Image", "string", |object, _| {
                or(object, "status.nodeInfo.osImage", "<unknown>")
            }),
            wide("Kernel-Version", "string", |object, _| {
                or(object, "status.nodeInfo.kernelVersion", "<unknown>")
            }),
            wide("Container-Runtime", "string", |object, _| {
                or(object, "status.nodeInfo.containerRuntimeVersion", "<unknown>")
            }),
        ],
    ),
    (
        "pods",
        &[
            NAME,
            column("Ready", "string", pods::ready),
            column("Status", "string", pods::status),
            column("Restarts", "string", pods::restarts),
            AGE,
            wide("IP", "string", |object, _| or(object, "status.podIP", "<none>")),
            wide("Node", "string", |object, _| or(object, "spec.nodeName", "<none>")),
            wide("Nominated Node", "string", |object, _| {
                or(object, "status.nominatedNodeName", "<none>")
            }),
            wide("Readiness Gates", "string", pods::readiness_gates),
        ],
    ),
    (
        "services",
        &[
            NAME,
            column("Type", "string", |object, _| string(object, "spec.type")),
            column("Cluster-IP", "string", |object, _| {
                or(object, "spec.clusterIP", "<none>")
            }),
            column("External-IP", "string", cells::external_address),
            column("Port(s)", "string", cells::service_ports),
            AGE,
            wide("Selector", "string", |object, _| {
                cells::labels(&object["spec"]["selector"])
            }),
        ],
    ),
    (
        "endpoints",
        &[NAME, column("Endpoints", "string", cells::endpoints), AGE],
    ),
    (
        "endpointslices",
        &[
            NAME,
            column("AddressType", "string", |object, _| string(object, "addressType")),
            column("Ports", "string", cells::slice_ports),
            column("Endpoints", "string", cells::slice_endpoints),
            AGE,
        ],
    ),
    ("configmaps", &[NAME, column("Data", "string", cells::config_data), AGE]),
    (
        "secrets",
        &[
            NAME,
            column("Type", "string", |object, _| string(object, "type")),
            column("Data", "string", |object, _| count(&object["data"])),
            AGE,
        ],
    ),
    (
        "serviceaccounts",
        &[
            NAME,
            column("Secrets", "string", |object, _| count(&object["secrets"])),
            AGE,
        ],
    ),
    (
        "events",
        &[
            column("Last Seen", "string", cells::last_seen),
            column("Type", "string", |object, _| string(object, "type")),
            column("Reason", "string", |object, _| string(object, "reason")),
            column("Object", "string", cells::event_object),
            wide("Subobject", "string", |object, _| {
                json!(cells::involved(object, "fieldPath"))
            }),
            wide("Source", "string", cells::event_source),
            column("Message", "string", cells::event_message),
            wide("First Seen", "string", cells::first_seen),
            wide("Count", "string", cells::event_count),
            Column { priority: 1, ..NAME },
        ],
    ),
    (
        "persistentvolumeclaims",
        &[
            NAME,
            column("Status", "string", cells::phase),
            column("Volume", "string", |object, _| string(object, "spec.volumeName")),
            column("Capacity", "string", cells::claim_capacity),
            column("Access Modes", "string", cells::claim_modes),
            column("StorageClass", "string", cells::storage_class),
            column("VolumeAttributesClass", "string", |object, _| {
                or(object, "spec.volumeAttributesClassName", "<unset>")
            }),
            AGE,
            wide("VolumeMode", "string", |object, _| {
                or(object, "spec.volumeMode", "<unset>")
            }),
        ],
    ),
    (
        "persistentvolumes",
        &[
            NAME,
            column("Capacity", "string", |object, _| {
                string(object, "spec.capacity.storage")
            }),
            column("Access Modes", "string", |object, _| {
                cells::modes(&object["spec"]["accessModes"])
            }),
            column("Reclaim Policy", "string", |object, _| {
                string(object, "spec.persistentVolumeReclaimPolicy")
            }),
            column("Status", "string", cells::phase),
            column("Claim", "string", cells::claim_of_volume),
            column("StorageClass", "string", cells::storage_class),
            column("VolumeAttributesClass", "string", |object, _| {
                or(object, "spec.volumeAttributesClassName", "<unset>")
            }),
            column("Reason", "string", |object, _| string(object, "status.reason")),
            AGE,
            wide("VolumeMode", "string", |object, _| {
                or(object, "spec.volumeMode", "<unset>")
            }),
        ],
    ),
    ("limitranges", &[NAME, CREATED]),
    (
        "resourcequotas",
        &[
            NAME,
            column("Request", "string", |object, _| cells::quota(object, false)),
            column("Limit", "string", |object, _| cells::quota(object, true)),
            AGE,
        ],
    ),
    (
        "deployments",
        &[
            NAME,
            column("Ready", "string", |object, _| {
                cells::fraction(object, "status.readyReplicas", "spec.replicas")
            }),
            column("Up-to-date", "string", |object, _| {
                number(object, "status.updatedReplicas")
            }),
            column("Available", "string", |object, _| {
                number(object, "status.availableReplicas")
            }),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "statefulsets",
        &[
            NAME,
            column("Ready", "string", |object, _| {
                cells::fraction(object, "status.readyReplicas", "spec.replicas")
            }),
            AGE,
            CONTAINERS,
            IMAGES,
        ],
    ),
    (
        "daemonsets",
        &[
            NAME,
            column("Desired", "integer", |object, _| {
                number(object, "status.desiredNumberScheduled")
            }),
            column("Current", "integer", |object, _| {
                number(object, "status.currentNumberScheduled")
            }),
            column("Ready", "integer", |object, _| number(object, "status.numberReady")),
            column("Up-to-date", "integer", |object, _| {
                number(object, "status.updatedNumberScheduled")
            }),
            column("Available", "integer", |object, _| {
                number(object, "status.numberAvailable")
            }),
            column("Node Selector", "string", |object, _| {
                cells::labels(at(object, "spec.template.spec.nodeSelector"))
            }),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "replicasets",
        &[
            NAME,
            column("Desired", "integer", |object, _| number(object, "spec.replicas")),
            column("Current", "integer", |object, _| number(object, "status.replicas")),
            column("Ready", "integer", |object, _| number(object, "status.readyReplicas")),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "controllerrevisions",
        &[
            NAME,
            column("Controller", "string", cells::controller),
            column("Revision", "string", |object, _| number(object, "revision")),
            AGE,
        ],
    ),
    (
        "jobs",
        &[
            NAME,
            column("Status", "string", cells::job_status),
            column("Completions", "string", cells::completions),
            column("Duration", "string", cells::job_duration),
            AGE,
            CONTAINERS,
            IMAGES,
            SELECTOR,
        ],
    ),
    (
        "cronjobs",
        &[
            NAME,
            column("Schedule", "string", |object, _| string(object, "spec.schedule")),
            column("Timezone", "string", |object, _| or(object, "spec.timeZone", "<none>")),
            column("Suspend", "boolean", cells::suspended),
            column("Active", "integer", |object, _| count(at(object, "status.active"))),
            column("Last Schedule", "string", cells::last_schedule),
            AGE,
            CONTAINERS,
            IMAGES,
            wide("Selector", "string", |object, _| {
                cells::selector(at(object, "spec.jobTemplate.spec.selector"))
            }),
        ],
    ),
    (
        "ingresses",
        &[
            NAME,
            column("Class", "string", |object, _| {
                or(object, "spec.ingressClassName", "<none>")
            }),
            column("Hosts", "string", cells::hosts),
            column("Address", "string", cells::ingress_addresses),
            column("Ports", "string", |object, _| {
                let secured = object["spec"]["tls"].as_array().is_some_and(|tls| !tls.is_empty());
                json!(if secured { "80, 443" } else { "80" })
            }),
            AGE,
        ],
    ),
    (
        "ingressclasses",
        &[
            NAME,
            column("Controller", "string", |object, _| string(object, "spec.controller")),
            column("Parameters", "string", cells::parameters),
            AGE,
        ],
    ),
    (
        "networkpolicies",
        &[
            NAME,
            column("Pod-Selector", "string", |object, _| {
                cells::selector(&object["spec"]["podSelector"])
            }),
            AGE,
        ],
    ),
    (
        "leases",
        &[
            NAME,
            column("Holder", "string", |object, _| string(object, "spec.holderIdentity")),
            AGE,
        ],
    ),
    (
        "poddisruptionbudgets",
        &[
            NAME,
            column("Min Available", "string", |object, _| {
                cells::int_or_string(&object["spec"]["minAvailable"])
            }),
            column("Max Unavailable", "string", |object, _| {
                cells::int_or_string(&object["spec"]["maxUnavailable"])
            }),
            column("Allowed Disruptions", "integer", |object, _| {
                number(object, "status.disruptionsAllowed")
            }),
            AGE,
        ],
    ),
    (
        "horizontalpodautoscalers",
        &[
            NAME,
            column("Reference", "string", cells::scaled),
            column("Targets", "string", cells::targets),
            column("MinPods", "string", |object, _| {
                let least = &object["spec"]["minReplicas"];
                least
                    .as_i64()
                    .map_or(json!("<unset>"), |least| json!(least.to_string()))
            }),
            column("MaxPods", "string", |object, _| number(object, "spec.maxReplicas")),
            column("Replicas", "string", |object, _| {
                number(object, "status.currentReplicas")
            }),
            AGE,
        ],
    ),
    ("roles", &[NAME, CREATED]),
    ("clusterroles", &[NAME, CREATED]),
    ("rolebindings", BINDINGS),
    ("clusterrolebindings", BINDINGS),
    ("customresourcedefinitions", &[NAME, CREATED]),
    ("mutatingwebhookconfigurations", WEBHOOKS),
    ("validatingwebhookconfigurations", WEBHOOKS),
    (
        "priorityclasses",
        &[
            NAME,
            column("Value", "integer", |object, _| number(object, "value")),
            column("Global-Default", "boolean", |object, _| {
                json!(object["globalDefault"] == true)
            }),
            AGE,
            wide("PreemptionPolicy", "string", |object, _| {
                string(object, "preemptionPolicy")
            }),
        ],
    ),
    (
        "storageclasses",
        &[
            column("Name", "string", cells::storage_class_name),
            column("Provisioner", "string", |object, _| string(object, "provisioner")),
            column("ReclaimPolicy", "string", |object, _| {
                or(object, "reclaimPolicy", "Delete")
            }),
            column("VolumeBindingMode", "string", |object, _| {
                or(object, "volumeBindingMode", "<unset>")
            }),
            column("AllowVolumeExpansion", "string", |object, _| {
                json!(object["allowVolumeExpansion"] == true)
            }),
            AGE,
        ],
    ),
];
