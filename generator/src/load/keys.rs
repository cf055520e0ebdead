//! The keys of the format: those that are built, and those that are not yet.

/// The keys of one mapping.
pub(super) struct Keys {
    /// Where they stand, for messages.
    pub(super) place: &'static str,
    /// Built.
    pub(super) now: &'static [&'static str],
    /// Part of the format, refused until they are built.
    pub(super) later: &'static [&'static str],
    /// Keys that belong to another mapping, which the help names.
    pub(super) elsewhere: &'static [(&'static str, &'static str)],
}

pub(super) const TOP: Keys = Keys {
    place: "the operator spec",
    now: &[
        "apiVersion",
        "kind",
        "metadata",
        "project",
        "peering",
        "settings",
        "resources",
        "deploy",
    ],
    later: &["watch", "admission", "memo", "activities", "permissions", "generate"],
    elsewhere: &[
        (
            "spec",
            "an entry of `resources`; the operator spec itself has no such wrapper",
        ),
        ("handlers", "an entry of `resources`"),
        ("timers", "an entry of `resources`"),
        ("name", "`metadata`"),
    ],
};

pub(super) const METADATA: Keys = Keys {
    place: "`metadata`",
    now: &["name", "description", "labels", "annotations"],
    later: &[],
    elsewhere: &[],
};

pub(super) const PROJECT: Keys = Keys {
    place: "`project`",
    now: &["runtime"],
    later: &["crate", "edition", "license", "repository", "rustVersion", "extras"],
    elsewhere: &[],
};

pub(super) const RUNTIME: Keys = Keys {
    place: "`project.runtime`",
    now: &["path"],
    later: &["git", "rev", "version"],
    elsewhere: &[],
};

pub(super) const PEERING: Keys = Keys {
    place: "`peering`",
    now: &["name", "mandatory", "priority", "lifetime", "stealth", "clusterwide"],
    later: &[],
    elsewhere: &[],
};

pub(super) const SETTINGS: Keys = Keys {
    place: "`settings`",
    now: &["persistence", "posting"],
    later: &[
        "process",
        "watching",
        "queueing",
        "scanning",
        "execution",
        "background",
        "networking",
    ],
    elsewhere: &[("peering", "the top level"), ("admission", "the top level")],
};

pub(super) const PERSISTENCE: Keys = Keys {
    place: "`settings.persistence`",
    now: &["prefix", "finalizer"],
    later: &["progress", "diffbase", "formerly"],
    elsewhere: &[],
};

pub(super) const POSTING: Keys = Keys {
    place: "`settings.posting`",
    now: &["enabled", "loggers", "level"],
    later: &[],
    elsewhere: &[],
};

pub(super) const DEPLOY: Keys = Keys {
    place: "`deploy`",
    now: &["namespace", "image"],
    later: &[
        "imagePullSecrets",
        "kubernetes",
        "replicas",
        "election",
        "resources",
        "env",
        "nodeSelector",
        "tolerations",
        "affinity",
        "topologySpread",
        "priorityClass",
        "podAnnotations",
        "profile",
        "health",
        "metrics",
        "networkPolicy",
        "outputs",
    ],
    elsewhere: &[],
};

/// Keys that identify a resource in ways that are not built yet: with one of them no other is missed.
pub(super) const OTHER_IDENTITIES: &[&str] = &[
    "group",
    "versions",
    "external",
    "crd",
    "category",
    "everything",
    "selector",
];

pub(super) const RESOURCE: Keys = Keys {
    place: "a resource",
    now: &[
        "apiVersion",
        "kind",
        "plural",
        "singular",
        "listKind",
        "module",
        "shortNames",
        "scope",
        "types",
        "spec",
        "status",
        "statusSubresource",
        "preserveUnknownFields",
        "handlers",
        "timers",
        "samples",
    ],
    later: &[
        "group",
        "versions",
        "external",
        "crd",
        "category",
        "everything",
        "selector",
        "categories",
        "rules",
        "printerColumns",
        "selectableFields",
        "scale",
        "deprecated",
        "conversion",
        "memo",
        "daemons",
        "indexes",
        "webhooks",
        "permissions",
        "userRoles",
        "renamedFrom",
    ],
    elsewhere: &[("activities", "the top level")],
};

/// Keys that only kinds with a `spec` of their own take.
pub(super) const OWN_KEYS: &[&str] = &[
    "plural",
    "singular",
    "listKind",
    "shortNames",
    "scope",
    "types",
    "status",
    "statusSubresource",
    "preserveUnknownFields",
];

const ENTRY_LATER: &[&str] = &[
    "param",
    "when",
    "value",
    "old",
    "new",
    "deleted",
    "coversDowntime",
    "optional",
    "forEach",
    "untyped",
    "renamedFrom",
    "enabled",
    "interrupt",
];

pub(super) const HANDLER: Keys = Keys {
    place: "a handler",
    now: &[
        "type",
        "fn",
        "id",
        "retries",
        "timeout",
        "backoff",
        "errors",
        "field",
        "labels",
        "annotations",
        "blocking",
        "returns",
    ],
    later: ENTRY_LATER,
    elsewhere: &[
        ("interval", "`timers`"),
        ("idle", "`timers`"),
        ("sharp", "`timers`"),
        ("initialDelay", "`timers`"),
        ("onPermanent", "`timers`"),
        ("cancellationBackoff", "`daemons`"),
        ("cancellationTimeout", "`daemons`"),
        ("operations", "`webhooks`"),
    ],
};

pub(super) const TIMER: Keys = Keys {
    place: "a timer",
    now: &[
        "fn",
        "id",
        "interval",
        "idle",
        "sharp",
        "initialDelay",
        "retries",
        "timeout",
        "backoff",
        "errors",
        "field",
        "labels",
        "annotations",
        "blocking",
        "returns",
    ],
    later: &[
        "param",
        "when",
        "value",
        "optional",
        "untyped",
        "renamedFrom",
        "enabled",
        "interrupt",
        "onPermanent",
        "cancellationBackoff",
        "cancellationTimeout",
    ],
    elsewhere: &[
        ("type", "`handlers`"),
        ("old", "`handlers`"),
        ("new", "`handlers`"),
        ("deleted", "`handlers`"),
        ("cancellationPolling", "`daemons`"),
    ],
};

pub(super) const BACKOFF: Keys = Keys {
    place: "`backoff`",
    now: &[],
    later: &["initial", "max", "jitter", "env"],
    elsewhere: &[],
};

pub(super) const INITIAL_DELAY: Keys = Keys {
    place: "`initialDelay`",
    now: &[],
    later: &["upTo", "fn", "env"],
    elsewhere: &[],
};

pub(super) const CRITERION: Keys = Keys {
    place: "a condition",
    now: &["present", "absent"],
    later: &["fn", "env"],
    elsewhere: &[],
};
